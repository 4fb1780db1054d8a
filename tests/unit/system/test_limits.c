/* SPDX-License-Identifier: Apache-2.0 */
/* RLIMIT_MEMLOCK is raised as far as the plan and the kernel say, never lowered. In a child, for
   each case needs its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nccl_init/findings.h"
#include "nccl_init/number.h"
#include "nccl_init/plan.h"
#include "system/limits.h"
#include <cmocka.h>

enum { K = 1024 };

struct result {
    int64_t soft, hard;
    unsigned findings;
    struct rlimit other; /* RLIMIT_NOFILE: must be as it was */
};

/* Raises in a child that starts at 64 KiB, 256 KiB, as a user without capabilities. */
static struct result raise_as(struct ni_limit limit)
{
    static struct ni_plan plan;
    static struct ni_findings findings;
    struct result result = {0, 0, 0, {0, 0}};
    struct rlimit memlock;
    int fds[2], status;
    pid_t pid;

    assert_int_equal(pipe(fds), 0);
    pid = fork();
    if (pid == 0) {
        const struct rlimit start = {64 * K, 256 * K};

        if (setrlimit(RLIMIT_MEMLOCK, &start) != 0 || (getuid() == 0 && setuid(65534) != 0))
            _exit(1);
        plan.memlock = limit;
        if (ni_memlock_raise(&plan, &findings, &result.soft) != 0)
            _exit(1);
        getrlimit(RLIMIT_MEMLOCK, &memlock);
        result.hard = (int64_t)memlock.rlim_max;
        result.findings = findings.n;
        getrlimit(RLIMIT_NOFILE, &result.other);
        _exit(write(fds[1], &result, sizeof(result)) == sizeof(result) ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(read(fds[0], &result, sizeof(result)), sizeof(result));
    close(fds[0]);
    close(fds[1]);
    return result;
}

static void check(struct ni_limit limit, int64_t soft, int64_t hard, unsigned findings)
{
    struct result r = raise_as(limit);
    struct rlimit other;

    assert_int_equal(r.soft, soft);
    assert_int_equal(r.hard, hard);
    assert_int_equal(r.findings, findings);
    getrlimit(RLIMIT_NOFILE, &other);
    assert_memory_equal(&other, &r.other, sizeof(other));
}

static void test_soft(void **state)
{
    (void)state;
    check((struct ni_limit){0}, 64 * K, 256 * K, 0);
    check((struct ni_limit){.soft = 256 * K}, 256 * K, 256 * K, 0);
    check((struct ni_limit){.soft = 128 * K}, 128 * K, 256 * K, 0);
    /* The plan may know less than the kernel: no further than the hard limit. */
    check((struct ni_limit){.soft = NI_UNLIMITED}, 256 * K, 256 * K, 0);
    /* Never down. */
    check((struct ni_limit){.soft = 4 * K}, 64 * K, 256 * K, 0);
    check((struct ni_limit){.hard = 4 * K}, 64 * K, 256 * K, 0);
    check((struct ni_limit){.soft = -1, .hard = -1}, 64 * K, 256 * K, 0);
}

static void test_hard_denied(void **state)
{
    const struct ni_limit limit = {.soft = NI_UNLIMITED, .hard = NI_UNLIMITED};

    (void)state;
    /* The soft limit still goes as far as it can, and the failure is told. */
    check(limit, 256 * K, 256 * K, 1);
}

/* With CAP_SYS_RESOURCE, where this process has it. */
static void test_hard(void **state)
{
    static struct ni_plan plan = {.memlock = {.soft = NI_UNLIMITED, .hard = NI_UNLIMITED}};
    static struct ni_findings findings;
    struct rlimit low = {64 * K, 256 * K}, nofile;
    int status;
    pid_t pid;

    (void)state;
    getrlimit(RLIMIT_NOFILE, &nofile);
    pid = fork();
    if (pid == 0) {
        const struct rlimit again = {64 * K, 512 * K};
        int64_t soft = -1;

        if (setrlimit(RLIMIT_MEMLOCK, &low) != 0 || setrlimit(RLIMIT_MEMLOCK, &again) != 0)
            _exit(77);
        _exit(ni_memlock_raise(&plan, &findings, &soft) == 0 && soft == NI_UNLIMITED &&
                      getrlimit(RLIMIT_MEMLOCK, &low) == 0 && low.rlim_max == RLIM_INFINITY &&
                      findings.n == 0
                  ? 0
                  : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) {
        print_message("CAP_SYS_RESOURCE is not effective here\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_soft),
        cmocka_unit_test(test_hard_denied),
        cmocka_unit_test(test_hard),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
