/* SPDX-License-Identifier: Apache-2.0 */
/* report, private: the words for the plain data of inventory and plan. One place, so that text,
   JSON and the summary never call one thing by two names. */
#ifndef NCCL_INIT_REPORT_WORDS_H
#define NCCL_INIT_REPORT_WORDS_H

#include "nccl_init/core.h"
#include "nccl_init/inventory.h"
#include "nccl_init/plan.h"
#include "nccl_init/report.h"

/* ---- for programs (schema): lower case, permanent; by the value of the enum ---- */

extern const char *const ni_word_source[];    /* "pcidevice" */
extern const char *const ni_word_claim[];     /* "not-rdma" */
extern const char *const ni_word_link[];      /* "roce"; NULL: unknown */
extern const char *const ni_word_gid_type[];  /* "v2" */
extern const char *const ni_word_transport[]; /* "rdma" */
extern const char *const ni_word_origin[];    /* "rule", "user", "conf", "unset" */
/* of a port, "ACTIVE"; NULL: not known, or a number that IB does not define */
const char *ni_word_state(struct ni_num state);

/* ---- for people ---- */

extern const char *const ni_say_source[];       /* "HCAs given by PCIDEVICE_* (...)" */
extern const char *const ni_say_source_short[]; /* "PCIDEVICE" */
extern const char *const ni_say_claim[];        /* "has no RDMA device (...)" */
extern const char *const ni_say_link[];         /* "RoCE" */

/* "s", unless n is 1. */
const char *ni_plural(unsigned n);
/* "7", or how the fact stands: "-" when it was not asked for, "absent", "denied", "malformed". */
void ni_put_num(struct ni_text *t, struct ni_num n);
void ni_put_state(struct ni_text *t, struct ni_num state);
void ni_put_rate(struct ni_text *t, struct ni_num mbps); /* "400G", "2.5G" */
/* "mlx5_6/1"; port 0: the name only. */
void ni_put_port(struct ni_text *t, const struct ni_hca *hca, unsigned port);
/* "0000:03:00.2", "mlx5_core.sf.4"; nothing for SoftRoCE. */
void ni_put_address(struct ni_text *t, const struct ni_hca *hca);
void ni_put_numa(struct ni_text *t, const struct ni_pci *pci); /* nothing where it is not known */
/* "HCAs given by ...; root node.tree" and a newline: where a report has its facts from. */
void ni_put_origin(struct ni_text *t, const struct ni_view *view);

/* ---- in JSON ---- */

/* true or false; null where it could not be read. */
void ni_json_yes_no(struct ni_json *j, const char *key, enum ni_known known);
/* Bytes: the number, "unlimited", or null when it is not known. */
void ni_json_bytes(struct ni_json *j, const char *key, struct ni_num n);
/* What every report says of a GPU: number, address, device node, vendor, NUMA node. */
void ni_json_gpu(struct ni_json *j, unsigned index, const struct ni_gpu *gpu);
/* ... and of an HCA: name, addresses, NUMA node. */
void ni_json_hca(struct ni_json *j, const struct ni_hca *hca);

/* ---- the plain data itself ---- */

/* The link layer of the chosen ports; UNKNOWN when there is none. */
enum ni_link ni_plan_link(const struct ni_inventory *inv, const struct ni_plan *plan);
/* The function that the VF or sub-function belongs to, or NULL. */
const struct ni_bdf *ni_parent(const struct ni_hca *hca);
/* What was decided about the i-th port of the HCA; NULL where no rule spoke of it, and where there
   is no such port. */
const struct ni_port_plan *ni_decision(const struct ni_plan *plan, const struct ni_hca *hca,
                                       unsigned i);
/* Why it is chosen or not. */
const char *ni_why(const struct ni_hca *hca, const struct ni_port_plan *decision);
/* How many ports of the HCA are chosen. */
unsigned ni_chosen_ports(const struct ni_plan *plan, const struct ni_hca *hca);
/* Whether the nearest one is known. */
bool ni_has_near(const struct ni_near *near);

#endif
