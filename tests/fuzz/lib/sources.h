/* SPDX-License-Identifier: Apache-2.0 */
/* One source of the pod's HCAs alone, on the node of tests/fuzz/node.tree. */
#ifndef NCCL_INIT_FUZZ_SOURCES_H
#define NCCL_INIT_FUZZ_SOURCES_H

#include "check.h"
#include "nccl_init/allocation.h"
#include "sysroot/root.h"

/* A pod without an environment on that node. */
struct pod *sources_pod(enum pod_slot slot);
/* That node, for slots_fill. */
struct ni_root *sources_node(void);
/* Asks the sources and checks what they gave. */
void sources_ask(struct pod *pod);
/* Each HCA that this source gave stands in the text. */
void sources_named(const struct pod *pod, enum ni_source source, const char *text);

/* JSON that is not nested so deeply that it is refused for that. */
bool sources_flat(const char *text, size_t n);
/* If that is the address or name of a device of the node with an RDMA side, it was found. */
void sources_found(const struct pod *pod, const char *id);

#endif
