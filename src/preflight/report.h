/* SPDX-License-Identifier: Apache-2.0 */
/* The report of a preflight, for people. */
#ifndef NCCL_INIT_PREFLIGHT_REPORT_H
#define NCCL_INIT_PREFLIGHT_REPORT_H

#include "cli/flow.h"
#include "nccl_init/text.h"
#include "preflight/job.h"
#include "print/words.h"
#include "rail/step.h"

/* The first screen, and all. */
void ni_put_preflight_answer(struct ni_text *out, const struct ni_view *view,
                             const struct ni_verdict *verdict);
void ni_put_preflight(struct ni_text *out, const struct ni_view *view,
                      const struct ni_verdict *verdict);

/* Words by enum ni_rail_verdict, such as "good"; and the slower direction of a rail. */
extern const char *const ni_rail_words[];
struct ni_flow ni_slower_flow(const struct ni_rail_tally *t);
/* Words by enum ni_path_verdict; and the worst of a pair's queue pairs. */
extern const char *const ni_path_words[];
enum ni_path_verdict ni_worst_path(const struct ni_pair_result *x);

#endif
