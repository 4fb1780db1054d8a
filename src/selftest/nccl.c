/* SPDX-License-Identifier: Apache-2.0 */
/* The trial `nccl`. The image's code runs in the helper; this chooses which NCCL, which GPUs, which
   HCAs and which environment, and reports how it went. */
#include "selftest/nccl.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/board.h"
#include "cli/context.h"
#include "cli/say.h"
#include "findings/pod.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/image.h"
#include "nccl_init/inventory.h"
#include "nccl_init/pci.h"
#include "nccl_init/plan.h"
#include "nccl_init/text.h"
#include "nccl_init/tried_nccl.h"
#include "nccl_init/tried_use.h"
#include "print/json_write.h"
#include "print/layout.h"
#include "print/words.h"
#include "rules/chosen.h"
#include "rules/decide.h"
#include "selftest/library.h"
#include "selftest/try.h"
#include "system/helper.h"
#include "system/process.h"

enum {
    NEED_MIB = 2560,   /* two ranks of NCCL 2.28.9 on an H200: 1.9 GiB */
    NVML_MS = 5000,    /* for NVML, whose start takes less than a second */
    TO_REPORT_MS = 500 /* of the time, for the helper to end what hangs, and to say so */
};

/* What the trial's environment has in place of the job's, beside what the helper sets for each rank: NCCL
   prints what `log` reads, and to us; the topology of two nodes on one GPU is no file that the job wants;
   the ranks meet by a pipe. A value, also an empty one, hides what nccl.conf says (misc/param.cc). */
static const char *const changed[] = {
    "NCCL_DEBUG=INFO",
    "NCCL_DEBUG_SUBSYS=INIT,BOOTSTRAP,ENV,NET",
    "NCCL_DEBUG_FILE=",
    "NCCL_NVLS_ENABLE=0",
    "NCCL_MNNVL_ENABLE=0",
    "NCCL_TOPO_DUMP_FILE=/dev/null",
    "NCCL_GRAPH_DUMP_FILE=/dev/null",
    "NCCL_COMM_ID",
    NULL,
};
/* What the helper sets for each rank (try/nccl.c). */
static const char *const set_by_rank[] = {"NCCL_HOSTID", "NCCL_IB_HCA", NULL};

/* ---- which NCCL ---- */

/* Chooses the library: the one that is named, or that the command would load. */
static void choose_library(const struct ni_context *ctx, struct ni_nccl_trial *all)
{
    const char *named = ctx->options.policy.nccl, *command = NULL;

    all->named = named != NULL;
    if (ctx->verb == NI_VERB_RUN && ctx->operands)
        command = ctx->operands[0];
    if (named)
        (void)ni_copy(all->path, sizeof(all->path), named);
    else
        ni_choose_nccl(&ctx->own, command, ctx->inventory.image, all->path);
}

/* ---- settings that one GPU cannot show ---- */

static bool is_word(struct ni_span a, const char *b)
{
    return a.n == strlen(b) && strncasecmp(a.p, b, a.n) == 0;
}

/* Returns true if the value of NCCL_ALGO leaves ncclAllReduce only algorithms that two ranks of one GPU
   do not have: "nvls,nvlstree", "allreduce:collnetdirect", "^ring,tree" (2.30.7 graph/tuning.cc
   parseList). */
static bool needs_gpus(const char *value)
{
    struct ni_span entry, word;
    bool ret = false;

    while (ni_split(&value, ';', &entry)) {
        const char *colon = memchr(entry.p, ':', entry.n);
        char list[NI_VALUE];
        const char *rest = list;
        unsigned usual = 0, others = 0;

        if (colon && !is_word((struct ni_span){entry.p, (size_t)(colon - entry.p)}, "allreduce"))
            continue;
        const char *from = colon ? colon + 1 : entry.p;
        if (!ni_copyn(list, sizeof(list), from, (size_t)(entry.p + entry.n - from)))
            continue;
        const bool without = list[0] == '^';
        rest += without;
        while (ni_split(&rest, ',', &word)) {
            if (is_word(word, "ring") || is_word(word, "tree"))
                usual++;
            else if (is_word(word, "nvls") || is_word(word, "nvlstree") ||
                     (word.n > 7 && strncasecmp(word.p, "collnet", 7) == 0))
                others++;
        }
        ret = without ? usual == 2 : usual == 0 && others > 0;
    }
    return ret;
}

void ni_put_unfit(struct ni_text *why, const struct ni_work *w)
{
    const char *algo = ni_user_value(w, "NCCL_ALGO"), *graph = ni_user_value(w, "NCCL_GRAPH_FILE");

    for (unsigned i = 0; i < w->inv->n_conf && why->len == 0; i++) {
        if (strcmp(w->inv->conf[i].name, "NCCL_COMM_ID") == 0)
            ni_putf(why, "%s sets NCCL_COMM_ID, and the ranks of the trial would go there",
                    w->inv->conf[i].file);
    }
    if (why->len == 0 && algo && needs_gpus(algo)) {
        ni_put(why, "NCCL_ALGO=");
        ni_quote(why, algo);
        ni_put(why, ", a value for several GPUs of a node");
    }
    if (why->len == 0 && graph && graph[0])
        ni_put(why, "NCCL_GRAPH_FILE is set, a value for several GPUs of a node");
}

/* ---- which GPUs ---- */

/* Leaves the GPU out of the trial. */
static void leave_out(struct ni_nccl_trial *all, unsigned i, const char *why)
{
    all->gpu[i].verdict = NI_NCCL_UNTRIED;
    if (!all->untried[0])
        (void)ni_copyn(all->untried, sizeof(all->untried), why,
                       strnlen(why, sizeof(all->untried) - 1));
}

static void list_gpus(const struct ni_inventory *inv, struct ni_nccl_trial *all)
{
    for (unsigned i = 0; i < inv->n_gpu; i++) {
        all->gpu[all->n] = (struct ni_nccl_gpu){.gpu = (int)i, .number = -1};
        if (inv->gpu[i].amd)
            leave_out(all, all->n, "RCCL, of AMD's GPUs, is not tried yet");
        all->n++;
    }
}

/* Asks NVML about the GPUs, and numbers those that may be tried. */
static void number_gpus(struct ni_context *ctx, struct ni_helper_result *run,
                        struct ni_nccl_trial *all)
{
    static struct ni_gpu_uses uses;
    const struct ni_inventory *inv = &ctx->inventory;
    static char what[] = "gpus", bus[NI_MAX_GPU][NI_BDF_TEXT];
    char *args[NI_MAX_GPU + 2] = {what};

    for (unsigned i = 0; i < inv->n_gpu; i++)
        args[1 + i] = (char *)(uintptr_t)ni_bdf_text(inv->gpu[i].bdf, bus[i]);
    ni_try_by_helper(ctx, NULL, args, all->limit_ms < NVML_MS ? all->limit_ms : NVML_MS, run);
    const bool clear = run->state >= NI_HELPER_LATE &&
                       ni_read_gpu_uses(run->words, inv->gpu, inv->n_gpu, &uses) == 0;
    for (unsigned i = 0; i < all->n; i++) {
        struct ni_text why = NI_TEXT(NI_REASON);

        if (inv->gpu[all->gpu[i].gpu].amd)
            continue;
        if (clear)
            ni_put_gpu_use(&why, &uses, (unsigned)all->gpu[i].gpu, ctx->options.busy, NEED_MIB);
        else
            ni_put_no_result(&why, run);
        if (!clear && why.len == 0)
            ni_put(&why, "the words of " NI_HELPER " cannot be understood");
        if (why.len > 0) {
            leave_out(all, i, why.buf);
            continue;
        }
        all->gpu[i].number = (int)all->asked;
        all->asked++;
    }
}

/* Names the GPU, and those of the job's HCAs that are the GPU's. If none is known, the job's value counts
   as it is. */
static void name_pair(const struct ni_work *w, struct ni_nccl_gpu *gpu)
{
    struct ni_text t = ni_text_on(gpu->pair, sizeof(gpu->pair));
    const uint32_t ports = w->plan->gpu_ports[gpu->gpu];
    char bus[NI_BDF_TEXT];
    const char *before = "==";

    ni_put(&t, ni_bdf_text(w->inv->gpu[gpu->gpu].bdf, bus));
    for (unsigned i = 0; w->plan->transport == NI_NET_RDMA && i < w->plan->n_chosen; i++) {
        const struct ni_chosen c = ni_chosen(w, i);

        if (!(ports >> i & 1))
            continue;
        ni_putf(&t, "%s%s:%u", before, c.hca->name, c.port->num);
        before = ",";
    }
}

/* Returns the HCAs of the pair, "mlx5_0:1,mlx5_1:1"; "": the job's. */
static const char *hcas_of(const struct ni_nccl_gpu *gpu)
{
    const char *equals = strchr(gpu->pair, '=');

    return equals ? equals + 2 : "";
}

/* ---- the trial ---- */

static void try_gpus(struct ni_context *ctx, struct ni_helper_result *run,
                     struct ni_nccl_trial *all)
{
    static char what[] = "nccl", limit[24];
    char *args[NI_MAX_GPU + 4] = {what, all->path, limit};
    unsigned n = 3;

    (void)ni_format(limit, sizeof(limit), "%lld",
                    (long long)(all->limit_ms > 2 * TO_REPORT_MS ? all->limit_ms - TO_REPORT_MS
                                                                 : all->limit_ms / 2));
    for (unsigned i = 0; i < all->n; i++) {
        if (all->gpu[i].number < 0)
            continue;
        name_pair(&ctx->work, &all->gpu[i]);
        args[n++] = all->gpu[i].pair;
    }
    ni_try_by_helper(ctx, changed, args, all->limit_ms, run);
    ni_judge_nccl(&ctx->work, run, all);
}

struct ni_nccl_trial *ni_try_nccl(struct ni_context *ctx, int64_t limit_ms)
{
    /* not in the program's own memory, of which every run has a part */
    struct ni_nccl_trial *all = calloc(1, sizeof(*all));
    struct ni_helper_result *run = calloc(1, sizeof(*run));
    const int64_t begin = ni_now_ms();
    struct ni_text unfit = NI_TEXT(NI_REASON);

    if (!all || !run) {
        free(all);
        free(run);
        return NULL;
    }
    all->limit_ms = limit_ms;
    choose_library(ctx, all);
    list_gpus(&ctx->inventory, all);
    ni_progress_show(ctx, "", "self-test: the image's NCCL");
    ni_put_unfit(&unfit, &ctx->work);
    for (unsigned i = 0; i < all->n && unfit.len > 0; i++)
        leave_out(all, i, unfit.buf);
    if (all->n > 0 && unfit.len == 0)
        number_gpus(ctx, run, all);
    if (all->asked > 0)
        try_gpus(ctx, run, all);
    ni_progress_end(ctx);
    all->took_ms = ni_now_ms() - begin;
    free(run);
    if (all->untried[0])
        ni_report(&ctx->findings, NI_F_IMAGE_NCCL_UNTRIED, "--try=nccl",
                  "the image's NCCL was not tried%s: %s", all->passed > 0 ? " on all GPUs" : "",
                  all->untried);
    return all;
}

/* ---- the report ---- */

bool ni_nccl_passes(const struct ni_nccl_trial *all, struct ni_text *how)
{
    if (!all) {
        ni_put(how, "the image's NCCL was not tried: no memory");
        return false;
    }
    if (all->n == 0) { /* there is nothing that the job could fail with */
        ni_put(how, "the image's NCCL: the pod has no GPU");
        return true;
    }
    ni_putf(how, "the image's NCCL works on %u of %u GPU%s", all->passed, all->n,
            ni_plural(all->n));
    if (all->untried[0])
        ni_putf(how, "; not tried: %s", all->untried);
    return all->passed == all->n;
}

static const char *result_of(const struct ni_nccl_gpu *gpu)
{
    static const char *const words[] = {
        [NI_NCCL_UNTRIED] = "not tried",
        [NI_NCCL_FAILED] = "failed",
        [NI_NCCL_PASSED] = "passed",
    };

    return words[gpu->verdict];
}

/* "0.36" */
static void put_seconds(struct ni_text *t, int64_t us)
{
    if (us > 0)
        ni_putf(t, "%lld.%02lld", (long long)us / 1000000, (long long)us % 1000000 / 10000);
}

static void put_row(struct ni_text *table, const struct ni_view *view,
                    const struct ni_nccl_gpu *gpu)
{
    static const enum ni_tint tints[] = {
        [NI_NCCL_UNTRIED] = NI_YELLOW,
        [NI_NCCL_FAILED] = NI_RED,
        [NI_NCCL_PASSED] = NI_GREEN,
    };
    struct ni_text *t = ni_row(table, tints[gpu->verdict]);
    const long long us = (long long)gpu->us[NI_NCCL_SUM];
    char bus[NI_BDF_TEXT];

    ni_put(t, ni_bdf_text(view->inv->gpu[gpu->gpu].bdf, bus));
    ni_quote(ni_cell(t), hcas_of(gpu));
    ni_quote(ni_cell(t), gpu->network);
    ni_cell(t);
    if (gpu->ends > 0)
        ni_putf(t, "%u of %u", gpu->gdr, gpu->ends);
    put_seconds(ni_cell(t), gpu->us[NI_NCCL_GPU]);
    put_seconds(ni_cell(t), gpu->us[NI_NCCL_JOIN]);
    put_seconds(ni_cell(t), gpu->us[NI_NCCL_CONNECT]);
    ni_cell(t);
    if (us > 0) /* bytes in a microsecond are MB in a second */
        ni_putf(t, "%lld.%01lld GB/s", NI_NCCL_BYTES / us / 1000, NI_NCCL_BYTES / us % 1000 / 100);
    ni_put(ni_cell(t), result_of(gpu));
    if (gpu->verdict == NI_NCCL_FAILED)
        ni_putf(t, ": %s", ni_nccl_step_text(gpu->step));
}

/* "2.28.9" of 22809; before 2.9 of 2804 (nccl.h NCCL_VERSION) */
static void put_version(struct ni_text *t, int version)
{
    if (version >= 10000)
        ni_putf(t, "%d.%d.%d", version / 10000, version / 100 % 100, version % 100);
    else
        ni_putf(t, "%d.%d.%d", version / 1000, version / 100 % 10, version % 100);
}

/* Puts names, with what goes before the next one. */
static void put_names(struct ni_text *out, const char *const names[], size_t *column)
{
    enum { WIDTH = 96 };

    for (unsigned i = 0; names[i]; i++) {
        const size_t n = strcspn(names[i], "=");
        const bool fits = *column > 0 && *column + 2 + n < WIDTH;

        if (*column > 0)
            ni_put(out, fits ? ", " : ",\n");
        if (!fits)
            ni_put(out, "  ");
        *column = fits ? *column + 2 + n : 2 + n;
        ni_putn(out, names[i], n);
    }
}

/* Puts the variables that are other ones than the job's. */
static void put_changed(struct ni_text *out)
{
    size_t column = 0;

    put_names(out, set_by_rank, &column);
    put_names(out, changed, &column);
    put_names(out, ni_try_writing, &column);
    ni_put(out, "\n");
}

/* Puts which library it is, and which others the image has. */
static void put_library(struct ni_text *out, const struct ni_view *view,
                        const struct ni_nccl_trial *all)
{
    const struct ni_image *image = view->inv->image;

    ni_put(out, "\nThe image's NCCL");
    if (all->version > 0) {
        ni_put(out, " ");
        put_version(out, all->version);
    }
    ni_put(out, ", ");
    if (all->library[0])
        ni_quote(out, all->library);
    else
        ni_quote(out, strcmp(all->path, "-") == 0 ? "libnccl.so.2 of the loader" : all->path);
    ni_put(out, all->named ? ", as --nccl names it\n" : "\n");
    for (unsigned i = 0; image && i < image->n_file; i++) {
        const struct ni_image_file *f = &image->file[i];

        if (f->kind != NI_IMAGE_NCCL || strcmp(f->path, all->library + 1) == 0 ||
            strcmp(f->path, all->path + 1) == 0)
            continue;
        ni_put(out, "  not tried: /");
        ni_quote(out, f->path);
        ni_putf(out, "%s%s (--nccl=FILE)\n", f->version[0] ? ", version " : "", f->version);
    }
    ni_put(out, "  two ranks on each GPU, as two nodes, in the job's environment but for\n");
    put_changed(out);
}

void ni_put_nccl_trial(struct ni_text *out, const struct ni_view *view,
                       const struct ni_nccl_trial *all)
{
    struct ni_text table =
        ni_table_on("GPU\tHCAS\tNETWORK\tGPUDIRECT\tCUDA s\tJOIN s\tCONNECT s\tSUM\tRESULT");

    if (!all || all->n == 0) {
        ni_free_text(&table);
        return;
    }
    put_library(out, view, all);
    for (unsigned i = 0; i < all->n; i++)
        put_row(&table, view, &all->gpu[i]);
    ni_table_write(out, &table, view->colour);
}

static void gpu_json(struct ni_json *j, const struct ni_view *view, const struct ni_nccl_gpu *gpu)
{
    ni_json_object(j, NULL);
    ni_json_bdf(j, "address", &view->inv->gpu[gpu->gpu].bdf);
    ni_json_text(j, "result", result_of(gpu));
    ni_json_text(j, "step", gpu->verdict == NI_NCCL_FAILED ? ni_nccl_step_text(gpu->step) : NULL);
    ni_json_text_or_null(j, "hcas", hcas_of(gpu));
    ni_json_text_or_null(j, "network", gpu->network);
    ni_json_int(j, "channel_ends", gpu->ends);
    ni_json_int(j, "gdr_channel_ends", gpu->gdr);
    ni_json_object(j, "us");
    for (unsigned step = 0; step < NI_NCCL_STEPS; step++)
        ni_json_int_or_null(j, ni_nccl_step_text(step), gpu->us[step] > 0, gpu->us[step]);
    ni_json_end(j);
    ni_json_end(j);
}

void ni_json_nccl_trial(struct ni_json *j, const struct ni_view *view,
                        const struct ni_nccl_trial *all)
{
    struct ni_text version = NI_TEXT(32);

    if (all->version > 0)
        put_version(&version, all->version);
    ni_json_object(j, "nccl");
    ni_json_int(j, "took_ms", all->took_ms);
    ni_json_int(j, "passed", all->passed);
    ni_json_text_or_null(j, "library", all->library);
    ni_json_text_or_null(j, "version", version.buf);
    ni_json_text_or_null(j, "untried", all->untried);
    ni_json_array(j, "gpus");
    for (unsigned i = 0; i < all->n; i++)
        gpu_json(j, view, &all->gpu[i]);
    ni_json_end(j);
    ni_json_end(j);
}
