/* SPDX-License-Identifier: Apache-2.0 */
/* RLIMIT_MEMLOCK: it is raised, never lowered. */
#include "system/limits.h"

#include <errno.h>
#include <sys/resource.h>

#include "findings/pod.h"
#include "nccl_init/errno.h"
#include "nccl_init/findings.h"
#include "nccl_init/number.h"
#include "nccl_init/plan.h"
#include "system/caps.h"

static int64_t limit_bytes(rlim_t limit)
{
    return limit >= (rlim_t)NI_UNLIMITED ? NI_UNLIMITED : (int64_t)limit;
}

static rlim_t limit_of(int64_t bytes)
{
    return bytes == NI_UNLIMITED ? RLIM_INFINITY : (rlim_t)bytes;
}

/* Sets both limits; a failure is a finding about the limit called `which`. prlimit(2) rather than
   setrlimit(3): one system call on every libc, no emulation. */
static void set(struct rlimit *now, struct rlimit want, const char *which, struct ni_findings *f)
{
    if (prlimit(0, RLIMIT_MEMLOCK, &want, NULL) == 0) {
        *now = want;
        return;
    }
    const int err = errno;
    ni_report(f, NI_F_MEMLOCK_LOW, "RLIMIT_MEMLOCK", "the %s limit cannot be raised: %s%s", which,
              NI_ERRNO(err),
              /* kernel/sys.c do_prlimit: capable(), that is, against the initial user namespace */
              err == EPERM ? " (CAP_SYS_RESOURCE is missing or belongs to a user namespace, or a "
                             "seccomp filter forbids it)"
                           : "");
}

/* Sets the hard limit. If CAP_SYS_RESOURCE is only permitted, it is raised for the one call. 0; or
   -errno, and it is still effective. */
static int set_hard(struct rlimit *now, int64_t hard, struct ni_findings *f)
{
    const bool raised = ni_cap_raise(CAP_SYS_RESOURCE);

    set(now, (struct rlimit){now->rlim_cur, limit_of(hard)}, "hard", f);
    return raised ? ni_cap_lower(CAP_SYS_RESOURCE) : 0;
}

int ni_memlock_raise(const struct ni_plan *plan, struct ni_findings *f, int64_t *ret)
{
    const struct ni_limit *want = &plan->memlock;
    struct rlimit now;
    int64_t top;
    int r = 0;

    /* the limits in force count, not those of the inventory, which may not have been readable */
    if (prlimit(0, RLIMIT_MEMLOCK, NULL, &now) != 0) {
        ni_report(f, NI_F_MEMLOCK_LOW, "RLIMIT_MEMLOCK", "the limit cannot be read: %s",
                  NI_ERRNO(errno));
        *ret = -1;
        return 0;
    }
    if (want->hard > limit_bytes(now.rlim_max))
        r = set_hard(&now, want->hard, f);
    top = limit_bytes(now.rlim_max);
    top = want->soft < top ? want->soft : top;
    if (top > limit_bytes(now.rlim_cur))
        set(&now, (struct rlimit){limit_of(top), now.rlim_max}, "soft", f);
    *ret = limit_bytes(now.rlim_cur);
    return r;
}
