/* SPDX-License-Identifier: Apache-2.0 */
/* The command's environment. */
#include <string.h>
#include <sys/mman.h>

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
    size_t n = 0, size = 0;
    char **list; /* and behind it the texts of the settings */
    char *text;

    while (env->entry[n])
        n++;
    for (unsigned i = 0; i < plan->n_setting; i++)
        size += strlen(plan->setting[i].name) + strlen(plan->setting[i].value) + sizeof("=");
    /* One call; the first malloc of musl 1.2.3 takes four. */
    list = mmap(NULL, (n + plan->n_setting + 1) * sizeof(*list) + size, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (list == MAP_FAILED)
        return NULL;
    text = (char *)(list + n + plan->n_setting + 1);
    n = 0;
    for (char *const *e = env->entry; *e; e++)
        if (!is_own(*e))
            list[n++] = *e;
    for (unsigned i = 0; i < plan->n_setting; i++) {
        const struct ni_setting *s = &plan->setting[i];
        struct ni_text t;

        if (s->origin != NI_FROM_RULE)
            continue;
        t = ni_text_on(text, size);
        ni_putf(&t, "%s=%s", s->name, s->value);
        list[n++] = text;
        text += t.len + 1;
        size -= t.len + 1;
    }
    list[n] = NULL;
    return list;
}
