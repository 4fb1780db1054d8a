/* SPDX-License-Identifier: Apache-2.0 */
/* What a preflight found, for people: the sentence, the findings, the rails, and what was not tried.
   Up to 32 pods each has a line; beyond, each rail has one, and those that are not good. */
#include "preflight.h"
#include "parts.h"

#include <stdlib.h>
#include <string.h>

enum { PODS_SHOWN = 32, OUTLIERS_SHOWN = 20, RAILS_ABREAST = 8 };

const char *const ni_word_rail[] = {
    [NI_RAIL_ABSENT] = "absent", [NI_RAIL_UNTRIED] = "untried", [NI_RAIL_GOOD] = "good",
    [NI_RAIL_SLOW] = "slow",     [NI_RAIL_FAILED] = "failed",   [NI_RAIL_PATH] = "path",
};

/* ---- what was measured ---- */

static void take_max(int64_t *to, int64_t v)
{
    *to = v > *to ? v : *to;
}

struct ni_job_cell *ni_job_cells(const struct ni_job *job)
{
    const size_t n = (size_t)job->ranks * job->n_rail;
    struct ni_job_cell *cell = calloc(n > 0 ? n : 1, sizeof(*cell));
    for (unsigned i = 0; cell && i < job->n_result; i++) {
        const struct ni_pair_result *x = &job->result[i];
        struct ni_job_cell *from = &cell[(size_t)x->pair.from * job->n_rail + x->pair.rail];
        struct ni_job_cell *to = &cell[(size_t)x->pair.to * job->n_rail + x->pair.rail];
        if (x->step != NI_PAIR_DONE) {
            from->first = from->first ? from->first : x;
            to->first = to->first ? to->first : x;
            continue;
        }
        take_max(&from->send_mbps, x->write_mbps);
        take_max(&from->receive_mbps, x->read_mbps);
        take_max(&to->send_mbps, x->read_mbps);
        take_max(&to->receive_mbps, x->write_mbps);
        from->latency_ns = from->latency_ns ? from->latency_ns : x->latency_ns;
        take_max(&from->slowest_ns, x->slowest_ns);
    }
    return cell;
}

int64_t ni_job_speed(const struct ni_job_cell *cell)
{
    return cell->send_mbps < cell->receive_mbps ? cell->send_mbps : cell->receive_mbps;
}

/* ---- tables ---- */

void ni_put_speed(struct ni_text *t, int64_t mbps)
{
    if (mbps > 0 && mbps < 1000)
        ni_putf(t, "0.%02lld", (long long)mbps / 10);
    else if (mbps > 0)
        ni_putf(t, mbps < 10000 ? "%lld.%lld" : "%lld", (long long)mbps / 1000,
                (long long)mbps % 1000 / 100);
}

static enum ni_tint tint_of(uint8_t verdict)
{
    static const enum ni_tint tint[] = {
        [NI_RAIL_ABSENT] = NI_DIM,  [NI_RAIL_UNTRIED] = NI_DIM, [NI_RAIL_GOOD] = NI_PLAIN,
        [NI_RAIL_SLOW] = NI_YELLOW, [NI_RAIL_FAILED] = NI_RED,  [NI_RAIL_PATH] = NI_YELLOW,
    };
    return tint[verdict];
}

/* Of the pod's rails; a pod that is missing is as bad as one that failed. */
static uint8_t worst_of(const struct ni_job_view *view, unsigned rank)
{
    const uint8_t *v = &view->verdicts[(size_t)rank * view->job->n_rail];
    uint8_t worst = view->job->missing[rank] ? NI_RAIL_FAILED : NI_RAIL_GOOD;
    for (unsigned r = 0; r < view->job->n_rail; r++) {
        if (v[r] == NI_RAIL_FAILED || (v[r] > worst && worst != NI_RAIL_FAILED))
            worst = v[r];
    }
    return worst;
}

static void put_pod_cells(struct ni_text *t, const struct ni_job *job, unsigned rank)
{
    const struct ni_pod *pod = &job->pod[rank];
    ni_putf(t, "%u\t", rank);
    ni_quote(t, pod->here ? pod->host : "");
    ni_put(t, "\t");
    ni_quote(t, pod->here ? pod->node : "");
}

/* The slower direction of each rail. */
static void put_matrix(struct ni_text *out, const struct ni_job_view *view,
                       const struct ni_job_cell *cells, unsigned first)
{
    const struct ni_job *job = view->job;
    const unsigned end = first + RAILS_ABREAST < job->n_rail ? first + RAILS_ABREAST : job->n_rail;
    struct ni_text table = ni_table_on("RANK\tPOD\tNODE");
    for (unsigned r = first; r < end; r++)
        ni_putf(&table, "\tRAIL %u", r);
    for (unsigned p = 0; p < job->ranks; p++) {
        static const char *const came[] = {"", "never came", "went away"};
        struct ni_text *t = ni_row(&table, tint_of(worst_of(view, p)));
        put_pod_cells(t, job, p);
        for (unsigned r = first; r < end; r++) {
            const size_t at = (size_t)p * job->n_rail + r;
            const uint8_t v = view->verdicts[at];
            const int64_t mbps = ni_job_speed(&cells[at]);
            ni_put(t, "\t");
            if (job->missing[p]) {
                ni_put(t, r == first ? came[job->missing[p]] : "");
                continue;
            }
            ni_put_speed(t, v == NI_RAIL_GOOD || v == NI_RAIL_SLOW ? mbps : 0);
            if (v != NI_RAIL_ABSENT && (v != NI_RAIL_GOOD || mbps == 0))
                ni_putf(t, "%s%s", mbps > 0 && v == NI_RAIL_SLOW ? " " : "", ni_word_rail[v]);
        }
    }
    ni_table_write(out, &table, view->colour);
}

static int by_speed(const void *x, const void *y)
{
    const int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return (a > b) - (a < b);
}

/* A line for each rail: how many pods it is good in, and how fast it is. */
static void put_rails(struct ni_text *out, const struct ni_job_view *view,
                      const struct ni_job_cell *cells)
{
    const struct ni_job *job = view->job;
    int64_t *speeds = malloc(job->ranks * sizeof(*speeds));
    struct ni_text table =
        ni_table_on("RAIL\tGOOD\tSLOW\tFAILED\tPATH\tUNTRIED\tABSENT\tSLOWEST\tMEDIAN\tFASTEST");
    for (unsigned r = 0; speeds && r < job->n_rail; r++) {
        unsigned n[NI_RAIL_PATH + 1] = {0}, k = 0;
        for (unsigned p = 0; p < job->ranks; p++) {
            const size_t at = (size_t)p * job->n_rail + r;
            n[view->verdicts[at]]++;
            if (ni_job_speed(&cells[at]) > 0)
                speeds[k++] = ni_job_speed(&cells[at]);
        }
        qsort(speeds, k, sizeof(*speeds), by_speed);
        struct ni_text *t = ni_row(&table, n[NI_RAIL_FAILED] ? NI_RED : NI_PLAIN);
        ni_putf(t, "%u\t%u\t%u\t%u\t%u\t%u\t%u\t", r, n[NI_RAIL_GOOD], n[NI_RAIL_SLOW],
                n[NI_RAIL_FAILED], n[NI_RAIL_PATH], n[NI_RAIL_UNTRIED], n[NI_RAIL_ABSENT]);
        ni_put_speed(t, k ? speeds[0] : 0);
        ni_put(t, "\t");
        ni_put_speed(t, k ? speeds[k / 2] : 0);
        ni_put(t, "\t");
        ni_put_speed(t, k ? speeds[k - 1] : 0);
    }
    ni_table_write(out, &table, view->colour);
    free(speeds);
}

static unsigned count_alike(const struct ni_job_view *view, unsigned rail, uint8_t verdict)
{
    unsigned n = 0;
    for (unsigned p = 0; p < view->job->ranks; p++)
        n += view->verdicts[(size_t)p * view->job->n_rail + rail] == verdict;
    return n;
}

static void put_outliers(struct ni_text *out, const struct ni_job_view *view,
                         const struct ni_job_cell *cells)
{
    const struct ni_job *job = view->job;
    const size_t n = (size_t)job->ranks * job->n_rail;
    unsigned shown = 0;
    struct ni_text table = ni_table_on("RANK\tPOD\tNODE\tRAIL\tHCA\tRESULT\tSENDS\tRECEIVES");
    for (size_t i = 0; i < n && shown <= OUTLIERS_SHOWN; i++) {
        const unsigned p = (unsigned)(i / job->n_rail), r = (unsigned)(i % job->n_rail);
        const uint8_t v = view->verdicts[i];
        if (v == NI_RAIL_GOOD || v == NI_RAIL_ABSENT || 2 * count_alike(view, r, v) > job->ranks)
            continue; /* of a whole rail the table above tells */
        if (shown++ == OUTLIERS_SHOWN)
            break;
        struct ni_text *t = ni_row(&table, tint_of(v));
        put_pod_cells(t, job, p);
        ni_putf(t, "\t%u\t", r);
        ni_quote(t, job->pod[p].rail[r].hca);
        ni_putf(t, "/%u\t%s\t", job->pod[p].rail[r].port, ni_word_rail[v]);
        ni_put_speed(t, cells[i].send_mbps);
        ni_put(t, "\t");
        ni_put_speed(t, cells[i].receive_mbps);
    }
    if (shown == 0) {
        ni_free_text(&table);
        return;
    }
    ni_put(out, "\nRails that are not good\n");
    ni_table_write(out, &table, view->colour);
    if (shown > OUTLIERS_SHOWN)
        ni_put(out, "  and more\n");
}

/* ---- all of it ---- */

static void put_tried(struct ni_text *out, const struct ni_job *job)
{
    unsigned passed = 0;
    for (unsigned i = 0; i < job->n_result; i++)
        passed += job->result[i].step == NI_PAIR_DONE;
    ni_putf(out, "\n%u of %u pair%s passed in %u round%s", passed, job->n_result,
            ni_plural(job->n_result), job->rounds, ni_plural(job->rounds));
    ni_put(out, job->ranks > 3
                    ? ": each rail with that of the next pod, and of the pod half the job "
                      "away\n"
                    : ": each rail with that of the next pod\n");
    ni_put(out,
           "Not tried: pairs of different rails, GPU memory, and other paths that a switch may "
           "choose\n");
}

void ni_put_preflight(struct ni_text *out, const struct ni_job_view *view)
{
    const struct ni_view shown = {.findings = view->findings, .colour = view->colour};
    const struct ni_job *job = view->job;
    struct ni_job_cell *cells = ni_job_cells(job);
    char line[1024];
    struct ni_text sentence = ni_text_on(line, sizeof(line));
    ni_put_verdict(&sentence, job, view->verdicts, view->findings, view->bad);
    ni_put(out, "preflight: ");
    ni_quote(out, line);
    ni_put(out, "\n");
    ni_put_findings(out, &shown, NI_INFO);
    if (view->findings->dropped > 0)
        ni_putf(out, "\n%u more findings are not shown\n", view->findings->dropped);
    if (cells && job->n_rail > 0) {
        ni_put(out, job->measured ? "\nRails, Gb/s in the slower direction\n" : "\nRails\n");
        for (unsigned r = 0; job->ranks <= PODS_SHOWN && r < job->n_rail; r += RAILS_ABREAST)
            put_matrix(out, view, cells, r);
        if (job->ranks > PODS_SHOWN) {
            put_rails(out, view, cells);
            put_outliers(out, view, cells);
        }
    }
    if (job->n_result > 0)
        put_tried(out, job);
    free(cells);
}
