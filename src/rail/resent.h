/* SPDX-License-Identifier: Apache-2.0 */
/* How often a port had to send packets again, by counters in this machine's sysfs. */
#ifndef NCCL_INIT_RAIL_RESENT_H
#define NCCL_INIT_RAIL_RESENT_H

#include <stdint.h>

/* Returns how often the port has sent packets again since its driver was loaded: after a time-out,
   or because the other end missed one. -1: it has no such counter, or none can be read here. */
int64_t ni_count_resent(const char *hca, unsigned port);
/* Returns how often it did so between two calls of ni_count_resent, by what they returned; 0 if
   that is not known. */
int64_t ni_resent_since(int64_t before, int64_t after);

#endif
