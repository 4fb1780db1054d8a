/* SPDX-License-Identifier: Apache-2.0 */
/* Which HCAs are the pod's: the sources in order of trust (docs/usage.md). The first that yields an
   HCA decides; what the others say is kept beside it and compared. `run` and `env` ask the others
   only where that costs no file. */
#include <string.h>

#include "probe.h"

static const struct source {
    const char *what;
    void (*add)(struct ni_probe *p);
    bool from_env; /* reads the environment only */
} sources[] = {
    [NI_SRC_OPTION] = {"--hcas", ni_source_option, true},
    [NI_SRC_PCIDEVICE] = {"PCIDEVICE_*", ni_source_pcidevice, true},
    [NI_SRC_SRIOVNET] = {"SRIOVNETWORK_*", ni_source_sriovnet, true},
    [NI_SRC_DRA] = {"DRA metadata", ni_source_dra, false},
    [NI_SRC_NETSTATUS] = {"network-status", ni_source_netstatus, true},
    [NI_SRC_UVERBS] = {"/dev/infiniband", ni_source_uverbs, false},
    [NI_SRC_NETDEV] = {"interfaces", ni_source_netdevs, false},
    [NI_SRC_HOST] = {"host network", ni_source_host, false},
};

/* NCCL sorts its devices by PCI address (2.29.7 NCCL_IB_DEVICE_PCI_ORDER); all that follows keeps
   this order. An auxiliary name and a device without an address come last, by name. */
static void sort_claims(struct ni_probe *p, unsigned from)
{
    struct ni_inventory *inv = p->inv;
    struct ni_bdf key[NI_MAX_CLAIM];
    for (unsigned i = from; i < inv->n_claim; i++) {
        const struct ni_claim c = inv->claim[i];
        const struct ni_bdf k = c.by == NI_BY_BDF    ? c.bdf
                                : c.by == NI_BY_NAME ? ni_class_bdf(p, c.id)
                                                     : NI_LAST_BDF;
        unsigned at = i;
        for (; at > from; at--) {
            int order = ni_bdf_cmp(key[at - 1], k);
            if (order < 0 || (order == 0 && ni_natural_cmp(inv->claim[at - 1].id, c.id) <= 0))
                break;
            inv->claim[at] = inv->claim[at - 1];
            key[at] = key[at - 1];
        }
        inv->claim[at] = c;
        key[at] = k;
    }
}

static bool is_of(const struct ni_hca *h, const struct ni_claim *c)
{
    switch (c->by) {
    case NI_BY_BDF:
        return !h->aux[0] && h->has_bdf && ni_bdf_cmp(h->bdf, c->bdf) == 0;
    case NI_BY_AUX:
        return strcmp(h->aux, c->id) == 0;
    case NI_BY_NAME:
        return strcmp(h->name, c->id) == 0;
    case NI_BY_NOTHING:
        break;
    }
    return false;
}

/* A later source that tells ids should tell the same ones. Sources that know names see more than
   the pod was given where the container has more rights; that is said in the plan, and is no
   contradiction. */
static void compare(struct ni_probe *p, struct ni_claim *c)
{
    const struct ni_inventory *inv = p->inv;
    if (inv->source == NI_SRC_OPTION)
        return; /* the user's word needs no second one */
    if (inv->source != NI_SRC_NONE && c->hca < 0 && (c->by == NI_BY_BDF || c->by == NI_BY_AUX))
        ni_report(p->f, NI_F_ALLOC_SOURCES_DIFFER, c->id,
                  "named by %s, but not by what decided (%s)", sources[c->source].what,
                  inv->claim[inv->hca[0].claim].from);
    if (c->hca >= 0 && c->rdma_dev[0] && strcmp(c->rdma_dev, inv->hca[c->hca].name) != 0)
        ni_report(p->f, NI_F_ALLOC_RDMA_DEV_DIFFERS, c->id, "%s says RDMA device %s, sysfs says %s",
                  c->from, c->rdma_dev, inv->hca[c->hca].name);
}

static void ask(struct ni_probe *p, enum ni_source source)
{
    struct ni_inventory *inv = p->inv;
    const unsigned from = inv->n_claim;
    const bool lost = p->lost;
    p->lost = false;
    p->source = source;
    sources[source].add(p);
    sort_claims(p, from);
    if (source == NI_SRC_UVERBS) {
        inv->read |= NI_WANT_UVERBS;
        inv->uverbs_unread = p->lost;
    }
    p->lost = p->lost || lost;
    for (unsigned i = from; i < inv->n_claim; i++) {
        struct ni_claim *c = &inv->claim[i];
        if (inv->source == NI_SRC_NONE)
            ni_resolve_claim(p, (int)i);
        for (unsigned h = 0; inv->source != NI_SRC_NONE && h < inv->n_hca && c->hca < 0; h++)
            c->hca = ni_is_given(&inv->hca[h]) && is_of(&inv->hca[h], c) ? (int)h : -1;
        compare(p, c);
    }
    if (inv->source != NI_SRC_NONE || inv->n_hca == 0)
        return;
    inv->source = source;
    if (source == NI_SRC_NETDEV || source == NI_SRC_HOST)
        ni_report(p->f, NI_F_ALLOC_NO_UVERBS, "/dev/infiniband",
                  "no uverbs node opens; the HCAs were found through %s", sources[source].what);
}

void ni_probe_sources(struct ni_probe *p)
{
    struct ni_inventory *inv = p->inv;
    for (enum ni_source source = NI_SRC_OPTION; source <= NI_SRC_HOST; source++) {
        const bool decided = inv->source != NI_SRC_NONE;
        if (!decided && p->lost)
            break; /* the pod may have devices that cannot be told: no others are taken for them */
        if (!decided || sources[source].from_env || p->ask->all)
            ask(p, source);
    }
    inv->source_unread = inv->source == NI_SRC_NONE && p->lost;
}

void ni_probe_uverbs(struct ni_probe *p)
{
    if (p->inv->source != NI_SRC_NONE)
        ask(p, NI_SRC_UVERBS);
}
