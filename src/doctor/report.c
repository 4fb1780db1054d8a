/* SPDX-License-Identifier: Apache-2.0 */
/* The report of doctor: who, the verdict, a row for each finding, the worst first, and for each
   subject that is good, with the value seen; then what could not be seen. The JSON also has the
   facts behind the checks; a fact that is not known is null. */
#include "doctor/report.h"

#include <stdint.h>
#include <string.h>

#include "doctor/check.h"
#include "doctor/checks.h"
#include "doctor/seen.h"
#include "nccl_init/findings.h"
#include "nccl_init/gpu.h"
#include "nccl_init/inventory.h"
#include "nccl_init/known.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "print/answer.h"
#include "print/devices.h"
#include "print/findings.h"
#include "print/image.h"
#include "print/json_write.h"
#include "print/layout.h"
#include "print/readiness.h"
#include "print/words.h"
#include "selftest/report.h"
#include "selftest/trials.h"

/* ---- the node ---- */

/* Adds an item to a list with commas: a label and a value. The label ends with the space between
   them; an item of one part has an empty value. */
static void add_item(struct ni_text *t, const char *label, const char *value)
{
    ni_putf(t, "%s%s%s", t->len > 0 ? ", " : "", label, value);
}

/* Puts the node in one line, without the facts that are not known. */
static void put_node_line(struct ni_text *out, const struct ni_inventory *inv)
{
    const struct ni_drivers *d = &inv->drivers;
    const enum ni_known open_driver = inv->gdr.open_driver;
    char buf[512];
    struct ni_text t = ni_text_on(buf, sizeof(buf));

    if (inv->self.kernel[0])
        add_item(&t, "kernel ", inv->self.kernel);
    if (d->nvidia_version[0])
        add_item(&t, "NVIDIA driver ", d->nvidia_version);
    if (d->nvidia_version[0] && (open_driver == NI_KNOWN || open_driver == NI_ABSENT))
        ni_put(&t, open_driver == NI_KNOWN ? " (open)" : " (closed)");
    if (d->peermem == NI_KNOWN)
        add_item(&t, "nvidia-peermem", "");
    if (d->ofed == NI_KNOWN)
        add_item(&t, d->mlx5_version[0] ? "MLNX_OFED or DOCA " : "MLNX_OFED or DOCA",
                 d->mlx5_version);
    if (ni_netns_word(inv))
        add_item(&t, "RDMA netns ", ni_netns_word(inv));
    ni_put_item(out, "node", buf);
}

/* ---- marks ---- */

enum mark { MARK_INFO, MARK_WARNING, MARK_ERROR, MARK_OK, MARK_NONE }; /* begins as ni_severity */

static const struct {
    const char *ascii, *utf8;
    enum ni_tint tint;
} marks[] = {
    [MARK_INFO] = {"info   ", "i", NI_PLAIN},
    [MARK_WARNING] = {"warning", "!", NI_YELLOW},
    [MARK_ERROR] = {"error  ", "\xe2\x9c\x97", NI_RED}, /* U+2717 */
    [MARK_OK] = {"ok     ", "\xe2\x9c\x93", NI_GREEN},  /* U+2713 */
    [MARK_NONE] = {"-      ", "-", NI_DIM},
};

static void put_mark(struct ni_text *out, const struct ni_view *view, enum mark mark)
{
    ni_put(out, "  ");
    ni_put_mark(out, view->colour, marks[mark].tint,
                view->utf8 ? marks[mark].utf8 : marks[mark].ascii);
    ni_put(out, " ");
}

/* ---- the verdict ---- */

/* Puts "NOT READY: 1 error, 1 info". */
static void put_verdict(struct ni_text *out, const struct ni_view *view, bool ready, bool colour)
{
    struct ni_text line = NI_TEXT(128);

    ni_put_readiness(&line, view, ready, false);
    ni_put_tinted(out, colour, ni_readiness_tint(view, ready), line.buf);
}

/* ---- a row for each subject: mark, title, value seen ---- */

enum {
    MARK = 10, /* a mark and the blanks around it */
    TITLE = 15,
    GAP = 2
};

/* Puts the row of a finding: mark, title, value seen, id, subjects, which stand below it where the
   line is too narrow. first: the first of the findings that say the same. */
static void put_finding_row(struct ni_text *out, const struct ni_view *view, unsigned first)
{
    const struct ni_finding *f = &view->findings->at[first];
    const struct ni_check *check = ni_check_of(f->id);
    struct ni_text seen = NI_TEXT(160), row = NI_TEXT(256), names = NI_TEXT(1024);

    if (check && check->put)
        check->put(&seen, view);
    ni_putf(&row, "%-*s%-24s  %s", TITLE, check ? check->title : ni_finding_title(view, f),
            seen.buf, ni_finding_id(f->id));
    ni_put_subjects(&names, view->findings, first);
    put_mark(out, view, (enum mark)ni_finding_severity(f->id));
    ni_put(out, row.buf);
    if (MARK + row.len + GAP + names.len <= ni_columns(SIZE_MAX)) {
        ni_putf(out, "%*s%s\n", GAP, "", names.buf);
    } else {
        ni_put(out, "\n");
        ni_put_below(out, names.buf);
    }
}

/* Puts a row for each finding, the worst first, with advice below it. */
static void put_faults(struct ni_text *out, const struct ni_view *view)
{
    const struct ni_findings *all = view->findings;
    unsigned shown[NI_MAX_FINDINGS];
    const unsigned n = ni_list_shown_findings(all, NI_INFO, shown);

    for (unsigned i = 0; i < n; i++) {
        put_finding_row(out, view, shown[i]);
        ni_put_advice(out, &all->at[shown[i]]);
    }
    if (all->dropped > 0) {
        ni_put(out, "  ");
        ni_put_not_shown(out, all->dropped);
        ni_put(out, "\n");
    }
}

/* Puts the checks without a fault, two in a line where they are short. */
static void put_good(struct ni_text *out, const struct ni_view *view, const struct ni_diagnosis *d)
{
    enum { HALF = 40 };
    const bool wide = ni_columns(100) >= 2 * (MARK + HALF);
    size_t left = 0; /* letters of the first one of a line */

    for (unsigned i = 0; i < d->n; i++) {
        const struct ni_check *check = d->at[i].check;
        struct ni_text cell = NI_TEXT(200);

        if (d->at[i].outcome != NI_CHECK_OK)
            continue;
        ni_putf(&cell, "%-*s", TITLE, check->title);
        if (check->put)
            check->put(&cell, view);
        while (cell.len > 0 && cell.buf[cell.len - 1] == ' ')
            cell.buf[--cell.len] = '\0';
        if (left > 0 && cell.len <= HALF)
            ni_putf(out, "%*s", (int)(HALF - left), "");
        else if (left > 0)
            ni_put(out, "\n");
        left = !wide || (left > 0 && cell.len <= HALF) ? 0 : cell.len;
        put_mark(out, view, MARK_OK);
        ni_put(out, cell.buf);
        if (left == 0 || left > HALF) {
            ni_put(out, "\n");
            left = 0;
        }
    }
    ni_put(out, left > 0 ? "\n" : "");
}

/* Lists the titles of the checks with that outcome. */
static void list_checks(struct ni_text *t, const struct ni_diagnosis *d,
                        enum ni_check_outcome outcome)
{
    for (unsigned i = 0; i < d->n; i++) {
        if (d->at[i].outcome == outcome)
            add_item(t, d->at[i].check->title, "");
    }
}

static const char *where_unseen(const struct ni_view *view)
{
    return strcmp(view->root, "/") == 0 ? "not visible from inside the pod"
                                        : "not in the recording";
}

/* Puts the findings that --ignore names, and how many of each were left out. */
static void put_ignored(struct ni_text *out, const struct ni_diagnosis *d)
{
    ni_finding_number sorted[NI_MAX_KINDS];
    const unsigned n = ni_list_finding_kinds(sorted);
    char buf[4096];
    struct ni_text t = ni_text_on(buf, sizeof(buf));

    for (unsigned i = 0; i < n; i++) {
        const ni_finding_number id = sorted[i];

        if (!d->ignore || !d->ignore[id])
            continue;
        add_item(&t, ni_finding_id(id), "");
        ni_putf(&t, " (%u)", d->ignored[id]);
    }
    ni_put_item(out, "ignored", buf);
}

/* Puts what could not be seen, and what was ignored. */
static void put_rest(struct ni_text *out, const struct ni_view *view, const struct ni_diagnosis *d)
{
    struct ni_text t = NI_TEXT(1024);

    list_checks(&t, d, NI_CHECK_UNKNOWN);
    if (t.len > 0) {
        put_mark(out, view, MARK_NONE);
        ni_putf(out, "%s: ", where_unseen(view));
        ni_put_wrapped(out, ni_columns(100), MARK + strlen(where_unseen(view)) + 2, t.buf);
    }
    put_ignored(out, d);
}

/* ---- the whole ---- */

/* "nccl-init 0.1.0  node gpu-7  pod trainer-0  2026-11-23 08:30Z" */
static void put_where_and_when(struct ni_text *out, const struct ni_view *view,
                               const struct ni_who *who)
{
    ni_put(out, "nccl-init " NCCL_INIT_VERSION);
    if (strcmp(view->root, "/") != 0) {
        ni_put(out, "  recording ");
        ni_quote(out, view->root);
    } else {
        ni_put(out, who->node ? "  node " : "");
        ni_quote(out, who->node ? who->node : "");
        ni_put(out, who->node ? "  pod " : "  host ");
        ni_quote(out, who->host);
        ni_putf(out, "  %s", who->time);
    }
    ni_put(out, "\n");
}

/* "4 HCAs, 8 others, 4 GPUs; HCAs given by ..." */
static void put_devices(struct ni_text *out, const struct ni_view *view)
{
    const unsigned n = ni_allocated_hcas(view->inv), others = view->inv->n_hca - n;

    ni_putf(out, "%u HCA%s", n, ni_plural(n));
    if (others > 0)
        ni_putf(out, ", %u other%s", others, ni_plural(others));
    ni_putf(out, ", %u GPU%s; %s", view->inv->n_gpu, ni_plural(view->inv->n_gpu),
            ni_source_words[view->inv->source].text);
}

static void put_trials(struct ni_text *out, const struct ni_trials *trials)
{
    if (trials)
        ni_putf(out, "  self-test: %u of %u port%s passed\n", trials->passed, trials->n,
                ni_plural(trials->n));
}

void ni_put_doctor(struct ni_text *out, const struct ni_view *view, const struct ni_who *who,
                   const struct ni_diagnosis *diagnosis, const struct ni_trials *trials)
{
    enum { WIDE = 120 }; /* the verdict and what it is about fit into one line */
    struct ni_text of = NI_TEXT(256);

    put_where_and_when(out, view, who);
    put_verdict(out, view, who->ready, view->colour);
    ni_put(&of, "(");
    put_devices(&of, view);
    ni_put(&of, ")");
    if (ni_columns(SIZE_MAX) < WIDE) {
        ni_put(out, "\n");
        ni_put_below(out, of.buf);
    } else {
        ni_putf(out, " %s\n", of.buf);
    }
    put_node_line(out, view->inv);
    put_trials(out, trials);
    put_faults(out, view);
    put_good(out, view, diagnosis);
    put_rest(out, view, diagnosis);
    ni_put_image(out, view);
}

void ni_put_doctor_answer(struct ni_text *out, const struct ni_view *view, const struct ni_who *who,
                          const struct ni_diagnosis *diagnosis, const struct ni_trials *trials)
{
    struct ni_text verdict = NI_TEXT(128), above = NI_TEXT(2048), below = NI_TEXT(8192);
    struct ni_text devices = NI_TEXT(512), good = NI_TEXT(1024), unseen = NI_TEXT(1024);

    ni_put_readiness(&verdict, view, who->ready, true);
    ni_put(&above, "  ");
    put_where_and_when(&above, view, who);
    put_devices(&devices, view);
    ni_put(&above, "  ");
    ni_put_paragraph(&above, 2, devices.buf);
    put_trials(&above, trials);
    list_checks(&good, diagnosis, NI_CHECK_OK);
    ni_put_item(&below, "ok", good.buf);
    list_checks(&unseen, diagnosis, NI_CHECK_UNKNOWN);
    ni_put_item(&below, where_unseen(view), unseen.buf);
    put_ignored(&below, diagnosis);
    ni_put_answer(out, view,
                  &(struct ni_answer){
                      .verdict = verdict.buf,
                      .tint = ni_readiness_tint(view, who->ready),
                      .above = above.buf,
                      .below = below.buf,
                      .all = "nccl-init doctor --all",
                  });
}

/* The verdict, then a line for each finding: "error: iommu.translated: mlx5_0, mlx5_1: message". */
void ni_put_doctor_brief(struct ni_text *out, const struct ni_view *view, const struct ni_who *who)
{
    const struct ni_findings *all = view->findings;
    unsigned shown[NI_MAX_FINDINGS];
    const unsigned n = ni_list_shown_findings(all, NI_INFO, shown);

    put_verdict(out, view, who->ready, false);
    ni_put(out, "\n");
    for (unsigned i = 0; i < n; i++) {
        const struct ni_finding *f = &all->at[shown[i]];

        ni_putf(out, "%s: %s: ", ni_severity_text(ni_finding_severity(f->id)),
                ni_finding_id(f->id));
        ni_put_subjects(out, all, shown[i]);
        ni_put(out, f->subject[0] ? ": " : "");
        ni_quote(out, f->message);
        ni_put(out, "\n");
    }
}

/* ---- JSON ---- */

static const char *const outcomes[] = {
    [NI_CHECK_FOUND] = "findings",
    [NI_CHECK_OK] = "ok",
    [NI_CHECK_UNKNOWN] = "unknown",
    [NI_CHECK_IDLE] = "idle",
};

static void checks_json(struct ni_json *j, const struct ni_diagnosis *d)
{
    ni_json_array(j, "checks");
    for (unsigned i = 0; i < d->n; i++) {
        ni_json_object(j, NULL);
        ni_json_text(j, "id", d->at[i].check->id);
        ni_json_text(j, "outcome", outcomes[d->at[i].outcome]);
        ni_json_end(j);
    }
    ni_json_end(j);
}

/* Writes how many findings of each kind that --ignore names were left out. */
static void ignored_json(struct ni_json *j, const struct ni_diagnosis *d)
{
    ni_finding_number sorted[NI_MAX_KINDS];
    const unsigned n = ni_list_finding_kinds(sorted);

    ni_json_object(j, "ignored");
    for (unsigned i = 0; i < n; i++) {
        const ni_finding_number id = sorted[i];

        if (d->ignore && d->ignore[id])
            ni_json_int(j, ni_finding_id(id), d->ignored[id]);
    }
    ni_json_end(j);
}

static void node_json(struct ni_json *j, const struct ni_inventory *inv)
{
    const struct ni_drivers *d = &inv->drivers;

    ni_json_object(j, "node");
    ni_json_text_or_null(j, "kernel", inv->self.kernel);
    ni_json_text(j, "iommu_options",
                 inv->self.cmdline_known == NI_KNOWN ? inv->self.cmdline : NULL);
    ni_json_text(j, "rdma_netns", ni_netns_word(inv));
    ni_json_yes_no(j, "mlnx_ofed", d->ofed);
    ni_json_text_or_null(j, "mlx5_core", d->mlx5_version);
    ni_json_text_or_null(j, "nvidia", d->nvidia_version);
    ni_json_yes_no(j, "nvidia_open", inv->gdr.open_driver);
    ni_json_yes_no(j, "peermem", d->peermem);
    ni_json_end(j);
}

void ni_put_doctor_json(struct ni_text *out, const struct ni_view *view, const struct ni_who *who,
                        const struct ni_diagnosis *d, const struct ni_trials *trials)
{
    const struct ni_findings *all = view->findings;
    struct ni_json json = ni_json_report(out), *j = &json;

    ni_json_text(j, "root", view->root);
    ni_json_text(j, "source", ni_source_words[view->inv->source].json);
    ni_json_text(j, "verdict", ni_readiness_words[ni_readiness_of(view, who->ready)]);
    ni_json_int(j, "errors", ni_findings_count(all, NI_ERROR));
    ni_json_int(j, "warnings", ni_findings_count(all, NI_WARNING));
    ni_json_int(j, "infos", ni_findings_count(all, NI_INFO));
    ni_json_findings(j, all);
    ni_json_int(j, "findings_dropped", all->dropped);
    ignored_json(j, d);
    checks_json(j, d);
    ni_json_devices(j, view, ni_allocated_hcas(view->inv));
    node_json(j, view->inv);
    ni_json_image(j, view);
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
