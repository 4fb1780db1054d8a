/* SPDX-License-Identifier: Apache-2.0 */
/* Why a low RLIMIT_MEMLOCK stays low, from the process's own state. Raising the hard limit takes
   CAP_SYS_RESOURCE in the initial user namespace (kernel/sys.c do_prlimit); how a process comes by
   it is capabilities(7). */
#include "check.h"

static bool has(uint64_t set, unsigned bit)
{
    return set >> bit & 1;
}

bool ni_may_raise_memlock(const struct ni_self *s)
{
    return s->caps_known == NI_KNOWN && has(s->cap_eff | s->cap_prm, NI_CAP_SYS_RESOURCE) &&
           s->user_namespace != NI_USERNS_OWN;
}

bool ni_command_may_lock(const struct ni_facts *facts)
{
    return has(ni_command_caps(facts), NI_CAP_IPC_LOCK) &&
           facts->inv->self.user_namespace != NI_USERNS_OWN;
}

/* The soft limit goes up to the hard one without any right, and the user has it otherwise. */
static bool is_asked_for(const struct ni_facts *facts)
{
    const struct ni_self *s = &facts->inv->self;
    const struct ni_policy *p = facts->policy;
    if (s->memlock_hard.known != NI_KNOWN || s->memlock_soft.known != NI_KNOWN ||
        s->memlock_hard.v <= s->memlock_soft.v)
        return false;
    return p->memlock == NI_MEMLOCK_KEEP ||
           (p->memlock == NI_MEMLOCK_BYTES && p->memlock_bytes < s->memlock_hard.v);
}

static void say_non_root(const struct ni_inventory *inv, struct ni_text *t)
{
    const struct ni_self *s = &inv->self;
    ni_putf(t, "uid %lld has CAP_SYS_RESOURCE in the bounding set only", (long long)s->uid.v);
    if (s->no_new_privs.known == NI_KNOWN && s->no_new_privs.v == 1)
        ni_put(t, ", and no_new_privs bars file capabilities: allowPrivilegeEscalation: true");
    else if (inv->health.nosuid == NI_KNOWN)
        ni_put(t, ", and nosuid bars file capabilities: have nccl-init in the image");
    else if (inv->health.nosuid == NI_UNSET) /* only doctor reads the mounts */
        ni_put(t, ": setcap cap_sys_resource,cap_ipc_lock=p on nccl-init (not on a nosuid mount), "
                  "or runAsUser: 0");
    else
        ni_put(t, ": setcap cap_sys_resource,cap_ipc_lock=p on nccl-init, or runAsUser: 0");
}

void ni_memlock_why(const struct ni_facts *facts, struct ni_text *t)
{
    const struct ni_self *s = &facts->inv->self;
    if (ni_may_raise_memlock(s) && facts->policy->memlock == NI_MEMLOCK_MAX)
        ni_put(t, "CAP_SYS_RESOURCE is there, but the kernel or a seccomp filter did not let the "
                  "limit be raised");
    else if (is_asked_for(facts) || ni_may_raise_memlock(s))
        ni_put(t, facts->policy->memlock == NI_MEMLOCK_KEEP ? "--memlock=keep leaves it so"
                                                            : "--memlock asks for no more");
    else if (s->caps_known != NI_KNOWN)
        ni_put(t, "whether CAP_SYS_RESOURCE is there is unknown (/proc/self/status)");
    else if (s->user_namespace == NI_USERNS_OWN)
        ni_put(t, "capabilities do not count: the pod has a user namespace of its own "
                  "(hostUsers: false)");
    else if (!has(s->cap_bnd, NI_CAP_SYS_RESOURCE))
        ni_put(t, "CAP_SYS_RESOURCE is not in the bounding set: add it in "
                  "securityContext.capabilities; OpenShift: the SCC's allowedCapabilities");
    else if (s->uid.known == NI_KNOWN && s->uid.v != 0)
        say_non_root(facts->inv, t);
    else
        ni_put(t, "CAP_SYS_RESOURCE is in the bounding set, but was dropped from the permitted "
                  "set");
}
