/* SPDX-License-Identifier: Apache-2.0 */
/* The verb preflight, and the preflight before a command. */
#ifndef NCCL_INIT_PREFLIGHT_PREFLIGHT_H
#define NCCL_INIT_PREFLIGHT_PREFLIGHT_H

#include "cli/context.h"
#include "cli/option.h"
#include "cli/program.h"
#include "preflight/job.h"
#include "preflight/launcher.h"
#include "selftest/trials.h"

ni_verb_fn ni_cmd_preflight;

/* Does --preflight of `run`: meets the other pods, in a child without capabilities. Returns how it
   ended; bad as well if it is not enough for a demand, which then has refused the command. Nothing
   of the preflight stays behind. trials: of a self-test that was made already; NULL: none. */
enum ni_outcome ni_preflight_first(struct ni_context *ctx, const struct ni_trials *trials);

struct ni_preflight_options {
    struct ni_party_options party;
    unsigned within;                                /* seconds */
    enum { NI_LATE_REFUSE, NI_LATE_SELFTEST } late; /* what a pod does that finds nobody */
    unsigned move_ms;                               /* --seconds */
    unsigned need;                                  /* pods; 0: all */
    const char *once, *secret, *report;             /* files; NULL: none */
};
extern struct ni_preflight_options ni_preflight_options;
extern const struct ni_option_rows ni_preflight_rows;

#endif
