/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of rails and interfaces, as sysfs shows them now. */
#ifndef NCCL_INIT_NODE_TRAFFIC_H
#define NCCL_INIT_NODE_TRAFFIC_H

#include "nccl_init/inventory.h"
#include "nccl_init/traffic.h"
#include "sysroot/root.h"

/* Reads the counters of the rails, ports of the inventory (n: at most NI_MAX_PORT), and of the
   interfaces of this network namespace but lo: first those of the rails, then those that have a device,
   then the others. Reports nothing: what cannot be read, or is not a
   number, is a state in *ret. The time is the caller's. */
void ni_read_traffic(const struct ni_root *root, const struct ni_inventory *inv, const int rail[],
                     unsigned n, struct ni_traffic *ret);

#endif
