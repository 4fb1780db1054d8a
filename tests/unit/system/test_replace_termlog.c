/* SPDX-License-Identifier: Apache-2.0 */
/* The termination log is written where it exists as a file, and nowhere else. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nccl_init/base.h"
#include "system/replace.h"
#include <cmocka.h>

static char dir[64];
static char content[16384];

static int setup(void **state)
{
    (void)state;
    (void)strcpy(dir, "/tmp/nccl-init.XXXXXX");
    return mkdtemp(dir) && chdir(dir) == 0 ? 0 : -1;
}

static int teardown(void **state)
{
    static const char *const names[] = {"log", "link", "fifo"};

    (void)state;
    for (size_t i = 0; i < NI_COUNT(names); i++)
        (void)unlink(names[i]);
    return chdir("/") == 0 ? rmdir(dir) : -1;
}

static const char *read_log(void)
{
    int fd = open("log", O_RDONLY | O_CLOEXEC);
    ssize_t n = read(fd, content, sizeof(content) - 1);

    assert_true(n >= 0);
    content[n] = '\0';
    close(fd);
    return content;
}

static void test_written(void **state)
{
    static char text[8192];

    (void)state;
    close(open("log", O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    assert_int_equal(ni_termination_log("log", "why\n"), 0);
    assert_string_equal(read_log(), "why\n");
    assert_int_equal(ni_termination_log("log", "again\n"), 0);
    assert_string_equal(read_log(), "why\nagain\n");
    assert_int_equal(truncate("log", 0), 0);
    memset(text, 'x', sizeof(text) - 1);
    assert_int_equal(ni_termination_log("log", text), 0);
    assert_int_equal(strlen(read_log()), 4096);
}

static void test_not_written(void **state)
{
    (void)state;
    (void)unlink("log");
    assert_int_equal(ni_termination_log("log", "x"), -ENOENT);
    assert_int_equal(access("log", F_OK), -1); /* not created */
    assert_int_equal(ni_termination_log(".", "x"), -EISDIR);
    assert_int_equal(ni_termination_log("/dev/null", "x"), -ENOTBLK);
    close(open("log", O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    assert_int_equal(symlink("log", "link"), 0);
    assert_int_equal(ni_termination_log("link", "x"), -ELOOP);
    assert_string_equal(read_log(), "");
    assert_int_equal(mkfifo("fifo", 0644), 0);
    assert_int_equal(ni_termination_log("fifo", "x"), -ENXIO); /* and does not wait for a reader */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_written),
        cmocka_unit_test(test_not_written),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
