/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of bad paths: one sentence for each rail and kind, which begins with what they have
   in common. */
#include "preflight/path_findings.h"

#include "findings/job.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/text.h"
#include "preflight/job.h"
#include "preflight/paths.h"
#include "print/words.h"
#include "rail/step.h"

enum {
    TOLD = 2, /* pairs that a sentence names */
    SUBJECT = 64
};

/* The kinds of bad paths, in the order in which they are reported. Software RDMA varies by itself:
   it is warned of. */
static const struct kind {
    ni_finding_number id;
    enum ni_path_verdict from, to; /* the verdicts that it is about */
    bool software;
} kinds[] = {
    {NI_F_JOB_PATH_BROKEN, NI_PATH_LOSSY, NI_PATH_BROKEN, false},
    {NI_F_JOB_PATH_SLOW, NI_PATH_SLOW, NI_PATH_SLOW, false},
    {NI_F_JOB_PATH_UNSTEADY, NI_PATH_LOSSY, NI_PATH_BROKEN, true},
    {NI_F_JOB_PATH_UNSTEADY, NI_PATH_SLOW, NI_PATH_SLOW, true},
    {NI_F_JOB_PATH_UNSTEADY, NI_PATH_ONCE, NI_PATH_ONCE, false},
    {NI_F_JOB_PATH_UNSTEADY, NI_PATH_ONCE, NI_PATH_ONCE, true},
};

static bool is_of(const struct kind *kind, const struct ni_queue_result *queue)
{
    return queue->verdict >= kind->from && queue->verdict <= kind->to;
}

/* Returns the number of the pair's queue pairs that are of that kind. */
static unsigned count_of_kind(const struct ni_job *job, const struct kind *kind,
                              const struct ni_pair_result *x)
{
    unsigned n = 0;

    if (x->software != kind->software || x->again != 0 ||
        (kind->from >= NI_PATH_SLOW && !ni_is_bad_path(job, x)))
        return 0;
    for (unsigned q = 0; q < x->n_queue; q++)
        n += is_of(kind, &x->queue[q]);
    return n;
}

/* Returns the last try of a pair: the one that settled it, or its first. */
static const struct ni_pair_result *last_try(const struct ni_job *job,
                                             const struct ni_pair_result *x, unsigned q)
{
    const unsigned at = (unsigned)(x - job->result);

    for (unsigned k = job->n_result; k-- > at + 1;)
        if (job->result[k].again == at + 1 && (job->result[k].queues & 1U << q))
            return &job->result[k];
    return x;
}

/* Puts how the queue pairs of that kind did: by the first of them. */
static void put_how(struct ni_text *t, const struct ni_job *job, const struct kind *kind,
                    const struct ni_pair_result *x)
{
    unsigned q = 0;

    while (!is_of(kind, &x->queue[q]))
        q++;
    const struct ni_pair_result *last = kind->from == NI_PATH_ONCE ? x : last_try(job, x, q);
    const struct ni_queue_result *queue = &last->queue[q];
    const int64_t write = x->software ? last->write_mbps : queue->write_mbps;
    const int64_t read = x->software ? last->read_mbps : queue->read_mbps;

    if (queue->step != NI_PAIR_DONE) {
        ni_put_failure(
            t, &(struct ni_pair_result){.step = queue->step, .err = queue->err, .wc = queue->wc});
    } else if (x->queue[q].verdict == NI_PATH_LOSSY && queue->late == 0) {
        ni_putf(t, "packets were sent again %u time%s alone", queue->resent,
                ni_plural(queue->resent));
    } else if (x->queue[q].verdict == NI_PATH_LOSSY) {
        ni_putf(t, "%u acknowledgement%s came late, the last after %lld ms", queue->late,
                ni_plural(queue->late), (long long)queue->slowest_ns / 1000000);
    } else {
        ni_put_speed(t, write < read ? write : read);
        ni_put(t, " Gb/s alone");
    }
}

/* Puts "trainer-1 with trainer-9: 2 of 8 queue pairs: small writes: ...". */
static void put_path(struct ni_text *t, const struct ni_job *job, const struct kind *kind,
                     const struct ni_pair_result *x)
{
    ni_put_pod(t, job, x->pair.from);
    ni_put(t, " with ");
    ni_put_pod(t, job, x->pair.to);
    ni_putf(t, ": %u of %u queue pair%s: ", count_of_kind(job, kind, x), x->n_queue,
            ni_plural(x->n_queue));
    put_how(t, job, kind, x);
}

void ni_put_leaf_of_pairs(struct ni_text *t, const struct ni_job *job, unsigned rail,
                          ni_pair_is *is)
{
    const struct ni_path_names names = ni_name_paths(job, rail, is);

    if (names.n == 0 || names.n > NI_PATH_NAMES)
        return;
    ni_putf(t, "%u of %u bad pair%s touch%s ", names.touched, names.bad, ni_plural(names.bad),
            names.touched == 1 ? "es" : "");
    ni_quote(t, names.leaf[0]);
    if (names.n == NI_PATH_NAMES) {
        ni_put(t, " or ");
        ni_quote(t, names.leaf[1]);
    }
    ni_put(t, "; ");
}

/* Reports the paths of one rail that are of that kind. */
static void report_kind(const struct ni_job *job, unsigned rail, const struct kind *kind,
                        struct ni_findings *f)
{
    struct ni_text s = NI_TEXT(SUBJECT), t = NI_TEXT(NI_FINDING_MESSAGE);
    unsigned n = 0;

    ni_putf(&s, "rail %u", rail);
    if (kind->from >= NI_PATH_SLOW)
        ni_put_leaf_of_pairs(&t, job, rail, ni_is_bad_path);
    for (unsigned k = 0; k < job->n_result; k++) {
        const struct ni_pair_result *x = &job->result[k];

        if (x->pair.rail != rail || count_of_kind(job, kind, x) == 0)
            continue;
        if (n > 0 && n < TOLD)
            ni_put(&t, ", ");
        if (n < TOLD)
            put_path(&t, job, kind, x);
        n++;
    }
    if (n == 0)
        return;
    if (n > TOLD)
        ni_putf(&t, ", and %u more pair%s", n - TOLD, ni_plural(n - TOLD));
    ni_putf(&t, "; %s",
            kind->from == NI_PATH_ONCE ? "they passed when they were tried again"
                                       : "the ports themselves are good");
    ni_report(f, kind->id, s.buf, "%s", t.buf);
}

/* Returns true if the pair passed, its paths are good, and it sent many packets again. A pair that
   failed or has a bad path has a finding already. Software RDMA loses packets when the host is
   busy. */
static bool has_resent(const struct ni_job *job, const struct ni_pair_result *x, unsigned rail)
{
    return x->pair.rail == rail && x->full && !x->software && x->step == NI_PAIR_DONE &&
           x->resent >= NI_MANY_RESENT && !ni_is_bad_path(job, x);
}

/* Reports a rail on which packets were lost while all pods moved data. */
static void report_resent(const struct ni_job *job, unsigned rail, struct ni_findings *f)
{
    struct ni_text s = NI_TEXT(SUBJECT), t = NI_TEXT(NI_FINDING_MESSAGE);
    const struct ni_pair_result *most = NULL;
    unsigned n = 0, all = 0;

    for (unsigned k = 0; k < job->n_result; k++) {
        const struct ni_pair_result *x = &job->result[k];

        all += x->full && x->pair.rail == rail;
        if (!has_resent(job, x, rail))
            continue;
        n++;
        if (!most || x->resent > most->resent)
            most = x;
    }
    if (!most)
        return;
    ni_putf(&s, "rail %u", rail);
    ni_putf(&t,
            "%u of %u pairs sent packets again while all pods moved data; most often, %lld times, ",
            n, all, (long long)most->resent);
    ni_put_pod(&t, job, most->pair.from);
    ni_put(&t, " to ");
    ni_put_pod(&t, job, most->pair.to);
    ni_report(f, NI_F_JOB_PACKETS_RESENT, s.buf, "%s", t.buf);
}

void ni_report_paths(const struct ni_job *job, struct ni_findings *f)
{
    for (size_t i = 0; i < NI_COUNT(kinds); i++)
        for (unsigned r = 0; r < job->n_rail; r++)
            report_kind(job, r, &kinds[i], f);
    for (unsigned r = 0; r < job->n_rail; r++)
        report_resent(job, r, f);
}
