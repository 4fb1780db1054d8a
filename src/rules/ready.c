/* SPDX-License-Identifier: Apache-2.0 */
/* Readiness for --wait: the things that a node may still lack just after it was set up. Link
   state, addresses and GIDs come a little after the interface: the kernel fills the GID table
   from a work queue (drivers/infiniband/core/roce_gid_mgmt.c). DRA metadata is waited for,
   because it may name more devices. */
#include "rules/ready.h"

#include "nccl_init/inventory.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "rules/gid_pick.h"

/* Returns true if the port has a routable GID. Its owner may never be known, which is no reason to
   wait. */
static bool has_routable_gid(const struct ni_inventory *inv, const struct ni_port *port)
{
    const int best = ni_best_gid(inv, port, false);

    return best >= 0 && ni_gid_is_routable_v2(&inv->gid[best]);
}

bool ni_is_ready(const struct ni_inventory *inv, struct ni_text *missing)
{
    bool ready = !inv->pending[0];

    if (!ready)
        ni_putf(missing, "device metadata %s", inv->pending);
    for (unsigned i = 0; i < inv->n_port; i++) {
        const struct ni_port *port = &inv->port[i];
        const struct ni_hca *h = &inv->hca[port->hca];
        const char *lacks = NULL;

        if (!ni_is_allocated(h))
            continue;
        if (!ni_is_active(port))
            lacks = "link";
        else if (port->link == NI_LINK_ROCE && !has_routable_gid(inv, port))
            lacks = "address and GID";
        else if (h->netdev >= 0 && !inv->netdev[h->netdev].running)
            lacks = "interface";
        if (lacks)
            ni_putf(missing, "%s%s: %s", ready ? "" : ", ", ni_port_name(inv, (int)i).text, lacks);
        ready = ready && !lacks;
    }
    return ready;
}
