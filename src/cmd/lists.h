/* SPDX-License-Identifier: Apache-2.0 */
/* Private to cmd: options whose values are lists of words. */
#ifndef NCCL_INIT_CMD_LISTS_H
#define NCCL_INIT_CMD_LISTS_H

#include "nccl_init/cmd.h"

int ni_parse_for(const char *value, struct ni_options *ret);
int ni_parse_require(const char *value, struct ni_options *ret);
int ni_parse_keep_caps(const char *value, struct ni_options *ret);
int ni_parse_drop_caps(const char *value, struct ni_options *ret);
int ni_parse_ignore(const char *value, struct ni_options *ret);

#endif
