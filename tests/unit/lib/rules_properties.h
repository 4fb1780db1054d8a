/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold of every plan, whatever the inventory. For the tests of decide/ and for fuzzing. */
#ifndef NCCL_INIT_TEST_DECIDE_PROPERTIES_H
#define NCCL_INIT_TEST_DECIDE_PROPERTIES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "nccl_init/base.h"
#include "nccl_init/env.h"
#include "nccl_init/inventory.h"
#include "nccl_init/ip.h"
#include "nccl_init/known.h"
#include "nccl_init/nccl_list.h"
#include "nccl_init/net.h"
#include "nccl_init/number.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "rules/decide.h"
#include <cmocka.h>

static inline const struct ni_setting *of_rule(const struct ni_plan *plan, const char *name)
{
    const struct ni_setting *s = ni_plan_get(plan, name);
    return s && s->origin == NI_FROM_RULE ? s : NULL;
}

static inline void check_origins(const struct ni_work *w)
{
    const struct ni_plan *plan = w->plan;
    for (unsigned i = 0; i < plan->n_setting; i++) {
        const struct ni_setting *s = &plan->setting[i];
        const char *user = ni_env_get(w->env, s->name), *conf = NULL;
        for (unsigned k = 0; !conf && k < w->inv->n_conf; k++)
            conf = !w->inv->conf[k].overrides && strcmp(w->inv->conf[k].name, s->name) == 0
                       ? w->inv->conf[k].value
                       : NULL;
        assert_int_equal(s->origin == NI_FROM_USER, user != NULL);
        assert_int_equal(s->origin == NI_FROM_CONF, !user && conf);
        if (user || conf) /* shown as far as there is room */
            assert_int_equal(strncmp(s->value, user ? user : conf, sizeof(s->value) - 1), 0);
        assert_int_equal(s->origin == NI_FROM_RULE, !user && !conf && s->value[0]);
        assert_true(s->rule && s->reason[0]);
        for (unsigned k = 0; k < i; k++)
            assert_string_not_equal(s->name, plan->setting[k].name);
    }
}

/* Each variable of NCCL's that a rule may set is spoken of; where none has set it, what NCCL does then. */
static inline void check_unset(const struct ni_work *w)
{
    static const char *const names[] = {
        "NCCL_IB_DISABLE",      "NCCL_IB_HCA",        "NCCL_IB_GID_INDEX",  "NCCL_IB_ADDR_FAMILY",
        "NCCL_IB_ADDR_RANGE",   "NCCL_CROSS_NIC",     "NCCL_SOCKET_IFNAME", "NCCL_IB_MERGE_VFS",
        "NCCL_NET_MERGE_LEVEL", "NCCL_NET_GDR_LEVEL", "NCCL_IB_MERGE_NICS"};
    const unsigned targets = w->policy->targets;
    const bool nccl = !targets || targets & (NI_FOR_NCCL | NI_FOR_TORCHCOMMS);

    for (unsigned i = 0; i < NI_COUNT(names); i++) {
        const struct ni_setting *s = ni_plan_get(w->plan, names[i]);

        assert_int_equal(s != NULL, nccl && w->plan->transport != NI_NET_OFF);
        if (s)
            assert_int_equal(s->by_itself != NULL, s->origin == NI_LEFT_UNSET);
    }
}

static inline void check_ports(const struct ni_work *w)
{
    const struct ni_plan *plan = w->plan;
    const struct ni_inventory *inv = w->inv;
    const struct ni_setting *s = of_rule(plan, "NCCL_IB_HCA");
    const struct ni_setting *disable = of_rule(plan, "NCCL_IB_DISABLE");
    enum ni_link link = NI_LINK_UNKNOWN;
    unsigned kept = 0;
    for (unsigned i = 0; i < inv->n_port; i++)
        kept += plan->port[i].chosen;
    assert_int_equal(kept, plan->n_chosen);
    for (unsigned i = 0; i < plan->n_chosen; i++) {
        int at = plan->chosen[i];
        const struct ni_port *p = &inv->port[at];
        assert_true(plan->port[at].chosen);
        assert_true(inv->hca[p->hca].allocation >= 0);
        assert_true(p->state.known == NI_KNOWN && p->state.v == NI_PORT_ACTIVE);
        assert_true(link == NI_LINK_UNKNOWN || link == p->link);
        link = p->link;
        if (s)
            assert_true(ni_nccl_match(s->value, inv->hca[p->hca].name, (int)p->num));
    }
    for (unsigned i = 0; s && i < inv->n_port; i++) {
        const struct ni_port *p = &inv->port[i];
        assert_int_equal(ni_nccl_match(s->value, inv->hca[p->hca].name, (int)p->num),
                         plan->port[i].chosen);
    }
    if (s)
        assert_true(plan->n_chosen > 0 ? s->value[0] == '=' && strlen(s->value) > 1
                                       : strcmp(s->value, "^") == 0);
    if (disable)
        assert_int_equal(disable->value[0] == '0', plan->n_chosen > 0);
    assert_true(!plan->refuse || w->policy->require || w->policy->unclear[0]);
}

static inline const struct ni_gid *entry_of(const struct ni_inventory *inv, const struct ni_port *p,
                                            unsigned index)
{
    for (unsigned k = 0; k < p->n_gid; k++) {
        const struct ni_gid *g = &inv->gid[p->first_gid + (int)k];
        if (g->index == index)
            return g;
    }
    return NULL;
}

static inline void check_gids(const struct ni_work *w)
{
    const struct ni_plan *plan = w->plan;
    const struct ni_inventory *inv = w->inv;
    const struct ni_setting *s = of_rule(plan, "NCCL_IB_GID_INDEX");
    const struct ni_setting *range = of_rule(plan, "NCCL_IB_ADDR_RANGE");
    uint64_t index = 0;
    if (s)
        assert_int_equal(ni_parse_u64(ni_span_of(s->value), NI_GID_TABLE, &index), 0);
    assert_false(s && range); /* an index switches the search off */
    for (unsigned i = 0; i < plan->n_chosen; i++) {
        int at = plan->chosen[i], pick = plan->port[at].gid;
        const struct ni_port *p = &inv->port[at];
        if (p->link != NI_LINK_ROCE) {
            assert_true(!s && !range && !of_rule(plan, "NCCL_IB_ADDR_FAMILY"));
            continue;
        }
        assert_true(pick < 0 || (pick >= p->first_gid && pick < p->first_gid + (int)p->n_gid));
        assert_true(pick < 0 || inv->gid[pick].type != NI_GID_UNREAD);
        assert_true(pick < 0 || inv->gid[pick].owner != NI_OWNER_OTHER);
        if (!s)
            continue;
        const struct ni_gid *g = entry_of(inv, p, (unsigned)index);
        assert_true(g == &inv->gid[pick]);
    }
}

/* Of two interfaces in one subnet the routes tell only one. */
static inline bool is_in_its_subnet(const struct ni_net *net, struct ni_span ifname,
                                    const uint8_t ip[NI_GID_BYTES])
{
    for (unsigned i = 0; i < net->n_route; i++) {
        const struct ni_route *r = &net->route[i];

        if (!r->gateway && r->bits > 0 && ni_span_is(ifname, r->ifname) &&
            ni_ip_same_prefix(r->dest, ip, 96U + r->bits))
            return true;
    }
    return false;
}

static inline void check_sockets(const struct ni_work *w)
{
    const struct ni_plan *plan = w->plan;
    const struct ni_inventory *inv = w->inv;
    const struct ni_setting *s = of_rule(plan, "NCCL_SOCKET_IFNAME");
    struct ni_span name;
    if (!s)
        return;
    const bool plain = w->policy->targets & NI_FOR_TORCHCOMMS; /* one name, without a mark */
    const char *cursor = plain ? s->value : s->value + 1;
    assert_true(*cursor && plain == (s->value[0] != '='));
    assert_true(!plain || !strchr(s->value, ','));
    while (ni_split(&cursor, ',', &name)) {
        bool runs = false, addressed = false;
        for (unsigned i = 0; i < inv->n_netdev; i++)
            runs = runs || (ni_span_is(name, inv->netdev[i].name) &&
                            (inv->netdev[i].running || inv->netdev[i].known != NI_KNOWN));
        for (unsigned i = 0; i < inv->net.n_addr; i++) {
            const struct ni_addr *a = &inv->net.addr[i];
            const bool told = a->ifname[0] && !ni_span_is(name, a->ifname);

            addressed = addressed || (!ni_ip_is_link_local(a->ip) &&
                                      (!told || is_in_its_subnet(&inv->net, name, a->ip)));
        }
        for (unsigned i = 0; i < inv->n_gid; i++) {
            const struct ni_gid *g = &inv->gid[i]; /* ours by its address */
            addressed = addressed || (g->owner == NI_OWNER_POD && !ni_ip_is_link_local(g->ip) &&
                                      ni_span_is(name, g->ndev));
        }
        if (!addressed || (!runs && !ni_span_is(name, inv->net.default_if)))
            fail_msg("%s", s->value);
    }
}

static inline bool in_force(const struct ni_plan *plan, const char *name)
{
    const struct ni_setting *s = ni_plan_get(plan, name);
    return s && s->origin != NI_LEFT_UNSET && s->value[0];
}

static inline void check_libraries(const struct ni_work *w)
{
    const struct ni_plan *plan = w->plan;
    const struct ni_setting *map = of_rule(plan, "VLLM_GPU_NIC_PCIE_MAPPING"),
                            *ucx = of_rule(plan, "UCX_NET_DEVICES");
    const char *cursor = map ? map->value : NULL;
    struct ni_span item;
    uint32_t taken = 0;
    for (unsigned g = 0; g < w->inv->n_gpu; g++) {
        const uint32_t ports = plan->gpu_ports[g];
        assert_true(plan->n_chosen == NI_MAX_CHOSEN || ports >> plan->n_chosen == 0);
        if (!map)
            continue;
        assert_true(ports && !(taken & ports & -ports)); /* each has its own */
        taken |= ports & -ports;
        assert_true(ni_split(&cursor, ',', &item));
    }
    assert_null(cursor);
    /* both or neither, where the user has set none */
    assert_true(in_force(plan, "VLLM_GPU_NIC_PCIE_MAPPING") ==
                    in_force(plan, "VLLM_NIC_SELECTION_VARS") ||
                ni_find_user_value(w->env, w->inv, "VLLM_GPU_NIC_PCIE_MAPPING", NULL) ||
                ni_find_user_value(w->env, w->inv, "VLLM_NIC_SELECTION_VARS", NULL));
    for (cursor = ucx && plan->n_chosen > 0 ? ucx->value : NULL; ni_split(&cursor, ',', &item);) {
        bool chosen = false;
        for (unsigned i = 0; i < plan->n_chosen; i++) {
            const struct ni_port *p = &w->inv->port[plan->chosen[i]];
            char name[NI_DEV_NAME + 8];
            assert_true(ni_format(name, sizeof(name), "%s:%u", w->inv->hca[p->hca].name, p->num));
            chosen = chosen || ni_span_is(item, name);
        }
        assert_true(chosen);
    }
}

/* All of them. */
static inline void check_plan(const struct ni_work *w)
{
    check_origins(w);
    check_unset(w);
    check_ports(w);
    check_gids(w);
    check_sockets(w);
    check_libraries(w);
}

#endif
