/* SPDX-License-Identifier: Apache-2.0 */
/* What `run` says on stderr: one line for the plan. */
#include "parts.h"

#include <string.h>

/* In the middle of the line, which is for the log: `plan` shows all of it. */
static void put_value(struct ni_text *out, const struct ni_setting *s)
{
    if (!s || s->origin == NI_LEFT_UNSET)
        ni_put(out, "left to NCCL");
    else if (s->origin == NI_FROM_RULE) /* without the '=' that makes names exact */
        ni_quote(out, s->value[0] == '=' ? s->value + 1 : s->value);
    else
        ni_put_quoted(out, s->value, strlen(s->value), 200);
    if (s && s->origin == NI_FROM_USER)
        ni_put(out, " (user)");
    else if (s && s->origin == NI_FROM_CONF)
        ni_put(out, " (nccl.conf)");
}

static void put_hcas(struct ni_text *out, const struct ni_view *view)
{
    const struct ni_plan *plan = view->plan;
    unsigned n_hca = 0;
    for (unsigned i = 0; i < plan->n_chosen; i++) /* ports of one HCA stand together */
        n_hca += i == 0 ||
                 view->inv->port[plan->chosen[i]].hca != view->inv->port[plan->chosen[i - 1]].hca;
    if (n_hca == 0) {
        ni_put(out, "no usable HCA in your NCCL_IB_HCA");
        return;
    }
    ni_putf(out, "%u HCA%s ", n_hca, ni_plural(n_hca));
    for (unsigned i = 0; i < plan->n_chosen; i++) {
        const struct ni_port *port = &view->inv->port[plan->chosen[i]];
        ni_put(out, i == 0 ? "" : ",");
        ni_quote(out, view->inv->hca[port->hca].name);
        ni_putf(out, ":%u", port->num);
    }
    ni_putf(out, " (%s)", ni_source_words[view->inv->source].brief);
}

/* "RoCE v2" where each chosen port has such a GID, else plain "RoCE". */
static const char *roce_word(const struct ni_view *view)
{
    for (unsigned i = 0; i < view->plan->n_chosen; i++) {
        const struct ni_gid *gid = ni_picked_gid(view, view->plan->chosen[i]);
        if (!gid || gid->type != NI_GID_V2)
            return "RoCE";
    }
    return "RoCE v2";
}

static void put_link(struct ni_text *out, const struct ni_view *view)
{
    const struct ni_setting *index = ni_plan_get(view->plan, "NCCL_IB_GID_INDEX");
    enum ni_link link = ni_plan_link(view);
    if (view->plan->n_chosen == 0)
        return;
    if (link != NI_LINK_ROCE) {
        ni_putf(out, ", %s", ni_link_words[link]);
        return;
    }
    /* what the user's index holds is not known here */
    ni_putf(out, ", %s GID index ",
            index && (index->origin == NI_FROM_USER || index->origin == NI_FROM_CONF)
                ? "RoCE"
                : roce_word(view));
    put_value(out, index);
}

static void put_sockets(struct ni_text *out, const struct ni_view *view, const char *before)
{
    const struct ni_setting *s = ni_plan_get(view->plan, "NCCL_SOCKET_IFNAME");
    if (!s || s->origin == NI_LEFT_UNSET)
        return;
    ni_put(out, before);
    put_value(out, s);
}

/* What else somebody set: it may overrule all the rest. */
static void put_others(struct ni_text *out, const struct ni_plan *plan)
{
    static const char *const shown[] = {"NCCL_SOCKET_IFNAME", "NCCL_IB_GID_INDEX",
                                        "NCCL_NET_GDR_LEVEL"};
    const size_t n_shown = plan->transport == NI_NET_RDMA ? 3 : plan->transport == NI_NET_TCP;
    for (unsigned i = 0; i < plan->n_setting; i++) {
        const struct ni_setting *s = &plan->setting[i];
        if ((s->origin == NI_FROM_USER || s->origin == NI_FROM_CONF) &&
            !ni_is_any(s->name, shown, n_shown)) {
            ni_putf(out, ", %s=", s->name);
            put_value(out, s);
        }
    }
}

static void put_detected(struct ni_text *out, const struct ni_view *view)
{
    const struct ni_setting *gdr = ni_plan_get(view->plan, "NCCL_NET_GDR_LEVEL");
    switch (view->plan->transport) {
    case NI_NET_OFF:
        ni_put(out, "nothing (mode off)");
        break;
    case NI_NET_RDMA:
        put_hcas(out, view);
        put_link(out, view);
        put_sockets(out, view, ", sockets ");
        if (gdr) {
            ni_put(out, ", GDR ");
            put_value(out, gdr);
        }
        break;
    case NI_NET_TCP:
        ni_put(out, "TCP");
        put_sockets(out, view, " over ");
        if (view->inv->n_hca > 0)
            ni_putf(out, ", %u HCA%s not used", view->inv->n_hca, ni_plural(view->inv->n_hca));
        else
            ni_put(out, ", no HCA");
        break;
    case NI_NET_OTHER:
        ni_put(out, "another network plugin, left alone");
        break;
    }
}

void ni_put_summary(struct ni_text *out, const struct ni_view *view, int64_t memlock)
{
    ni_put(out, "auto-detected ");
    put_detected(out, view);
    put_others(out, view->plan);
    ni_put(out, ", memlock ");
    if (memlock < 0)
        ni_put(out, "unknown");
    else
        ni_put_bytes(out, memlock);
}
