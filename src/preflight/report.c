/* SPDX-License-Identifier: Apache-2.0 */
/* The report of a preflight, for people: the sentence, the findings, the rails, and what was not
   tried. Up to 32 pods each has a line; beyond, only those that are not good. */
#include "preflight/report.h"

#include "cli/flow.h"
#include "nccl_init/findings.h"
#include "nccl_init/text.h"
#include "preflight/job.h"
#include "preflight/verdict.h"
#include "print/answer.h"
#include "print/findings.h"
#include "print/layout.h"
#include "print/words.h"
#include "rail/step.h"

enum { PODS_SHOWN = 32 };

const char *const ni_rail_words[] = {
    [NI_RAIL_ABSENT] = "absent", [NI_RAIL_GONE] = "gone",   [NI_RAIL_UNTRIED] = "untried",
    [NI_RAIL_GOOD] = "good",     [NI_RAIL_SLOW] = "slow",   [NI_RAIL_PATH] = "path",
    [NI_RAIL_FAILED] = "failed", [NI_RAIL_LOSSY] = "lossy",
};

const char *const ni_path_words[] = {
    [NI_PATH_GOOD] = "good", [NI_PATH_SUSPECT] = "suspect", [NI_PATH_ONCE] = "once",
    [NI_PATH_SLOW] = "slow", [NI_PATH_LOSSY] = "lossy",     [NI_PATH_BROKEN] = "broken",
};

enum ni_path_verdict ni_worst_path(const struct ni_pair_result *x)
{
    enum ni_path_verdict worst = NI_PATH_GOOD;

    for (unsigned q = 0; q < x->n_queue; q++)
        if (x->queue[q].verdict > worst)
            worst = x->queue[q].verdict;
    return worst;
}

struct ni_flow ni_slower_flow(const struct ni_rail_tally *t)
{
    return t->send.mbps < t->receive.mbps ? t->send : t->receive;
}

static bool is_outlier(const struct ni_job *job, unsigned rank)
{
    bool ret = false;

    for (unsigned r = 0; r < job->n_rail; r++) {
        const enum ni_rail_verdict v = ni_tally_of(job, rank, r)->verdict;

        ret = ret || (v != NI_RAIL_GOOD && v != NI_RAIL_ABSENT);
    }
    return ret;
}

static void put_rail_mark(struct ni_text *t, const struct ni_rail_tally *y)
{
    const int64_t mbps = y->verdict == NI_RAIL_GONE ? 0 : ni_slower_flow(y).mbps;

    ni_put_speed(t, mbps);
    if (y->verdict != NI_RAIL_ABSENT && (y->verdict != NI_RAIL_GOOD || mbps == 0))
        ni_putf(t, "%s%s", mbps > 0 ? " " : "", ni_rail_words[y->verdict]);
}

/* Puts the table of the pods: rank, name, node, and one mark for each rail. */
static void put_pod_table(struct ni_text *out, const struct ni_job *job, bool colour)
{
    const bool many = job->ranks > PODS_SHOWN;
    struct ni_text table = ni_table_on("RANK\tPOD\tNODE");
    unsigned shown = 0, more = 0;

    for (unsigned r = 0; r < job->n_rail; r++)
        ni_putf(&table, "\tRAIL %u", r);
    for (unsigned p = 0; p < job->ranks; p++) {
        const struct ni_pod *pod = &job->pod[p];
        const bool outlier = is_outlier(job, p);

        if (many && (!outlier || shown == PODS_SHOWN)) {
            more += outlier;
            continue;
        }
        struct ni_text *t = ni_row(&table, outlier ? NI_RED : NI_PLAIN);
        shown++;
        ni_putf(t, "%u\t", p);
        ni_quote(t, pod->here ? pod->host : "");
        ni_put(t, "\t");
        ni_quote(t, pod->here ? pod->node : "");
        for (unsigned r = 0; r < job->n_rail; r++)
            put_rail_mark(ni_cell(t), ni_tally_of(job, p, r));
    }
    if (shown == 0) {
        ni_free_text(&table);
        return;
    }
    ni_putf(out, "\n%s, Gb/s in the slower direction\n", many ? "Pods that are not good" : "Rails");
    ni_table_write(out, &table, colour);
    if (more > 0)
        ni_putf(out, "  and %u more\n", more);
}

/* Puts how many pairs passed, and what nobody tried. */
static void put_pairs(struct ni_text *out, const struct ni_job *job)
{
    struct ni_text line = NI_TEXT(256);
    unsigned passed = 0;

    if (job->n_result == 0)
        return;
    for (unsigned i = 0; i < job->n_result; i++)
        passed += job->result[i].step == NI_PAIR_DONE;
    ni_putf(&line, "%u of %u pair%s passed in %u round%s: each rail with that of the next pod%s",
            passed, job->n_result, ni_plural(job->n_result), job->rounds, ni_plural(job->rounds),
            job->ranks > 3 ? ", and of the pod half the job away" : "");
    ni_put_line(out, line.buf);
    ni_put_line(out,
                "Not tried: pairs of different rails, GPU memory, and paths that no queue pair "
                "took");
}

void ni_put_preflight(struct ni_text *out, const struct ni_view *view,
                      const struct ni_verdict *verdict)
{
    const struct ni_job *job = verdict->job;

    ni_put(out, "preflight: ");
    ni_quote(out, verdict->line);
    ni_put(out, "\n");
    if (!job)
        return;
    ni_put_findings(out, view, NI_INFO);
    if (job->n_rail > 0)
        put_pod_table(out, job, view->colour);
    ni_put(out, job->n_result > 0 ? "\n" : "");
    put_pairs(out, job);
}

static enum ni_tint tint_of(enum ni_outcome outcome)
{
    if (outcome == NI_JOB_GOOD)
        return NI_GREEN;
    return outcome == NI_JOB_BAD ? NI_RED : NI_YELLOW;
}

void ni_put_preflight_answer(struct ni_text *out, const struct ni_view *view,
                             const struct ni_verdict *verdict)
{
    const struct ni_job *job = verdict->job;
    struct ni_text line = NI_TEXT(sizeof(verdict->line) + 16), below = NI_TEXT(4096);

    if (!job) {
        ni_put_preflight(out, view, verdict);
        return;
    }
    ni_putf(&line, "preflight: %s", verdict->line);
    put_pairs(&below, job);
    ni_put_keep_off(&below, job);
    ni_put_answer(out, view,
                  &(struct ni_answer){
                      .verdict = line.buf,
                      .tint = tint_of(verdict->outcome),
                      .above = "",
                      .below = below.buf,
                      .all = "nccl-init preflight --all",
                  });
}
