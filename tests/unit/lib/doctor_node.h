/* SPDX-License-Identifier: Apache-2.0 */
/* A healthy node with two rails and two GPUs, to be broken in one place, and what doctor says of it.
   For the tests of its checks. */
#ifndef NCCL_INIT_TEST_DOCTOR_NODE_H
#define NCCL_INIT_TEST_DOCTOR_NODE_H

#include "doctor/checks.h"
#include "nccl_init/env.h"
#include "nccl_init/findings.h"
#include "nccl_init/gpu.h"
#include "nccl_init/image.h"
#include "nccl_init/known.h"
#include "nccl_init/number.h"
#include "nccl_init/pci.h"
#include "nccl_init/plan.h"
#include "nccl_init/process.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "rules/decide.h"
#include "rules_node.h"

static struct ni_diagnosis diagnosis;
static struct ni_image image;

static inline void diagnose(void)
{
    const struct ni_env env = {node.entry};
    const struct ni_work work = {&node.inv, &env, &node.policy, &node.plan, &node.findings};
    node.inv.for_doctor = true;
    node_decide();
    ni_diagnose(&work, &diagnosis);
}

static inline enum ni_check_outcome outcome(const char *id)
{
    for (unsigned i = 0; i < diagnosis.n; i++) {
        if (strcmp(diagnosis.at[i].check->id, id) == 0)
            return diagnosis.at[i].outcome;
    }
    fail_msg("no check %s", id);
    return NI_CHECK_IDLE;
}

static inline struct ni_num known(int64_t v)
{
    return (struct ni_num){v, NI_KNOWN};
}

static inline const struct ni_finding *finding(ni_finding_number id)
{
    for (unsigned i = 0; i < node.findings.n; i++) {
        if (node.findings.at[i].id == id)
            return &node.findings.at[i];
    }
    fail_msg("no finding %s", ni_finding_id(id));
    return node.findings.at;
}

static inline void assert_found(ni_finding_number id, const char *subject, const char *words)
{
    const struct ni_finding *it = finding(id);
    assert_string_equal(it->subject, subject);
    if (!strstr(it->message, words))
        fail_msg("`%s` lacks `%s`", it->message, words);
    assert_true(strlen(it->message) + 1 < sizeof(it->message)); /* not cut */
}

/* Two healthy rails, a GPU beside each. */
static inline void healthy(void)
{
    static const char *const ip[] = {"10.0.1.5", "10.0.2.5"}, *const ndev[] = {"net1", "net2"};
    static const char *const name[] = {"mlx5_6", "mlx5_7"};
    static const char *const hca_at[] = {"0000:00:01.0 0000:01:00.0 0000:02:00.0 0000:03:00.2",
                                         "0000:10:01.0 0000:11:00.0 0000:12:00.0 0000:13:00.2"};
    static const char *const gpu_at[] = {"0000:00:01.0 0000:01:00.0 0000:02:01.0 0000:04:00.0",
                                         "0000:10:01.0 0000:11:00.0 0000:12:01.0 0000:14:00.0"};
    struct ni_drivers *d = &node.inv.drivers;
    struct ni_self *self = &node.inv.self;
    image = (struct ni_image){.known = NI_KNOWN,
                              .n_file = 3,
                              .file = {{.kind = NI_IMAGE_VERBS, .path = "usr/lib/libibverbs.so.1"},
                                       {.kind = NI_IMAGE_PROVIDER, .name = "mlx5"},
                                       {.kind = NI_IMAGE_DRIVER, .name = "mlx5"}}};
    node.inv.image = &image;
    for (int i = 0; i < 2; i++) {
        node_rail(name[i], 3, ip[i], ndev[i]);
        struct ni_hca *h = &node.inv.hca[i];
        struct ni_port *port = &node.inv.port[i];
        h->is_vf = true;
        node_chain(&h->pci, hca_at[i], i);
        snprintf(h->uverbs.name, sizeof(h->uverbs.name), "uverbs%d", i);
        h->uverbs.known = h->netdev_known = NI_KNOWN;
        h->netdev = i;
        node.inv.netdev[i].mtu = known(9000);
        h->handles = h->objects = known(NI_UNLIMITED);
        h->iommu = (struct ni_iommu){NI_KNOWN, "identity"};
        (void)ni_copy(h->driver, sizeof(h->driver), "mlx5_core");
        port->phys_state = known(5);
        port->counter[0] = known(9);
        port->traffic_class = known(-1);
        struct ni_gpu *g = &node.inv.gpu[node.inv.n_gpu++];
        for (unsigned k = 0; k < NI_PCIE_N; k++)
            h->link.now[k] = h->link.most[k] = g->link.now[k] = g->link.most[k] = known(16);
        node_chain(&g->pci, gpu_at[i], i);
        g->bdf = g->pci.at[g->pci.depth - 1];
    }
    node_eth0();
    node.inv.gdr = (struct ni_gdr){.peermem = NI_ABSENT, .open_driver = NI_KNOWN};
    node.inv.self.kernel_major = 6;
    node.inv.self.pid = known(7);
    self->cmdline_known = d->nvidiactl = d->uvm = NI_KNOWN;
    self->init_known = NI_KNOWN;
    node.inv.netns_mode = NI_NETNS_SHARED;
    self->host_known = d->imex = d->gdrdrv = NI_KNOWN;
    ni_copy(self->host_ip, sizeof(self->host_ip), "10.128.2.17");
    ni_copy(node.inv.gpu[0].model, sizeof(node.inv.gpu[0].model), "NVIDIA GB200");
    node.inv.gdr.cpu = NI_ABSENT;
    node.policy.targets = NI_FOR_NCCL | NI_FOR_NVSHMEM;
    d->peermem = d->ofed = d->peer_api = d->peer_client = NI_ABSENT;
    self->shm = known(INT64_C(16) << 30);
    ni_copy(self->init, sizeof(self->init), "tini");
}

static inline int set_up(void **state)
{
    node_reset(state);
    healthy();
    return 0;
}

#endif
