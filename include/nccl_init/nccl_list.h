/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of devices and interfaces, parsed and matched as NCCL does. */
#ifndef NCCL_INIT_NCCL_LIST_H
#define NCCL_INIT_NCCL_LIST_H

#include <stdbool.h>

#include "nccl_init/text.h"

enum { NI_MAX_IFS = 16 }; /* MAX_IFS, NCCL 2.30.7 include/socket.h */

/* Matches a device against NCCL_IB_HCA as NCCL does: `[^][=]name[:port]{,...}`, without '=' by
   prefix (NCCL 2.30.7 misc/utils.cc parseStringList, matchIfList). port -1: matches an interface
   against NCCL_SOCKET_IFNAME, names only. An empty list matches everything, as in NCCL. */
bool ni_nccl_match(const char *list, const char *name, int port);
/* Splits NAME[:PORT...] at the first colon. false: there is none, and *ret_port is empty. */
bool ni_split_port(struct ni_span entry, struct ni_span *ret_name, struct ni_span *ret_port);
/* Returns true unless NCCL_IB_HCA takes all for want of a name: "", "=", separators alone. "^"
   counts. */
bool ni_names_hcas(const char *list);

#endif
