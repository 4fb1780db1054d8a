/* SPDX-License-Identifier: Apache-2.0 */
/* Capabilities are kept and dropped as asked, and not touched otherwise. In a child, for each case needs its own. What the
   command then has is for tests/exec/caps.sh. */
#include <linux/capability.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "nccl_init/act.h"

#define LOCK    (UINT64_C(1) << NI_CAP_IPC_LOCK)
#define RAW     (UINT64_C(1) << CAP_NET_RAW)
#define SETPCAP (UINT64_C(1) << NI_CAP_SETPCAP)

struct sets {
    uint64_t own[3], bounding, ambient; /* own: effective, permitted, inheritable */
    unsigned findings;
    bool lock, raw; /* ni_command_has_cap */
};

static struct ni_findings findings;

/* As /proc/self/status tells them. */
static struct sets read_sets(void)
{
    struct sets s = {.findings = findings.n};
    const struct {
        const char *name;
        uint64_t *ret;
    } rows[] = {{"CapEff:", &s.own[0]},
                {"CapPrm:", &s.own[1]},
                {"CapInh:", &s.own[2]},
                {"CapBnd:", &s.bounding},
                {"CapAmb:", &s.ambient}};
    FILE *status = fopen("/proc/self/status", "re");
    char line[256];

    while (status && fgets(line, sizeof(line), status))
        for (size_t i = 0; i < NI_COUNT(rows); i++)
            if (ni_has_prefix(line, rows[i].name))
                *rows[i].ret = strtoull(line + strlen(rows[i].name), NULL, 16);
    if (status)
        (void)fclose(status);
    s.lock = ni_command_has_cap(NI_CAP_IPC_LOCK);
    s.raw = ni_command_has_cap(CAP_NET_RAW);
    return s;
}

/* What a child has after f(arg). */
static struct sets after(void (*f)(const struct ni_caps *), struct ni_caps arg)
{
    struct sets s;
    int fds[2], status;
    pid_t pid;

    assert_int_equal(pipe(fds), 0);
    pid = fork();
    if (pid == 0) {
        f(&arg);
        s = read_sets();
        _exit(write(fds[1], &s, sizeof(s)) == sizeof(s) ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(read(fds[0], &s, sizeof(s)), sizeof(s));
    close(fds[0]);
    close(fds[1]);
    return s;
}

static void apply(const struct ni_caps *caps)
{
    ni_caps_apply(caps, &findings);
}

/* As another user who has been left these as permitted only, the way file capabilities do it. */
static void become(uint64_t permitted)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct data[2] = {{.permitted = (uint32_t)permitted},
                                                   {.permitted = (uint32_t)(permitted >> 32)}};

    if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0 || setresgid(1000, 1000, 1000) != 0 ||
        setresuid(1000, 1000, 1000) != 0 || syscall(SYS_capset, &head, data) != 0)
        _exit(1);
}

static void apply_as_user(const struct ni_caps *caps)
{
    become(LOCK);
    ni_caps_apply(caps, &findings);
}

static void apply_as_user_with_setpcap(const struct ni_caps *caps)
{
    become(LOCK | SETPCAP);
    ni_caps_apply(caps, &findings);
}

static void switch_and_back(const struct ni_caps *caps)
{
    (void)caps;
    become(LOCK);
    if (!ni_cap_switch(NI_CAP_IPC_LOCK, true) || ni_cap_switch(NI_CAP_IPC_LOCK, true) ||
        read_sets().own[0] != LOCK || !ni_cap_switch(NI_CAP_IPC_LOCK, false) ||
        ni_cap_switch(NI_CAP_IPC_LOCK, false) || ni_cap_switch(CAP_NET_RAW, true))
        _exit(1);
}

static void calm(const struct ni_caps *caps)
{
    (void)caps;
    if (ni_caps_disable() != 0)
        _exit(1);
}

static void skip_unless_able(void)
{
    const uint64_t needed = LOCK | RAW | SETPCAP;
    struct sets s = read_sets();

    if (geteuid() == 0 && (s.own[0] & needed) == needed && (s.bounding & needed) == needed)
        return;
    print_message("root with CAP_IPC_LOCK, CAP_NET_RAW and CAP_SETPCAP is needed\n");
    skip();
}

static void test_untouched(void **state)
{
    struct sets before = read_sets(), s = after(apply, (struct ni_caps){0});

    (void)state;
    assert_memory_equal(&before, &s, sizeof(s));
}

static void test_root(void **state)
{
    struct sets before = read_sets(), s;

    (void)state;
    skip_unless_able();
    s = after(apply, (struct ni_caps){.keep = LOCK, .drop = RAW});
    assert_int_equal(s.ambient, before.ambient | LOCK);
    assert_int_equal(s.own[2], before.own[2] | LOCK);
    assert_int_equal(s.own[0], before.own[0] & ~RAW);
    assert_int_equal(s.own[1], before.own[1] & ~RAW);
    assert_int_equal(s.bounding, before.bounding & ~RAW);
    assert_int_equal(s.findings, 0);
    assert_true(s.lock);
    assert_false(s.raw);
    /* CAP_SETPCAP goes with the others, and is used for it. */
    s = after(apply, (struct ni_caps){.drop = SETPCAP | RAW});
    assert_int_equal(s.bounding, before.bounding & ~(SETPCAP | RAW));
    assert_int_equal(s.findings, 0);
    /* Foreseen: neither tried nor told again. */
    s = after(apply, (struct ni_caps){.drop = RAW, .stuck = RAW});
    assert_int_equal(s.bounding, before.bounding);
    assert_int_equal(s.own[1], before.own[1] & ~RAW);
    assert_int_equal(s.findings, 0);
}

static void test_user(void **state)
{
    struct sets s;

    (void)state;
    skip_unless_able();
    s = after(apply_as_user, (struct ni_caps){.keep = LOCK});
    assert_int_equal(s.ambient, LOCK);
    assert_int_equal(s.own[2], LOCK);
    assert_int_equal(s.own[1], LOCK);
    assert_int_equal(s.own[0], 0); /* nothing more of this process is made effective */
    assert_true(s.lock);
    assert_int_equal(s.findings, 0);
    s = after(apply_as_user, (struct ni_caps){.keep = RAW}); /* not permitted */
    assert_int_equal(s.ambient, 0);
    assert_int_equal(s.findings, 1);
    s = after(apply_as_user, (struct ni_caps){.drop = LOCK}); /* bounding: no SETPCAP */
    assert_int_equal(s.own[1], 0);
    assert_int_equal(s.bounding & LOCK, LOCK);
    assert_int_equal(s.findings, 1);
    assert_false(s.lock);
    /* Permitted only, and raised for the one call. */
    s = after(apply_as_user_with_setpcap, (struct ni_caps){.drop = LOCK});
    assert_int_equal(s.bounding & LOCK, 0);
    assert_int_equal(s.own[1], SETPCAP);
    assert_int_equal(s.own[0], 0);
    assert_int_equal(s.findings, 0);
}

static void test_switch(void **state)
{
    struct sets before = read_sets(), s;

    (void)state;
    skip_unless_able();
    s = after(switch_and_back, (struct ni_caps){0});
    assert_int_equal(s.own[0], 0);
    assert_int_equal(s.own[1], LOCK);
    s = after(calm, (struct ni_caps){0});
    assert_int_equal(s.own[0], 0);
    assert_int_equal(s.own[1], before.own[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_untouched),
        cmocka_unit_test(test_root),
        cmocka_unit_test(test_user),
        cmocka_unit_test(test_switch),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
