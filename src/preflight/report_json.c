/* SPDX-License-Identifier: Apache-2.0 */
/* The report of a preflight, in JSON (docs/reference/json.md). A member is never renamed or given
   another meaning without a new NI_JSON_SCHEMA; new ones may come. */
#include "preflight/report_json.h"

#include "nccl_init/base.h"
#include "nccl_init/errno.h"
#include "nccl_init/ip.h"
#include "nccl_init/text.h"
#include "preflight/job.h"
#include "preflight/report.h"
#include "print/findings.h"
#include "print/json_write.h"
#include "print/words.h"
#include "rail/step.h"

static void failure_json(struct ni_json *j, const struct ni_pair_result *x, unsigned rank)
{
    if (!x) {
        ni_json_text(j, "failure", NULL);
        return;
    }
    ni_json_object(j, "failure");
    ni_json_int(j, "round", x->round);
    ni_json_int(j, "from", x->pair.from);
    ni_json_int(j, "to", x->pair.to);
    ni_json_text(j, "step", ni_pair_step_text(x->step));
    ni_json_bool(j, "here", x->at_to == (x->pair.to == rank));
    ni_json_bool(j, "silent", x->silent);
    ni_json_text(j, "errno", ni_errno_name(x->err));
    ni_json_int_or_null(j, "wc_status", x->wc != 0, x->wc);
    ni_json_end(j);
}

/* Writes one rail of one pod: its facts, its verdict, its best rates, and its failure. */
static void rail_json(struct ni_json *j, const struct ni_job *job, unsigned rank, unsigned rail)
{
    const struct ni_rail_tally *t = ni_tally_of(job, rank, rail);
    const struct ni_pod *pod = &job->pod[rank];
    const struct ni_rail *r = &pod->rail[rail];
    char ip[NI_IP_TEXT];

    ni_json_object(j, NULL);
    ni_json_int(j, "rank", rank);
    ni_json_text(j, "host", pod->host);
    ni_json_text_or_null(j, "node", pod->node);
    ni_json_text_or_null(j, "leaf", pod->leaf);
    ni_json_int(j, "rail", rail);
    ni_json_text(j, "hca", r->hca);
    ni_json_int(j, "port", r->port);
    ni_json_text(j, "link", ni_link_words[r->link].json);
    ni_json_text_or_null(j, "netdev", r->netdev);
    ni_json_int_or_null(j, "gid_index", r->index >= 0, r->index);
    ni_json_text(j, "gid", ni_ip_is_zero(r->gid) ? NULL : ni_ip_text(r->gid, ip));
    ni_json_num(j, "mtu", r->netdev_mtu);
    ni_json_num(j, "mbps", r->mbps);
    ni_json_text(j, "verdict", ni_rail_words[t->verdict]);
    ni_json_text_or_null(j, "untried", r->untried);
    ni_json_int_or_null(j, "send_mbps", t->send.mbps > 0, t->send.mbps);
    ni_json_int_or_null(j, "receive_mbps", t->receive.mbps > 0, t->receive.mbps);
    ni_json_int_or_null(j, "latency_ns", t->latency_ns > 0, t->latency_ns);
    ni_json_int_or_null(j, "slowest_ns", t->slowest_ns > 0, t->slowest_ns);
    failure_json(j, t->failure, rank);
    ni_json_end(j);
}

static void queue_json(struct ni_json *j, unsigned number, const struct ni_queue_result *queue)
{
    ni_json_object(j, NULL);
    ni_json_int(j, "queue", number);
    ni_json_text(j, "verdict", ni_path_words[queue->verdict]);
    ni_json_text(j, "step", ni_pair_step_text(queue->step));
    ni_json_text(j, "errno", ni_errno_name(queue->err));
    ni_json_int_or_null(j, "wc_status", queue->wc != 0, queue->wc);
    ni_json_int_or_null(j, "write_mbps", queue->write_mbps > 0, queue->write_mbps);
    ni_json_int_or_null(j, "read_mbps", queue->read_mbps > 0, queue->read_mbps);
    ni_json_int_or_null(j, "slowest_ns", queue->slowest_ns > 0, queue->slowest_ns);
    ni_json_int(j, "late", queue->late);
    ni_json_int(j, "resent", queue->resent);
    ni_json_end(j);
}

/* Writes one result of a pair; its queue pairs only if one of them is not good, or if the result is
   of a second try. "again": the place in "paths" of the result that it repeats. */
static void path_json(struct ni_json *j, const struct ni_pair_result *x)
{
    const enum ni_path_verdict worst = ni_worst_path(x);

    ni_json_object(j, NULL);
    ni_json_int(j, "round", x->round);
    ni_json_bool(j, "full", x->full);
    ni_json_int_or_null(j, "again", x->again > 0, (int64_t)x->again - 1);
    ni_json_int(j, "rail", x->pair.rail);
    ni_json_int(j, "from", x->pair.from);
    ni_json_int(j, "to", x->pair.to);
    ni_json_text(j, "step", ni_pair_step_text(x->step));
    ni_json_text(j, "verdict", ni_path_words[worst]);
    ni_json_int_or_null(j, "write_mbps", x->write_mbps > 0, x->write_mbps);
    ni_json_int_or_null(j, "read_mbps", x->read_mbps > 0, x->read_mbps);
    ni_json_int_or_null(j, "slowest_ns", x->slowest_ns > 0, x->slowest_ns);
    ni_json_int(j, "resent", x->resent);
    ni_json_array(j, "queues");
    for (unsigned q = 0; q < x->n_queue && (worst != NI_PATH_GOOD || x->again > 0); q++)
        if (x->queues == 0 || (x->queues & 1U << q))
            queue_json(j, q, &x->queue[q]);
    ni_json_end(j);
    ni_json_end(j);
}

static void job_json(struct ni_json *j, const struct ni_view *view, const struct ni_job *job)
{
    ni_json_text(j, "source", job->source);
    ni_json_int(j, "ranks", job->ranks);
    for (int how = NI_POD_NEVER_CAME; how <= NI_POD_WENT_AWAY; how++) {
        ni_json_array(j, how == NI_POD_WENT_AWAY ? "lost" : "missing");
        for (unsigned p = 0; p < job->ranks; p++)
            if (job->missing[p] == how)
                ni_json_int(j, NULL, p);
        ni_json_end(j);
    }
    ni_json_int_or_null(j, "need", job->need > 0, job->need);
    for (uint8_t is = 0; is < 2; is++) {
        ni_json_array(j, is ? "drop" : "keep");
        for (unsigned p = 0; p < job->ranks && job->drop; p++)
            if (job->drop[p] == is)
                ni_json_int(j, NULL, p);
        ni_json_end(j);
    }
    ni_json_int(j, "rounds", job->rounds);
    ni_json_int(j, "pairs", job->n_result);
    ni_json_findings(j, view->findings);
    ni_json_int(j, "findings_dropped", view->findings->dropped);
    ni_json_array(j, "rails");
    for (unsigned p = 0; p < job->ranks; p++) {
        for (unsigned r = 0; r < job->n_rail; r++) {
            if (ni_has_rail(job, p, r))
                rail_json(j, job, p, r);
        }
    }
    ni_json_end(j);
    ni_json_array(j, "paths");
    for (unsigned i = 0; i < job->n_result; i++)
        path_json(j, &job->result[i]);
    ni_json_end(j);
}

void ni_put_preflight_json(struct ni_text *out, const struct ni_view *view,
                           const struct ni_verdict *verdict)
{
    struct ni_json j = ni_json_report(out);

    ni_json_text(&j, "verdict", ni_outcome_forms[verdict->outcome].word);
    ni_json_text(&j, "line", verdict->line);
    if (verdict->job)
        job_json(&j, view, verdict->job);
    ni_json_end(&j);
}
