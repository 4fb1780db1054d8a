/* SPDX-License-Identifier: Apache-2.0 */
/* The verb explain: the page of a finding. */
#ifndef NCCL_INIT_DOCTOR_EXPLAIN_H
#define NCCL_INIT_DOCTOR_EXPLAIN_H

#include "cli/program.h"

ni_verb_fn ni_cmd_explain;

/* A page of docs/reference/findings.md, from which the build makes the table (.dev/pages.awk). A
   line of the text is a paragraph, an item of a list, which begins with "- ", or a line of code,
   which begins with a blank. */
struct ni_page {
    const char *id;
    const char *text;
};
extern const struct ni_page ni_pages[];
extern const unsigned ni_n_pages;

#endif
