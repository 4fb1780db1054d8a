/* SPDX-License-Identifier: Apache-2.0 */
/* The helper's guards. This program, copied into a folder, is the helper: started as one it shows
   what it has, or misbehaves. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <sha2.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nccl_init/base.h"
#include "nccl_init/text.h"
#include "system/helper.h"
#include "system/process.h"
#include "system/replace.h"
#include <cmocka.h>

static char folder[] = "/tmp/nccl-init-helper.XXXXXX";
static uint8_t sum[NI_SHA256_BYTES];
static struct ni_helper_result result;

/* ---- the helper ---- */

/* Shows capabilities, no_new_privs, descriptors and the group. */
static void show(void)
{
    char line[256];
    FILE *status = fopen("/proc/self/status", "re");

    while (status && fgets(line, sizeof(line), status)) {
        if (ni_has_prefix(line, "Cap") || ni_has_prefix(line, "NoNewPrivs"))
            (void)fputs(line, stdout);
    }
    if (status)
        (void)fclose(status);
    for (int fd = 0; fd < 4096; fd++) {
        if (fcntl(fd, F_GETFD) >= 0)
            (void)printf("fd %d\n", fd);
    }
    (void)printf("group %d\ntold %s\n", getpgrp() == getpid(), getenv("TOLD") ? "yes" : "no");
    struct rlimit core;
    if (getrlimit(RLIMIT_CORE, &core) == 0)
        (void)printf("core %lu %lu\n", (unsigned long)core.rlim_cur, (unsigned long)core.rlim_max);
    (void)fprintf(stderr, "to standard error\n");
}

static int be_helper(const char *what)
{
    if (strcmp(what, "show") == 0)
        show();
    if (strcmp(what, "hang") == 0) {
        (void)printf("begun\n");
        (void)fflush(stdout);
        (void)fork();
        for (;;)
            (void)pause();
    }
    if (strcmp(what, "mute") == 0) {
        (void)close(STDOUT_FILENO);
        (void)close(STDERR_FILENO);
        for (;;)
            (void)pause();
    }
    for (int i = 0; strcmp(what, "long") == 0 && i < NI_HELPER_WORDS; i++)
        (void)printf("12\n");
    for (int i = 0; strcmp(what, "dull") == 0 && i < NI_HELPER_ERRORS; i++)
        (void)fprintf(stderr, "12\n");
    if (strcmp(what, "crash") == 0) {
        (void)signal(SIGSEGV, SIG_DFL);
        (void)raise(SIGSEGV);
    }
    return strcmp(what, "fail") == 0 ? 3 : 0;
}

/* ---- the tests ---- */

static int copy_self(int fd, void *ctx)
{
    return ni_write_self(fd, ctx);
}

static int set_up(void **state)
{
    char path[128];
    SHA2_CTX sha;
    static char bytes[1 << 16];
    ssize_t n;

    (void)state;
    if (!mkdtemp(folder) || !ni_format(path, sizeof(path), "%s/" NI_HELPER, folder) ||
        ni_replace_file(path, 0755, copy_self, NULL) != 0)
        return -1;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    SHA256Init(&sha);
    while ((n = read(fd, bytes, sizeof(bytes))) > 0)
        SHA256Update(&sha, (uint8_t *)bytes, (size_t)n);
    SHA256Final(sum, &sha);
    return close(fd);
}

static int tear_down(void **state)
{
    char path[128];

    (void)state;
    (void)ni_format(path, sizeof(path), "%s/" NI_HELPER, folder);
    (void)unlink(path);
    return rmdir(folder);
}

static enum ni_helper_state run(const char *what, int64_t limit_ms)
{
    static char own[] = NI_HELPER, helper[] = "--helper", word[16], told[] = "TOLD=1";
    /* its memory is given back by the kernel; its limit of cores stays ours */
    static char leaks[] = "ASAN_OPTIONS=detect_leaks=0:disable_coredump=0";
    char *argv[] = {own, helper, word, NULL}, *envp[] = {told, leaks, NULL};
    const struct ni_helper_task task = {folder, sum, argv, envp, limit_ms};

    (void)ni_copy(word, sizeof(word), what);
    ni_run_helper(&task, &result);
    return result.state;
}

static void assert_says(const char *words)
{
    if (!strstr(result.words, words))
        fail_msg("`%s` lacks `%s`", result.words, words);
}

/* No capability in any set that could be used, none to get, and nothing open but the pipes. */
static void test_guards(void **state)
{
    struct rlimit core;

    (void)state;
    /* descriptors of the pod, of which one has the number of what the helper's process uses */
    assert_int_equal(dup2(STDIN_FILENO, 3), 3);
    assert_int_equal(dup2(STDIN_FILENO, 16), 16);
    assert_int_equal(dup2(STDIN_FILENO, 900), 900);
    assert_int_equal(run("show", 10000), NI_HELPER_ENDED);
    assert_int_equal(result.err, 0);
    assert_says("CapInh:\t0000000000000000");
    assert_says("CapPrm:\t0000000000000000");
    assert_says("CapEff:\t0000000000000000");
    assert_says("CapAmb:\t0000000000000000");
    assert_says("NoNewPrivs:\t1");
    assert_says("fd 0\nfd 1\nfd 2\ngroup 1\ntold yes\n");
    if (getrlimit(RLIMIT_CORE, &core) == 0 && core.rlim_max >= 1)
        assert_says("core 1 1\n"); /* 0 would not stop a core that is piped */
    assert_string_equal(result.errors, "to standard error\n");
    (void)close(3);
    (void)close(16);
    (void)close(900);
}

static void test_deadline(void **state)
{
    const int64_t begin = ni_now_ms();

    (void)state;
    assert_int_equal(run("hang", 300), NI_HELPER_LATE);
    assert_true(ni_now_ms() - begin < 5000);
    assert_string_equal(result.words, "begun\n");
}

/* How long the process waits before it becomes the helper, as where the file is on a slow volume. */
static int64_t before_exec_ms;

static void wait_before_exec(void)
{
    const int64_t until = ni_now_ms() + before_exec_ms;

    while (ni_now_ms() < until)
        (void)usleep(1000);
}

/* There is one limit, for the start and for the words. */
static void test_late_start(void **state)
{
    const int64_t begin = ni_now_ms();

    (void)state;
    before_exec_ms = 2500;
    assert_int_equal(run("hang", 3000), NI_HELPER_LATE);
    before_exec_ms = 0;
    assert_true(ni_now_ms() - begin < 5500); /* with a second for its death */
}

/* Runs the helper for a minute at most, in a process to which a signal comes. */
static void assert_signal_ends(const char *what, int64_t wait_ms)
{
    const int64_t begin = ni_now_ms();
    int status = 0;

    before_exec_ms = 0; /* the fork here */
    const pid_t pid = fork();
    if (pid == 0) {
        before_exec_ms = wait_ms;
        (void)run(what, 60000);
        _exit(0);
    }
    (void)usleep(500000);
    assert_int_equal(kill(pid, SIGTERM), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    assert_true(ni_now_ms() - begin < 20000);
}

static void test_signals(void **state)
{
    (void)state;
    assert_signal_ends("hang", 0);
    assert_signal_ends("hang", 30000); /* before it is the helper */
    assert_signal_ends("mute", 0);     /* after it has closed its pipes */
}

static void test_long(void **state)
{
    (void)state;
    assert_int_equal(run("long", 10000), NI_HELPER_BABBLES);
    assert_int_equal(strlen(result.words), NI_HELPER_WORDS - 1);
    /* what libraries say beside is only cut */
    assert_int_equal(run("dull", 10000), NI_HELPER_ENDED);
    assert_int_equal(strlen(result.errors), NI_HELPER_ERRORS - 1);
}

static void test_ends(void **state)
{
    (void)state;
    assert_int_equal(run("fail", 10000), NI_HELPER_ENDED);
    assert_int_equal(result.err, 3);
    assert_int_equal(run("crash", 10000), NI_HELPER_DIED);
    assert_int_equal(result.err, SIGSEGV);
}

/* Another program, another version, one that is no file or cannot be executed: none is started. */
static void test_refused(void **state)
{
    char path[128];

    (void)state;
    (void)ni_format(path, sizeof(path), "%s/" NI_HELPER, folder);
    sum[0] ^= 1;
    assert_int_equal(run("show", 10000), NI_HELPER_OTHER);
    sum[0] ^= 1;
    assert_int_equal(chmod(path, 0644), 0);
    assert_int_equal(run("show", 10000), NI_HELPER_DENIED);
    assert_int_equal(result.err, EACCES);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(run("show", 10000), NI_HELPER_MISSING);
    assert_int_equal(mkdir(path, 0755), 0);
    assert_int_equal(run("show", 10000), NI_HELPER_UNREAD);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(mkfifo(path, 0755), 0);
    assert_int_equal(run("show", 10000), NI_HELPER_UNREAD);
    assert_int_equal(unlink(path), 0);
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
    assert_int_equal(dprintf(fd, "x%s version 0.0.9;", NI_HELPER), 29);
    (void)close(fd);
    assert_int_equal(run("show", 10000), NI_HELPER_OTHER);
    assert_string_equal(result.version, "0.0.9");
    assert_string_equal(result.words, "");
}

int main(int argc, char *argv[])
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_guards),     cmocka_unit_test(test_deadline),
        cmocka_unit_test(test_late_start), cmocka_unit_test(test_signals),
        cmocka_unit_test(test_long),       cmocka_unit_test(test_ends),
        cmocka_unit_test(test_refused), /* last: it takes the file */
    };

    if (argc == 3 && strcmp(argv[1], "--helper") == 0)
        return be_helper(argv[2]);
    (void)pthread_atfork(NULL, NULL, wait_before_exec);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
