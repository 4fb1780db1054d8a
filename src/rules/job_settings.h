/* SPDX-License-Identifier: Apache-2.0 */
/* Settings that must be equal in all pods of a job. */
#ifndef NCCL_INIT_RULES_JOB_SETTINGS_H
#define NCCL_INIT_RULES_JOB_SETTINGS_H

#include "nccl_init/findings.h"

/* A setting that must be equal in all pods; NCCL itself compares none. */
struct ni_job_setting {
    const char *name;
    /* NCCL's default, which is the same as unset; "": it has none. NULL: a pod that does not
       report the value is not compared */
    const char *otherwise;
    ni_finding_number id; /* the finding, if it differs */
};
enum { NI_N_JOB_SETTING = 42 };
extern const struct ni_job_setting ni_job_settings[NI_N_JOB_SETTING];
/* Returns the row of that name, or NULL. */
const struct ni_job_setting *ni_find_job_setting(const char *name);

#endif
