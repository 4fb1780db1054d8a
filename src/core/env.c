/* SPDX-License-Identifier: Apache-2.0 */
/* The environment view, and NCCL's own reading of its device lists. */
#include <stdlib.h>
#include <string.h>

#include "nccl_init/core.h"

enum { MAX_ENTRIES = 32 }; /* MAX_IB_DEVS: the 33rd entry and later ones are dropped silently */

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

const struct ni_local *ni_local_of(const struct ni_env *env)
{
    static const struct ni_local launchers[] = {
        {"LOCAL_RANK", "LOCAL_WORLD_SIZE"},                           /* torchrun */
        {"OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"}, /* Open MPI */
        {"MPI_LOCALRANKID", "MPI_LOCALNRANKS"},                       /* MPICH, Intel MPI */
        {"MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE"},   /* MVAPICH2 */
        {"PALS_LOCAL_RANKID", "PALS_LOCAL_SIZE"},                     /* HPE Cray */
        {"SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE"}, /* srun: "8", "8(x2)", "8(x2),4" */
    };
    for (size_t i = 0; i < NI_COUNT(launchers); i++) {
        const char *v = ni_env_get(env, launchers[i].rank);
        if (v && *v)
            return &launchers[i];
    }
    return NULL;
}

/* A port is what NCCL's atoi reads: no digits are 0. -1 is any port, and so is an empty one since
   2.30.7 (0 before: nothing matches); the caller checks the spelling. */
static bool entry_matches(struct ni_span e, bool exact, const char *name, int port)
{
    const char *colon = memchr(e.p, ':', e.n), *end = e.p + e.n;
    size_t n = colon ? (size_t)(colon - e.p) : e.n;
    bool same = exact ? strlen(name) == n && memcmp(name, e.p, n) == 0 : strncmp(name, e.p, n) == 0;
    if (!same || port < 0 || !colon || colon + 1 == end || colon[1] == ':')
        return same;
    int wanted = (int)strtol(colon + 1, NULL, 10); /* to the next ':' or ',' at most */
    return wanted == -1 || wanted == port;
}

bool ni_nccl_match(const char *list, const char *name, int port)
{
    const bool invert = *list == '^', exact = list[invert] == '=';
    bool any = false;
    list += invert + exact;
    unsigned n = 0;
    for (struct ni_span e; n < MAX_ENTRIES && ni_split(&list, ',', &e);) {
        if (e.n == 0 || e.p[0] == ':') /* NCCL skips entries without a name */
            continue;
        n++;
        any = any || entry_matches(e, exact, name, port);
    }
    return (n == 0 || any) != invert;
}

bool ni_names_hcas(const char *list)
{
    return *list == '^' || !ni_nccl_match(list, "", -1);
}
