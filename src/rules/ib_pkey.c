/* SPDX-License-Identifier: Apache-2.0 */
/* The rule ib.pkey: looks at the P_Key that NCCL's queue pairs will have on InfiniBand: NCCL_IB_PKEY
   is an index into the port's table, 0 if unset (NCCL 2.30.7 transport/net_ib/connect.cc
   ncclIbInitQp). It sets nothing, because all pods of a job must be in one partition, and this pod
   does not know which one the others have. */
#include "rules/ib_pkey.h"

#include "findings/device.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "rules/chosen.h"
#include "rules/decide.h"

static const char variable[] = "NCCL_IB_PKEY";

/* Returns the index of the first full member of a partition; -1: there is none. */
static int first_full(const struct ni_port *port)
{
    for (unsigned i = 0; i < port->n_pkey; i++) {
        if (port->pkey[i] & NI_PKEY_FULL && port->pkey[i] & NI_PKEY_PARTITION)
            return (int)i;
    }
    return -1;
}

/* Judges the entry that NCCL uses: an empty one carries no packet; a limited member reaches full
   members, but no other limited one (IBTA 10.9.3). */
static void judge_entry(const struct ni_work *w, const struct ni_chosen *c, int64_t index)
{
    const struct ni_port *port = c->port;
    const unsigned pkey = index >= 0 && index < port->n_pkey ? port->pkey[index] : 0;
    const int full = first_full(port);
    const char *name = ni_port_name(w->inv, c->at).text;
    char other[80] = "";

    if (full >= 0)
        (void)ni_format(other, sizeof(other), "; index %d has 0x%04x, a full member", full,
                        (unsigned)port->pkey[full]);
    if ((pkey & NI_PKEY_PARTITION) == 0)
        ni_report(w->f, NI_F_IB_PKEY_EMPTY, name,
                  "the P_Key at index %lld, which NCCL uses, is empty%s", (long long)index, other);
    else if (!(pkey & NI_PKEY_FULL) && full >= 0)
        ni_report(
            w->f, NI_F_IB_PKEY_LIMITED, name,
            "the P_Key at index %lld, which NCCL uses, is 0x%04x, a limited member, and two of "
            "these do not reach each other%s",
            (long long)index, pkey, other);
}

void ni_rule_ib_pkey(const struct ni_work *w)
{
    const int64_t index = ni_user_int(w, variable, 0);
    const char *by_value = ni_user_value(w, "NCCL_IB_PKEY_VALUE"); /* 2.31.2 and later */

    if (by_value && *by_value)
        return;
    for (unsigned i = 0; i < w->plan->n_chosen; i++) {
        const struct ni_chosen c = ni_chosen(w, i);

        if (c.port->link != NI_LINK_IB)
            continue;
        w->plan->needs |= index == 0 ? NI_NEED_PKEYS : NI_NEED_ALL_PKEYS;
        if (c.port->n_pkey > 0)
            judge_entry(w, &c, index);
    }
}
