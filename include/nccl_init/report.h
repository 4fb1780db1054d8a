/* SPDX-License-Identifier: Apache-2.0 */
/* report: the plan as text, JSON or an environment file. Writes to a descriptor, keeps nothing. */
#ifndef NCCL_INIT_REPORT_H
#define NCCL_INIT_REPORT_H

#include "nccl_init/core.h"
#include "nccl_init/diagnosis.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/job.h"
#include "nccl_init/json.h"
#include "nccl_init/plan.h"
#include "nccl_init/trial.h"

#include <sys/types.h>

/* All that a report may tell. */
struct ni_view {
    const struct ni_inventory *inv;
    const struct ni_plan *plan;
    const struct ni_findings *findings;
    const char *root; /* as given: "/" or a path */
    bool colour;
    bool gids;                            /* plan: whole GID tables too */
    const struct ni_diagnosis *diagnosis; /* of doctor, else NULL */
    const struct ni_trials *trials;       /* of selftest and doctor --probe, else NULL */
};

enum ni_format { NI_FMT_SH, NI_FMT_K8S, NI_FMT_DOCKER, NI_FMT_CONF, NI_FMT_JSON };

enum { NI_JSON_SCHEMA = 1 };

/* Buffered writing to fd; every function below returns 0 or -errno of the first write that failed.
   */

/* The settings that rules decided, one per line in the given form. -EILSEQ, and nothing written,
   when a value cannot be carried by the format; *ret_bad is the setting then. */
int ni_write_env(int fd, const struct ni_plan *plan, enum ni_format format,
                 const struct ni_setting **ret_bad);
/* Tables for people. */
int ni_write_plan(int fd, const struct ni_view *view);
/* The same for programs: one object, "schema": NI_JSON_SCHEMA. */
int ni_write_plan_json(int fd, const struct ni_view *view);
/* What doctor found, worst first, and what it checked. */
int ni_write_doctor(int fd, const struct ni_view *view);
int ni_write_doctor_json(int fd, const struct ni_view *view);
/* What the self-test tried, what went wrong, how fast it was. */
int ni_write_selftest(int fd, const struct ni_view *view);
int ni_write_selftest_json(int fd, const struct ni_view *view);
/* What a preflight found, at pod 0. */
struct ni_job_view {
    const struct ni_job *job;
    const uint8_t *verdicts; /* of ni_judge_rails */
    const struct ni_findings *findings;
    bool bad, colour;
};
/* First the sentence of ni_put_verdict; the findings; then the matrix of pods and rails, or beyond
   32 pods those that are not good; then what was not tried. */
int ni_write_preflight(int fd, const struct ni_job_view *view);
int ni_write_preflight_json(int fd, const struct ni_job_view *view);
/* A picture of pods by rails. */
int ni_write_preflight_svg(int fd, const struct ni_job_view *view);
/* GPUs against HCAs as `nvidia-smi topo -m` draws it; the same as one JSON object; the PCI tree for
   Graphviz. */
int ni_write_topo(int fd, const struct ni_view *view);
int ni_write_topo_json(int fd, const struct ni_view *view);
int ni_write_topo_dot(int fd, const struct ni_view *view);
/* The one line of `run`: "nccl-init: auto-detected ...". memlock: the soft limit in force, -1 if
   unknown. */
int ni_write_summary(int fd, const struct ni_view *view, int64_t memlock, bool json);
/* One line for a finding, text or JSON: "nccl-init: warning: gid.v1-only: mlx5_6/1: message. hint"
   */
int ni_write_finding(int fd, const struct ni_finding *finding, bool json);

/* The same for a text of the caller's: the line without "nccl-init: ", the JSON object. */
void ni_put_finding(struct ni_text *out, const struct ni_finding *finding);
void ni_json_finding(struct ni_json *j, const struct ni_finding *finding);

#endif
