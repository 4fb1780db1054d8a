/* SPDX-License-Identifier: Apache-2.0 */
/* Ids and names that somebody gave the pod, as each source adds them. */
#ifndef NCCL_INIT_NODE_CLAIMS_H
#define NCCL_INIT_NODE_CLAIMS_H

#include "nccl_init/given.h"
#include "nccl_init/text.h"
#include "node/read.h"

/* Claims, all of p->source. Its claim by that id, however spelt; NULL. */
typedef void ni_source_fn(struct ni_probe *p);

struct ni_claim *ni_find_claim(struct ni_probe *p, struct ni_span id);
/* Adds the id, or finds it; one of no known form is reported and kept as such. NULL: no room. */
struct ni_claim *ni_add_claim(struct ni_probe *p, const char *from, struct ni_span id);
/* Ids of a list, separated by `,`, `;` or blanks. */
void ni_add_claims(struct ni_probe *p, const char *from, const char *list);
/* A device that the source knows by its RDMA name. */
void ni_add_claim_name(struct ni_probe *p, const char *from, const char *name);
/* What the source calls the RDMA device of a claim; a value that is no device name is reported. */
void ni_note_rdma_dev(struct ni_probe *p, struct ni_claim *c, const char *from, const char *name);

#endif
