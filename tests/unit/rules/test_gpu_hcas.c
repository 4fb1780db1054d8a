/* SPDX-License-Identifier: Apache-2.0 */
/* gpu.hcas: which ports each GPU is to use, and which GPU a launcher's number means. */
#include <errno.h>

#include "lib/rules_node.h"
#include "nccl_init/base.h"
#include "nccl_init/gpu.h"
#include "nccl_init/inventory.h"
#include "nccl_init/known.h"
#include "nccl_init/pci.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"

/* A GPU or HCA below root port `port` of the host bridge; numa -1: not known. */
static void place(struct ni_pci *pci, unsigned port, unsigned bus, int numa)
{
    char chain[64];

    snprintf(chain, sizeof(chain), "0000:00:%02x.0 0000:%02x:00.0 0000:%02x:01.0 0000:%02x:00.0",
             port, 0x80 + port, 0x90 + port, bus);
    node_chain(pci, chain, numa);
    pci->numa.known = numa < 0 ? NI_DENIED : NI_KNOWN;
}

static void gpu(unsigned port, int numa)
{
    struct ni_gpu *g = &node.inv.gpu[node.inv.n_gpu++];

    g->bdf = (struct ni_bdf){0, (uint8_t)(0x40 + node.inv.n_gpu), 0, 0};
    snprintf(g->uuid, sizeof(g->uuid), "GPU-%u0000000-1111", node.inv.n_gpu - 1);
    place(&g->pci, port, g->bdf.bus, numa);
}

static void hca(unsigned port, int numa)
{
    char name[16];

    snprintf(name, sizeof(name), "mlx5_%u", node.inv.n_hca);
    const int at = node_hca(name);
    node_gid(3, "10.0.1.6", NI_GID_V2, NI_OWNER_POD, "net1");
    place(&node.inv.hca[at].pci, port, 3U + 4 * (unsigned)at, numa);
}

/* G and H with the number of their switch; a colon before what is on the other NUMA node. */
static void build(const char *what)
{
    int numa = 0;

    node_reset(NULL);
    node.policy.gpu_map = true;
    node_addr("10.0.1.6", "net1");
    node_netdev("net1", true);
    for (; *what; what += 2) {
        if (*what == ':') {
            numa = 1;
            what++;
        }
        if (*what == 'G')
            gpu((unsigned)what[1] - '0', numa);
        else
            hca((unsigned)what[1] - '0', numa);
    }
}

static void test_spread(void **state)
{
    static const struct {
        const char *what;
        unsigned want[8]; /* by GPU */
    } cases[] = {
        {"G1H1", {1}},
        {"G1H2", {1}},                            /* PHB */
        {"G1:H2", {1}},                           /* SYS: still the nearest */
        {"G1G2H1H2", {1, 2}},                     /* a switch each */
        {"G1G2H2H1", {2, 1}},                     /* whatever their order */
        {"G1G1H1H1", {1, 2}},                     /* equally near: one each */
        {"G1H1H1", {3}},                          /* one GPU, two HCAs */
        {"G1G2H1H1H2H2", {3, 12}},                /* two for each */
        {"G1G2H3H4H5H6", {1 | 4 | 8, 2 | 4 | 8}}, /* all PHB: its own, and what nobody owns */
        {"G1G1H1", {1, 1}},                       /* shared */
        {"G1G1G1G1H1H1", {1, 2, 1, 2}},           /* shared evenly */
        {"G9G1H1H2", {2, 1}},                     /* the nearer chooses first */
        {"G1G2H3H4:G5G6H7H8", {1, 2, 4, 8}},      /* two sockets */
        {"G1:G2H2", {1, 1}},                      /* SYS for one */
    };

    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        build(cases[i].what);
        node_decide();
        for (unsigned g = 0; g < node.inv.n_gpu; g++)
            if (node.plan.gpu_ports[g] != cases[i].want[g])
                fail_msg("%s: GPU%u uses %#x", cases[i].what, g, node.plan.gpu_ports[g]);
    }
}

/* What is not known is not guessed, and the NUMA nodes are asked for only where somebody needs them. */
static void test_doubts(void **state)
{
    (void)state;
    build("G1H2H3");
    node.inv.hca[1].pci.numa.known = NI_UNSET; /* it may be nearer than the other */
    node_decide();
    assert_int_equal(node.plan.gpu_ports[0], 0);
    build("G1H1H3");
    node.inv.hca[1].pci.numa.known =
        NI_UNSET;                 /* it cannot be nearer than one behind the same switch */
    node.inv.gdr.cpu = NI_DENIED; /* so that gdr.level wants nothing */
    node_decide();
    assert_int_equal(node.plan.gpu_ports[0], 1);
    assert_int_equal(node.plan.needs & NI_NEED_NUMA, 0);
    build("G1H2");
    node.inv.gdr.cpu = NI_DENIED;
    node.policy.gpu_map = false;
    node_decide();
    assert_int_equal(node.plan.needs & NI_NEED_NUMA, 0);
    assert_int_equal(node.plan.gpu_ports[0], 0);
    node.policy.gpu_map = true;
    node_decide();
    assert_int_equal(node.plan.needs & NI_NEED_NUMA, NI_NEED_NUMA);
    build("G1H1");
    node_chain(&node.inv.gpu[0].pci, "0000:00:05.0", 0); /* flat */
    node_decide();
    assert_int_equal(node.plan.gpu_ports[0], 0);
    build("G1H1");
    node.inv.gdr.gpus_lost = true;
    node_decide();
    assert_int_equal(node.plan.gpu_ports[0], 0);
    build("G1H1H1");
    node.inv.hca[0].uverbs = (struct ni_uverbs){.known = NI_KNOWN, .err = -EACCES};
    node_decide();
    assert_int_equal(node.plan.gpu_ports[0], 1); /* the one that opens, which alone is chosen */
    assert_string_equal(node.inv.hca[node.inv.port[node.plan.chosen[0]].hca].name,
                        node.inv.hca[1].name);
}

/* Four GPUs, each with an HCA: `want` is the number of the process's, -1: all are listed. */
static void test_rank(void **state)
{
    static const struct {
        const char *gpus; /* "a": AMD's; "u": the order is not told; "s": two UUIDs begin alike */
        const char *env[3];
        int want;
    } cases[] = {
        {"", {"LOCAL_RANK=0"}, 0},
        {"", {"LOCAL_RANK=3"}, 3},
        {"", {"LOCAL_RANK=4"}, -1},
        {"", {"LOCAL_RANK=-1"}, -1},
        {"", {"LOCAL_RANK=18446744073709551616"}, -1},
        {"", {"RANK=3"}, -1},
        {"", {"RANK=3", "LOCAL_RANK="}, -1},          /* as if unset */
        {"", {"SLURM_LOCALID=0", "LOCAL_RANK=1"}, 1}, /* torchrun below srun */
        {"", {"OMPI_COMM_WORLD_LOCAL_RANK=2"}, 2},
        {"", {"MPI_LOCALRANKID=2"}, 2},
        {"", {"MV2_COMM_WORLD_LOCAL_RANK=2"}, 2},
        {"", {"PALS_LOCAL_RANKID=2", "PALS_LOCAL_SIZE=4"}, 2},
        {"", {"SLURM_LOCALID=0", "SLURM_TASKS_PER_NODE=1"}, -1}, /* a batch script */
        {"", {"SLURM_LOCALID=0", "SLURM_TASKS_PER_NODE=4"}, -1},
        {"", {"SLURM_LOCALID=0", "CUDA_VISIBLE_DEVICES=2"}, 2},
        {"", {"SLURM_LOCALID=2", "SLURM_STEP_TASKS_PER_NODE=4"}, 2},
        {"", {"LOCAL_RANK=1", "LOCAL_WORLD_SIZE=4"}, 1},
        {"", {"LOCAL_RANK=1", "LOCAL_WORLD_SIZE=2"}, 1},
        {"", {"LOCAL_RANK=0", "LOCAL_WORLD_SIZE=1"}, -1},
        {"", {"LOCAL_RANK=1", "LOCAL_WORLD_SIZE=8"}, -1},
        {"", {"LOCAL_RANK=1", "LOCAL_WORLD_SIZE=x"}, -1},
        {"", {"SLURM_LOCALID=0", "SLURM_STEP_TASKS_PER_NODE=1"}, -1},
        {"", {"SLURM_LOCALID=1", "SLURM_STEP_TASKS_PER_NODE=4(x16)"}, 1},
        {"", {"SLURM_LOCALID=0", "SLURM_STEP_TASKS_PER_NODE=4(x2),1"}, -1},
        {"", {"OMPI_COMM_WORLD_LOCAL_RANK=0", "OMPI_COMM_WORLD_LOCAL_SIZE=1"}, -1},
        {"", {"MPI_LOCALRANKID=0", "MPI_LOCALNRANKS=1"}, -1},
        /* Slurm's numbers from 0 may be those of a device cgroup */
        {"", {"SLURM_LOCALID=1", "SLURM_STEP_TASKS_PER_NODE=4", "CUDA_VISIBLE_DEVICES=0"}, -1},
        {"", {"SLURM_LOCALID=1", "SLURM_STEP_TASKS_PER_NODE=2", "CUDA_VISIBLE_DEVICES=0,1"}, -1},
        {"", {"LOCAL_RANK=1", "SLURM_LOCALID=0", "CUDA_VISIBLE_DEVICES=0,1"}, -1},
        {"", {"SLURM_LOCALID=1", "SLURM_STEP_TASKS_PER_NODE=2", "CUDA_VISIBLE_DEVICES=2,3"}, 3},
        {"", {"LOCAL_RANK=1", "SLURM_LOCALID=0", "CUDA_VISIBLE_DEVICES=0,1,2,3"}, 1},
        {"", {"LOCAL_RANK=0", "CUDA_VISIBLE_DEVICES=0"}, 0},
        {"", {"LOCAL_RANK=1", "CUDA_VISIBLE_DEVICES=2,3"}, 3},
        {"", {"LOCAL_RANK=1", "CUDA_VISIBLE_DEVICES= 2 , 0 "}, 0},
        {"", {"LOCAL_RANK=3", "CUDA_VISIBLE_DEVICES=2"}, 2}, /* one is visible */
        {"", {"LOCAL_RANK=1", "CUDA_VISIBLE_DEVICES=2,-1,3"}, 2},
        {"", {"LOCAL_RANK=1", "CUDA_VISIBLE_DEVICES=2,9,3"}, 2},
        {"", {"LOCAL_RANK=0", "CUDA_VISIBLE_DEVICES="}, -1},
        {"", {"LOCAL_RANK=0", "CUDA_VISIBLE_DEVICES=NoDevFiles"}, -1},
        {"", {"LOCAL_RANK=0", "CUDA_VISIBLE_DEVICES=GPU-20000000-1111"}, 2},
        {"", {"LOCAL_RANK=1", "CUDA_VISIBLE_DEVICES=GPU-3,GPU-1"}, 1}, /* beginnings */
        {"", {"LOCAL_RANK=0", "CUDA_VISIBLE_DEVICES=GPU-"}, -1},       /* of all */
        {"s", {"LOCAL_RANK=0", "CUDA_VISIBLE_DEVICES=GPU-3"}, -1},     /* of two */
        {"s", {"LOCAL_RANK=1", "CUDA_VISIBLE_DEVICES=GPU-0,GPU-3,GPU-1"}, -1},
        {"", {"LOCAL_RANK=0", "CUDA_VISIBLE_DEVICES=GPU-7,GPU-1"}, -1},
        {"", {"LOCAL_RANK=0", "CUDA_VISIBLE_DEVICES=MIG-30000000-1111"}, -1},
        {"", {"LOCAL_RANK=0", "CUDA_VISIBLE_DEVICES=MIG-"}, -1},
        {"u", {"LOCAL_RANK=1"}, -1},
        {"u", {"LOCAL_RANK=1", "CUDA_DEVICE_ORDER=PCI_BUS_ID"}, 1},
        {"u", {"LOCAL_RANK=1", "CUDA_DEVICE_ORDER=FASTEST_FIRST"}, -1},
        {"u", {"LOCAL_RANK=0", "CUDA_VISIBLE_DEVICES=GPU-2"}, 2}, /* by name */
        {"", {"LOCAL_RANK=1", "HIP_VISIBLE_DEVICES=2,3"}, 1},     /* not of NVIDIA's */
        {"a", {"LOCAL_RANK=1", "HIP_VISIBLE_DEVICES=2,3"}, 3},
        {"a", {"LOCAL_RANK=1", "CUDA_VISIBLE_DEVICES=2,3"}, 3},
        {"a", {"LOCAL_RANK=0", "HIP_VISIBLE_DEVICES=1", "ROCR_VISIBLE_DEVICES=3,2"}, 2},
        {"au", {"LOCAL_RANK=1", "CUDA_DEVICE_ORDER=PCI_BUS_ID"}, -1},
    };

    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        build("G1G2G3G4H1H2H3H4");
        node.policy.targets = NI_FOR_UCX;
        node.inv.gdr.gpus_unordered = strchr(cases[i].gpus, 'u') != NULL;
        for (unsigned g = 0; g < 4; g++)
            node.inv.gpu[g].amd = strchr(cases[i].gpus, 'a') != NULL;
        if (strchr(cases[i].gpus, 's'))
            node.inv.gpu[2].uuid[4] = '3';
        for (unsigned e = 0; e < NI_COUNT(cases[i].env) && cases[i].env[e]; e++)
            node_env(cases[i].env[e]);
        node_decide();
        char want[64] = "mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1";
        if (cases[i].want >= 0)
            snprintf(want, sizeof(want), "mlx5_%d:1", cases[i].want);
        const struct ni_setting *s = ni_plan_get(&node.plan, "UCX_NET_DEVICES");
        if (!s || strcmp(s->value, want) != 0)
            fail_msg("%s %s: %s, %s", cases[i].env[0], cases[i].env[1] ? cases[i].env[1] : "",
                     s ? s->value : "none", s ? s->reason : "");
        const bool asks = strncmp(cases[i].env[0], "RANK", 4) != 0;
        assert_int_equal(node.plan.needs & NI_NEED_GPU_IDS, asks ? NI_NEED_GPU_IDS : 0);
    }
}

/* The index of the process's own ports, where all have none in common. */
static void test_rank_index(void **state)
{
    (void)state;
    build("G1G2H1H2");
    node.inv.gid[1].index = 5;
    node.policy.targets = NI_FOR_UCX | NI_FOR_NVSHMEM;
    node_decide();
    assert_setting("UCX_IB_GID_INDEX", "unset", "");
    node_env("LOCAL_RANK=1");
    node_decide();
    assert_setting("UCX_IB_GID_INDEX", "rule", "5");
    assert_setting("NVSHMEM_IB_GID_INDEX", "unset", "");
    assert_setting("NVSHMEM_HCA_LIST", "rule", "mlx5_0:1,mlx5_1:1");
}

/* vLLM's map, and UCX's limit, where each is right. */
static void test_map(void **state)
{
    static const struct {
        const char *what;
        enum { AS_IS, PORT_2, SUBFUNCTION, AMD } change;
        const char *map;
        bool limit;
    } cases[] = {
        {"G1G2H1H2", AS_IS, "0000:41:00.0=0000:03:00.2,0000:42:00.0=0000:07:00.2", true},
        {"G1G2H3H4", AS_IS, "0000:41:00.0=0000:03:00.2,0000:42:00.0=0000:07:00.2", true},
        {"G1G2H1H2", AMD, "0000:41:00.0=0000:03:00.2,0000:42:00.0=0000:07:00.2", false},
        {"G1H1", AS_IS, "0000:41:00.0=0000:03:00.2", false}, /* one HCA needs no limit */
        {"G1H1H1", AS_IS, "0000:41:00.0=0000:03:00.2", true},
        {"G1H1H1", PORT_2, NULL, true},
        {"G1H1H1", SUBFUNCTION, NULL, false},
        {"G1G1H1", AS_IS, NULL, false},
        {"G1:H2H3", AS_IS, NULL, true}, /* SYS */
        {"H1H2", AS_IS, NULL, false},
        {"G1", AS_IS, NULL, false},
    };

    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        build(cases[i].what);
        node.policy.targets = NI_FOR_UCX;
        node.inv.port[1].num = cases[i].change == PORT_2 ? 2 : node.inv.port[1].num;
        if (cases[i].change == SUBFUNCTION)
            ni_copy(node.inv.hca[1].aux, sizeof(node.inv.hca[1].aux), "mlx5_core.sf.4");
        for (unsigned g = 0; g < node.inv.n_gpu; g++)
            node.inv.gpu[g].amd = cases[i].change == AMD;
        node_decide();
        assert_string_equal(exported("UCX_MAX_HCA_PER_GPU") ? "auto" : "",
                            cases[i].limit ? "auto" : "");
        node.policy.targets = NI_FOR_VLLM | NI_FOR_UCX;
        node_decide();
        assert_setting("VLLM_GPU_NIC_PCIE_MAPPING", cases[i].map ? "rule" : "unset",
                       cases[i].map ? cases[i].map : "");
        assert_setting("VLLM_NIC_SELECTION_VARS", cases[i].map ? "rule" : "unset",
                       cases[i].map ? "UCX_NET_DEVICES:1" : "");
        const char *origin = node.inv.n_hca == 0 ? "none" : "rule";
        assert_string_equal(origin_text("UCX_NET_DEVICES"), cases[i].map ? "unset" : origin);
        assert_true(!cases[i].map || !exported("UCX_MAX_HCA_PER_GPU"));
    }
}

/* What was tried: a slow port leaves the maps if the GPU has another one, and wrong bytes switch
   GPUDirect RDMA off where there is a switch. */
static void test_tried(void **state)
{
    (void)state;
    build("G1H1H1");
    node.policy.targets = NI_FOR_VLLM | NI_FOR_UCX | NI_FOR_NCCL;
    node.inv.gdr_tried.slow[0] = 1;
    node_decide();
    assert_int_equal(node.plan.gpu_ports[0], 2);
    assert_true(strstr(ni_plan_get(&node.plan, "VLLM_GPU_NIC_PCIE_MAPPING")->reason,
                       "tried, and slow ones left out") != NULL);
    assert_false(exported("UCX_IB_GPU_DIRECT_RDMA"));
    node.inv.gdr_tried.slow[0] = 3; /* no other is left */
    node_decide();
    assert_int_equal(node.plan.gpu_ports[0], 3);
    node.inv.gdr_tried.slow[0] = 0;
    node.inv.gdr_tried.wrong[0] = 2;
    node.policy.gdr = NI_DIST_SYS;
    node_decide();
    assert_int_equal(node.plan.gpu_ports[0], 1);
    assert_setting("UCX_IB_GPU_DIRECT_RDMA", "rule", "n");
    assert_setting("NCCL_NET_GDR_LEVEL", "rule", "LOC");
    assert_true(strstr(ni_plan_get(&node.plan, "NCCL_NET_GDR_LEVEL")->reason,
                       "tried: wrong bytes between GPU ") != NULL);
}

static void assert_reason(const char *name, const char *words)
{
    const struct ni_setting *s = ni_plan_get(&node.plan, name);

    assert_non_null(s);
    if (words)
        assert_non_null(strstr(s->reason, words));
    else
        assert_null(strstr(s->reason, "tried"));
}

/* One list for all GPUs: a port that is bad for each GPU that has it near leaves it, one that is good for
   another GPU stays. */
static void test_tried_lists(void **state)
{
    static const char shmem[] = "NVSHMEM_HCA_LIST", ucx[] = "UCX_NET_DEVICES";

    (void)state;
    build("G1G1H1H1");
    node.policy.targets = NI_FOR_NVSHMEM | NI_FOR_NIXL;
    node_decide();
    const char *both = ni_plan_get(&node.plan, shmem)->value;
    char kept[64];
    snprintf(kept, sizeof(kept), "%s", strchr(both, ',') + 1);
    assert_reason(shmem, NULL);
    assert_reason(ucx, NULL);
    node.inv.gdr_tried.slow[0] = 1; /* the other GPU has it near, too, and found it good */
    node_decide();
    assert_non_null(strchr(ni_plan_get(&node.plan, shmem)->value, ','));
    assert_reason(shmem, NULL);
    node.inv.gdr_tried.slow[1] = 1;
    node_decide();
    assert_setting(shmem, "rule", kept);
    assert_reason(shmem, "the chosen ports; tried, and slow ones left out");
    assert_setting(ucx, "rule", kept);
    assert_reason(ucx, "the chosen ports; tried, and slow ones left out");
    node.inv.gdr_tried.slow[1] = 0;
    node.inv.gdr_tried.wrong[1] = 1;
    node_decide();
    assert_setting(shmem, "rule", kept);
    assert_reason(shmem, "tried, and slow and wrong ones left out");
    node.inv.gdr_tried.wrong[1] = 3; /* no other is left for it */
    node_decide();
    assert_non_null(strchr(ni_plan_get(&node.plan, shmem)->value, ','));
    assert_reason(shmem, NULL);
}

/* The index is that of the ports in the list: a list of the user's own may have the ports that a trial
   takes out of ours. */
static void test_tried_index(void **state)
{
    static const char index[] = "NVSHMEM_IB_GID_INDEX";

    (void)state;
    build("G1H1");
    const int other = node_hca("mlx5_9");
    node_gid(5, "10.0.1.7", NI_GID_V2, NI_OWNER_POD, "net1");
    place(&node.inv.hca[other].pci, 1, 0x20, 0);
    node_addr("10.0.1.7", "net1");
    node.policy.targets = NI_FOR_NVSHMEM;
    node_decide();
    assert_false(exported(index));
    node.inv.gdr_tried.slow[0] = 2;
    node_decide();
    assert_setting(index, "rule", "3");
    node_env("NVSHMEM_HCA_LIST=mlx5_0,mlx5_9");
    node_decide();
    assert_false(exported(index));
}

/* A process of one GPU: the list is that GPU's. */
static void test_tried_rank(void **state)
{
    static const char ucx[] = "UCX_NET_DEVICES";

    (void)state;
    build("G1H1H1");
    node.policy.targets = NI_FOR_NIXL;
    node_env("LOCAL_RANK=0");
    node.inv.gdr_tried.slow[0] = 2;
    node_decide();
    assert_null(strchr(ni_plan_get(&node.plan, ucx)->value, ','));
    assert_reason(ucx, "the nearest to this process's GPU; tried, and slow ones left out");
}

static void test_prefix(void **state)
{
    static const struct {
        const char *names[2], *origin, *want;
    } cases[] = {
        {{"mlx5_0", "mlx5_1"}, "none", ""},     {{"mlx5_bond_0", "rail_mlx5"}, "none", ""},
        {{"roce12", "roce13"}, "rule", "roce"}, {{"rocep3s0", "rocep35s0"}, "rule", "rocep"},
        {{"mlx5_0", "roce0"}, "unset", ""},     {{"rail", "rail"}, "rule", "rail"},
    };

    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        build("H1H2");
        node.policy.targets = NI_FOR_NVSHMEM;
        for (int h = 0; h < 2; h++)
            ni_copy(node.inv.hca[h].name, NI_DEV_NAME, cases[i].names[h]);
        node_decide();
        assert_setting("NVSHMEM_HCA_PREFIX", cases[i].origin, cases[i].want);
    }
}

static void set_links(struct ni_pci *pci, uint16_t lanes)
{
    for (int i = 0; i < pci->depth; i++)
        pci->link[i] = (struct ni_lanes){16, 160};
    pci->link[pci->depth - 1].n = lanes;
}

/* NCCL compares bandwidth before distance: a near HCA whose own link has lost lanes is passed over. */
static void test_narrow_link(void **state)
{
    (void)state;
    for (int narrow = 0; narrow <= 1; narrow++) {
        build("G1H1H2");
        set_links(&node.inv.gpu[0].pci, 16);
        for (int i = 0; i < 2; i++) {
            node.inv.port[i].mbps = (struct ni_num){200000, NI_KNOWN};
            set_links(&node.inv.hca[i].pci, narrow && i == 0 ? 1 : 16);
        }
        node_decide();
        assert_int_equal(node.plan.taken[0].hca, narrow);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spread),      cmocka_unit_test(test_doubts),
        cmocka_unit_test(test_rank),        cmocka_unit_test(test_rank_index),
        cmocka_unit_test(test_map),         cmocka_unit_test(test_tried),
        cmocka_unit_test(test_tried_lists), cmocka_unit_test(test_tried_index),
        cmocka_unit_test(test_tried_rank),  cmocka_unit_test(test_prefix),
        cmocka_unit_test(test_narrow_link),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
