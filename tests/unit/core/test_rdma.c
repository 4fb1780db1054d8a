/* SPDX-License-Identifier: Apache-2.0 */
/* Names of what the kernel gives as numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "nccl_init/known.h"
#include "nccl_init/rdma.h"
#include <cmocka.h>

/* The kernel's numbers end with ACTIVE_DEFER (include/rdma/ib_verbs.h, enum ib_port_state). */
static void test_port_states(void **state)
{
    (void)state;
    assert_string_equal(ni_port_state_text((struct ni_num){0, NI_KNOWN}), "NOP");
    assert_string_equal(ni_port_state_text((struct ni_num){5, NI_KNOWN}), "ACTIVE_DEFER");
    assert_null(ni_port_state_text((struct ni_num){6, NI_KNOWN}));
    assert_null(ni_port_state_text((struct ni_num){-1, NI_KNOWN}));
    assert_null(ni_port_state_text((struct ni_num){4, NI_DENIED}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_port_states),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
