/* SPDX-License-Identifier: Apache-2.0 */
/* A masked record: of each recorded file the part that may be kept, with names that stand for
   others. */
#include "snapshot/masked.h"

#include <errno.h>
#include <stdlib.h>

#include "nccl_init/text.h"
#include "snapshot/mask.h"
#include "sysroot/record.h"
#include "sysroot/tree.h"

/* Room for two of the largest files: pages that are not touched cost nothing. */
struct work {
    struct ni_mask *mask;
    ni_keep_fn *keep;
    void *ctx;
    char *kept, *value; /* NI_TREE_FILE bytes each */
};

/* Adds the masked entry. 0; or -errno, and nothing may be written out. */
static int mask_entry(struct work *w, const struct ni_entry *e, struct ni_tree *ret)
{
    char path_buf[4 * NI_TREE_PATH];
    struct ni_text path = ni_text_on(path_buf, sizeof(path_buf));
    struct ni_text kept = ni_text_on(w->kept, NI_TREE_FILE);
    struct ni_text value = ni_text_on(w->value, NI_TREE_FILE);
    const char *asked = e->asked ? e->asked : e->path;
    struct ni_entry to = {.kind = e->kind, .err = e->err}, *at;

    if (!ni_mask_entry_path(w->mask, e, &path))
        return 0;
    if (e->kind == NI_ENTRY_LINK)
        ni_mask_target(w->mask, e, &value);
    if (e->kind == NI_ENTRY_FILE && e->len > 0) {
        w->keep(w->ctx, w->mask, asked, (struct ni_span){e->value, e->len}, &kept);
        ni_mask_text(w->mask, asked, (struct ni_span){kept.buf, kept.len}, &value);
    }
    if (path.cut || path.len >= NI_TREE_PATH || kept.cut || value.cut)
        return -EFBIG;
    to.value = value.buf;
    to.len = (uint32_t)value.len;
    int r = ni_tree_make(ret, path.buf, &at);
    if (r == 0) {
        at->listed = true;
        r = ni_tree_set(ret, at, &to);
    }
    return r;
}

/* Makes the masked record, to be freed; NULL and *ret_err. It reads everything twice, since a GUID
   must be known before it is met inside an address. */
static struct ni_tree *masked(const struct ni_tree *record, const struct ni_entry *e, size_t n,
                              ni_keep_fn *keep, void *ctx, int *ret_err)
{
    struct work w = {.keep = keep, .ctx = ctx};
    struct ni_tree *ret = NULL;
    int r = -ENOMEM;

    w.mask = ni_mask_new(record);
    w.kept = malloc(NI_TREE_FILE);
    w.value = malloc(NI_TREE_FILE);
    for (unsigned pass = 0; pass < 2 && w.mask && w.kept && w.value; pass++) {
        ni_tree_free(ret);
        ret = calloc(1, sizeof(*ret));
        r = ret ? 0 : -ENOMEM;
        for (size_t i = 0; i < n && r == 0; i++)
            r = mask_entry(&w, &e[i], ret);
        if (r < 0)
            break;
    }
    if (r == 0 && ni_mask_is_full(w.mask))
        r = -EFBIG;
    if (r < 0) {
        ni_tree_free(ret);
        ret = NULL;
    }
    free(w.value);
    free(w.kept);
    ni_mask_free(w.mask);
    *ret_err = r;
    return ret;
}

int ni_masked_text(struct ni_tree *record, const char *header, ni_keep_fn *keep, void *ctx,
                   struct ni_text *ret)
{
    struct ni_tree *other;
    size_t n;
    int r;

    if (record->failed)
        return record->failed;
    struct ni_entry *e = ni_record_entries(record, &n);
    if (!e)
        return -ENOMEM;
    other = masked(record, e, n, keep, ctx, &r);
    free(e);
    if (other)
        r = ni_record_text(other, header, ret);
    ni_tree_free(other);
    return r;
}
