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
