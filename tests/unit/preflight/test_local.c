/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of one pod: what local rank 0 tells the others, and who may stand between them. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nccl_init/base.h"
#include "nccl_init/text.h"
#include "preflight/job.h"
#include "preflight/launcher.h"
#include "preflight/local.h"
#include "system/process.h"
#include <cmocka.h>

enum { STRANGER = 1000, SAYS_NOTHING = 256 };

/* A meeting of this process alone: no other test has its name. */
static struct ni_party party_of(const char *test)
{
    struct ni_party p = {.port = 18515};

    (void)ni_format(p.local, sizeof(p.local), "%s %ld", test, (long)getpid());
    return p;
}

/* In a child: accepts one process and sends it a byte, or nothing; then ends. */
static pid_t answer(int fd, int byte)
{
    const pid_t child = fork();

    if (child == 0) {
        struct ni_wait wait;
        const char c = (char)byte;
        int one = -1;

        ni_wait_begin(&wait);
        while (one < 0 && !ni_wait_ms(&wait, 10))
            one = accept(fd, NULL, NULL);
        _exit(byte == SAYS_NOTHING || send(one, &c, 1, MSG_NOSIGNAL) == 1 ? 0 : 1);
    }
    return child;
}

static void test_bytes(void **state)
{
    static const struct {
        int byte, result;
        enum ni_outcome outcome;
    } all[] = {
        {'b', 0, NI_JOB_BAD},          {'n', 0, NI_JOB_UNTESTED},
        {'g', 0, NI_JOB_GOOD},         {'l', -EPROTO, NI_JOB_UNTOLD},
        {0, -EPROTO, NI_JOB_UNTOLD},   {90, -EPROTO, NI_JOB_UNTOLD},
        {255, -EPROTO, NI_JOB_UNTOLD}, {SAYS_NOTHING, -ECONNRESET, NI_JOB_UNTOLD},
    };

    (void)state;
    for (size_t i = 0; i < NI_COUNT(all); i++) {
        const struct ni_party party = party_of("bytes");
        const int fd = ni_local_listen(&party);
        const pid_t child = answer(fd, all[i].byte);
        enum ni_outcome outcome = NI_JOB_UNTOLD;

        (void)close(fd);
        assert_int_equal(ni_local_ask(&party, 5000, 5000, &outcome), all[i].result);
        assert_int_equal(outcome, all[i].outcome);
        assert_int_equal(waitpid(child, NULL, 0), child);
    }
}

/* In a child of another user: connects and closes, again and again. */
static pid_t stranger(const struct sockaddr_un *name, socklen_t n)
{
    const pid_t child = fork();

    if (child != 0)
        return child;
    if (setresuid(STRANGER, STRANGER, STRANGER) != 0)
        _exit(1);
    for (;;) {
        const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

        (void)connect(fd, (const void *)name, n);
        (void)close(fd);
    }
}

/* Another user who comes all the time neither holds local rank 0 nor counts as one that was told. */
static void test_stranger(void **state)
{
    const struct ni_party party = party_of("stranger");
    const int fd = ni_local_listen(&party);
    const int64_t begun_ms = ni_now_ms();
    struct sockaddr_un name;
    socklen_t n = sizeof(name);
    enum ni_outcome outcome = NI_JOB_UNTOLD;
    pid_t first, other;
    int status;

    (void)state;
    if (geteuid() != 0) {
        (void)close(fd);
        skip();
    }
    assert_int_equal(getsockname(fd, (void *)&name, &n), 0);
    other = stranger(&name, n);
    first = fork();
    if (first == 0) {
        ni_local_tell(fd, NI_JOB_GOOD, 1);
        _exit(0);
    }
    (void)close(fd);
    (void)usleep(500000); /* the stranger is first */
    assert_int_equal(ni_local_ask(&party, 5000, 5000, &outcome), 0);
    assert_int_equal(outcome, NI_JOB_GOOD);
    assert_int_equal(waitpid(first, &status, 0), first);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_true(ni_now_ms() - begun_ms < 9000);
    (void)kill(other, SIGKILL);
    (void)waitpid(other, NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_stranger),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
