/* SPDX-License-Identifier: Apache-2.0 */
/* The self-test for programs. */
#include "json.h"
#include "nccl_init/report.h"
#include "selftest.h"

static json_t *gid_or_null(const uint8_t gid[NI_GID_BYTES])
{
    char ip[NI_IP_TEXT];
    return ni_ip_is_zero(gid) ? json_null() : json_string(ni_ip_text(gid, ip));
}

static json_t *measured(int64_t v)
{
    return v > 0 ? json_integer(v) : json_null();
}

static json_t *device_json(bool *bad, const struct ni_trial *trial)
{
    const struct ni_trial_device *d = &trial->device;
    if (d->dmabuf == NI_UNSET)
        return json_null();
    json_t *j = json_object();
    ni_json_put(bad, j, "firmware", ni_json_text_or_null(d->firmware));
    ni_json_put(bad, j, "max_qp", json_integer(d->max_qp));
    ni_json_put(bad, j, "max_cq", json_integer(d->max_cq));
    ni_json_put(bad, j, "max_mr", json_integer(d->max_mr));
    /* more than JSON's integers hold */
    ni_json_put(bad, j, "max_mr_size",
                d->max_mr_size > INT64_MAX ? json_string("unlimited")
                                           : json_integer((json_int_t)d->max_mr_size));
    ni_json_put(bad, j, "gids", trial->gid_err == 0 ? json_integer(trial->n_gid) : json_null());
    ni_json_put(bad, j, "dmabuf", json_boolean(d->dmabuf == NI_KNOWN));
    return j;
}

static const char *end_text(const struct ni_trial *trial)
{
    static const char *const text[] = {
        [NI_TRIAL_RUNNING] = "running", [NI_TRIAL_ENDED] = "ended", [NI_TRIAL_DIED] = "died",
        [NI_TRIAL_KILLED] = "killed",   [NI_TRIAL_STUCK] = "stuck",
    };
    return text[trial->end];
}

static json_t *trial_json(bool *bad, const struct ni_trials *all, const struct ni_trial *t)
{
    const char *err = t->err ? ni_errno_name(t->err) : NULL;
    json_t *j = json_object();
    ni_json_put(bad, j, "name", ni_json_text(t->hca));
    ni_json_put(bad, j, "port", json_integer(t->port));
    ni_json_put(bad, j, "tried", json_boolean(!t->untried));
    ni_json_put(bad, j, "passed", json_boolean(ni_trial_passed(t)));
    ni_json_put(bad, j, "step", json_string(ni_step_text(t->step)));
    ni_json_put(bad, j, "end", json_string(end_text(t)));
    ni_json_put(bad, j, "errno",
                err      ? json_string(err)
                : t->err ? json_integer(t->err)
                         : json_null());
    ni_json_put(bad, j, "signal", measured(t->signal));
    ni_json_put(bad, j, "device", device_json(bad, t));
    if (all->probe)
        return j;
    ni_json_put(bad, j, "gid_index", t->index < 0 ? json_null() : json_integer(t->index));
    ni_json_put(bad, j, "gid", gid_or_null(t->seen));
    ni_json_put(bad, j, "gid_sysfs", gid_or_null(t->gid));
    ni_json_put(bad, j, "roce_v2", ni_ip_is_zero(t->seen) ? json_null() : json_boolean(t->seen_v2));
    ni_json_put(bad, j, "memlock", t->memlock < 0 ? json_null() : ni_json_bytes(t->memlock));
    ni_json_put(bad, j, "wc_status", t->wc_status == 0 ? json_null() : json_integer(t->wc_status));
    ni_json_put(bad, j, "vendor_err",
                t->wc_status == 0 ? json_null() : json_integer(t->vendor_err));
    ni_json_put(bad, j, "register_us", measured(t->register_us));
    ni_json_put(bad, j, "write_mbps", measured(ni_trial_mbps(all->bytes, t->write_us)));
    ni_json_put(bad, j, "read_mbps", measured(ni_trial_mbps(all->bytes, t->read_us)));
    ni_json_put(bad, j, "latency_ns", measured(t->latency_ns));
    return j;
}

json_t *ni_json_trials(bool *bad, const struct ni_trials *trials)
{
    json_t *array = json_array();
    for (unsigned i = 0; i < trials->n; i++)
        ni_json_add(bad, array, trial_json(bad, trials, &trials->at[i]));
    return array;
}

int ni_write_selftest_json(int fd, const struct ni_view *view)
{
    const struct ni_trials *all = view->trials;
    bool bad = false;
    json_t *j = json_object(), *findings = json_array();
    for (unsigned i = 0; i < view->findings->n; i++)
        ni_json_add(&bad, findings, ni_json_finding(&bad, &view->findings->at[i]));
    ni_json_put(&bad, j, "schema", json_integer(NI_JSON_SCHEMA));
    ni_json_put(&bad, j, "size", json_integer(all->size));
    ni_json_put(&bad, j, "bytes", json_integer(all->bytes));
    ni_json_put(&bad, j, "took_ms", json_integer(all->took_ms));
    ni_json_put(&bad, j, "tried", json_integer(ni_trials_tried(all)));
    ni_json_put(&bad, j, "passed", json_integer(ni_trials_passed(all)));
    ni_json_put(&bad, j, "ports", ni_json_trials(&bad, all));
    ni_json_put(&bad, j, "findings", findings);
    struct ni_out o;
    ni_out_on(&o, fd);
    ni_json_write(&o, j, bad, 2);
    return ni_out_end(&o);
}
