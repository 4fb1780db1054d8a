/* SPDX-License-Identifier: Apache-2.0 */
/* The NICs that NCCL makes of the chosen ports, and those that it takes for each GPU. */
#ifndef NCCL_INIT_RULES_NCCL_NICS_H
#define NCCL_INIT_RULES_NCCL_NICS_H

#include <stdbool.h>

#include "rules/decide.h"

/* Finds for each GPU the ports that NCCL takes (plan->taken). plan->distance is known. Without the
   facts of ni_want_bandwidth the nearest HCAs are taken. */
void ni_find_nccl_nics(const struct ni_work *w);
/* Returns true if the pod has several GPUs and the user lets NCCL go through one to another's NIC. */
bool ni_may_use_pxn(const struct ni_work *w);
/* Returns true if NVLink joins each GPU of the pod with each other one, as far as their names tell, and
   NCCL may go over it to another GPU's NIC. false also: that is not known. */
bool ni_has_nvlink(const struct ni_work *w);
/* Returns true if NCCL would take this port, which is not chosen, for a GPU beside or instead of what
   it takes now; or if that is not known. */
bool ni_would_be_taken(const struct ni_work *w, const struct ni_port *port);
/* Wants the facts by which NCCL compares HCAs beyond their distance. */
void ni_want_bandwidth(const struct ni_work *w);

#endif
