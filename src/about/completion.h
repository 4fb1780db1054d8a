/* SPDX-License-Identifier: Apache-2.0 */
/* The verb completion: the scripts for shells, which the build puts into the program. */
#ifndef NCCL_INIT_ABOUT_COMPLETION_H
#define NCCL_INIT_ABOUT_COMPLETION_H

#include "cli/program.h"

ni_verb_fn ni_cmd_completion;

/* The scripts of src/completions, made by the build. */
extern const char ni_completion_bash[], ni_completion_zsh[], ni_completion_fish[];

#endif
