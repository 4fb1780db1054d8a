/* SPDX-License-Identifier: Apache-2.0 */
/* The verb doctor: faults of this node and pod, whatever the variables say. */
#include "doctor/doctor.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/context.h"
#include "cli/flow.h"
#include "cli/option.h"
#include "cli/say.h"
#include "doctor/checks.h"
#include "doctor/report.h"
#include "nccl_init/base.h"
#include "nccl_init/env.h"
#include "nccl_init/findings.h"
#include "nccl_init/guess.h"
#include "nccl_init/text.h"
#include "print/layout.h"
#include "print/words.h"
#include "selftest/selftest.h"
#include "selftest/trials.h"

/* ---- options ---- */

/* Takes a list of ids of findings, or `none`. at: a bool for each kind of finding. */
static int take_findings(const struct ni_option *option, const char *text, void *at)
{
    bool set[NI_F_END] = {false};
    struct ni_span item;

    (void)option;
    text = ni_items_of_list(text);
    while (ni_split(&text, ',', &item)) {
        const ni_finding_number id = ni_finding_named(item);

        if (id == NI_F_NONE)
            return -EINVAL;
        set[id] = true;
    }
    memcpy(at, set, sizeof(set));
    return 0;
}

void ni_guess_finding(struct ni_guess *guess)
{
    ni_finding_number all[NI_MAX_KINDS];
    const unsigned n = ni_list_finding_kinds(all);

    for (unsigned i = 0; i < n; i++)
        ni_guess_try(guess, ni_span_of(ni_finding_id(all[i])));
}

struct ni_doctor_options ni_doctor_options;

static const struct ni_option doctor_options[] = {
    {
        .name = "probe",
        .verbs = NI_VERB_DOCTOR,
        .take = ni_take_switch,
        .at = offsetof(struct ni_doctor_options, probe),
        .help = "also run the self-test: it finds faults that sysfs does not show",
    },
    {
        .name = "ignore",
        .verbs = NI_VERB_DOCTOR,
        .arg = "none|FINDING,...",
        .initial = "none",
        .take = take_findings,
        .at = offsetof(struct ni_doctor_options, ignore),
        .suggest = ni_guess_finding,
        .help = "ids of findings that do not count; the output says how many were left out",
    },
    {
        .name = "brief",
        .verbs = NI_VERB_DOCTOR,
        .take = ni_take_switch,
        .at = offsetof(struct ni_doctor_options, brief),
        .help = "print the verdict and one line for each finding, for monitors and grep",
    },
};
const struct ni_option_rows ni_doctor_rows = {
    doctor_options,
    NI_COUNT(doctor_options),
    &ni_doctor_options,
    sizeof(ni_doctor_options),
};

/* Removes the findings that --ignore names, and counts them: they are neither in the text nor in
   the JSON nor in the exit status. */
static void drop_ignored(struct ni_context *ctx, struct ni_diagnosis *diagnosis)
{
    struct ni_findings *f = &ctx->findings;
    unsigned n = 0;

    diagnosis->ignore = ni_doctor_options.ignore;
    for (unsigned i = 0; i < f->n; i++) {
        if (ni_doctor_options.ignore[f->at[i].id])
            diagnosis->ignored[f->at[i].id]++;
        else
            f->at[n++] = f->at[i];
    }
    f->n = n;
}

static struct ni_who who_is(const struct ni_context *ctx)
{
    const char *node = ni_env_get(&ctx->own, "NODE_NAME");
    struct ni_who who = {.node = node && *node ? node : NULL, .ready = ni_exit_status(ctx) == 0};
    struct ni_text now = ni_text_on(who.time, sizeof(who.time));

    (void)gethostname(who.host, sizeof(who.host) - 1);
    ni_put_now(&now);
    return who;
}

int ni_cmd_doctor(struct ni_context *ctx)
{
    struct ni_diagnosis diagnosis = {.n = 0};
    const struct ni_trials *trials = NULL;
    struct ni_text text;
    struct ni_view view;
    struct ni_who who;
    int r;

    if (ctx->options.json && ni_doctor_options.brief)
        return ni_usage(ctx, "--json and --brief exclude each other");
    if (ctx->options.all && ni_doctor_options.brief)
        return ni_usage(ctx, "--all and --brief exclude each other");
    ctx->acts = ni_doctor_options.probe;
    r = ni_flow(ctx);
    if (r != 0)
        return r;
    ni_diagnose(&ctx->work, &diagnosis);
    if (ni_doctor_options.probe)
        trials = ni_try_ports(ctx); /* what fails is a finding */
    ni_findings_drop_weaker(&ctx->findings);
    drop_ignored(ctx, &diagnosis);
    view = ni_flow_view(ctx);
    who = who_is(ctx);
    text = ni_long_text();
    if (ctx->options.json)
        ni_put_doctor_json(&text, &view, &who, &diagnosis, trials);
    else if (ni_doctor_options.brief)
        ni_put_doctor_brief(&text, &view, &who);
    else if (!ctx->options.all)
        ni_put_doctor_answer(&text, &view, &who, &diagnosis, trials);
    else
        ni_put_doctor(&text, &view, &who, &diagnosis, trials);
    r = ni_print_long(ctx, &text);
    return r != 0 ? r : ni_exit_status(ctx);
}
