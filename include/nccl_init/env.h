/* SPDX-License-Identifier: Apache-2.0 */
/* The environment: its variables by name, in order. */
#ifndef NCCL_INIT_ENV_H
#define NCCL_INIT_ENV_H

#include <stdbool.h>

#include "nccl_init/text.h"

/* Prefix of the variables that stand for our options; they do not reach the command. */
#define NI_OWN_PREFIX "NCCLINIT_"

/* Somebody's environment, not owned, never changed. The first entry of a name counts, as in
   getenv(3). */
struct ni_env {
    char *const *entry; /* NULL-terminated */
};

/* Finds the variables that give the number of this process among those of the node, and how many
   there are. NULL: none that we know started it. */
struct ni_local {
    const char *rank, *size;
};

/* The value of `name`, "" when set but empty, NULL when not set. */
const char *ni_env_get(const struct ni_env *env, const char *name);
/* Splits NAME=VALUE at the first '='. false when there is no '=' or no name. */
bool ni_env_split(const char *entry, struct ni_span *ret_name, const char **ret_value);
const struct ni_local *ni_local_of(const struct ni_env *env);
/* A variable of that name is one that ni_local_of reads. */
bool ni_is_local(struct ni_span name);

#endif
