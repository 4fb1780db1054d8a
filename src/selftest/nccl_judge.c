/* SPDX-License-Identifier: Apache-2.0 */
/* The judgement of the trial `nccl`: what the helper says of each step, and what NCCL printed, read as
   `log` reads the output of a job. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "findings/log.h"
#include "findings/pod.h"
#include "log/patterns.h"
#include "log/tell.h"
#include "nccl_init/env.h"
#include "nccl_init/errno.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/pci.h"
#include "nccl_init/plan.h"
#include "nccl_init/text.h"
#include "nccl_init/tried_nccl.h"
#include "rules/decide.h"
#include "selftest/nccl.h"
#include "selftest/try.h"
#include "system/helper.h"

enum { CUDA_NO_DEVICE = 100, CUDA_OTHER_DEVICE = 101, CUDA_NOT_READY = 802, CUDA_MISMATCH = 803 };
enum { NCCL_REMOTE_ERROR = 6 }; /* the other rank is gone (nccl.h) */

/* What is judged. */
struct judging {
    const struct ni_work *w;
    const struct ni_helper_result *run;
    const struct ni_tried_nccl *tried;
    struct ni_nccl_trial *all;
    const char *why;                /* why the helper has no whole result; "" */
    const struct ni_log_told *told; /* what the output of the present GPU tells */
};

static const char *subject_of(const struct judging *g, unsigned i, char buf[NI_BDF_TEXT])
{
    return ni_bdf_text(g->w->inv->gpu[g->all->gpu[i].gpu].bdf, buf);
}

/* Returns the number of the GPU in the helper's words. */
static unsigned number_of(const struct judging *g, unsigned i)
{
    return (unsigned)g->all->gpu[i].number;
}

static void leave_untried(const struct judging *g, unsigned i, const char *why)
{
    g->all->gpu[i].verdict = NI_NCCL_UNTRIED;
    if (!g->all->untried[0]) {
        struct ni_text t = ni_text_on(g->all->untried, sizeof(g->all->untried));

        ni_put(&t, why);
    }
}

/* ---- what NCCL printed ---- */

/* The lines that the ranks on one GPU printed. */
struct output {
    const char *errors;
    unsigned number;
};

static bool next_line(void *ctx, struct ni_span *ret)
{
    struct output *output = ctx;

    return ni_next_nccl_line(&output->errors, output->number, ret);
}

/* Reads what the ranks on GPU number i printed. NULL: no memory. */
static struct ni_log_told *read_output(const struct judging *g, unsigned i)
{
    struct output output = {g->run->errors, number_of(g, i)};
    struct ni_nccl_gpu *gpu = &g->all->gpu[i];
    struct ni_log_told *told =
        ni_log_tell(next_line, &output, g->w->plan->transport == NI_NET_RDMA);

    if (!told)
        return NULL;
    (void)ni_copy(gpu->network, sizeof(gpu->network), told->network);
    gpu->ends = told->ends;
    gpu->gdr = told->gdr;
    return told;
}

/* Finds a line of the GPU with these words; what stands behind them. */
static bool find_words(const struct judging *g, unsigned i, const char *words, struct ni_span *ret)
{
    const char *errors = g->run->errors;
    struct ni_span line;

    while (ni_next_nccl_line(&errors, number_of(g, i), &line)) {
        const char *at = memmem(line.p, line.n, words, strlen(words));

        if (!at)
            continue;
        at += strlen(words);
        *ret = ni_trim((struct ni_span){at, (size_t)(line.p + line.n - at)});
        return true;
    }
    return false;
}

/* Puts where NCCL may have a value from that is in no variable of the environment. */
static void put_origins(const struct judging *g, unsigned i, struct ni_text *m)
{
    const struct ni_inventory *inv = g->w->inv;
    struct ni_span plugin;

    for (unsigned k = 0; k < inv->n_conf; k++) {
        if (ni_has_prefix(inv->conf[k].name, "NCCL_") && m->len < NI_FINDING_MESSAGE - 120)
            ni_putf(m, "; %s sets %s", inv->conf[k].file, inv->conf[k].name);
    }
    if (find_words(g, i, "Successfully loaded external env plugin ", &plugin)) {
        ni_put(m, "; the ENV plugin ");
        ni_put_quoted(m, plugin.p, plugin.n, 80);
        ni_put(m, " was loaded, and gives NCCL values of its own");
    }
}

/* Reports what `log` found, each once for all GPUs, but for what is only worth knowing. Returns whether
   there is an error. */
static bool report_said(const struct judging *g, unsigned i)
{
    bool any = false;
    char buf[NI_BDF_TEXT];

    for (unsigned k = 0; k < g->told->findings.n; k++) {
        const struct ni_finding *f = &g->told->findings.at[k];
        struct ni_text m = NI_TEXT(NI_FINDING_MESSAGE);
        const enum ni_severity severity = ni_finding_severity(f->id);

        if (f->id == NI_F_LOG_NONE)
            continue; /* a library that does not print as NCCL does, or died before */
        any = any || severity == NI_ERROR;
        if (severity == NI_INFO || (ni_findings_has(g->w->f, f->id) && f != g->told->cause))
            continue;
        ni_put(&m, f->message);
        if (ni_has_prefix(ni_finding_id(f->id), "user."))
            put_origins(g, i, &m);
        ni_report(g->w->f, f->id, subject_of(g, i, buf), "%s", m.buf);
    }
    return any;
}

/* Reports a network plugin that is named and not there: NCCL goes on without it. */
static void report_plugin(const struct judging *g, unsigned i)
{
    const char *name = ni_user_value(g->w, "NCCL_NET_PLUGIN");
    struct ni_span tried;
    char buf[NI_BDF_TEXT];

    if (!name || !name[0] || strcmp(name, "none") == 0 ||
        ni_findings_has(g->w->f, NI_F_IMAGE_NCCL_PLUGIN) ||
        !find_words(g, i, "NET/Plugin: Could not find: ", &tried))
        return;
    struct ni_text m = NI_TEXT(NI_FINDING_MESSAGE);
    ni_put(&m, "NCCL_NET_PLUGIN names a network plugin that NCCL does not find, and it goes on "
               "without: ");
    ni_put_quoted(&m, tried.p, tried.n, 160);
    ni_report(g->w->f, NI_F_IMAGE_NCCL_PLUGIN, subject_of(g, i, buf), "%s", m.buf);
}

/* ---- how a GPU failed ---- */

/* How well a rank shows why: what the other one did to it says least. */
static unsigned weight_of(const struct ni_nccl_rank *x)
{
    if (x->wrong > 0)
        return 4;
    if (x->died != 0)
        return 3;
    if (!x->failed || strcmp(x->of, "pipe") == 0)
        return 0;
    return ni_has_prefix(x->of, "nccl") && x->err == NCCL_REMOTE_ERROR ? 1 : 2;
}

/* Returns the rank that shows why; -1: none does. */
static int culprit(const struct ni_nccl_rank rank[NI_NCCL_RANKS])
{
    const unsigned first = weight_of(&rank[0]), second = weight_of(&rank[1]);

    if (first == 0 && second == 0)
        return -1;
    return second > first ? 1 : 0;
}

/* Words of ncclResult_t (NCCL 2.30.7 init.cc ncclGetErrorString). */
static const char *const results[] = {
    "no error",         "unhandled CUDA error", "unhandled system error", "internal error",
    "invalid argument", "invalid usage",        "remote error",
};

/* Puts what a function of a step returned. */
static void put_error(struct ni_text *m, const struct ni_nccl_rank *x)
{
    const bool nccl = ni_has_prefix(x->of, "nccl"), cuda = ni_has_prefix(x->of, "cu");

    ni_putf(m, "%s", x->of);
    if (nccl && x->err < (int)NI_COUNT(results))
        ni_putf(m, " returned %d, %s", x->err, results[x->err]);
    else if (nccl || cuda)
        ni_putf(m, " returned %d", x->err);
    else
        ni_putf(m, ": %s", NI_ERRNO(x->err));
}

/* Says that NCCL failed on the GPU, in the words of *m, and the cause that its output shows. */
static void convict(const struct judging *g, unsigned i, enum ni_nccl_step step, struct ni_text *m)
{
    const struct ni_finding *cause = g->told->cause;
    char buf[NI_BDF_TEXT];

    g->all->gpu[i].verdict = NI_NCCL_FAILED;
    g->all->gpu[i].step = step;
    if (cause)
        ni_putf(m, "; the cause, by what it printed: %s", ni_finding_id(cause->id));
    else
        put_origins(g, i, m);
    ni_report(g->w->f, NI_F_IMAGE_NCCL_FAILED, subject_of(g, i, buf), "step `%s`: %s",
              ni_nccl_step_text(step), m->buf);
}

static void judge_sums(const struct judging *g, unsigned i, const struct ni_nccl_rank *x)
{
    char buf[NI_BDF_TEXT];

    g->all->gpu[i].verdict = NI_NCCL_FAILED;
    g->all->gpu[i].step = NI_NCCL_COMPARE;
    ni_report(g->w->f, NI_F_IMAGE_NCCL_SUMS, subject_of(g, i, buf),
              "%llu of %d sums are wrong, the first at byte %llu of %d",
              (unsigned long long)x->wrong, NI_NCCL_BYTES / 4, (unsigned long long)x->first,
              NI_NCCL_BYTES);
}

/* Puts why CUDA gives no GPU. */
static void put_no_gpu(const struct judging *g, const struct ni_nccl_rank *x, struct ni_text *m)
{
    const char *visible = ni_env_get(g->w->env, "CUDA_VISIBLE_DEVICES");

    if (!visible || (x->err != CUDA_NO_DEVICE && x->err != CUDA_OTHER_DEVICE)) {
        ni_put_cuda_error(m, x->err);
        return;
    }
    ni_put(m, "CUDA_VISIBLE_DEVICES=");
    ni_quote(m, visible);
    ni_put(m, x->err == CUDA_NO_DEVICE ? " leaves no GPU" : " hides it");
}

/* Judges a GPU that CUDA does not give: that says nothing of NCCL. Where the node or the image can give
   none to any job, it is their fault. */
static void judge_cuda(const struct judging *g, unsigned i, const struct ni_nccl_rank *x)
{
    struct ni_text m = NI_TEXT(NI_FINDING_MESSAGE), code = NI_TEXT(64);
    char buf[NI_BDF_TEXT];

    ni_putf(&code, "CUDA error %d", x->err);
    const struct ni_pattern *row = ni_log_cuda(ni_span_of(code.buf));
    put_error(&m, x);
    if (x->err != CUDA_NOT_READY && x->err != CUDA_MISMATCH) {
        ni_put(&m, ": ");
        put_no_gpu(g, x, &m);
        leave_untried(g, i, m.buf);
        return;
    }
    if (row && row->cause)
        ni_putf(&m, ": %s", row->cause);
    if (row && !ni_findings_has(g->w->f, row->id))
        ni_report(g->w->f, row->id, subject_of(g, i, buf), "%s", m.buf);
    convict(g, i, x->done, &m);
}

/* Judges a rank that ended by a signal. The kernel kills for want of memory, and by a seccomp filter:
   that is not NCCL's doing. */
static void judge_death(const struct judging *g, unsigned i, const struct ni_nccl_rank *x)
{
    struct ni_text m = NI_TEXT(NI_FINDING_MESSAGE);

    ni_putf(&m, "a rank died by signal %d", x->died);
    if (x->died != SIGKILL && x->died != SIGSYS) {
        convict(g, i, x->done, &m);
        return;
    }
    ni_putf(&m, " in step `%s`", ni_nccl_step_text(x->done));
    leave_untried(g, i, m.buf);
}

/* Judges a library that is not loaded. What the loader does not find on its path may be elsewhere, or
   there is none: the command may bring its own. */
static void judge_unloaded(const struct judging *g, unsigned i)
{
    struct ni_text m = NI_TEXT(NI_FINDING_MESSAGE);

    if (!g->all->named && strstr(g->tried->unloaded, "cannot open shared object file")) {
        ni_put(&m, "no NCCL was found in the image, or a library that it needs; --nccl=FILE names "
                   "one: ");
        ni_quote(&m, g->tried->unloaded);
        leave_untried(g, i, m.buf);
        return;
    }
    ni_quote(&m, g->tried->unloaded);
    convict(g, i, NI_NCCL_LOAD, &m);
}

static void judge_failure(const struct judging *g, unsigned i, const struct ni_nccl_rank *x)
{
    struct ni_text m = NI_TEXT(NI_FINDING_MESSAGE);

    if (x->wrong > 0) {
        judge_sums(g, i, x);
    } else if (x->died != 0) {
        judge_death(g, i, x);
    } else if (x->done == NI_NCCL_LOAD && g->tried->unloaded[0]) {
        judge_unloaded(g, i);
    } else if (x->done == NI_NCCL_GPU && g->tried->unloaded[0]) {
        ni_put(&m, "this image has no libcuda: ");
        ni_quote(&m, g->tried->unloaded);
        leave_untried(g, i, m.buf);
    } else if (ni_has_prefix(x->of, "cu") && x->done <= NI_NCCL_MEMORY) {
        judge_cuda(g, i, x);
    } else if (strcmp(x->of, "fork") == 0 || strcmp(x->of, "malloc") == 0 ||
               strcmp(x->of, "pipe") == 0) {
        put_error(&m, x);
        leave_untried(g, i, m.buf);
    } else {
        put_error(&m, x);
        convict(g, i, x->done, &m);
    }
}

/* Returns the milliseconds that the rank's present step had when it was stopped. */
static int64_t waited_ms(const struct judging *g, const struct ni_nccl_rank *x)
{
    int64_t ms = g->all->limit_ms;

    for (unsigned step = 0; step < x->done; step++)
        ms -= x->us[step] / 1000;
    return ms;
}

/* Judges a GPU whose ranks had not come to their end in time. Before NCCL is asked it is the driver or
   the machine that takes long. */
static void judge_hang(const struct judging *g, unsigned i)
{
    const struct ni_nccl_rank *rank = g->tried->rank[number_of(g, i)];
    const struct ni_nccl_rank *x = rank[1].done < rank[0].done ? &rank[1] : &rank[0];
    struct ni_text m = NI_TEXT(NI_FINDING_MESSAGE);
    const int64_t ms = waited_ms(g, x);

    if (!x->stopped && g->run->state != NI_HELPER_LATE) {
        leave_untried(g, i, g->why[0] ? g->why : "its helper left it out");
        return;
    }
    if (x->done < NI_NCCL_ID)
        ni_putf(&m, "step `%s`: ", ni_nccl_step_text(x->done));
    ni_putf(&m, "it had not ended when the time was over, after %lld.%lld s (--deadline)",
            (long long)ms / 1000, (long long)ms % 1000 / 100);
    if (x->done < NI_NCCL_ID)
        leave_untried(g, i, m.buf);
    else
        convict(g, i, x->done, &m);
}

/* Returns true if NCCL failed because /dev/shm is full, which has room for what the job needs: each rank
   has a pool there (2.28.9 proxy.h ncclProxyOpsPool), and the trial has two ranks on a GPU. */
static bool is_only_doubled(const struct judging *g)
{
    enum { POOL = 34210176 };
    const struct ni_num shm = g->w->inv->self.shm;
    const int64_t jobs = (int64_t)g->all->n * POOL;

    return g->told->cause && g->told->cause->id == NI_F_SHM_DEFAULT && shm.known == NI_KNOWN &&
           shm.v >= jobs && shm.v < 2 * jobs;
}

static bool is_whole(const struct ni_nccl_rank rank[NI_NCCL_RANKS])
{
    return rank[0].done == NI_NCCL_STEPS && rank[1].done == NI_NCCL_STEPS;
}

/* Returns true if the output shows that the sums went the way that the job is to go. For TCP there is
   no other. */
static bool shows_network(const struct judging *g, unsigned i)
{
    const bool cut = g->run->cut || g->tried->cut[number_of(g, i)];

    return g->w->plan->transport != NI_NET_RDMA || (g->told->network[0] && !cut);
}

static void judge_gpu(const struct judging *g, unsigned i)
{
    const struct ni_nccl_rank *rank = g->tried->rank[number_of(g, i)];
    struct ni_nccl_gpu *gpu = &g->all->gpu[i];
    const int who = culprit(rank);

    for (unsigned step = 0; step < NI_NCCL_STEPS; step++)
        gpu->us[step] = rank[0].us[step] > rank[1].us[step] ? rank[0].us[step] : rank[1].us[step];
    if (is_whole(rank))
        gpu->verdict = NI_NCCL_PASSED;
    else if (is_only_doubled(g)) {
        leave_untried(g, i,
                      "the trial needs twice the job's /dev/shm, which has only room for the job");
        return;
    } else if (who >= 0)
        judge_failure(g, i, &rank[who]);
    else
        judge_hang(g, i);
    const bool began = rank[0].done > NI_NCCL_GPU || rank[1].done > NI_NCCL_GPU;
    if (!began)
        return; /* NCCL was not asked, and printed nothing */
    const bool bad = report_said(g, i);
    report_plugin(g, i);
    if (bad && gpu->verdict == NI_NCCL_PASSED) {
        gpu->verdict = NI_NCCL_FAILED; /* it ran, and not as the job is to run */
        gpu->step = NI_NCCL_JOIN;
    }
    if (gpu->verdict == NI_NCCL_PASSED && !shows_network(g, i))
        leave_untried(g, i, "what NCCL printed does not show over which network");
    g->all->passed += gpu->verdict == NI_NCCL_PASSED;
}

void ni_judge_nccl(const struct ni_work *w, const struct ni_helper_result *run,
                   struct ni_nccl_trial *all)
{
    static struct ni_tried_nccl tried;
    struct judging g = {.w = w, .run = run, .tried = &tried, .all = all};
    struct ni_text why = NI_TEXT(NI_REASON);

    ni_put_no_result(&why, run);
    const bool clear =
        run->state >= NI_HELPER_LATE && ni_read_tried_nccl(run->words, all->asked, &tried) == 0;
    if (!clear)
        memset(&tried, 0, sizeof(tried));
    if (!clear && why.len == 0)
        ni_put(&why, "the words of " NI_HELPER " cannot be understood");
    if (clear && !tried.whole && why.len == 0)
        ni_put(&why, NI_HELPER " ended before its end");
    g.why = why.buf;
    (void)ni_copy(all->library, sizeof(all->library), tried.library);
    all->version = tried.version;
    for (unsigned i = 0; i < all->n; i++) {
        if (all->gpu[i].number < 0)
            continue;
        struct ni_log_told *told = clear ? read_output(&g, i) : NULL;

        g.told = told;
        if (told)
            judge_gpu(&g, i);
        else
            leave_untried(&g, i, clear ? "no memory" : why.buf);
        free(told);
    }
}
