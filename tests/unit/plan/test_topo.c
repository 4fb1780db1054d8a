/* SPDX-License-Identifier: Apache-2.0 */
/* The topology as text, JSON and graph, of nodes built by hand. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>
#include <cmocka.h>

#include "lib/report_node.h"
#include "lib/svg.h"
#include "nccl_init/allocation.h"
#include "nccl_init/base.h"
#include "nccl_init/gpu.h"
#include "nccl_init/known.h"
#include "nccl_init/pci.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "plan/report_json.h"
#include "plan/topo.h"
#include "plan/topo_svg.h"
#include "print/words.h"

/* path: "0000:00:01.1 0000:03:00.2", from the host bridge of that bus down. */
static void place(struct ni_pci *p, uint8_t root_bus, int64_t numa, const char *path)
{
    struct ni_span bdf;
    *p = (struct ni_pci){.known = NI_KNOWN, .root_bus = root_bus, .numa = known(numa)};
    while (ni_split(&path, ' ', &bdf))
        assert_int_equal(ni_parse_bdf(bdf, &p->at[p->depth++]), 0);
}

static void distances(unsigned g, const enum ni_distance *d)
{
    for (unsigned h = 0; h < node.inv.n_hca; h++)
        node.plan.distance[g][h] = (uint8_t)d[h];
}

/* Two GPUs and a third whose place is unknown; two HCAs of the pod that serve, one that is down, a
   PF of the host, SoftRoCE. */
static void build_hcas_of_tree(void)
{
    node.inv.source = NI_SRC_PCIDEVICE;
    struct ni_hca *h = hca("mlx5_6", "0000:03:00.2", "0000:03:00.0", true);
    place(&h->pci, 0x00, 0, "0000:00:01.1 0000:01:00.0 0000:02:00.0 0000:03:00.2");
    (void)netdev("net1", true);
    pick(true, "port ACTIVE", gid("10.0.103.6", 3, "net1"));
    h = hca("mlx5_10", "0000:a3:00.2", "0000:a3:00.0", true);
    place(&h->pci, 0xa0, 1, "0000:a0:01.1 0000:a3:00.2");
    h->netdev = netdev("net3", true);
    pick(true, "port ACTIVE", -1);
    h = hca("mlx5_8", "0000:23:00.2", "0000:23:00.0", true);
    place(&h->pci, 0x20, 0, "0000:20:01.1 0000:23:00.2");
    pick(false, "port is DOWN", -1);
    h = hca("mlx5_3", "0000:03:00.0", NULL, false);
    place(&h->pci, 0x00, 0, "0000:00:01.1 0000:01:00.0 0000:02:00.0 0000:03:00.0");
    pick(false, "not the pod's", -1);
    hca("rxe0", NULL, NULL, false)->n_port = 0;
}

static int setup(void **state)
{
    static const enum ni_distance near_0[] = {NI_DIST_PIX, NI_DIST_SYS, NI_DIST_PHB, NI_DIST_PIX,
                                              NI_DIST_UNKNOWN};
    static const enum ni_distance near_1[] = {NI_DIST_SYS, NI_DIST_PHB, NI_DIST_SYS, NI_DIST_SYS,
                                              NI_DIST_UNKNOWN};
    (void)state;
    build_node(); /* of which the findings stay */
    memset(&node.inv, 0, sizeof(node.inv));
    memset(&node.plan, 0, sizeof(node.plan));
    node.plan.transport = NI_NET_RDMA;
    build_hcas_of_tree();
    gpu("0000:06:00.0", 0, "mlx5_6", NI_DIST_PIX);
    place(&node.inv.gpu[0].pci, 0x00, 0, "0000:00:01.1 0000:01:00.0 0000:02:01.0 0000:06:00.0");
    gpu("0000:a6:00.0", 1, "mlx5_10", NI_DIST_PHB);
    place(&node.inv.gpu[1].pci, 0xa0, 1, "0000:a0:03.1 0000:a6:00.0");
    gpu("0000:c6:00.0", -1, NULL, NI_DIST_UNKNOWN);
    node.inv.gpu[2].pci = (struct ni_pci){.known = NI_DENIED};
    node.plan.chosen[0] = 0;
    node.plan.chosen[1] = 1;
    node.plan.n_chosen = 2;
    node.plan.gpu_ports[0] = 1;
    node.plan.gpu_ports[1] = 2;
    distances(0, near_0);
    distances(1, near_1);
    node.view = (struct ni_view){.inv = &node.inv,
                                 .plan = &node.plan,
                                 .findings = &node.findings,
                                 .root = "two.tree",
                                 .all = true};
    return 0;
}

/* ---- text ---- */

static void test_colour(void **state)
{
    (void)state;
    node.view.colour = true;
    const char *text = written(ni_put_topo);
    assert_non_null(strstr(text,
                           "\n  \033[32mmlx5_6/1   0000:03:00.2  0     net1    yes     PIX*  SYS   "
                           "-\033[0m\n"));
    assert_non_null(strstr(text, "\n  \033[2mmlx5_8/1   0000:23:00.2"));
}

/* A farther HCA is marked if NCCL takes it; of a fused NIC all ports are. With NVLink-C2C it is the
   nearest. */
static void test_taken(void **state)
{
    (void)state;
    node.plan.taken[0] =
        (struct ni_taken){.hca = 1, .distance = NI_DIST_SYS, .ports = 2, .as_fast = 2};
    const char *text = written(ni_put_topo);
    assert_non_null(strstr(text, " mlx5_10 SYS "));
    assert_null(strstr(text, "PIX*"));
    node.plan.taken[0].ports = 3;
    node.plan.taken[0].fused = true;
    text = written(ni_put_topo);
    assert_non_null(strstr(text, " mlx5_6/1+mlx5_10/1 SYS "));
    assert_non_null(strstr(text, "PIX*"));
    node.inv.gdr.c2c = true;
    text = written(ni_put_topo);
    assert_non_null(strstr(text, " mlx5_6 PIX "));
}

static void others(unsigned n, const char *name)
{
    for (unsigned i = 0; i < n && node.inv.n_hca < NI_MAX_HCA; i++) {
        hca(name, "0000:99:00.1", NULL, false);
        pick(false, "not the pod's", -1);
    }
}

static void test_ports(void **state)
{
    (void)state;
    struct ni_hca *h = hca("mlx4_0", "0000:05:00.0", NULL, true);
    (void)netdev("net7", true);
    (void)netdev("net8", true);
    pick(true, "port ACTIVE", gid("10.0.1.1", 1, "net7"));
    node.inv.port[node.inv.n_port++] = (struct ni_port){.hca = (int)node.inv.n_hca - 1, .num = 2};
    pick(false, "port is DOWN", gid("10.0.2.1", 1, "net8"));
    h->n_port = 2;
    node.inv.port[node.inv.n_port++] = (struct ni_port){.hca = (int)node.inv.n_hca - 1, .num = 3};
    pick(true, "port ACTIVE", gid("10.0.3.1", 1, "net7"));
    h->n_port = 3;
    const char *text = written(ni_put_topo);
    assert_non_null(strstr(text, "\n  mlx4_0/1   0000:05:00.0  0     net7    yes "));
    assert_non_null(strstr(text, "\n  mlx4_0/2   0000:05:00.0  0     net8    no "));
}

static void test_without(void **state)
{
    (void)state;
    node.inv.n_gpu = 0;
    const char *text = written(ni_put_topo);
    assert_non_null(strstr(text, "\n  rxe0       -             -     -       no\n"));
    setup(NULL);
    node.inv.n_hca = 0;
    assert_null(strstr(written(ni_put_topo), "HCAs\n"));
    node.inv.n_gpu = 0;
    node.plan.transport = NI_NET_OFF;
    assert_string_equal(written(ni_put_topo),
                        "Topology: nothing is decided (mode off); HCAs given by "
                        "PCIDEVICE_* (SR-IOV device plugin); root two.tree\n");
}

/* A node without HCAs of the pod shows the host's, however many. */
static void test_of_host(void **state)
{
    (void)state;
    node.plan.port[0].chosen = node.plan.port[1].chosen = false;
    others(20, "mlx5_20");
    for (unsigned i = 0; i < node.inv.n_hca; i++)
        node.inv.hca[i].allocation = -1;
    const char *text = written(ni_put_topo);
    assert_non_null(strstr(text, "mlx5_20"));
    assert_null(strstr(text, "others"));
}

/* Without --all those that are not the pod's are left out. */
static void test_not_all(void **state)
{
    (void)state;
    node.view.all = false;
    others(7, "mlx5_20");
    assert_null(strstr(written(ni_put_topo), "mlx5_20"));
    assert_null(strstr(written(ni_put_topo_dot), "mlx5_20"));
}

/* The way of GPUDirect RDMA: what could not be read is not said to be absent. */
static void test_gdr_way(void **state)
{
    static const struct {
        enum ni_known open_driver, peermem;
        unsigned major, minor; /* of the kernel; 0.0: not known */
        const char *words;
    } cases[] = {
        {NI_KNOWN, NI_ABSENT, 5, 12, ": by DMA-BUF\n"},
        {NI_KNOWN, NI_KNOWN, 5, 12, ": by DMA-BUF, or else by the peer memory module\n"},
        {NI_KNOWN, NI_KNOWN, 5, 4, ": by the peer memory module\n"},
        {NI_KNOWN, NI_ABSENT, 5, 4, ": no way: DMA-BUF needs kernel 5.12"},
        {NI_KNOWN, NI_ABSENT, 0, 0, ": not known: the kernel's version"},
        {NI_KNOWN, NI_DENIED, 5, 4, ": not known: the modules"},
        {NI_ABSENT, NI_ABSENT, 5, 12, ": no way: neither"},
        {NI_DENIED, NI_ABSENT, 5, 12, ": not known: the modules"},
    };

    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        node.inv.gdr.open_driver = cases[i].open_driver;
        node.inv.gdr.peermem = cases[i].peermem;
        node.inv.self.kernel_major = cases[i].major;
        node.inv.self.kernel_minor = cases[i].minor;
        const char *line = strstr(written(ni_put_topo), "GPUDirect RDMA: ");

        assert_non_null(line);
        line += strlen("GPUDirect RDMA");
        if (strncmp(line, cases[i].words, strlen(cases[i].words)) != 0)
            fail_msg("%zu: %.80s", i, line);
    }
}

/* GPU to GPU, in the words of the other table. */
static void test_gpus(void **state)
{
    (void)state;
    const char *text = written(ni_put_topo);
    assert_non_null(strstr(text, "\n  GPU   GPU0  GPU1  GPU2\n"
                                 "  GPU0  X     SYS   -\n"
                                 "  GPU1  SYS   X     -\n"
                                 "  GPU2  -     -     X\n"));
    assert_null(strstr(text, "NODE "));
}

/* The picture ties each GPU to the ports that the table names; to none where distances mean nothing. */
static void test_svg(void **state)
{
    (void)state;
    ni_copy(node.inv.hca[0].name, sizeof(node.inv.hca[0].name), "a<b&c\"d");
    const char *text = written(ni_put_topo_svg);
    assert_picture(text);
    assert_non_null(strstr(text, ">a&#60;b&#38;c&#34;d port 1: "));
    assert_non_null(strstr(text, ">recording two.tree</text>"));
    assert_int_equal(count_parts(text, "<path "), 2);
    assert_int_equal(count_parts(text, ", chosen</text>"), 2);
    assert_int_equal(count_parts(text, ", left out: port is "), 1);
    assert_int_equal(count_parts(text, "not the pod&#39;s</text>"), 2);
    assert_int_equal(count_parts(text, ">NUMA 0</text>"), 1);
    assert_int_equal(count_parts(text, "width=\"470\""), node.inv.n_gpu + node.inv.n_hca);
    /* an IOMMU that translates stands in the box of the HCA, and in the legend */
    assert_int_equal(count_parts(text, "IOMMU"), 0);
    node.inv.hca[0].has_bdf = true;
    ni_copy(node.inv.hca[0].iommu.type, sizeof(node.inv.hca[0].iommu.type), "DMA-FQ");
    text = written(ni_put_topo_svg);
    assert_int_equal(count_parts(text, "; the IOMMU translates</text>"), 1);
    assert_int_equal(count_parts(text, "stroke=\"#c00000\""), 1);
    assert_non_null(strstr(text, "iommu.translated</text>"));
    node.inv.gdr.c2c = true;
    assert_int_equal(count_parts(written(ni_put_topo_svg), "IOMMU"), 0);
    node.inv.gdr.c2c = false;
    node.inv.hca[0].iommu.type[0] = '\0';
    /* the boxes are as wide as the longest words */
    ni_copy(node.inv.hca[0].name, sizeof(node.inv.hca[0].name),
            "a_name_of_sixty_letters_that_some_udev_rule_gave_to_a_device");
    assert_int_equal(count_parts(written(ni_put_topo_svg), "width=\"470\""), 0);
    /* each HCA beside the GPU, with its distance */
    node.plan.gpu_ports[0] = 3;
    text = written(ni_put_topo_svg);
    assert_int_equal(count_parts(text, "<path "), 3);
    assert_int_equal(
        count_parts(text,
                    ">PIX a_name_of_sixty_letters_that_some_udev_rule_gave_to_a_device, SYS "),
        1);
    node.plan.distance[0][1] = NI_DIST_PIX;
    text = written(ni_put_topo_svg);
    assert_int_equal(count_parts(text, "<path "), 3);
    assert_int_equal(count_parts(text, "_to_a_device, PIX "), 1);
    place(&node.inv.gpu[0].pci, 0x00, 0, "0000:00:06.0");
    text = written(ni_put_topo_svg);
    assert_int_equal(count_parts(text, "<path "), 0);
    assert_non_null(strstr(text, "The PCI tree is flattened"));
    node.inv.n_gpu = node.inv.n_hca = 0;
    assert_non_null(strstr(written(ni_put_topo_svg), "There is no GPU and no HCA."));
}

/* ---- JSON ---- */

static const char *text_at(json_t *obj, const char *key)
{
    const char *s = json_string_value(json_object_get(obj, key));
    return s ? s : "(none)";
}

static bool null_at(json_t *obj, const char *key)
{
    return json_is_null(json_object_get(obj, key));
}

static void check_gpus(json_t *gpus)
{
    json_t *gpu0 = json_array_get(gpus, 0), *gpu2 = json_array_get(gpus, 2);
    json_t *all = json_object_get(gpu0, "distances");
    assert_int_equal(json_array_size(gpus), 3);
    assert_string_equal(text_at(gpu0, "pci"), "0000:06:00.0");
    assert_int_equal(json_integer_value(json_object_get(gpu0, "numa")), 0);
    assert_int_equal(json_array_size(all), 5);
    assert_string_equal(text_at(json_array_get(all, 0), "hca"), "mlx5_6");
    assert_string_equal(text_at(json_array_get(all, 0), "distance"), "PIX");
    assert_string_equal(text_at(json_array_get(all, 2), "distance"), "PHB");
    assert_true(null_at(json_array_get(all, 4), "distance"));
    assert_true(null_at(gpu2, "minor"));
    assert_true(null_at(gpu2, "numa"));
}

static void check_hcas(json_t *hcas)
{
    json_t *vf = json_array_get(hcas, 0), *rxe = json_array_get(hcas, 4);
    assert_int_equal(json_array_size(hcas), 5);
    assert_string_equal(text_at(vf, "name"), "mlx5_6");
    assert_string_equal(text_at(vf, "parent"), "0000:03:00.0");
    assert_true(null_at(rxe, "pci"));
}

static void test_json(void **state)
{
    (void)state;
    const char *text = written(ni_put_plan_json);
    assert_true(ni_has_prefix(text, "{\n  \"schema\": 1,\n  \"root\": \"two.tree\",\n"));
    json_t *j = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(j);
    assert_string_equal(text_at(j, "transport"), "rdma");
    assert_string_equal(text_at(j, "source"), "pcidevice");
    check_gpus(json_object_get(j, "gpus"));
    check_hcas(json_object_get(j, "hcas"));
    json_decref(j);
}

/* ---- graph ---- */

static const char graph[] =
    "  gpu0 [label=\"GPU0\\n0000:06:00.0\", style=filled, fillcolor=\"#d5e8c8\"];\n"
    "  subgraph cluster0 { label=\"NUMA node 0\"; \"pci0000:00\" -- \"0000:00:01.1\" -- "
    "\"0000:01:00.0\" -- "
    "\"0000:02:01.0\" -- gpu0; }\n"
    "  gpu1 [label=\"GPU1\\n0000:a6:00.0\", style=filled, fillcolor=\"#d5e8c8\"];\n"
    "  subgraph cluster1 { label=\"NUMA node 1\"; \"pci0000:a0\" -- \"0000:a0:03.1\" -- gpu1; }\n"
    "  gpu2 [label=\"GPU2\\n0000:c6:00.0\", style=filled, fillcolor=\"#d5e8c8\"];\n"
    "  hca0 [label=\"mlx5_6\\n0000:03:00.2\", style=filled, fillcolor=\"#cfe0f5\"];\n"
    "  subgraph cluster0 { label=\"NUMA node 0\"; \"pci0000:00\" -- \"0000:00:01.1\" -- "
    "\"0000:01:00.0\" -- "
    "\"0000:02:00.0\" -- hca0; }\n"
    "  hca1 [label=\"mlx5_10\\n0000:a3:00.2\", style=filled, fillcolor=\"#cfe0f5\"];\n"
    "  subgraph cluster1 { label=\"NUMA node 1\"; \"pci0000:a0\" -- \"0000:a0:01.1\" -- hca1; }\n"
    "  hca2 [label=\"mlx5_8\\n0000:23:00.2\", style=filled, fillcolor=\"#cfe0f5\"];\n"
    "  \"pci0000:20\" -- \"0000:20:01.1\" -- hca2;\n"
    "  hca3 [label=\"mlx5_3\\n0000:03:00.0\", style=dashed, fontcolor=\"#606060\"];\n"
    "  subgraph cluster0 { label=\"NUMA node 0\"; \"pci0000:00\" -- \"0000:00:01.1\" -- "
    "\"0000:01:00.0\" -- "
    "\"0000:02:00.0\" -- hca3; }\n"
    "  hca4 [label=\"rxe0\", style=dashed, fontcolor=\"#606060\"];\n"
    "  gpu0 -- hca0 [style=dotted, penwidth=2, color=\"#c04000\", fontcolor=\"#c04000\", "
    "constraint=false, "
    "label=\"PIX\"];\n"
    "  gpu1 -- hca1 [style=dotted, penwidth=2, color=\"#c04000\", fontcolor=\"#c04000\", "
    "constraint=false, "
    "label=\"PHB\"];\n"
    "}\n";

static void test_dot(void **state)
{
    (void)state;
    node.inv.hca[2].pci.numa = known(-1); /* then in no box */
    const char *text = written(ni_put_topo_dot);
    assert_true(ni_has_prefix(text, "strict graph topo {\n"));
    text = strstr(text, "  gpu0 ");
    assert_non_null(text);
    assert_string_equal(text, graph);
}

/* ---- what a node may do to a report ---- */

static void test_hostile(void **state)
{
    (void)state;
    struct ni_hca *h = &node.inv.hca[0];
    ni_copy(h->name, sizeof(h->name), "a\"];b\\\n\033[31m\xff");
    ni_copy(node.inv.gid[0].ndev, sizeof(node.inv.gid[0].ndev), "n\"\\,\t");
    node.view.root = "r\"\n";
    static const enum { TEXT, JSON, DOT } forms[] = {TEXT, JSON, DOT};
    for (size_t i = 0; i < NI_COUNT(forms); i++) {
        const char *text = written(forms[i] == TEXT   ? ni_put_topo
                                   : forms[i] == JSON ? ni_put_plan_json
                                                      : ni_put_topo_dot);
        for (const char *c = text; *c; c++)
            assert_true(*c == '\n' || (*c >= ' ' && *c <= '~'));
    }
    const char *dot = written(ni_put_topo_dot);
    assert_non_null(
        strstr(dot, "hca0 [label=\"a\\\"];b\\\\\\\\x0a\\\\x1b[31m\\\\xff\\n0000:03:00.2\", "));
}

/* All pools full, all names as long as they can be. */
static void test_full(void **state)
{
    char name[NI_DEV_NAME];
    (void)state;
    memset(name, '\001', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    while (node.inv.n_hca < NI_MAX_HCA) {
        hca(name, "ffffffff:ff:1f.7", NULL, true)->netdev = netdev(name, true);
        pick(node.plan.n_chosen < NI_MAX_CHOSEN, "", -1);
        ni_copy(node.inv.netdev[node.inv.n_netdev - 1].name, NI_IF_NAME, "\1\1\1\1\1\1\1\1\1\1");
    }
    while (node.inv.n_gpu < NI_MAX_GPU)
        gpu("ffffffff:ff:1f.7", -1, NULL, NI_DIST_UNKNOWN);
    for (unsigned i = 0; i < NI_MAX_HCA; i++) {
        struct ni_pci *p = &node.inv.hca[i].pci;
        p->known = NI_KNOWN;
        p->depth = NI_MAX_DEPTH;
        p->numa = known(i % 3 == 0 ? INT64_MAX : (int64_t)i);
        p->root_domain = UINT32_MAX - i % 7;
        p->root_bus = 0;
        for (unsigned k = 0; k + 1 < NI_MAX_DEPTH; k++)
            p->at[k] = (struct ni_bdf){p->root_domain, (uint8_t)k, 0, (uint8_t)(i % 2)};
        p->at[NI_MAX_DEPTH - 1] = (struct ni_bdf){p->root_domain, 99, (uint8_t)(i / 8), 0};
    }
    const char *text = written(ni_put_topo);
    assert_non_null(strstr(text, "\n  GPU31  ffffffff:ff:1f.7  "));
    text = written(ni_put_topo_dot);
    assert_string_equal(text + strlen(text) - 2, "}\n");
    json_t *j = json_loads(written(ni_put_plan_json), JSON_REJECT_DUPLICATES, NULL);
    assert_int_equal(json_array_size(json_object_get(j, "hcas")), NI_MAX_HCA);
    json_decref(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_taken, setup),   cmocka_unit_test_setup(test_colour, setup),
        cmocka_unit_test_setup(test_ports, setup),   cmocka_unit_test_setup(test_without, setup),
        cmocka_unit_test_setup(test_of_host, setup), cmocka_unit_test_setup(test_not_all, setup),
        cmocka_unit_test_setup(test_gpus, setup),    cmocka_unit_test_setup(test_svg, setup),
        cmocka_unit_test_setup(test_json, setup),    cmocka_unit_test_setup(test_dot, setup),
        cmocka_unit_test_setup(test_hostile, setup), cmocka_unit_test_setup(test_full, setup),
        cmocka_unit_test_setup(test_gdr_way, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
