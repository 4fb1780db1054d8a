/* SPDX-License-Identifier: Apache-2.0 */
/* Interfaces, addresses and routes of the network namespace. */
#ifndef NCCL_INIT_NET_H
#define NCCL_INIT_NET_H

#include <stdbool.h>
#include <stdint.h>

#include "nccl_init/base.h"
#include "nccl_init/known.h"
#include "nccl_init/nccl_list.h"

enum {
    NI_MAX_NETDEV = 64,  /* interfaces looked at */
    NI_MAX_ROUTE = 1024, /* IPv4 routes of the main table */
    NI_MAX_ROUTE6 = 256, /* IPv6 routes; the rest is left out */
    /* addresses of this network namespace; kube-proxy in IPVS mode binds one per service */
    NI_MAX_ADDR = 4096
};

struct ni_netdev {
    char name[NI_IF_NAME];
    enum ni_known known; /* ABSENT: not in this namespace */
    /* its operstate is up or unknown: then IFF_RUNNING is set (net/core/dev.c dev_get_flags) */
    bool running;
    struct ni_num mtu;
    struct ni_num ifindex; /* only if the user's NCCL_SOCKET_IFNAME matches */
    bool physical; /* it has a device: it is not a bridge, veth, tunnel or VLAN; if asked for */
};

struct ni_addr {
    uint8_t ip[NI_GID_BYTES];
    char ifname[NI_IF_NAME]; /* by its connected IPv4 route; "": there is none */
    uint8_t bits;            /* length of that route's prefix */
};

/* A route: an IPv4 route of the main table, or an IPv6 route of any table, because
   /proc/net/ipv6_route does not name the table (net/ipv6/ip6_fib.c ipv6_route_seq_next_table). */
struct ni_route {
    uint8_t dest[NI_GID_BYTES];
    uint8_t bits; /* length of the prefix: 0..32; of IPv6 0..128 */
    bool gateway; /* the route leads through a router */
    char ifname[NI_IF_NAME];
};

struct ni_net {
    enum ni_known v4_known, v6_known, route_known, route6_known;
    unsigned n_addr, n_route, n_route6;
    /* another IPv4 table than main has a route that may lead through a router; /proc shows neither
       its interface nor the rule that selects it */
    bool policy_routes;
    char default_if[NI_IF_NAME]; /* of the IPv4, else the IPv6 default route; "" */
    /* interfaces allocated to the pod by network-status or DRA metadata */
    unsigned n_allocated;
    char given[NI_MAX_IFS][NI_IF_NAME];
    struct ni_addr addr[NI_MAX_ADDR]; /* loopback left out */
    struct ni_route route[NI_MAX_ROUTE];
    struct ni_route route6[NI_MAX_ROUTE6]; /* routes to other networks and hosts; if asked for */
};

#endif
