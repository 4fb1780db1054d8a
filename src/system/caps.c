/* SPDX-License-Identifier: Apache-2.0 */
/* The process's own capabilities, through libcap. Without --keep-caps and --drop-caps no set of
   this process is changed, and the command gets what execve makes of them (security/commoncap.c
   cap_bprm_creds_from_file). */
#include "system/caps.h"

#include <ctype.h>
#include <errno.h>
#include <strings.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "findings/pod.h"
#include "nccl_init/base.h"
#include "nccl_init/caps.h"
#include "nccl_init/findings.h"
#include "nccl_init/plan.h"
#include "nccl_init/text.h"

/* libcap allocates each set (cap_get_proc) and sets errno if it fails. */
static int cap_error(int status)
{
    if (status == 0)
        return 0;
    return errno != 0 ? -errno : -EIO;
}

/* Sets the process's own sets and frees the copy. 0 or -errno. */
static int set_and_free(cap_t own)
{
    const int r = cap_error(cap_set_proc(own));

    (void)cap_free(own);
    return r;
}

/* Changes one flag of one capability. 0 or -errno. */
static int set_flag(unsigned cap, cap_flag_t flag, cap_flag_value_t value)
{
    const cap_value_t number = (cap_value_t)cap;
    cap_t own = cap_get_proc();

    if (!own)
        return cap_error(-1);
    if (cap_set_flag(own, flag, 1, &number, value) != 0) {
        const int r = cap_error(-1);

        (void)cap_free(own);
        return r;
    }
    return set_and_free(own);
}

static bool has_flag(cap_t own, unsigned cap, cap_flag_t flag)
{
    cap_flag_value_t value = CAP_CLEAR;

    return cap_get_flag(own, (cap_value_t)cap, flag, &value) == 0 && value == CAP_SET;
}

bool ni_cap_raise(unsigned cap)
{
    cap_t own = cap_get_proc();
    bool may;

    if (!own)
        return false;
    may = has_flag(own, cap, CAP_PERMITTED) && !has_flag(own, cap, CAP_EFFECTIVE);
    (void)cap_free(own);
    return may && set_flag(cap, CAP_EFFECTIVE, CAP_SET) == 0;
}

int ni_cap_lower(unsigned cap)
{
    return set_flag(cap, CAP_EFFECTIVE, CAP_CLEAR);
}

static bool has_effective(cap_t own)
{
    for (unsigned cap = 0; cap < (unsigned)cap_max_bits(); cap++)
        if (has_flag(own, cap, CAP_EFFECTIVE))
            return true;
    return false;
}

int ni_caps_disable(void)
{
    cap_t own = cap_get_proc();
    int r = 0;

    if (!own)
        return cap_error(-1);
    /* File capabilities are usually permitted only. Then there is nothing to clear, and no capset(2)
       that a seccomp filter may refuse. */
    if (has_effective(own)) {
        r = cap_error(cap_clear_flag(own, CAP_EFFECTIVE));
        if (r == 0)
            return set_and_free(own);
    }
    (void)cap_free(own);
    return r;
}

/* Copies the permitted capabilities of `own` that are in `keep` to `left`, as permitted and
   effective. 0 or -errno. */
static int copy_permitted(cap_t left, cap_t own, uint64_t keep)
{
    for (unsigned cap = 0; cap < NI_CAPS; cap++) {
        const cap_value_t number = (cap_value_t)cap;

        if (!ni_has_cap(keep, cap) || !has_flag(own, cap, CAP_PERMITTED))
            continue;
        if (cap_set_flag(left, CAP_PERMITTED, 1, &number, CAP_SET) != 0 ||
            cap_set_flag(left, CAP_EFFECTIVE, 1, &number, CAP_SET) != 0)
            return cap_error(-1);
    }
    return 0;
}

int ni_caps_forsake(uint64_t keep)
{
    cap_t own, left;
    int r = cap_error(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));

    if (r < 0)
        return r;
    own = cap_get_proc();
    left = cap_init(); /* all three sets are empty; the kernel empties the ambient set with them */
    r = own && left ? copy_permitted(left, own, keep) : -ENOMEM;
    if (r == 0)
        r = cap_error(cap_set_proc(left));
    if (own)
        (void)cap_free(own);
    if (left)
        (void)cap_free(left);
    return r;
}

/* ---- what the command gets ---- */

/* Returns true if the capability is in the bounding set, or may be: a seccomp filter may refuse the
   question. A kernel that does not know the capability says EINVAL (commoncap.c cap_task_prctl). */
static bool may_be_bounding(unsigned cap)
{
    const int bound = cap_get_bound((cap_value_t)cap);

    return bound == 1 || (bound < 0 && errno != EINVAL);
}

/* Takes capabilities out of the bounding set, which needs CAP_SETPCAP (commoncap.c cap_prctl_drop).
   Returns those that the kernel keeps; *ret_err is -errno if CAP_SETPCAP could not be lowered
   again. */
static uint64_t drop_bounding(uint64_t set, int *ret_err)
{
    uint64_t left = 0;
    bool raised;

    *ret_err = 0;
    if (set == 0)
        return 0;
    raised = ni_cap_raise(CAP_SETPCAP);
    for (unsigned cap = 0; cap < NI_CAPS; cap++)
        if (ni_has_cap(set, cap) && may_be_bounding(cap) && cap_drop_bound((cap_value_t)cap) != 0)
            left |= ni_cap_bit(cap);
    if (raised)
        *ret_err = ni_cap_lower(CAP_SETPCAP);
    return left;
}

/* Takes capabilities out of this process's effective, permitted and inheritable sets; it makes no
   call if they are in none. The kernel then takes them out of the ambient set, too (commoncap.c
   cap_capset). 0 or -errno. */
static int drop_from_sets(uint64_t set)
{
    static const cap_flag_t flags[] = {CAP_EFFECTIVE, CAP_PERMITTED, CAP_INHERITABLE};
    cap_t own = cap_get_proc();
    bool any = false;
    int r = 0;

    if (!own)
        return cap_error(-1);
    for (unsigned cap = 0; cap < NI_CAPS && r == 0; cap++) {
        const cap_value_t number = (cap_value_t)cap;

        if (!ni_has_cap(set, cap))
            continue;
        for (size_t i = 0; i < NI_COUNT(flags) && r == 0; i++) {
            any = any || has_flag(own, cap, flags[i]);
            r = cap_error(cap_set_flag(own, flags[i], 1, &number, CAP_CLEAR));
        }
    }
    if (r == 0 && any)
        return set_and_free(own);
    (void)cap_free(own);
    return r;
}

/* Ambient capabilities must be permitted and inheritable (commoncap.c cap_task_prctl). Each has
   calls of its own: one that the kernel refuses does not affect the others. */
static bool keep_ambient(unsigned cap)
{
    return set_flag(cap, CAP_INHERITABLE, CAP_SET) == 0 &&
           cap_set_ambient((cap_value_t)cap, CAP_SET) == 0;
}

static void report(struct ni_findings *f, ni_finding_number id, const char *option, uint64_t set,
                   const struct ni_cap_names *cap_names, const char *fault)
{
    struct ni_text names = NI_TEXT(128);

    if (set == 0)
        return;
    ni_put_caps(&names, set, cap_names);
    ni_report(f, id, option, "%s: %s", names.buf, fault);
}

int ni_caps_apply(const struct ni_caps *want, const struct ni_cap_names *names,
                  struct ni_findings *f)
{
    uint64_t missing = 0;
    int err = 0;

    if (want->drop != 0) {
        /* The bounding set first: CAP_SETPCAP may be among those that go. */
        const uint64_t left = drop_bounding(want->drop & ~want->stuck, &err);
        const int own = drop_from_sets(want->drop);

        if (err == 0)
            err = own;
        report(f, NI_F_CAPS_DROP_BOUNDING, "--drop-caps", left, names,
               "the kernel refuses to drop it");
    }
    for (unsigned cap = 0; cap < NI_CAPS; cap++)
        if (ni_has_cap(want->keep, cap) && !keep_ambient(cap))
            missing |= ni_cap_bit(cap);
    report(f, NI_F_CAPS_KEEP_MISSING, "--keep-caps", missing, names,
           "the kernel refuses to make it ambient");
    return err;
}

/* The root user's exec gives it the bounding set's, unless SECBIT_NOROOT is set. */
bool ni_command_has_cap(unsigned cap)
{
    const unsigned no_root = 1U << 0; /* SECBIT_NOROOT of linux/securebits.h */
    cap_t own;
    bool effective;

    if (cap_get_ambient((cap_value_t)cap) == 1)
        return true;
    if (geteuid() != 0 || (cap_get_secbits() & no_root) != 0 ||
        cap_get_bound((cap_value_t)cap) != 1)
        return false;
    own = cap_get_proc();
    if (!own)
        return false;
    effective = has_flag(own, cap, CAP_EFFECTIVE);
    (void)cap_free(own);
    return effective;
}

/* ---- names ---- */

/* libcap's names are in lower case: "cap_ipc_lock". */
int ni_cap_by_name(struct ni_span word, struct ni_cap_names *names, unsigned *ret)
{
    char text[sizeof(names->at[0])];
    cap_value_t number;
    char *name;
    bool same;

    if (!ni_format(text, sizeof(text), "cap_%.*s", (int)word.n, word.p) ||
        cap_from_name(text, &number) != 0 || number < 0 || number >= NI_CAPS)
        return -EINVAL;
    name = cap_to_name(number);
    if (!name)
        return -ENOMEM;
    same = strcasecmp(name, text) == 0; /* cap_from_name reads no further than the name */
    (void)cap_free(name);
    if (!same)
        return -EINVAL;
    for (size_t i = 0; text[i] != '\0'; i++)
        names->at[number][i] = (char)toupper((unsigned char)text[i]);
    *ret = (unsigned)number;
    return 0;
}
