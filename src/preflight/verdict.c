/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict: which pods a job keeps that asks for less than all, how it ended, and the sentence. */
#include "preflight/verdict.h"

#include <string.h>

#include "findings/job.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/text.h"
#include "preflight/hosts.h"
#include "preflight/job.h"
#include "preflight/paths.h"
#include "print/words.h"

/* ---- who is dropped ---- */

/* Returns true if the pod is not good by itself, whatever its pairs did. */
static bool is_bad_pod(const struct ni_job *job, unsigned rank)
{
    bool bad = !job->pod[rank].here || job->missing[rank] != NI_POD_CAME;

    for (unsigned r = 0; r < job->n_rail && !bad; r++) {
        const struct ni_rail_tally *t = ni_tally_of(job, rank, r);
        /* of its pairs it is asked below */
        const bool good = t->verdict == NI_RAIL_GOOD || t->verdict == NI_RAIL_PATH ||
                          t->verdict == NI_RAIL_ABSENT;

        bad = !good || t->starved || t->misled > 0;
    }
    return bad;
}

static bool is_bad_pair(const struct ni_job *job, const struct ni_pair_result *x)
{
    return ni_is_bad_path(job, x) || ni_is_failed_path(job, x);
}

/* Drops who has to do with the bad pairs of a rail: the leaf that all of them touch, if one is known,
   else both ends of each. */
static void drop_pairs(struct ni_job *job, unsigned rail)
{
    const struct ni_path_names names = ni_name_paths(job, rail, is_bad_pair);
    const bool one = names.n == 1 && names.touched == names.bad;

    for (unsigned p = 0; p < job->ranks && one; p++)
        if (job->pod[p].here && strcmp(job->pod[p].leaf, names.leaf[0]) == 0)
            job->drop[p] = 1;
    for (unsigned k = 0; k < job->n_result && !one; k++) {
        const struct ni_pair_result *x = &job->result[k];

        if (x->pair.rail != rail || !is_bad_pair(job, x))
            continue;
        job->drop[x->pair.from] = 1;
        job->drop[x->pair.to] = 1;
    }
}

void ni_find_kept(struct ni_job *job)
{
    for (unsigned p = 0; p < job->ranks; p++)
        job->drop[p] = is_bad_pod(job, p);
    for (unsigned r = 0; r < job->n_rail; r++)
        drop_pairs(job, r);
    job->kept = 0;
    for (unsigned p = 0; p < job->ranks; p++)
        job->kept += !job->drop[p];
}

/* ---- whether the others are enough ---- */

/* Returns true if the finding is about pods, ports or pairs that ni_find_kept drops. */
static bool is_dropped(ni_finding_number id)
{
    static const ni_finding_number of[] = {
        NI_F_JOB_MISSING,    NI_F_JOB_POD_LOST,        NI_F_JOB_POD_SLOW,     NI_F_JOB_RAIL_FAILED,
        NI_F_JOB_RAIL_LOSSY, NI_F_JOB_RAIL_SLOW,       NI_F_JOB_PATH_FAILED,  NI_F_JOB_PATH_BROKEN,
        NI_F_JOB_PATH_SLOW,  NI_F_JOB_NEIGHBOUR_WRONG, NI_F_JOB_RAIL_UNTRIED,
    };

    for (size_t i = 0; i < NI_COUNT(of); i++)
        if (of[i] == id)
            return true;
    return false;
}

/* Returns true if the pods that are kept are enough, and all that is wrong is wrong with pods that are
   dropped. strict: a warning counts as an error. */
static bool is_enough_kept(const struct ni_job *job, const struct ni_findings *f, bool strict)
{
    const enum ni_severity least = strict ? NI_WARNING : NI_ERROR;

    for (unsigned i = 0; i < f->n; i++)
        if (ni_finding_severity(f->at[i].id) >= least && !is_dropped(f->at[i].id))
            return false;
    /* pods meet at pod 0 in the job, too */
    return job->kept >= job->need && !job->drop[0];
}

/* ---- in words ---- */

/* Puts which pods are kept and dropped, or why the job cannot do without those that are dropped; nothing
   if all are asked for. */
static void put_kept(struct ni_text *to, const struct ni_job *job, enum ni_outcome outcome)
{
    if (job->need == 0 || !job->drop || (job->kept == job->ranks && outcome != NI_JOB_BAD))
        return;
    if (outcome != NI_JOB_BAD) {
        ni_putf(to, "%u of %u pods are kept, drop ", job->kept, job->ranks);
        ni_put_numbers(to, "rank", job->drop, job->ranks, 1);
        ni_put(to, "; ");
    } else if (job->kept < job->need) {
        ni_putf(to, "%u of %u pods are good, and %u are needed; ", job->kept, job->ranks,
                job->need);
    } else if (job->drop[0]) {
        ni_put(to, "pod 0 is not good, where the pods of the job meet; ");
    }
}

/* Puts the node of a pod: what the pod says, or Slurm, whose steps run on the node itself, of one that never
   came. Nothing is put that a shell would not take as it is. */
static void put_node(struct ni_text *to, const struct ni_job *job, unsigned rank)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
    const struct ni_pod *pod = &job->pod[rank];
    const bool slurm = strcmp(job->source, "slurm") == 0;
    struct ni_text name = NI_TEXT(NI_POD_NAME);

    if (slurm && !pod->here && job->hosts)
        ni_put_host_of(&name, job->hosts, rank);
    else if (pod->here)
        ni_put(&name, slurm ? pod->host : pod->node);
    if (!name.cut && name.buf[0] != '-' && name.buf[strspn(name.buf, letters)] == '\0')
        ni_put(to, name.buf);
}

static bool is_slurm(const struct ni_job *job)
{
    return strcmp(job->source, "slurm") == 0;
}

/* Puts what keeps the next attempt off the nodes of some pods, with `before` in front: a command, or
   an option of sbatch; nothing where no node of them is known. */
static void put_keep_off(struct ni_text *to, const struct ni_job *job,
                         bool (*is)(const struct ni_job *job, unsigned rank), const char *before)
{
    const bool slurm = is_slurm(job);
    unsigned n = 0;

    for (unsigned p = 0; p < job->ranks; p++) {
        struct ni_text node = NI_TEXT(NI_POD_NAME);

        if (is(job, p))
            put_node(&node, job, p);
        if (node.len == 0 || to->len + node.len + 32 > to->cap)
            continue;
        if (n == 0)
            ni_putf(to, "%s%s", before, slurm ? "--exclude=" : "kubectl cordon ");
        else
            ni_put(to, slurm ? "," : " ");
        ni_put(to, node.buf);
        n++;
    }
}

static bool is_dropped_pod(const struct ni_job *job, unsigned rank)
{
    return job->need > 0 && job->drop && job->drop[rank];
}

/* Returns true if a port of the pod is to blame for its pairs. */
static bool is_blamed(const struct ni_job *job, unsigned rank)
{
    bool blamed = false;

    for (unsigned r = 0; r < job->n_rail; r++) {
        const enum ni_rail_verdict v = ni_tally_of(job, rank, r)->verdict;

        blamed = blamed || v == NI_RAIL_FAILED || v == NI_RAIL_SLOW || v == NI_RAIL_LOSSY;
    }
    return blamed && job->pod[rank].here;
}

void ni_put_keep_off(struct ni_text *to, const struct ni_job *job)
{
    const size_t before = to->len;
    unsigned n = 0;

    for (unsigned p = 0; p < job->ranks; p++)
        n += is_blamed(job, p);
    if (job->need > 0 || 2 * n > job->ranks)
        return;
    put_keep_off(to, job, is_blamed, is_slurm(job) ? "Add to sbatch: " : "Run: ");
    ni_put(to, to->len > before ? "\n" : "");
}

void ni_drop_kubectl(const struct ni_job *job, struct ni_findings *f)
{
    if (!is_slurm(job))
        return;
    for (unsigned i = 0; i < f->n; i++) {
        const char *command = ni_finding_kind(f->at[i].id)->command;

        if (command && ni_has_prefix(command, "Run: kubectl "))
            f->at[i].no_command = true;
    }
}

/* ---- the verdict ---- */

enum ni_outcome ni_outcome_of(const struct ni_job *job, const struct ni_findings *f, bool strict)
{
    const unsigned warnings = strict ? ni_findings_count(f, NI_WARNING) : 0;

    if (job->need > 0 && job->drop) {
        if (!is_enough_kept(job, f, strict))
            return NI_JOB_BAD;
    } else if (ni_findings_count(f, NI_ERROR) + warnings > 0) {
        return NI_JOB_BAD;
    }
    return job->n_result > 0 ? NI_JOB_GOOD : NI_JOB_UNTESTED;
}

/* Puts who came and was refused: it may be a pod that is missing. */
static void put_who_was_refused(struct ni_text *to, const struct ni_findings *f)
{
    unsigned n = 0;

    for (unsigned i = 0; i < f->n; i++) {
        if (f->at[i].id != NI_F_JOB_REFUSED)
            continue;
        if (n == 0)
            ni_putf(to, " (refused: %s: %s", f->at[i].subject, f->at[i].message);
        n++;
    }
    if (n > 1)
        ni_putf(to, "; and %u more", n - 1);
    if (n > 0)
        ni_put(to, ")");
}

void ni_put_verdict(struct ni_text *to, const struct ni_job *job, const struct ni_findings *f,
                    enum ni_outcome outcome)
{
    const unsigned errors = ni_findings_count(f, NI_ERROR);
    const unsigned all = errors + ni_findings_count(f, NI_WARNING);
    const enum ni_severity worst = errors > 0 ? NI_ERROR : NI_WARNING;
    const struct ni_finding *first = f->at;
    unsigned came = 0, good = 0, rails = 0;

    while (all > 0 && ni_finding_severity(first->id) != worst)
        first++;
    for (unsigned p = 0; p < job->ranks; p++)
        came += job->pod[p].here;
    for (size_t i = 0; i < (size_t)job->ranks * job->n_rail; i++) {
        rails += job->tally[i].verdict > NI_RAIL_GONE;
        good += job->tally[i].verdict == NI_RAIL_GOOD;
    }
    ni_putf(to, "%s: ", ni_outcome_forms[outcome].word);
    put_kept(to, job, outcome);
    if (all > 0)
        ni_putf(to, "%s%s%s; ", first->subject, first->subject[0] ? ": " : "", first->message);
    if (all > 1)
        ni_putf(to, "and %u more finding%s; ", all - 1, ni_plural(all - 1));
    if (all == 0 && outcome == NI_JOB_UNTESTED)
        ni_put(to, "no pod of the job has a rail; ");
    ni_putf(to, "%u of %u pod%s came", came, job->ranks, ni_plural(job->ranks));
    if (came < job->ranks)
        put_who_was_refused(to, f);
    if (rails > 0)
        ni_putf(to, ", %u of %u rail%s %s good", good, rails, ni_plural(rails),
                ni_is_or_are(rails));
    put_keep_off(to, job, is_dropped_pod, is_slurm(job) ? "; sbatch " : "; ");
}
