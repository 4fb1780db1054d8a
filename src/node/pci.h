/* SPDX-License-Identifier: Apache-2.0 */
/* PCI functions: their place on the tree, read from sysfs. */
#ifndef NCCL_INIT_NODE_PCI_H
#define NCCL_INIT_NODE_PCI_H

#include "nccl_init/pci.h"
#include "node/read.h"

/* Reads the chain of functions from the link at `path` below the root. */
void ni_probe_chain(struct ni_probe *p, struct ni_pci *pci, const char *path);
/* Returns the PCI address of an RDMA device; NI_LAST_BDF: it has none. */
struct ni_bdf ni_class_bdf(struct ni_probe *p, const char *name);
void ni_probe_numa(struct ni_probe *p);
/* Reads the PCIe links of GPUs, HCAs and the switches above them, as NCCL counts them. */
void ni_probe_links(struct ni_probe *p);
/* Reads the CPU's vendor, family and model, which are only there on x86. */
void ni_probe_cpu(struct ni_probe *p);

#endif
