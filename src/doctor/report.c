/* SPDX-License-Identifier: Apache-2.0 */
/* The report of doctor: the node, the findings, the worst first, and the number of things that
   were checked. The JSON also has the facts behind the checks; a fact that is not known is null. */
#include "doctor/report.h"

#include "doctor/checks.h"
#include "nccl_init/findings.h"
#include "nccl_init/gpu.h"
#include "nccl_init/inventory.h"
#include "nccl_init/known.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "print/devices.h"
#include "print/findings.h"
#include "print/json_write.h"
#include "print/layout.h"
#include "print/words.h"
#include "selftest/report.h"
#include "selftest/trials.h"

/* ---- what was looked at ---- */

static void add_driver(struct ni_text *t, const char *what, const char *word)
{
    ni_putf(t, "%s%s%s", t->len > 0 ? ", " : "", what, word);
}

/* The node in one line; what is not known is left out. */
static void put_node_line(struct ni_text *out, const struct ni_inventory *inv)
{
    const struct ni_drivers *d = &inv->drivers;
    const enum ni_known open_driver = inv->gdr.open_driver;
    char buf[512];
    struct ni_text t = ni_text_on(buf, sizeof(buf));

    if (inv->self.kernel[0])
        add_driver(&t, "kernel ", inv->self.kernel);
    if (d->nvidia_version[0])
        add_driver(&t, "NVIDIA driver ", d->nvidia_version);
    if (d->nvidia_version[0] && (open_driver == NI_KNOWN || open_driver == NI_ABSENT))
        ni_put(&t, open_driver == NI_KNOWN ? " (open)" : " (closed)");
    if (d->peermem == NI_KNOWN)
        add_driver(&t, "nvidia-peermem", "");
    if (d->ofed == NI_KNOWN)
        add_driver(&t, d->mlx5_version[0] ? "MLNX_OFED or DOCA " : "MLNX_OFED or DOCA",
                   d->mlx5_version);
    if (inv->netns_mode != NI_NETNS_UNKNOWN)
        add_driver(&t, "RDMA netns ", inv->netns_mode == NI_NETNS_SHARED ? "shared" : "exclusive");
    ni_put_item(out, "node", buf);
}

/* ---- what was checked ---- */

static const struct ni_words outcomes[] = {
    [NI_CHECK_FOUND] = {"findings", "with findings"},
    [NI_CHECK_OK] = {"ok", "ok"},
    [NI_CHECK_UNKNOWN] = {"unknown", "could not be checked from inside the pod"},
    [NI_CHECK_IDLE] = {"idle", "nothing to check"},
};

static void put_checked(struct ni_text *out, const struct ni_diagnosis *d)
{
    char buf[4096];

    ni_put(out, "\nChecked\n");
    for (int k = NI_CHECK_FOUND; k >= NI_CHECK_IDLE; k--) {
        struct ni_text t = ni_text_on(buf, sizeof(buf));

        for (unsigned i = 0; i < d->n; i++)
            if ((int)d->at[i].outcome == k)
                add_driver(&t, d->at[i].id, "");
        ni_put_item(out, outcomes[k].text, buf);
    }
    struct ni_text t = ni_text_on(buf, sizeof(buf));
    for (unsigned i = 0; i < NI_F_COUNT; i++) {
        if (!d->ignore || !d->ignore[i])
            continue;
        add_driver(&t, ni_finding_kind(i)->id, "");
        ni_putf(&t, " (%u)", d->ignored[i]);
    }
    ni_put_item(out, "ignored", buf);
}

static void put_health_verdict(struct ni_text *out, const struct ni_view *view, bool colour)
{
    unsigned errors = ni_count_shown_findings(view->findings, NI_ERROR);
    unsigned warnings = ni_count_shown_findings(view->findings, NI_WARNING);
    enum ni_tint tint = NI_GREEN;
    char line[128];

    if (errors > 0)
        tint = NI_RED;
    else if (warnings > 0)
        tint = NI_YELLOW;
    ni_format(line, sizeof(line), "%s%u error%s, %u warning%s, %u worth knowing",
              errors + warnings == 0 ? "Healthy: " : "", errors, ni_plural(errors), warnings,
              ni_plural(warnings), ni_count_shown_findings(view->findings, NI_INFO));
    ni_put_tinted(out, colour, tint, line);
}

void ni_put_doctor(struct ni_text *out, const struct ni_view *view,
                   const struct ni_diagnosis *diagnosis, const struct ni_trials *trials)
{
    const unsigned n = ni_allocated_hcas(view->inv), others = view->inv->n_hca - n;

    ni_putf(out, "Doctor: %u HCA%s of the pod, %u other%s, %u GPU%s; ", n, ni_plural(n), others,
            ni_plural(others), view->inv->n_gpu, ni_plural(view->inv->n_gpu));
    ni_put_origin(out, view);
    put_node_line(out, view->inv);
    if (trials)
        ni_putf(out, "  self-test: %u of %u ports passed\n", trials->passed, trials->n);
    ni_put_findings(out, view, NI_INFO);
    put_checked(out, diagnosis);
    ni_put(out, "\n");
    put_health_verdict(out, view, view->colour);
    ni_put(out, "\n");
}

/* "1 error, 2 warnings, 0 worth knowing: iommu.translated mlx5_0, mlx5_1; shm.small /dev/shm": the
   subjects behind the id that they share. */
void ni_put_doctor_brief(struct ni_text *out, const struct ni_view *view)
{
    const struct ni_findings *all = view->findings;
    const struct ni_finding *last = NULL;

    put_health_verdict(out, view, false);
    for (int severity = NI_ERROR; severity >= NI_WARNING; severity--) {
        for (unsigned i = 0; i < all->n; i++) {
            const struct ni_finding *f = &all->at[i];

            if ((int)ni_finding_kind(f->id)->severity != severity)
                continue;
            if (last && last->id == f->id)
                ni_put(out, ",");
            else
                ni_putf(out, "%s %s", last ? ";" : ":", ni_finding_kind(f->id)->id);
            ni_put(out, " ");
            ni_quote(out, f->subject);
            last = f;
        }
    }
    ni_put(out, "\n");
}

/* ---- JSON ---- */

static void check_json(struct ni_json *j, const struct ni_diagnosis *diagnosis, unsigned i)
{
    ni_json_text(j, "id", diagnosis->at[i].id);
    ni_json_text(j, "outcome", outcomes[diagnosis->at[i].outcome].json);
}

static void node_json(struct ni_json *j, const struct ni_inventory *inv)
{
    static const char *const netns[] = {
        [NI_NETNS_SHARED] = "shared", [NI_NETNS_EXCLUSIVE] = "exclusive"};
    const struct ni_drivers *d = &inv->drivers;

    ni_json_object(j, "node");
    ni_json_text_or_null(j, "kernel", inv->self.kernel);
    ni_json_text(j, "iommu_options",
                 inv->self.cmdline_known == NI_KNOWN ? inv->self.cmdline : NULL);
    ni_json_text(j, "rdma_netns", netns[inv->netns_mode]);
    ni_json_yes_no(j, "mlnx_ofed", d->ofed);
    ni_json_text_or_null(j, "mlx5_core", d->mlx5_version);
    ni_json_text_or_null(j, "nvidia", d->nvidia_version);
    ni_json_yes_no(j, "nvidia_open", inv->gdr.open_driver);
    ni_json_yes_no(j, "peermem", d->peermem);
    ni_json_end(j);
}

void ni_put_doctor_json(struct ni_text *out, const struct ni_view *view,
                        const struct ni_diagnosis *d, const struct ni_trials *trials)
{
    const struct ni_findings *all = view->findings;
    struct ni_json json = ni_json_report(out), *j = &json;

    ni_json_text(j, "root", view->root);
    ni_json_text(j, "source", ni_source_words[view->inv->source].json);
    ni_json_int(j, "errors", ni_findings_count(all, NI_ERROR));
    ni_json_int(j, "warnings", ni_findings_count(all, NI_WARNING));
    ni_json_int(j, "infos", ni_findings_count(all, NI_INFO));
    ni_json_findings(j, all);
    ni_json_int(j, "findings_dropped", all->dropped);
    ni_json_object(j, "ignored");
    for (unsigned i = 0; i < NI_F_COUNT; i++)
        if (d->ignore && d->ignore[i])
            ni_json_int(j, ni_finding_kind(i)->id, d->ignored[i]);
    ni_json_end(j);
    ni_json_array(j, "checks");
    for (unsigned i = 0; i < d->n; i++) {
        ni_json_object(j, NULL);
        check_json(j, d, i);
        ni_json_end(j);
    }
    ni_json_end(j);
    ni_json_devices(j, view, ni_allocated_hcas(view->inv));
    node_json(j, view->inv);
    if (trials) {
        ni_json_object(j, "selftest");
        ni_json_trials(j, trials);
        ni_json_end(j);
    }
    ni_json_object(j, "process");
    ni_json_bytes(j, "memlock_soft", view->inv->self.memlock_soft);
    ni_json_bytes(j, "memlock_hard", view->inv->self.memlock_hard);
    ni_json_end(j);
    ni_json_end(j);
}
