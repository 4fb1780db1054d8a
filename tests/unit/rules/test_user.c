/* SPDX-License-Identifier: Apache-2.0 */
/* user.values: what NCCL takes silently, said aloud; nothing is changed. */
#include "findings/setting.h"
#include "lib/rules_node.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/known.h"
#include "nccl_init/text.h"
#include "rules/user.h"

static void begin(void)
{
    node_reset(NULL);
    node_rail("mlx5_1", 3, "10.0.1.6", "net1");
    node_rail("mlx5_6", 3, "10.0.2.6", "net2");
    node_eth0();
}

/* The user's entry as such, and what is said of it. */
static void decide_with(const char *entry)
{
    begin();
    node_env(entry);
    node_decide();
}

static const struct ni_finding *finding(ni_finding_number id)
{
    for (unsigned i = 0; i < node.findings.n; i++) {
        if (node.findings.at[i].id == id)
            return &node.findings.at[i];
    }
    return NULL;
}

/* ---- names ---- */

static void test_near_name(void **state)
{
    static const char *const cases[][2] = {
        {"NCCL_IB_HCA", NULL},
        {"NCCL_NET", NULL},
        {"NCCL_IB_HC", "IB_HCA"},
        {"NCCL_IB_HCAS", "IB_HCA"},
        {"NCCL_IB-HCA", "IB_HCA"},
        {"NCCL_IB_HAC", NULL}, /* two edits: too many for a short name */
        {"NCCL_SOCKET_IFNMAE", "SOCKET_IFNAME"},
        {"NCCL_SOKET_IFNAMES", "SOCKET_IFNAME"},
        {"NCCL_SOKET_IFNAMESS", NULL},
        {"NCCL_socket_ifname", NULL},
        {"NCCL_IB_GID_INDX", "IB_GID_INDEX"},
        {"NCCL_DEBUGG", "DEBUG"},
        {"NCCL_MIN_CTA", "MIN_CTAS"},
        {"NCCL_NETT", "NET"},
        {"NCCL_NE", NULL}, /* three letters may be anything */
        {"NCCL_", NULL},
        {"NCCL", NULL},
        {"NCLC_IB_HC", NULL}, /* not NCCL's at all */
        {"NCCL_OTHER_PLUGINS_OWN", NULL},
        {"NCCL_CFT_ENABLE", NULL},                 /* of 2.31, and near PAT_ENABLE */
        {"NCCL_IB_RAIL_POLICI", "IB_RAIL_POLICY"}, /* of 2.32 */
        {"NCCL_NET_GDR_REED", "NET_GDR_READ"},     /* a number */
        {"NCCL_LIBIBVERBS_S", "LIBIBVERBS_SO"},    /* RCCL's */
    };
    static char longest[100] = "NCCL_";
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        struct ni_span near = ni_near_name(ni_span_of(cases[i][0]));
        if (!ni_span_is(near, cases[i][1] ? cases[i][1] : ""))
            fail_msg("%s: %.*s", cases[i][0], (int)near.n, near.p);
    }
    for (size_t n = 5; n < sizeof(longest) - 1; n++) {
        longest[n] = 'X';
        assert_null(ni_near_name(ni_span_of(longest)).p);
    }
}

/* What each release since 2.27 has added. */
static void test_known_names(void **state)
{
    static const char *const names[] = {"NETDEVS_POLICY",
                                        "GIN_PLUGIN",
                                        "RMA_PLUGIN",
                                        "IB_EVENT_BASED_LB",
                                        "RMA_EAGER_INIT",
                                        "GRAPH_STREAM_ORDERING",
                                        "MULTI_RANK_GPU_ENABLE",
                                        "IB_RAIL_POLICY",
                                        "NET_MERGE_POLICY",
                                        "IB_DATA_DIRECT",
                                        "IB_SUBNET_AWARE_ROUTING",
                                        "IB_SUBNET_PREFIX_LEN",
                                        "IB_ROUTABLE_FLID_GID_INDEX",
                                        "NET_GDR_MLOPART",
                                        "PXN_C2C",
                                        "PXN_DISABLE",
                                        "P2P_PXN_LEVEL",
                                        "NET_FORCE_FLUSH",
                                        "LIBIBVERBS_SO"};
    /* in the libraries, but parts of messages and constants */
    static const char *const others[] = {"CONFIG_INITIALIZER", "GIN_TYPE_PROXY", "IB_TC_DEFAULT",
                                         "NET_MERGE_POLICY_RAIL"};
    char name[NI_EDITS_NAME + 8];
    (void)state;
    for (size_t i = 0; i < NI_COUNT(names); i++) {
        ni_format(name, sizeof(name), "NCCL_%s", names[i]);
        if (!ni_is_nccl_name(ni_span_of(name)))
            fail_msg("%s", name);
    }
    for (size_t i = 0; i < NI_COUNT(others); i++) {
        ni_format(name, sizeof(name), "NCCL_%s", others[i]);
        if (ni_is_nccl_name(ni_span_of(name)))
            fail_msg("%s", name);
    }
}

static void test_names(void **state)
{
    static const struct {
        const char *entry;
        ni_finding_number want; /* NI_F_NONE: none */
    } cases[] = {
        {"NCCL_DEBUG=INFO", NI_F_NONE},
        {"NCCL_OTHER_PLUGINS_OWN=1", NI_F_NONE},
        {"NCCL_IB_GID_INDX=3", NI_F_USER_NAME_MISSPELT},
        {"NCCL_IB_CUDA_SUPPORT=1", NI_F_NONE},
        {"NCCL_DEBUG=", NI_F_USER_VALUE_EMPTY},
        {"NCCL_NO_SIGN_BUT_ODD.", NI_F_NONE},
        {"XNCCL_IB_GID_INDX=3", NI_F_NONE},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        decide_with(cases[i].entry);
        bool ok = cases[i].want == NI_F_NONE ? node.findings.n == 0
                                             : node.findings.n == 1 && has(cases[i].want);
        if (!ok)
            fail_msg("%s: %u findings", cases[i].entry, node.findings.n);
        if (node.findings.n)
            assert_int_equal(
                strncmp(node.findings.at[0].subject, cases[i].entry, strcspn(cases[i].entry, "=")),
                0);
    }
    decide_with("NCCL_IB_GID_INDX=3");
    assert_non_null(strstr(node.findings.at[0].message, "NCCL_IB_GID_INDEX?"));
}

/* ---- values ---- */

static void test_levels(void **state)
{
    static const struct {
        const char *value;
        bool ignored, off, c2c; /* the latter on a machine with NVLink-C2C */
    } cases[] = {
        {"LOC", false, true, false},
        {"NVL", false, true, false},
        {"C2C", false, true, false},
        {"PIX", false, false, true},
        {"PXB", false, false, true},
        {"P2C", false, false, false},
        {"PHB", false, false, false},
        {"SYS", false, false, false},
        {"0", false, true, false},
        {"00", false, true, false},
        {"1", false, false, true},
        {"2", false, false, true},
        {"3", false, false, false},
        {"0x2", false, false, true},
        {"99", false, false, false},
        {"pix", true, false, false},
        {"PIXX", true, false, false},
        {"PI", true, false, false},
        {" PIX", true, false, false},
        {"-1", true, false, false},
        {"SYS ", true, false, false},
        /* cut to 32 bits: -1, -2147483648, 1, 2147483647 */
        {"99999999999999999999", true, false, false},
        {"2147483648", true, false, false},
        {"4294967297", false, false, true},
        {"2147483647", false, false, false},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        for (int c2c = 0; c2c <= 1; c2c++) {
            char entry[64];
            begin();
            node.inv.gdr.c2c = c2c;
            snprintf(entry, sizeof(entry), "NCCL_NET_GDR_LEVEL=%s", cases[i].value);
            node_env(entry);
            node_decide();
            if (has(NI_F_USER_VALUE_IGNORED) != cases[i].ignored ||
                has(NI_F_USER_GDR_OFF) != (cases[i].off || (c2c && cases[i].c2c)))
                fail_msg("%s", entry);
        }
    }
}

static void test_numbers(void **state)
{
    static const struct {
        const char *entry;
        bool ignored;
    } cases[] = {
        {"NCCL_IB_TC=106", false},
        {"NCCL_IB_TC=0x6a", false},
        {"NCCL_IB_TC=-1", false},
        {"NCCL_IB_TC= 1", false},
        {"NCCL_IB_TC=106 ", true},
        {"NCCL_IB_TC=0xg", true},
        {"NCCL_IB_TIMEOUT=22s", true},
        {"NCCL_IB_DISABLE=no", true},
        {"NCCL_IB_GID_INDEX=three", true},
        {"NCCL_CROSS_NIC=auto", true},
        {"NCCL_DMABUF_ENABLE=true", true},
        {"NCCL_IB_MERGE_VFS=on", true},
        {"NCCL_IB_MERGE_NICS=on", true},
        {"NCCL_NET_GDR_READ=yes", true}, /* of no rule */
        {"NCCL_NET_GDR_C2C=off", true},
        {"NCCL_IB_DATA_DIRECT=auto", true},
        {"NCCL_IB_EVENT_BASED_LB=true", true},
        {"NCCL_MIN_NCHANNELS=99999999999999999999", true},
        {"NCCL_P2P_LEVEL=nvl", true},
        {"NCCL_P2P_LEVEL=NVL", false},
        {"NCCL_NET_MERGE_LEVEL=phb", true},
        {"NCCL_NET_MERGE_LEVEL=PORTS", false}, /* NCCL compares the beginning */
        {"NCCL_NET_MERGE_POLICY=RAIL", true},
        {"NCCL_NET_MERGE_POLICY=ALL", false},
        {"GLOO_SOCKET_IFNAME==eth0", true},
        {"GLOO_SOCKET_IFNAME=eth0,net1", false},
        {"NCCL_ALGO=Ring", false}, /* not a number to NCCL either */
        {"NCCL_SOCKET_FAMILY=AF_INET", false},
        {"NCCL_SOCKET_FAMILY=AF_INET6", false},
        {"NCCL_SOCKET_FAMILY=AF_INET4", true},
        {"NCCL_SOCKET_FAMILY=inet", true},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        decide_with(cases[i].entry);
        if (has(NI_F_USER_VALUE_IGNORED) != cases[i].ignored)
            fail_msg("%s", cases[i].entry);
    }
    decide_with("NCCL_IB_TIMEOUT=22s");
    assert_non_null(strstr(finding(NI_F_USER_VALUE_IGNORED)->message, "NCCL reads 22"));
    /* without a digit NCCL reads 0, and 2.32.3 its default */
    static const char *const words[] = {"NCCL_IB_MERGE_VFS=off", "NCCL_CROSS_NIC=none",
                                        "NCCL_IB_TC=-on", "NCCL_IB_PKEY= x"};
    for (size_t i = 0; i < NI_COUNT(words); i++) {
        decide_with(words[i]);
        const char *message = finding(NI_F_USER_VALUE_IGNORED)->message;
        if (!strstr(message, "NCCL up to 2.31.2 reads 0") || !strstr(message, "2.32.3"))
            fail_msg("%s: %s", words[i], message);
    }
    begin(); /* of a file as well */
    node_conf("NCCL_IB_TC", "high");
    node_decide();
    assert_true(has(NI_F_USER_VALUE_IGNORED));
    begin();
    node_conf("NCCL_IB_GIDINDEX", "3");
    node_decide();
    assert_non_null(strstr(finding(NI_F_USER_NAME_MISSPELT)->message, "set in /etc/nccl.conf"));
}

/* ---- NCCL_IB_HCA ---- */

static void test_hca_list(void **state)
{
    static const struct {
        const char *value;
        bool foreign, prefix;
    } cases[] = {
        {"=mlx5_1,mlx5_6", false, false},
        {"=mlx5_1:1,mlx5_6:1", false, false},
        {"mlx5_6", false, false},
        {"mlx5_1", false, true}, /* mlx5_10 is the pod's too */
        {"mlx5_1:1", false, true},
        {"mlx5_6,mlx5_1", false, true},
        {"=mlx5_1", false, false},
        {"mlx5", false, false}, /* as meant: all of them */
        {"mlx", false, false},
        {"^mlx5_9", false, false},
        {"^=mlx5_9", false, false},
        {"=mlx5_6,mlx5_9", true, false},
        {"mlx5_6,ib", true, false},
        {"=mlx5_6, mlx5_1", true, false},
        {"=mlx5", true, false},
        {"=mlx5_6,,mlx5_1", false, false},
        {"mlx5_6,^7", true, false}, /* for NCCL a name like others */
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        for (int swap = 0; swap <= 1; swap++) { /* in whatever PCI order */
            char entry[64];
            node_reset(NULL);
            node_rail(swap ? "mlx5_10" : "mlx5_1", 3, "10.0.1.6", "net1");
            node_rail("mlx5_6", 3, "10.0.2.6", "net2");
            node_rail(swap ? "mlx5_1" : "mlx5_10", 3, "10.0.3.6", "net3");
            snprintf(entry, sizeof(entry), "NCCL_IB_HCA=%s", cases[i].value);
            node_env(entry);
            node_decide();
            if ((has(NI_F_USER_HCA_FOREIGN) || has(NI_F_USER_HCA_NONE)) != cases[i].foreign ||
                has(NI_F_USER_HCA_PREFIX) != cases[i].prefix)
                fail_msg("%s (%d)", entry, swap);
        }
    }
}

/* An entry that can name no device, because of a blank or a quotation mark, leaves out none. */
static void test_blank_leaves_out_nothing(void **state)
{
    static const struct {
        const char *value;
        bool told;
    } cases[] = {
        {"^mlx5_1, mlx5_6", true},    {"^=mlx5_1 ,mlx5_9", true}, {"^\"mlx5_1\",mlx5_9", true},
        {"^=mlx5_9\t", true},         {"^mlx5_1,mlx5_9", false},  {"^mlx5_9:1 ", false},
        {"^mlx5_9:1 ,mlx5_8", false}, {"^=mlx5_9,=mlx5_8", true},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        char entry[64];
        snprintf(entry, sizeof(entry), "NCCL_IB_HCA=%s", cases[i].value);
        decide_with(entry);
        if (has(NI_F_USER_HCA_FOREIGN) != cases[i].told)
            fail_msg("%s", entry);
    }
    decide_with("NCCL_IB_HCA=^mlx5_1, mlx5_6");
    assert_non_null(strstr(finding(NI_F_USER_HCA_FOREIGN)->message, "` mlx5_6` leaves out no HCA"));
}

/* A list without a name takes all HCAs, whatever else it has. */
static void test_list_without_names(void **state)
{
    static const struct {
        const char *value;
        bool told;
    } cases[] = {
        {":", true}, {"=:", true},  {":1", true},        {"=,:1:0", true}, {",", true},
        {"=", true}, {"^:", false}, {"mlx5_1,:", false}, {"", false},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        char entry[64];
        snprintf(entry, sizeof(entry), "NCCL_IB_HCA=%s", cases[i].value);
        decide_with(entry);
        const struct ni_finding *f = finding(NI_F_USER_VALUE_IGNORED);
        if (!f != !cases[i].told || (f && !strstr(f->message, "names no HCA")))
            fail_msg("%s: %s", entry, f ? f->message : "nothing");
    }
}

/* An entry may have two faults. */
static void test_two_faults(void **state)
{
    (void)state;
    node_reset(NULL);
    node_rail("mlx5_1", 3, "10.0.1.6", "net1");
    node_rail("mlx5_10", 3, "10.0.3.6", "net3");
    node_env("NCCL_IB_HCA=mlx5_1:");
    node_decide();
    assert_true(has(NI_F_USER_HCA_PREFIX));
    assert_true(has(NI_F_USER_HCA_FOREIGN));
}

/* name:port:rail:plane, since NCCL 2.30.7. */
static void test_planes(void **state)
{
    static const struct {
        const char *value;
        bool none;
    } cases[] = {
        {"=mlx5_1:1,mlx5_6:1", false},
        {"=mlx5_1:1:0:1,mlx5_6:1:0:1", false},
        {"=mlx5_1:1:0:16383,mlx5_6:1", false},
        {"=mlx5_1:1:0:16384,mlx5_6:1", true},
        {"=mlx5_1:1:0:32767", true},
        {"=mlx5_1:1:0:32768", false}, /* cut to 16 bits: -32768 */
        {"=mlx5_1:1:0:-1", false},    /* none */
        {"=mlx5_1:1:0:-2", true},
        {"=mlx5_1:1:0:", false},
        {"=mlx5_1:1:16384", false}, /* a rail */
        {"mlx5:1::16384", true},    /* of all that begin so */
        {"=mlx5_1:1:0:1,=mlx5_6", false},
        {"^mlx5_9:1:0:16384", false},
        {"=mlx5_1:1:0:1,mlx5_1:1:0:16384", false}, /* the first entry counts */
    };
    char list[512] = "NCCL_IB_HCA=";
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        char entry[64];
        snprintf(entry, sizeof(entry), "NCCL_IB_HCA=%s", cases[i].value);
        decide_with(entry);
        if (has(NI_F_USER_HCA_NONE) != cases[i].none)
            fail_msg("%s", entry);
    }
    for (unsigned n = 1; n <= 14; n++) {
        node_reset(NULL);
        for (unsigned i = 0; i < 14; i++) {
            char name[16], ip[16], ndev[16];
            snprintf(name, sizeof(name), "mlx5_%u", i + 20);
            snprintf(ip, sizeof(ip), "10.0.%u.6", i + 1);
            snprintf(ndev, sizeof(ndev), "net%u", i + 1);
            node_rail(name, 3, ip, ndev);
        }
        snprintf(list + strlen(list), sizeof(list) - strlen(list), "%smlx5_%u:1::%u",
                 n > 1 ? "," : "=", n + 19, n);
        node_env(list);
        node_decide();
        if (has(NI_F_USER_HCA_NONE) != (n > 12))
            fail_msg("%u planes", n);
    }
}

/* ---- NCCL_SOCKET_IFNAME, NCCL_TOPO_FILE ---- */

static void test_sockets(void **state)
{
    static const struct {
        const char *value;
        bool none;
    } cases[] = {
        {"eth0", false}, {"=eth0", false}, {"eth", false},     {"=eth", true},
        {"ib0", true},   {"^eth", false},  {"ib0,net", false}, {"^eth,net", true},
        {"down0", true}, {"bare0", true},  {"i", false}, /* as good as unset */
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        for (int conf = 0; conf <= 1; conf++) {
            char entry[64];
            begin();
            node_netdev("down0", false);
            node_addr("10.0.9.6", "down0");
            node_netdev("bare0", true);
            snprintf(entry, sizeof(entry), "NCCL_SOCKET_IFNAME=%s", cases[i].value);
            if (conf)
                node_conf("NCCL_SOCKET_IFNAME", cases[i].value);
            else
                node_env(entry);
            if (strcmp(cases[i].value, "^eth,net") == 0)
                node.inv.netdev[4].running = false;
            node_decide();
            if (has(NI_F_USER_SOCKET_NONE) != cases[i].none)
                fail_msg("%s", entry);
        }
    }
}

/* lo matches: it is first for NCCL. Else what has a routable address serves. */
static void test_first_socket(void **state)
{
    static const struct {
        const char *entry, *family;
        ni_finding_number id; /* NI_F_NONE: none */
    } cases[] = {
        {"NCCL_SOCKET_IFNAME=^docker0", NULL, NI_F_USER_SOCKET_FIRST},
        {"NCCL_SOCKET_IFNAME==lo", NULL, NI_F_USER_SOCKET_FIRST},
        {"NCCL_SOCKET_IFNAME==lo", "NCCL_SOCKET_FAMILY=AF_INET6", NI_F_USER_SOCKET_NONE},
        {"NCCL_SOCKET_IFNAME=^lo", NULL, NI_F_NONE},
        {"NCCL_SOCKET_IFNAME=^", NULL, NI_F_NONE}, /* counts as unset */
        {"NCCL_SOCKET_IFNAME==six,net1", "NCCL_SOCKET_FAMILY=AF_INET6", NI_F_NONE},
        {"NCCL_SOCKET_IFNAME==local", NULL, NI_F_USER_SOCKET_FIRST},
        {"NCCL_SOCKET_IFNAME==local", "NCCL_SOCKET_FAMILY=AF_INET6", NI_F_NONE},
        {"NCCL_SOCKET_IFNAME==down0", NULL, NI_F_USER_SOCKET_NONE},
    };
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        node_reset(state);
        node_netdev("net1", true);
        node_netdev("lo", true);
        node_netdev("six", true);
        node_netdev("local", true);
        node_netdev("down0", false);
        node_addr("10.0.1.6", "net1");
        node_addr("fd00::6", "six");
        node_addr("169.254.1.6", "local");
        node_addr("fd00::7", "local");
        node_addr("10.0.9.6", "down0");
        node_env(cases[i].entry);
        if (cases[i].family)
            node_env(cases[i].family);
        node_decide();
        if (has(NI_F_USER_SOCKET_FIRST) != (cases[i].id == NI_F_USER_SOCKET_FIRST) ||
            has(NI_F_USER_SOCKET_NONE) != (cases[i].id == NI_F_USER_SOCKET_NONE))
            fail_msg("case %zu", i);
    }
}

/* IPv4 before IPv6, then by number: the first that matches is NCCL's. */
static void test_order_of_sockets(void **state)
{
    static const struct {
        const char *list;
        int64_t six, local; /* their numbers; 0: not known */
        const char *v4;     /* of `local` */
        const char *first;  /* that no other node reaches; NULL */
    } cases[] = {
        {"=six,local", 7, 5, NULL, "local"},
        {"=six,local", 5, 7, NULL, NULL},
        {"=six,local", 0, 5, NULL, NULL}, /* a doubt is not a finding */
        {"=local", 7, 0, NULL, "local"},
        {"=six,local", 7, 5, "10.0.9.6", NULL},
        {"=six,local", 5, 7, "169.254.9.6", "local"}, /* IPv4 is first */
        {"=six,local,net1", 7, 5, NULL, NULL},        /* net1 has IPv4 */
        {"^net1,docker", 7, 5, NULL, "local"},
    };
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        char entry[64];
        node_reset(state);
        const int six = node_netdev("six", true), local = node_netdev("local", true);
        node_netdev("net1", true);
        node_addr("10.0.1.6", "net1");
        node_addr("fd00::6", "six");
        node_addr("fe80::6", "six");
        node_addr("fe80::7", "local");
        if (cases[i].v4)
            node_addr(cases[i].v4, "local");
        if (cases[i].six)
            node.inv.netdev[six].ifindex = (struct ni_num){cases[i].six, NI_KNOWN};
        if (cases[i].local)
            node.inv.netdev[local].ifindex = (struct ni_num){cases[i].local, NI_KNOWN};
        snprintf(entry, sizeof(entry), "NCCL_SOCKET_IFNAME=%s", cases[i].list);
        node_env(entry);
        node_decide();
        if (has(NI_F_USER_SOCKET_FIRST) != (cases[i].first != NULL) ||
            (cases[i].first && !strstr(finding(NI_F_USER_SOCKET_FIRST)->message, cases[i].first)))
            fail_msg("case %zu", i);
    }
}

static void test_socket_family(void **state)
{
    node_reset(state);
    node_eth0();
    node_env("NCCL_SOCKET_FAMILY=AF_INET6");
    node_addr("fe80::6", "eth0");
    node_decide();
    assert_true(has(NI_F_USER_SOCKET_NONE));
    node.entry[0] = (char[]){"NCCL_SOCKET_IFNAME=Eth0"}; /* those that are there are named */
    node_decide();
    assert_string_equal(finding(NI_F_USER_SOCKET_NONE)->message,
                        "`Eth0` matches no interface that is up with an address (eth0): `no socket "
                        "interface found`");
    node.entry[0] = (char[]){"NCCL_SOCKET_FAMILY=AF_INET6"};
    node.inv.net.v6_known = NI_DENIED; /* a doubt is no finding */
    node_decide();
    assert_false(has(NI_F_USER_SOCKET_NONE));
    node.inv.net.v6_known = NI_KNOWN;
    node_addr("fd00::6", "eth0");
    node_decide();
    assert_false(has(NI_F_USER_SOCKET_NONE));
    node.entry[0] = (char[]){"NCCL_SOCKET_FAMILY=AF_INET"};
    node_decide();
    assert_false(has(NI_F_USER_SOCKET_NONE));
}

/* The kubelet merges variables through a Go map: what is said of them is in their own order, and of
   the one that NCCL reads. */
static void test_order_of_names(void **state)
{
    static const char *const entries[] = {"NCCL_SOCKET_IFNAMES=eth0", "NCCL_DEBUG=INFO",
                                          "NCCL_IB_GIDINDEX=0", "NCCL_TOPO_FILE="};
    for (int backwards = 0; backwards <= 1; backwards++) {
        node_reset(state);
        for (unsigned i = 0; i < NI_COUNT(entries); i++)
            node_env(entries[backwards ? NI_COUNT(entries) - 1 - i : i]);
        node_env("NCCL_DEBUG="); /* not the one that counts */
        node_decide();
        unsigned at = 0;
        while (at < node.findings.n &&
               strcmp(node.findings.at[at].subject, "NCCL_IB_GIDINDEX") != 0)
            at++;
        assert_true(at + 3 <= node.findings.n);
        assert_string_equal(node.findings.at[at + 1].subject, "NCCL_SOCKET_IFNAMES");
        assert_string_equal(node.findings.at[at + 2].subject, "NCCL_TOPO_FILE");
        for (unsigned i = 0; i < node.findings.n; i++)
            assert_string_not_equal(node.findings.at[i].subject, "NCCL_DEBUG");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_of_names),
        cmocka_unit_test(test_near_name),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_levels),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_hca_list),
        cmocka_unit_test(test_sockets),
        cmocka_unit_test(test_first_socket),
        cmocka_unit_test(test_socket_family),
        cmocka_unit_test(test_known_names),
        cmocka_unit_test(test_blank_leaves_out_nothing),
        cmocka_unit_test(test_list_without_names),
        cmocka_unit_test(test_two_faults),
        cmocka_unit_test(test_planes),
        cmocka_unit_test(test_order_of_sockets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
