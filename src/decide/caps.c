/* SPDX-License-Identifier: Apache-2.0 */
/* caps.command: which capabilities --keep-caps and --drop-caps can give to and take from the
   command, from the process's own sets. Without these options nothing is touched: execve does as it
   always does (security/commoncap.c cap_bprm_creds_from_file). */
#include "check.h"

struct ni_caps ni_caps_of(const struct ni_facts *facts)
{
    const struct ni_self *s = &facts->inv->self;
    const struct ni_policy *p = facts->policy;
    const uint64_t unneeded = UINT64_C(1) << NI_CAP_SYS_RESOURCE;
    struct ni_caps caps = {.drop = p->drop_caps};
    if (p->drop_unneeded)
        caps.drop |= unneeded & ~p->keep_caps;
    caps.keep = p->keep_caps & ~caps.drop;
    if (s->caps_known != NI_KNOWN)
        return caps; /* tried then; the kernel tells */
    caps.drop &= s->cap_eff | s->cap_prm | s->cap_inh | s->cap_bnd | s->cap_amb;
    /* PR_CAPBSET_DROP takes CAP_SETPCAP (commoncap.c cap_prctl_drop), the other sets nothing. */
    if (!ni_has_cap(s->cap_prm, NI_CAP_SETPCAP))
        caps.stuck = caps.drop & s->cap_bnd;
    /* Ambient must be permitted and inheritable, and only what is in the bounding set can be added
       to the inheritable one (commoncap.c cap_capset, cap_task_prctl). */
    caps.keep &= s->cap_prm & (s->cap_inh | s->cap_bnd) & ~s->cap_amb;
    return caps;
}

/* A root's exec gives it what is left in the bounding set; another user's leaves the ambient ones.
 */
uint64_t ni_command_caps(const struct ni_facts *facts)
{
    const struct ni_self *s = &facts->inv->self;
    const struct ni_caps caps = ni_caps_of(facts);
    const bool root = s->uid.known != NI_KNOWN || s->uid.v == 0;
    if (s->caps_known != NI_KNOWN)
        return 0;
    if (root)
        return (s->cap_eff | caps.keep) & ~(caps.drop & ~caps.stuck);
    return (s->cap_amb | caps.keep) & ~caps.drop;
}

/* Why what is in the bounding set is not permitted. */
static const char *not_permitted(const struct ni_facts *facts)
{
    const struct ni_self *s = &facts->inv->self;
    if (s->uid.known == NI_KNOWN && s->uid.v == 0)
        return "in the bounding set, but dropped from the permitted set";
    if (s->no_new_privs.known == NI_KNOWN && s->no_new_privs.v == 1)
        return "in the bounding set only: no_new_privs bars file capabilities "
               "(allowPrivilegeEscalation: false)";
    if (facts->inv->self.nosuid == NI_KNOWN)
        return "in the bounding set only: nccl-init lies on a nosuid mount, which bars file "
               "capabilities";
    if (facts->inv->self.nosuid == NI_ABSENT)
        return "in the bounding set only, not in the permitted set: nccl-init has no file "
               "capability for it";
    return "in the bounding set only, not in the permitted set: nccl-init has no file capability "
           "for it, or lies on a nosuid mount";
}

static void report(struct ni_findings *f, enum ni_finding_id id, const char *option, uint64_t set,
                   const char *why)
{
    char names[128];
    struct ni_text t = ni_text_on(names, sizeof(names));
    if (set == 0)
        return;
    ni_put_caps(&t, set);
    ni_report(f, id, option, "%s: %s", names, why);
}

static void caps(const struct ni_facts *facts, struct ni_plan *plan, struct ni_findings *f)
{
    const struct ni_self *s = &facts->inv->self;
    const uint64_t asked = facts->policy->keep_caps, dropped = facts->policy->drop_caps;
    plan->caps = ni_caps_of(facts);
    if (s->caps_known != NI_KNOWN)
        return;
    const uint64_t not_kept = asked & ~(dropped | plan->caps.keep | s->cap_amb);
    report(f, NI_F_CAPS_KEEP_MISSING, "--keep-caps", asked & dropped, "--drop-caps names it too");
    report(f, NI_F_CAPS_KEEP_MISSING, "--keep-caps", not_kept & ~s->cap_bnd,
           "not in the bounding set: the container was not given it");
    report(f, NI_F_CAPS_KEEP_MISSING, "--keep-caps", not_kept & s->cap_bnd, not_permitted(facts));
    report(f, NI_F_CAPS_DROP_BOUNDING, "--drop-caps", plan->caps.stuck,
           s->uid.known == NI_KNOWN && s->uid.v != 0
               ? "it stays in the bounding set, because CAP_SETPCAP is needed to take it out; only "
                 "a program with file capabilities could get it back"
               : "it stays in the bounding set, because CAP_SETPCAP is needed to take it out; a "
                 "command that runs as root gets it back");
}

const struct ni_rule ni_rule_caps = {"caps.command", "capabilities, --keep-caps, --drop-caps",
                                     "the command's capabilities", caps, true};
