/* SPDX-License-Identifier: Apache-2.0 */
/* Probes in their order: facts that every pod needs, and facts that a rule asks for. */
#ifndef NCCL_INIT_NODE_GATHER_H
#define NCCL_INIT_NODE_GATHER_H

#include <stdbool.h>

#include "nccl_init/env.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "node/read.h"
#include "sysroot/root.h"

/* Reads what the decisions need in every pod. Never fails: what could not be read is a state in the
   inventory and, where it matters, a finding. inv must be zeroed. env: the pod's variables. */
void ni_gather(const struct ni_root *root, const struct ni_env *env, const struct ni_ask *ask,
               struct ni_inventory *inv, struct ni_findings *f);

/* Adds what the rules asked for, NI_NEED_*, unless it was read already. */
void ni_gather_more(const struct ni_root *root, const struct ni_env *env, const struct ni_ask *ask,
                    unsigned needs, struct ni_inventory *inv, struct ni_findings *f);

#endif
