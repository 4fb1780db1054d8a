/* SPDX-License-Identifier: Apache-2.0 */
/* What a preflight found, for programs (docs/preflight.md). A member is never renamed or given
   another meaning without a new NI_JSON_SCHEMA; new ones may come. */
#include <stdlib.h>

#include "parts.h"
#include "preflight.h"

static const char *const step_word[] = {
    [NI_PAIR_START] = "start", [NI_PAIR_QUEUES] = "queues",     [NI_PAIR_CONNECT] = "connect",
    [NI_PAIR_SMALL] = "small", [NI_PAIR_IDENTITY] = "identity", [NI_PAIR_WRITE] = "write",
    [NI_PAIR_READ] = "read",   [NI_PAIR_COMPARE] = "compare",   [NI_PAIR_DONE] = "done",
};

static void ranks_json(struct ni_json *j, const char *key, const struct ni_job *job, uint8_t how)
{
    ni_json_array(j, key);
    for (unsigned p = 0; p < job->ranks; p++) {
        if (job->missing[p] == how)
            ni_json_int(j, NULL, p);
    }
    ni_json_end(j);
}

static void failure_json(struct ni_json *j, const struct ni_pair_result *x, unsigned rank)
{
    if (!x) {
        ni_json_null(j, "failure");
        return;
    }
    const char *name = ni_errno_name(x->err);
    ni_json_object(j, "failure");
    ni_json_int(j, "round", x->round);
    ni_json_int(j, "from", x->pair.from);
    ni_json_int(j, "to", x->pair.to);
    ni_json_text(j, "step", step_word[x->step]);
    ni_json_bool(j, "here", x->at_to == (x->pair.to == rank));
    ni_json_bool(j, "silent", x->silent);
    if (name)
        ni_json_text(j, "errno", name);
    else
        ni_json_int_or_null(j, "errno", x->err != 0, x->err);
    ni_json_int_or_null(j, "wc_status", x->wc != 0, x->wc);
    ni_json_end(j);
}

static void measured_json(struct ni_json *j, const char *key, int64_t v)
{
    ni_json_int_or_null(j, key, v > 0, v);
}

static void rail_json(struct ni_json *j, const struct ni_job_view *view, unsigned rank,
                      unsigned rail, const struct ni_job_cell *cell)
{
    const struct ni_pod *pod = &view->job->pod[rank];
    const struct ni_rail *r = &pod->rail[rail];
    char ip[NI_IP_TEXT];
    ni_json_object(j, NULL);
    ni_json_int(j, "rank", rank);
    ni_json_text(j, "host", pod->host);
    ni_json_text_or_null(j, "node", pod->node);
    ni_json_int(j, "rail", rail);
    ni_json_text(j, "hca", r->hca);
    ni_json_int(j, "port", r->port);
    ni_json_link(j, r->link);
    ni_json_text_or_null(j, "netdev", r->netdev);
    ni_json_int_or_null(j, "gid_index", r->index >= 0, r->index);
    ni_json_text(j, "gid", ni_ip_is_zero(r->gid) ? NULL : ni_ip_text(r->gid, ip));
    ni_json_num(j, "mtu", r->netdev_mtu);
    ni_json_num(j, "mbps", r->mbps);
    ni_json_text(j, "verdict",
                 ni_word_rail[view->verdicts[(size_t)rank * view->job->n_rail + rail]]);
    ni_json_text_or_null(j, "untried", r->untried);
    measured_json(j, "send_mbps", cell->send_mbps);
    measured_json(j, "receive_mbps", cell->receive_mbps);
    measured_json(j, "latency_ns", cell->latency_ns);
    measured_json(j, "slowest_ns", cell->slowest_ns);
    failure_json(j, cell->first, rank);
    ni_json_end(j);
}

void ni_put_preflight_json(struct ni_text *out, const struct ni_job_view *view)
{
    const struct ni_job *job = view->job;
    struct ni_job_cell *cells = ni_job_cells(job);
    struct ni_json json = ni_json_report(out), *j = &json;
    char line[1024];
    struct ni_text t = ni_text_on(line, sizeof(line));
    ni_put_verdict(&t, job, view->verdicts, view->findings, view->bad);
    ni_json_text(j, "verdict", view->bad ? "bad" : "good");
    ni_json_text(j, "line", line);
    ni_json_text(j, "source", job->source);
    ni_json_int(j, "ranks", job->ranks);
    ranks_json(j, "missing", job, NI_POD_NEVER_CAME);
    ranks_json(j, "lost", job, NI_POD_WENT_AWAY);
    ni_json_int(j, "rounds", job->rounds);
    ni_json_int(j, "pairs", job->n_result);
    ni_json_findings(j, view->findings);
    ni_json_int(j, "findings_dropped", view->findings->dropped);
    ni_json_array(j, "rails");
    for (unsigned p = 0; cells && p < job->ranks; p++) {
        for (unsigned r = 0; job->pod[p].here && r < job->pod[p].n_rail; r++)
            rail_json(j, view, p, r, &cells[(size_t)p * job->n_rail + r]);
    }
    ni_json_end(j);
    ni_json_end(j);
    free(cells);
}
