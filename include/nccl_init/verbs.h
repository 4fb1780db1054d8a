/* SPDX-License-Identifier: Apache-2.0 */
/* verbs: the only code that uses libibverbs. Never on the way of a plain `run`: sysfs decides, verbs
   confirm. */
#ifndef NCCL_INIT_VERBS_H
#define NCCL_INIT_VERBS_H

#include "nccl_init/trial.h"

/* How many RDMA devices libibverbs and its providers see on this machine, or -errno (-ENOSYS: the
   kernel has no RDMA). */
int ni_verbs_devices(void);

/* A table of trials, zeroed, in memory that child processes share; NULL and errno: there is none to
   be had. The caller fills in what to try and gives it back with ni_trials_unmap. */
struct ni_trials *ni_trials_map(void);
void ni_trials_unmap(struct ni_trials *trials); /* NULL: nothing to do */

struct ni_trial_hooks {
    void (*in_child)(void *arg); /* first thing in each trial's process; or NULL */
    /* Every tenth of a second while trials run; or NULL. */
    void (*progress)(const struct ni_trials *trials, void *arg);
    /* Sleeps so long. true: the trials that still run are killed now. */
    bool (*sleep)(int64_t ms, void *arg);
    void *arg;
};

/* Tries all ports at once, each in a process of its own, so that one that hangs or crashes holds
   nobody. Returns when all ended, after limit_ms at most and a second for what hangs to be killed;
   what does not die even then is stuck in the kernel (end is NI_TRIAL_STUCK) and is left. Besides
   that nothing is left behind: no process, descriptor, mapping, pending signal; signal mask and
   dispositions are not touched. */
void ni_trials_run(struct ni_trials *trials, const struct ni_trial_hooks *hooks);

#endif
