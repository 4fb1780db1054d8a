/* SPDX-License-Identifier: Apache-2.0 */
/* What --wait waits for: link, address and GID, interface of the pod's ports. */
#include "lib/rules_node.h"
#include "nccl_init/base.h"
#include "nccl_init/known.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "rules/ready.h"

static char buf[512];

/* "" when ready, else what is missing. */
static const char *missing(void)
{
    struct ni_text t = ni_text_on(buf, sizeof(buf));
    bool ready = ni_is_ready(&node.inv, &t);
    assert_int_equal(ready, t.len == 0);
    return buf;
}

static void rail(void)
{
    node_reset(NULL);
    node_rail("mlx5_6", 3, "10.0.1.6", "net1");
}

static void test_link(void **state)
{
    static const struct {
        struct ni_num port;
        bool ready;
    } cases[] = {
        {{NI_PORT_ACTIVE, NI_KNOWN}, true},
        {{NI_PORT_DOWN, NI_KNOWN}, false},
        {{2, NI_KNOWN}, false},
        {{3, NI_KNOWN}, false},
        {{5, NI_KNOWN}, false},
        {{NI_PORT_ACTIVE, NI_DENIED}, false},
        {{NI_PORT_ACTIVE, NI_BAD}, false},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        for (int ib = 0; ib <= 1; ib++) {
            rail();
            node.inv.port[0].link = ib ? NI_LINK_IB : NI_LINK_ROCE;
            node.inv.port[0].state = cases[i].port;
            assert_string_equal(missing(), cases[i].ready ? "" : "mlx5_6/1: link");
        }
    }
}

static void test_gid(void **state)
{
    static const struct {
        const char *ip;
        enum ni_gid_type type;
        enum ni_owner owner;
        bool ready;
    } cases[] = {
        {"10.0.1.6", NI_GID_V2, NI_OWNER_POD, true},
        {"fd00::6", NI_GID_V2, NI_OWNER_POD, true},
        {"fe80::6", NI_GID_V2, NI_OWNER_POD, false}, /* the address comes later */
        {"10.0.1.6", NI_GID_V1, NI_OWNER_POD, false},
        {"10.0.1.6", NI_GID_UNREAD, NI_OWNER_POD, false},
        {"10.0.1.6", NI_GID_V2, NI_OWNER_OTHER, false},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        node_reset(NULL);
        node_hca("mlx5_6");
        assert_string_equal(missing(), "mlx5_6/1: address and GID");
        node_gid(0, "10.9.9.9", NI_GID_V2, NI_OWNER_OTHER, "net9");
        node_gid(1, cases[i].ip, cases[i].type, cases[i].owner, "net1");
        assert_string_equal(missing(), cases[i].ready ? "" : "mlx5_6/1: address and GID");
        node.inv.port[0].link = NI_LINK_IB; /* whose GID is there with the link */
        assert_string_equal(missing(), "");
    }
}

static void test_interface(void **state)
{
    (void)state;
    rail();
    node.inv.netdev[0].running = false;
    assert_string_equal(missing(), ""); /* not known to be the function's own */
    node.inv.hca[0].netdev = 0;
    assert_string_equal(missing(), "mlx5_6/1: interface");
    node.inv.netdev[0].running = true;
    assert_string_equal(missing(), "");
}

static void test_several(void **state)
{
    (void)state;
    rail();
    node_hca("mlx5_7");
    node_hca("mlx5_0");
    node_port(1, 2)->state.v = NI_PORT_DOWN;
    node.inv.port[0].state.v = NI_PORT_DOWN;
    node.inv.hca[2].allocation = -1; /* not the pod's: of no concern */
    assert_string_equal(missing(), "mlx5_6/1: link, mlx5_7/1: address and GID, mlx5_7/2: link");
    node_reset(NULL);
    assert_string_equal(missing(), ""); /* nothing was given: nothing to wait for */
}

/* A device may be missing: there are the ports of the others, or none. */
static void test_metadata(void **state)
{
    (void)state;
    rail();
    (void)ni_copy(node.inv.pending, sizeof(node.inv.pending), "resourceclaims/a/b/c-metadata.json");
    assert_string_equal(missing(), "device metadata resourceclaims/a/b/c-metadata.json");
    node.inv.port[0].state.v = NI_PORT_DOWN;
    assert_string_equal(missing(),
                        "device metadata resourceclaims/a/b/c-metadata.json, mlx5_6/1: link");
    node.inv.n_hca = node.inv.n_port = 0;
    assert_string_equal(missing(), "device metadata resourceclaims/a/b/c-metadata.json");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_metadata), cmocka_unit_test(test_link),
        cmocka_unit_test(test_gid),      cmocka_unit_test(test_interface),
        cmocka_unit_test(test_several),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
