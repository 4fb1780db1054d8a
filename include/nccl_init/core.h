/* SPDX-License-Identifier: Apache-2.0 */
/* core: what every room uses. Strict parsers, bounded text, names. No system call, no heap
   (tests/lint/purity.sh). Each subject has a header of its own. */
#ifndef NCCL_INIT_CORE_H
#define NCCL_INIT_CORE_H

#include "nccl_init/caps.h"
#include "nccl_init/env.h"
#include "nccl_init/ip.h"
#include "nccl_init/names.h"
#include "nccl_init/pci.h"

#endif
