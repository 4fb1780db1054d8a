/* SPDX-License-Identifier: Apache-2.0 */
/* The verb selftest, and the self-test before a command. */
#ifndef NCCL_INIT_SELFTEST_SELFTEST_H
#define NCCL_INIT_SELFTEST_SELFTEST_H

#include <stdbool.h>

#include "cli/context.h"
#include "cli/option.h"
#include "cli/program.h"
#include "nccl_init/text.h"
#include "rail/task.h"
#include "selftest/gpu.h"
#include "selftest/trials.h"

ni_verb_fn ni_cmd_selftest;

/* Runs each trial by `fn`, in a process of its own. Returns when all have ended, after
   all->limit_ms at most and a second for what hangs to be killed; what does not die even then is
   left. Otherwise nothing is left behind: no process, descriptor, signal. 0 or -errno: no
   processes. */
int ni_run_trials(struct ni_context *ctx, struct ni_trials *all, ni_rail_fn *fn);
/* Tries the ports. NULL: no process could be started, which is a finding; nothing to try is one,
   too. The trials last as long as the process. */
const struct ni_trials *ni_try_ports(struct ni_context *ctx);
/* Returns whether all ports passed, for a verdict; *how: how many of how many. `all` is the result
   of ni_try_ports. */
bool ni_selftest_passes(const struct ni_trials *all, struct ni_text *how);
/* Does --selftest of `run`: the trials that --try names. If all ports are demanded to pass and do not, the plan refuses. NULL:
   no port was tried. */
const struct ni_trials *ni_selftest_first(struct ni_context *ctx);

struct ni_selftest_options {
    int64_t size;  /* bytes of memory to register for each port */
    int64_t bytes; /* that each port moves; 0: not given */
    enum ni_pairs pairs;
    unsigned deadline; /* seconds for all */
};
extern struct ni_selftest_options ni_selftest_options;
extern const struct ni_option_rows ni_try_rows, ni_selftest_rows;

#endif
