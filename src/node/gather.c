/* SPDX-License-Identifier: Apache-2.0 */
/* Probes in their order: facts that every pod needs, and facts that a rule asks for. */
#include "node/gather.h"

#include <errno.h>
#include <string.h>

#include "findings/device.h"
#include "nccl_init/allocation.h"
#include "nccl_init/base.h"
#include "nccl_init/env.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/known.h"
#include "nccl_init/nccl_list.h"
#include "nccl_init/net.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "node/conf.h"
#include "node/data_direct.h"
#include "node/gid.h"
#include "node/gpu.h"
#include "node/health.h"
#include "node/image.h"
#include "node/net.h"
#include "node/pci.h"
#include "node/rdma.h"
#include "node/read.h"
#include "node/self.h"
#include "node/sources.h"
#include "sysroot/files.h"
#include "sysroot/root.h"

/* Adds the first interface of the HCA's function. */
static void probe_own_netdev(struct ni_probe *p, struct ni_hca *h)
{
    const enum ni_known listed =
        ni_read_names(p, p->root, NI_OPTIONAL, &p->names, "%s/net", h->function);

    h->netdev_known = listed == NI_KNOWN ? NI_ABSENT : listed;
    for (unsigned k = 0; k < p->names.n; k++) {
        if (!ni_is_name(ni_span_of(p->names.name[k]), NI_IF_NAME))
            continue;
        h->netdev_known = NI_KNOWN;
        h->netdev = ni_add_netdev(p, p->names.name[k]);
        return;
    }
}

/* Adds the interfaces of the HCAs' functions, in the order of the HCAs. An HCA without an ACTIVE port
   needs none unless a rule asks for it, but people see it. */
static void probe_own_netdevs(struct ni_probe *p)
{
    p->inv->n_netdev = 0;
    for (unsigned i = 0; i < p->inv->n_hca; i++) {
        struct ni_hca *h = &p->inv->hca[i];
        bool used = p->ask->all || p->ask->health || (p->inv->read & NI_NEED_LOST);

        for (unsigned k = 0; k < h->n_port; k++)
            used = used || ni_is_active(&p->inv->port[h->first_port + (int)k]);
        if (used && ni_is_allocated(h) && h->function[0])
            probe_own_netdev(p, h);
    }
}

/* Returns true if the interface may have an address. An address that no route ties to an interface
   may belong to any; of two interfaces in one subnet the route names only one. */
static bool may_have_address(const struct ni_net *net, const char *ifname)
{
    for (unsigned i = 0; i < net->n_addr; i++) {
        if (!net->addr[i].ifname[0] || strcmp(net->addr[i].ifname, ifname) == 0)
            return true;
    }
    for (unsigned i = 0; i < net->n_route; i++) {
        if (strcmp(net->route[i].ifname, ifname) == 0)
            return true;
    }
    return false;
}

/* Notes the interfaces of the functions that a source says were given to the pod. */
static void note_allocated_functions(struct ni_probe *p)
{
    for (unsigned i = 0; i < p->inv->n_allocation; i++) {
        const struct ni_allocation *c = &p->inv->allocation[i];

        if (!ni_is_source_certain(c->source) || c->by != NI_BY_BDF)
            continue;
        ni_read_names(p, p->root, NI_OPTIONAL, &p->names, "sys/bus/pci/devices/%s/net", c->id);
        for (unsigned k = 0; k < p->names.n; k++)
            ni_note_allocated_netdev(p, p->names.name[k]);
    }
}

/* Adds the interfaces of PCI functions that have an address. A host may have a thousand VFs; one
   without an address costs no read. */
static void probe_physical(struct ni_probe *p)
{
    struct ni_inventory *inv = p->inv;

    note_allocated_functions(p);
    for (unsigned i = 0; i < inv->net.n_allocated; i++) {
        if (ni_is_there(p, "sys/class/net/%s", inv->net.given[i]) != NI_ABSENT)
            (void)ni_add_netdev(p, inv->net.given[i]);
    }
    ni_read_names(p, p->root, NI_OPTIONAL, &p->names, "sys/class/net");
    for (unsigned i = 0; i < p->names.n; i++) {
        const char *name = p->names.name[i];

        if (strcmp(name, "lo") == 0 || !may_have_address(&inv->net, name))
            continue;
        const bool physical = ni_is_there(p, "sys/class/net/%s/device", name) == NI_KNOWN;
        const int at = physical ? ni_add_netdev(p, name) : -1;

        if (at >= 0)
            inv->netdev[at].physical = physical;
    }
}

/* Adds the interfaces that the user's NCCL_SOCKET_IFNAME matches, with the numbers by which NCCL
   orders them. */
static void probe_users_netdevs(struct ni_probe *p)
{
    struct ni_inventory *inv = p->inv;
    const char *list = ni_find_user_value(p->env, inv, "NCCL_SOCKET_IFNAME", NULL);

    if (!list)
        return;
    ni_read_names(p, p->root, NI_OPTIONAL, &p->names, "sys/class/net");
    for (unsigned i = 0; i < p->names.n; i++) {
        const char *its = p->names.name[i];
        const int at = ni_nccl_match(list, its, -1) ? ni_add_netdev(p, its) : -1;

        if (at >= 0)
            inv->netdev[at].ifindex = ni_read_num(p, p->root, NI_OPTIONAL, ni_parse_number,
                                                  "sys/class/net/%s/ifindex", its);
    }
}

/* Adds the interfaces that have an address. One that no route ties to an interface may belong to any:
   interfaces are added until one is up. */
static void probe_addr_netdevs(struct ni_probe *p)
{
    struct ni_inventory *inv = p->inv;
    bool searches = false;

    for (unsigned i = 0; i < inv->net.n_addr; i++) {
        if (inv->net.addr[i].ifname[0])
            (void)ni_add_netdev(p, inv->net.addr[i].ifname);
        else
            searches = true;
    }
    if (!searches)
        return;
    ni_read_names(p, p->root, NI_OPTIONAL, &p->names, "sys/class/net");
    for (unsigned i = 0; i < p->names.n && inv->n_netdev < NI_MAX_NETDEV; i++) {
        if (strcmp(p->names.name[i], "lo") == 0)
            continue;
        const int at = ni_add_netdev(p, p->names.name[i]);

        if (at >= 0 && inv->netdev[at].running)
            return;
    }
}

/* Adds the other interfaces that the socket rule may name. */
static void probe_netdevs(struct ni_probe *p)
{
    struct ni_inventory *inv = p->inv;
    const char *list = p->ask->sockets;
    struct ni_span name;
    char buf[NI_IF_NAME];

    for (unsigned i = 0; i < inv->n_gid; i++) {
        if (inv->gid[i].owner == NI_OWNER_POD && inv->gid[i].ndev[0])
            ni_add_netdev(p, inv->gid[i].ndev);
    }
    if (inv->net.default_if[0])
        ni_add_netdev(p, inv->net.default_if);
    for (unsigned i = 0; i < inv->net.n_route; i++) {
        if (inv->net.route[i].bits == 0)
            ni_add_netdev(p, inv->net.route[i].ifname);
    }
    while (ni_split(&list, ',', &name)) {
        if (ni_copyn(buf, sizeof(buf), name.p, name.n))
            ni_add_netdev(p, buf);
    }
    if (inv->read & NI_NEED_PHYSICAL)
        probe_physical(p);
    if (inv->read & NI_NEED_ADDR_NETDEVS)
        probe_addr_netdevs(p);
    if (inv->read & NI_NEED_USERS_NETDEVS)
        probe_users_netdevs(p);
}

/* Reports a file system that is not mounted, for then an absent file says nothing about the node. A
   recording or a test's directory may hold no more than it needs. */
static void note_unmounted(struct ni_probe *p)
{
    if (p->root->root->kind != NI_ROOT_LIVE)
        return;
    if (p->inv->self.caps_known == NI_ABSENT)
        ni_report(p->f, NI_F_FACT_UNREADABLE, "proc",
                  "not mounted: limits, capabilities, addresses and routes cannot be seen");
    if (p->inv->n_hca == 0 && ni_look_up(p->root, "sys/class") == -ENOENT)
        ni_report(p->f, NI_F_FACT_UNREADABLE, "sys",
                  "not mounted: HCAs, GPUs and network interfaces cannot be seen");
}

static struct ni_probe *begin_probe(const struct ni_root *root, const struct ni_env *env,
                                    const struct ni_ask *ask, struct ni_inventory *inv,
                                    struct ni_findings *f)
{
    static struct ni_probe probe; /* not on the stack, whose soft limit may be 128 KiB */
    struct ni_probe *p = &probe;

    p->top = ni_dir_top(root);
    p->root = &p->top;
    p->env = env;
    p->ask = ask;
    p->inv = inv;
    p->f = f;
    p->lost = false;
    p->has_dev = root->kind == NI_ROOT_LIVE || ni_look_up(p->root, "dev") != -ENOENT;
    return p;
}

/* Reads the facts that rules ask for. Interfaces are read anew, so that their order is that of the
   ports. */
static void probe_wanted(struct ni_probe *p, unsigned needs)
{
    struct ni_inventory *inv = p->inv;

    if (needs & NI_NEED_WHOLE_GIDS) /* they show to whom an entry of a GID table belongs */
        needs |= NI_NEED_IPV6 | NI_NEED_OWN_NETDEVS;
    if (needs & (NI_NEED_DATA_DIRECT | NI_NEED_LINKS)) /* a VF has those of its PF */
        needs |= NI_NEED_PFS;
    needs &= ~inv->read;
    inv->read |= needs;
    if (needs & NI_NEED_IPV6)
        ni_probe_ipv6(p);
    if (needs & NI_NEED_ROUTES6)
        ni_probe_routes6(p);
    if (needs & (NI_NEED_OWN_NETDEVS | NI_NEED_LOST))
        probe_own_netdevs(p);
    if (needs & NI_NEED_WHOLE_GIDS)
        ni_probe_whole_gids(p);
    if (needs & NI_NEED_LOST)
        ni_probe_lost_gids(p);
    if (needs & (NI_NEED_LOST | NI_NEED_IPV6 | NI_NEED_OWN_NETDEVS | NI_NEED_WHOLE_GIDS |
                 NI_NEED_USERS_NETDEVS | NI_NEED_ADDR_NETDEVS | NI_NEED_PHYSICAL | NI_NEED_ROUTES6))
        probe_netdevs(p);
    if (needs & NI_NEED_UVERBS)
        ni_probe_uverbs(p);
    if (needs & NI_NEED_GUIDS)
        ni_probe_guids(p);
    if (needs & (NI_NEED_PKEYS | NI_NEED_ALL_PKEYS))
        ni_probe_pkeys(p, (inv->read & NI_NEED_ALL_PKEYS) != 0);
    if (needs & (NI_NEED_UNMERGED | NI_NEED_PFS | NI_NEED_RATES))
        ni_probe_hcas(p, needs);
    if (needs & NI_NEED_DATA_DIRECT)
        ni_probe_data_direct(p);
    if (needs & NI_NEED_ALL_GDR)
        ni_probe_all_gdr(p);
    if (needs & NI_NEED_NETNS_MODE)
        ni_probe_netns_mode(p);
    if (needs & NI_NEED_LINKS)
        ni_probe_links(p);
    if (needs & NI_NEED_CPU)
        ni_probe_cpu(p);
    if (needs & NI_NEED_NUMA)
        ni_probe_numa(p);
    if (needs & NI_NEED_GPU_IDS)
        ni_probe_gpu_ids(p);
}

void ni_gather(const struct ni_root *root, const struct ni_env *env, const struct ni_ask *ask,
               struct ni_inventory *inv, struct ni_findings *f)
{
    if (ask->off)
        return;
    struct ni_probe *p = begin_probe(root, env, ask, inv, f);
    ni_probe_self(p);
    ni_probe_conf(p);
    ni_probe_addresses(p);
    ni_probe_routes(p);
    /* IPv6 may have the default route: the rule of the sockets would ask, and all rules run again */
    if (!inv->net.default_if[0]) {
        inv->read |= NI_NEED_IPV6;
        ni_probe_ipv6(p);
    }
    ni_probe_sources(p);
    note_unmounted(p);
    probe_netdevs(p);
    ni_probe_topo_file(p);
    if (ask->nccl)
        ni_probe_nccl(p);
    if (inv->n_hca > 0 || ask->all || ask->gpus)
        ni_probe_gpus(p);
    if (ask->all) {
        ni_probe_visible(p);
        probe_wanted(p,
                     ~(unsigned)(NI_NEED_UNMERGED | NI_NEED_USERS_NETDEVS | NI_NEED_ADDR_NETDEVS |
                                 NI_NEED_ROUTES6 | NI_NEED_PHYSICAL | NI_NEED_ALL_PKEYS |
                                 NI_NEED_NETNS_MODE | NI_NEED_LOST | NI_NEED_CPU));
    }
    if (ask->gpu_facts)
        probe_wanted(p, NI_NEED_NUMA);
    if (ask->health) {
        inv->for_doctor = true;
        probe_wanted(p, NI_NEED_OWN_NETDEVS);
        ni_probe_health(p);
    }
    if (ask->image || ask->drivers)
        ni_probe_drivers(p);
    if (ask->image)
        ni_probe_image(p);
}

void ni_gather_more(const struct ni_root *root, const struct ni_env *env, const struct ni_ask *ask,
                    unsigned needs, struct ni_inventory *inv, struct ni_findings *f)
{
    probe_wanted(begin_probe(root, env, ask, inv, f), needs);
}
