/* SPDX-License-Identifier: Apache-2.0 */
/* Stages: how far a rank came in NCCL's initialisation, by evidence alone. */
#ifndef NCCL_INIT_LOG_STAGE_H
#define NCCL_INIT_LOG_STAGE_H

#include <stdbool.h>

#include "log/patterns.h"
#include "log/state.h"

/* Returns true if the log of a rank stops before its communicator was complete. */
bool ni_log_is_stopped(const struct ni_log_rank *r);
/* Returns true if the rank finished its initialisation, and nothing shows that it went on: no
   connection of a collective, no second call, no end. */
bool ni_log_is_idle(const struct ni_log *log, const struct ni_log_rank *r);
/* Returns true if its version connects the ranks for the first collective, after the
   initialisation. */
bool ni_log_connects_later(const struct ni_log *log, const struct ni_log_rank *r);
/* Returns the step in which a rank that did not finish stopped. */
enum ni_log_step ni_log_stopped_step(const struct ni_log_rank *r);
/* Notes of which ranks the others' lines show that all had met: NCCL exchanges their topology only
   after that. Called once they are sorted. */
void ni_log_find_met(struct ni_log *log);
/* Returns that step in words. */
const char *ni_log_step_text(const struct ni_log *log, const struct ni_log_rank *r);
/* Returns the step in which NCCL runs the code of a source file, "transport/net.cc:597";
   NI_STEP_NONE: in several, or it is not known. */
enum ni_log_step ni_log_step_of_source(struct ni_span source);
/* Returns the stage of a job's life to which a step of NCCL's initialisation belongs. */
enum ni_log_stage ni_log_stage_of_step(enum ni_log_step step);
/* Returns the last stage that the log shows of a rank. */
enum ni_log_stage ni_log_stage_of(const struct ni_log_rank *r);
/* Returns the word for a stage, such as "bootstrap"; permanent. */
const char *ni_log_stage_word(enum ni_log_stage stage);
/* Puts what the lines before an error in its file show, a clause: "after the ranks had connected". */
void ni_log_put_before(struct ni_text *t, enum ni_log_stage stage);
/* Returns the word for that step, such as "topology"; permanent. */
const char *ni_log_step_word(const struct ni_log_rank *r);

#endif
