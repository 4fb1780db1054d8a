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

/* Sets both limits and reads what is in force then; a failure is a finding about the limit called
   `which`. prlimit(2) rather than setrlimit(3): one system call on every libc, no emulation. */
static void set(struct rlimit *now, const struct rlimit *want, const char *which, rlim_t from,
                rlim_t to, struct ni_findings *f)
{
    char from_buf[32], to_buf[32];
    struct ni_text from_text = ni_text_on(from_buf, sizeof(from_buf));
    struct ni_text to_text = ni_text_on(to_buf, sizeof(to_buf));
    int err;

    if (prlimit(0, RLIMIT_MEMLOCK, want, NULL) == 0) {
        (void)prlimit(0, RLIMIT_MEMLOCK, NULL, now);
        return;
    }
    err = errno;
    ni_put_bytes(&from_text, bytes_of(from));
    ni_put_bytes(&to_text, bytes_of(to));
    ni_report(f, NI_F_MEMLOCK_LOW, "RLIMIT_MEMLOCK",
              "the %s limit stays at %s; raising it to %s failed: %s%s", which, from_buf, to_buf,
              ni_errno_text(err),
              /* kernel/sys.c do_prlimit: capable(), that is, against the initial user namespace */
              err == EPERM ? " (CAP_SYS_RESOURCE is missing or only of a user namespace, or a "
                             "seccomp filter forbids it)"
                           : "");
}

int64_t ni_memlock_raise(const struct ni_plan *plan, struct ni_findings *f)
{
    const rlim_t hard = limit_of(plan->memlock.hard);
    rlim_t soft = limit_of(plan->memlock.soft);
    struct rlimit now;

    /* The limits in force count, not those of the inventory: they may not have been readable. */
    if (prlimit(0, RLIMIT_MEMLOCK, NULL, &now) != 0) {
        ni_report(f, NI_F_MEMLOCK_LOW, "RLIMIT_MEMLOCK", "the limit cannot be read: %s",
                  ni_errno_text(errno));
        return -1;
    }
    if (plan->memlock.raise_hard && hard > now.rlim_max) {
        const struct rlimit want = {now.rlim_cur, hard};
        /* only permitted, it is raised for the one call */
        bool raised = ni_cap_switch(NI_CAP_SYS_RESOURCE, true);

        set(&now, &want, "hard", now.rlim_max, hard, f);
        if (raised)
            (void)ni_cap_switch(NI_CAP_SYS_RESOURCE, false);
    }
    if (soft > now.rlim_max)
        soft = now.rlim_max;
    if (plan->memlock.raise_soft && soft > now.rlim_cur) {
        const struct rlimit want = {soft, now.rlim_max};

        set(&now, &want, "soft", now.rlim_cur, soft, f);
    }
    return bytes_of(now.rlim_cur);
}
