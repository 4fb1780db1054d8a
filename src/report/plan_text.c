/* SPDX-License-Identifier: Apache-2.0 */
/* The plan for people: first what comes out, then from what, then why, then what is wrong. A value
   or a reason is never cut or wrapped; only names and addresses stand in columns. */
#include "plan_text.h"

#include <string.h>

#include "finding_text.h"
#include "table.h"
#include "words.h"

static void write_transport(struct ni_text *out, const struct ni_view *view)
{
    const struct ni_plan *plan = view->plan;
    switch (plan->transport) {
    case NI_NET_OFF:
        ni_put(out, "nothing is decided (mode off)");
        break;
    case NI_NET_RDMA:
        if (plan->n_chosen == 0) {
            ni_put(out, "RDMA, without a usable port of this pod");
            break;
        }
        ni_putf(out, "RDMA over %s, %u port%s", ni_say_link(ni_plan_link(view->inv, plan)),
                plan->n_chosen, plan->n_chosen == 1 ? "" : "s");
        break;
    case NI_NET_TCP:
        ni_put(out, "TCP sockets, no RDMA");
        break;
    case NI_NET_OTHER:
        ni_put(out, "another network plugin, left alone");
        break;
    }
}

static void write_header(struct ni_text *out, const struct ni_view *view)
{
    ni_put(out, "Plan: ");
    write_transport(out, view);
    ni_putf(out, "; %s", ni_say_source(view->inv->source));
    if (strcmp(view->root, "/") != 0) {
        ni_put(out, "; root ");
        ni_quote(out, view->root);
    }
    ni_put(out, "\n");
    if (view->plan->refuse) {
        ni_tint_on(out, view->colour, NI_RED);
        ni_put(out, "The command would not be started: ");
        ni_quote(out, view->plan->refuse_why);
        ni_tint_off(out, view->colour, NI_RED);
        ni_put(out, "\n");
    }
}

/* ---- settings ---- */

/* NAME=VALUE on a line of its own, so that it can be copied whatever its length; below it who
   decided, and why. */
/* On lines of its own: whose it is, the rule, the reason. */
static void write_reason(struct ni_text *out, const struct ni_setting *s)
{
    enum { INDENT = 6 };
    char buf[NI_REASON + 256];
    struct ni_text t = ni_text_on(buf, sizeof(buf));
    if (s->origin == NI_FROM_USER)
        ni_put(&t, "user's environment, ");
    else if (s->origin == NI_FROM_CONF)
        ni_putf(&t, "%s, ", s->file);
    ni_putf(&t, "rule %s%s%s", s->rule, s->reason[0] ? ": " : "", s->reason);
    ni_putf(out, "\n%*s", INDENT, "");
    ni_put_wrapped(out, INDENT, INDENT, buf);
    ni_put(out, "\n");
}

static void write_setting(struct ni_text *out, const struct ni_view *view,
                          const struct ni_setting *s)
{
    enum ni_tint tint = s->origin == NI_FROM_RULE ? NI_GREEN : NI_YELLOW;
    ni_put(out, "  ");
    ni_tint_on(out, view->colour, tint);
    ni_putf(out, "%s=", s->name);
    ni_quote(out, s->value);
    ni_tint_off(out, view->colour, tint);
    write_reason(out, s);
}

static void write_settings(struct ni_text *out, const struct ni_view *view)
{
    const struct ni_plan *plan = view->plan;
    unsigned n_unset = 0;
    for (unsigned i = 0; i < plan->n_setting; i++)
        n_unset += plan->setting[i].origin == NI_LEFT_UNSET;
    if (n_unset < plan->n_setting)
        ni_put(out, "\nSettings\n");
    for (unsigned i = 0; i < plan->n_setting; i++) {
        if (plan->setting[i].origin != NI_LEFT_UNSET)
            write_setting(out, view, &plan->setting[i]);
    }
    if (n_unset > 0)
        ni_put(out, "\nLeft unset\n");
    for (unsigned i = 0; i < plan->n_setting; i++) {
        const struct ni_setting *s = &plan->setting[i];
        if (s->origin != NI_LEFT_UNSET)
            continue;
        ni_putf(out, "  %s", s->name);
        write_reason(out, s);
    }
}

/* ---- locked memory ---- */

static void put_limit(struct ni_text *t, struct ni_num now, bool raise, int64_t to)
{
    if (now.known == NI_KNOWN)
        ni_put_bytes(t, now.v);
    else
        ni_say_num(t, now);
    if (raise) {
        ni_put(t, ", raised to ");
        ni_put_bytes(t, to);
    }
}

static void write_memlock(struct ni_text *out, const struct ni_view *view)
{
    const struct ni_limit *limit = &view->plan->memlock;
    const struct ni_self *self = &view->inv->self;
    char soft[96], hard[96];
    struct ni_text s = ni_text_on(soft, sizeof(soft)), h = ni_text_on(hard, sizeof(hard));
    put_limit(&s, self->memlock_soft, limit->raise_soft, limit->soft);
    put_limit(&h, self->memlock_hard, limit->raise_hard, limit->hard);
    ni_putf(out, "\nLocked memory: soft limit %s; hard limit %s\n", soft, hard);
}

/* ---- findings ---- */

static void write_findings(struct ni_text *out, const struct ni_view *view)
{
    static const enum ni_severity order[] = {NI_ERROR, NI_WARNING, NI_INFO};
    const struct ni_findings *all = view->findings;
    if (all->n == 0) {
        ni_put(out, "\nNo findings. `nccl-init doctor` checks the node.\n");
        return;
    }
    ni_put(out, "\nFindings\n");
    for (size_t k = 0; k < NI_COUNT(order); k++) {
        for (unsigned i = 0; i < all->n; i++) {
            if (ni_finding_kind(all->at[i].id)->severity == order[k])
                ni_say_finding(out, &all->at[i], view->colour);
        }
    }
    if (all->dropped > 0)
        ni_putf(out, "  and %u more\n", all->dropped);
}

int ni_write_plan(int fd, const struct ni_view *view)
{
    struct ni_out o;
    struct ni_text *out = ni_out_on(&o, fd);
    write_header(out, view);
    ni_plan_hcas(out, view);
    ni_plan_verdicts(out, view);
    ni_plan_sources(out, view);
    ni_plan_claims(out, view);
    ni_plan_gpus(out, view);
    ni_plan_gids(out, view);
    write_settings(out, view);
    write_memlock(out, view);
    write_findings(out, view);
    return ni_out_end(&o);
}
