/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold of every plan, over many inventories made at random. */
#include "lib/rules_draw.h"
#include "lib/rules_properties.h"
#include "lib/trials.h"
#include "nccl_init/env.h"
#include "nccl_init/plan.h"
#include "rules/decide.h"

static uint64_t seed;

static unsigned next(unsigned below)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(seed >> 33) % below;
}

static void test_properties(void **state)
{
    const struct ni_env env = {node.entry};
    const struct ni_work work = {&node.inv, &env, &node.policy, &node.plan, &node.findings};
    unsigned indexes = 0, ranges = 0, chosen = 0, rdma = 0;
    (void)state;
    seed = 7;
    for (unsigned i = 0; i < TRIALS(20000); i++) {
        random_node();
        node_decide();
        check_plan(&work);
        indexes += of_rule(&node.plan, "NCCL_IB_GID_INDEX") != NULL;
        ranges += of_rule(&node.plan, "NCCL_IB_ADDR_RANGE") != NULL;
        chosen += node.plan.n_chosen > 1;
        rdma += node.plan.transport == NI_NET_RDMA;
    }
    /* no trivial ones */
    assert_true(indexes > TRIALS(500) && ranges > TRIALS(20));
    assert_true(chosen > TRIALS(500) && rdma > TRIALS(1000));
}

/* The same inventory twice gives the same plan: nothing is left over, nothing uninitialised counts.
   */
static void test_same_again(void **state)
{
    static struct ni_plan first;
    (void)state;
    seed = 8;
    for (unsigned i = 0; i < TRIALS(2000); i++) {
        random_node();
        node_decide();
        memcpy(&first, &node.plan, sizeof(first));
        node_decide();
        assert_int_equal(node.plan.n_setting, first.n_setting);
        for (unsigned k = 0; k < first.n_setting; k++) {
            assert_string_equal(node.plan.setting[k].value, first.setting[k].value);
            assert_string_equal(node.plan.setting[k].reason, first.setting[k].reason);
        }
        assert_memory_equal(node.plan.chosen, first.chosen, sizeof(first.chosen));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_properties),
        cmocka_unit_test(test_same_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
