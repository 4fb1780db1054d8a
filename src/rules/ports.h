/* SPDX-License-Identifier: Apache-2.0 */
/* The rule hca.ports: the ports that NCCL is to use. */
#ifndef NCCL_INIT_RULES_PORTS_H
#define NCCL_INIT_RULES_PORTS_H

#include <stdbool.h>

#include "rules/decide.h"

ni_rule_fn ni_rule_ports;

/* Left in by --hcas and by the user's NCCL_IB_HCA, where there are such. */
bool ni_is_listed(const struct ni_work *w, int port);
/* NCCL will use the port if it can: it is chosen, or the user's NCCL_IB_HCA takes it whatever the
   plan says. */
bool ni_is_taken(const struct ni_work *w, int port);

/* Harm of SoftRoCE beside other HCAs, as a sentence. */
extern const char ni_softroce_mixed[];

#endif
