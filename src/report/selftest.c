/* SPDX-License-Identifier: Apache-2.0 */
/* The self-test: for people a line for each port, what went wrong, and the count; for programs JSON.
   The devices that doctor --probe asked, in both. */
#include "parts.h"

static int64_t mbps_of(int64_t bytes, int64_t us)
{
    return us > 0 ? (int64_t)((double)bytes * 8 / (double)us) : 0;
}

static void put_speed(struct ni_text *t, int64_t bytes, int64_t us)
{
    const long long mbps = (long long)mbps_of(bytes, us);
    if (us > 0 && mbps < 10000)
        ni_putf(t, "%lld.%02lld Gb/s", mbps / 1000, mbps % 1000 / 10);
    else if (us > 0)
        ni_putf(t, "%lld Gb/s", mbps / 1000);
}

static void put_gid(struct ni_text *t, const struct ni_trial *trial)
{
    char ip[NI_IP_TEXT];
    if (!trial->roce)
        ni_put(t, "by LID");
    else if (trial->index >= 0)
        ni_putf(t, "%d", trial->index);
    if (trial->roce && !ni_ip_is_zero(trial->seen))
        ni_putf(t, " %s (%s)", ni_ip_text(trial->seen, ip), trial->seen_v2 ? "v2" : "v1");
    else if (!ni_ip_is_zero(trial->gid))
        ni_putf(t, " %s", ni_ip_text(trial->gid, ip));
}

static enum ni_tint tint_of(const struct ni_trial *trial)
{
    return ni_trial_passed(trial) ? NI_GREEN : trial->untried ? NI_YELLOW : NI_RED;
}

/* The last two cells of both tables: DMA-BUF, RESULT. */
static void put_result(struct ni_text *t, const struct ni_trial *trial)
{
    const enum ni_known dmabuf = trial->device.dmabuf;
    ni_put(ni_cell(t), dmabuf == NI_UNSET ? "" : dmabuf == NI_KNOWN ? "yes" : "no");
    ni_cell(t);
    if (trial->untried)
        ni_put(t, "not tried: no provider");
    else if (ni_trial_passed(trial))
        ni_put(t, "passed");
    else
        ni_putf(t, "%s: %s",
                trial->end == NI_TRIAL_ENDED  ? "FAILED"
                : trial->end == NI_TRIAL_DIED ? "DIED"
                                              : "HANGS",
                ni_step_text(trial->step));
}

static void put_trials(struct ni_text *out, const struct ni_trials *all, bool colour)
{
    struct ni_text table =
        ni_table_on("PORT\tGID\tREGISTERED\tWRITE\tREAD\tLATENCY\tDMA-BUF\tRESULT");
    for (unsigned i = 0; i < all->n; i++) {
        const struct ni_trial *trial = &all->at[i];
        const long long us = (long long)trial->register_us, ns = (long long)trial->latency_ns;
        struct ni_text *t = ni_row(&table, tint_of(trial));
        ni_quote(t, trial->hca);
        ni_putf(t, "/%u", trial->port);
        put_gid(ni_cell(t), trial);
        ni_cell(t);
        if (us > 0 || trial->step > NI_STEP_REGISTER)
            ni_putf(t, "%lld %s", us < 10000 ? us : us / 1000, us < 10000 ? "us" : "ms");
        put_speed(ni_cell(t), all->bytes, trial->write_us);
        put_speed(ni_cell(t), all->bytes, trial->read_us);
        ni_cell(t);
        if (ns > 0)
            ni_putf(t, "%lld.%lld us", ns / 1000, ns % 1000 / 100);
        put_result(t, trial);
    }
    ni_table_write(out, &table, colour);
}

void ni_put_selftest(struct ni_text *out, const struct ni_view *view)
{
    const struct ni_trials *all = view->trials;
    const unsigned tried = ni_trials_tried(all);
    const long long ms = (long long)all->took_ms;
    ni_put(out, "Self-test: ");
    ni_put_count(out, all->n, "port");
    ni_put(out, " to try; ");
    ni_put_origin(out, view);
    if (all->n > 0) {
        ni_put(out, "  each port registers ");
        ni_put_bytes(out, all->size);
        ni_put(out, ", then writes ");
        ni_put_bytes(out, all->bytes);
        ni_put(out, " to itself and reads them back\n\n");
        put_trials(out, all, view->colour);
    }
    ni_put_findings(out, view, NI_WARNING);
    if (tried == 0) {
        ni_put(out, "\nNothing was tried.\n");
        return;
    }
    ni_putf(out, "\n%u of %u port%s passed in %lld.%02lld s", ni_trials_passed(all), tried,
            ni_plural(tried), ms / 1000, ms % 1000 / 10);
    if (tried < all->n)
        ni_putf(out, "; %u not tried", all->n - tried);
    ni_put(out, "\n");
}

void ni_put_probes(struct ni_text *out, const struct ni_view *view)
{
    const struct ni_trials *all = view->trials;
    if (!all || all->n == 0)
        return;
    struct ni_text table = ni_table_on("HCA\tFIRMWARE\tQPS\tCQS\tMRS\tGIDS\tDMA-BUF\tRESULT");
    for (unsigned i = 0; i < all->n; i++) {
        const struct ni_trial *trial = &all->at[i];
        const struct ni_trial_device *d = &trial->device;
        const bool known = d->dmabuf != NI_UNSET;
        struct ni_text *t = ni_row(&table, tint_of(trial));
        ni_quote(t, trial->hca);
        ni_quote(ni_cell(t), known ? d->firmware : "");
        if (known)
            ni_putf(t, "\t%d\t%d\t%d\t", d->max_qp, d->max_cq, d->max_mr);
        else
            ni_put(t, "\t\t\t\t");
        if (known && trial->gid_err == 0)
            ni_putf(t, "%u", trial->n_gid);
        put_result(t, trial);
    }
    ni_put(out, "\nWhat the devices say (libibverbs)\n");
    ni_table_write(out, &table, view->colour);
}

/* ---- JSON ---- */

static void gid_json(struct ni_json *j, const char *key, const uint8_t gid[NI_GID_BYTES])
{
    char ip[NI_IP_TEXT];
    ni_json_text(j, key, ni_ip_is_zero(gid) ? NULL : ni_ip_text(gid, ip));
}

static void device_json(struct ni_json *j, const struct ni_trial *trial)
{
    const struct ni_trial_device *d = &trial->device;
    if (!ni_json_object_or_null(j, "device", d->dmabuf != NI_UNSET))
        return;
    ni_json_text_or_null(j, "firmware", d->firmware);
    ni_json_int(j, "max_qp", d->max_qp);
    ni_json_int(j, "max_cq", d->max_cq);
    ni_json_int(j, "max_mr", d->max_mr);
    if (d->max_mr_size > INT64_MAX) /* more than JSON's integers hold */
        ni_json_text(j, "max_mr_size", "unlimited");
    else
        ni_json_int(j, "max_mr_size", (int64_t)d->max_mr_size);
    ni_json_int_or_null(j, "gids", trial->gid_err == 0, trial->n_gid);
    ni_json_bool(j, "dmabuf", d->dmabuf == NI_KNOWN);
    ni_json_end(j);
}

static void trial_json(struct ni_json *j, const struct ni_view *view, unsigned i)
{
    static const char *const end[] = {
        [NI_TRIAL_RUNNING] = "running", [NI_TRIAL_ENDED] = "ended", [NI_TRIAL_DIED] = "died",
        [NI_TRIAL_KILLED] = "killed",   [NI_TRIAL_STUCK] = "stuck",
    };
    const struct ni_trial *t = &view->trials->at[i];
    const char *err = t->err ? ni_errno_name(t->err) : NULL;
    const int64_t write = mbps_of(view->trials->bytes, t->write_us);
    const int64_t read = mbps_of(view->trials->bytes, t->read_us);
    ni_json_text(j, "name", t->hca);
    ni_json_int(j, "port", t->port);
    ni_json_bool(j, "tried", !t->untried);
    ni_json_bool(j, "passed", ni_trial_passed(t));
    ni_json_text(j, "step", ni_step_text(t->step));
    ni_json_text(j, "end", end[t->end]);
    if (err)
        ni_json_text(j, "errno", err);
    else
        ni_json_int_or_null(j, "errno", t->err != 0, t->err);
    ni_json_int_or_null(j, "signal", t->signal > 0, t->signal);
    device_json(j, t);
    if (view->trials->probe)
        return;
    ni_json_int_or_null(j, "gid_index", t->index >= 0, t->index);
    gid_json(j, "gid", t->seen);
    gid_json(j, "gid_sysfs", t->gid);
    ni_json_bool_or_null(j, "roce_v2", !ni_ip_is_zero(t->seen), t->seen_v2);
    ni_json_bytes(j, "memlock", (struct ni_num){t->memlock, t->memlock < 0 ? NI_UNSET : NI_KNOWN});
    ni_json_int_or_null(j, "wc_status", t->wc_status != 0, t->wc_status);
    ni_json_int_or_null(j, "vendor_err", t->wc_status != 0, t->vendor_err);
    ni_json_int_or_null(j, "register_us", t->register_us > 0, t->register_us);
    ni_json_int_or_null(j, "write_mbps", write > 0, write);
    ni_json_int_or_null(j, "read_mbps", read > 0, read);
    ni_json_int_or_null(j, "latency_ns", t->latency_ns > 0, t->latency_ns);
}

void ni_json_trials(struct ni_json *j, const char *key, const struct ni_view *view)
{
    ni_json_list(j, key, view, 0, view->trials->n, trial_json);
}

void ni_put_selftest_json(struct ni_text *out, const struct ni_view *view)
{
    const struct ni_trials *all = view->trials;
    struct ni_json json = ni_json_report(out), *j = &json;
    ni_json_int(j, "size", all->size);
    ni_json_int(j, "bytes", all->bytes);
    ni_json_int(j, "took_ms", all->took_ms);
    ni_json_int(j, "tried", ni_trials_tried(all));
    ni_json_int(j, "passed", ni_trials_passed(all));
    ni_json_trials(j, "ports", view);
    ni_json_findings(j, view->findings);
    ni_json_end(j);
}
