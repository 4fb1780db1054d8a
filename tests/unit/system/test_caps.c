/* SPDX-License-Identifier: Apache-2.0 */
/* Capabilities are kept and dropped as asked, and not touched otherwise. In a child, for each case needs its own. What the
   command then has is for tests/exec/caps.sh. */
#include <errno.h>
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

#include "nccl_init/base.h"
#include "nccl_init/caps.h"
#include "nccl_init/findings.h"
#include "nccl_init/plan.h"
#include "nccl_init/text.h"
#include "system/caps.h"
#include <cmocka.h>

#define LOCK    ni_cap_bit(CAP_IPC_LOCK)
#define RAW     ni_cap_bit(CAP_NET_RAW)
#define SETPCAP ni_cap_bit(CAP_SETPCAP)

struct sets {
    uint64_t own[3], bounding, ambient; /* own: effective, permitted, inheritable */
    unsigned findings;
    bool lock, raw; /* ni_command_has_cap */
};

static struct ni_findings findings;
static struct ni_cap_names names;

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
    s.lock = ni_command_has_cap(CAP_IPC_LOCK);
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
    assert_int_equal(ni_caps_apply(caps, &names, &findings), 0);
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
    assert_int_equal(ni_caps_apply(caps, &names, &findings), 0);
}

static void apply_as_user_with_setpcap(const struct ni_caps *caps)
{
    become(LOCK | SETPCAP);
    assert_int_equal(ni_caps_apply(caps, &names, &findings), 0);
}

static void switch_and_back(const struct ni_caps *caps)
{
    (void)caps;
    become(LOCK);
    if (!ni_cap_raise(CAP_IPC_LOCK) || ni_cap_raise(CAP_IPC_LOCK) || ni_cap_raise(CAP_NET_RAW))
        _exit(1);
    if (read_sets().own[0] != LOCK)
        _exit(1);
    if (ni_cap_lower(CAP_IPC_LOCK) != 0 || ni_cap_lower(CAP_IPC_LOCK) != 0)
        _exit(1);
}

static void disable(const struct ni_caps *caps)
{
    (void)caps;
    if (ni_caps_disable() != 0)
        _exit(1);
}

static void forsake(const struct ni_caps *caps)
{
    if (ni_caps_forsake(caps->keep) != 0)
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
    s = after(disable, (struct ni_caps){0});
    assert_int_equal(s.own[0], 0);
    assert_int_equal(s.own[1], before.own[1]);
    s = after(forsake, (struct ni_caps){.keep = LOCK});
    assert_int_equal(s.own[0], LOCK);
    assert_int_equal(s.own[1], LOCK);
    assert_int_equal(s.own[2], 0);
    assert_int_equal(s.ambient, 0);
}

/* ---- names ---- */

#define CAP(name) [CAP_##name] = #name
static const char *const theirs[] = {
    CAP(CHOWN),
    CAP(DAC_OVERRIDE),
    CAP(DAC_READ_SEARCH),
    CAP(FOWNER),
    CAP(FSETID),
    CAP(KILL),
    CAP(SETGID),
    CAP(SETUID),
    CAP(SETPCAP),
    CAP(LINUX_IMMUTABLE),
    CAP(NET_BIND_SERVICE),
    CAP(NET_BROADCAST),
    CAP(NET_ADMIN),
    CAP(NET_RAW),
    CAP(IPC_LOCK),
    CAP(IPC_OWNER),
    CAP(SYS_MODULE),
    CAP(SYS_RAWIO),
    CAP(SYS_CHROOT),
    CAP(SYS_PTRACE),
    CAP(SYS_PACCT),
    CAP(SYS_ADMIN),
    CAP(SYS_BOOT),
    CAP(SYS_NICE),
    CAP(SYS_RESOURCE),
    CAP(SYS_TIME),
    CAP(SYS_TTY_CONFIG),
    CAP(MKNOD),
    CAP(LEASE),
    CAP(AUDIT_WRITE),
    CAP(AUDIT_CONTROL),
    CAP(SETFCAP),
    CAP(MAC_OVERRIDE),
    CAP(MAC_ADMIN),
    CAP(SYSLOG),
    CAP(WAKE_ALARM),
    CAP(BLOCK_SUSPEND),
    CAP(AUDIT_READ),
    CAP(PERFMON),
    CAP(BPF),
    CAP(CHECKPOINT_RESTORE),
};
_Static_assert(NI_COUNT(theirs) == NI_CAPS, "a name for each");

static void test_each_name(void **state)
{
    (void)state;
    for (unsigned i = 0; i < NI_CAPS; i++) {
        unsigned got = 99;

        assert_int_equal(ni_cap_by_name(ni_span_of(theirs[i]), &names, &got), 0);
        assert_int_equal(got, i);
        assert_true(ni_has_prefix(names.at[i], "CAP_"));
        assert_string_equal(names.at[i] + strlen("CAP_"), theirs[i]);
    }
}

static void test_bad_names(void **state)
{
    static const char *const bad[] = {"",          "IPC",  "IPC_LOCK ", "CAP_IPC_LOCK",
                                      "IPC_LOCKS", "*all", "14",        "ipc-lock"};
    unsigned got = 99;

    (void)state;
    for (size_t i = 0; i < NI_COUNT(bad); i++)
        assert_int_equal(ni_cap_by_name(ni_span_of(bad[i]), &names, &got), -EINVAL);
    assert_int_equal(got, 99);
    assert_int_equal(ni_cap_by_name(ni_span_of("ipc_Lock"), &names, &got), 0);
    assert_int_equal(got, CAP_IPC_LOCK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_untouched), cmocka_unit_test(test_root),
        cmocka_unit_test(test_user),      cmocka_unit_test(test_switch),
        cmocka_unit_test(test_each_name), cmocka_unit_test(test_bad_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
