/* SPDX-License-Identifier: Apache-2.0 */
/* The command's environment. */
#include "nccl_init/act.h"

/* Each setting as NAME=VALUE and a NUL, one behind the other; the rest of the list points into the
   caller's environment. */
extern char ni_setting_text[NI_MAX_SETTING * (NI_DEV_NAME + NI_VALUE)];
char ni_setting_text[NI_MAX_SETTING * (NI_DEV_NAME + NI_VALUE)] NI_LARGE;
extern char *ni_env_entries[NI_MAX_ENV + NI_MAX_SETTING + 1];
char *ni_env_entries[NI_MAX_ENV + NI_MAX_SETTING + 1] NI_LARGE;

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

    for (char *const *e = env->entry; *e; e++) {
        if (is_own(*e))
            continue;
        if (n == NI_MAX_ENV)
            return NULL;
        ni_env_entries[n++] = *e;
    }
    char *text = ni_setting_text;
    for (unsigned i = 0; i < plan->n_setting; i++) {
        const struct ni_setting *s = &plan->setting[i];
        struct ni_text t;

        if (s->origin != NI_FROM_RULE)
            continue;
        t = ni_text_on(text, NI_DEV_NAME + NI_VALUE);
        ni_putf(&t, "%s=%s", s->name, s->value);
        ni_env_entries[n++] = text;
        text += t.len + 1;
    }
    ni_env_entries[n] = NULL;
    return ni_env_entries;
}
