/* SPDX-License-Identifier: Apache-2.0 */
/* Errors by name, for the `e` lines of a .tree file and for reports, and in words for people. */
#ifndef NCCL_INIT_ERRNO_H
#define NCCL_INIT_ERRNO_H

#include "nccl_init/text.h"

enum { NI_ERRNO_TEXT = 96 };
#define NI_ERRNO(err) ni_errno_text(err, (char[NI_ERRNO_TEXT]){""})
/* Returns the number of an error, 22 for "EINVAL"; 0 for an unknown name. */
int ni_errno_of(struct ni_span name);
/* Returns the name of an error; NULL for an unknown number. */
const char *ni_errno_name(int err);
/* Writes an error by its name and in the C library's words, "ENOENT (No such file or directory)",
   or "errno 524"; takes errno or -errno. Returns buf. NI_ERRNO has a buffer of its own, which lasts
   as long as the block. */
const char *ni_errno_text(int err, char buf[NI_ERRNO_TEXT]);

#endif
