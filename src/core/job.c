/* SPDX-License-Identifier: Apache-2.0 */
/* Words for the pods of a job, and the settings that they must have alike. */
#include "nccl_init/job.h"

#include <string.h>

/* Of NCCL 2.30.7, which compares none of them: enqueue.cc, init.cc, graph/, transport/net_ib/,
   misc/socket.cc (docs/preflight.md). What is local to a node, or agreed upon by two ranks, is not
   here: names, indexes, time-outs. */
#define DIFFERS(name, otherwise)                         \
    {                                                    \
        name, otherwise, NI_F_JOB_SETTING_DIFFERS, false \
    }
#define SLOWS(name, otherwise)                         \
    {                                                  \
        name, otherwise, NI_F_JOB_SETTING_SLOWS, false \
    }
const struct ni_job_setting ni_job_settings[NI_N_JOB_SETTING] = {
    {"NCCL_ALGO", "", NI_F_JOB_SETTING_DIFFERS, true},
    {"NCCL_PROTO", "", NI_F_JOB_SETTING_DIFFERS, true},
    {"NCCL_NET", "", NI_F_JOB_SETTING_DIFFERS, true},
    DIFFERS("NCCL_NET_PLUGIN", ""),
    DIFFERS("NCCL_TUNER_PLUGIN", ""),
    DIFFERS("NCCL_SOCKET_FAMILY", ""),
    DIFFERS("NCCL_SOCKET_MAGIC", ""),
    DIFFERS("NCCL_COMM_ID", ""),
    DIFFERS("NCCL_MIN_NCHANNELS", ""),
    DIFFERS("NCCL_MAX_NCHANNELS", ""),
    DIFFERS("NCCL_MIN_CTAS", ""),
    DIFFERS("NCCL_MAX_CTAS", ""),
    DIFFERS("NCCL_NCHANNELS_PER_NET_PEER", "-1"),
    DIFFERS("NCCL_BUFFSIZE", "4194304"),
    DIFFERS("NCCL_LL_BUFFSIZE", ""),
    DIFFERS("NCCL_LL128_BUFFSIZE", ""),
    DIFFERS("NCCL_P2P_NET_CHUNKSIZE", "131072"),
    DIFFERS("NCCL_RUNTIME_CONNECT", "1"),
    DIFFERS("NCCL_IB_QPS_PER_CONNECTION", "1"),
    DIFFERS("NCCL_IB_SPLIT_DATA_ON_QPS", "0"),
    DIFFERS("NCCL_IB_RECEIVER_SIDE_MATCHING_SCHEME", ""),
    DIFFERS("NCCL_IB_RESILIENCY_PORT_FAILOVER", "0"),
    DIFFERS("NCCL_IB_OOO_RQ", ""),
    SLOWS("NCCL_CROSS_NIC", "2"),
    SLOWS("NCCL_IB_TC", "0"),
    SLOWS("NCCL_IB_SL", "0"),
    SLOWS("NCCL_IB_MERGE_NICS", "1"),
    SLOWS("NCCL_IB_SUBNET_AWARE_ROUTING", "0"),
    SLOWS("NCCL_NVLS_ENABLE", "2"),
    SLOWS("NCCL_COLLNET_ENABLE", "0"),
    SLOWS("NCCL_CUMEM_ENABLE", ""),
    SLOWS("NCCL_P2P_DISABLE", "0"),
    SLOWS("NCCL_P2P_LEVEL", ""),
    SLOWS("NCCL_SHM_DISABLE", "0"),
    SLOWS("NCCL_PXN_DISABLE", "0"),
    {"NCCL_HOSTID", "", NI_F_JOB_HOSTID_SAME, false}, /* the one that must differ */
};

const struct ni_job_setting *ni_find_job_setting(const char *name)
{
    for (unsigned i = 0; i < NI_N_JOB_SETTING; i++) {
        if (strcmp(ni_job_settings[i].name, name) == 0)
            return &ni_job_settings[i];
    }
    return NULL;
}

const char *ni_pair_step_text(enum ni_pair_step step)
{
    static const char *const text[] = {
        [NI_PAIR_START] = "start",       [NI_PAIR_QUEUES] = "queue pairs",
        [NI_PAIR_CONNECT] = "connect",   [NI_PAIR_SMALL] = "small writes",
        [NI_PAIR_IDENTITY] = "identity", [NI_PAIR_WRITE] = "bulk writes",
        [NI_PAIR_READ] = "bulk reads",   [NI_PAIR_COMPARE] = "compare",
        [NI_PAIR_DONE] = "done",
    };
    return (unsigned)step < NI_COUNT(text) ? text[step] : "?";
}

void ni_put_pod(struct ni_text *to, const struct ni_job *job, unsigned rank)
{
    const struct ni_pod *pod = &job->pod[rank];
    if (!pod->here || !pod->host[0]) {
        ni_putf(to, "rank %u", rank);
        return;
    }
    ni_quote(to, pod->host);
    if (pod->node[0] && strcmp(pod->node, pod->host) != 0) {
        ni_put(to, " (");
        ni_quote(to, pod->node);
        ni_put(to, ")");
    }
}

/* The first of the worst kind. */
static const struct ni_finding *worst_of(const struct ni_findings *f)
{
    const struct ni_finding *worst = NULL;
    for (unsigned i = 0; i < f->n; i++) {
        const enum ni_severity s = ni_finding_kind(f->at[i].id)->severity;
        if (s > NI_INFO && (!worst || s > ni_finding_kind(worst->id)->severity))
            worst = &f->at[i];
    }
    return worst;
}

void ni_put_verdict(struct ni_text *to, const struct ni_job *job, const uint8_t *verdicts,
                    const struct ni_findings *f, bool bad)
{
    const struct ni_finding *worst = worst_of(f);
    const unsigned others = ni_findings_count(f, NI_ERROR) + ni_findings_count(f, NI_WARNING);
    unsigned came = 0, good = 0, rails = 0;
    for (unsigned p = 0; p < job->ranks; p++)
        came += job->pod[p].here;
    for (size_t i = 0; i < (size_t)job->ranks * job->n_rail; i++) {
        rails += verdicts[i] != NI_RAIL_ABSENT;
        good += verdicts[i] == NI_RAIL_GOOD;
    }
    ni_put(to, bad ? "bad: " : "good: ");
    if (worst) {
        ni_putf(to, "%s%s%s", worst->subject, worst->subject[0] ? ": " : "", worst->message);
        if (others > 1)
            ni_putf(to, "; and %u more finding%s", others - 1, others > 2 ? "s" : "");
        ni_put(to, "; ");
    }
    ni_putf(to, "%u of %u pod%s came", came, job->ranks, job->ranks == 1 ? "" : "s");
    if (rails > 0)
        ni_putf(to, ", %u of %u rails are good", good, rails);
}
