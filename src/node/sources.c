/* SPDX-License-Identifier: Apache-2.0 */
/* Sources of the pod's HCAs, asked in order of trust (docs/reference/rules.md). The first that
   gives an HCA decides; the others are kept beside it and compared. `run` and `env` ask the others
   only if that costs no file. */
#include "node/sources.h"

#include <errno.h>
#include <string.h>

#include "findings/device.h"
#include "nccl_init/allocation.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/pci.h"
#include "nccl_init/rdma.h"
#include "node/allocations.h"
#include "node/rdma.h"
#include "node/read.h"
#include "node/source_dra.h"
#include "node/source_json.h"
#include "node/source_vars.h"
#include "node/source_visible.h"
#include "sysroot/files.h"

static const struct source {
    ni_source_fn *add;
    bool from_env; /* reads the environment only */
} sources[] = {
    [NI_SRC_OPTION] = {ni_source_option, true},
    [NI_SRC_PCIDEVICE] = {ni_source_pcidevice, true},
    [NI_SRC_SRIOVNET] = {ni_source_sriovnet, true},
    [NI_SRC_DRA] = {ni_source_dra, false},
    [NI_SRC_NETSTATUS] = {ni_source_netstatus, true},
    [NI_SRC_UVERBS] = {ni_source_uverbs, false},
    [NI_SRC_NETDEV] = {ni_source_netdevs, false},
    [NI_SRC_HOST] = {ni_source_host, false},
};

/* Sorts the allocations as NCCL sorts its devices, by PCI address (2.29.7
   NCCL_IB_DEVICE_PCI_ORDER); all later code keeps this order. Devices without an address come last,
   by name. */
static void sort_allocations(struct ni_inventory *inv, unsigned from)
{
    for (unsigned i = from; i < inv->n_allocation; i++) {
        const struct ni_allocation c = inv->allocation[i];
        unsigned at = i;

        for (; at > from; at--) {
            const struct ni_allocation *before = &inv->allocation[at - 1];

            if (ni_pci_order(before->bdf, before->id, c.bdf, c.id) <= 0)
                break;
            inv->allocation[at] = *before;
        }
        inv->allocation[at] = c;
    }
}

static bool is_hca_of(const struct ni_hca *h, const struct ni_allocation *c)
{
    if (c->by == NI_BY_BDF)
        return !h->aux[0] && h->has_bdf && ni_bdf_cmp(h->bdf, c->bdf) == 0;
    return c->by != NI_BY_NOTHING && strcmp(c->by == NI_BY_AUX ? h->aux : h->name, c->id) == 0;
}

/* Returns true if the function exists and has no RDMA device, such as a GPU of DRA metadata. */
static bool is_other(struct ni_probe *p, const struct ni_allocation *c)
{
    const char *bus = c->by == NI_BY_AUX ? "auxiliary" : "pci";

    return ni_look_up(p->root, "sys/bus/%s/devices/%s", bus, c->id) >= 0 &&
           ni_look_up(p->root, "sys/bus/%s/devices/%s/infiniband", bus, c->id) == -ENOENT;
}

/* Compares an allocation of a later source with the first one's: it should give the same ids.
   Sources that give names see more than the pod's devices if the container has more rights; `plan`
   shows that, and it is no contradiction. */
static void compare_sources(struct ni_probe *p, struct ni_allocation *c)
{
    const struct ni_inventory *inv = p->inv;

    if (inv->source == NI_SRC_OPTION)
        return; /* the user's own list needs no confirmation */
    if (inv->source != NI_SRC_NONE && c->hca < 0 && (c->by == NI_BY_BDF || c->by == NI_BY_AUX) &&
        !is_other(p, c))
        ni_report(p->f, NI_F_ALLOC_SOURCES_DIFFER, c->id,
                  "%s names it, but %s, which decides, does not", c->from,
                  inv->allocation[inv->hca[0].allocation].from);
    if (c->hca >= 0 && c->rdma_dev[0] && strcmp(c->rdma_dev, inv->hca[c->hca].name) != 0)
        ni_report(p->f, NI_F_ALLOC_RDMA_DEV_DIFFERS, c->id, "%s says RDMA device %s, sysfs says %s",
                  c->from, c->rdma_dev, inv->hca[c->hca].name);
}

/* Lets one source add its allocations, in order. */
static void add_allocations(struct ni_probe *p, enum ni_source source)
{
    struct ni_inventory *inv = p->inv;
    const unsigned from = inv->n_allocation;
    const bool lost = p->lost;

    p->lost = false;
    p->source = source;
    sources[source].add(p);
    sort_allocations(inv, from);
    if (source == NI_SRC_UVERBS) {
        inv->read |= NI_NEED_UVERBS;
        inv->uverbs_unread = p->lost;
    }
    p->lost = p->lost || lost;
}

/* Finds the pod's HCA that an allocation of a later source means; -1: none. */
static int find_allocated_hca(const struct ni_inventory *inv, const struct ni_allocation *c)
{
    for (unsigned h = 0; h < inv->n_hca; h++) {
        if (ni_is_allocated(&inv->hca[h]) && is_hca_of(&inv->hca[h], c))
            return (int)h;
    }
    return -1;
}

/* Asks one source for allocations. The first source that gives HCAs decides; a later one is
   compared with it. */
static void ask_source(struct ni_probe *p, enum ni_source source)
{
    struct ni_inventory *inv = p->inv;
    const unsigned from = inv->n_allocation;

    add_allocations(p, source);
    for (unsigned i = from; i < inv->n_allocation; i++) {
        struct ni_allocation *c = &inv->allocation[i];

        if (inv->source == NI_SRC_NONE)
            ni_resolve_allocation(p, (int)i);
        else
            c->hca = find_allocated_hca(inv, c);
        compare_sources(p, c);
    }
    if (inv->source != NI_SRC_NONE || inv->n_hca == 0)
        return;
    inv->source = source;
    if (source == NI_SRC_NETDEV || source == NI_SRC_HOST)
        ni_report(p->f, NI_F_ALLOC_NO_UVERBS, "/dev/infiniband",
                  "no uverbs node opens; the HCAs were found by %s",
                  inv->allocation[inv->hca[0].allocation].from);
}

void ni_probe_sources(struct ni_probe *p)
{
    struct ni_inventory *inv = p->inv;

    for (enum ni_source source = NI_SRC_OPTION; source < NI_N_SOURCE; source++) {
        const bool decided = inv->source != NI_SRC_NONE;

        if (!decided && p->lost)
            /* the pod may have devices that no file shows, so no others are taken for them */
            break;
        if (!decided || sources[source].from_env || p->ask->all)
            ask_source(p, source);
    }
    inv->source_unread = inv->source == NI_SRC_NONE && p->lost;
}

void ni_probe_uverbs(struct ni_probe *p)
{
    if (p->inv->source != NI_SRC_NONE)
        ask_source(p, NI_SRC_UVERBS);
}
