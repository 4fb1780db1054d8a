/* SPDX-License-Identifier: Apache-2.0 */
/* Listings: order and bounds. */
#include "lib/sysroot.h"
#include "sysroot/files.h"
#include "sysroot/root.h"

static struct ni_names names;

static void test_of_a_tree(void **state)
{
    (void)state;
    struct ni_root root = tree_of("f net10\nf net9\nf mlx5_bond_0\nf mlx5_1\nf eth00\nf eth0\nf "
                                  "net1\nf a{0..1}\nf dir/{0..3000} x\n");

    assert_string_equal(list_of(&root, "."),
                        "a{0..1} dir eth0 eth00 mlx5_1 mlx5_bond_0 net1 net9 net10");
    assert_int_equal(ni_list(TOP(&root), &names, "dir"), 0);
    assert_int_equal(names.n, NI_MAX_NAMES);
    assert_true(names.cut);
    assert_int_equal(ni_list(TOP(&root), &names, "none"), -ENOENT);
    assert_int_equal(names.n, 0);
    assert_false(names.cut);
    ni_root_close(&root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_of_a_tree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
