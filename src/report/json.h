/* SPDX-License-Identifier: Apache-2.0 */
/* report, private: what several reports say in JSON, in the same words. */
#ifndef NCCL_INIT_REPORT_JSON_H
#define NCCL_INIT_REPORT_JSON_H

#include "nccl_init/inventory.h"
#include "nccl_init/json.h"

/* true or false; null where it could not be read. */
void ni_json_yes_no(struct ni_json *j, const char *key, enum ni_known known);
/* Bytes: the number, "unlimited", or null when it is not known. */
void ni_json_bytes(struct ni_json *j, const char *key, struct ni_num n);
void ni_json_numa(struct ni_json *j, const struct ni_pci *pci); /* "numa"; null: not known */
/* What every report says of a GPU: number, address, device node, vendor, NUMA node. */
void ni_json_gpu(struct ni_json *j, unsigned index, const struct ni_gpu *gpu);
/* Name and addresses of an HCA, NUMA node. */
void ni_json_hca(struct ni_json *j, const struct ni_hca *hca);

#endif
