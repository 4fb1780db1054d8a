/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a GID index, or where NCCL's search ends, is right on each of the chosen ports. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "nccl_init/base.h"
#include "nccl_init/ip.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "settings.h"

/* ---- indexes ---- */

const struct ni_gid *gid_at(const struct truth *t, int port, unsigned index)
{
    const struct ni_port *p = &t->inv.port[port];

    for (unsigned i = 0; i < p->n_gid; i++)
        if (t->inv.gid[p->first_gid + (int)i].index == index)
            return &t->inv.gid[p->first_gid + (int)i];
    return NULL;
}

/* Of the right version and this pod's, as well as can be told on this node. */
static bool is_right(const struct at *a, int port, unsigned index)
{
    const struct truth *t = a->truth;
    const struct ni_gid *g = gid_at(t, port, index);
    const struct ni_port_plan *plan = &t->plan.port[port];
    int pick = plan->gid < 0 ? plan->best : plan->gid;
    enum ni_owner own = pick < 0 ? NI_OWNER_POD : t->inv.gid[pick].owner;

    if (!g || g->type != (pick < 0 ? NI_GID_V2 : t->inv.gid[pick].type))
        return false;
    /* Whose interface it is was denied with authority: the address alone is left to go by. */
    for (unsigned i = 0; a->without && i < t->inv.net.n_addr; i++)
        if (memcmp(t->inv.net.addr[i].ip, g->ip, sizeof(g->ip)) == 0)
            return true;
    return g->owner == NI_OWNER_POD || g->owner == own;
}

bool index_is_true(const struct at *a, const char *value)
{
    long index = strtol(value, NULL, 10);

    for (unsigned i = 0; i < a->ctx->plan.n_chosen; i++) {
        int port = chosen_port(a, i);
        if (port >= 0 && (is_others(a, port) || is_right(a, port, (unsigned)index)))
            continue;
        ni_putf(a->why, "index %ld is not right on port %u of the list", index, i);
        return false;
    }
    return a->ctx->plan.n_chosen > 0;
}

/* ---- NCCL's search (2.30.7 transport/net_ib/connect.cc ncclUpdateGidIndex), on the true table ---- */

struct search {
    bool v6, ranged;
    uint8_t range[NI_GID_BYTES];
    unsigned bits;
};

static bool of_family(const struct ni_gid *g, bool v6)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    static const uint8_t multicast[12] = {0xff, 0x0e, [10] = 0xff, [11] = 0xff};
    bool v4 = g && (memcmp(g->ip, mapped, 12) == 0 || memcmp(g->ip, multicast, 12) == 0);

    return v4 != v6;
}

static bool is_usable(const struct ni_gid *g)
{
    static const uint8_t link_local[8] = {0xfe, 0x80};

    return g && memcmp(g->ip, link_local, 8) != 0;
}

static unsigned nccl_search(const struct truth *t, int port, const struct search *how)
{
    unsigned cur = 0;

    for (unsigned i = 1; i < t->inv.port[port].gids_read; i++) {
        const struct ni_gid *old = gid_at(t, port, cur), *new = gid_at(t, port, i);
        if (!of_family(new, how->v6) ||
            (how->ranged && (!new || !ni_ip_same_prefix(new->ip, how->range, how->bits))))
            continue;
        if (!of_family(old, how->v6)) {
            cur = i;
            continue;
        }
        bool better = !is_usable(old) || !old || !new || old->type != new->type;
        if (is_usable(new) && new->type == NI_GID_V2 && better)
            cur = i;
    }
    return cur;
}

static bool search_is_true(const struct at *a)
{
    const struct ni_setting *family = ni_plan_get(&a->ctx->plan, "NCCL_IB_ADDR_FAMILY");
    const struct ni_setting *range = ni_plan_get(&a->ctx->plan, "NCCL_IB_ADDR_RANGE");
    struct search how = {.v6 = family && strcmp(family->value, "AF_INET6") == 0};
    char text[NI_IP_TEXT];
    uint8_t raw[NI_GID_BYTES];

    if (a->without)
        return true; /* a table with a hole more */
    if (range && range->value[0]) {
        const char *slash = strchr(range->value, '/');
        if (!slash || !ni_copyn(text, sizeof(text), range->value, (size_t)(slash - range->value)) ||
            inet_pton(how.v6 ? AF_INET6 : AF_INET, text, raw) != 1) {
            ni_put(a->why, "the range is none");
            return false;
        }
        how.ranged = true;
        how.bits = (unsigned)strtoul(slash + 1, NULL, 10) + (how.v6 ? 0 : 96);
        memset(how.range, 0, 10);
        memset(how.range + 10, 0xff, 2);
        memcpy(how.range + (how.v6 ? 0 : 12), raw, how.v6 ? 16 : 4);
    }
    for (unsigned i = 0; i < a->ctx->plan.n_chosen; i++) {
        int port = chosen_port(a, i);
        if (port >= 0 && is_right(a, port, nccl_search(a->truth, port, &how)))
            continue;
        ni_putf(a->why, "NCCL's search ends wrong on port %u of the list", i);
        return false;
    }
    return true;
}

bool hint_is_true(const struct at *a)
{
    const struct ni_setting *index = ni_plan_get(&a->ctx->plan, "NCCL_IB_GID_INDEX");

    return index && index->value[0] ? index_is_true(a, index->value) : search_is_true(a);
}
