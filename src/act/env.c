/* SPDX-License-Identifier: Apache-2.0 */
/* The command's environment. */
#include <stdlib.h>
#include <string.h>

#include "nccl_init/act.h"

/* An entry without '=' is no variable, so it is none of ours and stays. */
static bool is_own(const char *entry)
{
    struct ni_span name;
    const char *value;

    return ni_has_prefix(entry, NI_OWN_PREFIX) && ni_env_split(entry, &name, &value);
}

char *const *ni_command_env(const struct ni_env *env, const struct ni_plan *plan)
{
    size_t n = 0;
    char **list;

    while (env->entry[n])
        n++;
    list = malloc((n + plan->n_setting + 1) * sizeof(*list));
    if (!list)
        return NULL;
    n = 0;
    for (char *const *e = env->entry; *e; e++)
        if (!is_own(*e))
            list[n++] = *e;
    for (unsigned i = 0; i < plan->n_setting; i++) {
        const struct ni_setting *s = &plan->setting[i];
        const size_t size = strlen(s->name) + 1 + strlen(s->value) + 1;

        if (s->origin != NI_FROM_RULE)
            continue;
        list[n] = malloc(size);
        if (!list[n])
            return NULL;
        (void)ni_format(list[n++], size, "%s=%s", s->name, s->value);
    }
    list[n] = NULL;
    return list;
}
