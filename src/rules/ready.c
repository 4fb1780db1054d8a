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
        /* the owner of a GID may never be known, which is no reason to wait */
        else if (port->link == NI_LINK_ROCE && !ni_has_routable_gid(inv, port))
            lacks = "address and GID";
        else if (h->netdev >= 0 && !inv->netdev[h->netdev].running)
            lacks = "interface";
        if (lacks)
            ni_putf(missing, "%s%s: %s", ready ? "" : ", ", ni_port_name(inv, (int)i).text, lacks);
        ready = ready && !lacks;
    }
    return ready;
}
