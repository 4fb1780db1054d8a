/* SPDX-License-Identifier: Apache-2.0 */
/* One GID in two pods: all are sorted, so that equal ones stand together. */
#include "preflight/same_gid.h"

#include <stdlib.h>
#include <string.h>

#include "findings/job.h"
#include "nccl_init/findings.h"
#include "nccl_init/ip.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "preflight/job.h"
#include "rail/step.h"

enum { TOLD = 8 /* findings, at most */, NAMED = 3 };

/* A rail of a pod, with its GID. */
struct entry {
    uint8_t gid[NI_GID_BYTES];
    unsigned rank, rail;
};

static int by_gid(const void *x, const void *y)
{
    const struct entry *a = x, *b = y;
    const int order = memcmp(a->gid, b->gid, NI_GID_BYTES);

    if (order != 0)
        return order;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

/* Returns true if the two pods are on different nodes, as far as they know. Pods of one host
   network have the same ports, and so the same GIDs: no fault. */
static bool are_apart(const struct ni_job *job, unsigned a, unsigned b)
{
    const struct ni_pod *one = &job->pod[a], *other = &job->pod[b];

    if (a == b || strcmp(one->host, other->host) == 0)
        return false;
    return !one->node[0] || strcmp(one->node, other->node) != 0;
}

/* Puts the pods that have it: "trainer-3 (node-b3) and trainer-7 (node-b7)". */
static void put_pod_names(struct ni_text *t, const struct ni_job *job, const struct entry *e,
                          unsigned n)
{
    const unsigned named = n < NAMED ? n : NAMED;

    for (unsigned i = 0; i < named; i++) {
        if (i > 0)
            ni_put(t, i + 1 == n ? " and " : ", ");
        ni_put_pod(t, job, e[i].rank);
    }
    if (n > named)
        ni_putf(t, " and %u more", n - named);
}

/* Keeps n rails that have one GID from being tried. */
static void leave_untried(const struct ni_job *job, const struct entry *e, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        struct ni_rail *rail = &job->pod[e[i].rank].rail[e[i].rail];

        if (!rail->untried[0])
            (void)ni_copy(rail->untried, sizeof(rail->untried), "its GID is that of another pod");
    }
}

/* Reports one GID that n rails have. */
static void report_same(const struct ni_job *job, const struct entry *e, unsigned n,
                        struct ni_findings *f)
{
    struct ni_text s = NI_TEXT(32), t = NI_TEXT(NI_FINDING_MESSAGE);
    char ip[NI_IP_TEXT];

    ni_putf(&s, "rail %u", e->rail);
    ni_putf(&t, "%s is the GID of ", ni_ip_text(e->gid, ip));
    put_pod_names(&t, job, e, n);
    ni_put(&t, ": a packet to it reaches one of them by chance");
    ni_report(f, NI_F_JOB_GID_SAME, s.buf, "%s", t.buf);
}

void ni_find_same_gids(const struct ni_job *job, struct ni_findings *f)
{
    struct entry *all = malloc(((size_t)job->ranks * job->n_rail + 1) * sizeof(*all));
    unsigned n = 0, told = 0, last;

    for (unsigned p = 0; all && p < job->ranks; p++)
        for (unsigned r = 0; r < job->n_rail; r++) {
            if (!ni_has_rail(job, p, r) || ni_ip_is_zero(job->pod[p].rail[r].gid))
                continue;
            all[n] = (struct entry){.rank = p, .rail = r};
            memcpy(all[n].gid, job->pod[p].rail[r].gid, NI_GID_BYTES);
            n++;
        }
    if (n > 0)
        qsort(all, n, sizeof(*all), by_gid);
    for (unsigned i = 0; i < n; i = last) {
        bool apart = false;

        for (last = i; last < n && memcmp(all[last].gid, all[i].gid, NI_GID_BYTES) == 0; last++)
            apart = apart || are_apart(job, all[i].rank, all[last].rank);
        if (!apart)
            continue;
        leave_untried(job, &all[i], last - i);
        if (told < TOLD)
            report_same(job, &all[i], last - i, f);
        told++;
    }
    free(all);
}
