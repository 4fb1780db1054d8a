/* SPDX-License-Identifier: Apache-2.0 */
/* --require and --mode=rdma: what holds, what does not, and the reason. */
#include <errno.h>

#include "findings/device.h"
#include "findings/setting.h"
#include "lib/rules_node.h"
#include "nccl_init/allocation.h"
#include "nccl_init/base.h"
#include "nccl_init/env.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/known.h"
#include "nccl_init/number.h"
#include "nccl_init/pci.h"
#include "nccl_init/plan.h"
#include "nccl_init/process.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "rules/decide.h"
#include "rules/require.h"
#include "rules/rules.h"

/* Two RoCE rails, a GPU below each one's switch, peermem: all holds. */
static int good_node(void **state)
{
    node_reset(state);
    node_rail("mlx5_0", 3, "10.0.1.1", "net1");
    node_rail("mlx5_1", 3, "10.0.2.1", "net2");
    node_chain(&node.inv.hca[0].pci, "0000:00:01.0 0000:01:00.0 0000:02:00.0 0000:03:00.2", 0);
    node_chain(&node.inv.hca[1].pci, "0000:00:02.0 0000:05:00.0 0000:06:00.0 0000:07:00.2", 0);
    for (unsigned i = 0; i < 2; i++) {
        node.inv.gpu[i].bdf = (struct ni_bdf){0, (uint8_t)(0x10 + i), 0, 0};
        node.inv.gpu[i].minor = (int)i;
    }
    node_chain(&node.inv.gpu[0].pci, "0000:00:01.0 0000:01:00.0 0000:02:01.0 0000:10:00.0", 0);
    node_chain(&node.inv.gpu[1].pci, "0000:00:02.0 0000:05:00.0 0000:06:01.0 0000:11:00.0", 0);
    node.inv.n_gpu = 2;
    node.inv.gdr.peermem = NI_KNOWN;
    node.policy.require =
        NI_REQUIRE_RDMA | NI_REQUIRE_GDR | NI_REQUIRE_ROCE_V2 | NI_REQUIRE_RAILS | NI_REQUIRE_GPUS;
    node.policy.rails = 2;
    return 0;
}

/* Only this is demanded, and it does not hold; `why` is in the reason and in the finding. */
static void refused(unsigned bit, ni_finding_number id, const char *why)
{
    node.policy.require = bit;
    node_decide();
    assert_true(node.plan.refuse);
    assert_true(has(id));
    if (!strstr(node.plan.refuse_why, why))
        fail_msg("`%s` is not in `%s`", why, node.plan.refuse_why);
    for (unsigned i = 0; i < node.findings.n; i++)
        assert_int_equal(node.findings.at[i].in_refusal, node.findings.at[i].id == id);
    assert_true(ni_has_prefix(node.plan.refuse_why, "--require="));
}

static void holds(unsigned bits)
{
    node.policy.require = bits;
    node_decide();
    assert_string_equal(node.plan.refuse_why, "");
    assert_false(node.plan.refuse);
}

static void test_no_rdma(void **state)
{
    (void)state;
    node.inv.port[0].state.v = node.inv.port[1].state.v = NI_PORT_DOWN;
    refused(NI_REQUIRE_RDMA, NI_F_REQUIRE_RDMA, "2 RDMA devices, and none is usable");
    refused(NI_REQUIRE_RAILS, NI_F_REQUIRE_RAILS, "none is usable");
    refused(NI_REQUIRE_ROCE_V2, NI_F_REQUIRE_ROCE_V2, "none is usable");
    refused(NI_REQUIRE_GDR, NI_F_REQUIRE_GDR, "none is usable");
    assert_false(has(NI_F_REQUIRE_RDMA));
    holds(NI_REQUIRE_GPUS);
    node.policy.mode = NI_MODE_TCP;
    refused(NI_REQUIRE_RDMA, NI_F_REQUIRE_RDMA, "--mode=tcp");
    /* Both ways of asking: told once. */
    node.policy.mode = NI_MODE_AUTO;
    node.policy.short_forms = NI_REQUIRE_RDMA;
    node_decide();
    assert_true(
        ni_has_prefix(node.plan.refuse_why, "--mode=rdma, but the pod was given 2 RDMA devices"));
}

static void test_users_choices(void **state)
{
    (void)state;
    node_env("NCCL_IB_DISABLE=1");
    refused(NI_REQUIRE_RDMA, NI_F_REQUIRE_RDMA, "but your NCCL_IB_DISABLE chooses sockets");
    node.n_env = 0;
    memset(node.entry, 0, sizeof(node.entry));
    node_env("NCCL_NET=AWS Libfabric");
    refused(NI_REQUIRE_RDMA, NI_F_REQUIRE_RDMA,
            "AWS Libfabric is in use; no InfiniBand variable is set (NCCL_NET)");
    node.policy.short_forms = NI_REQUIRE_RDMA;
    node_decide();
    assert_true(ni_has_prefix(node.plan.refuse_why, "--mode=rdma, but AWS Libfabric"));
}

/* A list that leaves no port is the user's doing, not a lack of devices. */
static void test_users_list(void **state)
{
    (void)state;
    node_env("NCCL_IB_HCA=mlx5_99");
    refused(NI_REQUIRE_RDMA, NI_F_REQUIRE_RDMA,
            "--require=rdma, but `mlx5_99` names no usable port of this pod, which has mlx5_0:1, "
            "mlx5_1:1 (NCCL_IB_HCA)");
    node.n_env = 0;
    node_env("NCCL_IB_HCA=,"); /* names none, so it takes all */
    holds(NI_REQUIRE_RDMA);
    node.inv.port[0].state.v = node.inv.port[1].state.v = NI_PORT_DOWN;
    refused(NI_REQUIRE_RDMA, NI_F_REQUIRE_RDMA, "2 RDMA devices, and none is usable");
}

/* A slow port that the user's list takes connects, if it has a GID and is of the others' kind. */
static void test_left_out(void **state)
{
    struct ni_port *slow = &node.inv.port[1];
    const unsigned gids = slow->n_gid;
    (void)state;
    node_env("NCCL_IB_HCA=");
    node.inv.source = NI_SRC_UVERBS;
    slow->mbps = (struct ni_num){10000, NI_KNOWN};
    holds(NI_REQUIRE_RDMA);
    assert_true(has(NI_F_USER_HCA_EXTRA));
    assert_false(has(NI_F_USER_HCA_LEFT_OUT));
    node_env("NCCL_IB_GID_INDEX=-1"); /* each port is searched */
    holds(NI_REQUIRE_RDMA);
    assert_true(has(NI_F_USER_HCA_EXTRA));
    node.entry[--node.n_env] = NULL;
    for (unsigned i = 0; i < gids; i++)
        node.inv.gid[slow->first_gid + (int)i].index += 10;
    refused(NI_REQUIRE_RDMA, NI_F_REQUIRE_RDMA, "the GID that NCCL takes there is wrong");
    for (unsigned i = 0; i < gids; i++)
        node.inv.gid[slow->first_gid + (int)i].index -= 10;
    slow->n_gid = 0;
    refused(NI_REQUIRE_RDMA, NI_F_REQUIRE_RDMA,
            "NCCL_IB_HCA takes this port, which the plan leaves out (10 Gb/s, while the fastest "
            "port has 400): its connections may fail (mlx5_1/1)");
    assert_true(node.plan.needs & NI_NEED_WHOLE_GIDS);
    slow->mbps = node.inv.port[0].mbps;
    refused(NI_REQUIRE_RDMA, NI_F_REQUIRE_RDMA, "NCCL_IB_HCA takes this port");
    slow->mbps.v = 10000;
    slow->n_gid = gids;
    slow->link = NI_LINK_IB;
    refused(NI_REQUIRE_RDMA, NI_F_REQUIRE_RDMA,
            "(10 Gb/s, while the fastest port has 400): InfiniBand and RoCE together end the job");
    slow->link = NI_LINK_ROCE;
    slow->state.known = NI_DENIED;
    refused(NI_REQUIRE_RDMA, NI_F_REQUIRE_RDMA, "cannot be read");
    slow->state.known = NI_KNOWN;
    node.inv.hca[1].pci.none = true;
    refused(NI_REQUIRE_RDMA, NI_F_REQUIRE_RDMA, "SoftRoCE");
    node.inv.hca[0].pci.none = true;
    holds(NI_REQUIRE_RDMA);
}

/* Findings that were left out do not stand in the way: of each id one was kept. */
static void test_too_many_findings(void **state)
{
    const struct ni_env env = {node.entry};
    const struct ni_work work = {&node.inv, &env, &node.policy, &node.plan, &node.findings};
    (void)state;
    memset(&node.findings, 0, sizeof(node.findings));
    node.policy.require = NI_REQUIRE_RDMA;
    for (unsigned k = 0; k < NI_MAX_AGAIN + 2; k++)
        ni_report(&node.findings, NI_F_OPTION_INVALID, "x", "%u", k);
    ni_decide(&work);
    assert_false(node.plan.refuse);
    node_env("NCCL_NET=AWS Libfabric");
    ni_decide(&work);
    assert_true(node.plan.refuse);
    assert_int_equal(node.findings.dropped, 1);
}

static void test_off(void **state)
{
    (void)state;
    node.policy.mode = NI_MODE_OFF;
    refused(NI_REQUIRE_RDMA, NI_F_REQUIRE_RDMA, "--mode=off");
    refused(NI_REQUIRE_GPUS, NI_F_REQUIRE_GPUS, "--mode=off");
    holds(0);
    assert_int_equal(node.plan.n_setting, 0);
}

static void test_rails(void **state)
{
    (void)state;
    node.policy.rails = 3;
    refused(NI_REQUIRE_RAILS, NI_F_REQUIRE_RAILS,
            "rails=3, but only 2 usable rails from 2 HCAs of the pod");
    node.policy.rails = 1;
    holds(NI_REQUIRE_RAILS);
    node.policy.rails = 2;
    holds(NI_REQUIRE_RAILS);
    /* Two VFs of one port of one NIC are one rail. */
    for (unsigned i = 0; i < 2; i++) {
        node.inv.hca[i].is_vf = true;
        node.inv.hca[i].pf = (struct ni_bdf){0, 3, 0, 0};
    }
    refused(NI_REQUIRE_RAILS, NI_F_REQUIRE_RAILS, "only 1 usable rail from 2 HCAs of the pod");
    node.inv.hca[1].pf.fn = 1;
    holds(NI_REQUIRE_RAILS);
    /* So are a PF and its VF, and two sub-functions. */
    node.inv.hca[1].is_vf = false;
    node.inv.hca[1].bdf = (struct ni_bdf){0, 3, 0, 0};
    refused(NI_REQUIRE_RAILS, NI_F_REQUIRE_RAILS, "only 1 usable rail from 2 HCAs of the pod");
    node.inv.hca[0].is_vf = false;
    node.inv.hca[0].bdf = node.inv.hca[1].bdf;
    for (unsigned i = 0; i < 2; i++)
        snprintf(node.inv.hca[i].aux, sizeof(node.inv.hca[i].aux), "mlx5_core.sf.%u", i + 4);
    refused(NI_REQUIRE_RAILS, NI_F_REQUIRE_RAILS, "only 1 usable rail from 2 HCAs of the pod");
}

static void test_roce_v2(void **state)
{
    (void)state;
    node.inv.port[0].link = node.inv.port[1].link = NI_LINK_IB;
    refused(NI_REQUIRE_ROCE_V2, NI_F_REQUIRE_ROCE_V2, "mlx5_0/1 is an InfiniBand port");
    good_node(state);
    for (unsigned i = 0; i < node.inv.n_gid; i++)
        node.inv.gid[i].type = NI_GID_V1;
    refused(NI_REQUIRE_ROCE_V2, NI_F_REQUIRE_ROCE_V2, "mlx5_0/1 has no RoCE v2 GID");
    good_node(state);
    node_env("NCCL_IB_GID_INDEX=2"); /* the v1 entry */
    refused(NI_REQUIRE_ROCE_V2, NI_F_REQUIRE_ROCE_V2, "NCCL takes index 2");
}

static void test_gdr(void **state)
{
    (void)state;
    node.policy.gdr = NI_DIST_LOC;
    refused(NI_REQUIRE_GDR, NI_F_REQUIRE_GDR, "--gdr=off");
    good_node(state);
    node.inv.gdr.peermem = NI_ABSENT;
    node.inv.gdr.open_driver = NI_ABSENT;
    refused(NI_REQUIRE_GDR, NI_F_REQUIRE_GDR, "neither nvidia-peermem nor DMA-BUF");
    good_node(state);
    /* NCCL's own level ends before the CPU. */
    node_chain(&node.inv.gpu[1].pci, "0000:00:03.0 0000:11:00.0", 0);
    refused(NI_REQUIRE_GDR, NI_F_REQUIRE_GDR, "beyond the level in force; --gdr raises it");
    node.policy.gdr = NI_DIST_PHB;
    holds(NI_REQUIRE_GDR);
    node.policy.gdr = NI_DIST_UNKNOWN;
    /* Distances of a topology file are not known. */
    node.inv.system_topo_file = true;
    refused(NI_REQUIRE_GDR, NI_F_REQUIRE_GDR, "virtualTopology.xml, which says how far");
    node.policy.gdr = NI_DIST_SYS;
    holds(NI_REQUIRE_GDR);
    good_node(state);
    node_chain(&node.inv.gpu[1].pci, "0000:00:03.0 0000:11:00.0", 0);
    static const char *const near[] = {"NCCL_NET_GDR_LEVEL=LOC", "NCCL_NET_GDR_LEVEL=PXB",
                                       "NCCL_NET_GDR_LEVEL=2", "NCCL_NET_GDR_LEVEL=nonsense"};
    static const char *const far[] = {"NCCL_NET_GDR_LEVEL=PHB", "NCCL_NET_GDR_LEVEL=3",
                                      "NCCL_NET_GDR_LEVEL=03", "NCCL_NET_GDR_LEVEL=6",
                                      "NCCL_NET_GDR_LEVEL=SYS"};
    for (unsigned i = 0; i < NI_COUNT(near); i++) {
        node.n_env = 0;
        node_env(near[i]);
        refused(NI_REQUIRE_GDR, NI_F_REQUIRE_GDR, "beyond your NCCL_NET_GDR_LEVEL or");
    }
    for (unsigned i = 0; i < NI_COUNT(far); i++) {
        node.n_env = 0;
        node_env(far[i]);
        holds(NI_REQUIRE_GDR);
    }
}

static void test_gdr_unknown_place(void **state)
{
    (void)state;
    node.inv.gpu[1].pci.known = NI_DENIED;
    node.inv.gpu[1].pci.depth = 0;
    refused(NI_REQUIRE_GDR, NI_F_REQUIRE_GDR, "on the PCI tree is denied");
}

/* Over NVLink-C2C what lies at the same CPU is P2C, which NCCL allows unless told otherwise. */
static void test_gdr_c2c(void **state)
{
    static const char *const far[] = {"NCCL_NET_GDR_LEVEL=PXB", "NCCL_NET_GDR_LEVEL=2",
                                      "NCCL_NET_GDR_C2C=0"};
    (void)state;
    node.inv.gdr.c2c = true;
    node_chain(&node.inv.gpu[1].pci, "0000:00:03.0 0000:11:00.0", 0);
    holds(NI_REQUIRE_GDR);
    node_env("NCCL_NET_GDR_LEVEL=P2C");
    holds(NI_REQUIRE_GDR);
    for (unsigned i = 0; i < NI_COUNT(far); i++) {
        node.n_env = 0;
        node_env(far[i]);
        refused(NI_REQUIRE_GDR, NI_F_REQUIRE_GDR, "beyond your NCCL_NET_GDR_LEVEL or");
    }
    node.n_env = 0;
    node_env("NCCL_NET_GDR_READ=0");
    refused(NI_REQUIRE_GDR, NI_F_REQUIRE_GDR, "NCCL_NET_GDR_READ=0");
    node.n_env = 0;
    node_env("NCCL_NET_GDR_READ=off");
    refused(NI_REQUIRE_GDR, NI_F_REQUIRE_GDR, "NCCL up to 2.31.2 reads 0");
    node.n_env = 0;
    node_env("NOTHING=1");
    node_chain(&node.inv.gpu[1].pci, "0000:00:03.0 0000:11:00.0", 1); /* at the other CPU */
    refused(NI_REQUIRE_GDR, NI_F_REQUIRE_GDR, "its nearest HCA is SYS");
}

/* What stands in the plan, and does not open, or is perhaps not ours. */
static void test_promise(void **state)
{
    (void)state;
    node.inv.hca[0].uverbs = (struct ni_uverbs){"uverbs0", NI_KNOWN, 0};
    holds(NI_REQUIRE_RDMA);
    node.inv.hca[0].uverbs.err = -ENOENT;
    holds(NI_REQUIRE_RDMA); /* by the other HCA */
    assert_true(has(NI_F_HCA_NODE_LOST));
    assert_int_equal(node.plan.n_chosen, 1);
    refused(NI_REQUIRE_RAILS, NI_F_REQUIRE_RAILS, "only 1 usable rail from 2 HCAs");
    node.inv.hca[1].uverbs.known = NI_ABSENT;
    refused(NI_REQUIRE_RDMA, NI_F_REQUIRE_RDMA,
            "mlx5_0: /dev/infiniband/uverbs0 is not in the container");
    refused(NI_REQUIRE_RAILS, NI_F_REQUIRE_RAILS, "uverbs0");
    assert_true(has(NI_F_HCA_NODE_LOST));
    holds(NI_REQUIRE_GPUS);
    assert_true(has(NI_F_HCA_NODE_LOST)); /* told, and kept: none opens */
    assert_int_equal(node.plan.n_chosen, 2);
    node.inv.hca[0].uverbs.err = -EPERM;
    refused(NI_REQUIRE_GDR, NI_F_REQUIRE_GDR, "opening /dev/infiniband/uverbs0 gives EPERM (");
    assert_true(has(NI_F_HCA_NODE_LOST));
    node.inv.hca[0].uverbs = (struct ni_uverbs){.known = NI_ABSENT};
    refused(NI_REQUIRE_ROCE_V2, NI_F_REQUIRE_ROCE_V2, "the kernel has no uverbs device for it");
    node.inv.hca[0].uverbs.known = NI_DENIED;
    node.inv.hca[1].uverbs.known = NI_KNOWN;
    refused(NI_REQUIRE_RDMA, NI_F_REQUIRE_RDMA, "its device node cannot be seen");
    good_node(state);
    for (unsigned i = 0; i < node.inv.n_gid; i++)
        node.inv.gid[i].owner = NI_OWNER_UNKNOWN;
    refused(NI_REQUIRE_RDMA, NI_F_REQUIRE_RDMA, "is an address of this pod (mlx5_0/1)");
    good_node(state);
    ni_copy(node.inv.gpu_node, sizeof(node.inv.gpu_node), "nvidia0");
    node.inv.gpu_node_err = -EPERM;
    refused(NI_REQUIRE_GPUS, NI_F_REQUIRE_GPUS, "opening /dev/nvidia0 gives EPERM (");
    refused(NI_REQUIRE_GDR, NI_F_REQUIRE_GDR, "nvidia0");
    node.inv.gpu_node_err = -524; /* ENOTSUPP, a driver's own (include/linux/errno.h) */
    refused(NI_REQUIRE_GPUS, NI_F_REQUIRE_GPUS, "opening /dev/nvidia0 gives errno 524");
}

static void test_all_fail(void **state)
{
    (void)state;
    node.inv.n_hca = node.inv.n_port = node.inv.n_gpu = node.inv.n_allocation = 0;
    node_decide();
    assert_true(has(NI_F_REQUIRE_RDMA) && has(NI_F_REQUIRE_GPUS) && has(NI_F_REQUIRE_RAILS) &&
                has(NI_F_REQUIRE_ROCE_V2) && has(NI_F_REQUIRE_GDR));
    /* As many as fit, each whole. */
    assert_true(
        ni_has_prefix(node.plan.refuse_why,
                      "--require=rdma, but the pod was given no RDMA device; --require=gpus"));
    size_t n = strlen(node.plan.refuse_why);
    assert_string_equal(node.plan.refuse_why + n - 14, "no RDMA device");
}

static const struct ni_work *facts(void)
{
    static struct ni_env env;
    static struct ni_work all;
    env.entry = node.entry;
    all = (struct ni_work){&node.inv, &env, &node.policy, &node.plan, &node.findings};
    return &all;
}

static int64_t planned; /* what the soft limit should have become */

static bool memlock_holds(int64_t soft, bool may_lock)
{
    memset(&node.plan, 0, sizeof(node.plan));
    node.plan.memlock.soft = planned;
    memset(&node.findings, 0, sizeof(node.findings));
    node.plan.transport = NI_NET_TCP;
    ni_require_memlock(facts(), soft, may_lock);
    assert_int_equal(has(NI_F_REQUIRE_MEMLOCK), node.plan.refuse);
    return !node.plan.refuse;
}

/* What is judged after the plan, worded as the rest; and what cannot be understood, before it. */
static void test_later(void **state)
{
    (void)state;
    holds(NI_REQUIRE_SELFTEST | NI_REQUIRE_PREFLIGHT);
    ni_refuse_demand(facts(), NI_REQUIRE_SELFTEST, "1 of 2 ports passed");
    assert_string_equal(node.plan.refuse_why, "--require=selftest, but 1 of 2 ports passed");
    assert_true(has(NI_F_REQUIRE_SELFTEST));
    node.policy.short_forms = NI_REQUIRE_PREFLIGHT;
    ni_refuse_demand(facts(), NI_REQUIRE_PREFLIGHT, "the preflight is bad");
    assert_non_null(strstr(node.plan.refuse_why, "; --preflight=require, but the preflight is"));
    holds(NI_REQUIRE_GPUS);
    ni_refuse_demand(facts(), NI_REQUIRE_SELFTEST | NI_REQUIRE_PREFLIGHT, "it is not demanded");
    assert_false(node.plan.refuse);
    node.policy.mode = NI_MODE_OFF;
    refused(NI_REQUIRE_SELFTEST, NI_F_REQUIRE_SELFTEST, "--mode=off looks at nothing");
    node.policy.require = 0;
    (void)ni_copy(node.policy.unclear, sizeof(node.policy.unclear), "NCCLINIT_MODE: `x` is not y");
    node_decide();
    assert_true(node.plan.refuse);
    assert_string_equal(node.plan.refuse_why, "NCCLINIT_MODE: `x` is not y");
}

static void test_memlock(void **state)
{
    const int64_t gib = INT64_C(1) << 30;
    (void)state;
    node.policy.require = 0;
    assert_true(memlock_holds(0, false));
    node.policy.require = NI_REQUIRE_MEMLOCK;
    assert_true(memlock_holds(gib, false));
    assert_true(memlock_holds(NI_UNLIMITED, false));
    assert_false(memlock_holds(gib - 1, false));
    assert_non_null(
        strstr(node.plan.refuse_why, "only 1048575 KiB can be locked: it is unknown whether"));
    assert_true(memlock_holds(0, true));
    assert_false(memlock_holds(-1, false));
    assert_non_null(strstr(node.plan.refuse_why, "is not known"));
    /* A capability of another user namespace does not count (can_do_mlock). */
    node.inv.self.user_namespace = NI_USERNS_OWN;
    assert_false(memlock_holds(0, true));
    /* What RDMA needs, whoever demands it; not what only GPUs do. */
    node.policy.require = NI_REQUIRE_GPUS;
    assert_true(memlock_holds(65536, false));
    /* The kernel refused what looked possible. */
    node.policy.require = NI_REQUIRE_MEMLOCK;
    node.inv.self = (struct ni_self){.caps_known = NI_KNOWN, .cap_prm = 1 << CAP_SYS_RESOURCE};
    planned = NI_UNLIMITED;
    assert_false(memlock_holds(65536, false));
    assert_non_null(strstr(node.plan.refuse_why, "raising it failed"));
    planned = node.policy.memlock = 2 * gib;
    assert_false(memlock_holds(65536, false));
    assert_non_null(strstr(node.plan.refuse_why, "raising it failed"));
    planned = node.policy.memlock = gib / 2;
    assert_false(memlock_holds(gib / 2, false));
    assert_non_null(strstr(node.plan.refuse_why, "does not ask for more"));
}

/* What the program has from its file, and the command of a user other than root does not get. */
static void test_memlock_by_option(void **state)
{
    static const char advice[] = "only 64 KiB can be locked: CAP_IPC_LOCK is permitted: "
                                 "add --keep-caps=ipc_lock";
    (void)state;
    planned = 0;
    node.policy.require = NI_REQUIRE_MEMLOCK;
    node.inv.self = (struct ni_self){.caps_known = NI_KNOWN, .cap_prm = 1 << CAP_IPC_LOCK};
    assert_false(memlock_holds(65536, false));
    assert_non_null(strstr(node.plan.refuse_why, advice));
    node.inv.self.user_namespace = NI_USERNS_OWN;
    assert_false(memlock_holds(65536, false));
    assert_null(strstr(node.plan.refuse_why, "--keep-caps"));
    node.inv.self = (struct ni_self){.caps_known = NI_KNOWN};
    assert_false(memlock_holds(65536, false));
    assert_null(strstr(node.plan.refuse_why, "--keep-caps"));
}

static bool is_refused_for_memlock(void)
{
    node_decide();
    ni_require_planned_memlock(facts());
    return node.plan.refuse;
}

/* The command of a file may run in another container: only who asks for memlock is refused. */
static void test_memlock_elsewhere(void **state)
{
    (void)state;
    node.inv.self.memlock_soft.v = node.inv.self.memlock_hard.v = 65536;
    node.policy.require = NI_REQUIRE_RDMA;
    assert_true(is_refused_for_memlock());
    node.policy.command_elsewhere = true;
    assert_false(is_refused_for_memlock());
    node.policy.require = NI_REQUIRE_MEMLOCK;
    assert_true(is_refused_for_memlock());
}

static void test_planned_memlock(void **state)
{
    (void)state;
    node.policy.require = NI_REQUIRE_MEMLOCK;
    assert_false(is_refused_for_memlock()); /* unlimited */
    /* The plan raises the soft limit. */
    node.inv.self.memlock_soft.v = 65536;
    assert_false(is_refused_for_memlock());
    node.inv.self.memlock_hard.v = 65536;
    assert_true(is_refused_for_memlock());
    node.inv.self.memlock_hard.known = NI_DENIED;
    assert_true(is_refused_for_memlock());
    assert_non_null(strstr(node.plan.refuse_why, "not known"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_no_rdma, good_node),
        cmocka_unit_test_setup(test_users_choices, good_node),
        cmocka_unit_test_setup(test_later, good_node),
        cmocka_unit_test_setup(test_users_list, good_node),
        cmocka_unit_test_setup(test_left_out, good_node),
        cmocka_unit_test_setup(test_too_many_findings, good_node),
        cmocka_unit_test_setup(test_off, good_node),
        cmocka_unit_test_setup(test_rails, good_node),
        cmocka_unit_test_setup(test_roce_v2, good_node),
        cmocka_unit_test_setup(test_gdr, good_node),
        cmocka_unit_test_setup(test_gdr_unknown_place, good_node),
        cmocka_unit_test_setup(test_gdr_c2c, good_node),
        cmocka_unit_test_setup(test_promise, good_node),
        cmocka_unit_test_setup(test_all_fail, good_node),
        cmocka_unit_test_setup(test_memlock, node_reset),
        cmocka_unit_test_setup(test_memlock_by_option, node_reset),
        cmocka_unit_test_setup(test_memlock_elsewhere, good_node),
        cmocka_unit_test_setup(test_planned_memlock, good_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
