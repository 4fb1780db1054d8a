/* SPDX-License-Identifier: Apache-2.0 */
/* A line is read into a value, before anything is noted: its header in the forms of NCCL's versions and of launchers,
   and what the patterns find in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "log/line.h"
#include "nccl_init/base.h"
#include "nccl_init/text.h"
#include <cmocka.h>

static struct ni_log_line read_line(const char *line)
{
    struct ni_log_line l;

    ni_log_read_line(&l, NULL, line, line + strlen(line), NI_LOG_WHOLE);
    for (unsigned i = 0; i < l.n_found; i++)
        if (l.found[i].row->take == NI_TAKE_HEADER)
            ni_log_read_header(&l, l.found[i].at);
    return l;
}

static void assert_span(struct ni_span s, const char *want)
{
    char text[200] = "";

    assert_true(s.n < sizeof(text));
    memcpy(text, s.p, s.n);
    assert_string_equal(text, want);
}

static void test_header(void **state)
{
    static const struct {
        const char *line, *name, *message, *source;
        int dev;
        bool warn;
    } rows[] = {
        {"trainer-1:73:95 [1] NCCL INFO Using network IB", "trainer-1:73", "Using network IB", "",
         1, false},
        /* to 2.25.1 */
        {"n:73:95 [1] misc/socket.cc:386 NCCL WARN Call failed", "n:73", "Call failed",
         "misc/socket.cc:386", 1, true},
        /* 2.26.2 to 2.30.4: a time */
        {"[2026-11-21 22:30:02] vm:15:16 [0] init.cc:7 NCCL WARN x", "vm:15", "x", "init.cc:7", 0,
         true},
        /* 2.30.7: the function */
        {"[0] init.cc:7 (ncclInit) NCCL WARN x", "", "x", "init.cc:7", 0, true},
        {"vm:15:16 [0] init.cc:7 (ncclInit) NCCL WARN x", "vm:15", "x", "init.cc:7", 0, true},
        {"[1,12]<stdout>:gpu-4:9:8 [3] NCCL INFO x", "gpu-4:9", "x", "", 3, false},
        {"(Worker pid=9, ip=10.0.0.1) a-b:9:8 [3] NCCL INFO x", "a-b:9", "x", "", 3, false},
        {"   NCCL INFO without a process", "", "without a process", "", -1, false},
    };

    (void)state;
    for (size_t i = 0; i < NI_COUNT(rows); i++) {
        const struct ni_log_line l = read_line(rows[i].line);

        assert_span(l.name, rows[i].name);
        assert_span(ni_log_message(&l), rows[i].message);
        assert_span(l.source, rows[i].source);
        assert_int_equal(l.dev, rows[i].dev);
        assert_int_equal(l.warn, rows[i].warn);
        assert_int_equal(l.info, !rows[i].warn);
        assert_true(l.is_nccl && l.whole);
    }
}

static void test_found(void **state)
{
    struct ni_log_line l = read_line("h:1:2 [0] NCCL INFO Using network h:1:3 [1] NCCL INFO x");

    (void)state;
    assert_false(l.whole); /* two records are mixed */
    l = read_line("RuntimeError: Too many open files");
    assert_int_equal(l.own, 1);
    assert_non_null(l.error);
    assert_false(l.is_nccl);
    /* a general pattern, and no other */
    l = read_line("[1.0] [h:1:0] a.c:1 UCX  ERROR something");
    assert_int_equal(l.faults, 1);
    assert_int_equal(l.own, 0);
    l = read_line("nothing that is known");
    assert_int_equal(l.n_found, 0);
}

static void test_time(void **state)
{
    struct ni_log_line l = read_line("2026-11-28T15:54:30.1Z h:1:2 [0] NCCL INFO x");

    (void)state;
    assert_true(ni_log_time(&l) == 20261128155430U);
    l = read_line("[2026-11-28 15:54:30] h:1:2 [0] NCCL INFO x");
    assert_true(ni_log_time(&l) == 20261128155430U);
    l = read_line("h:1:2 [0] NCCL INFO 2026-11-28T15:54:30");
    assert_true(ni_log_time(&l) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_header),
        cmocka_unit_test(test_found),
        cmocka_unit_test(test_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
