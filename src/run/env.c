/* SPDX-License-Identifier: Apache-2.0 */
/* The verb env: the settings in a form that other programs read. */
#include "run/env.h"

#include "cli/context.h"
#include "cli/flow.h"
#include "cli/option.h"
#include "cli/options.h"
#include "cli/say.h"
#include "nccl_init/base.h"
#include "nccl_init/plan.h"
#include "nccl_init/text.h"
#include "print/layout.h"
#include "print/words.h"
#include "run/envfile.h"
#include "run/run.h"
#include "system/exec.h"

/* ---- options ---- */

struct ni_env_options ni_env_options;

static const struct ni_option env_options[] = {
    {
        .name = "format",
        .verbs = NI_VERB_ENV,
        .arg = "sh|k8s|docker|nccl.conf|json",
        .initial = "sh",
        .take = ni_take_word,
        .at = offsetof(struct ni_env_options, format),
        .help = "the form in which the settings are written",
    },
};
const struct ni_option_rows ni_env_rows = {
    env_options,
    NI_COUNT(env_options),
    &ni_env_options,
    sizeof(ni_env_options),
};

/* Says in the log of an init container what the settings became, and what it could not see. */
static void say_written(struct ni_context *ctx)
{
    ni_say_plan(ctx);
    /* kubernetes 1.37.2 pkg/kubelet/kubelet_pods.go makeEnvironmentVariables: a fileKeyRef is a
       variable of the container like any other, and a runtime lets those win over the image's */
    if (ni_env_options.format == NI_FMT_K8S && ni_has_rule_settings(&ctx->plan))
        ni_say(ctx, NI_LOG_INFO,
               "by fileKeyRef these win over what the job's image sets by ENV, which is not seen "
               "here; what the container's own env sets stays");
}

int ni_cmd_env(struct ni_context *ctx)
{
    const struct ni_view view = ni_flow_view(ctx);
    const struct ni_setting *bad;
    struct ni_text text;
    int r;

    ctx->options.policy.gpu_map = ni_env_options.format == NI_FMT_JSON;
    r = ni_flow(ctx);

    if (r != 0)
        return r;
    ni_say_findings(ctx);
    if (ctx->plan.refuse)
        return ni_refuse(ctx, ctx->plan.refuse_why, NI_LEAVE_FINDINGS);
    text = ni_long_text();
    bad = ni_put_env(&text, &view, ni_env_options.format);
    if (bad)
        ni_say(ctx, NI_LOG_ERROR, "%s: this format cannot carry the value `%s`", bad->name,
               bad->value);
    r = bad ? NI_EXIT_FAILED : ni_print(ctx, &text);
    ni_free_text(&text);
    /* On standard output the settings are seen anyway. */
    if (r == 0 && ni_output_file(ctx) && ctx->options.policy.mode != NI_MODE_OFF)
        say_written(ctx);
    return r;
}
