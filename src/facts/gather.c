/* SPDX-License-Identifier: Apache-2.0 */
/* The ordered list of probes, and what is read only when it is needed. */
#include <errno.h>
#include <string.h>

#include "probe.h"

static bool has_active_ib(const struct ni_inventory *inv)
{
    for (unsigned i = 0; i < inv->n_port; i++) {
        const struct ni_port *port = &inv->port[i];
        if (inv->hca[port->hca].claim >= 0 && port->link == NI_LINK_IB &&
            port->state.v == NI_PORT_ACTIVE)
            return true;
    }
    return false;
}

/* The RoCE ports have a routable GID, and each interface found by now runs. */
static bool rails_run(const struct ni_inventory *inv)
{
    bool routable = false;
    for (unsigned i = 0; i < inv->n_gid; i++) {
        const struct ni_gid *g = &inv->gid[i];
        routable =
            routable || (g->own != NI_OWN_FOREIGN && g->ndev[0] && !ni_ip_is_link_local(g->ip));
    }
    for (unsigned i = 0; i < inv->n_netdev; i++) {
        if (!inv->netdev[i].running)
            return false;
    }
    return routable && !has_active_ib(inv);
}

/* Whether the rails alone tell the socket interfaces, and the user has not chosen otherwise. Else the
   IPv6 side of the pod's own interface is needed. */
static bool rails_tell(const struct ni_probe *p)
{
    static const char *const chosen_by_user[] = {"NCCL_IB_HCA", "NCCL_IB_DISABLE", "NCCL_NET",
                                                 "NCCL_SOCKET_IFNAME", "NCCL_SOCKET_FAMILY"};
    for (unsigned i = 0; i < NI_COUNT(chosen_by_user); i++) {
        if (ni_users(p, chosen_by_user[i]))
            return false;
    }
    return !p->ask->pod_interface && !p->ask->sockets && rails_run(p->inv);
}

/* The interfaces that the socket rule may name. */
static void probe_netdevs(struct ni_probe *p)
{
    struct ni_inventory *inv = p->inv;
    for (unsigned i = 0; i < inv->n_gid; i++) {
        if (inv->gid[i].own == NI_OWN_OURS && inv->gid[i].ndev[0])
            ni_add_netdev(p, inv->gid[i].ndev);
    }
    /* IPoIB interfaces hang below the function; their addresses tell whether they serve. */
    if (has_active_ib(inv)) {
        for (unsigned i = 0; i < inv->n_hca; i++) {
            if (inv->hca[i].claim >= 0)
                ni_probe_own_netdev(p, &inv->hca[i]);
        }
    }
    if (!rails_tell(p))
        ni_probe_ipv6(p);
    if (inv->net.default_if[0])
        ni_add_netdev(p, inv->net.default_if);
}

/* What a list without '=' takes is seen only among all names. */
static void probe_users_hcas(struct ni_probe *p)
{
    const char *list = ni_users(p, "NCCL_IB_HCA");
    struct ni_inventory *inv = p->inv;
    if (!list || !*list || *list == '=' || *list == '^')
        return;
    int err = ni_list(p->root, &p->names, "sys/class/infiniband");
    if (err < 0) {
        ni_note_unreadable(p, "sys/class/infiniband", err);
        return;
    }
    for (unsigned i = 0; i < p->names.n && !inv->users_foreign_hca[0]; i++) {
        bool mine = false;
        const char *name = p->names.name[i];
        for (unsigned h = 0; h < inv->n_hca; h++)
            mine = mine || (inv->hca[h].claim >= 0 && strcmp(inv->hca[h].name, name) == 0);
        if (!mine && ni_is_name(ni_span_of(name), NI_DEV_NAME) && ni_nccl_match(list, name, -1))
            ni_copy(inv->users_foreign_hca, sizeof(inv->users_foreign_hca), name);
    }
}

/* The interface of the default route is up and has an address. */
static bool pod_interface_serves(const struct ni_inventory *inv)
{
    const struct ni_netdev *d = ni_find_netdev(inv, inv->net.default_if);
    for (unsigned i = 0; d && d->running && i < inv->net.n_addr; i++) {
        const struct ni_addr *a = &inv->net.addr[i];
        if (!ni_ip_is_link_local(a->ip) && (!a->ifname[0] || strcmp(a->ifname, d->name) == 0))
            return true;
    }
    return false;
}

/* The interfaces that the user's NCCL_SOCKET_IFNAME may mean; all where NCCL may go by its own search,
   for a list of one character is none (misc/socket.cc). */
static void probe_first_interface(struct ni_probe *p)
{
    const char *sockets = ni_users(p, "NCCL_SOCKET_IFNAME");
    const bool any = !sockets || strlen(sockets) < 2;
    if (!sockets && (rails_run(p->inv) || pod_interface_serves(p->inv)))
        return;
    int err = ni_list(p->root, &p->names, "sys/class/net");
    if (err < 0) {
        ni_note_unreadable(p, "sys/class/net", err);
        return;
    }
    p->inv->net.all_listed = any;
    for (unsigned i = 0; i < p->names.n; i++) {
        char path[NI_PATH];
        bool match = any || ni_nccl_match_if(sockets, p->names.name[i]);
        int at = match ? ni_add_netdev(p, p->names.name[i]) : -1;
        if (at < 0 || strcmp(p->names.name[i], "lo") == 0)
            continue;
        (void)ni_format(path, sizeof(path), "sys/class/net/%s/ifindex", p->names.name[i]);
        p->inv->netdev[at].ifindex = ni_note_num(p, path);
    }
}

static void probe_topo_file(struct ni_probe *p)
{
    const char *topo = ni_users(p, "NCCL_TOPO_FILE");
    if (topo && *topo)
        p->inv->topo_file = ni_probe_readable(p, topo);
}

static void probe_named_sockets(struct ni_probe *p)
{
    const char *list = p->ask->sockets;
    struct ni_span name;
    char buf[NI_IF_NAME];
    while (ni_split(&list, ',', &name)) {
        if (ni_copyn(buf, sizeof(buf), name.p, name.n))
            ni_add_netdev(p, buf);
    }
}

/* One file that is absent says something; a whole file system only that nobody mounted it. A
   recording or a test's directory may hold no more than it needs. */
static void note_unmounted(struct ni_probe *p)
{
    if (p->root->root->kind != NI_ROOT_LIVE)
        return;
    if (p->inv->self.caps_known == NI_ABSENT)
        ni_report(p->f, NI_F_FACT_UNREADABLE, "proc",
                  "not mounted: limits, capabilities, addresses and routes cannot be seen");
    if (p->inv->n_hca == 0 && ni_exists(p->root, "sys/class") == -ENOENT)
        ni_report(p->f, NI_F_FACT_UNREADABLE, "sys",
                  "not mounted: HCAs, GPUs and network interfaces cannot be seen");
}

/* Not on the stack, whose soft limit may be 128 KiB. */
extern struct ni_probe ni_the_probe;
struct ni_probe ni_the_probe NI_LARGE;

void ni_gather(const struct ni_root *root, const struct ni_env *env, const struct ni_ask *ask,
               struct ni_inventory *inv, struct ni_findings *f)
{
    struct ni_probe *p = &ni_the_probe;
    const struct ni_dir top = ni_dir_top(root);
    p->root = &top;
    p->env = env;
    p->ask = ask;
    p->inv = inv;
    p->f = f;
    p->ipv6_read = p->settled = p->lost = p->gpus_found = false;
    p->nodes = root->kind == NI_ROOT_LIVE || ni_exists(p->root, "dev") != -ENOENT;
    p->n_placed = p->names.n = 0;
    if (ask->off)
        return;
    ni_probe_self(p);
    ni_probe_conf(p);
    ni_probe_addresses(p);
    ni_probe_routes(p);
    ni_probe_sources(p);
    note_unmounted(p);
    ni_probe_places(p);
    ni_probe_gids(p);
    probe_netdevs(p);
    probe_named_sockets(p);
    probe_first_interface(p);
    probe_topo_file(p);
    probe_users_hcas(p);
    if (inv->n_hca > 0 || ask->all_hcas || ask->gpus)
        ni_probe_gpus(p);
    if (ask->all_hcas)
        ni_probe_visible(p);
    ni_probe_physfns(p);
    ni_probe_rates(p);
    ni_probe_numa(p);
    if (ask->health)
        ni_probe_health(p);
}
