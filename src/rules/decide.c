/* SPDX-License-Identifier: Apache-2.0 */
/* Writing into the plan, and precedence: the environment, then nccl.conf, then the rule. */
#include "rules/decide.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "findings/device.h"
#include "findings/setting.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/plan.h"
#include "nccl_init/text.h"

const char *ni_user_value(const struct ni_work *w, const char *name)
{
    return ni_find_user_value(w->env, w->inv, name, NULL);
}

int64_t ni_user_int(const struct ni_work *w, const char *name, int64_t otherwise)
{
    const char *value = ni_user_value(w, name);

    if (!value || !*value)
        return otherwise;
    errno = 0;
    int64_t v = strtoll(value, NULL, 0);
    return errno == ERANGE ? otherwise : v; /* musl sets EINVAL for a text that is not a number */
}

/* Tried on the released libraries: tests/nccl. */
bool ni_is_no_number(const char *value)
{
    char *end = NULL;

    (void)strtoll(value, &end, 0);
    return *value && end == value;
}

const char *ni_user_versions(const struct ni_work *w, const char *name)
{
    const char *value = ni_user_value(w, name);

    return value && ni_is_no_number(value) ? " up to 2.31.2" : "";
}

void ni_put_user_int(const struct ni_work *w, const char *name, struct ni_text *t)
{
    const char *value = ni_user_value(w, name);

    if (value && ni_is_no_number(value))
        ni_putf(t, "`%.40s`, which NCCL up to 2.31.2 reads as 0, and 2.32.3 as its default,",
                value);
    else
        ni_putf(t, "%lld", (long long)ni_user_int(w, name, 0));
}

void ni_report_empty(const struct ni_work *w, const char *name, const char *file)
{
    if (file)
        ni_report(w->f, NI_F_USER_VALUE_EMPTY, name, "set but empty in %s; it stays empty", file);
    else
        ni_report(w->f, NI_F_USER_VALUE_EMPTY, name, "set but empty; it stays empty");
}

void ni_decide_value(const struct ni_work *w, const char *name, const char *value, const char *fmt,
                     ...)
{
    struct ni_plan *plan = w->plan;
    const unsigned targets = w->policy->targets;

    if (ni_has_prefix(name, "NCCL_") && targets && !(targets & (NI_FOR_NCCL | NI_FOR_TORCHCOMMS)))
        return;
    if (plan->n_setting == NI_MAX_SETTING)
        return; /* never happens: the rules set fewer variables */
    const char *file;
    const char *user = ni_find_user_value(w->env, w->inv, name, &file);
    struct ni_setting *s = &plan->setting[plan->n_setting++];
    s->name = name;
    s->rule = plan->rule;
    s->origin = value ? NI_FROM_RULE : NI_LEFT_UNSET;
    if (user)
        s->origin = file ? NI_FROM_CONF : NI_FROM_USER;
    struct ni_text t = ni_text_on(s->value, sizeof(s->value));
    if (user)
        ni_put(&t, user);
    else if (value)
        ni_put(&t, value);
    s->by_itself = NULL;
    (void)ni_copy(s->file, sizeof(s->file), file ? file : "");
    t = ni_text_on(s->reason, sizeof(s->reason));
    if (user)
        ni_putf(&t, "%s stays; the rule would ", file ? "the file's value" : "your value");
    if (user && value)
        ni_putf(&t, "set %s: ", strcmp(user, value) == 0 ? "the same" : value);
    else if (user)
        ni_put(&t, "leave it unset: ");
    va_list ap;
    va_start(ap, fmt);
    ni_vputf(&t, fmt, ap);
    va_end(ap);
    if (user && !*user)
        ni_report_empty(w, name, file);
}

/* Returns true if the finding is about the state of a port, which may be better in other pods. */
static bool is_of_state(ni_finding_number id)
{
    return id == NI_F_HCA_PORT_DOWN || id == NI_F_GID_NONE || id == NI_F_GID_V1_ONLY ||
           id == NI_F_GID_LINK_LOCAL;
}

void ni_leave_out(const struct ni_work *w, unsigned port, ni_finding_number id, const char *fmt,
                  ...)
{
    struct ni_port_plan *p = &w->plan->port[port];
    struct ni_text t = ni_text_on(p->why, sizeof(p->why));
    va_list ap;

    p->chosen = false;
    p->lost = is_of_state(id);
    p->rule = w->plan->rule;
    va_start(ap, fmt);
    ni_vputf(&t, fmt, ap);
    va_end(ap);
    if (id != NI_F_NONE)
        ni_report(w->f, id, ni_port_name(w->inv, (int)port).text, "%s; left out", p->why);
}
