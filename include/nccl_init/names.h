/* SPDX-License-Identifier: Apache-2.0 */
/* Names of errors, devices and interfaces, and how NCCL matches them. */
#ifndef NCCL_INIT_NAMES_H
#define NCCL_INIT_NAMES_H

#include "nccl_init/text.h"

/* "EINVAL" -> 22; 0 for an unknown name. */
int ni_errno_of(struct ni_span name);
/* NULL for an unknown number. */
const char *ni_errno_name(int err);
enum { NI_ERRNO_TEXT = 96 };
/* The error by its name and in the C library's words, "ENOENT (No such file or directory)", or "errno
   524"; takes errno or -errno. Returns buf. NI_ERRNO has a buffer of its own, which lasts as long as the
   block. */
const char *ni_errno_text(int err, char buf[NI_ERRNO_TEXT]);
#define NI_ERRNO(err) ni_errno_text(err, (char[NI_ERRNO_TEXT]){""})

/* A device or interface name that NCCL's lists can carry: 1 to max-1 bytes of [A-Za-z0-9_.-], not
   "." or "..", no leading '^' or '='. The kernel's dev_valid_name (net/core/dev.c) allows more; a
   comma, colon or blank changes the meaning of the list (NCCL misc/utils.cc parseStringList). */
bool ni_is_name(struct ni_span s, size_t max);

enum { NI_MAX_IFS = 16 }; /* MAX_IFS, NCCL 2.30.7 include/socket.h */

/* NCCL's own match of a device against NCCL_IB_HCA: `[^][=]name[:port]{,...}`, prefix match without
   '=' (NCCL 2.30.7 misc/utils.cc parseStringList, matchIfList); of an interface against
   NCCL_SOCKET_IFNAME with port -1: names only. An empty list matches everything, as in NCCL. */
bool ni_nccl_match(const char *list, const char *name, int port);
/* Whether NCCL_IB_HCA names any: "", "=", and separators alone take all. */
bool ni_names_hcas(const char *list);

#endif
