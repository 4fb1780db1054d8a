/* SPDX-License-Identifier: Apache-2.0 */
/* Who has an address on the rail's own network, as this pod's kernel believes. */
#ifndef NCCL_INIT_RAIL_NEIGHBOUR_H
#define NCCL_INIT_RAIL_NEIGHBOUR_H

#include <stdint.h>

#include "nccl_init/rdma.h"

/* Returns the MAC address of the interface as a number; 0: it has none, or it is not known. */
uint64_t ni_own_mac(const char *netdev);
/* Returns the MAC address that the kernel's table of neighbours has for that address on that
   interface; 0: none, as for what is behind a router, or it is not known. */
uint64_t ni_neighbour_mac(const char *netdev, const uint8_t gid[NI_GID_BYTES]);
/* Makes the neighbour known by a datagram to the discard port. Otherwise the kernel waits a second
   for it, even if the answer comes at once (Linux 6.1 drivers/infiniband/core/addr.c, seen in the
   lab). The datagram leaves through the rail's own interface, for a pod has many. */
void ni_warm_neighbour(const char *netdev, const uint8_t gid[NI_GID_BYTES]);

#endif
