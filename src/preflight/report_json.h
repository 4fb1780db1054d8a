/* SPDX-License-Identifier: Apache-2.0 */
/* The report of a preflight, in JSON (docs/reference/json.md). */
#ifndef NCCL_INIT_PREFLIGHT_REPORT_JSON_H
#define NCCL_INIT_PREFLIGHT_REPORT_JSON_H

#include "nccl_init/text.h"
#include "preflight/job.h"
#include "print/words.h"

void ni_put_preflight_json(struct ni_text *out, const struct ni_view *view,
                           const struct ni_verdict *verdict);

#endif
