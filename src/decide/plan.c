/* SPDX-License-Identifier: Apache-2.0 */
/* How a rule writes into the plan, and who wins: the environment, then nccl.conf, then the rule. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rule.h"

const char *ni_user_value(const struct ni_facts *facts, const char *name)
{
    return ni_find_user_value(facts->env, facts->inv, name, NULL);
}

int64_t ni_user_int(const struct ni_facts *facts, const char *name, int64_t otherwise)
{
    const char *value = ni_user_value(facts, name);
    if (!value || !*value)
        return otherwise;
    errno = 0;
    int64_t v = strtoll(value, NULL, 0);
    return errno == ERANGE ? otherwise : v; /* musl says EINVAL of what is no number */
}

static struct ni_setting *new_setting(struct ni_plan *plan, const char *rule, const char *name)
{
    if (plan->n_setting == NI_MAX_SETTING)
        return NULL; /* cannot be: the rules name fewer */
    struct ni_setting *s = &plan->setting[plan->n_setting++];
    s->name = name;
    s->rule = rule;
    s->value[0] = '\0';
    s->file[0] = '\0';
    return s;
}

void ni_decide_value(const struct ni_facts *facts, struct ni_plan *plan, const char *rule,
                     const char *name, const char *value, struct ni_findings *f, const char *fmt,
                     ...)
{
    const char *file;
    unsigned targets = facts->policy->targets;
    if (ni_has_prefix(name, "NCCL_") && targets && !(targets & NI_FOR_NCCL))
        return;
    const char *user = ni_find_user_value(facts->env, facts->inv, name, &file);
    struct ni_setting *s = new_setting(plan, rule, name);
    if (!s)
        return;
    struct ni_text t = ni_text_on(s->value, sizeof(s->value));
    struct ni_text why = ni_text_on(s->reason, sizeof(s->reason));
    ni_put(&t, user ? user : value ? value : "");
    s->origin = user ? (file ? NI_FROM_CONF : NI_FROM_USER) : value ? NI_FROM_RULE : NI_LEFT_UNSET;
    if (user && value)
        ni_putf(&why,
                "yours stays; the rule says %s: ", strcmp(user, value) == 0 ? "the same" : value);
    else if (user)
        ni_put(&why, "yours stays; the rule would leave it unset: ");
    va_list ap;
    va_start(ap, fmt);
    ni_vputf(&why, fmt, ap);
    va_end(ap);
    if (file)
        ni_copy(s->file, sizeof(s->file), file);
    if (user && !*user)
        ni_report(f, NI_F_USER_VALUE_EMPTY, name, "set but empty%s%s; it stays so%s%.100s%s",
                  file ? " in " : "", file ? file : "",
                  value ? ", and NCCL goes by its own default instead of `" : "",
                  value ? value : "", value ? "`" : "");
}

NI_PRINTF(5, 0)
static void judge(struct ni_plan *plan, int port, bool kept, const char *rule, const char *fmt,
                  va_list ap)
{
    struct ni_port_plan *pick = &plan->port[port];
    pick->chosen = kept;
    pick->rule = rule;
    struct ni_text t = ni_text_on(pick->why, sizeof(pick->why));
    ni_vputf(&t, fmt, ap);
}

void ni_keep(struct ni_plan *plan, int port, const char *rule, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    judge(plan, port, true, rule, fmt, ap);
    va_end(ap);
}

void ni_drop(struct ni_plan *plan, int port, const char *rule, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    judge(plan, port, false, rule, fmt, ap);
    va_end(ap);
}

const char *ni_port_text(const struct ni_inventory *inv, int port, char buf[NI_DEV_NAME + 8])
{
    const struct ni_port *p = &inv->port[port];
    struct ni_text t = ni_text_on(buf, NI_DEV_NAME + 8);
    ni_putf(&t, "%s/%u", inv->hca[p->hca].name, p->num);
    return buf;
}

const struct ni_gid *ni_port_gid(const struct ni_inventory *inv, const struct ni_port *port,
                                 unsigned i)
{
    return &inv->gid[port->first_gid + (int)i];
}
