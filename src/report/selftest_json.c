/* SPDX-License-Identifier: Apache-2.0 */
/* The self-test for programs. */
#include "json.h"
#include "out.h"
#include "selftest.h"

static void gid_json(struct ni_json *j, const char *key, const uint8_t gid[NI_GID_BYTES])
{
    char ip[NI_IP_TEXT];
    ni_json_text(j, key, ni_ip_is_zero(gid) ? NULL : ni_ip_text(gid, ip));
}

static void int_json(struct ni_json *j, const char *key, bool known, int64_t v)
{
    ni_json_num(j, key, (struct ni_num){v, known ? NI_KNOWN : NI_UNSET});
}

static void device_json(struct ni_json *j, const struct ni_trial *trial)
{
    const struct ni_trial_device *d = &trial->device;
    if (d->dmabuf == NI_UNSET) {
        ni_json_null(j, "device");
        return;
    }
    ni_json_object(j, "device");
    ni_json_text_or_null(j, "firmware", d->firmware);
    ni_json_int(j, "max_qp", d->max_qp);
    ni_json_int(j, "max_cq", d->max_cq);
    ni_json_int(j, "max_mr", d->max_mr);
    if (d->max_mr_size > INT64_MAX) /* more than JSON's integers hold */
        ni_json_text(j, "max_mr_size", "unlimited");
    else
        ni_json_int(j, "max_mr_size", (int64_t)d->max_mr_size);
    int_json(j, "gids", trial->gid_err == 0, trial->n_gid);
    ni_json_bool(j, "dmabuf", d->dmabuf == NI_KNOWN);
    ni_json_end(j);
}

static const char *end_text(const struct ni_trial *trial)
{
    static const char *const text[] = {
        [NI_TRIAL_RUNNING] = "running", [NI_TRIAL_ENDED] = "ended", [NI_TRIAL_DIED] = "died",
        [NI_TRIAL_KILLED] = "killed",   [NI_TRIAL_STUCK] = "stuck",
    };
    return text[trial->end];
}

static void loop_json(struct ni_json *j, const struct ni_trials *all, const struct ni_trial *t)
{
    int64_t write_mbps = ni_trial_mbps(all->bytes, t->write_us);
    int64_t read_mbps = ni_trial_mbps(all->bytes, t->read_us);
    int_json(j, "gid_index", t->index >= 0, t->index);
    gid_json(j, "gid", t->seen);
    gid_json(j, "gid_sysfs", t->gid);
    if (ni_ip_is_zero(t->seen))
        ni_json_null(j, "roce_v2");
    else
        ni_json_bool(j, "roce_v2", t->seen_v2);
    ni_json_bytes(j, "memlock", (struct ni_num){t->memlock, t->memlock < 0 ? NI_UNSET : NI_KNOWN});
    int_json(j, "wc_status", t->wc_status != 0, t->wc_status);
    int_json(j, "vendor_err", t->wc_status != 0, t->vendor_err);
    int_json(j, "register_us", t->register_us > 0, t->register_us);
    int_json(j, "write_mbps", write_mbps > 0, write_mbps);
    int_json(j, "read_mbps", read_mbps > 0, read_mbps);
    int_json(j, "latency_ns", t->latency_ns > 0, t->latency_ns);
}

static void trial_json(struct ni_json *j, const struct ni_trials *all, const struct ni_trial *t)
{
    const char *err = t->err ? ni_errno_name(t->err) : NULL;
    ni_json_object(j, NULL);
    ni_json_text(j, "name", t->hca);
    ni_json_int(j, "port", t->port);
    ni_json_bool(j, "tried", !t->untried);
    ni_json_bool(j, "passed", ni_trial_passed(t));
    ni_json_text(j, "step", ni_step_text(t->step));
    ni_json_text(j, "end", end_text(t));
    if (err)
        ni_json_text(j, "errno", err);
    else
        int_json(j, "errno", t->err != 0, t->err);
    int_json(j, "signal", t->signal > 0, t->signal);
    device_json(j, t);
    if (!all->probe)
        loop_json(j, all, t);
    ni_json_end(j);
}

void ni_json_trials(struct ni_json *j, const char *key, const struct ni_trials *trials)
{
    ni_json_array(j, key);
    for (unsigned i = 0; i < trials->n; i++)
        trial_json(j, trials, &trials->at[i]);
    ni_json_end(j);
}

int ni_write_selftest_json(int fd, const struct ni_view *view)
{
    const struct ni_trials *all = view->trials;
    struct ni_out o;
    struct ni_json json = ni_json_on(ni_out_on(&o, fd), true), *j = &json;
    ni_json_object(j, NULL);
    ni_json_int(j, "schema", NI_JSON_SCHEMA);
    ni_json_int(j, "size", all->size);
    ni_json_int(j, "bytes", all->bytes);
    ni_json_int(j, "took_ms", all->took_ms);
    ni_json_int(j, "tried", ni_trials_tried(all));
    ni_json_int(j, "passed", ni_trials_passed(all));
    ni_json_trials(j, "ports", all);
    ni_json_findings(j, view->findings, false);
    ni_json_end(j);
    return ni_out_end(&o);
}
