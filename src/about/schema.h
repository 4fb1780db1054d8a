/* SPDX-License-Identifier: Apache-2.0 */
/* The verb schema: the command line, the findings, the rules and the variables, for programs. */
#ifndef NCCL_INIT_ABOUT_SCHEMA_H
#define NCCL_INIT_ABOUT_SCHEMA_H

#include "cli/program.h"

ni_verb_fn ni_cmd_schema;

#endif
