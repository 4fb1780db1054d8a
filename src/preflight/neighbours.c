/* SPDX-License-Identifier: Apache-2.0 */
/* Neighbours: each pod tells the MAC address of each rail, and which one its kernel has for its
   partner's address. Where a pair failed and they differ, the packets went to a stranger; unless it is
   a router, which in some networks answers for all (proxy ARP). */
#include "preflight/neighbours.h"

#include "findings/job.h"
#include "nccl_init/findings.h"
#include "nccl_init/ip.h"
#include "nccl_init/text.h"
#include "preflight/job.h"
#include "rail/step.h"

enum {
    TOLD = 4, /* addresses that get a finding */
    SUBJECT = 32
};

bool ni_is_misled(const struct ni_pair_result *x)
{
    return x->misled != 0 && x->step != NI_PAIR_DONE;
}

/* Returns the rank of the pod whose address leads elsewhere. */
static unsigned sought_in(const struct ni_pair_result *x)
{
    return x->misled & NI_AT_FROM ? x->pair.to : x->pair.from;
}

static unsigned seeker_in(const struct ni_pair_result *x)
{
    return x->misled & NI_AT_FROM ? x->pair.from : x->pair.to;
}

/* Returns the MAC address that an end of the pair finds for the other end; 0: it is the right one. */
static uint64_t found_by(const struct ni_pair_result *x, unsigned end)
{
    if (!(x->misled & end))
        return 0;
    return end == NI_AT_FROM ? x->neighbour : x->neighbour_to;
}

/* Returns true if whoever has that MAC address forwards what it gets: in a pair that passed it
   answered as well. Who answers for two pods has not taken the address of one, either. */
static bool is_router(const struct ni_job *job, unsigned rail, uint64_t mac)
{
    unsigned sought = UINT32_MAX;

    for (unsigned i = 0; i < 2 * job->n_result; i++) {
        const struct ni_pair_result *x = &job->result[i / 2];
        const unsigned end = i % 2 ? NI_AT_FROM : NI_AT_TO;
        const unsigned pod = end == NI_AT_FROM ? x->pair.to : x->pair.from;

        if (x->pair.rail != rail || found_by(x, end) != mac)
            continue;
        if (x->step == NI_PAIR_DONE || (sought != UINT32_MAX && sought != pod))
            return true;
        sought = pod;
    }
    return false;
}

/* Takes it that no pair of the rail failed because of that MAC address. */
static void forget(struct ni_job *job, unsigned rail, uint64_t mac)
{
    for (unsigned k = 0; k < job->n_result; k++) {
        struct ni_pair_result *x = &job->result[k];

        if (x->pair.rail != rail || !ni_is_misled(x))
            continue;
        for (unsigned end = NI_AT_FROM; end <= NI_AT_TO; end++)
            if (found_by(x, end) == mac)
                x->misled &= ~end;
    }
}

void ni_forget_routers(struct ni_job *job)
{
    for (unsigned k = 0; k < job->n_result; k++) {
        const struct ni_pair_result *x = &job->result[k];

        for (unsigned end = NI_AT_FROM; end <= NI_AT_TO && ni_is_misled(x); end++) {
            const uint64_t mac = found_by(x, end);

            if (mac != 0 && is_router(job, x->pair.rail, mac))
                forget(job, x->pair.rail, mac);
        }
    }
}

static void put_mac(struct ni_text *t, uint64_t mac)
{
    for (int bits = 40; bits >= 0; bits -= 8)
        ni_putf(t, "%02x%s", (unsigned)(mac >> bits & 0xff), bits > 0 ? ":" : "");
}

/* Returns in how many of the first n results the same rail of the same pod was sought elsewhere. */
static unsigned count_misled(const struct ni_job *job, const struct ni_pair_result *of, unsigned n)
{
    unsigned found = 0;

    for (unsigned k = 0; k < n; k++) {
        const struct ni_pair_result *x = &job->result[k];

        found += ni_is_misled(x) && x->pair.rail == of->pair.rail && sought_in(x) == sought_in(of);
    }
    return found;
}

static void report_misled(const struct ni_job *job, const struct ni_pair_result *x,
                          struct ni_findings *f)
{
    const struct ni_rail *rail = &job->pod[sought_in(x)].rail[x->pair.rail];
    const unsigned pairs = count_misled(job, x, job->n_result);
    struct ni_text s = NI_TEXT(SUBJECT), t = NI_TEXT(NI_FINDING_MESSAGE);
    char ip[NI_IP_TEXT];

    ni_putf(&s, "rail %u", x->pair.rail);
    ni_putf(&t, "%s is the address of ", ni_ip_text(rail->gid, ip));
    ni_put_pod(&t, job, sought_in(x));
    ni_put(&t, ", ");
    put_mac(&t, rail->mac);
    ni_put(&t, ", but ");
    ni_put_pod(&t, job, seeker_in(x));
    ni_put(&t, " finds ");
    put_mac(&t, found_by(x, x->misled & NI_AT_FROM ? NI_AT_FROM : NI_AT_TO));
    ni_put(&t, " there");
    if (pairs > 1)
        ni_putf(&t, "; %u pairs failed in this way", pairs);
    ni_report(f, NI_F_JOB_NEIGHBOUR_WRONG, s.buf, "%s", t.buf);
}

void ni_report_neighbours(const struct ni_job *job, struct ni_findings *f)
{
    unsigned told = 0;

    for (unsigned k = 0; k < job->n_result && told < TOLD; k++) {
        const struct ni_pair_result *x = &job->result[k];

        if (!ni_is_misled(x) || count_misled(job, x, k) > 0)
            continue;
        report_misled(job, x, f);
        told++;
    }
}
