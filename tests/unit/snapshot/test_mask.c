/* SPDX-License-Identifier: Apache-2.0 */
/* Masked records: nothing is left that says which machine it was, and what belonged together still
   does. */
#include "lib/sysroot.h"
#include "nccl_init/base.h"
#include "nccl_init/ip.h"
#include "nccl_init/text.h"
#include "snapshot/masked.h"
#include "sysroot/record.h"
#include "sysroot/root.h"
#include "sysroot/tree.h"

/* Reads every file of a tree, and gives the masked record. */
static const char *mask_of(const char *text)
{
    struct ni_root root = tree_of(text);

    assert_int_equal(ni_root_record(&root), 0);
    for (size_t i = 1; i < root.tree->n; i++) {
        if (root.tree->at[i].kind == NI_ENTRY_LINK)
            link_of(&root, root.tree->at[i].path);
        else
            read_of(&root, root.tree->at[i].path);
    }
    const char *masked = written(&root, true);
    ni_root_close(&root);
    return masked;
}

/* ---- one thing at a time ---- */

static void check(const char *path, const char *value, const char *want)
{
    static char text[8192], expect[8192];

    snprintf(text, sizeof(text), "f %s %s\n", path, value);
    snprintf(expect, sizeof(expect), "f %s %s\n", path, want);
    assert_string_equal(mask_of(text), expect);
}

/* What stays is what a plan is made of, and what is no name of a machine. */
static void test_stays(void **state)
{
    (void)state;
    static const char *const same[] = {
        "4: ACTIVE",
        "0000:3b:00.2,0000:3b:00.3",
        "10002:3b:00.2",
        "PCIDEVICE_X=0000:ca:fe.1",
        "10.0.103.6/24",
        "12:34:56",
        "2024-01-02T03:04:05",
        "00:00:00:00:00:00",
        "ff:ff:ff:ff:ff:ff",
        "0000:0000:0000:0000:0000:0000:0000:0000",
        "fe80:0000:0000:0000:0000:0000:0000:0000",
        "0000:0000:0000:0000:0000:ffff:0a00:6706",
        "::1 ::ffff:10.0.103.6 fd00::5 fe80::1%eth0 2001:db8::/32 ::",
        "fd00:0:0:1:10:244:1:5",
        "00000000-0000-0000-0000-000000000000",
        "CapEff:\\t000001ffffffffff",
        "0x00000000c0000000 0x00000000c1ffffff 0x0000000000040200",
        "ffffffff,ffffffff",
        "ffffffffffffffffffffffffffffffffffffffffffffffff",
        "PCI_ID=15B3:101E PCI_SUBSYS_ID=15B3:0008",
        "pci:v000015B3d0000101Esv000015B3sd00000008bc02sc00i00",
        "std::vector a::b :: ::: 1: :1 a: -",
        "de:ad:be:ef",
        "aa:bb:cc:dd:ee:fg",
        "aa-bb-cc-dd-ee",
        "g0b0f8c1c-1234-4321-abcd-0123456789abc",
        "localhost HOSTNAME=localhost hostname=7 hostname= hostname",
    };

    for (size_t i = 0; i < NI_COUNT(same); i++)
        check("etc/hosts", same[i], same[i]);
    check("sys/ports/1/gids/1", "0000:0000:0000:0000:0000:ffff:0a00:6706",
          "0000:0000:0000:0000:0000:ffff:0a00:6706");
}

static void test_goes(void **state)
{
    (void)state;
    static const struct {
        const char *path, *value, *want;
    } cases[] = {
        {"tmp", "0C:42:a1:00:00:01", "02:00:00:00:00:01"},
        {"tmp", "mac=0c:42:a1:00:00:01,0c:42:a1:00:00:02;0c:42:a1:00:00:01",
         "mac=02:00:00:00:00:01,02:00:00:00:00:02;02:00:00:00:00:01"},
        {"tmp", "mac:0c:42:a1:00:00:01:", "mac:02:00:00:00:00:01:"},
        {"tmp", "bad:0c:42:a1:00:00:01", "bad:02:00:00:00:00:01"},
        {"tmp", "{\"mac\":\"0c:42:a1:00:00:01\"}", "{\"mac\":\"02:00:00:00:00:01\"}"},
        {"proc/cmdline", "BOOTIF=01-0c-42-a1-00-00-01", "BOOTIF=01-02-00-00-00-00-01"},
        {"tmp", "80:00:02:08:fe:80:00:00:00:00:00:00:a0:88:c2:03:00:27:c4:18",
         "00:00:00:00:fe:80:00:00:00:00:00:00:00:00:00:00:00:00:00:01"},
        {"tmp", "fe80::e42:a1ff:fe00:1/64", "fe80:0000:0000:0000:0200:0003:0000:0001/64"},
        {"tmp", "2001:db8:0:0:e42:a1ff:fe00:1", "2001:0db8:0000:0000:0200:0003:0000:0001"},
        {"sys/ports/1/gids/0", "fe80:0000:0000:0000:a088:c203:0027:c418",
         "fe80:0000:0000:0000:0000:0003:0000:0001"},
        {"sys/ports/1/gids/0", "fec0:0000:0000:0001:a088:c203:0027:c418",
         "fec0:0000:0000:0001:0000:0003:0000:0001"},
        {"proc/net/if_inet6", "fe800000000000000e42a1fffe000001 02 40 20 80 eth0",
         "fe800000000000000200000300000001 02 40 20 80 eth0"},
        {"tmp", "GPU-0b0f8c1c-1234-4321-ABCD-0123456789ab",
         "GPU-00000000-0000-4000-8000-000000000001"},
        {"tmp", "root=UUID=0b0f8c1c-1234-4321-abcd-0123456789ab ro",
         "root=UUID=00000000-0000-4000-8000-000000000001 ro"},
    };

    for (size_t i = 0; i < NI_COUNT(cases); i++)
        check(cases[i].path, cases[i].value, cases[i].want);
}

/* ---- names of sysfs ---- */

/* An id in a path is another one as a whole, the same in paths, in targets of links and in files:
   Azure makes an interface's UUID of its MAC address. */
static void test_ids_in_paths(void **state)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"f sys/devices/VMBUS:00/000d3a5b-5b5c-000d-3a5b-5b5c000d3a5b/net/eth0/mtu 1500\n"
         "f sys/devices/VMBUS:00/mdev000d3a5b-5b5c-000d-3a5b-5b5c000d3a5b/mtu 1500\n"
         "l sys/class/net/eth0 "
         "../../devices/VMBUS:00/000d3a5b-5b5c-000d-3a5b-5b5c000d3a5b/net/eth0\n"
         "f tmp 000d3a5b-5b5c-000d-3a5b-5b5c000d3a5b\n",
         "f tmp 00000000-0000-4000-8000-000000000001\n"
         "l sys/class/net/eth0 "
         "../../devices/VMBUS:00/00000000-0000-4000-8000-000000000001/net/eth0\n"
         "f sys/devices/VMBUS:00/00000000-0000-4000-8000-000000000001/net/eth0/mtu 1500\n"
         "f sys/devices/VMBUS:00/mdev00000000-0000-4000-8000-000000000001/mtu 1500\n"},
        {"f sys/devices/x/rdma-b8:ce:f6:a1:b2:c3/mtu 7\nf tmp rdma-b8:ce:f6:a1:b2:c3\n",
         "f tmp rdma-02:00:00:00:00:01\nf sys/devices/x/rdma-02:00:00:00:00:01/mtu 7\n"},
        {"f sys/devices/pci0000:3a/0000:3a:01.0/0000:3b:00.2/net/eth0/mtu 7\n",
         "f sys/devices/pci0000:3a/0000:3a:01.0/0000:3b:00.2/net/eth0/mtu 7\n"},
    };

    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++)
        assert_string_equal(mask_of(cases[i].text), cases[i].want);
}

/* A file that the replay looks for has its name. */
static void test_names_of_files(void **state)
{
    static const char *const paths[] = {"proc/cpuinfo", "proc/cmdline", "proc/self/limits"};

    (void)state;
    for (size_t i = 0; i < NI_COUNT(paths); i++)
        check(paths[i], "x", "x");
}

/* ---- a node ---- */

static const char node[] =
    "# RoCE, and InfiniBand with a subnet prefix of its own\n"
    "f sys/class/infiniband/mlx5_0/ports/1/link_layer Ethernet\n"
    "f sys/class/infiniband/mlx5_0/ports/1/gids/0 fe80:0000:0000:0000:2492:eeff:fee7:ad9d\n"
    "f sys/class/infiniband/mlx5_0/ports/1/gids/1 0000:0000:0000:0000:0000:ffff:0a00:6706\n"
    "f sys/class/infiniband/mlx5_0/ports/1/gids/2 fd00:0000:0000:0000:1111:2222:3333:4444\n"
    "f sys/class/infiniband/mlx5_0/ports/1/gids/3 2001:0db8:0000:0000:2492:eeff:fee7:ad9d\n"
    "f sys/class/infiniband/mlx5_1/ports/1/link_layer InfiniBand\n"
    "f sys/class/infiniband/mlx5_1/ports/1/gids/0 fec0:0000:0000:0001:a088:c203:0027:c420\n"
    "f sys/class/net/eth1/operstate up\n"
    "f proc/net/if_inet6 fe800000000000002492eefffee7ad9d 04 40 20 80 eth0\\n"
    "20010db8000000002492eefffee7ad9d 04 40 00 80 eth0\\n"
    "fd00000000000000a288c2030027c420 05 40 20 80 ib0\\n"
    "fd000000000000001111222233334444 04 40 00 80 eth0\n"
    "f home/me/.nccl.conf NCCL_X=26:92:ee:e7:ad:9e\n"
    "l home/you /home/me/./../me\n"
    "l proc/self/ns/user user:[4026531837]\n"
    "l proc/self/cwd user:[secret]\n"
    "f tmp UUID=GPU-0b0f8c1c-1234-4321-abcd-0123456789ab "
    "MAC=26:92:ee:e7:ad:9e LL=fe80::2492:eeff:fee7:ad9d\n";

static void test_node(void **state)
{
    (void)state;
    static const char *const gone[] = {"26:92", "2492",  "a088", "a288", "c203", "27c4",
                                       "e7ad",  "e7:ad", "0b0f", "/me",  "you",  "secret"};
    /* The address in if_inet6 that a GID of mlx5_0 still is; NULL: an IPv4 one. */
    static const char *const line[] = {"fe80000000000000", NULL, "fd00000000000000111", "20010db8"};
    char text[8192], path[NI_PATH];
    uint8_t gid[NI_GID_BYTES], ip[NI_GID_BYTES];

    assert_true(ni_copy(text, sizeof(text), mask_of(node)));
    for (size_t i = 0; i < NI_COUNT(gone); i++)
        if (strstr(text, gone[i]))
            fail_msg("%s in\n%s", gone[i], text);

    assert_non_null(strstr(text, "l home/name-4 /home/name-5/./../name-5\n"));
    assert_non_null(strstr(text, "l proc/self/ns/user user:[4026531837]\n"));
    struct ni_root root = tree_of(text);
    for (size_t i = 0; i < NI_COUNT(line); i++) {
        snprintf(path, sizeof(path), "sys/class/infiniband/mlx5_0/ports/1/gids/%zu", i);
        assert_int_equal(ni_parse_gid(ni_span_of(read_of(&root, path)), gid), 0);
        if (!line[i]) {
            assert_true(ni_ip_is_v4(gid));
            continue;
        }
        const char *found = strstr(read_of(&root, "proc/net/if_inet6"), line[i]);
        assert_non_null(found);
        assert_int_equal(ni_parse_hex_ip((struct ni_span){found, 32}, ip), 0);
        assert_memory_equal(gid, ip, sizeof(ip));
    }
    assert_string_equal(read_of(&root, "sys/class/net/eth1/operstate"), "up");
    assert_true(ni_has_prefix(read_of(&root, "sys/class/infiniband/mlx5_1/ports/1/gids/0"),
                              "fec0:0000:0000:0001:0000:0003:"));
    assert_string_equal(read_of(&root, "sys/class/infiniband/mlx5_0/ports/1/gids/2"),
                        "fd00:0000:0000:0000:1111:2222:3333:4444");
    assert_true(ni_has_prefix(read_of(&root, "home/name-5/.nccl.conf"), "NCCL_X=02:00:00:00:00:"));
    ni_root_close(&root);
}

/* Different originals, different masks; the same, the same. */
static void test_no_collision(void **state)
{
    (void)state;
    enum { N = 3000 };
    static char text[N * 108], seen[2][N][48];
    struct ni_text out = ni_text_on(text, sizeof(text));

    for (unsigned i = 0; i < N; i++)
        ni_putf(&out, "f etc/%u 0c:42:a1:%02x:%02x:%02x\nf run/%u fe80::a088:c2%02x:%04x:c4%02x\n",
                i, i % 7, i / 7 % 256, i / 7 / 256 + 1, i, i % 5, i / 5, i % 5);
    assert_false(out.cut);
    struct ni_root root = tree_of(mask_of(text));
    for (unsigned i = 0; i < N; i++)
        for (unsigned kind = 0; kind < 2; kind++) {
            char path[32];
            snprintf(path, sizeof(path), "%s/%u", kind ? "run" : "etc", i);
            assert_true(ni_copy(seen[kind][i], sizeof(seen[kind][i]), read_of(&root, path)));
            for (unsigned k = 0; k < i; k++)
                if (strcmp(seen[kind][i], seen[kind][k]) == 0)
                    fail_msg("%s: both of %u and %u", seen[kind][i], i, k);
        }
    ni_root_close(&root);
}

/* More than there is room for: an error, no half-masked file. */
static void test_too_many(void **state)
{
    (void)state;
    enum { N = 17000 };
    static char text[N * 20 + 64], buf[2 * sizeof(text)];
    struct ni_text out = ni_text_on(text, sizeof(text));
    struct ni_root root = tree_of("f tmp 1\n");

    for (unsigned i = 1; i <= N; i++)
        ni_putf(&out, "0c:42:a1:00:%02x:%02x ", i / 256, i % 256);
    assert_false(out.cut);
    assert_int_equal(ni_root_record(&root), 0);
    assert_int_equal(ni_record_add(&root, "etc/macs", text, out.len), 0);
    struct ni_text masked = ni_text_on(buf, sizeof(buf));
    assert_int_equal(ni_masked_text(root.record, "header", keep_all, NULL, &masked), -EFBIG);
    assert_int_equal(masked.len, 0);
    ni_root_close(&root);
}

/* Whoever made the image wrote its /etc/hosts: the time goes with the length, and no faster. */
static void test_long(void **state)
{
    (void)state;
    enum { N = 1 << 18 };
    static const char *const of[] = {":", "ab:", "ab-"};
    static char text[N];

    limit_cpu(60);
    for (unsigned i = 0; i < NI_COUNT(of); i++) {
        struct ni_root root = tree_of("f tmp 1\n");
        size_t n = strlen(of[i]), len = N / n * n;
        static char buf[4 * N];
        struct ni_text masked = ni_text_on(buf, sizeof(buf));
        for (size_t at = 0; at < len; at += n)
            memcpy(text + at, of[i], n);
        assert_int_equal(ni_root_record(&root), 0);
        assert_int_equal(ni_record_add(&root, "etc/hosts", text, len), 0);
        assert_int_equal(ni_masked_text(root.record, "header", keep_all, NULL, &masked), 0);
        assert_false(masked.cut);
        ni_root_close(&root);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stays),        cmocka_unit_test(test_goes),
        cmocka_unit_test(test_node),         cmocka_unit_test(test_no_collision),
        cmocka_unit_test(test_too_many),     cmocka_unit_test(test_long),
        cmocka_unit_test(test_ids_in_paths), cmocka_unit_test(test_names_of_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
