/* SPDX-License-Identifier: Apache-2.0 */
/* What a masked recording may have of a file's content: that of a row, in its form, and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "main.h"
#include "nccl_init/base.h"
#include "nccl_init/text.h"
#include "snapshot/keep.h"
#include "snapshot/keep_forms.h"
#include "snapshot/mask.h"
#include "sysroot/tree.h"
#include <cmocka.h>

/* Returns what is kept of the content. */
static const char *kept_of(const char *path, const char *content)
{
    static char buf[4096];
    struct ni_tree record = {0};
    struct ni_keep_facts facts = {.program = &ni_main_program};
    struct ni_text text = ni_text_on(buf, sizeof(buf));
    struct ni_mask *m = ni_mask_new(&record);

    assert_non_null(m);
    ni_keep_file(&facts, m, path, ni_span_of(content), &text);
    ni_mask_free(m);
    assert_false(text.cut);
    return buf;
}

/* A prober may begin to read a file, and nobody gives it a row: nothing of it is recorded. */
static void test_without_row(void **state)
{
    static const char *const paths[] = {
        "sys/class/infiniband/mlx5_0/board_id",
        "sys/class/infiniband/mlx5_0/node_desc",
        "sys/class/net/eth0/ifalias",
        "sys/class/dmi/id/product_serial",
        "sys/bus/pci/devices/0000:3b:00.0/serial",
        "sys/module/nvidia/parameters/secret",
        "proc/self/cgroup",
        "proc/driver/nvidia/gpus/0000:3b:00.0/power",
        "etc/shadow",
        "etc/resolv.conf",
        "home/me/.nccl.conf",
        "var/run/secrets/token",
        "hunter2",
        "",
    };

    (void)state;
    for (size_t i = 0; i < NI_COUNT(paths); i++)
        assert_string_equal(kept_of(paths[i], "hunter2\n"), "");
}

/* A file with a row has only what has the row's form; else a text that its reader refuses. */
static void test_form(void **state)
{
    static const struct {
        const char *path, *content, *kept;
    } cases[] = {
        {"sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE", "4: ACTIVE"},
        {"sys/class/infiniband/mlx5_0/ports/1/state", "4: hunter2", "4:"},
        {"sys/class/infiniband/mlx5_0/ports/1/state", "hunter2", "???????"},
        {"sys/class/infiniband/mlx5_0/ports/1/link_layer", "Ethernet", "Ethernet"},
        {"sys/class/infiniband/mlx5_0/ports/1/link_layer", "hunter2", "???????"},
        {"sys/class/net/eth0/mtu", "9000", "9000"},
        {"sys/class/net/eth0/mtu", "9000 hunter2", "????????????"},
        {"sys/bus/pci/devices/0000:3b:00.0/vendor", "0x15b3", "0x15b3"},
        {"sys/bus/pci/devices/0000:3b:00.0/vendor", "hunter2", "???????"},
        {"proc/driver/nvidia/version", "hunter2", "NVRM version: NVIDIA UNIX Kernel Module"},
        {"proc/sys/kernel/osrelease", "5.14.0-570.el9.x86_64", "5.14.0-570.el9.x86_64"},
        {"proc/sys/kernel/osrelease", "6.8.0-hunter2", "6.8.0"},
        {"proc/sys/kernel/osrelease", "6.8hunter2", "6.8"},
        {"proc/sys/kernel/osrelease", "6.hunter2", "?????????"},
        {"sys/devices/system/node/has_memory", "0-1,3", "0-1,3"},
        {"sys/devices/system/node/has_memory", "0-1,", "????"},
        {"proc/cpuinfo", "vendor_id\t: hunter2\ncpu family\t: 6\nmodel\t\t: 143\nmodel name\t: X",
         "cpu family\t: 6\nmodel\t\t: 143\n"},
        {"etc/passwd", "me:x:1000:1000:Hunter Two:/home/me:/bin/sh", "x:x:1000:0::/home/name-1:\n"},
        {"etc/passwd", "me:x:hunter2:1000::/home/me:/bin/sh", ""},
        {"etc/nccl.conf", "NCCL_IB_TC=106\r\n#NCCL_IB_SL=hunter2\nhunter2\n", "NCCL_IB_TC=106\r\n"},
        {"etc/nvshmem.conf", " NVSHMEM_IB_GID_INDEX = 3 # hunter2\n", "NVSHMEM_IB_GID_INDEX=3\n"},
        {"proc/net/fib_trie",
         "Main:\n  +-- 10.0.0.0/8 2 0 2\n  |-- 10.0.1.6\n     /32 host LOCAL\n"
         "     /0 scope=200 UNICAST tos=0x10\nId 101:\n",
         "Main:\n  +-- 10.0.0.0/8 2 0 2\n  |-- 10.0.1.6\n     /32 host LOCAL\n"
         "     /0 scope=200 UNICAST\nId 101:\n"},
        {"proc/net/fib_trie",
         "Mhunter2:\nId hunter2:\n  +-- hunter2\n  |-- hunter2\n  /32 host HUNTER2\n",
         "?????????\n???????????\n  +-- \n  ???????????\n  /\n"},
    };

    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++)
        assert_string_equal(kept_of(cases[i].path, cases[i].content), cases[i].kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_row),
        cmocka_unit_test(test_form),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
