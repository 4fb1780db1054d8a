/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses, routes and interfaces of this network namespace, all read from files. */
#ifndef NCCL_INIT_NODE_NET_H
#define NCCL_INIT_NODE_NET_H

#include "node/read.h"

/* Read IPv4 addresses; IPv4 routes, which give the addresses their interfaces. */
void ni_probe_addresses(struct ni_probe *p);
void ni_probe_routes(struct ni_probe *p);
/* Read IPv6 addresses and the default route; all IPv6 routes. */
void ni_probe_ipv6(struct ni_probe *p);
void ni_probe_routes6(struct ni_probe *p);
/* Adds the interface, or finds it. Its index; -1: no room, or no name. */
int ni_add_netdev(struct ni_probe *p, const char *name);

/* Notes that a source says the interface was given to the pod. */
void ni_note_allocated_netdev(struct ni_probe *p, const char *name);

/* Returns true if this network namespace has the address, as far as its addresses were read. */
bool ni_is_local_address(const struct ni_net *net, const uint8_t ip[NI_GID_BYTES]);

#endif
