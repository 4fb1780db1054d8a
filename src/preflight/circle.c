/* SPDX-License-Identifier: Apache-2.0 */
/* The circle of a rail: in which order the pods are neighbours. Pods of one leaf reach each other at
   the full rate of their ports, however few uplinks the leaf has: only so a port at half its rate
   shows below a fabric that gives each pod half. A launcher may number the pods at random, so the
   order of ranks does not do. */
#include "preflight/circle.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "nccl_init/ip.h"
#include "nccl_init/rdma.h"
#include "preflight/align.h"
#include "preflight/job.h"
#include "preflight/tally.h"
#include "rail/step.h"

/* What qsort_r hands on. */
struct of {
    const struct ni_job *job;
    unsigned rail;
};

/* Compares where nobody says which leaf it is: a leaf that routes has a subnet of its own for each
   rail. */
static int compare_subnets(const struct ni_rail *a, const struct ni_rail *b)
{
    struct ni_subnet x, y;
    const bool known = ni_own_subnet(a, &x), other = ni_own_subnet(b, &y);
    const bool same = known && other && x.bits == y.bits && ni_ip_same_prefix(x.ip, y.ip, x.bits);

    if (known != other)
        return known ? 1 : -1;
    return same || !known ? 0 : memcmp(a->gid, b->gid, sizeof(a->gid));
}

/* Returns 0 if what is known of the two puts them at one leaf; else which stands first. */
static int compare_leaves(const struct ni_job *job, unsigned rail, unsigned a, unsigned b)
{
    const struct ni_pod *pod = &job->pod[a], *other = &job->pod[b];
    const int order = strcmp(pod->leaf, other->leaf);

    if (order != 0 || pod->leaf[0])
        return order;
    return compare_subnets(&pod->rail[rail], &other->rail[rail]);
}

static int compare_places(const void *a, const void *b, void *arg)
{
    const struct of *of = arg;
    const unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    const int64_t rate = of->job->pod[x].rail[of->rail].mbps.v;
    const int64_t other = of->job->pod[y].rail[of->rail].mbps.v;
    int order = compare_leaves(of->job, of->rail, x, y);

    if (order == 0)
        order = (rate > other) - (rate < other); /* a slower partner hides a slow port */
    return order != 0 ? order : (x > y) - (x < y);
}

bool ni_is_near(const struct ni_job *job, const struct ni_pair *pair)
{
    return compare_leaves(job, pair->rail, pair->from, pair->to) == 0;
}

unsigned ni_draw_circle(struct ni_job *job, unsigned rail)
{
    struct of of = {job, rail};
    unsigned n = 0;

    for (unsigned p = 0; p < job->ranks; p++)
        if (ni_takes_part(job, p, rail))
            job->circle[n++] = p;
    qsort_r(job->circle, n, sizeof(job->circle[0]), compare_places, &of);
    return n;
}
