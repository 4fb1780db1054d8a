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

void ni_decide_value(const struct ni_facts *facts, struct ni_plan *plan, struct ni_findings *f,
                     const char *name, const char *value, const char *fmt, ...)
{
    const unsigned targets = facts->policy->targets;
    if (ni_has_prefix(name, "NCCL_") && targets && !(targets & NI_FOR_NCCL))
        return;
    if (plan->n_setting == NI_MAX_SETTING)
        return; /* cannot be: the rules name fewer */
    const char *file;
    const char *user = ni_find_user_value(facts->env, facts->inv, name, &file);
    struct ni_setting *s = &plan->setting[plan->n_setting++];
    s->name = name;
    s->rule = plan->rule;
    s->origin = user ? (file ? NI_FROM_CONF : NI_FROM_USER) : value ? NI_FROM_RULE : NI_LEFT_UNSET;
    struct ni_text t = ni_text_on(s->value, sizeof(s->value));
    ni_put(&t, user ? user : value ? value : "");
    (void)ni_copy(s->file, sizeof(s->file), file ? file : "");
    t = ni_text_on(s->reason, sizeof(s->reason));
    if (user && value)
        ni_putf(&t,
                "yours stays; the rule says %s: ", strcmp(user, value) == 0 ? "the same" : value);
    else if (user)
        ni_put(&t, "yours stays; the rule would leave it unset: ");
    va_list ap;
    va_start(ap, fmt);
    ni_vputf(&t, fmt, ap);
    va_end(ap);
    if (user && !*user)
        ni_report(f, NI_F_USER_VALUE_EMPTY, name, "set but empty%s%s, and left so%s%.100s%s",
                  file ? " in " : "", file ? file : "",
                  value ? ": NCCL uses its own default instead of `" : "", value ? value : "",
                  value ? "`" : "");
}

void ni_leave_out(struct ni_plan *plan, unsigned port, const char *fmt, ...)
{
    struct ni_port_plan *p = &plan->port[port];
    struct ni_text t = ni_text_on(p->why, sizeof(p->why));
    va_list ap;
    p->chosen = false;
    p->rule = plan->rule;
    va_start(ap, fmt);
    ni_vputf(&t, fmt, ap);
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

const struct ni_port *ni_chosen_port(const struct ni_facts *facts, const struct ni_plan *plan,
                                     unsigned i)
{
    return &facts->inv->port[plan->chosen[i]];
}

const struct ni_hca *ni_chosen_hca(const struct ni_facts *facts, const struct ni_plan *plan,
                                   unsigned i)
{
    return &facts->inv->hca[ni_chosen_port(facts, plan, i)->hca];
}
