/* SPDX-License-Identifier: Apache-2.0 */
/* The report of plan, for people. */
#ifndef NCCL_INIT_PLAN_REPORT_H
#define NCCL_INIT_PLAN_REPORT_H

#include <stdint.h>

#include "nccl_init/known.h"
#include "nccl_init/pci.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "print/layout.h"
#include "print/words.h"

/* The words for an origin of a setting. */
struct ni_origin_words {
    const char *json;
    const char *mark; /* follows a value in the summary */
    enum ni_tint tint;
};

/* Put the report. with_gids: also the GID tables of the pod's ports. */
ni_report_fn ni_put_plan, ni_put_plan_with_gids;
/* Puts the sentence of `run` and `env` about the plan: "auto-detected ...", without a newline.
   memlock: the soft limit in force, -1 if unknown; NULL: it is not said. */
void ni_put_summary(struct ni_text *out, const struct ni_view *view, const int64_t *memlock);

/* Words by enum ni_transport, and by enum ni_origin. */
extern const struct ni_words ni_transport_words[];
extern const struct ni_origin_words ni_origin_words[];

/* Returns the link layer of the chosen ports. */
enum ni_link ni_plan_link(const struct ni_view *view);
/* Returns true if the entry of a configuration file is a variable of NCCL that no rule decides, in
   the first file that sets it. */
bool ni_is_of_conf_alone(const struct ni_view *view, unsigned i);
/* Returns `to` if it raises the limit `now`; absent if the limit stays. */
struct ni_num ni_raised_limit(struct ni_num now, int64_t to);

/* Puts a number, "7", or the state of a fact that is not known: "-" for one that was not read,
   "absent", "denied", "malformed". This and the next functions put the text of a cell. */
void ni_put_num(struct ni_text *t, struct ni_num n);
/* Puts a PCI address; nothing for NULL. */
void ni_put_bdf(struct ni_text *t, const struct ni_bdf *bdf);
/* Puts the address of an HCA: "0000:03:00.2", "mlx5_core.sf.4"; nothing for SoftRoCE. */
void ni_put_hca_address(struct ni_text *t, const struct ni_hca *hca);
/* Puts the interface of the port's GID, which for a macvlan or VLAN is not the function's own;
   without a GID the function's own. */
void ni_put_port_netdev(struct ni_text *t, const struct ni_view *view, const struct ni_hca *hca,
                        int at);

/* "RDMA over RoCE, 4 ports" */
void ni_put_transport(struct ni_text *out, const struct ni_view *view);
/* "Plan: RDMA over RoCE, 4 ports; ..." */
void ni_put_plan_heading(struct ni_text *out, const char *title, const struct ni_view *view);
/* Begins a row with the name of the port, "mlx5_6/1". at: the port in the inventory; -1: sysfs
   shows none. */
struct ni_text *ni_begin_port_row(struct ni_text *table, const struct ni_view *view,
                                  const struct ni_hca *hca, int at);
/* Puts the table of ports under the title "HCAs". */
void ni_put_port_table(struct ni_text *out, struct ni_text *table, const struct ni_view *view);
/* Puts the GPUs, and what GPUDirect RDMA finds; nothing if the pod has no GPU. */
void ni_put_gpu_table(struct ni_text *out, const struct ni_view *view);

#endif
