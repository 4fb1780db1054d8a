/* SPDX-License-Identifier: Apache-2.0 */
/* A set of capabilities in words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "nccl_init/caps.h"
#include "nccl_init/text.h"
#include <cmocka.h>

static void test_sets(void **state)
{
    static const struct ni_cap_names names = {
        .at = {[CAP_IPC_LOCK] = "CAP_IPC_LOCK", [CAP_SYS_RESOURCE] = "CAP_SYS_RESOURCE"}};
    char buf[64];
    struct ni_text t = ni_text_on(buf, sizeof(buf));

    (void)state;
    ni_put_caps(&t, 0, &names);
    assert_string_equal(buf, "");
    ni_put_caps(&t, ni_cap_bit(CAP_IPC_LOCK) | ni_cap_bit(CAP_SYS_RESOURCE), &names);
    assert_string_equal(buf, "CAP_IPC_LOCK, CAP_SYS_RESOURCE");
    t = ni_text_on(buf, sizeof(buf));
    ni_put_caps(&t, ni_cap_bit(CAP_NET_RAW), &names);
    assert_string_equal(buf, "capability 13");
    t = ni_text_on(buf, sizeof(buf));
    ni_put_caps(&t, ni_cap_bit(63), &names); /* a later kernel's */
    assert_string_equal(buf, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sets)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
