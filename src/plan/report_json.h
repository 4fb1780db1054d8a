/* SPDX-License-Identifier: Apache-2.0 */
/* The report of plan, in JSON. */
#ifndef NCCL_INIT_PLAN_REPORT_JSON_H
#define NCCL_INIT_PLAN_REPORT_JSON_H

#include "print/words.h"

ni_report_fn ni_put_plan_json;

#endif
