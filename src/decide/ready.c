/* SPDX-License-Identifier: Apache-2.0 */
/* --wait: what a node that has just been set up may still lack. Link state, addresses and GIDs come
   a little after the interface: the kernel fills the GID table from a work queue
   (drivers/infiniband/core/roce_gid_mgmt.c). */
#include "rule.h"

static bool has_routable_gid(const struct ni_inventory *inv, const struct ni_port *port)
{
    for (unsigned i = 0; i < port->n_gid; i++) {
        const struct ni_gid *g = ni_port_gid(inv, port, i);
        /* whose it is may never be told: that is no reason to wait */
        if (g->type == NI_GID_V2 && g->own != NI_OWN_FOREIGN && !ni_ip_is_link_local(g->ip))
            return true;
    }
    return false;
}

static const char *lacks(const struct ni_inventory *inv, const struct ni_port *port)
{
    int netdev = inv->hca[port->hca].netdev;
    if (port->state.known != NI_KNOWN || port->state.v != NI_PORT_ACTIVE)
        return "link";
    if (port->link == NI_LINK_ROCE && !has_routable_gid(inv, port))
        return "address and GID";
    if (netdev >= 0 && !inv->netdev[netdev].running)
        return "interface";
    return NULL;
}

bool ni_is_ready(const struct ni_inventory *inv, struct ni_text *missing)
{
    bool ready = true;
    for (unsigned i = 0; i < inv->n_port; i++) {
        char name[NI_DEV_NAME + 8];
        const struct ni_port *port = &inv->port[i];
        const char *what = !ni_is_given(&inv->hca[port->hca]) ? NULL : lacks(inv, port);
        if (!what)
            continue;
        ni_putf(missing, "%s%s: %s", ready ? "" : ", ", ni_port_text(inv, (int)i, name), what);
        ready = false;
    }
    return ready;
}
