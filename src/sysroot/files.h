/* SPDX-License-Identifier: Apache-2.0 */
/* Files below a root: reading, listing, asking. Each call makes the path whole, lets the recorder
   see it, and asks the root. */
#ifndef NCCL_INIT_SYSROOT_FILES_H
#define NCCL_INIT_SYSROOT_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "nccl_init/base.h"
#include "sysroot/root.h"

enum { NI_MAX_NAMES = 2048, NI_NAMES_TEXT = 65536 };

/* Names of a directory, in the order of ni_natural_cmp, without "." and "..". */
struct ni_names {
    unsigned n;
    bool cut;    /* there were more names than fit; the rest is missing */
    size_t used; /* bytes of text in use */
    const char *name[NI_MAX_NAMES];
    char text[NI_NAMES_TEXT];
};
/* Opens the directory at that path from `from`. It stays open because the kernel walks sysfs's
   links anew each time (fs/kernfs/symlink.c): a file then opens in 3 to 4 us instead of 7 to 8.
   A directory that cannot be opened, or that is in a tree, serves as well: its files show the
   error. */
struct ni_dir ni_dir_open(const struct ni_dir *from, const char *fmt, ...) NI_PRINTF(2, 3);
void ni_dir_close(struct ni_dir *dir);
/* Names the directory without opening it: it uses the open directory of `from`, and lives no
   longer. */
struct ni_dir ni_dir_at(const struct ni_dir *from, const char *fmt, ...) NI_PRINTF(2, 3);

/* Reads a whole file, cuts one final newline, adds a NUL; "" on errors. Returns its length, or
   -errno as the kernel gave it (ENOENT, EACCES, EINVAL, ...), -EOVERFLOW if it does not fit into
   cap - 1 (never cut short), -EILSEQ if it holds a NUL. Something that is neither file nor
   directory is not read: -ENXIO. */
ssize_t ni_read(const struct ni_dir *dir, char *buf, size_t cap, const char *fmt, ...)
    NI_PRINTF(4, 5);
/* Reads the target of a symbolic link. Its length or -errno; -EOVERFLOW. */
ssize_t ni_readlink(const struct ni_dir *dir, char *buf, size_t cap, const char *fmt, ...)
    NI_PRINTF(4, 5);
/* Reads as ni_read and ni_readlink do, at a complete path; a NUL is a byte like any other, and
   nothing is recorded. */
ssize_t ni_raw_text(const struct ni_dir *dir, const char *path, enum ni_access access, char *buf,
                    size_t cap);
/* Returns 0 if the path leads to anything; -errno. */
int ni_look_up(const struct ni_dir *dir, const char *fmt, ...) NI_PRINTF(2, 3);

/* Returns true if the path leads to the same file as `name` on this machine, or is the same link.
   Only on "/". */
bool ni_is_at(const struct ni_dir *dir, const char *name, const char *fmt, ...) NI_PRINTF(3, 4);

/* Returns 0 if this process may open the device node for reading and writing; -errno. On "/" it is
   opened, and closed at once; in a directory an existing node counts; a tree has the recorded
   answer (`e` line). */
int ni_openable(const struct ni_dir *dir, const char *fmt, ...) NI_PRINTF(2, 3);

/* Lists a directory. 0 or -errno, and ret->n is 0 then. Names may be anything: check them. */
int ni_list(const struct ni_dir *dir, struct ni_names *ret, const char *fmt, ...) NI_PRINTF(3, 4);

#endif
