/* SPDX-License-Identifier: Apache-2.0 */
/* print: what reports share. Puts texts, writes nothing. */
#ifndef NCCL_INIT_REPORT_H
#define NCCL_INIT_REPORT_H

#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/plan.h"
#include "nccl_init/text.h"
#include "print/json.h"

/* All that a report may tell. */
struct ni_view {
    const struct ni_inventory *inv;
    const struct ni_plan *plan;
    const struct ni_findings *findings;
    const char *root; /* as given: "/" or a path */
    bool colour;
    bool gids; /* plan: whole GID tables too */
};

enum { NI_JSON_SCHEMA = 1 };

/* A report, put into a text: tables for people; for programs one JSON object, "schema":
   NI_JSON_SCHEMA. */
typedef void ni_report_fn(struct ni_text *out, const struct ni_view *view);
/* Lines of at most so many columns where blanks allow, of untrusted text, as ni_quote; the first one
   begins in column `at`, the others in the sixth. */
void ni_put_wrapped(struct ni_text *out, size_t columns, size_t at, const char *s);
/* A text on the heap that grows as it is filled, without memory it is cut; to be freed. */
struct ni_text ni_long_text(void);
void ni_free_text(struct ni_text *text);

/* A finding in one line, "warning: gid.v1-only: mlx5_6/1: message. hint", and as a JSON object. */
void ni_put_finding(struct ni_text *out, const struct ni_finding *finding);
void ni_json_finding(struct ni_json *j, const struct ni_finding *finding);

#endif
