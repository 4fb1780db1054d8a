/* SPDX-License-Identifier: Apache-2.0 */
/* Look-ups in the inventory. */
#include <string.h>

#include "nccl_init/env.h"
#include "nccl_init/inventory.h"
#include "nccl_init/ip.h"
#include "nccl_init/known.h"
#include "nccl_init/net.h"
#include "nccl_init/process.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"

bool ni_is_allocated_netdev(const struct ni_net *net, const char *name)
{
    for (unsigned i = 0; i < net->n_allocated; i++) {
        if (strcmp(net->given[i], name) == 0)
            return true;
    }
    return false;
}

const struct ni_netdev *ni_find_netdev(const struct ni_inventory *inv, const char *name)
{
    for (unsigned i = 0; i < inv->n_netdev; i++) {
        if (strcmp(inv->netdev[i].name, name) == 0)
            return &inv->netdev[i];
    }
    return NULL;
}

bool ni_gid_is_routable_v2(const struct ni_gid *g)
{
    return g->type == NI_GID_V2 && !ni_ip_is_link_local(g->ip);
}

bool ni_gid_is_right(const struct ni_inventory *inv, const struct ni_gid *g)
{
    return ni_gid_is_routable_v2(g) && g->owner == NI_OWNER_POD && ni_ip_is_v4(g->ip) &&
           g->ndev[0] && inv->net.v4_known == NI_KNOWN;
}

unsigned ni_allocated_hcas(const struct ni_inventory *inv)
{
    unsigned n = 0;

    for (unsigned i = 0; i < inv->n_hca; i++)
        n += ni_is_allocated(&inv->hca[i]);
    return n;
}

bool ni_has_dmabuf(const struct ni_inventory *inv)
{
    const struct ni_self *self = &inv->self;

    return inv->gdr.open_driver == NI_KNOWN &&
           (self->kernel_major > 5 || (self->kernel_major == 5 && self->kernel_minor >= 12));
}

static const struct ni_conf_entry *find_conf(const struct ni_inventory *inv, const char *name,
                                             bool overrides)
{
    for (unsigned i = 0; i < inv->n_conf; i++) {
        if (inv->conf[i].overrides == overrides && strcmp(inv->conf[i].name, name) == 0)
            return &inv->conf[i];
    }
    return NULL;
}

const struct ni_conf_entry *ni_find_conf(const struct ni_inventory *inv, const char *name)
{
    return find_conf(inv, name, false);
}

const struct ni_conf_entry *ni_find_overriding_conf(const struct ni_inventory *inv,
                                                    const char *name)
{
    return find_conf(inv, name, true);
}

const char *ni_find_user_value(const struct ni_env *env, const struct ni_inventory *inv,
                               const char *name, const char **ret_file)
{
    const char *value = ni_env_get(env, name);
    const struct ni_conf_entry *entry = value ? NULL : ni_find_conf(inv, name);

    if (ret_file)
        *ret_file = entry ? entry->file : NULL;
    return entry ? entry->value : value;
}

struct ni_port_name ni_port_name(const struct ni_inventory *inv, int port)
{
    const struct ni_port *p = &inv->port[port];
    struct ni_port_name name;

    (void)ni_format(name.text, sizeof(name.text), "%s/%u", inv->hca[p->hca].name, p->num);
    return name;
}

bool ni_is_active(const struct ni_port *port)
{
    return port->state.known == NI_KNOWN && port->state.v == NI_PORT_ACTIVE;
}

bool ni_is_down(const struct ni_port *port)
{
    return port->state.known == NI_KNOWN && port->state.v != NI_PORT_ACTIVE;
}

const struct ni_gid *ni_port_gid(const struct ni_inventory *inv, const struct ni_port *port,
                                 unsigned i)
{
    return &inv->gid[port->first_gid + (int)i];
}

const struct ni_gid *ni_gid_at(const struct ni_inventory *inv, const struct ni_port *port,
                               unsigned index)
{
    unsigned from = 0, to = port->n_gid;

    while (from < to) {
        const unsigned middle = (from + to) / 2;
        const struct ni_gid *g = ni_port_gid(inv, port, middle);

        if (g->index == index)
            return g;
        if (g->index < index)
            from = middle + 1;
        else
            to = middle;
    }
    return NULL;
}
