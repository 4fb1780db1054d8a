/* SPDX-License-Identifier: Apache-2.0 */
/* The environment: variables of the process or of a recording. */
#include <stdlib.h>
#include <string.h>

#include "nccl_init/base.h"
#include "nccl_init/env.h"
#include "nccl_init/text.h"

bool ni_env_split(const char *entry, struct ni_span *ret_name, const char **ret_value)
{
    const char *eq = strchr(entry, '=');

    if (!eq || eq == entry)
        return false;
    *ret_name = (struct ni_span){entry, (size_t)(eq - entry)};
    *ret_value = eq + 1;
    return true;
}

const char *ni_env_get(const struct ni_env *env, const char *name)
{
    for (char *const *e = env->entry; *e; e++) {
        size_t n = 0;

        while (name[n] && (*e)[n] == name[n])
            n++;
        if (!name[n] && (*e)[n] == '=')
            return *e + n + 1;
    }
    return NULL;
}

const char ni_slurm_rank[] = "SLURM_LOCALID";

static const struct ni_launcher launchers[] = {
    {"LOCAL_RANK", "LOCAL_WORLD_SIZE"},                           /* torchrun */
    {"OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"}, /* Open MPI */
    {"MPI_LOCALRANKID", "MPI_LOCALNRANKS"},                       /* MPICH, Intel MPI */
    {"MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE"},   /* MVAPICH2 */
    {"PALS_LOCAL_RANKID", "PALS_LOCAL_SIZE"},                     /* HPE Cray */
    {ni_slurm_rank, "SLURM_STEP_TASKS_PER_NODE"}, /* srun: "8", "8(x2)", "8(x2),4" */
};

const struct ni_launcher *ni_find_launcher(const struct ni_env *env)
{
    for (size_t i = 0; i < NI_COUNT(launchers); i++) {
        const char *v = ni_env_get(env, launchers[i].rank);

        if (v && *v)
            return &launchers[i];
    }
    return NULL;
}

bool ni_is_launcher_variable(struct ni_span name)
{
    for (size_t i = 0; i < NI_COUNT(launchers); i++) {
        if (ni_span_is(name, launchers[i].rank) || ni_span_is(name, launchers[i].size))
            return true;
    }
    return false;
}
