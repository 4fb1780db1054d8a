/* SPDX-License-Identifier: Apache-2.0 */
/* verbs: the only code that uses libibverbs. Never on the way of a plain `run`: sysfs decides, verbs
   confirm. */
#ifndef NCCL_INIT_VERBS_H
#define NCCL_INIT_VERBS_H

#include "nccl_init/rails.h"
#include "nccl_init/trial.h"

/* Tries the port t of all, and fills in t as it goes: what a killed process got to is known. For a
   process of its own, which ends after it: what is opened, allocated and registered is not given
   back. */
void ni_try_port(const struct ni_trials *all, struct ni_trial *t);

/* A ni_rail_fn. */
void ni_work_rail(struct ni_rail_task *task, enum ni_rail_work work, void **state);

#endif
