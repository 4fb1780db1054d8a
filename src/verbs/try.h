/* SPDX-License-Identifier: Apache-2.0 */
/* verbs, private: what a trial's process does, and who starts it. */
#ifndef NCCL_INIT_VERBS_TRY_H
#define NCCL_INIT_VERBS_TRY_H

#include <infiniband/verbs.h>

#include "nccl_init/verbs.h"

/* Runs in the process of one trial, and fills it in as it goes: what a killed process got to is
   known. */
typedef void ni_try_fn(const struct ni_trials *all, struct ni_trial *t);

/* One port through libibverbs. Opens, allocates and registers, and gives nothing back: the process
   ends right after it. */
ni_try_fn ni_try_port;

/* ni_trials_run with another trial. */
void ni_children_run(struct ni_trials *trials, const struct ni_trial_hooks *hooks, ni_try_fn *try);

/* Opens the device of that name (t->hca), through NI_STEP_FIND and NI_STEP_OPEN. NULL: t tells why.
   */
struct ibv_context *ni_open_device(struct ni_trial *t);

/* Two queue pairs of one port that are connected to each other, and the memory they move. */
struct ni_loop {
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_mr *mr;
    struct ibv_cq *cq;
    struct ibv_qp *qp[2];
    struct ibv_device_attr device;
    struct ibv_port_attr port;
    union ibv_gid gid;
    uint8_t *memory; /* three parts of `part` bytes: sent, written, read back */
    size_t part;
};

/* NI_STEP_QUEUES and NI_STEP_CONNECT. false: t tells why. */
bool ni_loop_connect(struct ni_loop *loop, struct ni_trial *t);
/* NI_STEP_WRITE to NI_STEP_COMPARE: `bytes` there and back. false: t tells why. */
bool ni_loop_move(struct ni_loop *loop, int64_t bytes, struct ni_trial *t);

/* Notes the errno of the step that failed; false. */
bool ni_failed(struct ni_trial *t, int err);

/* Nanoseconds of CLOCK_MONOTONIC. */
int64_t ni_now_ns(void);

#endif
