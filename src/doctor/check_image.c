/* SPDX-License-Identifier: Apache-2.0 */
/* The check of the image: what NCCL needs of it for RDMA. */
#include "doctor/check.h"
#include "findings/pod.h"
#include "nccl_init/findings.h"
#include "nccl_init/image.h"
#include "nccl_init/inventory.h"
#include "nccl_init/known.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "print/words.h"
#include "rules/chosen.h"

/* ---- image.rdma ---- */

/* Reports an HCA that libibverbs of the image cannot drive. It loads the providers that files of
   /etc/libibverbs.d name, and shows no HCA for which none was loaded (rdma-core 56.1
   libibverbs/dynamic_driver.c, init.c). A provider that is found anywhere counts. */
static void check_provider(struct ni_judging *c, const struct ni_hca *h, const char *verbs)
{
    const struct ni_image *image = c->inv->image;
    const char *provider = ni_provider_of(h->driver);

    if (!ni_saw(c, provider && image->known == NI_KNOWN))
        return;
    const struct ni_image_file *file = ni_find_in_image(image, NI_IMAGE_PROVIDER, provider);
    if (!file)
        ni_report(
            c->f, NI_F_IMAGE_PROVIDER_MISSING, h->name,
            "this image cannot drive %s: it has /%s, but no provider lib%s-rdmav*.so, so NCCL "
            "finds no such HCA (by the names of files; nothing was loaded)",
            provider, verbs, provider);
    else if (!ni_find_in_image(image, NI_IMAGE_DRIVER, provider))
        ni_report(c->f, NI_F_IMAGE_PROVIDER_MISSING, h->name,
                  "this image cannot drive %s: it has /%s and /%s, but no file of "
                  "/etc/libibverbs.d says `driver %s`, so NCCL finds no such HCA (by the names of "
                  "files; nothing was loaded)",
                  provider, verbs, file->path, provider);
}

/* Checks what NCCL needs of the image for RDMA. Where the image has neither libibverbs nor NCCL, it
   is not the job's, or the command brings its own. */
static void check_image(struct ni_judging *c)
{
    const struct ni_image *image = c->inv->image;
    const struct ni_image_file *verbs = ni_find_in_image(image, NI_IMAGE_VERBS, NULL);
    const struct ni_image_file *nccl = ni_find_in_image(image, NI_IMAGE_NCCL, NULL);
    int last = -1;

    if (!image || c->plan->transport != NI_NET_RDMA || c->plan->n_chosen == 0)
        return;
    if (image->late)
        (void)ni_saw(c, false);
    if (!verbs && nccl && ni_saw(c, image->known == NI_KNOWN))
        ni_report(c->f, NI_F_IMAGE_VERBS_MISSING, "libibverbs.so.1",
                  "this image has NCCL (/%s), but no libibverbs where the loader looks: NCCL uses "
                  "sockets, unless the command says where one is (LD_LIBRARY_PATH)",
                  nccl->path);
    for (unsigned i = 0; verbs && i < c->plan->n_chosen; i++) {
        const int hca = ni_chosen(c->w, i).port->hca;

        if (hca != last)
            check_provider(c, &c->inv->hca[hca], verbs->path);
        last = hca;
    }
}

static void put_image_version(struct ni_text *t, const struct ni_image *image,
                              enum ni_image_kind kind, const char *name)
{
    const struct ni_image_file *f = ni_find_in_image(image, kind, NULL);

    if (!f)
        return;
    ni_putf(t, "%s%s", t->len > 0 ? ", " : "", name);
    ni_put(t, f->version[0] ? " " : "");
    ni_quote(t, f->version);
}

/* "libibverbs 1.14.56.1 with mlx5, NCCL 2.28.9" */
static void put_image(struct ni_text *t, const struct ni_view *view)
{
    const struct ni_image *image = view->inv->image;
    const char *last = NULL;
    struct ni_text own = NI_TEXT(256);

    put_image_version(&own, image, NI_IMAGE_VERBS, "libibverbs");
    for (unsigned i = 0; own.len > 0 && i < view->plan->n_chosen; i++) {
        const struct ni_port *port = &view->inv->port[view->plan->chosen[i]];
        const char *provider = ni_provider_of(view->inv->hca[port->hca].driver);

        if (!provider || provider == last || !ni_find_in_image(image, NI_IMAGE_PROVIDER, provider))
            continue;
        ni_putf(&own, "%s%s", last ? " and " : " with ", provider);
        last = provider;
    }
    put_image_version(&own, image, NI_IMAGE_NCCL, "NCCL");
    put_image_version(&own, image, NI_IMAGE_RCCL, "RCCL");
    ni_put(t, own.buf);
}

const struct ni_check ni_check_image = {
    .id = "image.rdma",
    .title = "image",
    .whole = check_image,
    .put = put_image,
    .findings = {NI_F_IMAGE_PROVIDER_MISSING, NI_F_IMAGE_VERBS_MISSING},
};
