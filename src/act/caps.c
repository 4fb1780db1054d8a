/* SPDX-License-Identifier: Apache-2.0 */
/* The command's capabilities. Without --keep-caps and --drop-caps no set of this process is
   changed, and the command gets what execve makes of them (security/commoncap.c
   cap_bprm_creds_from_file). */
#include <errno.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "nccl_init/act.h"

static bool has(uint64_t set, unsigned cap)
{
    return (set >> cap & 1) != 0;
}

static bool flag_of(cap_t caps, unsigned cap, cap_flag_t which)
{
    cap_flag_value_t value = CAP_CLEAR;

    return cap_get_flag(caps, (cap_value_t)cap, which, &value) == 0 && value == CAP_SET;
}

static bool set_flag(cap_t caps, unsigned cap, cap_flag_t which, cap_flag_value_t to)
{
    const cap_value_t value = (cap_value_t)cap;

    return cap_set_flag(caps, which, 1, &value, to) == 0;
}

static bool is_effective(unsigned cap)
{
    cap_t caps = cap_get_proc();
    bool set = caps && flag_of(caps, cap, CAP_EFFECTIVE);

    if (caps)
        (void)cap_free(caps);
    return set;
}

/* Makes a permitted capability effective or not. false: it was so already, or cannot be. */
bool ni_cap_switch(unsigned cap, bool on)
{
    cap_t caps = cap_get_proc();
    bool done =
        caps && flag_of(caps, cap, CAP_PERMITTED) && flag_of(caps, cap, CAP_EFFECTIVE) != on &&
        set_flag(caps, cap, CAP_EFFECTIVE, on ? CAP_SET : CAP_CLEAR) && cap_set_proc(caps) == 0;

    if (caps)
        (void)cap_free(caps);
    return done;
}

void ni_caps_calm(void)
{
    cap_t caps = cap_get_proc();

    if (caps && cap_clear_flag(caps, CAP_EFFECTIVE) == 0)
        (void)cap_set_proc(caps);
    if (caps)
        (void)cap_free(caps);
}

/* First, while CAP_SETPCAP is there: it may be among those that go. */
static void drop_from_bounding(uint64_t set)
{
    bool raised = set != 0 && ni_cap_switch(NI_CAP_SETPCAP, true);

    for (unsigned cap = 0; cap < NI_CAPS; cap++)
        if (has(set, cap) && cap_get_bound((cap_value_t)cap) == 1)
            (void)cap_drop_bound((cap_value_t)cap); /* looked at again below */
    if (raised)
        (void)ni_cap_switch(NI_CAP_SETPCAP, false);
}

/* What leaves permitted or inheritable leaves ambient too, and what becomes ambient must be in both
   (security/commoncap.c cap_capset, cap_task_prctl). 0 or -errno. */
static int set_own(const struct ni_caps *want)
{
    static const cap_flag_t own[] = {CAP_EFFECTIVE, CAP_PERMITTED, CAP_INHERITABLE};
    cap_t caps = cap_get_proc();
    bool good = caps != NULL;
    int r = 0;

    for (unsigned cap = 0; good && cap < NI_CAPS; cap++) {
        for (size_t i = 0; has(want->drop, cap) && i < NI_COUNT(own); i++)
            good = good && set_flag(caps, cap, own[i], CAP_CLEAR);
        if (has(want->keep, cap))
            good = good && set_flag(caps, cap, CAP_INHERITABLE, CAP_SET);
    }
    if (!good || cap_set_proc(caps) != 0)
        r = -errno;
    if (caps)
        (void)cap_free(caps);
    for (unsigned cap = 0; r == 0 && cap < NI_CAPS; cap++)
        if (has(want->keep, cap) && cap_set_ambient((cap_value_t)cap, CAP_SET) != 0)
            r = -errno;
    return r;
}

/* Those of set that are in some set of the process, or are not ambient. */
static uint64_t still_there(const struct ni_caps *want)
{
    cap_t caps = cap_get_proc();
    uint64_t left = 0;

    for (unsigned cap = 0; cap < NI_CAPS; cap++) {
        bool own = !caps || flag_of(caps, cap, CAP_EFFECTIVE) ||
                   flag_of(caps, cap, CAP_PERMITTED) || flag_of(caps, cap, CAP_INHERITABLE) ||
                   cap_get_ambient((cap_value_t)cap) == 1;
        bool bound = !has(want->stuck, cap) && cap_get_bound((cap_value_t)cap) == 1;

        if (has(want->drop, cap) && (own || bound))
            left |= UINT64_C(1) << cap;
    }
    if (caps)
        (void)cap_free(caps);
    return left;
}

static uint64_t not_ambient(uint64_t set)
{
    uint64_t missing = 0;

    for (unsigned cap = 0; cap < NI_CAPS; cap++)
        if (has(set, cap) && cap_get_ambient((cap_value_t)cap) != 1)
            missing |= UINT64_C(1) << cap;
    return missing;
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
              err != 0 ? strerror(-err) : "");
}

void ni_caps_apply(const struct ni_caps *want, struct ni_findings *f)
{
    int err;

    if (want->keep == 0 && want->drop == 0)
        return;
    drop_from_bounding(want->drop & ~want->stuck);
    err = set_own(want);
    report(f, NI_F_CAPS_DROP_BOUNDING, "--drop-caps", still_there(want),
           "the kernel does not let it go", err);
    report(f, NI_F_CAPS_KEEP_MISSING, "--keep-caps", not_ambient(want->keep),
           "the kernel does not make it ambient", err);
}

bool ni_command_has_cap(unsigned cap)
{
    const int no_root = 1 << 0; /* SECBIT_NOROOT: root's exec is as any other */
    int securebits = prctl(PR_GET_SECUREBITS, 0, 0, 0, 0);

    if (cap_get_ambient((cap_value_t)cap) == 1)
        return true;
    return geteuid() == 0 && securebits >= 0 && (securebits & no_root) == 0 &&
           cap_get_bound((cap_value_t)cap) == 1 && is_effective(cap);
}
