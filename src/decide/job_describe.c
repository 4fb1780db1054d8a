/* SPDX-License-Identifier: Apache-2.0 */
/* What this pod tells the others of the job: its rails, and its settings as NCCL will have them. */
#include <stdlib.h>
#include <string.h>

#include "nccl_init/job.h"
#include "rule.h"

/* ---- settings ---- */

/* What NCCL will have: the user's or a file's, else ours; NULL: unset. NCCL takes its default for
   a number that is empty (2.30.7 misc/param.cc). */
static const char *value_of(const struct ni_work *w, const char *name)
{
    const char *user = ni_user_value(w, name);
    const struct ni_setting *s = user ? NULL : ni_plan_get(w->plan, name);
    const char *value = s && s->origin == NI_FROM_RULE ? s->value : user;
    return value && *value ? value : NULL;
}

/* Equal values become equal texts: 0x10 is 16 (NCCL reads numbers by strtoll with base 0), RING is
   ring. What does not fit keeps its difference in a checksum (FNV-1a). */
static void normalize(const struct ni_job_setting *row, const char *value, char *ret, size_t cap)
{
    char *end;
    const long long number = strtoll(value, &end, 0);
    uint32_t sum = 2166136261U;
    if (!row->words && end != value && *end == '\0') {
        (void)ni_format(ret, cap, "%lld", number);
        return;
    }
    for (const char *c = value; *c; c++)
        sum = (sum ^ (unsigned char)*c) * 16777619U;
    if (!ni_copy(ret, cap, value))
        (void)ni_format(ret, cap, "%.*s..#%08x", (int)cap - 12, value, sum);
    for (char *c = ret; row->words && *c; c++)
        *c = (char)(*c >= 'A' && *c <= 'Z' ? *c + ('a' - 'A') : *c);
}

static void describe_settings(const struct ni_work *w, struct ni_pod *pod)
{
    for (unsigned i = 0; i < NI_N_JOB_SETTING; i++) {
        const struct ni_job_setting *row = &ni_job_settings[i];
        struct ni_pod_setting *s = &pod->setting[pod->n_setting];
        const char *value = value_of(w, row->name);
        /* IB by name, or by default: that is seen in the transport */
        if (!value || (w->plan->transport != NI_NET_OTHER && strcmp(row->name, "NCCL_NET") == 0))
            continue;
        s->name = row->name;
        normalize(row, value, s->value, sizeof(s->value));
        pod->n_setting += strcmp(s->value, row->otherwise) != 0;
    }
}

/* ---- rails ---- */

static void add_subnet(struct ni_rail *rail, const struct ni_route *route, unsigned base)
{
    if (rail->n_subnet == NI_MAX_SUBNETS)
        return;
    struct ni_subnet *s = &rail->subnet[rail->n_subnet++];
    memcpy(s->ip, route->dest, NI_GID_BYTES);
    s->bits = (uint8_t)(base + route->bits);
}

/* The connected network of the GID first, then what else its interface has a route to: a queue
   pair's packets leave by that interface only (drivers/infiniband/core/addr.c, Linux 6.1). Without
   the connected one the routes are in other tables, which /proc does not show. */
static void find_subnets(const struct ni_net *net, struct ni_rail *rail)
{
    const bool v4 = ni_ip_is_v4(rail->gid);
    const struct ni_route *all = v4 ? net->route : net->route6, *own = NULL;
    const unsigned n = v4 ? net->n_route : net->n_route6, base = v4 ? 96 : 0;
    for (unsigned i = 0; i < n; i++) {
        if (!all[i].gateway && strcmp(all[i].ifname, rail->netdev) == 0 &&
            ni_ip_same_prefix(all[i].dest, rail->gid, base + all[i].bits) &&
            (!own || all[i].bits > own->bits))
            own = &all[i];
    }
    if ((v4 ? net->route_known : net->route6_known) != NI_KNOWN || !own || own->bits == 0)
        return;
    add_subnet(rail, own, base);
    for (unsigned i = 0; i < n; i++) {
        if (&all[i] != own && strcmp(all[i].ifname, rail->netdev) == 0)
            add_subnet(rail, &all[i], base);
    }
}

static void describe_rail(const struct ni_work *w, int at, struct ni_rail *rail)
{
    const struct ni_inventory *inv = w->inv;
    const struct ni_port *port = &inv->port[at];
    const struct ni_hca *hca = &inv->hca[port->hca];
    const struct ni_port_plan *pick = &w->plan->port[at];
    const struct ni_netdev *netdev = hca->netdev >= 0 ? &inv->netdev[hca->netdev] : NULL;
    *rail = (struct ni_rail){.port = port->num, .link = port->link, .mbps = port->mbps};
    ni_copy(rail->hca, sizeof(rail->hca), hca->name);
    rail->index = pick->gid < 0           ? -1
                  : pick->nccl_index >= 0 ? pick->nccl_index
                                          : inv->gid[pick->gid].index;
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
    struct ni_text kernel = ni_text_on(ret->kernel, sizeof(ret->kernel));
    ni_put(&kernel, w->inv->self.kernel);
    (void)ni_copy(ret->gpu_driver, sizeof(ret->gpu_driver), w->inv->drivers.nvidia_version);
    ret->here = true;
    ret->n_gpu = inv->n_gpu;
    ret->transport = w->plan->transport;
    ret->rail = rail;
    ret->setting = setting;
    ret->n_rail = ret->n_setting = 0;
    if (w->plan->transport == NI_NET_RDMA) {
        for (; ret->n_rail < w->plan->n_chosen; ret->n_rail++)
            describe_rail(w, w->plan->chosen[ret->n_rail], &rail[ret->n_rail]);
    }
    describe_settings(w, ret);
}
