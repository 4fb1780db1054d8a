/* SPDX-License-Identifier: Apache-2.0 */
/* Facts and settings that must be equal in all pods of a job. */
#include "rules/job_settings.h"

#include <string.h>

#include "findings/job.h"
#include "nccl_init/findings.h"

/* Settings of NCCL 2.30.7, which compares none of them: enqueue.cc, init.cc, graph/,
   transport/net_ib/, misc/socket.cc (docs/reference/preflight.md). Settings that are local to a
   node, or agreed upon by two ranks, are not here: names, indexes, time-outs. */
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
