/* SPDX-License-Identifier: Apache-2.0 */
/* The trial `gpu`. The image's code runs in the helper; what it says is judged here. A pair is at fault
   only where bytes, or the HCA's access to GPU memory, were tried and failed: what may be the
   GPU's use by others, a limit or the port itself is not tried. */
#include "selftest/gpu.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/board.h"
#include "cli/context.h"
#include "cli/options.h"
#include "cli/say.h"
#include "findings/device.h"
#include "nccl_init/base.h"
#include "nccl_init/errno.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/number.h"
#include "nccl_init/pci.h"
#include "nccl_init/plan.h"
#include "nccl_init/text.h"
#include "nccl_init/tried_gpu.h"
#include "nccl_init/tried_use.h"
#include "rail/describe.h"
#include "rail/step.h"
#include "rules/chosen.h"
#include "rules/decide.h"
#include "rules/gdr.h"
#include "rules/rules.h"
#include "selftest/try.h"
#include "system/helper.h"
#include "system/process.h"

/* ---- the pairs ---- */

/* Returns the chosen ports that are the GPU's own, as bits: those that NCCL takes for it; where that is
   not known, those that are nearest; else all. */
static uint32_t own_ports(const struct ni_work *w, unsigned gpu)
{
    const struct ni_plan *plan = w->plan;
    const uint8_t *distance = plan->distance[gpu];
    const int near = plan->nearest_hca[gpu].index;
    uint32_t ports = 0;

    if (plan->taken[gpu].hca >= 0 && plan->taken[gpu].ports != 0)
        return plan->taken[gpu].ports;
    for (unsigned i = 0; i < plan->n_chosen; i++) {
        const int hca = ni_chosen(w, i).port->hca;

        if (near < 0 || distance[hca] == distance[near])
            ports |= UINT32_C(1) << i;
    }
    return ports;
}

/* Numbers what the helper is to be asked about: all but what has a reason already. */
static void number(struct ni_gpu_trial *all)
{
    all->n_asked = all->n_asked_gpu = 0;
    for (unsigned g = 0; g < all->n_gpu; g++)
        all->number[g] = -1;
    for (unsigned i = 0; i < all->n; i++) {
        struct ni_gpu_pair *p = &all->pair[i];
        unsigned g = 0;

        p->number = -1;
        if (p->why[0])
            continue;
        while (all->gpu[g] != p->gpu)
            g++;
        if (all->number[g] < 0) {
            all->number[g] = (int)all->n_asked_gpu;
            all->n_asked_gpu++;
        }
        p->number = (int)all->n_asked;
        all->n_asked++;
    }
}

void ni_plan_gpus(const struct ni_work *w, enum ni_pairs which, struct ni_gpu_trial *ret)
{
    for (unsigned g = 0; g < w->inv->n_gpu; g++) {
        const uint32_t ports = which == NI_PAIRS_ALL ? UINT32_MAX : own_ports(w, g);
        bool any = false;

        for (unsigned i = 0; i < w->plan->n_chosen; i++) {
            if (!(ports >> i & 1))
                continue;
            if (ret->n == NI_MAX_PAIRS) {
                ret->left_out++;
                continue;
            }
            ret->pair[ret->n++] = (struct ni_gpu_pair){.gpu = (int)g, .port = w->plan->chosen[i]};
            any = true;
        }
        if (any)
            ret->gpu[ret->n_gpu++] = (int)g;
    }
    number(ret);
}

static void leave_untried(struct ni_gpu_trial *all, struct ni_gpu_pair *p, const char *why)
{
    struct ni_text t = ni_text_on(p->why, sizeof(p->why));

    p->verdict = NI_GPU_UNTRIED;
    ni_put(&t, why);
    if (!all->untried[0]) {
        t = ni_text_on(all->untried, sizeof(all->untried));
        ni_put(&t, why);
    }
}

void ni_leave_gpus(const struct ni_inventory *inv, const struct ni_gpu_uses *uses, bool busy,
                   const char *unclear, struct ni_gpu_trial *all)
{
    enum { NEED_MIB = 700 }; /* a context, and the buffers */

    for (unsigned i = 0; i < all->n; i++) {
        struct ni_gpu_pair *p = &all->pair[i];
        struct ni_text why = NI_TEXT(NI_REASON), no = NI_TEXT(NI_REASON);
        char bdf[NI_BDF_TEXT];

        if (p->why[0])
            continue;
        if (inv->gpu[p->gpu].amd)
            ni_put(&no, "AMD's GPUs are not tried yet");
        else if (unclear[0])
            ni_put(&no, unclear);
        else
            ni_put_gpu_use(&no, uses, (unsigned)p->gpu, busy, NEED_MIB);
        if (no.len == 0)
            continue;
        ni_putf(&why, "GPU %s: %s", ni_bdf_text(inv->gpu[p->gpu].bdf, bdf), no.buf);
        leave_untried(all, p, why.buf);
    }
    number(all);
}

/* ---- the judgement ---- */

struct judging {
    const struct ni_work *w;
    const struct ni_helper_result *run;
    const struct ni_tried_gpus *tried;
    struct ni_gpu_trial *all;
};

/* Puts why a GPU has no context; nothing: it has. */
static void put_no_context(struct ni_text *t, const struct judging *g, int gpu, const char *why)
{
    unsigned at = 0;
    char bdf[NI_BDF_TEXT];

    while (g->all->gpu[at] != gpu)
        at++;
    const struct ni_tried_pair *x = &g->tried->gpu[g->all->number[at]];

    if (x->told && x->step == NI_GDR_DONE)
        return;
    ni_putf(t, "GPU %s: ", ni_bdf_text(g->w->inv->gpu[gpu].bdf, bdf));
    if (!x->told && g->run->state == NI_HELPER_LATE)
        ni_put(t, "its context was not made until the deadline (--deadline)");
    else if (!x->told)
        ni_put(t, why[0] ? why : "its helper left it out");
    else if (x->died)
        ni_putf(t, "CUDA dies by signal %d while it makes a context", x->died);
    else if (x->cuda)
        ni_put_cuda_error(t, x->cuda);
    else if (x->err == EIO)
        ni_put(t, "CUDA ends its process while it makes a context");
    else if (x->err)
        ni_putf(t, "no process could be started for it: %s", NI_ERRNO(x->err));
    else
        ni_put(t, x->mode == 2 ? "its compute mode is PROHIBITED" : "it has no context");
}

/* Puts why a step failed. */
static void put_cause(struct ni_text *t, const struct ni_tried_pair *x)
{
    const char *status = ni_wc_name(x->wc);

    if (x->died)
        ni_putf(t, "its process dies by signal %d", x->died);
    else if (x->cuda)
        ni_putf(t, "CUDA error %d%s", x->cuda, x->cuda == 801 ? " (not supported)" : "");
    else if (x->wc)
        ni_putf(t, "status %d (%s)", x->wc, status ? status : "completion error");
    else if (x->err == ETIMEDOUT)
        ni_put(t, "the HCA returns no completion");
    else if (x->err == EBADMSG)
        ni_put(t, "wrong bytes");
    else
        ni_put(t, NI_ERRNO(x->err));
}

/* Puts what else than the access to GPU memory is at fault; nothing: it is that, or nothing is. */
static void put_other_cause(struct ni_text *t, const struct judging *g,
                            const struct ni_tried_pair *x)
{
    /* GPU memory does not count against the limit */
    const bool pins = x->step == NI_GDR_HOST || x->step == NI_GDR_CONNECT;

    if (x->step == NI_GDR_CONTEXT) {
        ni_put(t, "its GPU could not be opened again: ");
        put_cause(t, x);
    } else if (pins && (x->err == ENOMEM || x->err == EPERM) && g->all->memlock >= 0 &&
               g->all->memlock < NI_UNLIMITED) {
        ni_put(t, "no memory could be pinned without capabilities: ");
        ni_put_bytes(t, g->all->memlock);
        ni_put(t, " can be locked");
    } else if (x->err == EAGAIN) {
        ni_putf(t, "step `%s`: EAGAIN: the limit of the RDMA cgroup (rdma.max), or the HCA is full",
                ni_gdr_step_text(x->step));
    } else if (x->died == SIGKILL || x->died == SIGSYS) {
        ni_putf(t, "its process was killed by signal %d", x->died);
    } else if (x->cuda && x->step != NI_GDR_EXPORT) { /* the HCA has no part in CUDA's own copies */
        ni_putf(t, "step `%s`: the GPU: ", ni_gdr_step_text(x->step));
        ni_put_cuda_error(t, x->cuda);
    } else if (x->err == ETIME) {
        ni_putf(t, "step `%s`: too slow to be tried: the data did not move within seconds",
                ni_gdr_step_text(x->step));
    } else if (x->step < NI_GDR_EXPORT && x->died) {
        ni_putf(t, "step `%s`: its process died by signal %d", ni_gdr_step_text(x->step), x->died);
    } else if (x->step < NI_GDR_EXPORT) {
        ni_putf(t, "step `%s` of the port itself: ", ni_gdr_step_text(x->step));
        put_cause(t, x);
        ni_put(t, " (--try=ports)");
    } else if (x->step == NI_GDR_EXPORT && x->way == NI_WAY_NONE && !x->died) {
        ni_put(t, "NCCL has no way to GPU memory here: neither DMA-BUF nor nvidia-peermem");
    }
}

/* Puts what failed. */
static void put_failure(struct ni_text *t, const struct ni_tried_pair *x)
{
    ni_putf(t, "step `%s`", ni_gdr_step_text(x->step));
    if (x->way != NI_WAY_NONE)
        ni_putf(t, " by %s", ni_gdr_way_text(x->way));
    ni_put(t, ": ");
    put_cause(t, x);
}

static void put_wrong(struct ni_text *t, const struct ni_tried_pair *x)
{
    ni_putf(t,
            "step `%s` by %s: %llu of %llu bytes are wrong, also when they are moved again; the "
            "first is at %llu",
            ni_gdr_step_text(x->step), ni_gdr_way_text(x->way), (unsigned long long)x->wrong,
            (unsigned long long)x->of, (unsigned long long)x->first);
    if (x->holds >= 0)
        ni_putf(t, ", where those of %lld are", (long long)x->holds);
}

/* The subject of a finding about a pair: "0000:1b:00.0 mlx5_0/1". */
static void put_pair(struct ni_text *t, const struct ni_work *w, const struct ni_gpu_pair *p)
{
    char bdf[NI_BDF_TEXT];

    ni_putf(t, "%s %s", ni_bdf_text(w->inv->gpu[p->gpu].bdf, bdf),
            ni_port_name(w->inv, p->port).text);
}

static void report_pair(const struct judging *g, struct ni_gpu_pair *p, ni_finding_number id,
                        enum ni_gpu_verdict verdict, const char *why)
{
    struct ni_text subject = NI_TEXT(96), short_why = ni_text_on(p->why, sizeof(p->why));

    p->verdict = verdict;
    ni_put(&short_why, why);
    put_pair(&subject, g->w, p);
    ni_report(g->w->f, id, subject.buf, "%s", why);
}

/* Judges a pair that was begun and not ended: at the deadline it is not told from a slow one. */
static void judge_unfinished(const struct judging *g, struct ni_gpu_pair *p, const char *why)
{
    struct ni_text t = NI_TEXT(NI_REASON);

    if (g->run->state != NI_HELPER_LATE) {
        leave_untried(g->all, p, why[0] ? why : "its helper left it out");
        return;
    }
    put_pair(&t, g->w, p);
    ni_putf(&t, ": it hung, or was not done, at step `%s` when the deadline came (--deadline)",
            ni_gdr_step_text(p->told.step));
    leave_untried(g->all, p, t.buf);
}

static void judge_told(const struct judging *g, struct ni_gpu_pair *p)
{
    const struct ni_tried_pair *x = &p->told;
    struct ni_text t = NI_TEXT(NI_REASON), other = NI_TEXT(NI_REASON);

    if (x->wrong > 0) {
        put_wrong(&t, x);
        report_pair(g, p, NI_F_GDR_TRIED_BYTES, NI_GPU_WRONG, t.buf);
        return;
    }
    if (x->step != NI_GDR_DONE) {
        put_other_cause(&other, g, x);
        if (other.len > 0) {
            put_pair(&t, g->w, p);
            ni_putf(&t, ": %s", other.buf);
            leave_untried(g->all, p, t.buf);
            return;
        }
        put_failure(&t, x);
        report_pair(g, p, NI_F_GDR_TRIED_FAILED, NI_GPU_FAILED, t.buf);
        return;
    }
    if (x->once > 0) {
        ni_putf(&t,
                "by %s, %llu bytes were wrong once, also when they were looked at again; they were "
                "right when they were moved again",
                ni_gdr_way_text(x->way), (unsigned long long)x->once);
        report_pair(g, p, NI_F_GDR_TRIED_LATE, NI_GPU_LATE, t.buf);
        return;
    }
    if (x->late > 0) {
        ni_putf(&t,
                "by %s, bytes that a completion and a flush had announced were there only when "
                "they were looked at again",
                ni_gdr_way_text(x->way));
        report_pair(g, p, NI_F_GDR_TRIED_LATE, NI_GPU_LATE, t.buf);
        return;
    }
    p->verdict = NI_GPU_PASSED;
    g->all->passed++;
}

static void judge_pair(const struct judging *g, unsigned i, const char *why)
{
    struct ni_gpu_pair *p = &g->all->pair[i];
    struct ni_text context = NI_TEXT(NI_REASON);

    if (p->number < 0)
        return;
    p->told = g->tried->pair[p->number];
    if (!p->told.begun)
        put_no_context(&context, g, p->gpu, why);
    if (context.len > 0)
        leave_untried(g->all, p, context.buf);
    else if (!p->told.begun && g->run->state == NI_HELPER_LATE)
        leave_untried(g->all, p,
                      "another pair of its GPU was not done when the deadline came (--deadline)");
    else if (!p->told.told)
        judge_unfinished(g, p, why);
    else
        judge_told(g, p);
}

/* ---- slow pairs ---- */

static int compare_rates(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Two pairs are of one kind if GPU and HCA are as far from each other, and the ports as fast. */
static bool is_same_kind(const struct ni_work *w, const struct ni_gpu_pair *a,
                         const struct ni_gpu_pair *b)
{
    const struct ni_port *x = &w->inv->port[a->port], *y = &w->inv->port[b->port];

    return w->plan->distance[a->gpu][x->hca] == w->plan->distance[b->gpu][y->hca] &&
           x->mbps.known == y->mbps.known && x->mbps.v == y->mbps.v;
}

int64_t ni_gpu_pair_rate(const struct ni_gpu_pair *p)
{
    const int64_t in = p->told.in_mbps, out = p->told.out_mbps;

    return in < out ? in : out;
}

/* Returns the median rate of the pair's kind; 0: there are too few to tell. */
static int64_t median_of(const struct ni_work *w, const struct ni_gpu_trial *all,
                         const struct ni_gpu_pair *p)
{
    enum { LEAST = 3 };
    int64_t rate[NI_MAX_PAIRS];
    unsigned n = 0;

    for (unsigned i = 0; i < all->n; i++) {
        const struct ni_gpu_pair *q = &all->pair[i];

        if (q->verdict == NI_GPU_PASSED && ni_gpu_pair_rate(q) > 0 && is_same_kind(w, p, q))
            rate[n++] = ni_gpu_pair_rate(q);
    }
    if (n < LEAST)
        return 0;
    qsort(rate, n, sizeof(rate[0]), compare_rates);
    return rate[n / 2];
}

static void find_slow(const struct judging *g)
{
    for (unsigned i = 0; i < g->all->n; i++) {
        struct ni_gpu_pair *p = &g->all->pair[i];
        const int64_t median = median_of(g->w, g->all, p);
        struct ni_text subject = NI_TEXT(96), rate = NI_TEXT(48), usual = NI_TEXT(48);

        if (p->verdict != NI_GPU_PASSED || ni_gpu_pair_rate(p) == 0 ||
            2 * ni_gpu_pair_rate(p) >= median)
            continue;
        p->slow = true;
        put_pair(&subject, g->w, p);
        ni_put_speed(&rate, ni_gpu_pair_rate(p));
        ni_put_speed(&usual, median);
        ni_report(g->w->f, NI_F_GDR_TRIED_SLOW, subject.buf,
                  "%s Gb/s to or from GPU memory, and %s is the median of pairs as near", rate.buf,
                  usual.buf);
    }
}

/* Reports the first reason why pairs were not tried. */
static void report_untried(const struct ni_work *w, struct ni_gpu_trial *all)
{
    bool any = false;

    for (unsigned i = 0; i < all->n; i++)
        any = any || all->pair[i].verdict != NI_GPU_UNTRIED;
    if (all->left_out > 0 && !all->untried[0]) {
        struct ni_text t = ni_text_on(all->untried, sizeof(all->untried));

        ni_putf(&t, "%u pairs beyond the first %d were left out", all->left_out, NI_MAX_PAIRS);
    }
    if (all->untried[0])
        ni_report(w->f, NI_F_GDR_UNTRIED, "--try=gpu", "GPU memory was not tried%s: %s",
                  any ? " with all pairs" : "", all->untried);
}

/* Leaves out pairs with a GID index that NCCL's libibverbs has not: a port's table has 256 entries at
   most (include/rdma/ib_verbs.h gid_tbl_len; the attribute of a queue pair has 8 bits). */
static void leave_indices(const struct ni_work *w, struct ni_gpu_trial *all)
{
    for (unsigned i = 0; i < all->n; i++) {
        struct ni_gpu_pair *p = &all->pair[i];
        struct ni_rail rail;

        ni_describe_rail(w, p->port, &rail);
        if (rail.index <= UINT8_MAX)
            continue;
        struct ni_text why = NI_TEXT(NI_REASON);
        ni_putf(&why, "%s has no GID at index %d (NCCL_IB_GID_INDEX)",
                ni_port_name(w->inv, p->port).text, rail.index);
        leave_untried(all, p, why.buf);
    }
    number(all);
}

void ni_judge_gpus(const struct ni_work *w, const struct ni_helper_result *run,
                   struct ni_gpu_trial *all)
{
    static struct ni_tried_gpus tried;
    const struct judging g = {w, run, &tried, all};
    struct ni_text why = NI_TEXT(NI_REASON);

    all->left = run->left;
    ni_put_no_result(&why, run);
    const bool clear = run->state >= NI_HELPER_LATE &&
                       ni_read_tried_gpus(run->words, all->n_asked_gpu, all->n_asked, &tried) == 0;
    if (!clear)
        memset(&tried, 0, sizeof(tried));
    if (!clear && why.len == 0)
        ni_put(&why, "the words of " NI_HELPER " cannot be understood");
    if (clear && !tried.whole && why.len == 0)
        ni_put(&why, NI_HELPER " ended before its end");
    if (tried.unloaded[0] && why.len == 0) {
        ni_put(&why, tried.library[0] ? "the image has no CUDA that loads: "
                                      : "the image has no libibverbs that loads: ");
        ni_quote(&why, tried.unloaded);
    }
    (void)ni_copy(all->library, sizeof(all->library), tried.library);
    for (unsigned i = 0; i < all->n_gpu; i++) {
        if (all->number[i] >= 0)
            all->told[i] = tried.gpu[all->number[i]];
    }
    for (unsigned i = 0; i < all->n; i++)
        judge_pair(&g, i, why.buf);
    find_slow(&g);
    report_untried(w, all);
    if (all->left)
        ni_report(w->f, NI_F_GDR_TRIED_LEFT, "--try=gpu",
                  "a process of the trial hangs in the kernel and has not ended after SIGKILL; its "
                  "GPU memory stays in use");
}

/* ---- the trial ---- */

/* Puts "TC,SL,PKEY,MILLISECONDS,WAYS". */
void ni_put_pair_order(const struct ni_work *w, struct ni_text *t)
{
    enum { MOVE_MS = 20, DMABUF = 1, DIRECT = 2, PEERMEM = 4, RELAXED = 8 };
    unsigned ways = 0;

    if (ni_user_int(w, "NCCL_DMABUF_ENABLE", 1) != 0)
        ways |= DMABUF;
    if (ni_user_int(w, "NCCL_IB_DATA_DIRECT", 1) > 0)
        ways |= DIRECT;
    if (w->inv->gdr.peermem == NI_KNOWN)
        ways |= PEERMEM;
    /* 0: off; 1: on; 2, the default: as libibverbs has it (2.30.7 transport/net_ib/init.cc) */
    if (ni_user_int(w, "NCCL_IB_PCI_RELAXED_ORDERING", 2) != 0)
        ways |= RELAXED;
    ni_putf(t, "%u,%u,%u,%d,%u", (unsigned)ni_user_int(w, "NCCL_IB_TC", 0) & 0xff,
            (unsigned)ni_user_int(w, "NCCL_IB_SL", 0) & 0xf,
            (unsigned)ni_user_int(w, "NCCL_IB_PKEY", 0) & 0xffff, MOVE_MS, ways);
}

/* Returns true if NCCL lets CUDA map the GPU's memory by PCIe: on a machine with NVLink-C2C, unless the
   HCA is at the same CPU and reached by C2C (2.30.7 graph/paths.cc ncclTopoCheckGdr). */
static bool is_by_pcie(const struct ni_work *w, const struct ni_gpu_pair *p)
{
    const enum ni_distance d = w->plan->distance[p->gpu][w->inv->port[p->port].hca];
    const bool by_c2c = d == NI_DIST_PHB && ni_user_int(w, "NCCL_NET_GDR_C2C", 1) != 0;

    return w->inv->gdr.c2c && d != NI_DIST_UNKNOWN && !by_c2c;
}

/* Puts "BUS,HCA,PORT,LINK,GID,MAPPING". */
void ni_put_pair_arg(const struct ni_work *w, const struct ni_gpu_pair *p, struct ni_text *t)
{
    struct ni_rail rail;
    char bdf[NI_BDF_TEXT];

    ni_describe_rail(w, p->port, &rail);
    const char *link = rail.link == NI_LINK_IB ? "ib" : "roce";
    const int gid = rail.index < 0 ? 0 : rail.index; /* InfiniBand is addressed by LID */

    ni_putf(t, "%s,%s,%u,%s,%d,%d", ni_bdf_text(w->inv->gpu[p->gpu].bdf, bdf), rail.hca, rail.port,
            link, gid, is_by_pcie(w, p));
}

/* Asks NVML about the GPUs, and leaves those out that are not to be tried. */
static void ask_use(struct ni_context *ctx, struct ni_gpu_trial *all, int64_t limit_ms,
                    struct ni_helper_result *run)
{
    static struct ni_gpu_uses uses;
    static char what[] = "gpus", bus[NI_MAX_GPU][NI_BDF_TEXT];
    const struct ni_inventory *inv = &ctx->inventory;
    char *args[NI_MAX_GPU + 2] = {what};
    struct ni_text unclear = NI_TEXT(NI_REASON);

    for (unsigned i = 0; i < inv->n_gpu; i++) {
        ni_bdf_text(inv->gpu[i].bdf, bus[i]);
        args[1 + i] = bus[i];
    }
    ni_try_by_helper(ctx, NULL, args, limit_ms, run);
    if (run->state < NI_HELPER_LATE ||
        ni_read_gpu_uses(run->words, inv->gpu, inv->n_gpu, &uses) < 0) {
        ni_put_no_result(&unclear, run);
        ni_put(&unclear, unclear.len > 0 ? "" : "the words of " NI_HELPER " cannot be understood");
    }
    ni_leave_gpus(inv, &uses, ctx->options.busy, unclear.buf, all);
}

/* Runs the helper on the pairs that have a number. */
static void run_helper(struct ni_context *ctx, struct ni_gpu_trial *all, int64_t limit_ms,
                       struct ni_helper_result *run)
{
    enum { ARG = 128 };
    static char what[] = "gpu", args[NI_MAX_PAIRS + 1][ARG];
    char *argv[NI_MAX_PAIRS + 3] = {what, args[0]};
    struct ni_text order = ni_text_on(args[0], ARG);

    ni_put_pair_order(&ctx->work, &order);
    for (unsigned i = 0; i < all->n; i++) {
        const struct ni_gpu_pair *p = &all->pair[i];

        if (p->number < 0)
            continue;
        struct ni_text arg = ni_text_on(args[p->number + 1], ARG);
        ni_put_pair_arg(&ctx->work, p, &arg);
        argv[p->number + 2] = args[p->number + 1];
    }
    ni_try_by_helper(ctx, NULL, argv, limit_ms, run);
}

struct ni_gpu_trial *ni_try_gpus(struct ni_context *ctx, enum ni_pairs which, int64_t limit_ms)
{
    struct ni_gpu_trial *all = calloc(1, sizeof(*all));
    struct ni_helper_result *run = calloc(1, sizeof(*run));
    const int64_t begin = ni_now_ms();

    if (all && run) {
        all->memlock = ctx->memlock;
        all->no_gpu = ctx->inventory.n_gpu == 0;
        ni_plan_gpus(&ctx->work, which, all);
        leave_indices(&ctx->work, all);
        ni_progress_show(ctx, "", "self-test: GPU memory");
        if (all->n > 0)
            ask_use(ctx, all, limit_ms, run);
        if (all->n_asked > 0)
            run_helper(ctx, all, limit_ms - (ni_now_ms() - begin), run);
        ni_progress_end(ctx);
        if (all->n > 0)
            ni_judge_gpus(&ctx->work, run, all);
        all->took_ms = ni_now_ms() - begin;
    }
    free(run);
    return all;
}

/* ---- what follows for the command ---- */

/* Returns the port's bit among the chosen ones. */
static uint32_t bit_of(const struct ni_plan *plan, int port)
{
    for (unsigned i = 0; i < plan->n_chosen; i++) {
        if (plan->chosen[i] == port)
            return UINT32_C(1) << i;
    }
    return 0;
}

/* Returns true if GPUDirect RDMA is off by that setting: NCCL_NET_GDR_LEVEL by its name or its old digit,
   UCX's by the words of its ternary type (UCX 1.19 src/ucs/config/parser.c ucs_config_sscanf_bool). */
static bool is_off(const struct ni_setting *s)
{
    static const char *const off[] = {"LOC", "0", "n", "no", "off"};

    for (size_t i = 0; i < NI_COUNT(off); i++) {
        if (strcasecmp(s->value, off[i]) == 0)
            return true;
    }
    return false;
}

/* Says which switches are off now. near: wrong bytes came on a pair that NCCL uses; else its switch is left
   out. One that the user keeps on is an error: nothing else tells. */
static void say_switches(struct ni_context *ctx, bool near)
{
    static const char *const switches[] = {"NCCL_NET_GDR_LEVEL", "UCX_IB_GPU_DIRECT_RDMA"};
    struct ni_text t = NI_TEXT(NI_REASON);
    bool any = false;

    for (size_t i = near ? 0 : 1; i < NI_COUNT(switches); i++) {
        const struct ni_setting *s = ni_plan_get(&ctx->plan, switches[i]);

        if (!s)
            continue;
        any = true;
        if (is_off(s))
            ni_putf(&t, "%s%s=%s", t.len > 0 ? ", " : "", s->name, s->value);
        else
            ni_say(ctx, NI_LOG_ERROR,
                   "self-test: wrong bytes, and GPUDirect RDMA is NOT switched off: you set %s=%s; "
                   "the job will compute with wrong bytes",
                   s->name, s->value);
    }
    if (t.len > 0)
        ni_say(ctx, NI_LOG_WARN, "self-test: wrong bytes, so GPUDirect RDMA is switched off: %s",
               t.buf);
    if (!any && near)
        ni_say(ctx, NI_LOG_WARN,
               "self-test: wrong bytes, and the libraries of --for have no switch for GPUDirect "
               "RDMA");
}

/* Returns true if NCCL would use the pair: it is within the level, or it is not known how far it is. */
static bool is_used(const struct ni_work *w, const struct ni_gpu_pair *p)
{
    const enum ni_distance d = w->plan->distance[p->gpu][w->inv->port[p->port].hca];

    return d <= ni_gdr_level(w) || ni_topo_file(w->inv);
}

/* Decides again, with what was tried as facts. Findings of the first time stand, and so does a refusal. */
void ni_follow_gpus(struct ni_context *ctx, const struct ni_gpu_trial *all)
{
    struct ni_gdr_tried *tried = &ctx->inventory.gdr_tried;
    const bool refuse = ctx->plan.refuse;
    char why[sizeof(ctx->plan.refuse_why)];
    bool near = false, slow = false, far = false;

    for (unsigned i = 0; i < all->n; i++) {
        const struct ni_gpu_pair *p = &all->pair[i];

        if (p->verdict == NI_GPU_WRONG && !is_used(&ctx->work, p)) {
            tried->wrong[p->gpu] |= bit_of(&ctx->plan, p->port);
            tried->far[p->gpu] |= bit_of(&ctx->plan, p->port);
            far = true;
        } else if (p->verdict == NI_GPU_WRONG) {
            tried->wrong[p->gpu] |= bit_of(&ctx->plan, p->port);
            near = true;
        } else if (p->slow) {
            tried->slow[p->gpu] |= bit_of(&ctx->plan, p->port);
            slow = true;
        }
    }
    if (far)
        ni_say(ctx, NI_LOG_WARN,
               "self-test: a pair with wrong bytes is farther than NCCL_NET_GDR_LEVEL allows; NCCL "
               "does not use it");
    if (!near && !far && !slow)
        return;
    struct ni_findings *scratch = calloc(1, sizeof(*scratch));
    if (!scratch) {
        ni_say(ctx, NI_LOG_WARN, "self-test: out of memory: the settings do not follow the trial");
        return;
    }
    struct ni_work w = ctx->work;
    w.f = scratch;
    (void)ni_copy(why, sizeof(why), ctx->plan.refuse_why);
    ni_decide(&w);
    if (refuse) {
        ctx->plan.refuse = true;
        (void)ni_copy(ctx->plan.refuse_why, sizeof(ctx->plan.refuse_why), why);
    }
    free(scratch);
    if (near || far)
        say_switches(ctx, near);
    if (slow && (ctx->options.policy.targets & (NI_FOR_OVER_UCX | NI_FOR_NVSHMEM)) != 0)
        ni_say(ctx, NI_LOG_INFO,
               "self-test: slow pairs are left out of the lists of --for, where a GPU has another "
               "HCA as near");
}
