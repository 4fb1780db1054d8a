/* SPDX-License-Identifier: Apache-2.0 */
/* The list of findings, to which facts, rules and tools append. */
#include <stdlib.h>
#include <string.h>

#include "findings/device.h"
#include "findings/setting.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/text.h"

struct ni_finding *ni_report(struct ni_findings *f, ni_finding_number id, const char *subject,
                             const char *fmt, ...)
{
    struct ni_finding it = {.id = id, .no_trial = f->no_trial};
    bool has[NI_F_END] = {false};
    unsigned again = 0; /* findings, of all ids, that are not the first of their id */
    struct ni_text s = ni_text_on(it.subject, sizeof(it.subject));

    ni_put_quoted(&s, subject, strlen(subject), sizeof(it.subject));
    struct ni_text m = NI_TEXT(sizeof(it.message));
    struct ni_text message = ni_text_on(it.message, sizeof(it.message));
    va_list ap;
    va_start(ap, fmt);
    ni_vputf(&m, fmt, ap);
    va_end(ap);
    ni_quote(&message, m.buf);
    for (unsigned i = 0; i < f->n; i++) {
        struct ni_finding *old = &f->at[i];

        if (old->id == id && strcmp(old->subject, it.subject) == 0 &&
            strcmp(old->message, it.message) == 0)
            return old;
        again += has[old->id];
        has[old->id] = true;
    }
    if (has[id] && again >= NI_MAX_AGAIN) {
        f->dropped++;
        return NULL;
    }
    /* there is room: NI_MAX_KINDS first ones, NI_MAX_AGAIN others */
    f->at[f->n] = it;
    return &f->at[f->n++];
}

static int cmp(const void *x, const void *y)
{
    const struct ni_finding *a = x, *b = y;
    int order = strcmp(a->subject, b->subject);

    if (order == 0)
        order = strcmp(ni_finding_id(a->id), ni_finding_id(b->id));
    return order ? order : strcmp(a->message, b->message);
}

void ni_findings_sort(struct ni_findings *f, unsigned from)
{
    qsort(f->at + from, f->n - from, sizeof(f->at[0]), cmp);
}

unsigned ni_findings_count(const struct ni_findings *f, enum ni_severity severity)
{
    unsigned n = 0;

    for (unsigned i = 0; i < f->n; i++)
        n += ni_finding_severity(f->at[i].id) == severity;
    return n;
}

bool ni_findings_has(const struct ni_findings *f, ni_finding_number id)
{
    for (unsigned i = 0; i < f->n; i++) {
        if (f->at[i].id == id)
            return true;
    }
    return false;
}

/* ---- two findings about one fact ---- */

/* How the subjects of both belong together. */
enum relation {
    ANY,  /* whatever they are */
    SAME, /* they are one */
    PATH, /* the weaker one's is a file of the stronger one's, an RDMA device */
};

/* The weaker one is never of a greater severity, so that no exit status changes. */
static const struct {
    ni_finding_number stronger, weaker;
    enum relation relation;
} pairs[] = {
    {NI_F_ALLOC_NO_UVERBS, NI_F_HCA_NODE_MISSING, ANY},
    {NI_F_ALLOC_NO_UVERBS, NI_F_HCA_NODE_LOST, ANY},
    {NI_F_HCA_NODE_MISSING, NI_F_HCA_NODE_LOST, SAME},
    {NI_F_GDR_DRIVER_ORDER, NI_F_GDR_UNAVAILABLE, ANY},
    {NI_F_GDR_DRIVER_ORDER, NI_F_GDR_PEERMEM_HIDDEN, ANY},
    {NI_F_RAIL_SLOW, NI_F_HCA_PORT_SLOW, SAME},
    {NI_F_USER_HCA_EXTRA, NI_F_HCA_PORT_SLOW, SAME},
    {NI_F_USER_HCA_LEFT_OUT, NI_F_HCA_PORT_SLOW, SAME},
    {NI_F_RDMA_NETNS_EXCLUSIVE, NI_F_ALLOC_NOT_RDMA, SAME},
    {NI_F_RDMA_NETNS_EXCLUSIVE, NI_F_FACT_UNREADABLE, PATH},
};

/* Returns true if the path goes through the folder of that RDMA device: ".../infiniband/mlx5_7/...".
   */
static bool is_of_device(const char *path, const char *device)
{
    const char *folder = strstr(path, "/infiniband/");

    if (!folder || !device[0])
        return false;
    folder += strlen("/infiniband/");
    return ni_has_prefix(folder, device) &&
           (folder[strlen(device)] == '\0' || folder[strlen(device)] == '/');
}

/* Returns true if both are about one fact, and `than` tells more of it. */
static bool is_weaker(const struct ni_finding *f, const struct ni_finding *than)
{
    for (unsigned i = 0; i < NI_COUNT(pairs); i++) {
        if (pairs[i].weaker != f->id || pairs[i].stronger != than->id)
            continue;
        switch (pairs[i].relation) {
        case ANY:
            return true;
        case SAME:
            return strcmp(f->subject, than->subject) == 0;
        case PATH:
            return is_of_device(f->subject, than->subject);
        }
    }
    return false;
}

void ni_findings_drop_weaker(struct ni_findings *f)
{
    bool drop[NI_MAX_FINDINGS];
    unsigned n = 0;

    for (unsigned i = 0; i < f->n; i++) {
        bool weaker = false;

        for (unsigned k = 0; k < f->n && !weaker; k++)
            weaker = is_weaker(&f->at[i], &f->at[k]);
        drop[i] = weaker;
    }
    for (unsigned i = 0; i < f->n; i++) {
        if (!drop[i])
            f->at[n++] = f->at[i];
    }
    f->n = n;
}
