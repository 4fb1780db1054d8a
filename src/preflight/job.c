/* SPDX-License-Identifier: Apache-2.0 */
/* Words for the pods of a job, and the facts and settings that they must have alike. */
#include "preflight/job.h"

#include <string.h>

/* Of NCCL 2.30.7, which compares none of them: enqueue.cc, init.cc, graph/, transport/net_ib/,
   misc/socket.cc (docs/preflight.md). What is local to a node, or agreed upon by two ranks, is not
   here: names, indexes, time-outs. */
#define DIFFERS NI_F_JOB_SETTING_DIFFERS
#define SLOWS   NI_F_JOB_SETTING_SLOWS
const struct ni_job_setting ni_job_settings[NI_N_JOB_SETTING] = {
    {"network", NULL, NI_F_JOB_TRANSPORT_DIFFERS},
    {"rails", NULL, NI_F_JOB_RAILS_DIFFER},
    {"GPUs", NULL, NI_F_JOB_GPUS_DIFFER},
    {"GPU driver", NULL, NI_F_JOB_SOFTWARE_DIFFERS},
    {"CPU", NULL, NI_F_JOB_CPU_DIFFERS},
    {"NCCL_ALGO", "", DIFFERS},
    {"NCCL_PROTO", "", DIFFERS},
    {"NCCL_NET", "", DIFFERS},
    {"NCCL_NET_PLUGIN", "", DIFFERS},
    {"NCCL_TUNER_PLUGIN", "", DIFFERS},
    {"NCCL_SOCKET_FAMILY", "", DIFFERS},
    {"NCCL_SOCKET_MAGIC", "", DIFFERS},
    {"NCCL_COMM_ID", "", DIFFERS},
    {"NCCL_MIN_NCHANNELS", "", DIFFERS},
    {"NCCL_MAX_NCHANNELS", "", DIFFERS},
    {"NCCL_MIN_CTAS", "", DIFFERS},
    {"NCCL_MAX_CTAS", "", DIFFERS},
    {"NCCL_NCHANNELS_PER_NET_PEER", "-1", DIFFERS},
    {"NCCL_BUFFSIZE", "4194304", DIFFERS},
    {"NCCL_LL_BUFFSIZE", "", DIFFERS},
    {"NCCL_LL128_BUFFSIZE", "", DIFFERS},
    {"NCCL_P2P_NET_CHUNKSIZE", "131072", DIFFERS},
    {"NCCL_RUNTIME_CONNECT", "1", DIFFERS},
    {"NCCL_IB_QPS_PER_CONNECTION", "1", DIFFERS},
    {"NCCL_IB_SPLIT_DATA_ON_QPS", "0", DIFFERS},
    {"NCCL_IB_RECEIVER_SIDE_MATCHING_SCHEME", "", DIFFERS},
    {"NCCL_IB_RESILIENCY_PORT_FAILOVER", "0", DIFFERS},
    {"NCCL_IB_OOO_RQ", "", DIFFERS},
    {"NCCL_CROSS_NIC", "2", SLOWS},
    {"NCCL_IB_TC", "0", SLOWS},
    {"NCCL_IB_SL", "0", SLOWS},
    {"NCCL_IB_MERGE_NICS", "1", SLOWS},
    {"NCCL_IB_SUBNET_AWARE_ROUTING", "0", SLOWS},
    {"NCCL_NVLS_ENABLE", "2", SLOWS},
    {"NCCL_COLLNET_ENABLE", "0", SLOWS},
    {"NCCL_CUMEM_ENABLE", "", SLOWS},
    {"NCCL_P2P_DISABLE", "0", SLOWS},
    {"NCCL_P2P_LEVEL", "", SLOWS},
    {"NCCL_SHM_DISABLE", "0", SLOWS},
    {"NCCL_PXN_DISABLE", "0", SLOWS},
    {"NCCL_VERSION", "", NI_F_JOB_SOFTWARE_DIFFERS}, /* of NVIDIA's images */
    {"NCCL_HOSTID", "", NI_F_JOB_HOSTID_SAME},       /* the one that must differ */
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
        [NI_PAIR_START] = "start",        [NI_PAIR_FIND] = "find",
        [NI_PAIR_OPEN] = "open",          [NI_PAIR_DEVICE] = "device",
        [NI_PAIR_PORT] = "port",          [NI_PAIR_ALLOCATE] = "allocate",
        [NI_PAIR_REGISTER] = "register",  [NI_PAIR_GID] = "gid",
        [NI_PAIR_QUEUES] = "queue pairs", [NI_PAIR_CONNECT] = "connect",
        [NI_PAIR_SMALL] = "small writes", [NI_PAIR_IDENTITY] = "identity",
        [NI_PAIR_WRITE] = "bulk writes",  [NI_PAIR_READ] = "bulk reads",
        [NI_PAIR_COMPARE] = "compare",    [NI_PAIR_DONE] = "done",
    };
    return (unsigned)step < NI_COUNT(text) ? text[step] : "?";
}

struct ni_rail_tally *ni_tally_of(const struct ni_job *job, unsigned rank, unsigned rail)
{
    return &job->tally[(size_t)rank * job->n_rail + rail];
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

void ni_put_speed(struct ni_text *t, int64_t mbps)
{
    if (mbps > 0 && mbps < 1000)
        ni_putf(t, "0.%02lld", (long long)mbps / 10);
    else if (mbps > 0)
        ni_putf(t, mbps < 10000 ? "%lld.%lld" : "%lld", (long long)mbps / 1000,
                (long long)mbps % 1000 / 100);
}

void ni_put_verdict(struct ni_text *to, const struct ni_job *job, const struct ni_findings *f,
                    bool bad)
{
    const unsigned errors = ni_findings_count(f, NI_ERROR);
    const unsigned all = errors + ni_findings_count(f, NI_WARNING);
    const enum ni_severity worst = errors > 0 ? NI_ERROR : NI_WARNING;
    const struct ni_finding *first = f->at;
    unsigned came = 0, good = 0, rails = 0;
    while (all > 0 && ni_finding_kind(first->id)->severity != worst)
        first++;
    for (unsigned p = 0; p < job->ranks; p++)
        came += job->pod[p].here;
    for (size_t i = 0; i < (size_t)job->ranks * job->n_rail; i++) {
        rails += job->tally[i].verdict > NI_RAIL_GONE;
        good += job->tally[i].verdict == NI_RAIL_GOOD;
    }
    ni_put(to, bad ? "bad: " : "good: ");
    if (all > 0)
        ni_putf(to, "%s%s%s; ", first->subject, first->subject[0] ? ": " : "", first->message);
    if (all > 1)
        ni_putf(to, "and %u more finding%s; ", all - 1, all > 2 ? "s" : "");
    ni_putf(to, "%u of %u pod%s came", came, job->ranks, job->ranks == 1 ? "" : "s");
    if (rails > 0)
        ni_putf(to, ", %u of %u rails are good", good, rails);
}
