/* SPDX-License-Identifier: Apache-2.0 */
/* The pages of the catalogue, which `nccl-init explain` shows: what each finding means at length. */
#ifndef NCCL_INIT_FINDINGS_PAGES_H
#define NCCL_INIT_FINDINGS_PAGES_H

/* A section of docs/reference/findings.md, from which the build makes the table (.dev/pages.awk). A
   line of the text is a paragraph, an item of a list, which begins with "- ", or a line of code,
   which begins with a blank. */
struct ni_page {
    const char *id;
    const char *text;
};
extern const struct ni_page ni_pages[];
extern const unsigned ni_n_pages;

#endif
