/* SPDX-License-Identifier: Apache-2.0 */
/* Files in a masked recording: for each, the form in which it is kept. */
#ifndef NCCL_INIT_PLAN_KEEP_H
#define NCCL_INIT_PLAN_KEEP_H

#include <stdint.h>

#include "sysroot/record.h"

ni_keep_fn ni_keep_file;

#endif
