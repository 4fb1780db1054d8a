/* SPDX-License-Identifier: Apache-2.0 */
/* report, private: what the reports are made of. */
#ifndef NCCL_INIT_REPORT_PARTS_H
#define NCCL_INIT_REPORT_PARTS_H

#include "nccl_init/report.h"

/* ---- lines, colour, tables (layout.c) ---- */

/* Lines of at most 100 columns where blanks allow, of untrusted text, as ni_quote: indented, below what
   they explain; "  title: text", or nothing for an empty text. */
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
    const char *json, *brief, *text;
};
extern const struct ni_words ni_source_words[]; /* "pcidevice", "PCIDEVICE", "HCAs given by ..." */
extern const char *const ni_link_words[];       /* "RoCE" */
extern const char *const ni_transport_words[];  /* "rdma" */
/* Of a port, "ACTIVE"; NULL: not known, or a number that IB does not define. */
const char *ni_state_word(struct ni_num state);

/* "s", unless n is 1. */
const char *ni_plural(unsigned n);
/* "no GPU", "1 GPU", "2 GPUs" */
void ni_put_count(struct ni_text *t, unsigned n, const char *what);
/* "7", or how the fact stands: "-" when it was not asked for, "absent", "denied", "malformed". */
void ni_put_num(struct ni_text *t, struct ni_num n);
void ni_put_bdf(struct ni_text *t, const struct ni_bdf *bdf); /* nothing for NULL */
/* "0000:03:00.2", "mlx5_core.sf.4"; nothing for SoftRoCE. */
void ni_put_address(struct ni_text *t, const struct ni_hca *hca);
/* The ports that the GPU is to use: "mlx5_6/1, mlx5_7/1"; nothing where that is not known. */
void ni_put_use(struct ni_text *t, const struct ni_view *view, unsigned gpu);
/* "HCAs given by ...; root node.tree" and a newline: where a report has its facts from. */
void ni_put_origin(struct ni_text *t, const struct ni_view *view);

/* Begins a report: the object and its "schema". */
struct ni_json ni_json_report(struct ni_text *out);
/* An array with an object for each of the n indexes from `first`, whose members `put` writes. */
typedef void ni_json_item(struct ni_json *j, const struct ni_view *view, unsigned i);
void ni_json_list(struct ni_json *j, const char *key, const struct ni_view *view, int first,
                  unsigned n, ni_json_item *put);
/* true or false; null where it could not be read. */
void ni_json_yes_no(struct ni_json *j, const char *key, enum ni_known known);
/* Bytes: the number, "unlimited", or null when it is not known. */
void ni_json_bytes(struct ni_json *j, const char *key, struct ni_num n);
/* "link": "roce", "infiniband" or null. */
void ni_json_link(struct ni_json *j, enum ni_link link);
/* What every report says of a GPU: number, address, device node, vendor, NUMA node, the ports that it
   is to use. */
void ni_json_gpu(struct ni_json *j, const struct ni_view *view, unsigned at);
/* ... and of an HCA: name, addresses, NUMA node. */
void ni_json_hca(struct ni_json *j, const struct ni_hca *hca);

/* ---- the plain data itself (words.c) ---- */

/* The link layer of the chosen ports; UNKNOWN when there is none. */
enum ni_link ni_plan_link(const struct ni_view *view);
/* The NUMA node; unset where the place on the PCI tree is not known. */
struct ni_num ni_numa(const struct ni_pci *pci);
/* The PF of a VF, the PCI device of a sub-function; NULL. */
const struct ni_bdf *ni_parent(const struct ni_hca *hca);
/* The GID picked for that port of the inventory; NULL. */
const struct ni_gid *ni_picked_gid(const struct ni_view *view, int port);
/* Whether the nearest one is known. */
static inline bool ni_is_near(const struct ni_near *near)
{
    return near->index >= 0 && near->distance != NI_DIST_UNKNOWN;
}
/* How many ports of the HCA are chosen. */
unsigned ni_chosen_ports(const struct ni_view *view, const struct ni_hca *hca);

/* The HCAs that a report for people shows, by index: those with chosen ports, the other given ones,
   then the others, unless they are many beside the pod's. */
struct ni_shown {
    int hca[NI_MAX_HCA];
    unsigned n;
    unsigned n_chosen, n_given; /* the first of them; these and the next */
    unsigned n_hidden;          /* HCAs left out */
};
struct ni_shown ni_shown_hcas(const struct ni_view *view);
/* A line about those left out. */
void ni_put_hidden(struct ni_text *out, const struct ni_shown *shown);

/* ---- parts of several reports ---- */

/* findings.c: those of at least that severity, each severity under its title, the worst first. */
void ni_put_findings(struct ni_text *out, const struct ni_view *view, enum ni_severity least);
/* "findings": all of them, the worst first. */
void ni_json_findings(struct ni_json *j, const struct ni_findings *all);

/* selftest.c: the table of doctor --probe, nothing without it; an object for each trial. */
void ni_put_probes(struct ni_text *out, const struct ni_view *view);
void ni_json_trials(struct ni_json *j, const char *key, const struct ni_view *view);

#endif
