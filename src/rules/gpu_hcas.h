/* SPDX-License-Identifier: Apache-2.0 */
/* The rule gpu.hcas: the chosen ports that each GPU is to use. */
#ifndef NCCL_INIT_RULES_GPU_HCAS_H
#define NCCL_INIT_RULES_GPU_HCAS_H

#include <stdint.h>

#include "nccl_init/text.h"
#include "rules/decide.h"

ni_rule_fn ni_rule_gpu_hcas;

/* Returns the chosen ports, as bits, that were slow or wrong when they were tried with the GPU and are
   not to be used by it: others are as near. *near: all of its nearest ports. */
uint32_t ni_bad_ports(const struct ni_work *w, unsigned gpu, uint32_t *near);
/* Returns the GPU of this process if a launcher started one process for each GPU; otherwise -1.
   *why: how that is known, or why not; empty: there is no such launcher. */
int ni_rank_gpu(const struct ni_work *w, struct ni_text *why);

#endif
