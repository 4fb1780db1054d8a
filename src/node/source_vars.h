/* SPDX-License-Identifier: Apache-2.0 */
/* The sources that are variables: PCIDEVICE_* and SRIOVNETWORK_*. */
#ifndef NCCL_INIT_NODE_SOURCE_VARS_H
#define NCCL_INIT_NODE_SOURCE_VARS_H

#include "node/allocations.h"

ni_source_fn ni_source_pcidevice, ni_source_sriovnet;

#endif
