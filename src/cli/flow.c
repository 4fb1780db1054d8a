/* SPDX-License-Identifier: Apache-2.0 */
/* The first steps of the verbs that read the node: root, environment, facts, decisions. */
#include "cli/flow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/context.h"
#include "cli/option.h"
#include "cli/place.h"
#include "cli/program.h"
#include "cli/say.h"
#include "cli/screen.h"
#include "cli/wait.h"
#include "findings/device.h"
#include "findings/pod.h"
#include "nccl_init/base.h"
#include "nccl_init/caps.h"
#include "nccl_init/env.h"
#include "nccl_init/errno.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/plan.h"
#include "nccl_init/text.h"
#include "node/gather.h"
#include "node/read.h"
#include "print/layout.h"
#include "print/words.h"
#include "rules/require.h"
#include "rules/socket.h"
#include "sysroot/files.h"
#include "sysroot/record.h"
#include "sysroot/root.h"
#include "system/caps.h"
#include "system/limits.h"

/* The environment of a recorded pod, in a root that is not this machine: NAME=VALUE, each ended by
   NUL, as the kernel writes it. */
static const char recorded_environ[] = "proc/self/environ";

/* Takes the environment that the root records as the pod's. 0, or an exit status after saying why.
   */
static int take_recorded_environ(struct ni_context *ctx)
{
    struct ni_dir top = ni_dir_top(&ctx->root);
    char **entry = NULL, *p = NULL;
    ssize_t n = -ENOMEM;

    top.binary = true;
    ctx->recorded = calloc(NI_RECORDED_ENV + 1, 1);
    if (ctx->recorded)
        n = ni_read(&top, ctx->recorded, NI_RECORDED_ENV, "%s", recorded_environ);
    if (n == -ENOENT)
        return 0; /* the tree has none: the caller's environment stands for the pod's */
    /* a text of n bytes has at most n entries */
    if (n >= 0)
        entry = calloc((size_t)n + 1, sizeof(*entry));
    if (n >= 0 && !entry)
        n = -ENOMEM;
    if (n < 0)
        return ni_usage(ctx, "--root: %.512s: %s: %s", ctx->options.root, recorded_environ,
                        NI_ERRNO((int)n));
    p = ctx->recorded;
    for (size_t i = 0; p < ctx->recorded + n; p += strlen(p) + 1)
        entry[i++] = p;
    ctx->env.entry = entry;
    /* a wrong variable is a finding, as it was for `run` on the recorded node */
    return ni_args_env(ctx, &ctx->env, NI_ENV_RECORDED);
}

/* Limits --keep-caps to CAP_IPC_LOCK if the capabilities come from the program's file: the image
   gave them for locked memory alone, and the user may not have the others. */
static void limit_kept_caps(struct ni_context *ctx)
{
    const uint64_t lock = ni_cap_bit(CAP_IPC_LOCK);
    uint64_t *keep = &ctx->options.policy.keep_caps;
    struct ni_text names = NI_TEXT(128);

    if (!ctx->options.secure || geteuid() == 0 || ctx->root.kind != NI_ROOT_LIVE ||
        (*keep & ~lock) == 0)
        return;
    ni_put_caps(&names, *keep & ~lock, &ctx->options.policy.cap_names);
    ni_report(&ctx->findings, NI_F_CAPS_KEEP_MISSING, "--keep-caps",
              "%s: nccl-init has file capabilities: it passes on only CAP_IPC_LOCK", names.buf);
    *keep &= lock;
}

/* Returns true if the root has a file of that name, or may have one that cannot be seen. */
static bool may_have(const struct ni_dir *top, const char *name)
{
    const int r = ni_look_up(top, "%s", name);

    return r != -ENOENT && r != -ENOTDIR;
}

/* Takes the opened root of another node. 0, or an exit status after saying what it lacks: of an
   empty folder there would be a plan, but of nothing. */
static int take_recorded_root(struct ni_context *ctx)
{
    struct ni_dir top = ni_dir_top(&ctx->root);

    top.unrecorded = true;
    if (!may_have(&top, "proc") && !may_have(&top, "sys"))
        return ni_usage(ctx, "--root: %.512s: not a recorded node: it has neither proc nor sys",
                        ctx->options.root);
    return take_recorded_environ(ctx);
}

/* Opens the root. 0, or an exit status after saying why; for `run` always 0. */
static int open_root(struct ni_context *ctx)
{
    unsigned line = 0;
    int r = ni_root_open(ctx->options.root, &ctx->root, &line);

    ctx->opened = r == 0;
    if (r == 0)
        return ctx->root.kind == NI_ROOT_LIVE ? 0 : take_recorded_root(ctx);
    if (ctx->verb == NI_VERB_RUN) {
        /* for example, no descriptor is free: nothing is known then, but the command still runs */
        ni_report(&ctx->findings, NI_F_FACT_UNREADABLE, ctx->options.root, "%s", NI_ERRNO(r));
        return 0;
    }
    if (r == -EINVAL && line > 0)
        return ni_usage(ctx, "--root: %.512s:%u: this line is not in the .tree format",
                        ctx->options.root, line);
    if (r == -ENOSYS)
        return ni_usage(ctx, "--root needs openat2, which this kernel or a seccomp filter lacks");
    /* The reason must not be lost after a long path. */
    return ni_usage(ctx, "--root: %.512s: %s", ctx->options.root, NI_ERRNO(r));
}

void ni_flow_decide(struct ni_context *ctx)
{
    struct ni_policy *policy = &ctx->options.policy;
    const unsigned gathers = ni_verb_of(ctx->program, ctx->verb)->gathers;
    const bool preflight = policy->preflight != NI_DEMAND_OFF;
    const bool all = (gathers & NI_GATHER_ALL) != 0 || preflight;
    /* the picture shows HCAs for which the IOMMU translates */
    const bool draws = ctx->verb == NI_VERB_TOPO && ctx->options.svg;
    const bool nccl = ni_tries(&ctx->options, NI_TRY_NCCL);
    const struct ni_ask ask = {
        .hcas = policy->hcas,
        .nccl = policy->nccl,
        .own_conf = ctx->verb == NI_VERB_ENV ? ctx->options.output : NULL,
        .network_status = ctx->options.network_status,
        .sockets = ni_named_sockets(policy),
        .nvshmem = (policy->targets & NI_FOR_NVSHMEM) != 0,
        .gpus = (policy->require & (NI_REQUIRE_GPUS | NI_REQUIRE_GDR)) != 0 || nccl,
        .gpu_facts = policy->gpu_map,
        .all = all,
        .health = (gathers & NI_GATHER_HEALTH) != 0 || preflight || draws ||
                  policy->selftest != NI_DEMAND_OFF,
        .image = (gathers & NI_GATHER_IMAGE) != 0 || nccl,
        .drivers = ni_tries(&ctx->options, NI_TRY_IMAGE),
        .off = policy->mode == NI_MODE_OFF && (gathers & NI_GATHER_OFF) == 0,
    };

    policy->gpu_map = policy->gpu_map || all || nccl;
    policy->command_elsewhere = ctx->verb == NI_VERB_ENV && ni_output_file(ctx);
    limit_kept_caps(ctx);
    ni_wait_and_look(ctx, &ask);
    if (preflight && ctx->opened)
        ni_gather_more(&ctx->root, &ctx->env, &ask, NI_NEED_ROUTES6, &ctx->inventory,
                       &ctx->findings);
    if (ctx->verb != NI_VERB_RUN)
        ni_require_planned_memlock(&ctx->work);
}

int ni_flow(struct ni_context *ctx)
{
    const bool off = ctx->verb == NI_VERB_RUN && ctx->options.policy.mode == NI_MODE_OFF;
    const bool acts = ctx->acts;
    int r = 0;

    if (acts && strcmp(ctx->options.root, "/") != 0) {
        const char *probe = ctx->verb == NI_VERB_DOCTOR ? " --probe" : "";
        const char *instead = ctx->verb == NI_VERB_RUN ? "plan" : "doctor";

        return ni_usage(ctx,
                        "`%s%s` needs the devices of this machine, so it takes no --root "
                        "(NCCLINIT_ROOT); for a recorded node: nccl-init %s --root=PATH",
                        ni_verb_of(ctx->program, ctx->verb)->name, probe, instead);
    }
    if (!off)
        r = open_root(ctx);
    if (r == 0 && ctx->verb == NI_VERB_SNAPSHOT && ni_root_record(&ctx->root) < 0)
        r = ni_usage(ctx, "no memory for a record");
    if (r != 0)
        return r;
    ni_flow_decide(ctx);
    ctx->memlock = -1;
    if (!acts)
        return 0;
    if (ctx->opened)
        ni_root_close(&ctx->root);
    ctx->opened = false;
    if (!off)
        r = ni_memlock_raise(&ctx->plan, &ctx->findings, &ctx->memlock);
    if (r == 0)
        r = ni_caps_apply(&ctx->plan.caps, &ctx->options.policy.cap_names, &ctx->findings);
    return r == 0 ? 0 : ni_refuse_caps(ctx, r);
}

int ni_exit_status(const struct ni_context *ctx)
{
    const bool bad = ni_findings_count(&ctx->findings, NI_ERROR) > 0 ||
                     (ctx->options.strict && ni_findings_count(&ctx->findings, NI_WARNING) > 0);

    return bad ? NI_EXIT_FAILED : 0;
}

struct ni_view ni_flow_view(const struct ni_context *ctx)
{
    const bool reports = ctx->verb != NI_VERB_RUN; /* only a report may have colours and marks */
    struct ni_view view = {
        .inv = &ctx->inventory,
        .plan = &ctx->plan,
        .findings = &ctx->findings,
        .root = ctx->options.root,
        .again = &ctx->again,
        .colour = reports && ni_screen_has_colour(ctx),
        .utf8 = reports && ni_screen_has_utf8(ctx),
        .all = ctx->options.all,
    };

    if (reports)
        ni_name_place(ctx, &view);
    return view;
}

int ni_print_long(struct ni_context *ctx, struct ni_text *text)
{
    const int status = ni_print(ctx, text);

    ni_free_text(text);
    return status;
}

int ni_print_view(struct ni_context *ctx, ni_report_fn *put)
{
    const struct ni_view view = ni_flow_view(ctx);
    struct ni_text text = ni_long_text();

    put(&text, &view);
    return ni_print_long(ctx, &text);
}
