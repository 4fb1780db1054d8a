/* SPDX-License-Identifier: Apache-2.0 */
/* report, private: trials in the self-test's report and in doctor's. */
#ifndef NCCL_INIT_REPORT_SELFTEST_H
#define NCCL_INIT_REPORT_SELFTEST_H

#include "nccl_init/json.h"
#include "nccl_init/report.h"
#include "out.h"

/* The table of doctor --probe; nothing without it. */
void ni_say_probes(struct ni_text *out, const struct ni_view *view);
/* One object for each trial. */
void ni_json_trials(struct ni_json *j, const char *key, const struct ni_trials *trials);

#endif
