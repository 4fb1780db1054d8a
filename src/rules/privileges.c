/* SPDX-License-Identifier: Apache-2.0 */
/* The rules caps.command and memlock.raise. caps.command: the capabilities that --keep-caps and
   --drop-caps can give to and take from the command, out of the process's own sets. Without
   these options nothing is touched, and execve does as always (security/commoncap.c
   cap_bprm_creds_from_file). memlock.raise: the value to which RLIMIT_MEMLOCK is raised, and the
   reason if it stays low. Memory that a job registers is pinned, and pinned pages count against
   the soft limit unless CAP_IPC_LOCK is effective (drivers/infiniband/core/umem.c ib_umem_get).
   Raising the hard limit takes CAP_SYS_RESOURCE in the initial user namespace (kernel/sys.c
   do_prlimit); capabilities(7) says how a process gets it. */
#include "rules/privileges.h"

#include <string.h>

#include "findings/pod.h"
#include "nccl_init/caps.h"
#include "nccl_init/findings.h"
#include "nccl_init/known.h"
#include "nccl_init/number.h"
#include "nccl_init/plan.h"
#include "nccl_init/process.h"
#include "nccl_init/text.h"
#include "rules/decide.h"

static bool is_root(const struct ni_self *s) /* true also if the uid is not known */
{
    return s->uid.known != NI_KNOWN || s->uid.v == 0;
}

static bool has_no_new_privs(const struct ni_self *s)
{
    return s->no_new_privs.known == NI_KNOWN && s->no_new_privs.v == 1;
}

/* ---- capabilities ---- */

/* Returns the capabilities that an exec can give back although they were dropped. With no_new_privs
   none: a gain is cut to the permitted set of before (commoncap.c cap_bprm_creds_from_file, since
   Linux 3.5). */
static uint64_t given_back(const struct ni_self *s, const struct ni_caps *caps)
{
    return has_no_new_privs(s) ? 0 : caps->stuck;
}

/* Returns the capabilities that the command will have: the exec of a root gives it those of the
   bounding set, that of another user the ambient ones. */
uint64_t ni_command_caps(const struct ni_work *w)
{
    const struct ni_self *s = &w->inv->self;
    const struct ni_caps *caps = &w->plan->caps;

    if (s->caps_known != NI_KNOWN)
        return 0;
    if (is_root(s))
        return (s->cap_eff | caps->keep) & ~(caps->drop & ~given_back(s, caps));
    return (s->cap_amb | caps->keep) & ~caps->drop;
}

/* Why something is missing, and what the user does about it. */
struct reason {
    const char *why; /* a clause */
    const char *fix; /* a sentence; NULL: what the catalogue says */
};

/* Puts what to do behind why, in one clause. */
static void put_fix(struct ni_text *t, const char *fix)
{
    if (fix)
        ni_putf(t, ": %.*s", (int)strlen(fix) - 1, fix);
}

/* Says why a capability of the bounding set is not permitted. */
static struct reason not_permitted(const struct ni_self *s)
{
    if (is_root(s))
        return (struct reason){"in the bounding set, but was dropped from the permitted set",
                               "start nccl-init before capabilities are dropped."};
    if (has_no_new_privs(s))
        return (struct reason){
            "in the bounding set only, and no_new_privs disables file capabilities",
            "set allowPrivilegeEscalation: true, or runAsUser: 0."};
    if (s->nosuid == NI_KNOWN)
        return (struct reason){"in the bounding set only, and nccl-init is on a nosuid mount, "
                               "which disables file capabilities",
                               "put nccl-init into the image, or set runAsUser: 0."};
    return (struct reason){"in the bounding set only",
                           "run setcap cap_sys_resource,cap_ipc_lock=p on nccl-init (not on a "
                           "nosuid mount), or set runAsUser: 0."};
}

static void report_caps(const struct ni_work *w, ni_finding_number id, const char *option,
                        uint64_t set, const char *why)
{
    struct ni_text names = NI_TEXT(128);

    if (set == 0)
        return;
    ni_put_caps(&names, set, &w->policy->cap_names);
    ni_report(w->f, id, option, "%s: %s", names.buf, why);
}

/* Reports the capabilities that the user wants kept or dropped, and that cannot be. */
static void report_kept_and_dropped(const struct ni_work *w)
{
    static const char keep[] = "--keep-caps";
    const struct ni_self *s = &w->inv->self;
    const struct ni_caps *caps = &w->plan->caps;
    const struct reason reason = not_permitted(s);
    struct ni_text why = NI_TEXT(200);
    const uint64_t asked = w->policy->keep_caps, dropped = w->policy->drop_caps;
    const uint64_t not_kept = asked & ~(dropped | caps->keep | s->cap_amb);
    /* those that the program may have by its file */
    const uint64_t ours =
        is_root(s) ? UINT64_MAX : ni_cap_bit(CAP_SYS_RESOURCE) | ni_cap_bit(CAP_IPC_LOCK);

    ni_put(&why, reason.why);
    put_fix(&why, reason.fix);
    report_caps(w, NI_F_CAPS_KEEP_MISSING, keep, asked & dropped, "--drop-caps names it too");
    report_caps(w, NI_F_CAPS_KEEP_MISSING, keep, not_kept & ~s->cap_bnd,
                "not in the bounding set, because the container was not given it");
    report_caps(w, NI_F_CAPS_KEEP_MISSING, keep, not_kept & s->cap_bnd & ours, why.buf);
    report_caps(w, NI_F_CAPS_KEEP_MISSING, keep, not_kept & s->cap_bnd & ~ours,
                "in the bounding set only, and nccl-init has no file capability for it");
    report_caps(w, NI_F_CAPS_DROP_BOUNDING, "--drop-caps", given_back(s, caps),
                "it stays in the bounding set, because CAP_SETPCAP is needed to take it out: a "
                "command that runs as root, or has file capabilities, gets it back");
}

void ni_rule_caps(const struct ni_work *w)
{
    const uint64_t unneeded = ni_cap_bit(CAP_SYS_RESOURCE);
    const struct ni_self *s = &w->inv->self;
    const uint64_t asked = w->policy->keep_caps;
    struct ni_caps *caps = &w->plan->caps;

    caps->drop = w->policy->drop_caps | (w->policy->drop_unneeded ? unneeded & ~asked : 0);
    caps->keep = asked & ~caps->drop;
    if (s->caps_known != NI_KNOWN)
        return; /* it is tried when the command starts, and the kernel decides */
    caps->drop &= s->cap_eff | s->cap_prm | s->cap_inh | s->cap_bnd | s->cap_amb;
    /* PR_CAPBSET_DROP needs CAP_SETPCAP (commoncap.c cap_prctl_drop); to drop from the other sets
       needs nothing. */
    if (!ni_has_cap(s->cap_prm, CAP_SETPCAP))
        caps->stuck = caps->drop & s->cap_bnd;
    /* Ambient must be permitted and inheritable, and only what is in the bounding set can be added
       to the inheritable one (commoncap.c cap_capset, cap_task_prctl). */
    caps->keep &= s->cap_prm & (s->cap_inh | s->cap_bnd) & ~s->cap_amb;
    report_kept_and_dropped(w);
}

/* ---- locked memory ---- */

/* Below 1 GiB NCCL's host buffers on many HCAs do not fit; the 64 KiB and 8 MiB of systemd do not
   even do for the queues of one connection. */
const int64_t ni_memlock_enough = INT64_C(1) << 30, ni_memlock_hopeless = INT64_C(64) << 20;

bool ni_may_raise_memlock(const struct ni_self *s)
{
    return s->caps_known == NI_KNOWN && ni_has_cap(s->cap_eff | s->cap_prm, CAP_SYS_RESOURCE) &&
           s->user_namespace != NI_USERNS_OWN;
}

bool ni_command_may_lock(const struct ni_work *w)
{
    return ni_has_cap(ni_command_caps(w), CAP_IPC_LOCK) &&
           w->inv->self.user_namespace != NI_USERNS_OWN;
}

static bool has_limits(const struct ni_self *s)
{
    return s->memlock_soft.known == NI_KNOWN && s->memlock_hard.known == NI_KNOWN;
}

/* Puts why the limit stays low. Returns what the user does about it, a sentence; NULL: nothing is
   known that helps. */
static const char *put_memlock_reason(const struct ni_work *w, struct ni_text *why)
{
    const struct ni_self *s = &w->inv->self;
    const bool may = ni_may_raise_memlock(s);
    /* the soft limit goes up to the hard one without any right */
    const bool held = has_limits(s) && s->memlock_hard.v > s->memlock_soft.v &&
                      w->policy->memlock < s->memlock_hard.v;

    if (may && w->policy->memlock == NI_UNLIMITED) {
        ni_putf(why,
                "CAP_SYS_RESOURCE is present, but the kernel%s did not allow raising the limit",
                s->seccomp.known == NI_KNOWN && s->seccomp.v == 0 ? "" : " or the seccomp filter");
        return NULL;
    }
    if (may || held) {
        ni_put(why, "--memlock does not ask for more");
        return "leave --memlock (NCCLINIT_MEMLOCK) out.";
    }
    if (s->caps_known != NI_KNOWN) {
        ni_put(why, "it is unknown whether CAP_SYS_RESOURCE is present (/proc/self/status)");
        return NULL;
    }
    if (s->user_namespace == NI_USERNS_OWN) {
        ni_put(why, "capabilities do not count: the pod has a user namespace of its own");
        return "take hostUsers: false out of the pod spec; then SYS_RESOURCE counts.";
    }
    if (!ni_has_cap(s->cap_bnd, CAP_SYS_RESOURCE)) {
        ni_put(why, "CAP_SYS_RESOURCE is not in the bounding set");
        return is_root(s) ? "add SYS_RESOURCE or IPC_LOCK to securityContext.capabilities, and on "
                            "OpenShift to the SCC's allowedCapabilities."
                          : "add SYS_RESOURCE to securityContext.capabilities, and on OpenShift to "
                            "the SCC's allowedCapabilities; without root nccl-init also needs its "
                            "file capabilities.";
    }
    const struct reason reason = not_permitted(s);
    ni_putf(why, "CAP_SYS_RESOURCE is %s", reason.why);
    return reason.fix;
}

void ni_memlock_why(const struct ni_work *w, struct ni_text *t)
{
    const char *fix = put_memlock_reason(w, t);

    put_fix(t, fix);
}

/* Reports a limit that is too low for RDMA. What another container may lock is not seen here. */
static void report_limit(const struct ni_work *w, int64_t soft)
{
    struct ni_text why = NI_TEXT(200), limit = NI_TEXT(32);
    struct ni_finding *found;

    ni_put_bytes(&limit, soft / 1024 * 1024);
    if (w->policy->command_elsewhere) {
        ni_report(w->f, NI_F_MEMLOCK_ELSEWHERE, "RLIMIT_MEMLOCK",
                  "%s in this container, too low for RDMA; if the command runs in another "
                  "container, the limit there counts, and it is not seen here",
                  limit.buf);
        return;
    }
    const char *fix = put_memlock_reason(w, &why);
    if (soft <= ni_memlock_hopeless)
        found = ni_report(w->f, NI_F_MEMLOCK_TOO_LOW, "RLIMIT_MEMLOCK",
                          "%s: `Call to ibv_create_qp failed with error Cannot allocate memory`, "
                          "`unhandled system error`; %s",
                          limit.buf, why.buf);
    else
        found = ni_report(w->f, NI_F_MEMLOCK_LOW, "RLIMIT_MEMLOCK",
                          "%s: too low for many connections; ibv_reg_mr may fail; %s", limit.buf,
                          why.buf);
    if (found)
        found->user = fix;
}

void ni_rule_memlock(const struct ni_work *w)
{
    const struct ni_self *s = &w->inv->self;
    const int64_t want = w->policy->memlock;
    struct ni_limit *l = &w->plan->memlock;

    if (!has_limits(s)) {
        /* without /proc ni_memlock_raise asks the kernel for the limits, and raises the soft one to
           the hard one */
        *l = (struct ni_limit){.soft = want, .hard = -1};
        return;
    }
    l->hard = s->memlock_hard.v;
    if (l->hard < want && ni_may_raise_memlock(s))
        l->hard = want;
    const int64_t top = l->hard < want ? l->hard : want;
    l->soft = s->memlock_soft.v < top ? top : s->memlock_soft.v;
    l->harmless = l->soft < ni_memlock_enough && ni_command_may_lock(w);
    if (w->plan->n_chosen > 0 && l->soft < ni_memlock_enough && !l->harmless)
        report_limit(w, l->soft);
}
