/* SPDX-License-Identifier: Apache-2.0 */
/* memlock.raise: how far RLIMIT_MEMLOCK is raised. What a job registers is pinned, and pinned pages
   count against the soft limit unless CAP_IPC_LOCK is effective (drivers/infiniband/core/umem.c
   ib_umem_get). */
#include "check.h"

/* Below 1 GiB NCCL's host buffers on many HCAs do not fit; the 64 KiB and 8 MiB of systemd do not
   even do for the queues of one connection. */
const int64_t ni_memlock_enough = INT64_C(1) << 30, ni_memlock_hopeless = INT64_C(64) << 20;

static void report_low(const struct ni_facts *facts, const struct ni_limit *l,
                       struct ni_findings *f)
{
    char buf[160];
    struct ni_text why = ni_text_on(buf, sizeof(buf));
    ni_memlock_why(facts, &why);
    if (l->soft <= ni_memlock_hopeless)
        ni_report(f, NI_F_MEMLOCK_TOO_LOW, "RLIMIT_MEMLOCK",
                  "%lld KiB: `Call to ibv_create_qp failed with error Cannot allocate memory`, "
                  "`unhandled system error`; %s",
                  (long long)(l->soft / 1024), buf);
    else
        ni_report(f, NI_F_MEMLOCK_LOW, "RLIMIT_MEMLOCK",
                  "%lld KiB: little for the buffers of many connections, ibv_reg_mr may fail; %s",
                  (long long)(l->soft / 1024), buf);
}

void ni_rule_memlock(const struct ni_facts *facts, struct ni_plan *plan, struct ni_findings *f)
{
    const struct ni_self *s = &facts->inv->self;
    const struct ni_policy *policy = facts->policy;
    struct ni_limit *l = &plan->memlock;
    int64_t want = policy->memlock == NI_MEMLOCK_BYTES ? policy->memlock_bytes : NI_UNLIMITED;
    if (s->memlock_soft.known != NI_KNOWN || s->memlock_hard.known != NI_KNOWN) {
        /* Without /proc the limits in force are met when they are raised: the soft one goes up to
           the hard one. */
        *l = (struct ni_limit){
            .raise_soft = policy->memlock != NI_MEMLOCK_KEEP, .soft = want, .hard = want};
        return;
    }
    l->soft = s->memlock_soft.v;
    l->hard = s->memlock_hard.v;
    if (policy->memlock != NI_MEMLOCK_KEEP) {
        l->raise_hard = l->hard < want && ni_may_raise_memlock(s);
        l->hard = l->raise_hard ? want : l->hard;
        int64_t top = l->hard < want ? l->hard : want;
        l->raise_soft = l->soft < top;
        l->soft = l->raise_soft ? top : l->soft;
    }
    if (plan->n_chosen > 0 && l->soft < ni_memlock_enough && !ni_command_may_lock(facts))
        report_low(facts, l, f);
}
