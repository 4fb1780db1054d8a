/* SPDX-License-Identifier: Apache-2.0 */
/* HCAs, ports and GPUs in JSON. */
#ifndef NCCL_INIT_PRINT_DEVICES_H
#define NCCL_INIT_PRINT_DEVICES_H

#include "nccl_init/inventory.h"
#include "nccl_init/pci.h"
#include "nccl_init/rdma.h"
#include "print/json_write.h"
#include "print/words.h"

/* Returns the number of HCAs shown to people: the pod's, which come first; all with --all, or if
   none is the pod's. */
unsigned ni_count_shown_hcas(const struct ni_view *view);

/* Writes the members that every report has for a GPU: number, address, device node, vendor, NUMA
   node, the ports that it is to use. */
void ni_json_gpu(struct ni_json *j, const struct ni_view *view, unsigned at);

/* Writes "hcas", the first n_hca, with the pod's before others, and "gpus"; also facts for doctor,
   if they were read. */
void ni_json_devices(struct ni_json *j, const struct ni_view *view, unsigned n_hca);

/* Returns the PCI address of the HCA; NULL for a sub-function. */
const struct ni_bdf *ni_function_bdf(const struct ni_hca *hca);
/* Returns the PF of a VF, or the PCI device of a sub-function; NULL. */
const struct ni_bdf *ni_parent_bdf(const struct ni_hca *hca);
/* Returns the GID of that port of the inventory; NULL. */
const struct ni_gid *ni_port_gid_used(const struct ni_view *view, int port);
/* Words by enum ni_gid_type, such as "v2". */
extern const char *const ni_gid_type_words[];

#endif
