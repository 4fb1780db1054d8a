/* SPDX-License-Identifier: Apache-2.0 */
/* Causes: the reason why the job failed, as far as its log shows it. */
#ifndef NCCL_INIT_LOG_CAUSE_H
#define NCCL_INIT_LOG_CAUSE_H

#include <stdbool.h>

#include "log/state.h"
#include "nccl_init/findings.h"

/* Names ranks that NCCL did not name. Called before they are sorted. */
void ni_log_name_ranks(struct ni_log *log);
/* Finds the rank of each note. Called before the other functions. */
void ni_log_find_owners(struct ni_log *log);
/* Reports exceptions, ends, collectives that differ, and ranks that left. */
void ni_log_report_causes(struct ni_log *log, struct ni_findings *f);
/* Reports ranks whose initialisation did not end; those that came least far stand first. */
void ni_log_report_stops(struct ni_log *log, struct ni_findings *f);
/* Reports the first warning that no pattern fits, if something failed. */
void ni_log_report_unknown(struct ni_log *log, struct ni_findings *f);
/* Reports the first line that says in words of its own that something failed, if no better cause is
   known. alone: nothing else says how the job fared. Returns that line if nothing shows that the job
   failed; else NULL. */
const struct ni_log_quote *ni_log_report_error(struct ni_log *log, bool alone,
                                               struct ni_findings *f);
/* Reports an exception that follows from an error which the log does not have, if it has nothing
   better and no line of NCCL. */
void ni_log_report_follower(struct ni_log *log, struct ni_findings *f);
/* Puts what ended the attempts before the last one; nothing if there is none. */
void ni_log_put_history(struct ni_text *t, const struct ni_log *log);
/* Returns the error that most likely is the cause, or NULL. mixed: only some ranks used sockets,
   which explains what ranks say of each other. */
const struct ni_finding *ni_log_cause_of(const struct ni_log *log, const struct ni_findings *f,
                                         bool mixed);

#endif
