/* SPDX-License-Identifier: Apache-2.0 */
/* What holds in this pod, or on a recorded node, of what explain shows: the settings, the findings
   of doctor, the GIDs of the ports. */
#include "doctor/here.h"

#include <string.h>

#include "cli/args.h"
#include "cli/context.h"
#include "cli/flow.h"
#include "cli/option.h"
#include "doctor/checks.h"
#include "findings/device.h"
#include "findings/log.h"
#include "findings/pod.h"
#include "findings/setting.h"
#include "findings/verbs.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/ip.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "print/devices.h"
#include "print/findings.h"
#include "print/layout.h"
#include "print/words.h"

enum { MAX_CAUSES = 5 };

/* For a fault that only a log or a test shows: the findings of doctor that are its usual causes, and
   the variable that decides about it. */
static const struct cause {
    ni_finding_number fault;
    ni_finding_number causes[MAX_CAUSES];
    const char *variable; /* NULL: none */
} causes[] = {
    {NI_F_LOG_PINNED, {NI_F_MEMLOCK_TOO_LOW, NI_F_MEMLOCK_LOW}, NULL},
    {NI_F_VERBS_MEMLOCK, {NI_F_MEMLOCK_TOO_LOW, NI_F_MEMLOCK_LOW}, NULL},
    {NI_F_LOG_SHM, {NI_F_SHM_DEFAULT, NI_F_SHM_SMALL}, NULL},
    {NI_F_LOG_LIBIBVERBS, {NI_F_IMAGE_VERBS_MISSING, NI_F_IMAGE_PROVIDER_MISSING}, NULL},
    {NI_F_LOG_PROVIDER, {NI_F_IMAGE_PROVIDER_MISSING, NI_F_IMAGE_ABI}, NULL},
    {NI_F_LOG_SOCKETS,
     {NI_F_HCA_NONE, NI_F_HCA_NONE_USABLE, NI_F_USER_HCA_NONE, NI_F_ALLOC_NO_UVERBS},
     "NCCL_IB_HCA"},
    {NI_F_LOG_SOCKET_FAMILY, {NI_F_SOCKET_NONE, NI_F_USER_SOCKET_NONE}, "NCCL_SOCKET_IFNAME"},
    {NI_F_LOG_GDR,
     {NI_F_GDR_UNAVAILABLE, NI_F_GDR_DMABUF_OFF, NI_F_GDR_DRIVER_ORDER, NI_F_GPU_HCA_FAR,
      NI_F_USER_GDR_OFF},
     "NCCL_NET_GDR_LEVEL"},
    {NI_F_VERBS_CONNECT,
     {NI_F_USER_GID_WRONG, NI_F_GID_NONE, NI_F_GID_V1_ONLY, NI_F_GID_OWNER_UNKNOWN},
     "NCCL_IB_GID_INDEX"},
    {NI_F_VERBS_GID,
     {NI_F_USER_GID_WRONG, NI_F_GID_NONE, NI_F_GID_V1_ONLY, NI_F_GID_OWNER_UNKNOWN},
     "NCCL_IB_GID_INDEX"},
    {NI_F_VERBS_OPEN, {NI_F_HCA_NODE_MISSING, NI_F_HCA_NODE_LOST}, NULL},
};

/* Returns the row of the topic's fault, or of its variable; NULL: there is none. */
static const struct cause *cause_of(const struct ni_topic *topic)
{
    for (unsigned i = 0; i < NI_COUNT(causes); i++) {
        const struct cause *row = &causes[i];

        if (row->fault == topic->finding)
            return row;
        if (row->variable && topic->variable.n > 0 && ni_span_is(topic->variable, row->variable))
            return row;
    }
    return NULL;
}

/* Returns true for a finding that doctor or plan may report about a node. */
static bool is_of_node(ni_finding_number finding)
{
    return finding != NI_F_NONE && finding < NI_FINDINGS_JOB;
}

static bool is_about(const struct ni_topic *topic, const struct cause *cause,
                     ni_finding_number finding)
{
    if (finding == topic->finding)
        return true;
    for (unsigned i = 0; cause && i < MAX_CAUSES; i++) {
        if (cause->causes[i] == finding)
            return true;
    }
    return false;
}

/* Puts the findings of the topic, a line each. Returns their number. */
static unsigned put_its_findings(struct ni_text *out, const struct ni_findings *all,
                                 const struct ni_topic *topic)
{
    const struct cause *cause = cause_of(topic);
    unsigned n = 0;

    for (unsigned i = 0; i < all->n; i++) {
        const struct ni_finding *f = &all->at[i];
        struct ni_text line = NI_TEXT(NI_FINDING_MESSAGE + 256);

        if (!is_about(topic, cause, f->id))
            continue;
        ni_putf(&line, "%s: %s: ", ni_severity_text(ni_finding_severity(f->id)),
                ni_finding_id(f->id));
        if (f->subject[0])
            ni_putf(&line, "%s: ", f->subject);
        ni_put(&line, f->message);
        ni_put_below(out, line.buf);
        n++;
    }
    return n;
}

/* Puts the value of a setting, whose it is, and the reason. */
static void put_setting(struct ni_text *out, const struct ni_setting *s)
{
    struct ni_text line = NI_TEXT(NI_VALUE + 2 * NI_REASON);

    if (s->origin == NI_LEFT_UNSET)
        ni_putf(&line, "%s stays unset", s->name);
    else
        ni_putf(&line, "%s=%s", s->name, s->value);
    if (s->origin == NI_FROM_USER)
        ni_put(&line, " (your environment)");
    else if (s->origin == NI_FROM_CONF)
        ni_putf(&line, " (%s)", s->file);
    if (s->reason[0])
        ni_putf(&line, ": %s", s->reason);
    if (s->by_itself)
        ni_putf(&line, ". NCCL then %s", s->by_itself);
    ni_put_below(out, line.buf);
}

/* Puts the settings of the topic: its variable, and those that its rule decided. Returns their
   number. */
static unsigned put_its_settings(struct ni_text *out, const struct ni_plan *plan,
                                 const struct ni_topic *topic, struct ni_span variable)
{
    unsigned n = 0;

    for (unsigned i = 0; i < plan->n_setting; i++) {
        const struct ni_setting *s = &plan->setting[i];
        const bool named = variable.n > 0 && ni_span_is(variable, s->name);
        const bool ruled = topic->rule && strcmp(topic->rule, s->rule) == 0;

        if (!named && !ruled)
            continue;
        put_setting(out, s);
        n++;
    }
    return n;
}

/* Puts the entry of the GID table that each chosen port uses. */
static void put_gids(struct ni_text *out, const struct ni_view *view)
{
    const struct ni_inventory *inv = view->inv;

    for (unsigned i = 0; i < view->plan->n_chosen; i++) {
        const int at = view->plan->chosen[i];
        const struct ni_gid *gid = ni_port_gid_used(view, at);
        struct ni_text line = NI_TEXT(256);
        char ip[NI_IP_TEXT];

        if (!gid)
            continue;
        ni_putf(&line, "%s/%u: this pod's GID is at index %u: %s (%s)",
                inv->hca[inv->port[at].hca].name, inv->port[at].num, (unsigned)gid->index,
                ni_ip_text(gid->ip, ip), ni_gid_type_words[gid->type]);
        ni_put_below(out, line.buf);
    }
}

/* Returns the variable of the topic, or that which decides about its fault. n 0: none. */
static struct ni_span variable_of(const struct ni_topic *topic)
{
    const struct cause *cause = cause_of(topic);

    if (topic->variable.n > 0 || !cause || !cause->variable)
        return topic->variable;
    return ni_span_of(cause->variable);
}

static bool is_recorded(const struct ni_context *ctx)
{
    return strcmp(ctx->options.root, "/") != 0;
}

/* Says that doctor finds neither the fault nor its usual causes. */
static void put_nothing(struct ni_text *out, const struct ni_topic *topic)
{
    const struct cause *cause = cause_of(topic);
    struct ni_text line = NI_TEXT(256);

    if (is_of_node(topic->finding))
        ni_put_below(out, "`nccl-init doctor` does not report it.");
    if (!cause)
        return;
    ni_put(&line, "`nccl-init doctor` reports none of its usual causes: ");
    for (unsigned i = 0; i < MAX_CAUSES && cause->causes[i] != NI_F_NONE; i++)
        ni_putf(&line, "%s%s", i > 0 ? ", " : "", ni_finding_id(cause->causes[i]));
    ni_put_below(out, line.buf);
}

int ni_look_here(struct ni_context *ctx, bool *ret_told)
{
    const bool recorded = is_recorded(ctx);
    struct ni_diagnosis diagnosis = {.n = 0};
    int status = 0;

    *ret_told = false;
    ctx->verb = NI_VERB_DOCTOR;
    /* A wrong NCCLINIT_ variable must not keep anybody from a page: it is a finding, as in a
       recording. */
    if (!recorded)
        status = ni_args_env(ctx, &ctx->own, NI_ENV_RECORDED);
    if (status == 0)
        status = ni_flow(ctx);
    if (status != 0)
        return recorded ? status : 0;
    ni_diagnose(&ctx->work, &diagnosis);
    ni_findings_drop_weaker(&ctx->findings);
    *ret_told = recorded || ctx->inventory.n_hca > 0 || ctx->inventory.n_gpu > 0;
    return 0;
}

void ni_put_here(struct ni_context *ctx, struct ni_text *out, const struct ni_topic *topic)
{
    const struct ni_view view = ni_flow_view(ctx);
    const struct ni_span variable = variable_of(topic);
    struct ni_text facts = ni_long_text();
    const unsigned n = put_its_findings(&facts, view.findings, topic) +
                       put_its_settings(&facts, view.plan, topic, variable);

    if (ni_span_is(variable, "NCCL_IB_GID_INDEX"))
        put_gids(&facts, &view);
    if (n == 0)
        put_nothing(&facts, topic);
    if (facts.len > 0) {
        ni_put(out, is_recorded(ctx) ? "\nOn that node\n" : "\nHere\n");
        ni_putn(out, facts.buf, facts.len);
    }
    ni_free_text(&facts);
}
