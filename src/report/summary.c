/* SPDX-License-Identifier: Apache-2.0 */
/* What `run` says on stderr: one line for the plan, one for each finding. Each is one write(2) as
   far as it fits in PIPE_BUF, for the pods' logs are full of lines of other ranks. */
#include <errno.h>
#include <string.h>

#include "nccl_init/report.h"
#include "out.h"
#include "words.h"

enum {
    SHOWN_VALUE = 200
}; /* of a value in the middle of the line: it is for the log, `plan` shows all */

/* " (user)" behind a value that is not ours. */
static const char *whose(const struct ni_setting *s)
{
    return s->origin == NI_FROM_USER ? " (user)" : s->origin == NI_FROM_CONF ? " (nccl.conf)" : "";
}

static void put_value(struct ni_text *out, const struct ni_setting *s)
{
    ni_put_quoted(out, s->value, strlen(s->value), SHOWN_VALUE);
    ni_put(out, whose(s));
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
    ni_putf(out, "%u HCA%s ", n_hca, n_hca == 1 ? "" : "s");
    for (unsigned i = 0; i < plan->n_chosen; i++) {
        const struct ni_port *port = &view->inv->port[plan->chosen[i]];
        ni_put(out, i == 0 ? "" : ",");
        ni_quote(out, view->inv->hca[port->hca].name);
        ni_putf(out, ":%u", port->num);
    }
    ni_putf(out, " (%s)", ni_say_source_short[view->inv->source]);
}

/* "RoCE v2" where each kept port has such a GID, else plain "RoCE". */
static const char *roce_word(const struct ni_view *view)
{
    for (unsigned i = 0; i < view->plan->n_chosen; i++) {
        int gid = view->plan->port[view->plan->chosen[i]].gid;
        if (gid < 0 || view->inv->gid[gid].type != NI_GID_V2)
            return "RoCE";
    }
    return "RoCE v2";
}

static void put_link(struct ni_text *out, const struct ni_view *view)
{
    const struct ni_setting *index = ni_plan_get(view->plan, "NCCL_IB_GID_INDEX");
    if (view->plan->n_chosen == 0)
        return;
    if (ni_plan_link(view->inv, view->plan) != NI_LINK_ROCE) {
        ni_putf(out, ", %s", ni_say_link[ni_plan_link(view->inv, view->plan)]);
    } else if (!index || index->origin == NI_LEFT_UNSET) {
        ni_putf(out, ", %s GID index left to NCCL", roce_word(view));
    } else {
        /* of the user's index we do not know here what it holds */
        ni_putf(out, ", %s GID index ", index->origin == NI_FROM_RULE ? roce_word(view) : "RoCE");
        put_value(out, index);
    }
}

/* The names, without the '=' that makes them exact. */
static void put_sockets(struct ni_text *out, const struct ni_view *view, const char *before)
{
    const struct ni_setting *s = ni_plan_get(view->plan, "NCCL_SOCKET_IFNAME");
    if (!s || s->origin == NI_LEFT_UNSET)
        return;
    ni_put(out, before);
    if (s->origin == NI_FROM_RULE)
        ni_quote(out, s->value[0] == '=' ? s->value + 1 : s->value);
    else
        put_value(out, s);
}

static void put_gdr(struct ni_text *out, const struct ni_view *view)
{
    const struct ni_setting *s = ni_plan_get(view->plan, "NCCL_NET_GDR_LEVEL");
    if (!s)
        return;
    ni_put(out, ", GDR ");
    if (s->origin == NI_LEFT_UNSET)
        ni_put(out, "left to NCCL");
    else
        put_value(out, s);
}

/* What somebody else set and the line has not shown yet: it may overrule all the rest. */
static void put_others(struct ni_text *out, const struct ni_view *view)
{
    static const char *const rdma[] = {"NCCL_IB_GID_INDEX", "NCCL_SOCKET_IFNAME",
                                       "NCCL_NET_GDR_LEVEL"};
    static const char *const tcp[] = {"NCCL_SOCKET_IFNAME"};
    const char *const *shown = NULL;
    size_t n_shown = 0;
    if (view->plan->transport == NI_NET_RDMA) {
        shown = rdma;
        n_shown = NI_COUNT(rdma);
    } else if (view->plan->transport == NI_NET_TCP) {
        shown = tcp;
        n_shown = NI_COUNT(tcp);
    }
    for (unsigned i = 0; i < view->plan->n_setting; i++) {
        const struct ni_setting *s = &view->plan->setting[i];
        bool skip = s->origin == NI_FROM_RULE || s->origin == NI_LEFT_UNSET;
        for (size_t k = 0; k < n_shown; k++)
            skip = skip || strcmp(s->name, shown[k]) == 0;
        if (skip)
            continue;
        ni_putf(out, ", %s=", s->name);
        put_value(out, s);
    }
}

static void put_detected(struct ni_text *out, const struct ni_view *view)
{
    switch (view->plan->transport) {
    case NI_NET_OFF:
        ni_put(out, "nothing (mode off)");
        break;
    case NI_NET_RDMA:
        put_hcas(out, view);
        put_link(out, view);
        put_sockets(out, view, ", sockets ");
        put_gdr(out, view);
        break;
    case NI_NET_TCP:
        ni_put(out, "TCP");
        put_sockets(out, view, " over ");
        if (view->inv->n_hca > 0)
            ni_putf(out, ", %u HCA%s not used", view->inv->n_hca, view->inv->n_hca == 1 ? "" : "s");
        else
            ni_put(out, ", no HCA");
        break;
    case NI_NET_OTHER:
        ni_put(out, "another network plugin, left alone");
        break;
    }
}

/* The line, without a prefix. */
static void put_summary(struct ni_text *out, const struct ni_view *view, int64_t memlock)
{
    ni_put(out, "auto-detected ");
    put_detected(out, view);
    put_others(out, view);
    ni_put(out, ", memlock ");
    if (memlock < 0)
        ni_put(out, "unknown");
    else
        ni_put_bytes(out, memlock);
}

int ni_write_summary(int fd, const struct ni_view *view, int64_t memlock)
{
    struct ni_out o;
    struct ni_text *out = ni_out_on(&o, fd);
    ni_put(out, "nccl-init: ");
    put_summary(out, view, memlock);
    ni_put(out, "\n");
    return ni_out_end(&o);
}

int ni_write_summary_json(int fd, const struct ni_view *view, int64_t memlock)
{
    char line[NI_OUT_BUF];
    struct ni_text text = ni_text_on(line, sizeof(line));
    struct ni_out o;
    struct ni_json j = ni_json_on(ni_out_on(&o, fd), false);
    put_summary(&text, view, memlock);
    if (text.cut)
        return -EOVERFLOW;
    ni_json_object(&j, NULL);
    ni_json_text(&j, "severity", ni_severity_text(NI_INFO));
    ni_json_text(&j, "message", line);
    ni_json_end(&j);
    return ni_out_end(&o);
}

int ni_write_finding(int fd, const struct ni_finding *f, bool json)
{
    struct ni_out o;
    struct ni_text *out = ni_out_on(&o, fd);
    if (json) {
        struct ni_json j = ni_json_on(out, false);
        ni_json_finding(&j, f);
    } else {
        ni_put(out, "nccl-init: ");
        ni_put_finding(out, f);
    }
    return ni_out_end(&o);
}
