/* SPDX-License-Identifier: Apache-2.0 */
/* What `run` says on stderr: one line for the plan, one for each finding. Each is one write(2) as
   far as it fits in PIPE_BUF, for the pods' logs are full of lines of other ranks. */
#include <errno.h>
#include <string.h>

#include "json.h"
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

static void put_value(struct ni_out *o, const struct ni_setting *s)
{
    char buf[SHOWN_VALUE * 4 + 4]; /* quoted, and "..." */
    struct ni_text t = ni_text_on(buf, sizeof(buf));
    ni_put_quoted(&t, s->value, strlen(s->value), SHOWN_VALUE);
    ni_out_putf(o, "%s%s", buf, whose(s));
}

static void put_hcas(struct ni_out *o, const struct ni_view *view)
{
    const struct ni_plan *plan = view->plan;
    unsigned n_hca = 0;
    for (unsigned i = 0; i < plan->n_chosen; i++) /* ports of one HCA stand together */
        n_hca += i == 0 ||
                 view->inv->port[plan->chosen[i]].hca != view->inv->port[plan->chosen[i - 1]].hca;
    if (n_hca == 0) {
        ni_out_put(o, "no usable HCA in your NCCL_IB_HCA");
        return;
    }
    ni_out_putf(o, "%u HCA%s ", n_hca, n_hca == 1 ? "" : "s");
    for (unsigned i = 0; i < plan->n_chosen; i++) {
        const struct ni_port *port = &view->inv->port[plan->chosen[i]];
        ni_out_put(o, i == 0 ? "" : ",");
        ni_out_quoted(o, view->inv->hca[port->hca].name);
        ni_out_putf(o, ":%u", port->num);
    }
    ni_out_putf(o, " (%s)", ni_say_source_short(view->inv->source));
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

static void put_link(struct ni_out *o, const struct ni_view *view)
{
    const struct ni_setting *index = ni_plan_get(view->plan, "NCCL_IB_GID_INDEX");
    if (view->plan->n_chosen == 0)
        return;
    if (ni_plan_link(view->inv, view->plan) != NI_LINK_ROCE) {
        ni_out_putf(o, ", %s", ni_say_link(ni_plan_link(view->inv, view->plan)));
    } else if (!index || index->origin == NI_LEFT_UNSET) {
        ni_out_putf(o, ", %s GID index left to NCCL", roce_word(view));
    } else {
        /* of the user's index we do not know here what it holds */
        ni_out_putf(o, ", %s GID index ", index->origin == NI_FROM_RULE ? roce_word(view) : "RoCE");
        put_value(o, index);
    }
}

/* The names, without the '=' that makes them exact. */
static void put_sockets(struct ni_out *o, const struct ni_view *view, const char *before)
{
    const struct ni_setting *s = ni_plan_get(view->plan, "NCCL_SOCKET_IFNAME");
    if (!s || s->origin == NI_LEFT_UNSET)
        return;
    ni_out_put(o, before);
    if (s->origin == NI_FROM_RULE)
        ni_out_quoted(o, s->value[0] == '=' ? s->value + 1 : s->value);
    else
        put_value(o, s);
}

static void put_gdr(struct ni_out *o, const struct ni_view *view)
{
    const struct ni_setting *s = ni_plan_get(view->plan, "NCCL_NET_GDR_LEVEL");
    if (!s)
        return;
    ni_out_put(o, ", GDR ");
    if (s->origin == NI_LEFT_UNSET)
        ni_out_put(o, "left to NCCL");
    else
        put_value(o, s);
}

/* What somebody else set and the line has not shown yet: it may overrule all the rest. */
static void put_others(struct ni_out *o, const struct ni_view *view)
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
        ni_out_putf(o, ", %s=", s->name);
        put_value(o, s);
    }
}

static void put_detected(struct ni_out *o, const struct ni_view *view)
{
    switch (view->plan->transport) {
    case NI_NET_OFF:
        ni_out_put(o, "nothing (mode off)");
        break;
    case NI_NET_RDMA:
        put_hcas(o, view);
        put_link(o, view);
        put_sockets(o, view, ", sockets ");
        put_gdr(o, view);
        break;
    case NI_NET_TCP:
        ni_out_put(o, "TCP");
        put_sockets(o, view, " over ");
        if (view->inv->n_hca > 0)
            ni_out_putf(o, ", %u HCA%s not used", view->inv->n_hca,
                        view->inv->n_hca == 1 ? "" : "s");
        else
            ni_out_put(o, ", no HCA");
        break;
    case NI_NET_OTHER:
        ni_out_put(o, "another network plugin, left alone");
        break;
    }
}

static void put_summary(struct ni_out *o, const struct ni_view *view, int64_t memlock)
{
    char buf[32];
    struct ni_text t = ni_text_on(buf, sizeof(buf));
    if (memlock < 0)
        ni_put(&t, "unknown");
    else
        ni_put_bytes(&t, memlock);
    ni_out_put(o, "auto-detected ");
    put_detected(o, view);
    put_others(o, view);
    ni_out_putf(o, ", memlock %s", buf);
}

int ni_write_summary(int fd, const struct ni_view *view, int64_t memlock)
{
    struct ni_out o;
    ni_out_on(&o, fd);
    ni_out_put(&o, "nccl-init: ");
    put_summary(&o, view, memlock);
    ni_out_put(&o, "\n");
    return ni_out_end(&o);
}

int ni_write_summary_json(int fd, const struct ni_view *view, int64_t memlock)
{
    struct ni_out line, o;
    bool bad = false;
    /* Into the buffer alone: it holds the longest line there is. */
    ni_out_on(&line, -1);
    put_summary(&line, view, memlock);
    if (line.err < 0)
        return line.err;
    char text[NI_OUT_BUF + 1];
    if (!ni_copyn(text, sizeof(text), line.buf, line.len))
        return -EOVERFLOW;
    json_t *j = json_object();
    ni_json_put(&bad, j, "severity", json_string(ni_severity_text(NI_INFO)));
    ni_json_put(&bad, j, "message", ni_json_text(text));
    ni_out_on(&o, fd);
    ni_json_write(&o, j, bad, 0);
    return ni_out_end(&o);
}

/* ---- findings ---- */

json_t *ni_json_finding(bool *bad, const struct ni_finding *f)
{
    const struct ni_finding_kind *kind = ni_finding_kind(f->id);
    json_t *j = json_object();
    ni_json_put(bad, j, "id", json_string(kind->id));
    ni_json_put(bad, j, "severity", json_string(ni_severity_text(kind->severity)));
    ni_json_put(bad, j, "subject", ni_json_text(f->subject));
    ni_json_put(bad, j, "message", ni_json_text(f->message));
    ni_json_put(bad, j, "hint", json_string(kind->hint));
    return j;
}

static void finding_text(struct ni_out *o, const struct ni_finding *f)
{
    const struct ni_finding_kind *kind = ni_finding_kind(f->id);
    size_t n = strlen(f->message);
    ni_out_putf(o, "nccl-init: %s: %s: ", ni_severity_text(kind->severity), kind->id);
    if (f->subject[0]) {
        ni_out_quoted(o, f->subject);
        ni_out_put(o, ": ");
    }
    ni_out_quoted(o, f->message);
    if (n > 0 && !strchr(".!?", f->message[n - 1]))
        ni_out_put(o, ".");
    ni_out_putf(o, " %s\n", kind->hint);
}

int ni_write_finding(int fd, const struct ni_finding *finding, bool json)
{
    struct ni_out o;
    bool bad = false;
    ni_out_on(&o, fd);
    if (json) {
        json_t *j = ni_json_finding(&bad, finding);
        ni_json_write(&o, j, bad, 0);
    } else {
        finding_text(&o, finding);
    }
    return ni_out_end(&o);
}
