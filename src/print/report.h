/* SPDX-License-Identifier: Apache-2.0 */
/* report: what is told, as text, JSON or an environment file. Puts it into a text, writes nothing. */
#ifndef NCCL_INIT_REPORT_H
#define NCCL_INIT_REPORT_H

#include "nccl_init/plan.h"
#include "print/json.h"
#include "rail/rails.h"

struct ni_log;

/* All that a report may tell. */
struct ni_view {
    const struct ni_inventory *inv;
    const struct ni_plan *plan;
    const struct ni_findings *findings;
    const char *root; /* as given: "/" or a path */
    bool colour;
    bool gids;                            /* plan: whole GID tables too */
    const struct ni_diagnosis *diagnosis; /* of doctor, else NULL */
    const struct ni_trials *trials;       /* of selftest, else NULL */
    const struct ni_log *log;             /* of log, else NULL */
    const struct ni_verdict *verdict;     /* of preflight, else NULL */
};

enum ni_format { NI_FMT_SH, NI_FMT_K8S, NI_FMT_DOCKER, NI_FMT_CONF, NI_FMT_JSON };

enum { NI_JSON_SCHEMA = 1 };

/* A report, put into a text: tables for people; for programs one JSON object, "schema":
   NI_JSON_SCHEMA. */
typedef void ni_report_fn(struct ni_text *out, const struct ni_view *view);
ni_report_fn ni_put_plan, ni_put_plan_json;
ni_report_fn ni_put_doctor, ni_put_doctor_json, ni_put_doctor_brief;
ni_report_fn ni_put_selftest, ni_put_selftest_json;
ni_report_fn ni_put_log, ni_put_log_json;
/* Ports against GPUs in the words of `nvidia-smi topo -m`; the PCI tree for Graphviz. */
ni_report_fn ni_put_topo, ni_put_topo_dot;

/* First the line of the verdict, in other pods than 0 no more; the findings; then the matrix of pods and
   rails, or beyond 32 pods those that are not good; then what was not tried. As JSON; at pod 0 as a
   picture of pods by rails. */
ni_report_fn ni_put_preflight, ni_put_preflight_json, ni_put_preflight_svg;

/* The settings that rules decided, one per line in the given form. NULL; or, and nothing is put, the
   setting whose value cannot be carried by the format. JSON also carries the GPUs, if there are, with
   the ports that each is to use. */
const struct ni_setting *ni_put_env(struct ni_text *out, const struct ni_view *view,
                                    enum ni_format format);

/* Lines of at most so many columns where blanks allow, of untrusted text, as ni_quote; the first one
   begins in column `at`, the others in the sixth. */
void ni_put_wrapped(struct ni_text *out, size_t columns, size_t at, const char *s);
/* A text on the heap that grows as it is filled, without memory it is cut; to be freed. */
struct ni_text ni_long_text(void);
void ni_free_text(struct ni_text *text);

/* What `run` says of the plan: "auto-detected ...", without a newline. memlock: the soft limit in force,
   -1 if unknown. */
void ni_put_summary(struct ni_text *out, const struct ni_view *view, int64_t memlock);
/* A finding in one line, "warning: gid.v1-only: mlx5_6/1: message. hint", and as a JSON object. */
void ni_put_finding(struct ni_text *out, const struct ni_finding *finding);
void ni_json_finding(struct ni_json *j, const struct ni_finding *finding);

#endif
