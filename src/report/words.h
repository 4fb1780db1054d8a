/* SPDX-License-Identifier: Apache-2.0 */
/* report, private: the words for the plain data of inventory and plan. One place, so that text,
   JSON and the summary never call one thing by two names. */
#ifndef NCCL_INIT_REPORT_WORDS_H
#define NCCL_INIT_REPORT_WORDS_H

#include "nccl_init/core.h"
#include "nccl_init/inventory.h"
#include "nccl_init/plan.h"

/* For programs (schema): lower case, permanent. */
const char *ni_word_source(enum ni_source source);          /* "pcidevice" */
const char *ni_word_claim(enum ni_claim_state state);       /* "not-rdma" */
const char *ni_word_link(enum ni_link link);                /* "roce", "unknown" */
const char *ni_word_gid_type(enum ni_gid_type type);        /* "v2", "unread" */
const char *ni_word_transport(enum ni_transport transport); /* "rdma" */
const char *ni_word_origin(enum ni_origin origin);          /* "rule", "user", "conf", "unset" */

/* For people. */
const char *ni_say_source(
    enum ni_source source); /* "given by PCIDEVICE_* (SR-IOV device plugin)" */
const char *ni_say_source_short(enum ni_source source); /* "PCIDEVICE" */
const char *ni_say_claim(enum ni_claim_state state);    /* "has no RDMA device (...)" */
const char *ni_say_link(enum ni_link link);             /* "RoCE" */

/* "7", or how the fact stands: "-" when it was not asked for, "absent", "denied", "malformed". */
void ni_say_num(struct ni_text *t, struct ni_num n);
void ni_say_state(struct ni_text *t, struct ni_num state);
void ni_say_rate(struct ni_text *t, struct ni_num mbps); /* "400G", "2.5G" */
/* "mlx5_6/1"; port 0: the name only. */
void ni_say_port(struct ni_text *t, const struct ni_hca *hca, unsigned port);

/* The link layer of the ports that are kept; UNKNOWN when there is none. */
enum ni_link ni_plan_link(const struct ni_inventory *inv, const struct ni_plan *plan);

#endif
