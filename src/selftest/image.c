/* SPDX-License-Identifier: Apache-2.0 */
/* The trial `image`. The image's code runs in the helper; what it says is judged here. A fault is the
   image's only where nothing else can be it: what another limit or right may cause is not tried. */
#include "selftest/image.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cli/board.h"
#include "cli/context.h"
#include "cli/say.h"
#include "findings/pod.h"
#include "nccl_init/env.h"
#include "nccl_init/errno.h"
#include "nccl_init/findings.h"
#include "nccl_init/image.h"
#include "nccl_init/inventory.h"
#include "nccl_init/number.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "nccl_init/tried.h"
#include "print/json_write.h"
#include "print/layout.h"
#include "print/words.h"
#include "rail/step.h"
#include "rail/task.h"
#include "rules/chosen.h"
#include "rules/decide.h"
#include "selftest/trials.h"
#include "selftest/try.h"
#include "system/helper.h"
#include "system/process.h"

void ni_plan_image(const struct ni_work *w, struct ni_image_trial *ret)
{
    for (unsigned i = 0; i < w->plan->n_chosen; i++) {
        const int hca = ni_chosen(w, i).port->hca;

        if (ret->n == 0 || ret->hca[ret->n - 1] != hca) /* ports of one HCA follow each other */
            ret->hca[ret->n++] = hca;
    }
}

/* ---- the judgement ---- */

/* What is judged. */
struct judging {
    const struct ni_work *w;
    const struct ni_helper_result *run;
    const struct ni_trials *ports;
    const struct ni_tried *tried;
    struct ni_image_trial *all;
};

/* Notes why HCA number i was not tried. */
static void leave_untried(struct ni_image_trial *all, unsigned i, const char *why)
{
    all->verdict[i] = NI_IMAGE_UNTRIED;
    if (!all->untried[0]) {
        struct ni_text t = ni_text_on(all->untried, sizeof(all->untried));

        ni_put(&t, why);
    }
}

/* The steps of an HCA, as reports name them. */
static const char *const step_names[NI_TRIED_STEPS] = {
    [NI_TRIED_FIND] = "find",
    [NI_TRIED_OPEN] = "open",
    [NI_TRIED_DEVICE] = "device",
    [NI_TRIED_QUEUE] = "queue",
};

static void fail(struct ni_image_trial *all, unsigned i, const char *step)
{
    all->verdict[i] = NI_IMAGE_FAILED;
    (void)ni_copy(all->step[i], sizeof(all->step[i]), step);
}

/* Returns what libibverbs needs for the HCA: "bnxt_re"; the HCA's own name where its driver is not
   known. */
static const char *provider_of(const struct ni_hca *h)
{
    const char *provider = ni_provider_of(h->driver);

    return provider ? provider : h->name;
}

/* What this program's own libibverbs did at the same step with the HCA. */
enum own_view {
    OWN_UNKNOWN, /* it was not asked, or did not come to the step */
    OWN_FAILS,   /* it failed there or before */
    OWN_PASSES
};

/* Takes the best of the HCA's ports. */
static enum own_view own_view_of(const struct judging *g, int hca, enum ni_tried_step step)
{
    static const enum ni_pair_step same[NI_TRIED_STEPS] = {
        [NI_TRIED_FIND] = NI_PAIR_FIND,
        [NI_TRIED_OPEN] = NI_PAIR_OPEN,
        [NI_TRIED_DEVICE] = NI_PAIR_DEVICE,
        [NI_TRIED_QUEUE] = NI_PAIR_QUEUES,
    };
    enum own_view ret = OWN_UNKNOWN;

    for (unsigned i = 0; g->ports && i < g->ports->n; i++) {
        const struct ni_rail_task *task = &g->ports->task[i];
        const enum ni_pair_step own = task->result[NI_ROLE_INITIATOR].step;

        if (g->w->inv->port[g->ports->at[i]].hca != hca || task->rail.untried[0])
            continue;
        if (own > same[step])
            return OWN_PASSES;
        /* from NI_PAIR_PORT to NI_PAIR_GID it is a port or memory, which the image is not asked for */
        if (own >= NI_PAIR_FIND && (own <= NI_PAIR_DEVICE || own == same[step]))
            ret = OWN_FAILS;
    }
    return ret;
}

/* Says that the image cannot drive an HCA, in the words of *m. */
static void convict(const struct judging *g, unsigned i, ni_finding_number id,
                    enum ni_tried_step step, struct ni_text *m)
{
    fail(g->all, i, step_names[step]);
    if (own_view_of(g, g->all->hca[i], step) == OWN_PASSES)
        ni_put(m, step == NI_TRIED_QUEUE ? "; nccl-init's own libibverbs makes its queues"
                                         : "; nccl-init's own libibverbs opens it");
    ni_report(g->w->f, id, g->w->inv->hca[g->all->hca[i]].name, "%s", m->buf);
}

/* The same, unless this program's own libibverbs fails there as well. */
static void blame(const struct judging *g, unsigned i, ni_finding_number id,
                  enum ni_tried_step step, struct ni_text *m)
{
    struct ni_text why = NI_TEXT(NI_REASON);

    if (own_view_of(g, g->all->hca[i], step) != OWN_FAILS) {
        convict(g, i, id, step, m);
        return;
    }
    ni_putf(&why, "%s: nccl-init's own libibverbs fails there, too, so it may be the device: %s",
            g->w->inv->hca[g->all->hca[i]].name, m->buf);
    leave_untried(g->all, i, why.buf);
}

/* Judges an HCA that libibverbs does not show. It shows each whose sysfs folder and node are there,
   and for which it has a provider that knows the kernel's interface (rdma-core 56.1
   libibverbs/init.c). */
static void judge_hidden(const struct judging *g, unsigned i, const struct ni_hca *h)
{
    const char *provider = provider_of(h);
    struct ni_text m = NI_TEXT(NI_REASON);
    struct ni_driver_abi abi;
    struct ni_span words;

    if (ni_find_driver_abi(g->run->errors, h->name, &abi)) {
        fail(g->all, i, step_names[NI_TRIED_FIND]);
        ni_report(g->w->f, NI_F_IMAGE_ABI, h->name,
                  "this image cannot drive %s: its provider supports versions %u to %u of the "
                  "driver's kernel interface, and the node's driver has %u (tried with %s)",
                  abi.provider, abi.least, abi.most, abi.kernel, g->all->library);
        return;
    }
    ni_putf(&m, "this image cannot drive %s: its %s was loaded, and shows no such HCA", provider,
            g->all->library);
    if (ni_find_unloaded_provider(g->run->errors, provider, &words)) {
        ni_put(&m, "; it could not load ");
        ni_put_quoted(&m, words.p, words.n, 120);
        convict(g, i, NI_F_IMAGE_PROVIDER_MISSING, NI_TRIED_FIND, &m);
        return;
    }
    if (ni_env_get(g->w->env, "SYSFS_PATH"))
        ni_put(&m, "; SYSFS_PATH is set, and it looks there");
    blame(g, i, NI_F_IMAGE_PROVIDER_MISSING, NI_TRIED_FIND, &m);
}

/* Judges an HCA that libibverbs shows, and that failed later. */
static void judge_failed(const struct judging *g, unsigned i, const struct ni_hca *h,
                         const struct ni_tried_hca *x)
{
    struct ni_text m = NI_TEXT(NI_REASON);

    if (x->step == NI_TRIED_OPEN && (x->err == EACCES || x->err == EPERM)) {
        ni_putf(&m, "%s does not open for a process without capabilities: %s", h->name,
                NI_ERRNO(x->err));
        leave_untried(g->all, i, m.buf);
        return;
    }
    if (x->step == NI_TRIED_QUEUE && (x->err == ENOMEM || x->err == EPERM) &&
        g->all->memlock >= 0 && g->all->memlock < NI_UNLIMITED) {
        ni_putf(&m, "%s opens, but no memory for a queue could be pinned without capabilities: ",
                h->name);
        ni_put_bytes(&m, g->all->memlock);
        ni_put(&m, " can be locked");
        leave_untried(g->all, i, m.buf);
        return;
    }
    if (x->err == EAGAIN) {
        ni_putf(&m,
                "%s has no room at step `%s`: %s: the limit of the RDMA cgroup (rdma.max), or the "
                "device is full",
                h->name, step_names[x->step], NI_ERRNO(x->err));
        leave_untried(g->all, i, m.buf);
        return;
    }
    ni_putf(&m, "the image's %s fails at step `%s`: %s", g->all->library, step_names[x->step],
            NI_ERRNO(x->err));
    blame(g, i, NI_F_IMAGE_OPEN, x->step, &m);
}

/* Judges an HCA that was begun when the helper ended. The kernel kills for want of memory, and by a
   seccomp filter: that is not the library's doing. */
static void judge_unfinished(const struct judging *g, unsigned i, const char *why)
{
    const int sig = g->run->state == NI_HELPER_DIED ? g->run->err : 0;
    struct ni_text m = NI_TEXT(NI_REASON);

    if (sig == SIGKILL || sig == SIGSYS || (sig == 0 && g->run->state != NI_HELPER_LATE)) {
        leave_untried(g->all, i, why);
        return;
    }
    ni_putf(&m, "the image's %s ", g->all->library);
    if (sig != 0)
        ni_putf(&m, "dies by signal %d while it opens it", sig);
    else
        ni_put(&m, "hangs while it opens it, until the deadline (--deadline)");
    blame(g, i, NI_F_IMAGE_OPEN, NI_TRIED_OPEN, &m);
}

static void judge_hca(const struct judging *g, unsigned i, const char *why)
{
    const struct ni_hca *h = &g->w->inv->hca[g->all->hca[i]];
    const struct ni_tried_hca *x = ni_find_tried(g->tried, h->name);

    if (!x) {
        leave_untried(g->all, i, why[0] ? why : "its helper left it out");
    } else if (!x->told) {
        judge_unfinished(g, i, why);
    } else if (x->step == NI_TRIED_DONE) {
        g->all->verdict[i] = NI_IMAGE_PASSED;
        g->all->passed++;
    } else if (x->step == NI_TRIED_FIND) {
        judge_hidden(g, i, h);
    } else {
        judge_failed(g, i, h, x);
    }
}

/* Returns true if the loader did not find a file. */
static bool is_not_found(const char *words)
{
    return strstr(words, "cannot open shared object file") != NULL;
}

/* Judges a library that the loader refuses, for all HCAs. What it does not find on its path may be
   elsewhere: NCCL's dlopen looks by the RUNPATH of libnccl and the RPATH of the program, too
   (ld.so(8)), and conda's programs have one. */
static void judge_unloaded(const struct judging *g)
{
    struct ni_text words = NI_TEXT(NI_TRIED_TEXT * 2), why = NI_TEXT(NI_REASON);

    ni_quote(&words, g->tried->unloaded);
    if (!is_not_found(g->tried->unloaded)) {
        ni_report(g->w->f, NI_F_IMAGE_LOAD, "libibverbs.so.1", "this image has none that loads: %s",
                  words.buf);
        for (unsigned i = 0; i < g->all->n; i++)
            fail(g->all, i, "load");
        return;
    }
    ni_put(&why, "none is complete on the loader's path; a program or an NCCL with an RPATH of its "
                 "own, such as conda's, may find one: ");
    ni_put(&why, words.buf);
    for (unsigned i = 0; i < g->all->n; i++)
        leave_untried(g->all, i, why.buf);
}

/* Judges a library that gives no list, for all HCAs. */
static void judge_unlisted(const struct judging *g)
{
    struct ni_span abi;
    const bool other = ni_find_library_abi(g->run->errors, &abi);
    bool failed = false;

    for (unsigned i = 0; i < g->all->n; i++) {
        if (!other && own_view_of(g, g->all->hca[i], NI_TRIED_FIND) == OWN_FAILS) {
            leave_untried(g->all, i, "nccl-init's own libibverbs has no list of HCAs either");
            continue;
        }
        fail(g->all, i, "list");
        failed = true;
    }
    if (other) {
        struct ni_text words = NI_TEXT(NI_REASON);

        ni_put_quoted(&words, abi.p, abi.n, 160);
        ni_report(g->w->f, NI_F_IMAGE_ABI, "libibverbs.so.1",
                  "the image's %s does not fit the kernel: %s", g->all->library, words.buf);
    } else if (failed) {
        ni_report(g->w->f, NI_F_IMAGE_OPEN, "libibverbs.so.1",
                  "the image's %s gives no list of HCAs: %s", g->all->library,
                  NI_ERRNO(g->tried->list_err));
    }
}

/* Judges what is the same for all HCAs. false: the library gives a list of them. */
static bool judge_library(const struct judging *g)
{
    if (g->tried->unloaded[0])
        judge_unloaded(g);
    else if (g->tried->list_err != 0)
        judge_unlisted(g);
    else
        return false;
    return true;
}

void ni_judge_image(const struct ni_work *w, const struct ni_helper_result *run,
                    const struct ni_trials *ports, struct ni_image_trial *all)
{
    static struct ni_tried tried;
    const struct judging g = {w, run, ports, &tried, all};
    struct ni_text why = NI_TEXT(NI_REASON),
                   library = ni_text_on(all->library, sizeof(all->library));

    ni_put_no_result(&why, run);
    const bool spoke = run->state >= NI_HELPER_LATE;
    const bool clear = spoke && ni_read_tried(run->words, &tried) == 0;
    if (!clear)
        memset(&tried, 0, sizeof(tried));
    if (!clear && why.len == 0)
        ni_put(&why, "the words of " NI_HELPER " cannot be understood");
    if (clear && !tried.whole && why.len == 0)
        ni_put(&why, NI_HELPER " ended before its end");
    ni_quote(&library, tried.library[0] ? tried.library : "libibverbs");
    if (!judge_library(&g)) {
        for (unsigned i = 0; i < all->n; i++)
            judge_hca(&g, i, why.buf);
    }
    (void)ni_copy(all->library, sizeof(all->library), tried.library);
    if (all->untried[0])
        ni_report(w->f, NI_F_IMAGE_UNTRIED, "--try=image",
                  "the image's libibverbs was not tried%s: %s",
                  all->passed > 0 ? " with all HCAs" : "", all->untried);
}

/* ---- the trial ---- */

const struct ni_image_trial *ni_try_image(struct ni_context *ctx, const struct ni_trials *ports,
                                          int64_t limit_ms)
{
    static struct ni_image_trial all;
    /* not in the program's own memory, of which every run has a part */
    struct ni_helper_result *run = calloc(1, sizeof(*run));
    static char what[] = "image";
    char *args[NI_MAX_CHOSEN + 2] = {what};
    const int64_t begin = ni_now_ms();

    ni_plan_image(&ctx->work, &all);
    all.memlock = ctx->memlock;
    for (unsigned i = 0; i < all.n; i++)
        args[1 + i] = ctx->inventory.hca[all.hca[i]].name;
    ni_progress_show(ctx, "", "self-test: the image's libibverbs");
    if (run && all.n > 0)
        ni_try_by_helper(ctx, NULL, args, limit_ms, run);
    ni_progress_end(ctx);
    all.took_ms = ni_now_ms() - begin;
    if (!run)
        (void)ni_copy(all.untried, sizeof(all.untried), "no memory");
    else if (all.n > 0)
        ni_judge_image(&ctx->work, run, ports, &all);
    free(run);
    return &all;
}

/* ---- the report ---- */

bool ni_image_passes(const struct ni_image_trial *all, struct ni_text *how)
{
    if (all->n == 0) {
        ni_put(how, "the image's libibverbs has no HCA to drive");
        return false;
    }
    ni_putf(how, "the image's libibverbs drives %u of %u HCA%s", all->passed, all->n,
            ni_plural(all->n));
    if (all->untried[0])
        ni_putf(how, "; not tried: %s", all->untried);
    return all->passed == all->n;
}

static const char *result_of(const struct ni_image_trial *all, unsigned i)
{
    static const char *const words[] = {
        [NI_IMAGE_UNTRIED] = "not tried",
        [NI_IMAGE_FAILED] = "failed",
        [NI_IMAGE_PASSED] = "passed",
    };

    return words[all->verdict[i]];
}

void ni_put_image_trial(struct ni_text *out, const struct ni_view *view,
                        const struct ni_image_trial *all)
{
    static const enum ni_tint tints[] = {
        [NI_IMAGE_UNTRIED] = NI_YELLOW,
        [NI_IMAGE_FAILED] = NI_RED,
        [NI_IMAGE_PASSED] = NI_GREEN,
    };
    struct ni_text table = ni_table_on("HCA\tRESULT");

    if (all->n == 0) {
        ni_free_text(&table);
        return;
    }
    ni_put(out, "\nThe image's libibverbs");
    if (all->library[0]) {
        ni_put(out, ", ");
        ni_quote(out, all->library);
    }
    ni_put(out, "\n");
    for (unsigned i = 0; i < all->n; i++) {
        struct ni_text *t = ni_row(&table, tints[all->verdict[i]]);

        ni_quote(t, view->inv->hca[all->hca[i]].name);
        ni_put(ni_cell(t), result_of(all, i));
        if (all->step[i][0])
            ni_putf(t, ": %s", all->step[i]);
    }
    ni_table_write(out, &table, view->colour);
}

void ni_json_image_trial(struct ni_json *j, const struct ni_view *view,
                         const struct ni_image_trial *all)
{
    ni_json_object(j, "image");
    ni_json_int(j, "took_ms", all->took_ms);
    ni_json_int(j, "passed", all->passed);
    ni_json_text_or_null(j, "library", all->library);
    ni_json_text_or_null(j, "untried", all->untried);
    ni_json_array(j, "hcas");
    for (unsigned i = 0; i < all->n; i++) {
        ni_json_object(j, NULL);
        ni_json_text(j, "name", view->inv->hca[all->hca[i]].name);
        ni_json_text(j, "result", result_of(all, i));
        ni_json_text_or_null(j, "step", all->step[i]);
        ni_json_end(j);
    }
    ni_json_end(j);
    ni_json_end(j);
}
