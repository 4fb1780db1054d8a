/* SPDX-License-Identifier: Apache-2.0 */
/* The environment: its variables by name, in order. */
#ifndef NCCL_INIT_ENV_H
#define NCCL_INIT_ENV_H

#include <stdbool.h>

#include "nccl_init/text.h"

/* The prefix of the variables that stand for our options. They are removed from the command's
   environment. */
#define NI_OWN_PREFIX "NCCLINIT_"

/* An environment, owned by others and never changed. The first entry of a name counts, as for
   getenv(3). */
struct ni_env {
    char *const *entry; /* NULL-terminated */
};

/* The names of a launcher's variables: the number of this process among the processes of the node,
   and the number of these. */
struct ni_launcher {
    const char *rank, *size;
};

/* Returns the value of `name`: "" if it is set but empty, NULL if it is not set. */
const char *ni_env_get(const struct ni_env *env, const char *name);
/* Splits NAME=VALUE at the first '='. false: there is no '=' or no name. */
bool ni_env_split(const char *entry, struct ni_span *ret_name, const char **ret_value);
/* The variable of each process of a Slurm step, a batch script's too. */
extern const char ni_slurm_rank[];
/* Finds the variables of the launcher that started this process; NULL: no known launcher did. */
const struct ni_launcher *ni_find_launcher(const struct ni_env *env);
/* Returns true if ni_find_launcher reads a variable of that name. */
bool ni_is_launcher_variable(struct ni_span name);

#endif
