/* SPDX-License-Identifier: Apache-2.0 */
/* A worker holds none of the pod's descriptors: one that hangs would keep a log or a lock for ever. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/refuse_call.h"
#include "nccl_init/base.h"
#include "system/process.h"
#include <cmocka.h>

enum { CLOSE_RANGE = 436, LOW = 20, HIGH = 1500, HIGHEST = 3000, LIMIT = 4096, NONE = -1 };

/* Puts copies of standard input at the three places. */
static int setup(void **state)
{
    struct rlimit limit;

    (void)state;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_max < LIMIT)
        return -1;
    limit.rlim_cur = LIMIT;
    return setrlimit(RLIMIT_NOFILE, &limit) != 0 || dup2(STDIN_FILENO, LOW) != LOW ||
                   dup2(STDIN_FILENO, HIGH) != HIGH || dup2(STDIN_FILENO, HIGHEST) != HIGHEST
               ? -1
               : 0;
}

/* Returns how many descriptors are open beside the first three. */
static int open_beside_streams(void)
{
    int n = 0;

    for (int fd = STDERR_FILENO + 1; fd < LIMIT; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

/* Returns true if the three streams are /dev/null. */
static bool streams_lead_nowhere(void)
{
    struct stat null, st;

    if (stat("/dev/null", &null) != 0)
        return false;
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fstat(fd, &st) != 0 || st.st_rdev != null.st_rdev)
            return false;
    }
    return true;
}

/* What a worker that keeps `keep` has: 0: that alone. err: close_range gives it; 0: it works. */
static int left_to_worker(int keep, int err)
{
    int status;
    pid_t pid = fork(); /* which alone has the filter */

    if (pid == 0) {
        if (err != 0 && !refuse_call(CLOSE_RANGE, err))
            _exit(0);
        pid = ni_fork_worker(keep);
        if (pid == 0) {
            const bool kept = keep == NONE || fcntl(keep, F_GETFD) >= 0;

            _exit(!kept || !streams_lead_nowhere() ? 1 : open_beside_streams() - (keep != NONE));
        }
        (void)waitpid(pid, &status, 0);
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_worker(void **state)
{
    static const int keep[] = {NONE, LOW, HIGH, HIGHEST, STDERR_FILENO + 1};
    static const int err[] = {0, ENOSYS, EPERM};

    (void)state;
    assert_int_equal(dup2(STDIN_FILENO, STDERR_FILENO + 1), STDERR_FILENO + 1);
    for (size_t i = 0; i < NI_COUNT(keep); i++) {
        for (size_t j = 0; j < NI_COUNT(err); j++)
            assert_int_equal(left_to_worker(keep[i], err[j]), 0);
    }
}

static void ends(void *ctx)
{
    *(int *)ctx = 1;
}

static void fails(void *ctx)
{
    *(int *)ctx = 1;
    abort();
}

static void hangs(void *ctx)
{
    *(int *)ctx = 1;
    for (;;)
        (void)pause();
}

/* A work that hangs, as in a network mount whose server is gone, holds nobody up; what it wrote into
   shared memory until then is there. */
static void test_work_beside(void **state)
{
    enum { LONG = 10000, SHORT = 50 };
    int *done =
        mmap(NULL, sizeof(*done), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    (void)state;
    assert_ptr_not_equal(done, MAP_FAILED);
    assert_true(ni_work_beside(NONE, ends, done, LONG));
    assert_int_equal(*done, 1);
    assert_false(ni_work_beside(NONE, fails, done, LONG));
    const int64_t begin = ni_now_ms();
    assert_false(ni_work_beside(NONE, hangs, done, SHORT));
    assert_true(ni_now_ms() - begin < LONG);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
    /* the kernel reaps children where SIGCHLD is ignored */
    (void)signal(SIGCHLD, SIG_IGN);
    assert_true(ni_work_beside(NONE, ends, done, LONG));
    (void)signal(SIGCHLD, SIG_DFL);
    (void)munmap(done, sizeof(*done));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_worker),
        cmocka_unit_test(test_work_beside),
    };

    return cmocka_run_group_tests(tests, setup, NULL);
}
