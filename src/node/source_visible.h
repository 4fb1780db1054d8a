/* SPDX-License-Identifier: Apache-2.0 */
/* The sources that name HCAs by what the container can open or see, and --hcas. */
#ifndef NCCL_INIT_NODE_SOURCE_VISIBLE_H
#define NCCL_INIT_NODE_SOURCE_VISIBLE_H

#include "node/allocations.h"

ni_source_fn ni_source_option, ni_source_uverbs, ni_source_netdevs, ni_source_host;

#endif
