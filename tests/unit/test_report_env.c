/* SPDX-License-Identifier: Apache-2.0 */
/* Environment files: what is written is read back by each reader byte for byte, or nothing is written at all. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "test_report_readers.h"

static struct ni_plan plan;

static struct ni_setting *add(const char *name, const char *val, enum ni_origin origin)
{
    struct ni_setting *s = &plan.setting[plan.n_setting++];
    s->name = name;
    s->rule = "test.rule";
    s->origin = origin;
    assert_true(ni_copy(s->value, sizeof(s->value), val));
    return s;
}

/* Writes the plan into `text`; the result of ni_write_env. */
static int write_text(enum ni_format format, const struct ni_setting **bad)
{
    int fd = memfd_create("env", MFD_CLOEXEC);
    assert_true(fd >= 0);
    int err = ni_write_env(fd, &plan, format, bad);
    ssize_t n = pread(fd, text, FILE_MAX - 1, 0);
    assert_in_range(n, 0, FILE_MAX - 1);
    text_len = (size_t)n;
    text[n] = '\0';
    close(fd);
    return err;
}

/* ---- tests ---- */

enum {
    SH = 1 << NI_FMT_SH,
    K8S = 1 << NI_FMT_K8S,
    DOCKER = 1 << NI_FMT_DOCKER,
    CONF = 1 << NI_FMT_CONF
};
enum { JSON = 1 << NI_FMT_JSON, ALL = SH | K8S | DOCKER | CONF | JSON };

static const struct nasty {
    const char *value;
    unsigned carried_by;
} nasty[] = {
    {"", ALL},
    {"3", ALL},
    {"=mlx5_6:1,mlx5_10:1", ALL},
    {"^=lo,docker0", ALL},
    {"#no comment", ALL},
    {"x # y", ALL},
    {"$HOME `id` $(id) ${X:-1} * ~ !%^&()[]{}|;<>?", ALL},
    {"a\\nb \\\\ c", ALL},
    {"-n", ALL},
    {" leading", ALL & ~DOCKER},
    {"trailing ", ALL & ~DOCKER},
    {"\ttab\t", ALL & ~DOCKER},
    {"ends in \\", ALL & ~DOCKER},
    {"\"quoted\"", ALL & ~DOCKER},
    {"'", ALL & ~K8S & ~DOCKER},
    {"'quoted'", ALL & ~K8S & ~DOCKER},
    {"it's", ALL & ~K8S},
    {"a''b'", ALL & ~K8S},
    {"two\nlines", SH | K8S | JSON},
    {"\n", SH | K8S | JSON},
    {"ends in\n", SH | K8S | JSON},
    {"dos\r\nlines", SH | JSON},
    {"ends in CR\r", SH | K8S | JSON},
    {"C\rR", SH | K8S | JSON},
    {"\xc3\xbc \xe2\x82\xac \xf0\x9f\x8c\x8d", ALL & ~DOCKER},
    {"\xff", SH | CONF},
    {"\xc0\xaf", SH | CONF},         /* '/' in two bytes */
    {"\xe0\x80\xaf", SH | CONF},     /* and in three */
    {"\xed\xa0\x80", SH | CONF},     /* a surrogate */
    {"\xf4\x90\x80\x80", SH | CONF}, /* U+110000 */
    {"cut \xe2\x82", SH | CONF},
    {"\x01\x1b[31m\x7f", ALL & ~DOCKER},
};

static void one_value(enum ni_format format, const char *val, bool carried)
{
    const struct ni_setting *bad = NULL;
    memset(&plan, 0, sizeof(plan));
    add("NCCL_BEFORE", "b", NI_FROM_RULE);
    struct ni_setting *s = add("NCCL_X", val, NI_FROM_RULE);
    add("NCCL_AFTER", "a", NI_FROM_RULE);
    if (!carried) {
        assert_int_equal(write_text(format, &bad), -EILSEQ);
        assert_ptr_equal(bad, s);
        assert_int_equal(text_len, 0);
        return;
    }
    assert_int_equal(write_text(format, &bad), 0);
    assert_null(bad);
    check_readers(format, "NCCL_BEFORE", "b");
    check_readers(format, "NCCL_X", val);
    check_readers(format, "NCCL_AFTER", "a");
}

static void test_nasty_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < NI_COUNT(nasty); i++) {
        for (unsigned f = 0; f <= NI_FMT_JSON; f++)
            one_value((enum ni_format)f, nasty[i].value, nasty[i].carried_by & (1U << f));
    }
}

static void test_conf_length(void **state)
{
    char v[1025];
    (void)state;
    memset(v, 'x', sizeof(v) - 1);
    v[1024] = '\0';
    one_value(NI_FMT_CONF, v, false);
    one_value(NI_FMT_SH, v, true);
    v[1023] = '\0';
    one_value(NI_FMT_CONF, v, true);
}

static void test_literal_forms(void **state)
{
    static const char *const want[] = {
        [NI_FMT_SH] = "export NCCL_IB_HCA='=mlx5_6:1'\nexport NCCL_X='it'\\''s'\n",
        [NI_FMT_K8S] = "NCCL_IB_HCA='=mlx5_6:1'\nNCCL_X='its'\n",
        [NI_FMT_DOCKER] = "NCCL_IB_HCA==mlx5_6:1\nNCCL_X=its\n",
        [NI_FMT_CONF] = "NCCL_IB_HCA==mlx5_6:1\nNCCL_X=its\n",
        [NI_FMT_JSON] = "{\n  \"NCCL_IB_HCA\": \"=mlx5_6:1\",\n  \"NCCL_X\": \"its\"\n}\n",
    };
    const struct ni_setting *bad;
    (void)state;
    for (unsigned f = 0; f <= NI_FMT_JSON; f++) {
        memset(&plan, 0, sizeof(plan));
        add("NCCL_IB_HCA", "=mlx5_6:1", NI_FROM_RULE);
        add("NCCL_X", f == NI_FMT_SH ? "it's" : "its", NI_FROM_RULE);
        assert_int_equal(write_text((enum ni_format)f, &bad), 0);
        assert_string_equal(text, want[f]);
    }
}

/* What the user or a file set is neither written nor in the way. */
static void test_only_ours(void **state)
{
    const struct ni_setting *bad;
    (void)state;
    for (unsigned f = 0; f <= NI_FMT_JSON; f++) {
        memset(&plan, 0, sizeof(plan));
        add("NCCL_USER", "'\n\xff", NI_FROM_USER);
        add("NCCL_CONF", "'\n\xff", NI_FROM_CONF);
        add("NCCL_UNSET", "", NI_LEFT_UNSET);
        assert_int_equal(write_text((enum ni_format)f, &bad), 0);
        assert_string_equal(text, f == NI_FMT_JSON ? "{}\n" : "");
    }
}

/* NCCL would set it, when UCX has long read its own environment. */
static void test_not_nccls(void **state)
{
    const struct ni_setting *bad;
    (void)state;
    for (unsigned f = 0; f <= NI_FMT_JSON; f++) {
        memset(&plan, 0, sizeof(plan));
        add("UCX_NET_DEVICES", "mlx5_6:1", NI_FROM_RULE);
        assert_int_equal(write_text((enum ni_format)f, &bad), f == NI_FMT_CONF ? -EILSEQ : 0);
    }
}

static void test_failing_descriptor(void **state)
{
    const struct ni_setting *bad;
    (void)state;
    memset(&plan, 0, sizeof(plan));
    add("NCCL_X", "v", NI_FROM_RULE);
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_true(full >= 0);
    for (unsigned f = 0; f <= NI_FMT_JSON; f++) {
        assert_int_equal(ni_write_env(full, &plan, (enum ni_format)f, &bad), -ENOSPC);
        assert_int_equal(ni_write_env(-1, &plan, (enum ni_format)f, &bad), -EBADF);
    }
    close(full);
}

/* Counts what comes, slowly, and leaves with 0 when it is as much as wanted. */
static void slow_reader(int fd, size_t want)
{
    const struct timespec nap = {.tv_nsec = 1000000};
    char buf[1000];
    ssize_t n;
    while ((n = read(fd, buf, sizeof(buf))) > 0) {
        want -= (size_t)n;
        nanosleep(&nap, NULL);
    }
    _exit(want == 0 ? 0 : 1);
}

/* More than a pipe holds, the pipe not blocking: nothing is lost. */
static void test_nonblocking_pipe(void **state)
{
    char v[NI_VALUE];
    int p[2], status;
    const struct ni_setting *bad;
    (void)state;
    memset(&plan, 0, sizeof(plan));
    memset(v, 'x', sizeof(v) - 1);
    v[sizeof(v) - 1] = '\0';
    for (unsigned i = 0; i < NI_MAX_SETTING; i++)
        add("NCCL_X", v, NI_FROM_RULE);
    assert_int_equal(pipe2(p, O_CLOEXEC), 0);
    assert_int_equal(fcntl(p[1], F_SETFL, O_NONBLOCK), 0);
    assert_true(fcntl(p[1], F_SETPIPE_SZ, 4096) >= 4096);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        close(p[1]);
        slow_reader(p[0], NI_MAX_SETTING * (sizeof(v) - 1 + strlen("NCCL_X=''\n")));
    }
    assert_int_equal(ni_write_env(p[1], &plan, NI_FMT_K8S, &bad), 0);
    close(p[0]);
    close(p[1]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* The last write(2) is cut short by a limit, as by a disk that just fills up: no success is told. */
static int short_write(void)
{
    const struct ni_setting *bad;
    const struct rlimit limit = {4200, 4200};
    int fd = memfd_create("env", MFD_CLOEXEC);
    signal(SIGXFSZ, SIG_IGN);
    if (fd < 0 || setrlimit(RLIMIT_FSIZE, &limit) < 0)
        return 1;
    return ni_write_env(fd, &plan, NI_FMT_SH, &bad) == -EFBIG ? 0 : 2;
}

static void test_short_write(void **state)
{
    char v[NI_VALUE];
    int status;
    (void)state;
    memset(&plan, 0, sizeof(plan));
    memset(v, 'x', sizeof(v) - 1);
    v[sizeof(v) - 1] = '\0';
    add("NCCL_X", v, NI_FROM_RULE);
    add("NCCL_Y", v, NI_FROM_RULE);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(short_write());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nasty_values),     cmocka_unit_test(test_conf_length),
        cmocka_unit_test(test_literal_forms),    cmocka_unit_test(test_only_ours),
        cmocka_unit_test(test_not_nccls),        cmocka_unit_test(test_failing_descriptor),
        cmocka_unit_test(test_nonblocking_pipe), cmocka_unit_test(test_short_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
