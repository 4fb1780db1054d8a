/* SPDX-License-Identifier: Apache-2.0 */
/* The report of a self-test: for people a line for each port, its fault, and the count; for
   programs JSON. */
#include "selftest/report.h"

#include <string.h>

#include "nccl_init/base.h"
#include "nccl_init/errno.h"
#include "nccl_init/findings.h"
#include "nccl_init/ip.h"
#include "nccl_init/known.h"
#include "nccl_init/number.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "print/answer.h"
#include "print/findings.h"
#include "print/json_write.h"
#include "print/layout.h"
#include "print/readiness.h"
#include "print/words.h"
#include "rail/step.h"
#include "rail/task.h"
#include "selftest/gpu.h"
#include "selftest/image.h"
#include "selftest/nccl.h"
#include "selftest/trials.h"

static bool is_untried(const struct ni_rail_task *task)
{
    return task->rail.untried[0] != '\0';
}

static const char *result_of(const struct ni_rail_task *task)
{
    if (task->result[NI_ROLE_INITIATOR].step == NI_PAIR_DONE)
        return "passed";
    return is_untried(task) ? "not tried" : "failed";
}

static enum ni_tint tint_of(const struct ni_rail_task *task)
{
    if (task->result[NI_ROLE_INITIATOR].step == NI_PAIR_DONE)
        return NI_GREEN;
    return is_untried(task) ? NI_YELLOW : NI_RED;
}

static const char *dmabuf_of(const struct ni_rail_task *task)
{
    if (task->dmabuf == NI_KNOWN)
        return "yes";
    return task->dmabuf == NI_ABSENT ? "no" : "";
}

/* Puts the table of the trials, a row for each port. */
static void put_trials(struct ni_text *out, const struct ni_trials *all, bool colour)
{
    struct ni_text table =
        ni_table_on("PORT\tGID\tWRITE Gb/s\tREAD Gb/s\tLATENCY us\tDMA-BUF\tRESULT");

    for (unsigned i = 0; i < all->n; i++) {
        const struct ni_rail_task *task = &all->task[i];
        const struct ni_rail *rail = &task->rail;
        const struct ni_pair_result *x = &task->result[NI_ROLE_INITIATOR];
        const uint8_t *seen = task->own[NI_ROLE_INITIATOR].gid;
        const long long ns = (long long)x->latency_ns;
        const bool passed = x->step == NI_PAIR_DONE;
        struct ni_text *t = ni_row(&table, tint_of(task));
        char ip[NI_IP_TEXT];

        ni_quote(t, rail->hca);
        ni_putf(t, "/%u", rail->port);
        ni_cell(t);
        if (rail->link != NI_LINK_ROCE)
            ni_put(t, "by LID");
        else if (rail->index >= 0)
            ni_putf(t, "%d", rail->index);
        if (rail->link == NI_LINK_ROCE && !ni_ip_is_zero(seen))
            ni_putf(t, " %s (%s)", ni_ip_text(seen, ip), rail->v2 ? "v2" : "v1");
        ni_put_speed(ni_cell(t), x->write_mbps);
        ni_put_speed(ni_cell(t), x->read_mbps);
        ni_cell(t);
        if (ns > 0)
            ni_putf(t, "%lld.%lld", ns / 1000, ns % 1000 / 100);
        ni_put(ni_cell(t), dmabuf_of(task));
        ni_put(ni_cell(t), result_of(task));
        if (!passed)
            ni_putf(t, ": %s", is_untried(task) ? rail->untried : ni_pair_step_text(x->step));
    }
    ni_table_write(out, &table, colour);
}

void ni_put_untried(struct ni_text *out, const struct ni_trials *all)
{
    const char *why = NULL;
    unsigned n = 0;

    for (unsigned i = 0; i < all->n; i++) {
        const struct ni_rail_task *task = &all->task[i];

        if (is_untried(task) && !why)
            why = task->rail.untried;
        n += is_untried(task) && strcmp(task->rail.untried, why) == 0;
    }
    if (why)
        ni_putf(out, ", %u not tried: %s", n, why);
}

/* Puts what each port does, and how it went. */
static void put_ports(struct ni_text *out, const struct ni_view *view, const struct ni_trials *all)
{
    ni_put(out, "  each port registers ");
    ni_put_bytes(out, all->size);
    ni_put(out, ", then writes ");
    ni_put_bytes(out, all->bytes);
    ni_put(out, " to itself and reads them back\n\n");
    put_trials(out, all, view->colour);
}

static void put_verdict(struct ni_text *out, const struct ni_trials *all)
{
    const long long ms = (long long)all->took_ms;

    ni_putf(out, "%u of %u port%s passed in %lld.%02lld s", all->passed, all->n, ni_plural(all->n),
            ms / 1000, ms % 1000 / 10);
    ni_put_untried(out, all);
}

/* Puts what there is to try: "2 ports to try". */
static void put_number(struct ni_text *out, unsigned n, const char *what)
{
    ni_putf(out, "%u %s%s to try", n, what, ni_plural(n));
}

/* Puts what was not asked for, with the option that asks for it. */
static void put_not_asked(struct ni_text *out, const struct ni_selftest *all, bool has_gpu)
{
    const struct {
        bool asked;
        const char *what;
    } parts[] = {
        {all->ports != NULL, "the ports (--try=ports)"},
        {all->image != NULL, "the image's libibverbs (--try=image)"},
        {all->gpu != NULL || !has_gpu, "GPU memory (--try=gpu)"},
        {all->nccl != NULL || !has_gpu, "the image's NCCL (--try=nccl)"},
    };
    const char *between = "; not tried: ";

    for (size_t i = 0; i < NI_COUNT(parts); i++) {
        if (parts[i].asked)
            continue;
        ni_putf(out, "%s%s", between, parts[i].what);
        between = ", ";
    }
}

static const struct ni_trials *ports_of(const struct ni_selftest *all)
{
    return all->ports && all->ports->n > 0 ? all->ports : NULL;
}

static const struct ni_image_trial *image_of(const struct ni_selftest *all)
{
    return all->image && all->image->n > 0 ? all->image : NULL;
}

static bool is_tried(const struct ni_selftest *all)
{
    const bool gpu = all->gpu && all->gpu->n > 0, nccl = all->nccl && all->nccl->n > 0;

    return ports_of(all) || image_of(all) || gpu || nccl;
}

/* Puts "Self-test: 2 ports to try; HCAs given by ...". */
static void put_head(struct ni_text *out, const struct ni_view *view, const struct ni_selftest *all)
{
    const struct ni_trials *ports = ports_of(all);
    const struct ni_image_trial *image = image_of(all);

    ni_put(out, "Self-test: ");
    if (all->ports || (!all->image && !all->gpu && !all->nccl))
        put_number(out, ports ? ports->n : 0, "port");
    else if (all->image)
        put_number(out, image ? image->n : 0, "HCA");
    else if (all->gpu)
        put_number(out, all->gpu->n, "GPU-HCA pair");
    else
        put_number(out, all->nccl->n, "GPU");
    ni_put(out, "; ");
    ni_put_origin(out, view);
}

/* Puts how many passed. Returns true if all that was tried did. */
static bool put_passed(struct ni_text *out, const struct ni_selftest *all)
{
    const struct ni_trials *ports = ports_of(all);
    const struct ni_image_trial *image = image_of(all);
    const char *between = "";
    bool passed = true;

    if (ports) {
        put_verdict(out, ports);
        passed = ports->passed == ports->n;
        between = "; ";
    }
    if (image) {
        ni_put(out, between);
        passed = ni_image_passes(image, out) && passed;
        between = "; ";
    }
    if (all->gpu) {
        ni_put(out, between);
        passed = ni_gpus_pass(all->gpu, out) && passed;
        between = "; ";
    }
    if (all->nccl) {
        ni_put(out, between);
        passed = ni_nccl_passes(all->nccl, out) && passed;
    }
    return passed;
}

/* Puts what was not asked for; or that nothing was tried, behind the reason if there is one. */
static void put_rest(struct ni_text *out, const struct ni_view *view, const struct ni_selftest *all)
{
    if (is_tried(all))
        put_not_asked(out, all, view->inv->n_gpu > 0);
    else
        ni_put(out, all->gpu || all->nccl ? "; nothing was tried" : "nothing was tried");
}

void ni_put_selftest(struct ni_text *out, const struct ni_view *view, const struct ni_selftest *all)
{
    put_head(out, view, all);
    ni_put(out, "\n");
    if (ports_of(all))
        put_ports(out, view, ports_of(all));
    if (image_of(all))
        ni_put_image_trial(out, view, image_of(all));
    if (all->gpu)
        ni_put_gpu_trial(out, view, all->gpu);
    if (all->nccl)
        ni_put_nccl_trial(out, view, all->nccl);
    ni_put_findings(out, view, NI_WARNING);
    ni_put(out, "\n");
    if (!is_tried(all) && !all->gpu && !all->nccl) {
        ni_put(out, "Nothing was tried.\n");
        return;
    }
    (void)put_passed(out, all);
    put_rest(out, view, all);
    ni_put(out, "\n");
}

/* Returns the verdict: what was not tried, all of it or a part, is not good. */
static const char *verdict_of(const struct ni_selftest *all)
{
    struct ni_text how = NI_TEXT(1024);

    if (all->bad)
        return "bad";
    return is_tried(all) && put_passed(&how, all) ? "good" : "not tested";
}

void ni_put_selftest_answer(struct ni_text *out, const struct ni_view *view,
                            const struct ni_selftest *all)
{
    struct ni_text verdict = NI_TEXT(2048), above = NI_TEXT(1024), head = NI_TEXT(512),
                   below = ni_long_text();
    const char *word = verdict_of(all);
    enum ni_tint tint = NI_YELLOW;

    if (all->bad)
        tint = NI_RED;
    else if (strcmp(word, "good") == 0)
        tint = NI_GREEN;
    ni_putf(&verdict, "self-test: %s: ", word);
    (void)put_passed(&verdict, all);
    put_rest(&verdict, view, all);
    ni_put(&verdict, ": ");
    ni_put_counts(&verdict, view->findings);
    put_head(&head, view, all);
    ni_put(&above, "  ");
    ni_put_paragraph(&above, 2, head.buf);
    if (all->gpu) /* the rates, which no other line has */
        ni_put_gpu_trial(&below, view, all->gpu);
    ni_put_answer(out, view,
                  &(struct ni_answer){
                      .verdict = verdict.buf,
                      .tint = tint,
                      .above = above.buf,
                      .below = below.len > 0 ? below.buf + 1 : "", /* it begins a new line */
                      .all = "nccl-init selftest --all",
                  });
    ni_free_text(&below);
}

/* Writes one trial: the port, the step that it reached, and what was measured. */
static void trial_json(struct ni_json *j, const struct ni_rail_task *task)
{
    const struct ni_rail *rail = &task->rail;
    const struct ni_pair_result *x = &task->result[NI_ROLE_INITIATOR];
    const uint8_t *seen = task->own[NI_ROLE_INITIATOR].gid;
    const bool has_gid = !ni_ip_is_zero(seen);
    enum ni_known roce_v2 = NI_UNSET;
    char ip[NI_IP_TEXT];

    if (has_gid)
        roce_v2 = rail->v2 ? NI_KNOWN : NI_ABSENT;
    ni_json_text(j, "name", rail->hca);
    ni_json_int(j, "port", rail->port);
    ni_json_text(j, "result", result_of(task));
    ni_json_text(j, "step", ni_pair_step_text(x->step));
    ni_json_text(j, "errno", ni_errno_name(x->err));
    ni_json_int_or_null(j, "max_qp", task->max_qp > 0, task->max_qp);
    ni_json_int_or_null(j, "max_mr", task->max_mr > 0, task->max_mr);
    ni_json_int_or_null(j, "wc_status", x->wc != 0, x->wc);
    ni_json_yes_no(j, "dmabuf", task->dmabuf);
    ni_json_int_or_null(j, "gid_index", rail->index >= 0, rail->index);
    ni_json_text(j, "gid", has_gid ? ni_ip_text(seen, ip) : NULL);
    ni_json_yes_no(j, "roce_v2", roce_v2);
    ni_json_int_or_null(j, "write_mbps", x->write_mbps > 0, x->write_mbps);
    ni_json_int_or_null(j, "read_mbps", x->read_mbps > 0, x->read_mbps);
    ni_json_int_or_null(j, "latency_ns", x->latency_ns > 0, x->latency_ns);
}

void ni_json_trials(struct ni_json *j, const struct ni_trials *all)
{
    ni_json_int(j, "took_ms", all->took_ms);
    ni_json_int(j, "passed", all->passed);
    ni_json_array(j, "ports");
    for (unsigned i = 0; i < all->n; i++) {
        ni_json_object(j, NULL);
        trial_json(j, &all->task[i]);
        ni_json_end(j);
    }
    ni_json_end(j);
}

void ni_put_selftest_json(struct ni_text *out, const struct ni_view *view,
                          const struct ni_selftest *all)
{
    struct ni_json json = ni_json_report(out), *j = &json;

    ni_json_text(j, "verdict", verdict_of(all));
    if (all->ports) {
        ni_json_int(j, "size", all->ports->size);
        ni_json_int(j, "bytes", all->ports->bytes);
        ni_json_trials(j, all->ports);
    }
    if (all->image)
        ni_json_image_trial(j, view, all->image);
    if (all->gpu)
        ni_json_gpu_trial(j, view, all->gpu);
    if (all->nccl)
        ni_json_nccl_trial(j, view, all->nccl);
    ni_json_findings(j, view->findings);
    ni_json_end(j);
}
