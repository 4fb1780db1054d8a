/* SPDX-License-Identifier: Apache-2.0 */
/* selftest: each port of the pod talks to itself. */
#ifndef NCCL_INIT_SELFTEST_SELFTEST_H
#define NCCL_INIT_SELFTEST_SELFTEST_H

#include "cli/cli.h"
#include "nccl_init/text.h"
#include "print/json.h"
#include "print/report.h"
#include "rail/rails.h"
#include "rules/rules.h"

/* All trials of one run. */
struct ni_trials {
    unsigned n, passed;                     /* counted by decide/ */
    int at[NI_MAX_RAILS];                   /* the port in the inventory */
    struct ni_rail_task task[NI_MAX_RAILS]; /* result[NI_ROLE_FROM]: how it went */
    int64_t size;                           /* bytes of memory registered by each */
    int64_t bytes;                          /* written, and read back, by each */
    int64_t limit_ms;                       /* for all */
    int64_t took_ms;
    int64_t memlock; /* soft RLIMIT_MEMLOCK; -1: unknown */
};

/* ---- trials.c: pure ---- */

/* Whether NCCL will use RDMA if it can; false where the user chose something else. */
bool ni_wants_trials(const struct ni_work *w);
/* What a self-test is to try: the chosen ports with the index that NCCL will use, then ports that
   were given to the pod by name and cannot be used. ret must be zeroed. */
void ni_plan_trials(const struct ni_work *w, struct ni_trials *ret);
/* What ended trials mean: a finding for each that did not pass, and for what the device says
   otherwise than sysfs. An inventory that was gathered for doctor tells more. */
void ni_judge_trials(const struct ni_work *w, struct ni_trials *all);

/* ---- selftest.c ---- */

/* Runs each trial by `fn`, in a process of its own. Returns when all have ended, after all->limit_ms at
   most and a second for what hangs to be killed; what does not die even then is left. Otherwise nothing
   is left behind: no process, descriptor, signal. 0 or -errno: no processes. */
int ni_run_trials(struct ni_context *ctx, struct ni_trials *all, ni_rail_fn *fn);
/* Tries the ports. NULL: no process could be started, which is a finding; nothing to try is one, too. The
   trials last as long as the process. */
const struct ni_trials *ni_try_ports(struct ni_context *ctx);
/* The self-test, for a verdict: whether all ports passed; *how: how many of how many. `all` is the
   result of ni_try_ports. */
bool ni_selftest_passes(const struct ni_trials *all, struct ni_text *how);
/* --selftest of `run`. If all ports are demanded to pass and do not, the plan refuses.
   NULL: none was made. */
const struct ni_trials *ni_selftest_first(struct ni_context *ctx);

/* ---- report.c ---- */

void ni_put_selftest(struct ni_text *out, const struct ni_view *view, const struct ni_trials *all);
void ni_put_selftest_json(struct ni_text *out, const struct ni_view *view,
                          const struct ni_trials *all);
/* Members of an object: how long they took, how many passed, and an object for each trial. */
void ni_json_trials(struct ni_json *j, const struct ni_trials *all);

#endif
