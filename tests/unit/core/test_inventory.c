/* SPDX-License-Identifier: Apache-2.0 */
/* Looking things up in an inventory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "nccl_init/base.h"
#include "nccl_init/env.h"
#include "nccl_init/inventory.h"
#include "nccl_init/known.h"
#include "nccl_init/text.h"
#include <cmocka.h>

static struct ni_inventory inv;

static int reset(void **state)
{
    (void)state;
    memset(&inv, 0, sizeof(inv));
    return 0;
}

static void test_netdev(void **state)
{
    (void)state;
    assert_null(ni_find_netdev(&inv, "net1"));
    inv.n_netdev = 2;
    ni_copy(inv.netdev[0].name, NI_IF_NAME, "net10");
    ni_copy(inv.netdev[1].name, NI_IF_NAME, "net1");
    ni_copy(inv.netdev[2].name, NI_IF_NAME, "net2"); /* not of the list */
    assert_ptr_equal(ni_find_netdev(&inv, "net10"), &inv.netdev[0]);
    assert_ptr_equal(ni_find_netdev(&inv, "net1"), &inv.netdev[1]);
    assert_null(ni_find_netdev(&inv, "net2"));
    assert_null(ni_find_netdev(&inv, "net"));
    assert_null(ni_find_netdev(&inv, ""));
}

static void test_given_hcas(void **state)
{
    (void)state;
    assert_int_equal(ni_allocated_hcas(&inv), 0);
    inv.n_hca = 3;
    inv.hca[0].allocation = 0;
    inv.hca[1].allocation = -1; /* visible, not the pod's */
    inv.hca[2].allocation = 7;
    inv.hca[3].allocation = 8; /* not of the list */
    assert_int_equal(ni_allocated_hcas(&inv), 2);
}

static void test_dmabuf(void **state)
{
    static const struct {
        enum ni_known open_driver;
        unsigned major, minor;
        bool want;
    } cases[] = {
        {NI_KNOWN, 5, 12, true},  {NI_KNOWN, 5, 15, true},  {NI_KNOWN, 6, 0, true},
        {NI_KNOWN, 5, 11, false}, {NI_KNOWN, 4, 18, false}, {NI_KNOWN, 0, 0, false},
        {NI_ABSENT, 6, 0, false}, {NI_DENIED, 6, 0, false}, {NI_UNSET, 6, 0, false},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        inv.gdr.open_driver = cases[i].open_driver;
        inv.self.kernel_major = cases[i].major;
        inv.self.kernel_minor = cases[i].minor;
        if (ni_has_dmabuf(&inv) != cases[i].want)
            fail_msg("case %zu", i);
    }
}

static void add_conf(const char *name, const char *value, const char *file)
{
    struct ni_conf_entry *e = &inv.conf[inv.n_conf++];
    ni_copy(e->name, sizeof(e->name), name);
    ni_copy(e->value, sizeof(e->value), value);
    ni_copy(e->file, sizeof(e->file), file);
}

/* The value, and the file it is from; NULL for none. */
static void assert_user(char *const *entry, const char *name, const char *want,
                        const char *want_file)
{
    const struct ni_env env = {entry};
    const char *file = "not written";
    const char *value = ni_find_user_value(&env, &inv, name, &file);
    if (want)
        assert_string_equal(value, want);
    else
        assert_null(value);
    if (want_file)
        assert_string_equal(file, want_file);
    else
        assert_null(file);
    assert_ptr_equal(ni_find_user_value(&env, &inv, name, NULL), value);
}

static void test_user_value(void **state)
{
    char net[] = "NCCL_NET=IB", empty[] = "NCCL_IB_HCA=";
    char *const none[] = {NULL}, *const some[] = {net, empty, NULL};
    (void)state;
    assert_user(none, "NCCL_NET", NULL, NULL);
    assert_user(some, "NCCL_NET", "IB", NULL);
    add_conf("NCCL_NET", "Socket", "/etc/nccl.conf");
    add_conf("NCCL_IB_HCA", "mlx5_1", "~/.nccl.conf");
    add_conf("NCCL_IB_TC", "106", "~/.nccl.conf");
    add_conf("NCCL_IB_TC", "0", "/etc/nccl.conf");
    assert_user(some, "NCCL_NET", "IB", NULL);
    assert_user(some, "NCCL_IB_HCA", "", NULL); /* set but empty hides the file */
    assert_user(none, "NCCL_IB_HCA", "mlx5_1", "~/.nccl.conf");
    assert_user(some, "NCCL_IB_TC", "106", "~/.nccl.conf"); /* the first wins */
    assert_user(some, "NCCL_IB", NULL, NULL);
    inv.n_conf = 0;
    assert_user(none, "NCCL_NET", NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_netdev, reset),
        cmocka_unit_test_setup(test_given_hcas, reset),
        cmocka_unit_test_setup(test_dmabuf, reset),
        cmocka_unit_test_setup(test_user_value, reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
