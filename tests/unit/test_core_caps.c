/* SPDX-License-Identifier: Apache-2.0 */
/* Names of capabilities, against the kernel's header. */
#include <errno.h>
#include <linux/capability.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "nccl_init/core.h"

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
        char ours[64];
        struct ni_text t = ni_text_on(ours, sizeof(ours));
        unsigned got = 99;

        assert_int_equal(ni_parse_cap(ni_span_of(theirs[i]), &got), 0);
        assert_int_equal(got, i);
        ni_put_caps(&t, UINT64_C(1) << i);
        assert_true(ni_has_prefix(ours, "CAP_"));
        assert_string_equal(ours + strlen("CAP_"), theirs[i]);
    }
}

static void test_bad_names(void **state)
{
    static const char *const bad[] = {"",          "IPC",  "IPC_LOCK ", "CAP_IPC_LOCK",
                                      "IPC_LOCKS", "*all", "14",        "ipc-lock"};
    unsigned got = 99;

    (void)state;
    for (size_t i = 0; i < NI_COUNT(bad); i++)
        assert_int_equal(ni_parse_cap(ni_span_of(bad[i]), &got), -EINVAL);
    assert_int_equal(got, 99);
    assert_int_equal(ni_parse_cap(ni_span_of("ipc_Lock"), &got), 0);
    assert_int_equal(got, NI_CAP_IPC_LOCK);
}

static void test_sets(void **state)
{
    char buf[64];
    struct ni_text t = ni_text_on(buf, sizeof(buf));

    (void)state;
    ni_put_caps(&t, 0);
    assert_string_equal(buf, "");
    ni_put_caps(&t, 1 << NI_CAP_IPC_LOCK | 1 << NI_CAP_SYS_RESOURCE);
    assert_string_equal(buf, "CAP_IPC_LOCK, CAP_SYS_RESOURCE");
    t = ni_text_on(buf, sizeof(buf));
    ni_put_caps(&t, UINT64_C(1) << 63); /* a later kernel's */
    assert_string_equal(buf, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_name),
        cmocka_unit_test(test_bad_names),
        cmocka_unit_test(test_sets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
