/* SPDX-License-Identifier: Apache-2.0 */
/* Settings that must be equal in all pods of a job. */
#ifndef NCCL_INIT_RULES_JOB_SETTINGS_H
#define NCCL_INIT_RULES_JOB_SETTINGS_H

#include "nccl_init/findings.h"

/* A setting that must be equal in all pods; NCCL itself compares none. */
struct ni_job_setting {
    const char *name;
    const char *otherwise; /* NCCL's default, "" for none: the same as unset. NULL: where a pod does
                              not tell it, it is not known, and not compared */
    enum ni_finding_id id; /* where it differs */
};
enum { NI_N_JOB_SETTING = 42 };
extern const struct ni_job_setting ni_job_settings[NI_N_JOB_SETTING];
/* The row of that name; NULL. */
const struct ni_job_setting *ni_find_job_setting(const char *name);

#endif
