/* SPDX-License-Identifier: Apache-2.0 */
/* The table of verbs, for tests that run the program in their own process. */
#ifndef NCCL_INIT_MAIN_H
#define NCCL_INIT_MAIN_H

#include "cli/verbs.h"

extern const struct ni_verbs ni_program;

#endif
