/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the settings that a run with a fault makes are right on the node as it is. Nothing here
   asks the program's rules: devices, indexes, interfaces and distances are looked up in the truth. */
#include <stdlib.h>
#include <string.h>

#include "cli/context.h"
#include "nccl_init/base.h"
#include "nccl_init/gpu.h"
#include "nccl_init/inventory.h"
#include "nccl_init/ip.h"
#include "nccl_init/known.h"
#include "nccl_init/net.h"
#include "nccl_init/pci.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "settings.h"

/* ---- ports ---- */

/* Somebody names it as the pod's, but not who decides: an allocation, or a node that opens. */
static bool is_claimed(const struct truth *t, const struct ni_hca *h)
{
    char bdf[NI_BDF_TEXT];

    for (unsigned i = 0; i < t->inv.n_allocation; i++)
        if (strcmp(t->inv.allocation[i].id, h->name) == 0 ||
            (h->has_bdf && strcmp(t->inv.allocation[i].id, ni_bdf_text(h->bdf, bdf)) == 0))
            return true;
    return false;
}

/* The port of the pod that this is, ACTIVE; -1. */
static int true_port(const struct at *a, const char *name, unsigned num)
{
    const struct truth *t = a->truth;

    for (unsigned i = 0; i < t->inv.n_port; i++) {
        const struct ni_port *p = &t->inv.port[i];
        const struct ni_hca *h = &t->inv.hca[p->hca];
        if ((h->allocation >= 0 || (a->without && is_claimed(t, h))) && p->num == num &&
            strcmp(h->name, name) == 0 && p->state.known == NI_KNOWN &&
            p->state.v == NI_PORT_ACTIVE)
            return (int)i;
    }
    return -1;
}

int chosen_port(const struct at *a, unsigned i)
{
    const struct ni_inventory *inv = &a->ctx->inventory;
    const struct ni_port *p = &inv->port[a->ctx->plan.chosen[i]];

    return true_port(a, inv->hca[p->hca].name, p->num);
}

bool is_others(const struct at *a, int port)
{
    return port >= 0 && a->truth->inv.hca[a->truth->inv.port[port].hca].allocation < 0;
}

static bool has_others(const struct at *a)
{
    for (unsigned i = 0; i < a->ctx->plan.n_chosen; i++)
        if (is_others(a, chosen_port(a, i)))
            return true;
    return false;
}

/* Every one is a port of the pod. */
static bool ports_are_true(const struct at *a)
{
    const struct ni_inventory *inv = &a->ctx->inventory;

    for (unsigned i = 0; i < a->ctx->plan.n_chosen; i++) {
        const struct ni_port *p = &inv->port[a->ctx->plan.chosen[i]];
        if (chosen_port(a, i) >= 0)
            continue;
        ni_putf(a->why, "%s:%u is no ACTIVE port of the pod", inv->hca[p->hca].name, p->num);
        return false;
    }
    return true;
}

/* ---- interfaces ---- */

/* Of two interfaces in one subnet the routes tell only one. */
static bool is_in_its_subnet(const struct ni_net *net, const char *ifname,
                             const uint8_t ip[NI_GID_BYTES])
{
    for (unsigned i = 0; i < net->n_route; i++) {
        const struct ni_route *r = &net->route[i];

        if (!r->gateway && r->bits > 0 && strcmp(r->ifname, ifname) == 0 &&
            ni_ip_same_prefix(r->dest, ip, 96U + r->bits))
            return true;
    }
    return false;
}

/* Up, in this namespace, with an address that is not link-local. */
static bool serves(const struct at *a, const char *name)
{
    const struct ni_netdev *d = ni_find_netdev(&a->truth->inv, name);
    const struct ni_net *net = &a->truth->inv.net;

    if (!d) /* without the fault no rule looked at it */
        d = ni_find_netdev(&a->ctx->inventory, name);

    if (d && d->known == NI_KNOWN && !d->running)
        return false;
    if (!d && strcmp(net->default_if, name) != 0)
        return false;
    for (unsigned i = 0; i < net->n_addr; i++) {
        const struct ni_addr *addr = &net->addr[i];

        if (!ni_ip_is_link_local(addr->ip) &&
            (strcmp(addr->ifname, name) == 0 || !addr->ifname[0] ||
             is_in_its_subnet(net, name, addr->ip)))
            return true;
    }
    return false;
}

static bool is_listed(const char *list, struct ni_span name)
{
    struct ni_span e;

    list += list[0] == '=';
    while (ni_split(&list, ',', &e))
        if (e.n == name.n && memcmp(e.p, name.p, e.n) == 0)
            return true;
    return false;
}

/* The default route is over it, and whether it is up could not be read: the route is believed, since the
   program knows no better one. */
static bool is_believed(const struct at *a, const char *name)
{
    const struct ni_inventory *inv = &a->ctx->inventory;
    const struct ni_netdev *d = ni_find_netdev(inv, name);

    return strcmp(inv->net.default_if, name) == 0 && d && d->known != NI_KNOWN;
}

/* What of `list` is not in `whole`, by way of one function for each. */
static enum verdict judge_list(const struct at *a, const char *list, const char *whole, bool ports)
{
    enum verdict v = LESS;
    const char *cursor = list + (list[0] == '=');
    struct ni_span e;

    while (ni_split(&cursor, ',', &e)) {
        char name[NI_DEV_NAME + 16];
        bool good;
        if (is_listed(whole, e))
            continue;
        v = DIFFERENT;
        (void)ni_copyn(name, sizeof(name), e.p, e.n);
        char *colon = strchr(name, ':');
        if (ports && colon) {
            *colon = '\0';
            good = true_port(a, name, (unsigned)strtoul(colon + 1, NULL, 10)) >= 0;
        } else {
            good = serves(a, name) || has_others(a) || is_believed(a, name);
        }
        if (!good) {
            ni_putf(a->why, "`%s` is none of this pod's that serves", name);
            return WRONG;
        }
    }
    return v;
}

/* ---- distances ---- */

static bool seems_to_open(const struct at *a, unsigned i)
{
    const struct ni_inventory *seen = &a->ctx->inventory;
    const struct ni_uverbs *node = &seen->hca[seen->port[a->ctx->plan.chosen[i]].hca].uverbs;

    return node->known != NI_ABSENT && (node->known != NI_KNOWN || node->err == 0);
}

static bool any_opens(const struct at *a)
{
    for (unsigned i = 0; i < a->ctx->plan.n_chosen; i++)
        if (seems_to_open(a, i))
            return true;
    return false;
}

/* The level that lets each of the GPUs seen reach its nearest of the chosen HCAs that opens. */
static enum ni_distance true_level(const struct at *a)
{
    const struct ni_inventory *seen = &a->ctx->inventory, *all = &a->truth->inv;
    enum ni_distance level = NI_DIST_PXB;

    for (unsigned s = 0; s < seen->n_gpu; s++) {
        for (unsigned g = 0; g < all->n_gpu; g++) {
            enum ni_distance nearest = NI_DIST_SYS;
            if (ni_bdf_cmp(all->gpu[g].bdf, seen->gpu[s].bdf) != 0)
                continue;
            if (all->gpu[g].pci.depth == 1)
                return NI_DIST_SYS; /* a flattened tree */
            for (unsigned i = 0; i < a->ctx->plan.n_chosen; i++) {
                int port = chosen_port(a, i);
                if (any_opens(a) && !seems_to_open(a, i))
                    continue; /* NCCL goes without it */
                enum ni_distance d =
                    port < 0 ? NI_DIST_UNKNOWN
                             : (enum ni_distance)a->truth->plan.distance[g][all->port[port].hca];
                if (d != NI_DIST_UNKNOWN && d < nearest)
                    nearest = d;
            }
            level = nearest > level ? nearest : level;
        }
    }
    return level;
}

/* Whether GPUDirect RDMA at a level of the PCI tree is at all possible and right on this node. */
static bool level_is_true(const struct at *a, const char *value)
{
    const struct ni_gdr *gdr = &a->truth->inv.gdr;
    enum ni_distance level = true_level(a);

    const struct ni_inventory *seen = &a->ctx->inventory;
    if (a->without && (gdr->c2c || gdr->gb10) && !seen->gdr.c2c && !seen->gdr.gb10)
        return true; /* where there is no midr_el1 the CPU is not Arm's */
    for (unsigned i = 0; a->without && i < seen->n_gpu; i++) {
        bool known = false;
        for (unsigned k = 0; k < a->truth->inv.n_gpu; k++)
            known = known || ni_bdf_cmp(a->truth->inv.gpu[k].bdf, seen->gpu[i].bdf) == 0;
        if (!known)
            return true; /* as many GPUs are listed as there are nodes: these are the pod's */
    }
    if (a->ctx->inventory.n_gpu > a->truth->inv.n_gpu && strcmp(value, "SYS") == 0)
        return true; /* which GPUs are the pod's is not told: far enough for each */
    if (gdr->c2c || gdr->gb10 || strcmp(value, ni_distance_text(level)) != 0) {
        ni_putf(a->why, "level %s, true is %s", value,
                gdr->c2c || gdr->gb10 ? "none" : ni_distance_text(level));
        return false;
    }
    return true;
}

/* ---- rails ---- */

/* The entry that was picked for a port, as it is. */
static const struct ni_gid *true_pick(const struct at *a, unsigned chosen, int port)
{
    int gid = a->ctx->plan.port[a->ctx->plan.chosen[chosen]].gid;

    return gid < 0 ? NULL : gid_at(a->truth, port, a->ctx->inventory.gid[gid].index);
}

/* No route of the node joins two of the chosen ports' subnets: destinations that hold the one's
   address, on the other's interface. */
static bool rails_are_apart(const struct at *a)
{
    const struct ni_net *net = &a->truth->inv.net;

    for (unsigned i = 0; i < a->ctx->plan.n_chosen; i++) {
        for (unsigned k = 0; k < a->ctx->plan.n_chosen; k++) {
            int x = chosen_port(a, i), y = chosen_port(a, k);
            if (i == k)
                continue;
            const struct ni_gid *gx = x < 0 ? NULL : true_pick(a, i, x);
            const struct ni_gid *gy = y < 0 ? NULL : true_pick(a, k, y);
            if (!gx || !gy)
                return false;
            for (unsigned r = 0; r < net->n_route; r++) {
                if (strcmp(net->route[r].ifname, gx->ndev) == 0 &&
                    ni_ip_same_prefix(net->route[r].dest, gy->ip, 96u + net->route[r].bits)) {
                    ni_put(a->why, "a route joins two rails");
                    return false;
                }
            }
        }
    }
    return true;
}

/* ---- fusing ---- */

/* Two chosen HCAs have one PF, or one is the other's; or NCCL has one place for them, or none. */
static bool share_a_place(const struct at *a)
{
    const struct ni_inventory *inv = &a->truth->inv;

    for (unsigned i = 0; i < a->ctx->plan.n_chosen; i++) {
        for (unsigned k = 0; k < i; k++) {
            int x = chosen_port(a, i), y = chosen_port(a, k);
            if (x < 0 || y < 0)
                continue;
            const struct ni_hca *h = &inv->hca[inv->port[x].hca], *o = &inv->hca[inv->port[y].hca];
            if ((h->is_vf || o->is_vf) &&
                ni_bdf_cmp(h->is_vf ? h->pf : h->bdf, o->is_vf ? o->pf : o->bdf) == 0)
                return true;
            if (h->has_bdf && o->has_bdf && h->bdf.bus == o->bdf.bus && h->bdf.dev != o->bdf.dev)
                return true;
            if (h->place.merged == NI_AT_NOTHING && o->place.merged == NI_AT_NOTHING)
                return true;
        }
    }
    ni_put(a->why, "no two HCAs share a port or a place");
    return false;
}

/* NCCL's rewritten address leads one of the chosen HCAs astray, and with 0 it does not. */
static bool merging_loses(const struct at *a)
{
    for (unsigned i = 0; i < a->ctx->plan.n_chosen; i++) {
        int port = chosen_port(a, i);
        const struct ni_nccl_place *p =
            port < 0 ? NULL : &a->truth->inv.hca[a->truth->inv.port[port].hca].place;
        if (p && (p->merged == NI_AT_OTHER || p->merged == NI_AT_NOTHING) &&
            (p->unmerged == NI_AT_ITSELF || p->unmerged == NI_AT_NIC ||
             p->unmerged == NI_AT_UNREAD)) /* of an HCA that is not chosen in truth, nobody asks */
            return true;
    }
    ni_put(a->why, "NCCL finds all where they are");
    return has_others(a);
}

/* ---- one setting ---- */

static const char *value_of(const struct ni_plan *plan, const char *name)
{
    const struct ni_setting *s = ni_plan_get(plan, name);

    return s && s->origin == NI_FROM_RULE ? s->value : NULL;
}

static bool scalar_is_true(const struct at *a, const char *name, const char *value)
{
    const char *what = strrchr(name, '_') + 1;

    if (strcmp(what, "INDEX") == 0)
        return index_is_true(a, value);
    if (strcmp(what, "FAMILY") == 0 || strcmp(what, "RANGE") == 0)
        return hint_is_true(a);
    if (strcmp(name, "NCCL_NET_MERGE_LEVEL") == 0)
        return strcmp(value, "LOC") == 0 && share_a_place(a);
    if (strcmp(what, "LEVEL") == 0)
        return level_is_true(a, value);
    if (strcmp(name, "NCCL_CROSS_NIC") == 0)
        return strcmp(value, "0") == 0 && (has_others(a) || rails_are_apart(a));
    if (strcmp(name, "NCCL_IB_MERGE_NICS") == 0)
        return strcmp(value, "0") == 0 && share_a_place(a);
    if (strcmp(name, "NCCL_IB_MERGE_VFS") == 0)
        return strcmp(value, "0") == 0 && merging_loses(a);
    /* 0: the ports are true, or it is wrong already. 1: it concerns no other plugin. */
    if (strcmp(name, "NCCL_IB_DISABLE") == 0)
        return strcmp(value, "0") == 0 ? a->ctx->plan.n_chosen > 0 : a->ctx->plan.n_chosen == 0;
    return true; /* nothing here can tell: the goldens do */
}

static enum verdict judge_one(const struct at *a, const char *name, const char *value)
{
    const char *clean = value_of(a->clean, name);

    if (!value)
        return clean ? LESS : SAME;
    if (clean && strcmp(clean, value) == 0)
        return SAME;
    /* TCP instead of RDMA is a plan with no device. */
    if (clean && strcmp(name, "NCCL_IB_DISABLE") == 0 && strcmp(value, "1") == 0)
        return a->ctx->plan.n_chosen == 0 ? LESS : WRONG;
    if (strcmp(name, "NCCL_IB_HCA") == 0 || strstr(name, "HCA_LIST"))
        return judge_list(a, value, clean ? clean : "", true);
    if (strcmp(name, "UCX_NET_DEVICES") == 0)
        return judge_list(a, value, clean ? clean : "", strchr(value, ':') != NULL);
    if (strstr(name, "IFNAME"))
        return judge_list(a, value, clean ? clean : "", false);
    return scalar_is_true(a, name, value) ? DIFFERENT : WRONG;
}

enum verdict judge_settings(const struct truth *truth, const struct ni_plan *clean,
                            const struct ni_context *ctx, bool without, struct ni_text *why)
{
    const struct at a = {truth, clean, ctx, without, why};
    enum verdict worst = SAME;

    if (!ports_are_true(&a))
        return WRONG;
    for (unsigned i = 0; i < ctx->plan.n_setting; i++) {
        const struct ni_setting *s = &ctx->plan.setting[i];
        enum verdict v = judge_one(&a, s->name, s->origin == NI_FROM_RULE ? s->value : NULL);
        worst = v > worst ? v : worst;
    }
    for (unsigned i = 0; i < clean->n_setting; i++) {
        const struct ni_setting *s = &clean->setting[i];
        if (s->origin == NI_FROM_RULE && !value_of(&ctx->plan, s->name))
            worst = worst < LESS ? LESS : worst;
    }
    if (worst == WRONG && why->len == 0)
        ni_put(why, "a setting that is not true");
    return worst;
}
