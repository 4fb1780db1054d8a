/* SPDX-License-Identifier: Apache-2.0 */
/* Causes: the reason why the job failed, as far as its log shows it. */
#ifndef NCCL_INIT_LOG_CAUSE_H
#define NCCL_INIT_LOG_CAUSE_H

#include <stdbool.h>

#include "log/state.h"
#include "nccl_init/findings.h"

/* Names ranks that NCCL did not name; before they are sorted. */
void ni_log_name_ranks(struct ni_log *log);
/* Finds the rank of each note. Called before the other functions. */
void ni_log_find_owners(struct ni_log *log);
/* Exceptions, ends, collectives that differ, ranks that left. */
void ni_log_report_causes(struct ni_log *log, struct ni_findings *f);
/* Ranks whose initialisation did not end, the least far first. */
void ni_log_report_stops(struct ni_log *log, struct ni_findings *f);
/* The first warning that no pattern fits, if something failed. */
void ni_log_report_unknown(struct ni_log *log, struct ni_findings *f);
/* The error that most likely is the cause; NULL: none. mixed: some ranks only went over sockets,
   which explains what ranks say of each other. */
const struct ni_finding *ni_log_cause_of(const struct ni_findings *f, bool mixed);

/* Returns true if the log of a rank stops before its communicator was complete, and where, in
   words. */
bool ni_log_is_stopped(const struct ni_log_rank *r);
const char *ni_log_step_text(const struct ni_log_rank *r);
const char *ni_log_step_word(const struct ni_log_rank *r); /* "topology"; permanent */

#endif
