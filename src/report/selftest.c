/* SPDX-License-Identifier: Apache-2.0 */
/* The self-test for people: a line for each port, what went wrong, and the count. */
#include <string.h>

#include "finding_text.h"
#include "nccl_init/report.h"
#include "out.h"
#include "selftest.h"
#include "table.h"
#include "words.h"

/* ---- one line for each port ---- */

enum { S_DEVICE, S_GID, S_MEMORY, S_WRITE, S_READ, S_LATENCY, S_DMABUF, S_RESULT, S_N };

static void say_duration(struct ni_text *t, int64_t us)
{
    if (us < 10000)
        ni_putf(t, "%lld us", (long long)us);
    else
        ni_putf(t, "%lld ms", (long long)(us / 1000));
}

int64_t ni_trial_mbps(int64_t bytes, int64_t us)
{
    return us > 0 ? (int64_t)((double)bytes * 8 / (double)us) : 0;
}

static void say_mbps(struct ni_text *t, int64_t bytes, int64_t us)
{
    int64_t mbps = ni_trial_mbps(bytes, us);
    if (us <= 0)
        return;
    if (mbps < 10000)
        ni_putf(t, "%lld.%02lld Gb/s", (long long)(mbps / 1000), (long long)(mbps % 1000 / 10));
    else
        ni_putf(t, "%lld Gb/s", (long long)(mbps / 1000));
}

static void say_latency(struct ni_text *t, int64_t ns)
{
    if (ns > 0)
        ni_putf(t, "%lld.%lld us", (long long)(ns / 1000), (long long)(ns % 1000 / 100));
}

static void say_index(struct ni_text *t, const struct ni_trial *trial)
{
    char ip[NI_IP_TEXT];
    if (!trial->roce) {
        ni_put(t, "by LID");
        return;
    }
    if (trial->index < 0)
        return;
    ni_putf(t, "%d", trial->index);
    if (!ni_ip_is_zero(trial->seen))
        ni_putf(t, " %s (%s)", ni_ip_text(trial->seen, ip), trial->seen_v2 ? "v2" : "v1");
    else if (!ni_ip_is_zero(trial->gid))
        ni_putf(t, " %s", ni_ip_text(trial->gid, ip));
}

static void say_dmabuf(struct ni_text *t, const struct ni_trial *trial)
{
    if (trial->device.dmabuf != NI_UNSET)
        ni_put(t, trial->device.dmabuf == NI_KNOWN ? "yes" : "no");
}

static void say_result(struct ni_row *row, unsigned column, const struct ni_trial *trial)
{
    const char *step = ni_step_text(trial->step);
    row->tint = ni_trial_passed(trial) ? NI_GREEN : trial->untried ? NI_YELLOW : NI_RED;
    if (trial->untried)
        ni_put(&row->cell[column], "not tried: no provider");
    else if (ni_trial_passed(trial))
        ni_put(&row->cell[column], "passed");
    else if (trial->end == NI_TRIAL_ENDED)
        ni_putf(&row->cell[column], "FAILED: %s", step);
    else if (trial->end == NI_TRIAL_DIED)
        ni_putf(&row->cell[column], "DIED: %s", step);
    else
        ni_putf(&row->cell[column], "HANGS: %s", step);
}

static void say_name(struct ni_text *t, const struct ni_trial *trial, bool port)
{
    ni_quote(t, trial->hca);
    if (port)
        ni_putf(t, "/%u", trial->port);
}

static void trial_row(const void *ctx, unsigned i, struct ni_row *row)
{
    const struct ni_trials *all = ctx;
    const struct ni_trial *trial = &all->at[i];
    say_name(&row->cell[S_DEVICE], trial, true);
    say_index(&row->cell[S_GID], trial);
    if (trial->register_us > 0 || trial->step > NI_STEP_REGISTER)
        say_duration(&row->cell[S_MEMORY], trial->register_us);
    say_mbps(&row->cell[S_WRITE], all->bytes, trial->write_us);
    say_mbps(&row->cell[S_READ], all->bytes, trial->read_us);
    say_latency(&row->cell[S_LATENCY], trial->latency_ns);
    say_dmabuf(&row->cell[S_DMABUF], trial);
    say_result(row, S_RESULT, trial);
}

/* ---- the whole ---- */

static void say_head(struct ni_text *out, const struct ni_view *view)
{
    const struct ni_trials *all = view->trials;
    char size[32], bytes[32];
    struct ni_text s = ni_text_on(size, sizeof(size)), b = ni_text_on(bytes, sizeof(bytes));
    ni_put_bytes(&s, all->size);
    ni_put_bytes(&b, all->bytes);
    if (all->n == 0) {
        ni_putf(out, "Self-test: no port to try; %s\n", ni_say_source(view->inv->source));
        return;
    }
    ni_putf(out,
            "Self-test: %u port%s to try; %s\n"
            "  each registers %s, then writes and reads back %s, from itself to itself\n\n",
            all->n, all->n == 1 ? "" : "s", ni_say_source(view->inv->source), size, bytes);
}

/* "4 of 4 ports passed in 0.31 s" */
static void say_count(struct ni_text *out, const struct ni_trials *all)
{
    unsigned tried = ni_trials_tried(all);
    if (tried == 0)
        ni_put(out, "\nNothing was tried.\n");
    else
        ni_putf(out, "\n%u of %u port%s passed in %lld.%02lld s", ni_trials_passed(all), tried,
                tried == 1 ? "" : "s", (long long)(all->took_ms / 1000),
                (long long)(all->took_ms % 1000 / 10));
    if (tried > 0 && tried < all->n)
        ni_putf(out, "; %u not tried", all->n - tried);
    if (tried > 0)
        ni_put(out, "\n");
}

int ni_write_selftest(int fd, const struct ni_view *view)
{
    static const char *const head[S_N] = {"DEVICE", "GID",     "REGISTERED", "WRITE",
                                          "READ",   "LATENCY", "DMA-BUF",    "RESULT"};
    const struct ni_table table = {head,      S_N,          view->trials->n,
                                   trial_row, view->trials, view->colour};
    struct ni_out o;
    struct ni_text *out = ni_out_on(&o, fd);
    say_head(out, view);
    if (view->trials->n > 0)
        ni_table_write(out, &table);
    ni_say_findings_from(out, view->findings, NI_WARNING, view->colour);
    say_count(out, view->trials);
    return ni_out_end(&o);
}

/* ---- doctor --probe ---- */

enum { P_DEVICE, P_FIRMWARE, P_QPS, P_CQS, P_MRS, P_GIDS, P_DMABUF, P_RESULT, P_N };

static void probe_row(const void *ctx, unsigned i, struct ni_row *row)
{
    const struct ni_trial *trial = &((const struct ni_trials *)ctx)->at[i];
    const struct ni_trial_device *d = &trial->device;
    say_name(&row->cell[P_DEVICE], trial, false);
    if (d->dmabuf != NI_UNSET) {
        ni_quote(&row->cell[P_FIRMWARE], d->firmware);
        ni_putf(&row->cell[P_QPS], "%d", d->max_qp);
        ni_putf(&row->cell[P_CQS], "%d", d->max_cq);
        ni_putf(&row->cell[P_MRS], "%d", d->max_mr);
        if (trial->gid_err == 0)
            ni_putf(&row->cell[P_GIDS], "%u", trial->n_gid);
        say_dmabuf(&row->cell[P_DMABUF], trial);
    }
    say_result(row, P_RESULT, trial);
}

void ni_say_probes(struct ni_text *out, const struct ni_view *view)
{
    static const char *const head[P_N] = {"DEVICE", "FIRMWARE", "QPS",     "CQS",
                                          "MRS",    "GIDS",     "DMA-BUF", "RESULT"};
    if (!view->trials || view->trials->n == 0)
        return;
    const struct ni_table table = {head,      P_N,          view->trials->n,
                                   probe_row, view->trials, view->colour};
    ni_put(out, "\nWhat the devices say (libibverbs)\n");
    ni_table_write(out, &table);
}
