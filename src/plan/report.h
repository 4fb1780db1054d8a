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

/* By enum ni_origin. */
struct ni_origin_words {
    const char *json;
    const char *mark; /* follows a value in the summary */
    enum ni_tint tint;
};

/* with_gids: also the GID tables of the pod\'s ports. */
ni_report_fn ni_put_plan, ni_put_plan_with_gids;
/* Puts the sentence of `run` about the plan: "auto-detected ...", without a newline. memlock: the
   soft limit in force, -1 if unknown. */
void ni_put_summary(struct ni_text *out, const struct ni_view *view, int64_t memlock);

/* By enum ni_transport. */
extern const struct ni_words ni_transport_words[];
extern const struct ni_origin_words ni_origin_words[];

/* The link layer of the chosen ports. */
enum ni_link ni_plan_link(const struct ni_view *view);
/* The limit that `to` raises the limit `now` to; absent if it stays. */
struct ni_num ni_raised_limit(struct ni_num now, int64_t to);

/* Cells: "7", or how the fact stands; a PCI address, nothing for NULL; the address of an HCA. */
void ni_put_num(struct ni_text *t, struct ni_num n);
void ni_put_bdf(struct ni_text *t, const struct ni_bdf *bdf);
void ni_put_hca_address(struct ni_text *t, const struct ni_hca *hca);
/* The interface of the port's GID, which for a macvlan or VLAN is not the function's own; else
   that. */
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
/* The table under the title "HCAs". */
void ni_put_port_table(struct ni_text *out, struct ni_text *table, const struct ni_view *view);
void ni_put_gpu_table(struct ni_text *out, const struct ni_view *view);

#endif
