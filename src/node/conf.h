/* SPDX-License-Identifier: Apache-2.0 */
/* The files in which people set variables for NCCL, RCCL and NVSHMEM. */
#ifndef NCCL_INIT_NODE_CONF_H
#define NCCL_INIT_NODE_CONF_H

#include <stdbool.h>

#include "nccl_init/text.h"
#include "node/read.h"

void ni_probe_conf(struct ni_probe *p);
void ni_probe_topo_file(struct ni_probe *p); /* whether it can be read */
/* A line of such a file, as the library reads it: NAME=VALUE. NVSHMEM takes off blanks, and from the
   value the rest after " #". */
struct ni_conf_line {
    struct ni_span name, value;
    bool crlf; /* the line ended in CR LF: the CR is taken off the value */
};
/* false: the library sees no setting there. */
bool ni_parse_conf(struct ni_span line, bool by_nvshmem, struct ni_conf_line *ret);
/* Returns the variable that is meant by a name in an nccl.conf with a blank before or behind it, or
   with `export` before it. NCCL takes all before the '=' for the name (2.32.3 misc/param.cc
   setEnvFile). Empty: the name is as it should be, or does not begin so. */
struct ni_span ni_conf_meant(struct ni_span name, const char *begin, bool *ret_export);

#endif
