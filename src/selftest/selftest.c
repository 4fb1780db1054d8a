/* SPDX-License-Identifier: Apache-2.0 */
/* The verb selftest, and `run --selftest` before the command: each port is tried as the job will
   use it. All ports are tried at once, each in a process of its own, so that one that hangs or
   crashes does not delay the others. */
#include "selftest/selftest.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/board.h"
#include "cli/context.h"
#include "cli/flow.h"
#include "cli/option.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/progress_table.h"
#include "cli/say.h"
#include "findings/verbs.h"
#include "nccl_init/base.h"
#include "nccl_init/errno.h"
#include "nccl_init/findings.h"
#include "nccl_init/plan.h"
#include "nccl_init/text.h"
#include "print/layout.h"
#include "print/words.h"
#include "rail/processes.h"
#include "rail/rail.h"
#include "rail/task.h"
#include "rules/require.h"
#include "selftest/gpu.h"
#include "selftest/gpu_svg.h"
#include "selftest/image.h"
#include "selftest/nccl.h"
#include "selftest/report.h"
#include "selftest/trials.h"
#include "system/caps.h"
#include "system/exec.h"
#include "system/process.h"

/* ---- options ---- */

/* the contexts and communicators of eight GPUs take longer than the memory of a port */
enum { NCCL_TIMES = 3 };
enum { TRYING = NI_VERB_RUN | NI_VERB_SELFTEST, MEETING = NI_VERB_RUN | NI_VERB_PREFLIGHT };

struct ni_selftest_options ni_selftest_options;

static const struct ni_option try_options[] = {
    {
        .name = "try",
        .group = NI_GROUP_SELFTEST,
        .verbs = TRYING,
        .arg = "ports|image|gpu|nccl|all,...",
        .take = ni_take_targets,
        .at = offsetof(struct ni_options, tries),
        .most = NI_TRY_ALL,
        .help =
            "what to try; ports, the default: each port by this program's libibverbs; image: "
            "each HCA by the image's; gpu: GPU memory, each GPU with its HCAs; nccl: the image's "
            "NCCL on each GPU; before a command it means --selftest=warn unless --selftest is "
            "given",
    },
    {
        .name = "busy",
        .group = NI_GROUP_SELFTEST,
        .verbs = TRYING,
        .take = ni_take_switch,
        .at = offsetof(struct ni_options, busy),
        .help = "try GPUs that others use, too",
    },
};
const struct ni_option_rows ni_try_rows = {try_options, NI_COUNT(try_options), NULL, 0};

static const struct ni_option selftest_options[] = {
    {
        .name = "size",
        .group = NI_GROUP_SELFTEST,
        .verbs = TRYING,
        .arg = "BYTES",
        .initial = "64M",
        .take = ni_take_bytes,
        .at = offsetof(struct ni_selftest_options, size),
        .least = INT64_C(16) << 10,
        .most = INT64_C(64) << 30,
        .help = "how much memory to register for each port",
    },
    {
        .name = "bytes",
        .group = NI_GROUP_SELFTEST,
        .verbs = TRYING | MEETING,
        .arg = "BYTES",
        .take = ni_take_bytes,
        .at = offsetof(struct ni_selftest_options, bytes),
        .least = 1,
        .most = INT64_C(1) << 40,
        .help = "bytes that each port writes and reads back; 16M for selftest; preflight uses "
                "--seconds unless given",
    },
    {
        .name = "pairs",
        .group = NI_GROUP_SELFTEST,
        .verbs = TRYING,
        .arg = "own|all",
        .initial = "own",
        .take = ni_take_word,
        .at = offsetof(struct ni_selftest_options, pairs),
        .help = "--try=gpu: each GPU with the HCAs that are its own, or with every one",
    },
    {
        .name = "deadline",
        .group = NI_GROUP_SELFTEST,
        .verbs = TRYING | NI_VERB_DOCTOR,
        .arg = "SECONDS",
        .initial = "10",
        .take = ni_take_seconds,
        .at = offsetof(struct ni_selftest_options, deadline),
        .least = 1,
        .most = 3600,
        .help = "how long each trial may take; three times as long for --try=nccl",
    },
};
const struct ni_option_rows ni_selftest_rows = {
    selftest_options,
    NI_COUNT(selftest_options),
    &ni_selftest_options,
    sizeof(ni_selftest_options),
};

enum { PROGRESS_MS = 100 };

static void show_trials(struct ni_context *ctx, const struct ni_rails *rails, int64_t until_ms)
{
    const int64_t left_ms = until_ms - ni_now_ms();
    struct ni_text line = NI_TEXT(256);

    ni_put_awaited_rails(&line, rails);
    ni_putf(&line, "; %lld s left", (long long)(left_ms > 0 ? left_ms / 1000 : 0));
    ni_progress(ctx, "self-test", "ports", line.buf, NI_SAME_PHASE);
}

/* Says for which ports a self-test waited that a signal ended. */
static void say_who_is_awaited(struct ni_context *ctx, const struct ni_rails *rails)
{
    struct ni_text why = NI_TEXT(256);

    ni_put(&why, "self-test: ended by a signal while it waited: ports: ");
    ni_put_awaited_rails(&why, rails);
    ni_say(ctx, NI_LOG_WARN, "%s", why.buf);
    ni_leave_reason(ctx, why.buf, NI_LEAVE_REASON);
}

int ni_run_trials(struct ni_context *ctx, struct ni_trials *all, ni_rail_fn *fn)
{
    const int64_t begin = ni_now_ms();
    struct ni_children children;
    struct ni_rails rails;
    struct ni_wait wait;

    ni_wait_begin(&wait);
    ni_children_begin(&children);
    int r = ni_rails_start(&rails, all->n, fn);
    for (unsigned i = 0; r == 0 && i < all->n; i++) {
        struct ni_rail_task *task = &rails.task[i];

        *task = all->task[i];
        task->number = i;
        /* data that is read back must not be what the memory had before */
        task->session = (uint64_t)begin | 1;
        task->size = all->size;
        task->bytes = all->bytes;
        task->move_ms = (int)all->limit_ms;
        task->has[NI_ROLE_INITIATOR] = task->has[NI_ROLE_TARGET] = true;
    }
    if (r == 0) {
        ni_rails_ask(&rails, NI_WORK_MOVE, all->limit_ms);
        while (!ni_rails_done(&rails, PROGRESS_MS) && !ni_wait_ms(&wait, 0))
            show_trials(ctx, &rails, begin + all->limit_ms);
        if (wait.signal != 0)
            say_who_is_awaited(ctx, &rails);
        memcpy(all->task, rails.task, all->n * sizeof(*all->task));
        ni_rails_end(&rails);
    }
    all->took_ms = ni_now_ms() - begin;
    ni_progress_end(ctx);
    ni_children_end(&children, -1);
    ni_wait_end(&wait); /* a signal that came meanwhile may end the program here */
    return r;
}

/* Does the trial with the capabilities of the command: those that this program alone has by file
   capabilities are dropped before. */
static void work_as_command(struct ni_rail_task *task, enum ni_rail_work work, void **state)
{
    if (ni_command_has_cap(CAP_IPC_LOCK))
        (void)ni_cap_raise(CAP_IPC_LOCK);
    else if (ni_cap_lower(CAP_IPC_LOCK) < 0)
        _exit(
            NI_EXIT_REFUSED); /* with more rights than the command the trial would prove nothing */
    ni_work_rail(task, work, state);
}

const struct ni_trials *ni_try_ports(struct ni_context *ctx)
{
    static struct ni_trials all;
    int r;

    all.size = ni_selftest_options.size;
    all.bytes = ni_selftest_options.bytes ? ni_selftest_options.bytes : INT64_C(16) << 20;
    all.limit_ms = (int64_t)ni_selftest_options.deadline * 1000;
    all.memlock = ctx->memlock;
    ni_plan_trials(&ctx->work, &all);
    r = ni_run_trials(ctx, &all, work_as_command);
    if (r < 0) {
        ni_report(&ctx->findings, NI_F_VERBS_PROCESS, "self-test",
                  "no process could be started: %s", NI_ERRNO(r));
        return NULL;
    }
    ni_judge_trials(&ctx->work, &all);
    if (all.n == 0 && ni_wants_trials(&ctx->work))
        ni_report(&ctx->findings, NI_F_VERBS_NONE, "self-test", "there is no port to try");
    return &all;
}

/* Makes the trials that the options name. false: no process could be started, a finding says so. */
static bool try_all(struct ni_context *ctx, struct ni_selftest *ret)
{
    const bool ports = ni_tries(&ctx->options, NI_TRY_PORTS);

    *ret = (struct ni_selftest){.ports = NULL};
    if (ports)
        ret->ports = ni_try_ports(ctx);
    if (ports && !ret->ports)
        return false;
    if (ni_tries(&ctx->options, NI_TRY_IMAGE) && ni_wants_trials(&ctx->work))
        ret->image = ni_try_image(ctx, ret->ports, (int64_t)ni_selftest_options.deadline * 1000);
    if (ni_tries(&ctx->options, NI_TRY_GPU) && ni_wants_trials(&ctx->work))
        ret->gpu = ni_try_gpus(ctx, ni_selftest_options.pairs,
                               (int64_t)ni_selftest_options.deadline * 1000);
    if (ni_tries(&ctx->options, NI_TRY_NCCL) && ctx->plan.transport != NI_NET_OFF)
        ret->nccl = ni_try_nccl(ctx, NCCL_TIMES * (int64_t)ni_selftest_options.deadline * 1000);
    if (!ports && ret->image && ret->image->n == 0)
        ni_report(&ctx->findings, NI_F_VERBS_NONE, "self-test", "there is no HCA to try");
    return true;
}

static void free_trials(struct ni_selftest *all)
{
    free(all->gpu);
    free(all->nccl);
}

/* Writes the picture of --svg. 0, or an exit status. Without pairs there is none. */
static int draw(struct ni_context *ctx, const struct ni_view *view, const struct ni_gpu_trial *gpu)
{
    if (!gpu || gpu->n == 0) {
        ni_say(ctx, NI_LOG_WARN, "--svg: no picture: no pair of a GPU and an HCA was tried%s",
               gpu ? "" : " (--try=gpu)");
        return 0;
    }
    struct ni_text picture = ni_long_text();
    ni_put_gpu_svg(&picture, view, gpu);
    ctx->options.output = ctx->options.svg;
    const int status = ni_print_long(ctx, &picture);
    ctx->options.output = NULL;
    return status;
}

int ni_cmd_selftest(struct ni_context *ctx)
{
    struct ni_selftest all;
    struct ni_view view;
    struct ni_text text;
    int r, drawn = 0;

    ctx->acts = true;
    r = ni_flow(ctx);

    if (r != 0)
        return r;
    if (!try_all(ctx, &all)) {
        ni_say_findings(ctx);
        return NI_EXIT_FAILED;
    }
    all.bad = ni_exit_status(ctx) != 0;
    view = ni_flow_view(ctx);
    if (ctx->options.svg)
        drawn = draw(ctx, &view, all.gpu); /* what was found is told in any case */
    text = ni_long_text();
    if (ctx->options.json)
        ni_put_selftest_json(&text, &view, &all);
    else if (!ctx->options.all)
        ni_put_selftest_answer(&text, &view, &all);
    else
        ni_put_selftest(&text, &view, &all);
    free_trials(&all);
    r = ni_print_long(ctx, &text);
    if (r != 0 || drawn != 0)
        return r != 0 ? r : drawn;
    return ni_exit_status(ctx);
}

bool ni_selftest_passes(const struct ni_trials *all, struct ni_text *how)
{
    if (!all) {
        ni_put(how, "the self-test could not be started");
        return false;
    }
    if (all->n == 0) {
        ni_put(how, "there is no port to try");
        return false;
    }
    if (all->passed > 0 && all->passed < all->n)
        ni_put(how, "only ");
    ni_putf(how, "%u of %u port%s passed", all->passed, all->n, ni_plural(all->n));
    ni_put_untried(how, all);
    return all->passed == all->n;
}

/* Says how trials went, unless there was nothing to try, which is a finding. A demand that all pass
   may not hold. name: of --try; the reason names it, for the finding's own hint is of all trials. */
static void conclude(struct ni_context *ctx, const char *name, bool passes, bool any,
                     const char *how)
{
    struct ni_text why = NI_TEXT(3 * NI_REASON);

    if (any)
        ni_say(ctx, passes ? NI_LOG_INFO : NI_LOG_WARN, "self-test: %s", how);
    ni_put(&why, how);
    if (strcmp(name, "ports") != 0)
        ni_putf(&why, " (nccl-init selftest --try=%s)", name);
    if (!passes)
        ni_refuse_demand(&ctx->work, NI_REQUIRE_SELFTEST, why.buf);
}

/* Says how the trial of GPU memory went, and lets the plan follow it. A proof that is demanded is not
   there, either, if the trial could not be made: all is NULL. */
static void conclude_gpus(struct ni_context *ctx, const struct ni_gpu_trial *all)
{
    struct ni_text how = NI_TEXT(2 * NI_REASON);
    const bool passes = ni_gpus_pass(all, &how), nothing = all && all->n == 0;

    conclude(ctx, "gpu", passes, !nothing, how.buf);
    if (!passes || nothing)
        ni_refuse_demand(&ctx->work, NI_REQUIRE_GDR_TRIED, how.buf);
    if (all) /* behind the refusal, which stands: the plan that follows would refuse for a later reason */
        ni_follow_gpus(ctx, all);
}

const struct ni_trials *ni_selftest_first(struct ni_context *ctx)
{
    struct ni_text how = NI_TEXT(NI_REASON), image = NI_TEXT(2 * NI_REASON),
                   nccl = NI_TEXT(2 * NI_REASON);
    const bool wants = ni_wants_trials(&ctx->work);
    struct ni_selftest all;

    if (ctx->options.policy.selftest == NI_DEMAND_OFF ||
        (!wants && !ni_tries(&ctx->options, NI_TRY_NCCL)))
        return NULL;
    (void)try_all(ctx, &all);
    if (wants && ni_tries(&ctx->options, NI_TRY_PORTS)) {
        const bool passes = ni_selftest_passes(all.ports, &how);

        conclude(ctx, "ports", passes, all.ports && all.ports->n > 0, how.buf);
    }
    /* where there is no port to try there is no HCA to drive: one reason is enough */
    if (all.image && !(all.image->n == 0 && all.ports && all.ports->n == 0)) {
        const bool passes = ni_image_passes(all.image, &image);

        conclude(ctx, "image", passes, all.image->n > 0, image.buf);
    }
    if (wants && ni_tries(&ctx->options, NI_TRY_GPU))
        conclude_gpus(ctx, all.gpu);
    if (all.nccl) {
        const bool passes = ni_nccl_passes(all.nccl, &nccl);

        conclude(ctx, "nccl", passes, all.nccl->n > 0, nccl.buf);
    }
    free_trials(&all);
    return all.ports;
}
