/* SPDX-License-Identifier: Apache-2.0 */
/* Words and verdict of a trial. */
#include "nccl_init/trial.h"

bool ni_trial_passed(const struct ni_trial *trial)
{
    return trial->step == NI_STEP_DONE && trial->end == NI_TRIAL_ENDED;
}

unsigned ni_trials_tried(const struct ni_trials *trials)
{
    unsigned n = 0;
    for (unsigned i = 0; i < trials->n; i++)
        n += !trials->at[i].untried;
    return n;
}

unsigned ni_trials_passed(const struct ni_trials *trials)
{
    unsigned n = 0;
    for (unsigned i = 0; i < trials->n; i++)
        n += ni_trial_passed(&trials->at[i]);
    return n;
}

const char *ni_step_text(enum ni_step step)
{
    static const char *const text[NI_STEP_N] = {
        [NI_STEP_START] = "start",       [NI_STEP_FIND] = "find",
        [NI_STEP_OPEN] = "open",         [NI_STEP_DEVICE] = "device",
        [NI_STEP_PORT] = "port",         [NI_STEP_GID] = "gid",
        [NI_STEP_ALLOCATE] = "allocate", [NI_STEP_REGISTER] = "register",
        [NI_STEP_QUEUES] = "queues",     [NI_STEP_CONNECT] = "connect",
        [NI_STEP_WRITE] = "write",       [NI_STEP_READ] = "read",
        [NI_STEP_COMPARE] = "compare",   [NI_STEP_DONE] = "done",
    };
    return text[step];
}

const char *ni_wc_name(int status)
{
    static const char *const name[] = {
        "IBV_WC_SUCCESS",           "IBV_WC_LOC_LEN_ERR",
        "IBV_WC_LOC_QP_OP_ERR",     "IBV_WC_LOC_EEC_OP_ERR",
        "IBV_WC_LOC_PROT_ERR",      "IBV_WC_WR_FLUSH_ERR",
        "IBV_WC_MW_BIND_ERR",       "IBV_WC_BAD_RESP_ERR",
        "IBV_WC_LOC_ACCESS_ERR",    "IBV_WC_REM_INV_REQ_ERR",
        "IBV_WC_REM_ACCESS_ERR",    "IBV_WC_REM_OP_ERR",
        "IBV_WC_RETRY_EXC_ERR",     "IBV_WC_RNR_RETRY_EXC_ERR",
        "IBV_WC_LOC_RDD_VIOL_ERR",  "IBV_WC_REM_INV_RD_REQ_ERR",
        "IBV_WC_REM_ABORT_ERR",     "IBV_WC_INV_EECN_ERR",
        "IBV_WC_INV_EEC_STATE_ERR", "IBV_WC_FATAL_ERR",
        "IBV_WC_RESP_TIMEOUT_ERR",  "IBV_WC_GENERAL_ERR",
    };
    return status >= 0 && status < (int)NI_COUNT(name) ? name[status] : NULL;
}
