/* SPDX-License-Identifier: Apache-2.0 */
/* The verb install: this program as a file of a volume that other containers mount. */
#ifndef NCCL_INIT_RUN_INSTALL_H
#define NCCL_INIT_RUN_INSTALL_H

#include "cli/program.h"

ni_verb_fn ni_cmd_install;
extern const struct ni_option_rows ni_install_rows;

#endif
