/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold of what the program found and decided. */
#ifndef NCCL_INIT_FUZZ_CHECK_H
#define NCCL_INIT_FUZZ_CHECK_H

#include "cli/context.h"
#include "nccl_init/env.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/plan.h"
#include "pod.h"
#include "rules/decide.h"

/* Each is in the catalogue, printable, and one line. */
void check_findings(const struct ni_findings *f);
/* Indexes lead where they say, names are names. */
void check_inventory(const struct ni_inventory *inv);
/* The user's values stay, no list is empty, NCCL_IB_HCA names only HCAs that the pod was given, and
   what the tests of decide/ ask of each plan. */
void check_decided(const struct ni_work *w);
/* The command gets each entry of the environment as it was, in its order, and only what rules set
   besides. */
void check_command_env(const struct ni_env *env, const struct ni_plan *plan);
/* All of these. */
void check_pod(struct pod *pod);

/* Two roads to one plan and to the same findings. */
void check_same(const struct ni_context *a, const struct ni_context *b, const char *what);

#endif
