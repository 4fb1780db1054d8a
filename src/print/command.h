/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that people paste: all of a line, or what follows its first ": ". */
#ifndef NCCL_INIT_PRINT_COMMAND_H
#define NCCL_INIT_PRINT_COMMAND_H

#include "nccl_init/findings.h"
#include "nccl_init/text.h"
#include "print/words.h"

/* Puts "export NAME='VALUE'", for a POSIX shell, and a newline. */
void ni_put_export(struct ni_text *out, const char *name, const char *value);
/* Put a blank and a word as a shell takes it: a path, which never looks like an option but for `-`;
   "--name=value", or "--name" if value is NULL. false: it has letters that a terminal does not show,
   or there is no room; what was put is no command then. */
bool ni_put_path(struct ni_text *out, const char *path);
bool ni_put_option(struct ni_text *out, const char *name, const char *value);
/* Puts what of this call another must have to show the same: its options, and " --root PATH".
   false: as above. */
enum ni_verb_again { NI_SAME_VERB, NI_OTHER_VERB };
bool ni_put_again(struct ni_text *out, const struct ni_view *view, enum ni_verb_again verb);
/* Puts the command of the finding, "In the pod: ip link show dev net3", without a newline: the first
   whose names are all known here. false, and nothing is put: there is none. */
bool ni_put_command(struct ni_text *out, const struct ni_view *view, const struct ni_finding *f);

#endif
