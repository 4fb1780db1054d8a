/* SPDX-License-Identifier: Apache-2.0 */
/* gdr.level and memlock.raise. */
#include "findings/device.h"
#include "findings/pod.h"
#include "lib/rules_node.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/gpu.h"
#include "nccl_init/known.h"
#include "nccl_init/number.h"
#include "nccl_init/pci.h"
#include "nccl_init/plan.h"
#include "nccl_init/process.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"

static const char var[] = "NCCL_NET_GDR_LEVEL";

static void gpu(const char *chain, int64_t numa)
{
    struct ni_gpu *g = &node.inv.gpu[node.inv.n_gpu++];
    node_chain(&g->pci, chain, numa);
    g->bdf = g->pci.at[g->pci.depth - 1];
    g->minor = (int)node.inv.n_gpu - 1;
}

#define SWITCH "0000:00:01.0 0000:01:00.0 0000:02:0"

/* Two HCAs, behind a switch of CPU 0 and of CPU 1; peermem is there. */
static void two_hcas(void)
{
    node_reset(NULL);
    node_rail("mlx5_6", 3, "10.0.1.6", "net1");
    node_rail("mlx5_7", 3, "10.0.2.6", "net2");
    node_chain(&node.inv.hca[0].pci, SWITCH "0.0 0000:03:00.2", 0);
    node_chain(&node.inv.hca[1].pci, "0000:80:01.0 0000:81:00.0 0000:82:00.0 0000:83:00.2", 1);
    node.inv.gdr.peermem = NI_KNOWN;
}

static void test_level(void **state)
{
    static const struct {
        const char *a, *b;
        int64_t numa_a, numa_b;
        const char *want;
    } cases[] = {
        /* NCCL's own */
        {SWITCH "1.0 0000:04:00.0", NULL, 0, 0, "PXB"},
        {SWITCH "1.0 0000:04:00.0 0000:05:00.0 0000:06:00.0", NULL, 0, 0, "PXB"},
        {SWITCH "1.0 0000:04:00.0", "0000:80:01.0 0000:81:00.0 0000:82:01.0 0000:84:00.0", 0, 1,
         "PXB"},
        /* a GPU without a near HCA raises no level, its own or another's */
        {"0000:00:02.0 0000:09:00.0", NULL, 0, 0, ""},
        {"0000:c0:02.0 0000:c1:00.0", NULL, 3, 0, ""},
        {SWITCH "1.0 0000:04:00.0", "0000:80:02.0 0000:89:00.0", 0, 1, ""},
        {"0000:c0:02.0 0000:c1:00.0", SWITCH "1.0 0000:04:00.0", 3, 0, ""},
        /* on the root bus: the tree is flattened */
        {"0000:00:07.0", NULL, 0, 0, "SYS"},
        {SWITCH "1.0 0000:04:00.0", "0000:00:07.0", 0, 0, "SYS"},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        two_hcas();
        gpu(cases[i].a, cases[i].numa_a);
        if (cases[i].b)
            gpu(cases[i].b, cases[i].numa_b);
        node_decide();
        const struct ni_setting *s = ni_plan_get(&node.plan, var);
        if (!s || strcmp(s->value, cases[i].want) != 0)
            fail_msg("case %zu: %s", i, s ? s->value : "none");
    }
}

static void decide_with(void (*change)(void), const char *a, int64_t numa)
{
    two_hcas();
    gpu(a, numa);
    change();
    node_decide();
}

static void with_system_file(void)
{
    node.inv.system_topo_file = true;
}

static void with_users_file(void)
{
    node.inv.topo_file = NI_KNOWN;
}

static void with_lost_file(void)
{
    node.inv.topo_file = NI_ABSENT;
}

static void on_amd(void)
{
    node.inv.gpu[0].amd = true;
}

static void test_left_unset(void **state)
{
    static const char near[] = SWITCH "1.0 0000:04:00.0", flat[] = "0000:00:07.0";

    (void)state;
    decide_with(with_system_file, near, 0);
    assert_string_equal(origin_text(var), "unset");
    decide_with(with_system_file, flat, 0);
    assert_string_equal(origin_text(var), "unset");
    decide_with(with_users_file, flat, 0);
    assert_string_equal(origin_text(var), "unset");
    decide_with(with_lost_file, flat, 0); /* NCCL goes on without it */
    assert_setting(var, "rule", "SYS");
    decide_with(on_amd, near, 0);
    assert_string_equal(origin_text(var), "unset");
    decide_with(on_amd, "0000:00:02.0 0000:09:00.0", 0);
    assert_string_equal(origin_text(var), "unset");
}

/* NCCL has room for a PCI domain of four digits. It finds neither an HCA nor a GPU beyond, and puts
   them at a CPU of their own. */
static void test_wide_domain(void **state)
{
    static const char wide_hca[] = "10000:00:01.0 10000:01:00.0 10000:02:00.0 10000:03:00.2";
    static const char wide_gpu[] = "10000:00:01.0 10000:01:00.0 10000:02:01.0 10000:04:00.0";
    static const struct {
        const char *hca, *gpu, *want;
        enum ni_distance distance;
    } cases[] = {
        {SWITCH "0.0 0000:03:00.2", SWITCH "1.0 0000:04:00.0", "PXB", NI_DIST_PIX},
        {wide_hca, wide_gpu, "PHB", NI_DIST_PHB},
        {wide_hca, "0000:00:01.0 0000:01:00.0", "", NI_DIST_SYS},
        {"0000:00:01.0 0000:01:00.0", wide_gpu, "", NI_DIST_SYS},
        {"ffff:00:01.0 ffff:01:00.0 ffff:02:00.0 ffff:03:00.2",
         "ffff:00:01.0 ffff:01:00.0 ffff:02:01.0 ffff:04:00.0", "PXB", NI_DIST_PIX},
    };

    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        node_reset(NULL);
        node_rail("mlx5_6", 3, "10.0.1.6", "net1");
        node_chain(&node.inv.hca[0].pci, cases[i].hca, 0);
        node.inv.hca[0].bdf = node.inv.hca[0].pci.at[node.inv.hca[0].pci.depth - 1];
        node.inv.gdr.peermem = NI_KNOWN;
        gpu(cases[i].gpu, 0);
        node_decide();
        const struct ni_setting *s = ni_plan_get(&node.plan, var);
        if (!s || strcmp(s->value, cases[i].want) != 0 ||
            node.plan.nearest_hca[0].distance != cases[i].distance)
            fail_msg("case %zu: %s", i, s ? s->value : "none");
        assert_int_equal(has(NI_F_HCA_PLACE_LOST), cases[i].hca == wide_hca);
    }
}

/* NCCL takes the HCA to be at the first CPU, but it shares a switch with a GPU. */
static void test_misplaced(void **state)
{
    (void)state;
    two_hcas();
    gpu(SWITCH "1.0 0000:04:00.0", 0);
    for (unsigned h = 0; h < node.inv.n_hca; h++) {
        ni_copy(node.inv.hca[h].aux, sizeof(node.inv.hca[h].aux),
                h ? "mlx5_core.sf.5" : "mlx5_core.sf.4");
        node.inv.hca[h].place = (struct ni_nccl_place){NI_AT_NOTHING, NI_AT_NOTHING};
    }
    node_decide();
    assert_setting(var, "rule", "PHB");
    gpu("0000:00:02.0 0000:09:00.0", 0); /* the level would take in this one */
    node_decide();
    assert_string_equal(origin_text(var), "unset");
    node.inv.n_gpu = 1;
    gpu("0000:c0:02.0 0000:c1:00.0", 3); /* but not this one */
    node_decide();
    assert_setting(var, "rule", "PHB");
}

static void test_option(void **state)
{
    (void)state;
    two_hcas();
    gpu(SWITCH "1.0 0000:04:00.0", 0);
    node.policy.gdr = NI_DIST_LOC;
    node_decide();
    assert_setting(var, "rule", "LOC");
    node.policy.gdr = NI_DIST_PHB;
    node_decide();
    assert_setting(var, "rule", "PHB");
    node.inv.gdr.c2c = true; /* demanded is demanded */
    node_decide();
    assert_setting(var, "rule", "PHB");
}

/* Whether the node can do GPUDirect at all. */
static void test_peermem_or_dmabuf(void **state)
{
    static const struct {
        enum ni_known peermem, open_driver;
        unsigned major, minor;
        const char *env, *want;
        bool off, unavailable;
    } cases[] = {
        {NI_KNOWN, NI_UNSET, 0, 0, "X=", "rule", false, false},
        {NI_KNOWN, NI_UNSET, 0, 0, "NCCL_DMABUF_ENABLE=0", "rule", false, false},
        {NI_ABSENT, NI_KNOWN, 5, 12, "X=", "rule", false, false},
        {NI_ABSENT, NI_KNOWN, 6, 0, "X=", "rule", false, false},
        {NI_ABSENT, NI_KNOWN, 5, 11, "X=", "unset", false, true},
        {NI_ABSENT, NI_KNOWN, 4, 18, "X=", "unset", false, true},
        {NI_ABSENT, NI_KNOWN, 0, 0, "X=", "unset", false, true},
        {NI_ABSENT, NI_ABSENT, 6, 1, "X=", "unset", false, true},
        {NI_DENIED, NI_DENIED, 6, 1, "X=", "unset", false, true},
        {NI_ABSENT, NI_KNOWN, 6, 1, "NCCL_DMABUF_ENABLE=0", "unset", true, false},
        {NI_ABSENT, NI_KNOWN, 6, 1, "NCCL_DMABUF_ENABLE=no", "unset", true, false}, /* 0 to NCCL */
        {NI_ABSENT, NI_KNOWN, 6, 1, "NCCL_DMABUF_ENABLE=1", "rule", false, false},
        {NI_ABSENT, NI_KNOWN, 6, 1, "NCCL_DMABUF_ENABLE=", "rule", false, false},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        two_hcas();
        gpu(SWITCH "1.0 0000:04:00.0", 0);
        node.inv.gdr.peermem = cases[i].peermem;
        node.inv.gdr.open_driver = cases[i].open_driver;
        node.inv.self.kernel_major = cases[i].major;
        node.inv.self.kernel_minor = cases[i].minor;
        node_env(cases[i].env);
        node_decide();
        if (strcmp(origin_text(var), cases[i].want) != 0 ||
            has(NI_F_GDR_DMABUF_OFF) != cases[i].off ||
            has(NI_F_GDR_UNAVAILABLE) != cases[i].unavailable)
            fail_msg("case %zu: %s", i, origin_text(var));
    }
}

/* ---- memlock ---- */

enum { RESOURCE = 1 << 24, IPC_LOCK = 1 << 14, KEEP = -1 };

/* "too low", "low", or nothing to say. */
static const char *said(void)
{
    return has(NI_F_MEMLOCK_TOO_LOW) ? "too low" : has(NI_F_MEMLOCK_LOW) ? "low" : "";
}

#define KI  INT64_C(1024)
#define GI  (KI * KI * KI)
#define INF NI_UNLIMITED

static void test_memlock(void **state)
{
    static const struct {
        int64_t soft, hard;
        unsigned caps;
        int64_t policy, want_soft, want_hard;
        const char *said;
    } cases[] = {
        {INF, INF, 0, INF, INF, INF, ""},
        {8 * KI, 8 * KI, 0, INF, 8 * KI, 8 * KI, "too low"},
        {8 * KI, INF, 0, INF, INF, INF, ""},
        {8 * KI, 64 * GI, 0, INF, 64 * GI, 64 * GI, ""},
        {8 * KI, 8 * KI, RESOURCE, INF, INF, INF, ""},
        {INF, INF, RESOURCE, INF, INF, INF, ""},
        {8 * KI, 8 * KI, IPC_LOCK, INF, 8 * KI, 8 * KI, ""},
        {8 * KI, INF, RESOURCE, KEEP, 8 * KI, INF, "too low"},
        {GI, GI, 0, KEEP, GI, GI, ""},
        {GI - 1, GI - 1, 0, KEEP, GI - 1, GI - 1, "low"},
        {0, 0, 0, INF, 0, 0, "too low"},
        {8 * KI, 8 * KI, RESOURCE, GI, GI, GI, ""},
        {8 * KI, 8 * KI, 0, GI, 8 * KI, 8 * KI, "too low"},
        {8 * KI, INF, 0, GI, GI, INF, ""},      /* so far and no farther */
        {INF, INF, RESOURCE, GI, INF, INF, ""}, /* never lowered */
        {2 * GI, 4 * GI, RESOURCE, GI, 2 * GI, 4 * GI, ""},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        two_hcas();
        node.inv.self.memlock_soft.v = cases[i].soft;
        node.inv.self.memlock_hard.v = cases[i].hard;
        node.inv.self.caps_known = NI_KNOWN;
        node.inv.self.cap_eff = cases[i].caps;
        node.policy.memlock = cases[i].policy;
        node_decide();
        const struct ni_limit *l = &node.plan.memlock;
        if (l->soft != cases[i].want_soft || l->hard != cases[i].want_hard ||
            strcmp(said(), cases[i].said) != 0)
            fail_msg("case %zu: %lld %lld %s", i, (long long)l->soft, (long long)l->hard, said());
    }
}

/* CAP_SYS_RESOURCE may be raised from the permitted set; in a user namespace of its own it does not
   count. CAP_IPC_LOCK has to reach the command: a user other than root needs it ambient. */
static void test_memlock_who_may(void **state)
{
    static const struct {
        unsigned eff, prm, amb;
        int uid;
        enum ni_userns ns;
        bool raised;
        const char *said;
    } cases[] = {
        {0, RESOURCE, 0, 0, NI_USERNS_UNKNOWN, true, ""},
        {0, RESOURCE, 0, 1000, NI_USERNS_UNKNOWN, true, ""},
        {RESOURCE, RESOURCE, 0, 0, NI_USERNS_OWN, false, "too low"},
        {IPC_LOCK, IPC_LOCK, 0, 0, NI_USERNS_UNKNOWN, false, ""},
        {IPC_LOCK, IPC_LOCK, 0, 1000, NI_USERNS_UNKNOWN, false, "too low"},
        {IPC_LOCK, IPC_LOCK, IPC_LOCK, 1000, NI_USERNS_UNKNOWN, false, ""},
        {IPC_LOCK, IPC_LOCK, IPC_LOCK, 0, NI_USERNS_OWN, false, "too low"},
        {0, IPC_LOCK, 0, 0, NI_USERNS_UNKNOWN, false, "too low"},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        two_hcas();
        struct ni_self *s = &node.inv.self;
        s->memlock_soft = s->memlock_hard = (struct ni_num){8 * KI, NI_KNOWN};
        s->caps_known = NI_KNOWN;
        s->cap_eff = cases[i].eff;
        s->cap_prm = cases[i].prm;
        s->cap_amb = cases[i].amb;
        s->uid = (struct ni_num){cases[i].uid, NI_KNOWN};
        s->user_namespace = cases[i].ns;
        node_decide();
        if ((node.plan.memlock.hard == NI_UNLIMITED) != cases[i].raised ||
            strcmp(said(), cases[i].said) != 0)
            fail_msg("case %zu: %s", i, said());
    }
}

static void test_memlock_unknown(void **state)
{
    (void)state;
    two_hcas();
    node.inv.self.memlock_soft = node.inv.self.memlock_hard = (struct ni_num){8 * KI, NI_KNOWN};
    node.inv.self.cap_eff = RESOURCE; /* what was not read is not there */
    node.inv.self.caps_known = NI_DENIED;
    node_decide();
    assert_int_equal(node.plan.memlock.hard, 8 * KI);
    assert_string_equal(said(), "too low");
    node.inv.self.memlock_hard.known = NI_BAD;
    node_decide(); /* act knows the limits in force and stops at the hard one */
    assert_int_equal(node.plan.memlock.soft, NI_UNLIMITED);
    assert_true(node.plan.memlock.hard < 0);
    assert_string_equal(said(), "");
    node.policy.memlock = KEEP;
    node_decide();
    assert_true(node.plan.memlock.soft < 0 && node.plan.memlock.hard < 0);
    node_reset(NULL); /* without RDMA a low limit is nobody's trouble */
    node.inv.self.memlock_soft.v = node.inv.self.memlock_hard.v = 8 * KI;
    node_decide();
    assert_string_equal(said(), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_level),           cmocka_unit_test(test_left_unset),
        cmocka_unit_test(test_wide_domain),     cmocka_unit_test(test_misplaced),
        cmocka_unit_test(test_option),          cmocka_unit_test(test_peermem_or_dmabuf),
        cmocka_unit_test(test_memlock),         cmocka_unit_test(test_memlock_who_may),
        cmocka_unit_test(test_memlock_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
