/* SPDX-License-Identifier: Apache-2.0 */
/* The report of a preflight, as a picture. */
#ifndef NCCL_INIT_PREFLIGHT_REPORT_SVG_H
#define NCCL_INIT_PREFLIGHT_REPORT_SVG_H

#include "nccl_init/text.h"
#include "preflight/job.h"

void ni_put_preflight_svg(struct ni_text *out, const struct ni_verdict *verdict);

#endif
