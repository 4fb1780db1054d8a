/* SPDX-License-Identifier: Apache-2.0 */
/* libibverbs of this image: its functions under their own names, so that the code of rails is that of
   the static program. */
#ifndef NCCL_INIT_TRY_VERBS_H
#define NCCL_INIT_TRY_VERBS_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Loads libibverbs by the names that NCCL uses, and says "library FILE". false: "unloaded WORDS" was
   said. */
bool ni_verbs_load(void);

/* How memory is registered; NULL, and errno, where it is not. In the order of NCCL, 2.30.7
   transport/net_ib/reg.cc ncclIbRegMrDmaBufInternal2. */
struct ibv_mr *ni_verbs_register_dmabuf(struct ibv_pd *pd, uint64_t address, size_t size, int fd,
                                        int access, bool direct);
struct ibv_mr *ni_verbs_register_address(struct ibv_pd *pd, uint64_t address, size_t size,
                                         int access);
/* Returns true if NCCL would take the Data Direct function of the HCA. */
bool ni_verbs_has_direct(struct ibv_context *context);
/* Returns IBV_ACCESS_RELAXED_ORDERING where libibverbs knows it. */
int ni_verbs_relaxed(void);

#endif
