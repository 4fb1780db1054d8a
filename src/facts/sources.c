/* SPDX-License-Identifier: Apache-2.0 */
/* Which HCAs are the pod's (design 4.1): the sources in order of trust. The first that yields an
   HCA decides; what the others say is kept beside it and compared. `run` and `env` ask the others
   only where that costs no file, and what opens where the user's NCCL_IB_HCA may take it. */
#include <string.h>

#include "probe.h"

struct source {
    enum ni_source source;
    bool ids;      /* tells PCI addresses or auxiliary names, else RDMA device names */
    bool from_env; /* reads the environment only */
    void (*add)(struct ni_probe *p);
    const char *what;
};

static const struct source sources[] = {
    {NI_SRC_OPTION, false, true, ni_source_option, "--hcas"},
    {NI_SRC_PCIDEVICE, true, true, ni_source_pcidevice, "PCIDEVICE_*"},
    {NI_SRC_SRIOVNET, true, true, ni_source_sriovnet, "SRIOVNETWORK_*"},
    {NI_SRC_DRA, true, false, ni_source_dra, "DRA metadata"},
    {NI_SRC_NETSTATUS, true, true, ni_source_netstatus, "network-status"},
    {NI_SRC_UVERBS, false, false, ni_source_uverbs, "/dev/infiniband"},
    {NI_SRC_NETDEV, false, false, ni_source_netdevs, "interfaces"},
    {NI_SRC_HOST, false, false, ni_source_host, "host network"},
};

bool ni_source_has_ids(enum ni_source source)
{
    for (unsigned i = 0; i < NI_COUNT(sources); i++) {
        if (sources[i].source == source)
            return sources[i].ids;
    }
    return false;
}

/* What the claim sorts by: its PCI address; an auxiliary name and a device without an address come
   last, by name. */
static struct ni_bdf sort_key(struct ni_probe *p, const struct source *s, const struct ni_claim *c)
{
    struct ni_bdf bdf;
    if (!s->ids)
        return ni_class_bdf(p, c->id);
    return ni_parse_bdf(ni_span_of(c->id), &bdf) == 0 ? bdf : NI_LAST_BDF;
}

/* NCCL sorts its devices by PCI address (2.29.7 NCCL_IB_DEVICE_PCI_ORDER); all that follows keeps
   this order. */
static void sort_claims(struct ni_probe *p, const struct source *s, unsigned from)
{
    struct ni_inventory *inv = p->inv;
    struct ni_bdf key[NI_MAX_CLAIM];
    for (unsigned i = from; i < inv->n_claim; i++) {
        struct ni_claim c = inv->claim[i];
        struct ni_bdf k = sort_key(p, s, &c);
        unsigned at = i;
        while (at > from) {
            int order = ni_bdf_cmp(key[at - 1], k);
            if (order < 0 || (order == 0 && ni_natural_cmp(inv->claim[at - 1].id, c.id) <= 0))
                break;
            inv->claim[at] = inv->claim[at - 1];
            key[at] = key[at - 1];
            at--;
        }
        inv->claim[at] = c;
        key[at] = k;
    }
}

/* Turns the claims of one source into HCAs. true when there is one. */
static bool resolve(struct ni_probe *p, const struct source *s, unsigned from)
{
    bool any = false;
    for (unsigned i = from; i < p->inv->n_claim; i++) {
        struct ni_claim *c = &p->inv->claim[i];
        if (s->ids && c->state == NI_CLAIM_OK)
            ni_resolve_claim(p, (int)i);
        else if (!s->ids)
            c->hca = ni_add_hca(p, c->id, (int)i);
        any = any || c->hca >= 0;
    }
    return any;
}

static int hca_of(const struct ni_inventory *inv, const struct source *s, const struct ni_claim *c)
{
    for (unsigned h = 0; h < inv->n_hca; h++) {
        const struct ni_hca *hca = &inv->hca[h];
        char bdf[NI_BDF_TEXT];
        const char *id = !s->ids        ? hca->name
                         : hca->aux[0]  ? hca->aux
                         : hca->has_bdf ? ni_bdf_text(hca->bdf, bdf)
                                        : "";
        if (hca->claim >= 0 && strcmp(id, c->id) == 0)
            return (int)h;
    }
    return -1;
}

/* A later source that tells ids should tell the same ones. Sources that know names see more than
   the pod was given where the container has more rights; that is said in the plan, and is no
   contradiction. */
static void compare(struct ni_probe *p, const struct source *s, unsigned from)
{
    struct ni_inventory *inv = p->inv;
    for (unsigned i = from; i < inv->n_claim; i++) {
        struct ni_claim *c = &inv->claim[i];
        c->hca = hca_of(inv, s, c);
        if (inv->source == NI_SRC_OPTION)
            continue; /* the user's word needs no second one */
        if (c->hca < 0 && s->ids && c->state == NI_CLAIM_OK)
            ni_report(p->f, NI_F_ALLOC_SOURCES_DIFFER, c->id,
                      "named by %s, but not by what decided (%s)", s->what,
                      inv->claim[inv->hca[0].claim].from);
        else if (c->hca >= 0 && c->rdma_dev[0] && strcmp(c->rdma_dev, inv->hca[c->hca].name) != 0)
            ni_report(p->f, NI_F_ALLOC_RDMA_DEV_DIFFERS, c->id,
                      "%s says RDMA device %s, sysfs says %s", c->from, c->rdma_dev,
                      inv->hca[c->hca].name);
    }
}

static void decide_by(struct ni_probe *p, const struct source *s)
{
    p->inv->source = s->source;
    if (s->source > NI_SRC_UVERBS) /* which was asked before, and had none */
        ni_report(p->f, NI_F_ALLOC_NO_UVERBS, "/dev/infiniband",
                  "no uverbs node opens; the HCAs were found through %s", s->what);
}

void ni_probe_sources(struct ni_probe *p)
{
    struct ni_inventory *inv = p->inv;
    const bool users_list = ni_users(p, "NCCL_IB_HCA") != NULL;
    for (unsigned i = 0; i < NI_COUNT(sources); i++) {
        const struct source *s = &sources[i];
        bool decided = inv->source != NI_SRC_NONE;
        if ((s->source == NI_SRC_OPTION && !p->ask->hcas) ||
            (decided && !s->from_env && !p->ask->all &&
             !(users_list && s->source == NI_SRC_UVERBS)))
            continue;
        unsigned from = inv->n_claim;
        if (!decided && p->lost)
            break; /* the pod may have devices that cannot be told: no others are taken for them */
        s->add(p);
        sort_claims(p, s, from);
        if (decided)
            compare(p, s, from);
        else if (resolve(p, s, from))
            decide_by(p, s);
    }
    inv->source_unread = inv->source == NI_SRC_NONE && p->lost;
}
