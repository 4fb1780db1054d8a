/* SPDX-License-Identifier: Apache-2.0 */
/* What this pod tells the others of the job: its rails, and its settings as NCCL will have them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "preflight/job.h"
#include "rules/rule.h"

/* ---- facts of the pod, and settings ---- */

void ni_add_setting(struct ni_pod *pod, const char *name, const char *value)
{
    struct ni_pod_setting *s = &pod->setting[pod->n_setting];
    (void)ni_copy(s->name, sizeof(s->name), name);
    (void)ni_copyn(s->value, sizeof(s->value), value, strnlen(value, sizeof(s->value) - 1));
    pod->n_setting += value[0] != '\0';
}

/* As NCCL will have them: the user's or a file's, else ours. Equal values become equal texts: 0x10 is
   16 (NCCL reads numbers by strtoll with base 0). */
static void describe_settings(const struct ni_work *w, struct ni_pod *pod)
{
    for (unsigned i = 0; i < NI_N_JOB_SETTING; i++) {
        const struct ni_job_setting *row = &ni_job_settings[i];
        char buf[24];
        const char *value = ni_user_value(w, row->name);
        const struct ni_setting *ours = value ? NULL : ni_plan_get(w->plan, row->name);
        char *end;
        if (ours && ours->origin == NI_FROM_RULE)
            value = ours->value;
        /* an empty number is NCCL's default (2.30.7 misc/param.cc); IB by name, or by default, is
           seen in the transport */
        if (!row->otherwise || !value || !*value ||
            (w->plan->transport != NI_NET_OTHER && strcmp(row->name, "NCCL_NET") == 0))
            continue;
        const long long number = strtoll(value, &end, 0);
        (void)ni_format(buf, sizeof(buf), "%lld", number);
        value = *end == '\0' ? buf : value;
        if (strcmp(value, row->otherwise) != 0)
            ni_add_setting(pod, row->name, value);
    }
}

/* ---- rails ---- */

/* The network of the GID, then what else its interface has a route to: a queue pair's packets leave by
   that one only (drivers/infiniband/core/addr.c, Linux 6.1). Routes of other tables than the main one
   /proc does not show. */
static void find_subnets(const struct ni_net *net, struct ni_rail *rail)
{
    const bool v4 = ni_ip_is_v4(rail->gid);
    const struct ni_route *all = v4 ? net->route : net->route6;
    const unsigned n = v4 ? net->n_route : net->n_route6;
    for (unsigned i = 0; i < 2 * n && rail->n_subnet < NI_MAX_SUBNETS; i++) {
        const struct ni_route *route = &all[i < n ? i : i - n];
        struct ni_subnet s = {.bits = (uint8_t)((v4 ? 96 : 0) + route->bits)};
        memcpy(s.ip, route->dest, NI_GID_BYTES);
        const bool own = !route->gateway && ni_ip_same_prefix(s.ip, rail->gid, s.bits);
        if (own == (i < n) && strcmp(route->ifname, rail->netdev) == 0)
            rail->subnet[rail->n_subnet++] = s;
    }
}

void ni_describe_rail(const struct ni_work *w, int at, struct ni_rail *rail)
{
    const struct ni_inventory *inv = w->inv;
    const struct ni_port *port = &inv->port[at];
    const struct ni_hca *hca = &inv->hca[port->hca];
    const struct ni_port_plan *plan = &w->plan->port[at];
    const int gid = plan->gid < 0 ? plan->best : plan->gid;
    const struct ni_netdev *netdev = hca->netdev >= 0 ? &inv->netdev[hca->netdev] : NULL;
    const struct ni_uverbs *node = &hca->uverbs;
    *rail = (struct ni_rail){.port = port->num,
                             .link = port->link,
                             .software = hca->pci.none,
                             .mbps = port->mbps,
                             .node_err = node->known == NI_ABSENT ? ENODEV : -node->err};
    ni_copy(rail->hca, sizeof(rail->hca), hca->name);
    rail->index = gid < 0 ? -1 : plan->nccl_index >= 0 ? plan->nccl_index : inv->gid[gid].index;
    for (unsigned i = 0; i < port->n_gid; i++) {
        const struct ni_gid *g = ni_port_gid(inv, port, i);
        if (g->index != rail->index)
            continue;
        memcpy(rail->gid, g->ip, NI_GID_BYTES);
        rail->v2 = g->type == NI_GID_V2;
        ni_copy(rail->netdev, sizeof(rail->netdev), g->ndev);
        netdev = netdev ? netdev : ni_find_netdev(inv, g->ndev);
        find_subnets(&inv->net, rail);
    }
    if (netdev) {
        rail->netdev_mtu = netdev->mtu;
        if (!rail->netdev[0])
            ni_copy(rail->netdev, sizeof(rail->netdev), netdev->name);
    }
}

void ni_describe_pod(const struct ni_work *w, struct ni_pod *ret, struct ni_rail *rail,
                     struct ni_pod_setting *setting)
{
    const struct ni_inventory *inv = w->inv;
    static const char *const network[] = {[NI_NET_OFF] = "undecided (--mode=off)",
                                          [NI_NET_RDMA] = "RDMA",
                                          [NI_NET_TCP] = "sockets",
                                          [NI_NET_OTHER] = "another plugin"};
    char number[12];
    ret->here = true;
    ret->transport = w->plan->transport;
    ret->rail = rail;
    ret->setting = setting;
    ret->n_rail = ret->n_setting = 0;
    if (w->plan->transport == NI_NET_RDMA) {
        for (; ret->n_rail < w->plan->n_chosen; ret->n_rail++)
            ni_describe_rail(w, w->plan->chosen[ret->n_rail], &rail[ret->n_rail]);
        (void)ni_format(number, sizeof(number), "%u", ret->n_rail);
        ni_add_setting(ret, "rails", number);
    }
    (void)ni_format(number, sizeof(number), "%u", inv->n_gpu);
    ni_add_setting(ret, "GPUs", number);
    ni_add_setting(ret, "network", network[w->plan->transport]);
    ni_add_setting(ret, "GPU driver", inv->drivers.nvidia_version);
    describe_settings(w, ret);
}
