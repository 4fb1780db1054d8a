/* SPDX-License-Identifier: Apache-2.0 */
/* The rule rail.cross: NCCL_CROSS_NIC, by the networks of the rails. */
#ifndef NCCL_INIT_RULES_RAILS_H
#define NCCL_INIT_RULES_RAILS_H

#include <stdint.h>

#include "nccl_init/base.h"
#include "nccl_init/net.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "rules/decide.h"

/* One end of a connection: an interface of this pod, and an address that it has. */
struct ni_end {
    const char *ifname;
    const uint8_t *ip; /* NI_GID_BYTES */
};

enum ni_path { NI_PATH_UNKNOWN, NI_PATH_NONE, NI_PATH_THERE };
ni_rule_fn ni_rule_rails;

/* Returns the most specific connected IPv4 route of the main table that goes over that interface
   and holds the address; NULL: there is none. */
const struct ni_route *ni_connected_route(const struct ni_net *net, const char *ifname,
                                          const uint8_t ip[NI_GID_BYTES]);

/* Returns THERE if a packet that leaves through one interface can reach the network of the other:
   they share a subnet, or a route of one leads through a router to the other. UNKNOWN if a table of
   policy rules (`ip rule`) may do so. The other pods are built alike. IPv6 needs NI_NEED_ROUTES6.
   */
enum ni_path ni_path_between(const struct ni_net *net, const struct ni_end *a,
                             const struct ni_end *b);

/* The rails that the pod was given: the chosen ports, then those that are out of use in this pod
   alone, as far as their network is known. What must be equal in all pods of a job goes by these. */
struct ni_given_rails {
    unsigned n;
    int port[NI_MAX_CHOSEN];                 /* of the inventory */
    const struct ni_gid *gid[NI_MAX_CHOSEN]; /* the port's best; NULL: none, or InfiniBand */
    int unknown; /* one of these whose network is not known, of the inventory; -1: none */
};

void ni_given_rails(const struct ni_work *w, struct ni_given_rails *ret);

#endif
