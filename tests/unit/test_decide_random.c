/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold of every plan, over many inventories made at random. */
#include "test_decide_node.h"

static uint64_t seed;

static unsigned next(unsigned below)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(seed >> 33) % below;
}

static bool often(void)
{
    return next(8) != 0;
}

static const char *const ips[] = {"10.0.1.6",    "10.0.1.7", "10.0.2.6", "192.168.9.9", "fe80::6",
                                  "169.254.1.1", "fd00::6",  "fd00::7",  "2001:db8::1", "10.9.9.9"};
static const char *const ifs[] = {"net1", "net2", "eth0", "ib0", ""};

static void random_port(int hca, unsigned num)
{
    struct ni_port *p = node_port(hca, num);
    p->state.v = often() ? NI_PORT_ACTIVE : next(6);
    p->state.known = often() ? NI_KNOWN : (enum ni_known)next(5);
    p->link = often() ? NI_LINK_ROCE : (enum ni_link)next(3);
    p->mbps = (struct ni_num){next(3) * 200000, often() ? NI_KNOWN : NI_DENIED};
    unsigned index = next(3);
    for (unsigned n = next(6); n > 0; n--, index += 1 + next(2))
        node_gid(index, ips[next(NI_COUNT(ips))], (enum ni_gid_type)(often() ? 2 : next(3)),
                 (enum ni_own)(often() ? 1 : next(3)), ifs[next(NI_COUNT(ifs))]);
}

static void random_hca(unsigned i)
{
    char name[16];
    snprintf(name, sizeof(name), "mlx5_%u", i);
    int at = node_hca(name);
    struct ni_hca *h = &node.inv.hca[at];
    node.inv.n_port--; /* ports of our own */
    h->n_port = 0;
    h->claim = often() ? h->claim : -1;
    h->bdf.dev = (uint8_t)next(4);
    h->is_vf = next(2);
    h->pf = (struct ni_bdf){0, (uint8_t)next(2), 0, 0};
    h->place.merged = (enum ni_at)next(5);
    h->place.unmerged = (enum ni_at)next(5);
    if (often())
        node_chain(&h->pci, next(2) ? "0000:00:01.0 0000:01:00.0" : "0000:00:05.0", next(2));
    for (unsigned n = 1 + next(2); n > 0; n--)
        random_port(at, n);
}

static void random_env(void)
{
    static const char *const entries[] = {
        "NCCL_IB_HCA==mlx5_0",
        "NCCL_IB_HCA=mlx5_1",
        "NCCL_IB_HCA=",
        "NCCL_IB_HCA=^mlx5_0",
        "NCCL_IB_GID_INDEX=3",
        "NCCL_IB_GID_INDEX=",
        "NCCL_IB_GID_INDEX=-1",
        "NCCL_SOCKET_IFNAME=eth9",
        "NCCL_SOCKET_IFNAME=",
        "NCCL_NET_GDR_LEVEL=SYS",
        "NCCL_IB_DISABLE=0",
        "NCCL_IB_DISABLE=1",
        "NCCL_NET=IB",
        "NCCL_NET_PLUGIN=none",
        "NCCL_IB_ADDR_FAMILY=AF_INET6",
        "NCCL_IB_ADDR_RANGE=bogus",
        "NCCL_DMABUF_ENABLE=0",
        "NCCL_CROSS_NIC=1",
        "NCCL_IB_MERGE_VFS=1",
        "NCCL_IB_MERGE_NICS=1",
    };
    for (unsigned n = next(2) * next(4); n > 0; n--) {
        const char *e = entries[next(NI_COUNT(entries))];
        struct ni_span name;
        const char *value;
        char buf[NI_DEV_NAME];
        assert_true(ni_env_split(e, &name, &value));
        ni_copyn(buf, sizeof(buf), name.p, name.n);
        if (next(3))
            node_env(e);
        else
            node_conf(buf, value);
    }
}

static void random_node(void)
{
    node_reset(NULL);
    node.policy.mode = (enum ni_mode)(often() ? NI_MODE_AUTO : next(3));
    node.policy.gdr = (enum ni_gdr_policy)(often() ? NI_GDR_AUTO : next(2));
    node.policy.sockets = often() ? NULL : next(2) ? "pod" : "net1,eth0,nix";
    for (unsigned i = 0; i < NI_COUNT(ifs); i++) {
        if (ifs[i][0] && often())
            node_netdev(ifs[i], often());
    }
    for (unsigned i = next(6); i > 0; i--)
        node_addr(ips[next(NI_COUNT(ips))], ifs[next(NI_COUNT(ifs))]);
    if (often())
        ni_copy(node.inv.net.default_if, NI_IF_NAME, ifs[next(4)]);
    for (unsigned i = 0, n = next(4); i < n; i++)
        random_hca(i);
    node.inv.source = (enum ni_source)(1 + next(NI_SRC_HOST));
    for (unsigned i = next(3); i > 0; i--) {
        struct ni_gpu *g = &node.inv.gpu[node.inv.n_gpu++];
        node_chain(&g->pci, next(2) ? "0000:00:01.0 0000:02:00.0" : "0000:00:02.0 0000:03:00.0",
                   next(2));
        g->bdf = g->pci.at[1];
    }
    node.inv.gdr.peermem = often() ? NI_KNOWN : NI_ABSENT;
    random_env();
}

/* ---- the properties ---- */

static const struct ni_setting *of_rule(const char *name)
{
    const struct ni_setting *s = ni_plan_get(&node.plan, name);
    return s && s->origin == NI_FROM_RULE ? s : NULL;
}

static void check_origins(void)
{
    const struct ni_env env = {node.entry};
    for (unsigned i = 0; i < node.plan.n_setting; i++) {
        const struct ni_setting *s = &node.plan.setting[i];
        const char *user = ni_env_get(&env, s->name), *conf = NULL;
        for (unsigned k = 0; !conf && k < node.inv.n_conf; k++)
            conf = strcmp(node.inv.conf[k].name, s->name) == 0 ? node.inv.conf[k].value : NULL;
        assert_int_equal(s->origin == NI_FROM_USER, user != NULL);
        assert_int_equal(s->origin == NI_FROM_CONF, !user && conf);
        if (user || conf)
            assert_string_equal(s->value, user ? user : conf);
        assert_int_equal(s->origin == NI_FROM_RULE, !user && !conf && s->value[0]);
        assert_true(s->rule && s->reason[0]);
        for (unsigned k = 0; k < i; k++)
            assert_string_not_equal(s->name, node.plan.setting[k].name);
    }
}

static void check_ports(void)
{
    const struct ni_setting *s = of_rule("NCCL_IB_HCA");
    enum ni_link link = NI_LINK_UNKNOWN;
    unsigned kept = 0;
    for (unsigned i = 0; i < node.inv.n_port; i++)
        kept += node.plan.pick[i].kept;
    assert_int_equal(kept, node.plan.n_chosen);
    for (unsigned i = 0; i < node.plan.n_chosen; i++) {
        int at = node.plan.chosen[i];
        const struct ni_port *p = &node.inv.port[at];
        assert_true(node.plan.pick[at].kept);
        assert_true(node.inv.hca[p->hca].claim >= 0);
        assert_true(p->state.known == NI_KNOWN && p->state.v == NI_PORT_ACTIVE);
        assert_true(link == NI_LINK_UNKNOWN || link == p->link);
        link = p->link;
        if (s)
            assert_true(ni_nccl_match(s->value, node.inv.hca[p->hca].name, (int)p->num));
    }
    for (unsigned i = 0; s && i < node.inv.n_port; i++) {
        const struct ni_port *p = &node.inv.port[i];
        assert_int_equal(ni_nccl_match(s->value, node.inv.hca[p->hca].name, (int)p->num),
                         node.plan.pick[i].kept);
    }
    if (s)
        assert_true(s->value[0] == '=' && strlen(s->value) > 1 && node.plan.n_chosen > 0);
    if (of_rule("NCCL_IB_DISABLE"))
        assert_int_equal(of_rule("NCCL_IB_DISABLE")->value[0] == '0', node.plan.n_chosen > 0);
    assert_true(!node.plan.refuse || node.policy.mode == NI_MODE_RDMA);
}

static const struct ni_gid *entry_of(const struct ni_port *p, unsigned index)
{
    for (unsigned k = 0; k < p->n_gid; k++) {
        const struct ni_gid *g = &node.inv.gid[p->first_gid + (int)k];
        if (g->index == index)
            return g;
    }
    return NULL;
}

static void check_gids(void)
{
    const struct ni_setting *s = of_rule("NCCL_IB_GID_INDEX");
    const struct ni_setting *range = of_rule("NCCL_IB_ADDR_RANGE");
    uint64_t index = 0;
    if (s)
        assert_int_equal(ni_parse_u64(ni_span_of(s->value), NI_GID_TABLE, &index), 0);
    assert_false(s && range); /* an index switches the search off */
    for (unsigned i = 0; i < node.plan.n_chosen; i++) {
        int at = node.plan.chosen[i], pick = node.plan.pick[at].gid;
        const struct ni_port *p = &node.inv.port[at];
        if (p->link != NI_LINK_ROCE) {
            assert_true(!s && !range && !of_rule("NCCL_IB_ADDR_FAMILY"));
            continue;
        }
        assert_true(pick < 0 || (pick >= p->first_gid && pick < p->first_gid + (int)p->n_gid));
        /* RoCE v1 only where there is nothing better, and then without an index */
        assert_true(pick < 0 || !s || node.inv.gid[pick].type == NI_GID_V2);
        assert_true(pick < 0 || node.inv.gid[pick].own != NI_OWN_FOREIGN);
        if (!s)
            continue;
        const struct ni_gid *g = entry_of(p, (unsigned)index);
        assert_true(g && g->type == NI_GID_V2 && g->own != NI_OWN_FOREIGN);
        assert_true(g == &node.inv.gid[pick]);
    }
}

static void check_sockets(void)
{
    const struct ni_setting *s = of_rule("NCCL_SOCKET_IFNAME");
    const char *cursor = s ? s->value + 1 : NULL;
    struct ni_span name;
    if (!s)
        return;
    assert_true(s->value[0] == '=' && s->value[1]);
    while (ni_split(&cursor, ',', &name)) {
        bool runs = false, addressed = false;
        for (unsigned i = 0; i < node.inv.n_netdev; i++)
            runs =
                runs || (ni_span_is(name, node.inv.netdev[i].name) && node.inv.netdev[i].running);
        for (unsigned i = 0; i < node.inv.net.n_addr; i++) {
            const struct ni_addr *a = &node.inv.net.addr[i];
            addressed = addressed || (!ni_ip_is_link_local(a->ip) &&
                                      (!a->ifname[0] || ni_span_is(name, a->ifname)));
        }
        for (unsigned i = 0; i < node.inv.n_gid; i++) {
            const struct ni_gid *g = &node.inv.gid[i]; /* ours by its address */
            addressed = addressed || (g->own == NI_OWN_OURS && !ni_ip_is_link_local(g->ip) &&
                                      ni_span_is(name, g->ndev));
        }
        if (!addressed || (!runs && !ni_span_is(name, node.inv.net.default_if)))
            fail_msg("%s", s->value);
    }
}

static void test_properties(void **state)
{
    unsigned indexes = 0, ranges = 0, chosen = 0, rdma = 0;
    (void)state;
    seed = 7;
    for (unsigned i = 0; i < 20000; i++) {
        random_node();
        node_decide();
        check_origins();
        check_ports();
        check_gids();
        check_sockets();
        indexes += of_rule("NCCL_IB_GID_INDEX") != NULL;
        ranges += of_rule("NCCL_IB_ADDR_RANGE") != NULL;
        chosen += node.plan.n_chosen > 1;
        rdma += node.plan.transport == NI_NET_RDMA;
    }
    assert_true(indexes > 500 && ranges > 20 && chosen > 500 && rdma > 1000); /* no trivial ones */
}

/* The same inventory twice gives the same plan: nothing is left over, nothing uninitialised counts.
   */
static void test_same_again(void **state)
{
    static struct ni_plan first;
    (void)state;
    seed = 8;
    for (unsigned i = 0; i < 2000; i++) {
        random_node();
        node_decide();
        memcpy(&first, &node.plan, sizeof(first));
        node_decide();
        assert_int_equal(node.plan.n_setting, first.n_setting);
        for (unsigned k = 0; k < first.n_setting; k++) {
            assert_string_equal(node.plan.setting[k].value, first.setting[k].value);
            assert_string_equal(node.plan.setting[k].reason, first.setting[k].reason);
        }
        assert_memory_equal(node.plan.chosen, first.chosen, sizeof(first.chosen));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_properties),
        cmocka_unit_test(test_same_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
