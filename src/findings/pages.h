/* SPDX-License-Identifier: Apache-2.0 */
/* The pages that `nccl-init explain` shows: sections of the documents, which the build puts here
   (.dev/pages.awk). */
#ifndef NCCL_INIT_FINDINGS_PAGES_H
#define NCCL_INIT_FINDINGS_PAGES_H

/* A section. A line of the text is a paragraph, an item of a list, which begins with "- ", or a line
   of code, which begins with a blank. */
struct ni_page {
    const char *id; /* its heading without the outer backquotes */
    const char *text;
};
struct ni_pages {
    const struct ni_page *at;
    unsigned n;
};
/* Findings, by id: docs/reference/findings.md. Texts that people see: docs/guides/troubleshooting.md.
   What a rule decides, and why, by id: docs/reference/rules.md. */
extern const struct ni_pages ni_finding_pages, ni_text_pages, ni_rule_pages;

#endif
