/* SPDX-License-Identifier: Apache-2.0 */
/* door: the calls. Each makes the path whole, lets the recorder see it, and asks the root. */
#ifndef NCCL_INIT_SYSROOT_ROOT_H
#define NCCL_INIT_SYSROOT_ROOT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "nccl_init/base.h"

struct ni_dir;
struct ni_tree;

struct ni_tree; /* a .tree in memory */

enum ni_root_kind {
    NI_ROOT_LIVE, /* "/": facts come from this machine, and only then may the program act */
    NI_ROOT_DIR,  /* a directory, opened with openat2 RESOLVE_IN_ROOT: no symlink leads out */
    NI_ROOT_TREE  /* a .tree file */
};

/* What an access wants of a path. */
enum ni_access {
    NI_ACCESS_READ,
    NI_ACCESS_LINK,
    NI_ACCESS_LIST,
    NI_ACCESS_EXISTS,
    NI_ACCESS_OPEN,
    NI_ACCESS_NONE
};

/* Sees each access before it is made, at a path that is whole. */
typedef void ni_see_fn(const struct ni_dir *dir, const char *path, enum ni_access access);

/* Every fact is a file below one root. */
struct ni_root {
    enum ni_root_kind kind;
    int fd;                 /* of a directory root, O_PATH; else -1 */
    struct ni_tree *tree;   /* of a tree */
    ni_see_fn *see;         /* NULL: nobody */
    struct ni_tree *record; /* snapshot: what was seen; NULL: none */
};

/* A directory below a root, from which paths go on; the root itself is one. It lives no longer than
   the root. */
struct ni_dir {
    const struct ni_root *root;
    int fd;         /* stays open at path[0..len), O_PATH; -1: each path is walked from the root */
    size_t len;     /* of what fd stands for */
    bool named;     /* paths are of a user's choosing, and lead anywhere, to a pipe too */
    const char *as; /* of a user's choosing: the usual path of such a file, for the list of what may
                        stand in a masked record; NULL: the path itself */
    bool unrecorded;    /* a snapshot does not see what is read here */
    bool binary;        /* files may hold NULs (proc/self/environ of a recording) */
    bool cut;           /* the path was longer than that; each file then is -ENAMETOOLONG */
    char path[NI_PATH]; /* below the root, without a slash at either end; "": the root */
};

enum { NI_MAX_NAMES = 2048, NI_NAMES_TEXT = 65536 };

/* Names of a directory, in the order of ni_natural_cmp, without "." and "..". */
struct ni_names {
    unsigned n;
    bool cut;    /* more than fit: the rest is missing */
    size_t used; /* of text */
    const char *name[NI_MAX_NAMES];
    char text[NI_NAMES_TEXT];
};
/* The directory at that path from `from`, kept open, for the kernel walks sysfs's links anew each time
   (fs/kernfs/symlink.c): an open takes 3 to 4 us instead of 7 to 8. One that cannot be opened, and one
   of a tree, is none the worse: its files tell. */
struct ni_dir ni_dir_open(const struct ni_dir *from, const char *fmt, ...) NI_PRINTF(2, 3);
void ni_dir_close(struct ni_dir *dir);
/* The same, but nothing is opened: it uses what `from` keeps open, and lives no longer. */
struct ni_dir ni_dir_at(const struct ni_dir *from, const char *fmt, ...) NI_PRINTF(2, 3);

/* Reads a whole file, cuts one final newline, NUL-terminates; "" on errors. Its length, or -errno as the kernel
   gave it (ENOENT, EACCES, EINVAL, ...), -EOVERFLOW when it does not fit in cap - 1 (never cut
   short), -EILSEQ when it holds a NUL. What is neither file nor directory is not read: -ENXIO. */
ssize_t ni_read(const struct ni_dir *dir, char *buf, size_t cap, const char *fmt, ...)
    NI_PRINTF(4, 5);
/* Target of a symbolic link. Its length or -errno; -EOVERFLOW. */
ssize_t ni_readlink(const struct ni_dir *dir, char *buf, size_t cap, const char *fmt, ...)
    NI_PRINTF(4, 5);
/* 0 if the path leads to something, whatever it is; -errno. */
int ni_exists(const struct ni_dir *dir, const char *fmt, ...) NI_PRINTF(2, 3);

/* Whether the path leads to what stands at `name` of this machine: the file, or the link itself.
   Only on "/". */
bool ni_is_at(const struct ni_dir *dir, const char *name, const char *fmt, ...) NI_PRINTF(3, 4);

/* 0 if this process may open the device node for reading and writing; -errno. Only on "/" is it
   really opened, and closed at once; in a directory a node that exists counts, a tree answers what
   was recorded (`e` line). */
int ni_openable(const struct ni_dir *dir, const char *fmt, ...) NI_PRINTF(2, 3);

/* 0 or -errno; ret->n is 0 then. Names may be anything: check them. */
int ni_list(const struct ni_dir *dir, struct ni_names *ret, const char *fmt, ...) NI_PRINTF(3, 4);

#endif
