/* SPDX-License-Identifier: Apache-2.0 */
/* What explain knows of a text: a line of a log, a variable, the words of an error. */
#ifndef NCCL_INIT_DOCTOR_EXPLAIN_TEXT_H
#define NCCL_INIT_DOCTOR_EXPLAIN_TEXT_H

#include <stdbool.h>

#include "nccl_init/findings.h"
#include "nccl_init/text.h"

/* What an entry is about. */
struct ni_topic {
    ni_finding_number finding; /* NI_F_NONE: no finding */
    struct ni_span variable;   /* n 0: no variable */
    const char *rule;          /* NULL: no rule */
};

/* Puts the page of a finding. */
void ni_put_finding_page(struct ni_text *out, ni_finding_number finding);
/* Puts the section about a rule. */
void ni_put_rule_page(struct ni_text *out, const char *rule);
/* Puts what a finding means in half a line: the begin of its page. room: bytes. */
void ni_put_title(struct ni_text *out, ni_finding_number finding, size_t room);
/* Puts the entry for an untrusted text of any length, lines of a log or words; if none is sure, up to
   three that are near, each with "perhaps" in front. false: there is nothing near, and nothing was
   put. *ret is what the entry is about; of what is only near, nothing. */
bool ni_explain_text(struct ni_text *out, struct ni_span text, struct ni_topic *ret);

#endif
