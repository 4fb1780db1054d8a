/* SPDX-License-Identifier: Apache-2.0 */
/* door: */
#ifndef NCCL_INIT_SYSROOT_LIVE_H
#define NCCL_INIT_SYSROOT_LIVE_H

#include <stddef.h>
#include <sys/types.h>

#include "sysroot/root.h"

/* Takes a piece of what is there. 0; negative: that is the answer, and no more comes. */
typedef int ni_take_fn(void *ctx, const char *s, size_t n);

/* Gives what the access wants of what is at the path, which is whole, from the root on, and begins
   with a slash: a file's content in pieces, a link's target, a directory's names one by one, each
   with a NUL behind it. 0, for EXISTS and OPEN 1 where it is a directory; -errno. */
int ni_raw(const struct ni_dir *dir, const char *path, enum ni_access access, ni_take_fn *take,
           void *ctx);
/* A descriptor that stands for the directory (O_PATH); negative: there is none. */
int ni_raw_open_dir(const struct ni_dir *from, const char *path);

/* As ni_read and ni_readlink, but a NUL is a byte like any other, and unrecorded. */
ssize_t ni_raw_text(const struct ni_dir *dir, const char *path, enum ni_access access, char *buf,
                    size_t cap);

/* Opens "/", a directory, or a regular file in .tree form. 0 or -errno; -EINVAL: the file is no
   .tree, and *ret_line is the line (from 1) that is wrong, else 0. -EFBIG: more than there is room
   for. -ENXIO: neither file nor directory. -ENOSYS: kernel or seccomp filter lacks openat2. */
int ni_root_open(const char *path, struct ni_root *ret, unsigned *ret_line);
void ni_root_close(struct ni_root *root);

struct ni_dir ni_dir_top(const struct ni_root *root);

#endif
