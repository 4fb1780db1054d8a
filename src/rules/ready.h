/* SPDX-License-Identifier: Apache-2.0 */
/* Readiness for --wait: true as soon as waiting can change nothing. */
#ifndef NCCL_INIT_RULES_READY_H
#define NCCL_INIT_RULES_READY_H

#include <stdbool.h>

#include "nccl_init/inventory.h"
#include "nccl_init/text.h"

/* Returns true if each port of the pod's HCAs has link, interface, address and GID, as far as a
   wait can change that. Missing things are added to *missing as "mlx5_6/1: link, ...". */
bool ni_is_ready(const struct ni_inventory *inv, struct ni_text *missing);

#endif
