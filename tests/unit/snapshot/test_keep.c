/* SPDX-License-Identifier: Apache-2.0 */
/* What a masked recording may have of a file's content: that of a row, in its form, and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

/* Returns what is kept of NAME=VALUE in the environment. nccl.conf has the same of it. */
static const char *kept_setting(const char *setting)
{
    static char env[4096];
    struct ni_text line = NI_TEXT(4096);

    ni_putf(&line, "%s\n", kept_of("proc/self/environ", setting));
    strcpy(env, line.buf);
    if (strncmp(setting, "NCCL_", 5) == 0)
        assert_string_equal(kept_of("etc/nccl.conf", setting), env);
    env[line.len - 1] = '\0';
    return env;
}

/* The names of public plugins stay, and of others whether NCCL's variables are theirs, too. */
static void test_plugins(void **state)
{
    static const char *const same[] = {
        "IB",
        "IB-CAST",
        "IBext",
        "IBext_v8",
        "ROCM-IB",
        "nccl-rdma-sharp-plugins",
        "libnccl-net-ofi.so",
        "/opt/hpcx/nccl_rdma_sharp_plugin/lib/libnccl-net.so",
        "",
    };
    static const struct {
        const char *plugin, *kept;
    } others[] = {
        {"zeusnetx", "name-1"},
        {"nccl-", "name-1"},
        {"IB_", "name-1-sharp"},
        {"zeus-sharp", "name-1-sharp"},
        {"ibzeus", "name-1-sharp"},
        {"/opt/zeus/lib/", "/opt/name-1/lib/"},
        {"/opt/zeus/lib/-", "/opt/name-1/lib/name-2"},
        {"/home/hpcx/libnccl-net.so", "/home/name-1/libnccl-net.so-sharp"},
        {"/opt/hpcx-zeus/libnccl-net.so", "/opt/name-1/libnccl-net.so-sharp"},
        {"/opt/cuda4539148803436467/libnccl-net.so", "/opt/name-1/libnccl-net.so"},
        {"/opt/cuda-4539-1488-0343-6467/libnccl-net.so", "/opt/name-1/libnccl-net.so"},
        {"/opt/cuda-12.4/libnccl-net.so", "/opt/cuda-12.4/libnccl-net.so"},
    };
    static const char *const names[] = {"NCCL_NET", "NCCL_NET_PLUGIN"};

    (void)state;
    for (size_t v = 0; v < NI_COUNT(names); v++) {
        struct ni_text set = NI_TEXT(256);

        for (size_t i = 0; i < NI_COUNT(same); i++) {
            set.len = 0;
            ni_putf(&set, "%s=%s", names[v], same[i]);
            assert_string_equal(kept_setting(set.buf), set.buf);
        }
        for (size_t i = 0; i < NI_COUNT(others); i++) {
            struct ni_text kept = NI_TEXT(256);

            set.len = 0;
            ni_putf(&set, "%s=%s", names[v], others[i].plugin);
            ni_putf(&kept, "%s=%s", names[v], others[i].kept);
            assert_string_equal(kept_setting(set.buf), kept.buf);
        }
    }
}

/* Of a secret stays that it is set. Of a number that is a key stays that it is one, as NCCL takes
   it. */
static void test_keys(void **state)
{
    static const char *const same[] = {
        "NCCLINIT_JOB_SECRET=",
        "NCCL_SOCKET_MAGIC=",
        "NCCL_MNNVL_UUID=",
    };
    static const struct {
        const char *setting, *kept;
    } cases[] = {
        {"NCCLINIT_JOB_SECRET=8243721190457733121", "NCCLINIT_JOB_SECRET=masked"},
        {"NCCLINIT_JOB_SECRET=0xdeadbeefcafebabe", "NCCLINIT_JOB_SECRET=masked"},
        {"NCCLINIT_JOB_SECRET=1111.2222", "NCCLINIT_JOB_SECRET=masked"},
        {"NCCLINIT_JOB_SECRET=ring", "NCCLINIT_JOB_SECRET=masked"},
        {"NCCLINIT_JOB_SECRET=/etc/nccl/4711", "NCCLINIT_JOB_SECRET=masked"},
        {"NCCL_SOCKET_MAGIC=8243721190457733121", "NCCL_SOCKET_MAGIC=1"},
        {"NCCL_SOCKET_MAGIC=ring", "NCCL_SOCKET_MAGIC=?name-1"},
        {"NCCL_MNNVL_UUID=0x1234567890abcdef", "NCCL_MNNVL_UUID=1"},
        {"NCCL_MNNVL_UUID=-4711", "NCCL_MNNVL_UUID=1"},
        {"NCCL_MNNVL_UUID=0x1234567890abcdef1", "NCCL_MNNVL_UUID=99999999999999999999"},
        {"NCCL_MNNVL_UUID=4711zeus", "NCCL_MNNVL_UUID=1?name-1"},
        {"NCCL_MNNVL_UUID=zeus", "NCCL_MNNVL_UUID=?name-1"},
        /* a misspelt name: the finding is about the name alone */
        {"NCCL_SOCKET_MAGICK=8243721190457733121", "NCCL_SOCKET_MAGICK=name-1"},
        {"nccl_mnnvl_uuid=0x1234567890abcdef", "nccl_mnnvl_uuid=name-1"},
    };

    (void)state;
    for (size_t i = 0; i < NI_COUNT(same); i++)
        assert_string_equal(kept_setting(same[i]), same[i]);
    for (size_t i = 0; i < NI_COUNT(cases); i++)
        assert_string_equal(kept_setting(cases[i].setting), cases[i].kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_row),
        cmocka_unit_test(test_form),
        cmocka_unit_test(test_plugins),
        cmocka_unit_test(test_keys),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
