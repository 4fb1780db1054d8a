/* SPDX-License-Identifier: Apache-2.0 */
/* What the image brings for NCCL, for people and in JSON. */
#include "print/image.h"

#include <string.h>

#include "nccl_init/base.h"
#include "nccl_init/image.h"
#include "nccl_init/inventory.h"
#include "nccl_init/known.h"
#include "nccl_init/text.h"
#include "print/json_write.h"
#include "print/layout.h"
#include "print/words.h"

static const struct ni_words kinds[NI_IMAGE_KINDS] = {
    [NI_IMAGE_NCCL] = {"nccl", "NCCL"},
    [NI_IMAGE_RCCL] = {"rccl", "RCCL"},
    [NI_IMAGE_PLUGIN] = {"plugin", "plugin"},
    [NI_IMAGE_VERBS] = {"libibverbs", "libibverbs"},
    [NI_IMAGE_PROVIDER] = {"provider", NULL}, /* in one line */
    [NI_IMAGE_DRIVER] = {"driver", NULL},     /* as above */
    [NI_IMAGE_COMPAT] = {"cuda_compat", "cuda-compat"},
};

/* Puts the providers, each once: "  providers: bnxt_re, mlx5"; those that no file names apart. */
static void put_providers(struct ni_text *out, const struct ni_image *image)
{
    struct ni_text named = NI_TEXT(4096), others = NI_TEXT(4096);

    for (unsigned i = 0; i < image->n_file; i++) {
        const struct ni_image_file *f = &image->file[i];
        struct ni_text *to = ni_find_in_image(image, NI_IMAGE_DRIVER, f->name) ? &named : &others;

        if (f->kind != NI_IMAGE_PROVIDER ||
            ni_find_in_image(image, NI_IMAGE_PROVIDER, f->name) != f)
            continue;
        ni_put(to, to->len > 0 ? ", " : "");
        ni_quote(to, f->name);
    }
    ni_put_item(out, "providers", named.buf);
    ni_put_item(out, "providers that no file of /etc/libibverbs.d names", others.buf);
}

void ni_put_image(struct ni_text *out, const struct ni_view *view)
{
    const struct ni_image *image = view->inv->image;
    struct ni_text table = ni_table_on("WHAT\tVERSION\tFILE");

    if (!image || (image->n_file == 0 && !image->late)) {
        ni_free_text(&table);
        return;
    }
    ni_put(out, "\nIn the image, by the names of files; nothing was loaded\n");
    for (unsigned i = 0; i < image->n_file; i++) {
        const struct ni_image_file *f = &image->file[i];

        if (!kinds[f->kind].text)
            continue;
        ni_put(ni_row(&table, NI_PLAIN), kinds[f->kind].text);
        ni_put(&table, f->name[0] ? " " : "");
        ni_quote(&table, f->name);
        ni_quote(ni_cell(&table), f->version);
        ni_put(ni_cell(&table), "/");
        ni_quote(&table, f->path);
    }
    if (image->n_file > 0)
        ni_table_write(out, &table, view->colour);
    else
        ni_free_text(&table);
    put_providers(out, image);
    if (image->late)
        ni_put(out, "  Not looked through: that took too long; a network mount may hang\n");
    else if (image->known != NI_KNOWN)
        ni_put(out, "  Not all folders could be looked through\n");
}

static void put_file_json(struct ni_json *j, const struct ni_view *view, unsigned i)
{
    const struct ni_image_file *f = &view->inv->image->file[i];
    struct ni_text path = NI_TEXT(NI_IMAGE_PATH + 2);

    ni_putf(&path, "/%s", f->path);
    ni_json_text(j, "kind", kinds[f->kind].json);
    ni_json_text_or_null(j, "name", f->name);
    ni_json_text_or_null(j, "version", f->version);
    ni_json_text(j, "path", path.buf);
}

void ni_json_image(struct ni_json *j, const struct ni_view *view)
{
    const struct ni_image *image = view->inv->image;

    if (!image || (image->n_file == 0 && !image->late))
        return;
    ni_json_object(j, "image");
    ni_json_bool(j, "whole", image->known == NI_KNOWN);
    ni_json_list(j, "files", view, 0, image->n_file, put_file_json);
    ni_json_end(j);
}
