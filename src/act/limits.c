/* SPDX-License-Identifier: Apache-2.0 */
/* RLIMIT_MEMLOCK: up, never down. */
#include <errno.h>
#include <sys/resource.h>

#include "nccl_init/act.h"

static int64_t bytes_of(rlim_t limit)
{
    return limit >= (rlim_t)NI_UNLIMITED ? NI_UNLIMITED : (int64_t)limit;
}

static rlim_t limit_of(int64_t bytes)
{
    return bytes == NI_UNLIMITED ? RLIM_INFINITY : (rlim_t)bytes;
}

static void put_limit(struct ni_text *t, rlim_t limit)
{
    if (limit == RLIM_INFINITY)
        ni_put(t, "unlimited");
    else
        ni_putf(t, "%llu bytes", (unsigned long long)limit);
}

static void report_failure(struct ni_findings *f, const char *which, rlim_t from, rlim_t to,
                           int err)
{
    char from_buf[32], to_buf[32];
    struct ni_text from_text = ni_text_on(from_buf, sizeof(from_buf));
    struct ni_text to_text = ni_text_on(to_buf, sizeof(to_buf));

    put_limit(&from_text, from);
    put_limit(&to_text, to);
    ni_report(f, NI_F_MEMLOCK_LOW, "RLIMIT_MEMLOCK",
              "the %s limit stays at %s, raising it to %s failed: %s%s", which, from_buf, to_buf,
              ni_errno_text(err),
              /* kernel/sys.c do_prlimit: capable(), that is, against the initial user namespace */
              err == EPERM ? " (CAP_SYS_RESOURCE is missing or only of a user namespace, or a "
                             "seccomp filter forbids it)"
                           : "");
}

/* prlimit(2) rather than setrlimit(3): one system call on every libc, no emulation. */
static int set(rlim_t soft, rlim_t hard)
{
    const struct rlimit want = {.rlim_cur = soft, .rlim_max = hard};

    return prlimit(0, RLIMIT_MEMLOCK, &want, NULL) == 0 ? 0 : -errno;
}

/* The hard limit, with a capability that is only permitted raised for the one call. */
static int set_hard(rlim_t soft, rlim_t hard)
{
    bool raised = ni_cap_switch(NI_CAP_SYS_RESOURCE, true);
    int r = set(soft, hard);

    if (raised)
        (void)ni_cap_switch(NI_CAP_SYS_RESOURCE, false);
    return r;
}

void ni_memlock_raise(const struct ni_plan *plan, int64_t *ret_soft, int64_t *ret_hard,
                      struct ni_findings *f)
{
    const struct ni_limit *want = &plan->memlock;
    struct rlimit now;
    int r;

    *ret_soft = *ret_hard = -1;
    if (prlimit(0, RLIMIT_MEMLOCK, NULL, &now) != 0) {
        ni_report(f, NI_F_MEMLOCK_LOW, "RLIMIT_MEMLOCK", "the limit cannot be read: %s",
                  ni_errno_text(errno));
        return;
    }
    /* The limits in force count, not those of the inventory: they may not have been readable. */
    if (want->raise_hard && limit_of(want->hard) > now.rlim_max) {
        r = set_hard(now.rlim_cur, limit_of(want->hard));
        if (r == 0)
            now.rlim_max = limit_of(want->hard);
        else
            report_failure(f, "hard", now.rlim_max, limit_of(want->hard), -r);
    }
    if (want->raise_soft && now.rlim_cur < now.rlim_max && limit_of(want->soft) > now.rlim_cur) {
        rlim_t soft = limit_of(want->soft) < now.rlim_max ? limit_of(want->soft) : now.rlim_max;

        r = set(soft, now.rlim_max);
        if (r != 0)
            report_failure(f, "soft", now.rlim_cur, soft, -r);
    }
    if (prlimit(0, RLIMIT_MEMLOCK, NULL, &now) == 0) {
        *ret_soft = bytes_of(now.rlim_cur);
        *ret_hard = bytes_of(now.rlim_max);
    }
}
