/* SPDX-License-Identifier: Apache-2.0 */
/* A node and its plan, built by hand, for the tests of report/: an H100 machine (EPYC 9754, four GPUs, ConnectX-7) whose pod
   was given three VFs, a sub-function without RDMA, and nonsense; beside them two PFs of the host and a SoftRoCE device. */
#ifndef NCCL_INIT_TEST_REPORT_NODE_H
#define NCCL_INIT_TEST_REPORT_NODE_H

#include "findings/device.h"
#include "findings/pod.h"
#include "nccl_init/allocation.h"
#include "nccl_init/findings.h"
#include "nccl_init/gpu.h"
#include "nccl_init/inventory.h"
#include "nccl_init/ip.h"
#include "nccl_init/known.h"
#include "nccl_init/net.h"
#include "nccl_init/number.h"
#include "nccl_init/pci.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "print/words.h"
#include <string.h>

struct node {
    struct ni_inventory inv;
    struct ni_plan plan;
    struct ni_findings findings;
    struct ni_view view;
};

static struct node node; /* large: not on the stack */

static struct ni_num known(int64_t v)
{
    return (struct ni_num){v, NI_KNOWN};
}

static struct ni_bdf pci(const char *text)
{
    struct ni_bdf bdf = {0};
    (void)ni_parse_bdf(ni_span_of(text), &bdf);
    return bdf;
}

static int claim(const char *id, int hca)
{
    struct ni_allocation *c = &node.inv.allocation[node.inv.n_allocation];
    c->source = NI_SRC_PCIDEVICE;
    c->hca = hca;
    ni_copy(c->id, sizeof(c->id), id);
    ni_copy(c->from, sizeof(c->from), "PCIDEVICE_OPENSHIFT_IO_RAIL");
    return (int)node.inv.n_allocation++;
}

/* A VF when pf is given. One port. */
static struct ni_hca *hca(const char *name, const char *bdf, const char *pf, bool claimed)
{
    struct ni_inventory *inv = &node.inv;
    int at = (int)inv->n_hca++;
    struct ni_hca *h = &inv->hca[at];
    ni_copy(h->name, sizeof(h->name), name);
    h->has_bdf = bdf != NULL;
    h->bdf = pci(bdf ? bdf : "");
    h->is_vf = pf != NULL;
    h->pf = pci(pf ? pf : "");
    h->pci.known = bdf ? NI_KNOWN : NI_ABSENT;
    if (bdf) /* facts/ reads it of no other */
        h->pci.numa = known(0);
    h->allocation = claimed ? claim(bdf, at) : -1;
    h->netdev = -1;
    h->first_port = (int)inv->n_port;
    h->n_port = 1;
    inv->port[inv->n_port++] = (struct ni_port){.hca = at,
                                                .num = 1,
                                                .state = known(NI_PORT_ACTIVE),
                                                .link = NI_LINK_ROCE,
                                                .mbps = known(400000),
                                                .first_gid = -1};
    return h;
}

static int netdev(const char *name, bool running)
{
    struct ni_netdev *d = &node.inv.netdev[node.inv.n_netdev];
    ni_copy(d->name, sizeof(d->name), name);
    d->known = NI_KNOWN;
    d->running = running;
    d->mtu = known(9000);
    return (int)node.inv.n_netdev++;
}

static int gid(const char *ip, unsigned index, const char *ndev)
{
    struct ni_gid *g = &node.inv.gid[node.inv.n_gid];
    (void)ni_parse_ipv4(ni_span_of(ip), g->ip);
    g->index = (uint16_t)index;
    g->type = NI_GID_V2;
    g->owner = NI_OWNER_POD;
    ni_copy(g->ndev, sizeof(g->ndev), ndev);
    return (int)node.inv.n_gid++;
}

static void gpu(const char *bdf, int minor, const char *near, enum ni_distance distance)
{
    unsigned at = node.inv.n_gpu++;
    struct ni_gpu *g = &node.inv.gpu[at];
    g->bdf = pci(bdf);
    g->minor = minor;
    g->pci.known = NI_KNOWN;
    g->pci.numa = known(at < 1 ? 0 : 1);
    node.plan.nearest_hca[at].index = -1;
    node.plan.taken[at].hca = -1;
    for (unsigned i = 0; near && i < node.inv.n_hca; i++) {
        if (strcmp(node.inv.hca[i].name, near) == 0) {
            node.plan.nearest_hca[at] = (struct ni_near){(int)i, distance};
            node.plan.distance[at][i] = (uint8_t)distance;
        }
    }
}

static struct ni_setting *setting(const char *name, enum ni_origin origin, const char *rule,
                                  const char *value, const char *reason)
{
    struct ni_setting *s = &node.plan.setting[node.plan.n_setting++];
    s->name = name;
    s->rule = rule;
    s->origin = origin;
    ni_copy(s->value, sizeof(s->value), value);
    ni_copy(s->reason, sizeof(s->reason), reason);
    return s;
}

/* What became of the port of the last HCA; gid -1: none. */
static void pick(bool chosen, const char *why, int right_gid)
{
    int port = (int)node.inv.n_port - 1;
    struct ni_port_plan *p = &node.plan.port[port];
    p->chosen = chosen;
    p->rule = "hca.ports";
    p->best = p->gid = right_gid;
    p->nccl_index = -1;
    ni_copy(p->why, sizeof(p->why), why);
    if (chosen)
        node.plan.chosen[node.plan.n_chosen++] = port;
}

static void build_hcas(void)
{
    node.inv.source = NI_SRC_PCIDEVICE;
    hca("mlx5_6", "0000:03:00.2", "0000:03:00.0", true)->netdev = netdev("net1", true);
    pick(true, "given by PCIDEVICE_OPENSHIFT_IO_RAIL, port ACTIVE", gid("10.0.103.6", 3, "net1"));
    struct ni_hca *h = hca("mlx5_10", "0000:a3:00.2", "0000:a3:00.0", true);
    h->netdev = netdev("net3", true);
    h->pci.numa = known(1);
    pick(true, "given by PCIDEVICE_OPENSHIFT_IO_RAIL, port ACTIVE", gid("10.0.105.7", 3, "net3"));
    h = hca("mlx5_8", "0000:c4:00.2", "0000:c4:00.0", true);
    h->netdev = netdev("net5", false);
    node.inv.port[h->first_port].state = known(NI_PORT_DOWN);
    node.inv.port[h->first_port].mbps = known(2500);
    h->pci.numa = (struct ni_num){0, NI_DENIED};
    pick(false, "port is DOWN", -1);
    hca("mlx5_2", "0000:23:00.0", NULL, false);
    pick(false, "not the pod's", -1);
    hca("mlx5_3", "0000:03:00.0", NULL, false);
    pick(false, "not the pod's", -1);
    hca("rxe0", NULL, NULL, false)->n_port = 0;
    claim("0000:65:00.0", -1);
    claim("../../etc", -1);
}

static void build_settings(void)
{
    setting("NCCL_IB_DISABLE", NI_FROM_RULE, "net.transport", "0", "2 RDMA ports in use");
    setting("NCCL_IB_HCA", NI_FROM_RULE, "hca.list", "=mlx5_6:1,mlx5_10:1",
            "the pod's ACTIVE RoCE ports, PCI order; the second `=` means exact names");
    setting("NCCL_IB_GID_INDEX", NI_FROM_RULE, "gid.index", "3",
            "RoCE v2 with an address of this pod on every chosen port, e.g. 10.0.103.6");
    setting("NCCL_SOCKET_IFNAME", NI_FROM_USER, "socket.ifname", "eth0",
            "yours stays; the rule says =net1,net3: interfaces of the chosen ports");
    struct ni_setting *s = setting("NCCL_NET_GDR_LEVEL", NI_FROM_CONF, "gdr.level", "PHB",
                                   "yours stays; the rule says PXB: each GPU reaches its HCA");
    ni_copy(s->file, sizeof(s->file), "/etc/nccl.conf");
    setting("NCCL_IB_MERGE_VFS", NI_LEFT_UNSET, "pci.merge-vfs", "",
            "NCCL finds the PFs of these VFs by itself");
}

static void build_node(void)
{
    memset(&node, 0, sizeof(node));
    node.plan.transport = NI_NET_RDMA;
    build_hcas();
    gpu("0000:06:00.0", 0, "mlx5_6", NI_DIST_PXB);
    gpu("0000:a6:00.0", 2, "mlx5_10", NI_DIST_PXB);
    gpu("0000:c6:00.0", -1, NULL, NI_DIST_UNKNOWN);
    node.inv.gdr.peermem = NI_ABSENT;
    node.inv.gdr.open_driver = NI_KNOWN;
    build_settings();
    node.inv.self.memlock_soft = known(8 << 20);
    node.inv.self.memlock_hard = known(NI_UNLIMITED);
    node.plan.memlock = (struct ni_limit){.soft = NI_UNLIMITED, .hard = NI_UNLIMITED};
    ni_report(&node.findings, NI_F_HCA_PORT_DOWN, "mlx5_8/1", "port is DOWN, not ACTIVE; left out");
    ni_report(&node.findings, NI_F_ALLOC_NOT_RDMA, "0000:65:00.0", "has no RDMA device");
    ni_report(&node.findings, NI_F_SHM_DEFAULT, "/dev/shm", "64 MiB");
    node.view = (struct ni_view){
        .inv = &node.inv, .plan = &node.plan, .findings = &node.findings, .root = "h100.tree"};
}

/* What the report puts out, in a static buffer. */
static const char *written(ni_report_fn *put)
{
    static char text[4 << 20];
    struct ni_text t = ni_text_on(text, sizeof(text));
    put(&t, &node.view);
    return t.cut ? "cut" : text;
}

#endif
