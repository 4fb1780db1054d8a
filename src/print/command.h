/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that people paste: all of a line, or what follows its first ": ". */
#ifndef NCCL_INIT_PRINT_COMMAND_H
#define NCCL_INIT_PRINT_COMMAND_H

#include "nccl_init/findings.h"
#include "nccl_init/text.h"
#include "print/words.h"

/* Puts "export NAME='VALUE'", for a POSIX shell, and a newline. */
void ni_put_export(struct ni_text *out, const char *name, const char *value);
/* Puts " --root PATH", as a shell takes it; nothing on this machine. false, and nothing is put: the
   path has letters that a terminal does not show. */
bool ni_put_root(struct ni_text *out, const struct ni_view *view);
/* Puts a blank and the word as a shell takes it. false, and nothing is put: it has letters that a
   terminal does not show. */
bool ni_put_word(struct ni_text *out, const char *word);
/* Puts the command of the finding, "In the pod: ip link show dev net3", without a newline: the first
   whose names are all known here. false, and nothing is put: there is none. */
bool ni_put_command(struct ni_text *out, const struct ni_view *view, const struct ni_finding *f);

#endif
