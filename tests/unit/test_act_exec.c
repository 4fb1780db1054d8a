/* SPDX-License-Identifier: Apache-2.0 */
/* The walk through PATH and what is said of a failure. That a command runs is seen in a child; how
   the program as a whole behaves is in tests/exec/failures.sh. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "nccl_init/act.h"

static char dir[64];
static char why_buf[2048];

static void script(const char *name, const char *text, mode_t mode)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
    assert_int_equal(close(fd), 0);
}

static int setup(void **state)
{
    (void)state;
    (void)strcpy(dir, "/tmp/nccl-init.XXXXXX");
    if (!mkdtemp(dir) || chdir(dir) != 0)
        return -1;
    mkdir("a", 0755);
    mkdir("b", 0755);
    script("b/seven", "#!/bin/sh\nexit 7\n", 0755);
    script("a/seven", "#!/bin/sh\nexit 1\n", 0644);
    script("eight", "#!/bin/sh\nexit 8\n", 0755);
    script("plain", "", 0644);
    script("a/lost", "#!/no/such/interpreter\n", 0755);
    return 0;
}

static int teardown(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof(command), "rm -rf '%s'", dir);
    return chdir("/") == 0 && system(command) == 0 ? 0 : -1; /* NOLINT: a name of our own making */
}

/* ni_exec in a child: the status of the command, or what ni_exec returned. */
static int run(const char *name, const char *path)
{
    char name_buf[PATH_MAX], path_buf[2 * PATH_MAX + 8];
    char *argv[] = {name_buf, NULL};
    char *envp[] = {path_buf, NULL};
    int status;
    pid_t pid;

    snprintf(name_buf, sizeof(name_buf), "%s", name);
    snprintf(path_buf, sizeof(path_buf), "PATH=%s", path ? path : "");
    if (!path)
        envp[0] = NULL;
    pid = fork();
    if (pid == 0) {
        struct ni_text why = ni_text_on(why_buf, sizeof(why_buf));

        _exit(ni_exec(argv, envp, &why));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_search(void **state)
{
    static char too_long[PATH_MAX + 64];

    (void)state;
    memset(too_long, 'x', PATH_MAX + 1);
    (void)strcpy(too_long + PATH_MAX + 1, ":b");
    assert_int_equal(run("seven", "b"), 7);
    assert_int_equal(run("seven", "a:b"), 7);     /* EACCES is remembered, the search goes on */
    assert_int_equal(run("seven", "plain:b"), 7); /* ENOTDIR */
    assert_int_equal(run("seven", "none:b"), 7);
    assert_int_equal(run("seven", too_long), 7);
    assert_int_equal(run("eight", ""), 8);
    assert_int_equal(run("eight", "none:"), 8);
    assert_int_equal(run("eight", ":none"), 8);
    assert_int_equal(run("./eight", "none"), 8);
    assert_int_equal(run("b/seven", "none"), 7);
    assert_int_equal(run("true", NULL), 0);
    assert_int_equal(run("seven", "a"), NI_EXIT_NOT_EXECUTABLE);
    assert_int_equal(run("seven", "a:none"), NI_EXIT_NOT_EXECUTABLE);
    assert_int_equal(run("eight", "a:b"), NI_EXIT_NOT_FOUND);
    assert_int_equal(run("lost", "a"), NI_EXIT_NOT_FOUND);
    assert_int_equal(run("", "b"), NI_EXIT_NOT_FOUND);
    assert_int_equal(run("./none", "b"), NI_EXIT_NOT_FOUND);
}

/* ni_exec in this process, which must fail. */
static void fails(char *const argv[], char *const envp[], int expected, const char *part)
{
    struct ni_text why = ni_text_on(why_buf, sizeof(why_buf));

    assert_int_equal(ni_exec(argv, envp, &why), expected);
    if (!strstr(why_buf, part))
        fail_msg("`%s` is not in: %s", part, why_buf);
    assert_null(strchr(why_buf, '\n'));
}

static void test_reasons(void **state)
{
    char name[64] = "lost", path[] = "PATH=a:b";
    char *argv[] = {name, NULL}, *envp[] = {path, NULL}, *empty[] = {NULL};

    (void)state;
    fails(argv, envp, NI_EXIT_NOT_FOUND, "`a/lost`: No such file");
    fails(argv, envp, NI_EXIT_NOT_FOUND, "its interpreter `/no/such/interpreter`");
    (void)strcpy(name, "none");
    fails(argv, envp, NI_EXIT_NOT_FOUND, "`none` is in no directory of PATH (a:b)");
    (void)strcpy(name, "no\nne");
    fails(argv, envp, NI_EXIT_NOT_FOUND, "`no\\x0ane`");
    (void)strcpy(name, "./plain");
    fails(argv, envp, NI_EXIT_NOT_EXECUTABLE, "chmod +x");
    fails(empty, envp, NI_EXIT_NOT_FOUND, "empty");
}

static void test_too_big(void **state)
{
    static char big[200 * 1024] = "BIGGEST_OF_THEM=";
    char name[] = "./eight", path[] = "PATH=/";
    char *argv[] = {name, NULL}, *envp[] = {path, big, NULL};

    (void)state;
    memset(big + strlen(big), 'x', sizeof(big) - strlen(big) - 1);
    fails(argv, envp, NI_EXIT_NOT_EXECUTABLE, "the longest (204800) beginning `BIGGEST_OF_THEM=");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_search),
        cmocka_unit_test(test_reasons),
        cmocka_unit_test(test_too_big),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
