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

/* halves: of the numbers, each with the three sets. */
static int capability_call(long call, uint32_t halves[2][OWN])
{
    /* _LINUX_CAPABILITY_VERSION_3 of include/uapi/linux/capability.h, and this process */
    struct {
        uint32_t version;
        int pid;
    } header = {0x20080522, 0};

    return syscall(call, &header, halves) == 0 ? 0 : -errno;
}

static int get_own(uint64_t own[OWN])
{
    uint32_t halves[2][OWN] = {{0}};
    int r = capability_call(SYS_capget, halves);

    for (int i = 0; i < OWN; i++)
        own[i] = halves[0][i] | (uint64_t)halves[1][i] << 32;
    return r;
}

static int set_own(const uint64_t own[OWN])
{
    uint32_t halves[2][OWN];

    for (int i = 0; i < OWN; i++) {
        halves[0][i] = (uint32_t)own[i];
        halves[1][i] = (uint32_t)(own[i] >> 32);
    }
    return capability_call(SYS_capset, halves);
}

static bool is_ambient(unsigned cap)
{
    return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, cap, 0, 0) == 1;
}

static bool is_bounding(unsigned cap)
{
    return prctl(PR_CAPBSET_READ, cap, 0, 0, 0) == 1;
}

bool ni_cap_switch(unsigned cap, bool on)
{
    uint64_t own[OWN];

    if (get_own(own) < 0 || (own[PERMITTED] & bit(cap)) == 0 ||
        ((own[EFFECTIVE] & bit(cap)) != 0) == on)
        return false;
    own[EFFECTIVE] ^= bit(cap);
    return set_own(own) == 0;
}

int ni_caps_disable(void)
{
    uint64_t own[OWN];
    int r = get_own(own);

    if (r < 0 || own[EFFECTIVE] == 0)
        return r;
    own[EFFECTIVE] = 0;
    return set_own(own);
}

int ni_caps_renounce(void)
{
    static const uint64_t none[OWN];

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : set_own(none);
}

/* First, while CAP_SETPCAP is there: it may be among those that go. */
static void drop_from_bounding(uint64_t set)
{
    bool raised = set != 0 && ni_cap_switch(NI_CAP_SETPCAP, true);

    for (unsigned cap = 0; cap < NI_CAPS; cap++)
        if ((set & bit(cap)) != 0 && is_bounding(cap))
            (void)prctl(PR_CAPBSET_DROP, cap, 0, 0, 0); /* looked at again below */
    if (raised)
        (void)ni_cap_switch(NI_CAP_SETPCAP, false);
}

/* What leaves permitted or inheritable leaves ambient too (security/commoncap.c cap_capset). 0 or
   -errno. */
static int drop(uint64_t set)
{
    uint64_t own[OWN];
    int r = get_own(own);

    for (int i = 0; i < OWN; i++)
        own[i] &= ~set;
    return r < 0 || set == 0 ? r : set_own(own);
}

/* What becomes ambient must be permitted and inheritable (cap_task_prctl). Each by calls of its
   own: one that the kernel refuses takes no other with it, and undoes no drop. 0 or -errno. */
static int keep(unsigned cap)
{
    uint64_t own[OWN];
    int r = get_own(own);

    own[INHERITABLE] |= bit(cap);
    r = r < 0 ? r : set_own(own);
    if (r < 0)
        return r;
    return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0) == 0 ? 0 : -errno;
}

int ni_caps_forsake(uint64_t keep)
{
    uint64_t own[OWN] = {0};
    int r = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 ? get_own(own) : -errno;

    if (r < 0)
        return r;
    own[PERMITTED] &= keep;
    own[EFFECTIVE] = own[PERMITTED];
    own[INHERITABLE] = 0; /* and what is ambient goes with it */
    return set_own(own);
}

/* Those to be dropped that are in some set of the process. */
static uint64_t still_there(const struct ni_caps *want)
{
    uint64_t own[OWN], left;

    left = get_own(own) < 0 ? UINT64_MAX : own[EFFECTIVE] | own[PERMITTED] | own[INHERITABLE];
    for (unsigned cap = 0; cap < NI_CAPS; cap++)
        if (is_ambient(cap) || ((want->stuck & bit(cap)) == 0 && is_bounding(cap)))
            left |= bit(cap);
    return left & want->drop;
}

static void report(struct ni_findings *f, enum ni_finding_id id, const char *option, uint64_t set,
                   const char *what, int err)
{
    char buf[128];
    struct ni_text names = ni_text_on(buf, sizeof(buf));

    if (set == 0)
        return;
    ni_put_caps(&names, set);
    ni_report(f, id, option, "%s: %s%s%s", buf, what, err != 0 ? ": " : "",
              err != 0 ? ni_errno_text(err) : "");
}

void ni_caps_apply(const struct ni_caps *want, struct ni_findings *f)
{
    uint64_t missing = 0;
    int err;

    if (want->keep == 0 && want->drop == 0)
        return;
    drop_from_bounding(want->drop & ~want->stuck);
    err = drop(want->drop);
    report(f, NI_F_CAPS_DROP_BOUNDING, "--drop-caps", still_there(want),
           "the kernel does not let it go", err);
    err = 0;
    for (unsigned cap = 0; cap < NI_CAPS; cap++) {
        int r = (want->keep & bit(cap)) != 0 ? keep(cap) : 0;

        err = r < 0 ? r : err;
        if (!is_ambient(cap))
            missing |= want->keep & bit(cap);
    }
    report(f, NI_F_CAPS_KEEP_MISSING, "--keep-caps", missing, "the kernel does not make it ambient",
           err);
}

bool ni_command_has_cap(unsigned cap)
{
    const int no_root = 1 << 0; /* SECBIT_NOROOT: root's exec is as any other */
    int securebits = prctl(PR_GET_SECUREBITS, 0, 0, 0, 0);
    uint64_t own[OWN];

    if (is_ambient(cap))
        return true;
    return geteuid() == 0 && securebits >= 0 && (securebits & no_root) == 0 && is_bounding(cap) &&
           get_own(own) == 0 && (own[EFFECTIVE] & bit(cap)) != 0;
}
