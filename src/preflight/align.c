/* SPDX-License-Identifier: Apache-2.0 */
/* Rails of one number belong together, and their number is their place in NCCL_IB_HCA. That holds
   where all pods have as many: in a pod with one rail less those behind it would stand beside other
   networks, and seem broken. There the subnet tells which rail it is. */
#include "preflight/align.h"

#include <string.h>

#include "findings/job.h"
#include "nccl_init/findings.h"
#include "nccl_init/ip.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "preflight/job.h"
#include "rail/step.h"

enum { TOLD = 4 /* pods that get a finding */, NOWHERE = NI_MAX_RAILS, SUBJECT = 128 };

/* The usual pod: how many rails most pods have, and the subnet of each in most of these. */
struct usual {
    unsigned n_rail;
    bool known[NI_MAX_RAILS];
    struct ni_subnet subnet[NI_MAX_RAILS];
};

const struct ni_subnet *ni_routed_subnet(const struct ni_rail *from, const struct ni_rail *to)
{
    const struct ni_subnet *best = NULL;

    for (const struct ni_subnet *s = from->subnet; s < from->subnet + from->n_subnet; s++) {
        if (ni_ip_same_prefix(s->ip, to->gid, s->bits) && (!best || s->bits > best->bits))
            best = s;
    }
    return best;
}

/* On InfiniBand that is the upper half of the GID (IBTA 4.1.1). */
bool ni_own_subnet(const struct ni_rail *r, struct ni_subnet *ret)
{
    const struct ni_subnet *route = ni_routed_subnet(r, r);

    *ret = (struct ni_subnet){.bits = 64};
    memcpy(ret->ip, r->gid, NI_GID_BYTES / 2);
    if (r->link == NI_LINK_IB || ni_ip_is_zero(r->gid))
        return r->link == NI_LINK_IB;
    if (route)
        *ret = *route;
    return route != NULL;
}

static bool is_same_subnet(const struct ni_subnet *a, const struct ni_subnet *b)
{
    return a->bits == b->bits && ni_ip_same_prefix(a->ip, b->ip, a->bits);
}

/* Returns how many rails most pods have; of equal numbers the higher one. */
static unsigned usual_number(const struct ni_job *job)
{
    unsigned pods[NI_MAX_RAILS + 1] = {0}, most = 0;

    for (unsigned p = 0; p < job->ranks; p++)
        pods[job->pod[p].n_rail] += job->pod[p].here && job->pod[p].n_rail > 0;
    for (unsigned n = 1; n <= NI_MAX_RAILS; n++)
        if (pods[n] > 0 && pods[n] >= pods[most])
            most = n;
    return most;
}

/* Finds the subnet that more than half of the usual pods have on that rail: each pod takes a vote
   from those before it that differ, and what is left is counted. */
static bool usual_subnet(const struct ni_job *job, unsigned n_rail, unsigned rail,
                         struct ni_subnet *ret)
{
    unsigned votes = 0, pods = 0, alike = 0;
    struct ni_subnet s;

    for (unsigned p = 0; p < job->ranks; p++) {
        const struct ni_pod *pod = &job->pod[p];

        if (!pod->here || pod->n_rail != n_rail || !ni_own_subnet(&pod->rail[rail], &s))
            continue;
        if (votes == 0)
            *ret = s;
        if (is_same_subnet(&s, ret))
            votes++;
        else
            votes--;
    }
    for (unsigned p = 0; p < job->ranks && votes > 0; p++) {
        const struct ni_pod *pod = &job->pod[p];

        if (!pod->here || pod->n_rail != n_rail)
            continue;
        pods++;
        alike += ni_own_subnet(&pod->rail[rail], &s) && is_same_subnet(&s, ret);
    }
    return 2 * alike > pods;
}

/* Returns the first number, other than those that are taken, whose usual subnet the rail is in. */
static unsigned place_of(const struct usual *u, const struct ni_rail *rail, const bool *taken)
{
    struct ni_subnet s;

    for (unsigned r = 0; r < u->n_rail && ni_own_subnet(rail, &s); r++)
        if (!taken[r] && u->known[r] && is_same_subnet(&s, &u->subnet[r]))
            return r;
    return NOWHERE;
}

/* Gives the rails of a pod the numbers that other pods have for these subnets. The others take the
   numbers that are left. */
static void align(const struct usual *u, struct ni_pod *pod, unsigned n_rail)
{
    struct ni_rail was[NI_MAX_RAILS];
    bool taken[NI_MAX_RAILS] = {false};
    unsigned place[NI_MAX_RAILS], next = 0;

    memcpy(was, pod->rail, pod->n_rail * sizeof(was[0]));
    for (unsigned i = 0; i < pod->n_rail; i++) {
        place[i] = place_of(u, &was[i], taken);
        if (place[i] != NOWHERE)
            taken[place[i]] = true;
    }
    for (unsigned r = 0; r < n_rail; r++)
        pod->rail[r] = (struct ni_rail){.gap = true};
    for (unsigned i = 0; i < pod->n_rail; i++) {
        while (place[i] == NOWHERE && taken[next])
            next++;
        if (place[i] == NOWHERE)
            place[i] = next;
        taken[place[i]] = true;
        pod->rail[place[i]] = was[i];
    }
    pod->n_rail = n_rail;
}

/* Returns true if the rail's interface has a route to that subnet. */
static bool is_routed(const struct ni_rail *rail, const struct ni_subnet *to)
{
    for (unsigned i = 0; i < rail->n_subnet; i++)
        if (ni_ip_same_prefix(rail->subnet[i].ip, to->ip, rail->subnet[i].bits))
            return true;
    return false;
}

/* Puts the rails of a pod that are in the usual subnets of others: "rail 0 is in the subnet of rail
   1, ..."; and keeps them from being tried. */
static void put_crossed(const struct usual *u, struct ni_pod *pod, struct ni_text *t)
{
    static const bool nobody[NI_MAX_RAILS];
    struct ni_subnet s;

    for (unsigned r = 0; r < pod->n_rail; r++) {
        struct ni_rail *rail = &pod->rail[r];

        if (!u->known[r] || !ni_own_subnet(rail, &s) || is_same_subnet(&s, &u->subnet[r]) ||
            is_routed(rail, &u->subnet[r]))
            continue;
        const unsigned other = place_of(u, rail, nobody);

        if (other == NOWHERE)
            continue;
        ni_putf(t, "%srail %u (", t->len > 0 ? ", " : "", r);
        ni_quote(t, rail->hca);
        ni_putf(t, ") is in the subnet of rail %u", other);
        rail->crossed = true;
        if (!rail->untried[0])
            (void)ni_format(rail->untried, sizeof(rail->untried),
                            "it is in the subnet that rail %u has in other pods", other);
    }
}

void ni_align_rails(struct ni_job *job, struct ni_findings *f)
{
    struct usual u = {.n_rail = usual_number(job)};
    unsigned told = 0;

    for (unsigned r = 0; r < u.n_rail; r++)
        u.known[r] = usual_subnet(job, u.n_rail, r, &u.subnet[r]);
    for (unsigned p = 0; p < job->ranks; p++) {
        struct ni_pod *pod = &job->pod[p];
        struct ni_text t = NI_TEXT(NI_FINDING_MESSAGE), s = NI_TEXT(SUBJECT);

        if (pod->here && pod->n_rail != u.n_rail && pod->n_rail > 0)
            align(&u, pod, job->n_rail);
        else if (pod->here)
            put_crossed(&u, pod, &t);
        if (t.len == 0 || told == TOLD)
            continue;
        told++;
        ni_put_pod(&s, job, p);
        ni_report(f, NI_F_JOB_RAILS_CROSSED, s.buf, "%s of the other pods", t.buf);
    }
}
