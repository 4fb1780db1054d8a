/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of verbs and options, for tests that run the program in their own process. */
#ifndef NCCL_INIT_MAIN_H
#define NCCL_INIT_MAIN_H

struct ni_program;

extern const struct ni_program ni_main_program;

#endif
