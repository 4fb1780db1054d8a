/* SPDX-License-Identifier: Apache-2.0 */
/* What was written, read back by those who read it. */
#ifndef NCCL_INIT_FUZZ_READERS_H
#define NCCL_INIT_FUZZ_READERS_H

#include "doctor/checks.h"
#include "fuzz.h"
#include "nccl_init/plan.h"
#include "print/words.h"

enum { READER_MAX = 1 << 16 };

/* The value of `name` as NCCL reads it from a conf file. */
bool reader_conf(const char *file, const char *name, char ret[NI_VALUE]);

/* Each form of environment file gives back each setting of a rule, byte for byte, and nothing else;
   or it is refused for a value that the form cannot carry. With FUZZ_SHELLS, paths separated by
   blanks, those shells read it too. */
void reader_check_env(const struct ni_view *view);

/* Every report of the view: texts are printable, JSON is JSON and says what the plan says. */
/* diagnosis: of doctor; NULL: none. */
void reader_check_reports(const struct ni_view *view, const struct ni_diagnosis *diagnosis);

#endif
