/* SPDX-License-Identifier: Apache-2.0 */
/* The command's capabilities. Without --keep-caps and --drop-caps no set of this process is
   changed, and the command gets what execve makes of them (security/commoncap.c
   cap_bprm_creds_from_file). */
#include <errno.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "nccl_init/act.h"

static uint64_t bit(unsigned cap)
{
    return UINT64_C(1) << cap;
}

/* The process's own sets, by the system calls themselves, which need no heap. */
enum { EFFECTIVE, PERMITTED, INHERITABLE, OWN };

/* SYS_capget or SYS_capset. 0 or -errno. */
static int own_sets(long call, uint64_t own[OWN])
{
    /* _LINUX_CAPABILITY_VERSION_3 of include/uapi/linux/capability.h, and this process */
    struct {
        uint32_t version;
        int pid;
    } header = {0x20080522, 0};
    uint32_t halves[2][OWN]; /* of the numbers, each with the three sets */

    for (int i = 0; i < OWN; i++) {
        halves[0][i] = (uint32_t)own[i];
        halves[1][i] = (uint32_t)(own[i] >> 32);
    }
    if (syscall(call, &header, halves) != 0)
        return -errno;
    for (int i = 0; i < OWN; i++)
        own[i] = halves[0][i] | (uint64_t)halves[1][i] << 32;
    return 0;
}

static bool is_bounding(unsigned cap)
{
    return prctl(PR_CAPBSET_READ, cap, 0, 0, 0) == 1;
}

bool ni_cap_switch(unsigned cap, bool on)
{
    uint64_t own[OWN] = {0};

    if (own_sets(SYS_capget, own) < 0 || !ni_has_cap(own[PERMITTED], cap) ||
        ni_has_cap(own[EFFECTIVE], cap) == on)
        return false;
    own[EFFECTIVE] ^= bit(cap);
    return own_sets(SYS_capset, own) == 0;
}

int ni_caps_disable(void)
{
    uint64_t own[OWN] = {0};
    int r = own_sets(SYS_capget, own);

    if (r < 0 || own[EFFECTIVE] == 0)
        return r;
    own[EFFECTIVE] = 0;
    return own_sets(SYS_capset, own);
}

int ni_caps_forsake(uint64_t keep)
{
    uint64_t own[OWN] = {0};
    int r = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : own_sets(SYS_capget, own);

    if (r < 0)
        return r;
    own[PERMITTED] &= keep;
    own[EFFECTIVE] = own[PERMITTED];
    own[INHERITABLE] = 0; /* and what is ambient goes with it */
    return own_sets(SYS_capset, own);
}

/* From all sets; from the bounding set first, while CAP_SETPCAP is there: it may be among those that
   go. What leaves permitted or inheritable leaves ambient too (security/commoncap.c cap_capset).
   Those that the kernel keeps. */
static uint64_t drop(const struct ni_caps *want)
{
    const uint64_t bounding = want->drop & ~want->stuck;
    bool raised = bounding != 0 && ni_cap_switch(NI_CAP_SETPCAP, true);
    uint64_t own[OWN] = {0}, left = 0;

    for (unsigned cap = 0; cap < NI_CAPS; cap++)
        if (ni_has_cap(bounding, cap) && is_bounding(cap) &&
            prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) != 0)
            left |= bit(cap);
    if (raised)
        (void)ni_cap_switch(NI_CAP_SETPCAP, false);
    if (want->drop == 0 || own_sets(SYS_capget, own) < 0)
        return want->drop;
    for (int i = 0; i < OWN; i++)
        own[i] &= ~want->drop;
    return own_sets(SYS_capset, own) < 0 ? want->drop : left;
}

/* What becomes ambient must be permitted and inheritable (cap_task_prctl). By calls of its own: one
   that the kernel refuses takes no other with it, and undoes no drop. */
static bool keep(unsigned cap)
{
    uint64_t own[OWN] = {0};

    if (own_sets(SYS_capget, own) < 0)
        return false;
    own[INHERITABLE] |= bit(cap);
    return own_sets(SYS_capset, own) == 0 &&
           prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0) == 0;
}

static void report(struct ni_findings *f, enum ni_finding_id id, const char *option, uint64_t set,
                   const char *what)
{
    struct ni_text names = NI_TEXT(128);

    ni_put_caps(&names, set);
    if (set != 0)
        ni_report(f, id, option, "%s: the kernel does not %s", names.buf, what);
}

void ni_caps_apply(const struct ni_caps *want, struct ni_findings *f)
{
    uint64_t missing = 0;

    if (want->keep == 0 && want->drop == 0)
        return;
    report(f, NI_F_CAPS_DROP_BOUNDING, "--drop-caps", drop(want), "let it go");
    for (unsigned cap = 0; cap < NI_CAPS; cap++)
        if (ni_has_cap(want->keep, cap) && !keep(cap))
            missing |= bit(cap);
    report(f, NI_F_CAPS_KEEP_MISSING, "--keep-caps", missing, "make it ambient");
}

bool ni_command_has_cap(unsigned cap)
{
    const int no_root = 1 << 0; /* SECBIT_NOROOT: root's exec is as any other */
    int securebits = prctl(PR_GET_SECUREBITS, 0, 0, 0, 0);
    uint64_t own[OWN] = {0};

    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, cap, 0, 0) == 1)
        return true;
    return geteuid() == 0 && securebits >= 0 && (securebits & no_root) == 0 && is_bounding(cap) &&
           own_sets(SYS_capget, own) == 0 && ni_has_cap(own[EFFECTIVE], cap);
}
