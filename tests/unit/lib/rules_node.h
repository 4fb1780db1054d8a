/* SPDX-License-Identifier: Apache-2.0 */
/* An inventory built by hand, the environment beside it, and the plan that follows. For the tests
   of decide/. */
#ifndef NCCL_INIT_TEST_DECIDE_NODE_H
#define NCCL_INIT_TEST_DECIDE_NODE_H

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "nccl_init/allocation.h"
#include "nccl_init/base.h"
#include "nccl_init/env.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/ip.h"
#include "nccl_init/known.h"
#include "nccl_init/net.h"
#include "nccl_init/number.h"
#include "nccl_init/pci.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "rules/decide.h"
#include "rules/rules.h"
#include <cmocka.h>

static struct {
    struct ni_inventory inv;
    struct ni_policy policy;
    struct ni_plan plan;
    struct ni_findings findings;
    char text[64][256];
    char *entry[65];
    unsigned n_env;
} node;

static inline int node_reset(void **state)
{
    (void)state;
    memset(&node, 0, sizeof(node));
    node.inv.net.v4_known = node.inv.net.v6_known = node.inv.net.route_known = NI_KNOWN;
    node.inv.self.memlock_soft = node.inv.self.memlock_hard =
        (struct ni_num){NI_UNLIMITED, NI_KNOWN};
    node.policy.memlock = NI_UNLIMITED;
    return 0;
}

static inline void node_env(const char *entry)
{
    assert_true(node.n_env < NI_COUNT(node.text));
    assert_true(ni_copy(node.text[node.n_env], sizeof(node.text[0]), entry));
    node.entry[node.n_env] = node.text[node.n_env];
    node.n_env++;
}

static inline void node_conf(const char *name, const char *value)
{
    struct ni_conf_entry *e = &node.inv.conf[node.inv.n_conf++];
    ni_copy(e->name, sizeof(e->name), name);
    ni_copy(e->value, sizeof(e->value), value);
    ni_copy(e->file, sizeof(e->file), "/etc/nccl.conf");
}

static inline void node_decide(void)
{
    const struct ni_env env = {node.entry};
    const struct ni_work work = {&node.inv, &env, &node.policy, &node.plan, &node.findings};
    memset(&node.plan, 0, sizeof(node.plan));
    memset(&node.findings, 0, sizeof(node.findings));
    ni_decide(&work);
}

/* "10.0.0.1" or any IPv6 text. */
static inline void node_ip(const char *text, uint8_t ret[NI_GID_BYTES])
{
    if (ni_parse_ipv4(ni_span_of(text), ret) < 0)
        assert_int_equal(inet_pton(AF_INET6, text, ret), 1);
}

/* The functions from the root bus to the device, separated by blanks. */
static inline void node_chain(struct ni_pci *pci, const char *chain, int64_t numa)
{
    struct ni_span s;
    memset(pci, 0, sizeof(*pci));
    while (ni_split(&chain, ' ', &s))
        assert_int_equal(ni_parse_bdf(s, &pci->at[pci->depth++]), 0);
    pci->known = NI_KNOWN;
    pci->numa = (struct ni_num){numa, NI_KNOWN};
}

static inline struct ni_port *node_port(int hca, unsigned num)
{
    struct ni_port *p = &node.inv.port[node.inv.n_port++];
    p->hca = hca;
    p->num = num;
    p->state = (struct ni_num){NI_PORT_ACTIVE, NI_KNOWN};
    p->link = NI_LINK_ROCE;
    p->mbps = (struct ni_num){400000, NI_KNOWN};
    p->first_gid = -1;
    node.inv.hca[hca].n_port++;
    return p;
}

/* An HCA given to the pod with one active RoCE port, behind a switch of its own. Its index, which
   is the port's too while every HCA has one. */
static inline int node_hca(const char *name)
{
    int at = (int)node.inv.n_hca++;
    struct ni_hca *h = &node.inv.hca[at];
    struct ni_allocation *c = &node.inv.allocation[node.inv.n_allocation];
    ni_copy(h->name, sizeof(h->name), name);
    h->has_bdf = true;
    h->bdf = (struct ni_bdf){0, (uint8_t)(4 * at + 3), 0, 2};
    h->allocation = (int)node.inv.n_allocation++;
    h->netdev = -1;
    h->first_port = (int)node.inv.n_port;
    *c = (struct ni_allocation){.source = NI_SRC_PCIDEVICE, .hca = at};
    ni_bdf_text(h->bdf, c->id);
    ni_copy(c->from, sizeof(c->from), "PCIDEVICE_RDMA");
    node.inv.source = NI_SRC_PCIDEVICE;
    node_port(at, 1);
    return at;
}

/* The next GID of the port that was added last. */
static inline struct ni_gid *node_gid(unsigned index, const char *ip, enum ni_gid_type type,
                                      enum ni_owner own, const char *ndev)
{
    struct ni_port *p = &node.inv.port[node.inv.n_port - 1];
    struct ni_gid *g = &node.inv.gid[node.inv.n_gid];
    if (p->n_gid == 0)
        p->first_gid = (int)node.inv.n_gid;
    node.inv.n_gid++;
    p->n_gid++;
    p->gids_read = index + 1;
    node_ip(ip, g->ip);
    g->index = (uint16_t)index;
    g->type = type;
    g->owner = own;
    ni_copy(g->ndev, sizeof(g->ndev), ndev);
    return g;
}

static inline int node_netdev(const char *name, bool running)
{
    struct ni_netdev *d = &node.inv.netdev[node.inv.n_netdev];
    ni_copy(d->name, sizeof(d->name), name);
    d->known = NI_KNOWN;
    d->running = running;
    return (int)node.inv.n_netdev++;
}

static inline void node_addr(const char *ip, const char *ifname)
{
    struct ni_addr *a = &node.inv.net.addr[node.inv.net.n_addr++];
    node_ip(ip, a->ip);
    ni_copy(a->ifname, sizeof(a->ifname), ifname);
}

/* A whole rail: HCA, the usual table with the RoCE v2 entry of `ip` at `index`, interface, address.
   */
static inline int node_rail(const char *name, unsigned index, const char *ip, const char *ndev)
{
    int at = node_hca(name);
    if (index > 0)
        node_gid(index - 1, ip, NI_GID_V1, NI_OWNER_POD, ndev);
    node_gid(index, ip, NI_GID_V2, NI_OWNER_POD, ndev);
    node_netdev(ndev, true);
    node_addr(ip, ndev);
    return at;
}

/* The pod's own interface with the default route. */
static inline void node_eth0(void)
{
    node_netdev("eth0", true);
    node_addr("10.128.2.26", "eth0");
    ni_copy(node.inv.net.default_if, sizeof(node.inv.net.default_if), "eth0");
}

static inline const char *origin_text(const char *name)
{
    static const char *const text[] = {"rule", "user", "conf", "unset"};
    const struct ni_setting *s = ni_plan_get(&node.plan, name);
    return s ? text[s->origin] : "none";
}

/* origin: "rule", "user", "conf", "unset", or "none" where no rule speaks of it. */
static inline void assert_setting(const char *name, const char *origin, const char *value)
{
    const struct ni_setting *s = ni_plan_get(&node.plan, name);
    assert_string_equal(origin_text(name), origin);
    assert_string_equal(s ? s->value : "", value);
}

static inline bool exported(const char *name)
{
    return strcmp(origin_text(name), "rule") == 0;
}

static inline bool has(ni_finding_number id)
{
    return ni_findings_has(&node.findings, id);
}

#endif
