/* SPDX-License-Identifier: Apache-2.0 */
/* The rule hca.ports: the ports that NCCL is to use. */
#ifndef NCCL_INIT_RULES_PORTS_H
#define NCCL_INIT_RULES_PORTS_H

#include <stdbool.h>

#include "rules/decide.h"

ni_rule_fn ni_rule_ports;

/* Returns true if --hcas and the user's NCCL_IB_HCA, as far as they are set, leave the port in. */
bool ni_is_listed(const struct ni_work *w, int port);
/* Returns true if NCCL will use the port if it can: it is chosen, or the user's NCCL_IB_HCA takes
   it whatever the plan says. */
bool ni_is_taken(const struct ni_work *w, int port);

/* Returns true if the port was left out for its state: in other pods of the job it may be in use. */
bool ni_is_lost(const struct ni_work *w, int port);

/* Harm of SoftRoCE beside other HCAs, as a sentence. */
extern const char ni_softroce_mixed[];
/* Returns true if that harm threatens: the HCA is SoftRoCE, and the other one is on PCI. */
bool ni_is_softroce_beside(const struct ni_hca *hca, const struct ni_hca *other);

#endif
