/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of memory that the container limits: locked memory, shared memory. */
#include "check.h"

/* The rule memlock.raise tells when it is too low, and why. */
enum ni_outcome ni_check_memlock(const struct ni_facts *facts, const struct ni_plan *plan,
                                 struct ni_findings *f)
{
    const struct ni_self *s = &facts->inv->self;
    if (ni_findings_has(f, NI_F_MEMLOCK_LOW) || ni_findings_has(f, NI_F_MEMLOCK_TOO_LOW))
        return NI_CHECK_FOUND;
    if (plan->n_chosen == 0)
        return NI_CHECK_IDLE;
    if (s->memlock_soft.known != NI_KNOWN || s->memlock_hard.known != NI_KNOWN)
        return NI_CHECK_UNKNOWN;
    if (plan->memlock.soft < ni_memlock_enough && ni_command_may_lock(facts))
        ni_report(f, NI_F_MEMLOCK_HARMLESS, "RLIMIT_MEMLOCK",
                  "%lld KiB, but CAP_IPC_LOCK is effective: the limit does not count",
                  (long long)(plan->memlock.soft / 1024));
    return NI_CHECK_OK;
}

/* Ranks of one node exchange what does not go over NVLink or PCIe through files there, some 10 MB
   for each connection (transport/shm.cc); runtimes give 64 MiB. */
enum ni_outcome ni_check_shm(const struct ni_facts *facts, const struct ni_plan *plan,
                             struct ni_findings *f)
{
    static const int64_t by_default = INT64_C(64) << 20, advised = INT64_C(1) << 30;
    const struct ni_num shm = facts->inv->health.shm;
    (void)plan;
    if (facts->inv->n_gpu == 0)
        return NI_CHECK_IDLE;
    if (shm.known != NI_KNOWN)
        return NI_CHECK_UNKNOWN;
    if (shm.v <= by_default && facts->inv->n_gpu > 1)
        ni_report(f, NI_F_SHM_DEFAULT, "/dev/shm",
                  "%lld MiB for %u GPUs: `Error while creating shared memory segment ... No space "
                  "left on device`, then `unhandled system error`; data loaders die of bus errors",
                  (long long)(shm.v >> 20), facts->inv->n_gpu);
    else if (shm.v < advised)
        ni_report(f, NI_F_SHM_SMALL, "/dev/shm",
                  "%lld MiB: too little for many ranks or data loaders (`No space left on device`, "
                  "bus error)",
                  (long long)(shm.v >> 20));
    return NI_CHECK_OK;
}
