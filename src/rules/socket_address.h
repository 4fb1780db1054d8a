/* SPDX-License-Identifier: Apache-2.0 */
/* The address that NCCL takes of an interface, and lists of interfaces: for the rule socket.ifname. */
#ifndef NCCL_INIT_RULES_SOCKET_ADDRESS_H
#define NCCL_INIT_RULES_SOCKET_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "nccl_init/nccl_list.h"
#include "nccl_init/text.h"
#include "rules/decide.h"

/* The variables NCCL_SOCKET_IFNAME and NCCL_SOCKET_FAMILY. */
extern const char ni_socket_ifname[], ni_socket_family[];

/* The hosts that can connect to an address. */
enum ni_reach { NI_NO_ADDRESS, NI_THIS_LINK, NI_PEERS };

struct ni_if_address {
    enum ni_reach reach;
    bool v4;
};

/* Returns the address that the interface has, or may have. */
struct ni_if_address ni_address_of(const struct ni_work *w, const char *ifname);
/* Returns the address that the interface certainly has. own: an address of it, or NULL. */
struct ni_if_address ni_certain_address_of(const struct ni_work *w, const char *ifname,
                                           const uint8_t *own);
/* Returns true if the interface has, or may have, an address to which other nodes can connect. */
bool ni_has_address(const struct ni_work *w, const char *ifname);
/* Returns true if NCCL may take a link-local address of the interface, although it has a routable
   one, too. */
bool ni_may_be_local(const struct ni_work *w, const char *ifname);
/* Returns true if the interface is known to be down. */
bool ni_is_netdev_down(const struct ni_work *w, const char *ifname);
/* Returns true for a bridge of Docker, podman or libvirt, which has the same address on each node. */
bool ni_is_bridge_of_node(const char *ifname);

/* Interfaces in the order in which they are named. */
struct ni_if_list {
    const char *name[NI_MAX_IFS];
    unsigned n;
    bool pod; /* the pod's own interface comes first: the reason says what it is */
};

/* Adds the interface, unless it is there already or the list is full. The name must stay. */
void ni_add_interface(struct ni_if_list *l, const char *name);
/* Puts the names, with commas between them. */
void ni_put_interfaces(const struct ni_if_list *l, struct ni_text *t);

#endif
