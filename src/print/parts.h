/* SPDX-License-Identifier: Apache-2.0 */
/* report, private: what the reports are made of. */
#ifndef NCCL_INIT_REPORT_PARTS_H
#define NCCL_INIT_REPORT_PARTS_H

#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/gpu.h"
#include "nccl_init/pci.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "print/json.h"
#include "print/report.h"

/* ---- lines, colour, tables (layout.c) ---- */

/* Lines of at most 100 columns, of untrusted text: indented, below what they explain;
   "  title: text", or nothing for an empty text. */
void ni_put_below(struct ni_text *out, const char *s);
void ni_put_item(struct ni_text *out, const char *title, const char *s);

enum ni_tint { NI_PLAIN = 1, NI_GREEN, NI_YELLOW, NI_RED, NI_DIM };

/* The text in that colour; untrusted, as ni_quote. */
void ni_put_tinted(struct ni_text *out, bool colour, enum ni_tint tint, const char *s);

/* A table: its rows, kept in memory until all widths are known. head: "PORT\tADDRESS". */
struct ni_text ni_table_on(const char *head);
enum { NI_COLUMNS = 8 + NI_MAX_GPU };
/* Begins a row, the next cell of it. Each returns the table, to put the cell's text into; an empty
   cell shows as "-". */
struct ni_text *ni_row(struct ni_text *table, enum ni_tint tint);
struct ni_text *ni_cell(struct ni_text *table);
/* Indented by two, columns two blanks apart, no blank at a line's end. Frees the rows. */
void ni_table_write(struct ni_text *out, struct ni_text *table, bool colour);

/* ---- words (words.c): one place, so that text, JSON and the summary never call one thing by two
   names. The lower-case ones are permanent: programs read them ---- */

struct ni_words {
    const char *json, *text;
};
extern const struct ni_words ni_source_words[]; /* "pcidevice", "HCAs given by ..." */
extern const struct ni_words ni_link_words[];   /* "roce", "RoCE"; NULL, "unknown" */

/* "s", unless n is 1. */
const char *ni_plural(unsigned n);
/* "HCAs given by ...; root node.tree" and a newline: where a report has its facts from. */
void ni_put_origin(struct ni_text *t, const struct ni_view *view);

/* Begins a report: the object and its "schema". */
struct ni_json ni_json_report(struct ni_text *out);
/* An array with an object for each of the n indexes from `first`, whose members `put` writes. */
typedef void ni_json_item(struct ni_json *j, const struct ni_view *view, unsigned i);
void ni_json_list(struct ni_json *j, const char *key, const struct ni_view *view, int first,
                  unsigned n, ni_json_item *put);
/* KNOWN: true; ABSENT: false; else null. */
void ni_json_yes_no(struct ni_json *j, const char *key, enum ni_known known);
/* What every report says of a GPU: number, address, device node, vendor, NUMA node, the ports that it
   is to use. */
void ni_json_gpu(struct ni_json *j, const struct ni_view *view, unsigned at);

/* ---- parts of several reports ---- */

/* "hcas": the first n_hca, of which the pod's come first; "gpus". With what only doctor reads, if it was
   read. */
void ni_json_devices(struct ni_json *j, const struct ni_view *view, unsigned n_hca);

/* findings.c: those of at least that severity, each severity under its title, the worst first. */
void ni_put_findings(struct ni_text *out, const struct ni_view *view, enum ni_severity least);
/* "findings": all of them, the worst first. */
void ni_json_findings(struct ni_json *j, const struct ni_findings *all);

/* ---- devices.c ---- */

/* The PCI address of the HCA; NULL for a sub-function. */
const struct ni_bdf *ni_own_bdf(const struct ni_hca *hca);
/* The PF of a VF, the PCI device of a sub-function; NULL. */
const struct ni_bdf *ni_parent_bdf(const struct ni_hca *hca);
/* The GID of that port of the inventory; NULL. */
const struct ni_gid *ni_port_gid_used(const struct ni_view *view, int port);
/* By enum ni_gid_type: "v2". */
extern const char *const ni_gid_type_words[];

#endif
