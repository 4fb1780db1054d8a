/* SPDX-License-Identifier: Apache-2.0 */
/* memlock.raise: how far RLIMIT_MEMLOCK is raised, and why it stays low. What a job registers is
   pinned, and pinned pages count against the soft limit unless CAP_IPC_LOCK is effective
   (drivers/infiniband/core/umem.c ib_umem_get). Raising the hard limit takes CAP_SYS_RESOURCE in the
   initial user namespace (kernel/sys.c do_prlimit); how a process comes by it is capabilities(7). */
#include "check.h"

/* Below 1 GiB NCCL's host buffers on many HCAs do not fit; the 64 KiB and 8 MiB of systemd do not
   even do for the queues of one connection. */
const int64_t ni_memlock_enough = INT64_C(1) << 30, ni_memlock_hopeless = INT64_C(64) << 20;

bool ni_may_raise_memlock(const struct ni_self *s)
{
    return s->caps_known == NI_KNOWN && ni_has_cap(s->cap_eff | s->cap_prm, NI_CAP_SYS_RESOURCE) &&
           s->user_namespace != NI_USERNS_OWN;
}

bool ni_command_may_lock(const struct ni_facts *facts)
{
    return ni_has_cap(ni_command_caps(facts), NI_CAP_IPC_LOCK) &&
           facts->inv->self.user_namespace != NI_USERNS_OWN;
}

/* --memlock asks for no more than there is: the soft limit goes up to the hard one without any
   right. */
static bool is_held_by_option(const struct ni_facts *facts)
{
    const struct ni_self *s = &facts->inv->self;
    const struct ni_policy *p = facts->policy;
    if (s->memlock_hard.known != NI_KNOWN || s->memlock_soft.known != NI_KNOWN ||
        s->memlock_hard.v <= s->memlock_soft.v)
        return false;
    return p->memlock == NI_MEMLOCK_KEEP ||
           (p->memlock == NI_MEMLOCK_BYTES && p->memlock_bytes < s->memlock_hard.v);
}

void ni_memlock_why(const struct ni_facts *facts, struct ni_text *t)
{
    const struct ni_self *s = &facts->inv->self;
    const enum ni_known nosuid = facts->inv->self.nosuid;
    const bool may_raise = ni_may_raise_memlock(s);
    if (may_raise && facts->policy->memlock == NI_MEMLOCK_MAX) {
        ni_put(t, "CAP_SYS_RESOURCE is there, but the kernel or a seccomp filter did not let the "
                  "limit be raised");
    } else if (may_raise || is_held_by_option(facts)) {
        ni_put(t, facts->policy->memlock == NI_MEMLOCK_KEEP ? "--memlock=keep leaves it so"
                                                            : "--memlock asks for no more");
    } else if (s->caps_known != NI_KNOWN) {
        ni_put(t, "whether CAP_SYS_RESOURCE is there is unknown (/proc/self/status)");
    } else if (s->user_namespace == NI_USERNS_OWN) {
        ni_put(t, "capabilities do not count: the pod has a user namespace of its own "
                  "(hostUsers: false)");
    } else if (!ni_has_cap(s->cap_bnd, NI_CAP_SYS_RESOURCE)) {
        ni_put(t, "CAP_SYS_RESOURCE is not in the bounding set: add it in "
                  "securityContext.capabilities; OpenShift: the SCC's allowedCapabilities");
    } else if (s->uid.known != NI_KNOWN || s->uid.v == 0) {
        ni_put(t, "CAP_SYS_RESOURCE is in the bounding set, but was dropped from the permitted "
                  "set");
    } else {
        ni_putf(t, "uid %lld has CAP_SYS_RESOURCE in the bounding set only", (long long)s->uid.v);
        if (s->no_new_privs.known == NI_KNOWN && s->no_new_privs.v == 1)
            ni_put(t, ", and no_new_privs bars file capabilities: allowPrivilegeEscalation: true");
        else if (nosuid == NI_KNOWN)
            ni_put(t, ", and nosuid bars file capabilities: have nccl-init in the image");
        else
            ni_putf(t, ": setcap cap_sys_resource,cap_ipc_lock=p on nccl-init%s, or runAsUser: 0",
                    nosuid == NI_UNSET ? " (not on a nosuid mount)" : ""); /* doctor knows */
    }
}

static void report_low(const struct ni_facts *facts, int64_t soft, struct ni_findings *f)
{
    char why[160];
    struct ni_text t = ni_text_on(why, sizeof(why));
    ni_memlock_why(facts, &t);
    if (soft <= ni_memlock_hopeless)
        ni_report(f, NI_F_MEMLOCK_TOO_LOW, "RLIMIT_MEMLOCK",
                  "%lld KiB: `Call to ibv_create_qp failed with error Cannot allocate memory`, "
                  "`unhandled system error`; %s",
                  (long long)(soft / 1024), why);
    else
        ni_report(f, NI_F_MEMLOCK_LOW, "RLIMIT_MEMLOCK",
                  "%lld KiB: little for the buffers of many connections, ibv_reg_mr may fail; %s",
                  (long long)(soft / 1024), why);
}

static void memlock(const struct ni_facts *facts, struct ni_plan *plan, struct ni_findings *f)
{
    const struct ni_self *s = &facts->inv->self;
    const struct ni_policy *policy = facts->policy;
    const int64_t want = policy->memlock == NI_MEMLOCK_BYTES ? policy->memlock_bytes : NI_UNLIMITED;
    struct ni_limit *l = &plan->memlock;
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
        const int64_t top = l->hard < want ? l->hard : want;
        l->raise_soft = l->soft < top;
        l->soft = l->raise_soft ? top : l->soft;
    }
    if (plan->n_chosen > 0 && l->soft < ni_memlock_enough && !ni_command_may_lock(facts))
        report_low(facts, l->soft, f);
}

const struct ni_rule ni_rule_memlock = {"memlock.raise", "limits, capabilities", "RLIMIT_MEMLOCK",
                                        memlock, false};
