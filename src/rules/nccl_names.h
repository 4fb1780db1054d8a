/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the variables of NCCL and RCCL, without "NCCL_". */
#ifndef NCCL_INIT_RULES_NCCL_NAMES_H
#define NCCL_INIT_RULES_NCCL_NAMES_H

/* The variables of NCCL and RCCL, less "NCCL_", a blank between two: those that are read as
   numbers, and the others. */
extern const char ni_nccl_numbers[], ni_nccl_words[];

#endif
