/* SPDX-License-Identifier: Apache-2.0 */
/* Roots: this machine, a directory, or a .tree file. Each file that a fact is read from lies
   below one. */
#ifndef NCCL_INIT_SYSROOT_ROOT_H
#define NCCL_INIT_SYSROOT_ROOT_H

#include <stddef.h>
#include <sys/types.h>

#include "nccl_init/base.h"
#include "sysroot/tree.h"

struct ni_dir;

enum ni_root_kind {
    NI_ROOT_LIVE, /* "/": facts come from this machine; only then the program may act */
    NI_ROOT_DIR,  /* a directory, opened with openat2 RESOLVE_IN_ROOT: no symlink leads out */
    NI_ROOT_TREE  /* a .tree file */
};

/* Sees each access before it is made, with its complete path. */
typedef void ni_see_fn(const struct ni_dir *dir, const char *path, enum ni_access access);

/* A root: every fact is a file below one. */
struct ni_root {
    enum ni_root_kind kind;
    int fd;                 /* the descriptor of a directory root, O_PATH; otherwise -1 */
    struct ni_tree *tree;   /* the entries of a tree */
    ni_see_fn *see;         /* sees each access; NULL: nobody does */
    struct ni_tree *record; /* snapshot: the record; NULL: none */
};

/* A directory below a root, from which paths begin; the root itself is one. It lives no longer than
   the root. */
struct ni_dir {
    const struct ni_root *root;
    int fd;     /* stays open at path[0..len), O_PATH; -1: each path is walked from the root */
    size_t len; /* bytes of the path that fd stands for */
    bool named; /* a user chose the paths, and they lead anywhere, to a pipe too */
    /* if a user chose the path: the usual path of such a file, by which the masks know it; NULL:
       the path itself */
    const char *as;
    bool unrecorded;    /* a snapshot does not see reads here */
    bool binary;        /* files may hold NULs (proc/self/environ of a recording) */
    bool cut;           /* the path is too long; each file then is -ENAMETOOLONG */
    char path[NI_PATH]; /* below the root, without a slash at either end; "": the root */
};

/* Takes a piece of the content. 0; negative: that is the answer, and no more pieces come. */
typedef int ni_take_fn(void *ctx, const char *s, size_t n);

/* Gives what the access asks for at the path, which is complete, from the root on, with a slash in
   front: a file's content in pieces, a link's target, or a directory's names one by one, each with
   a NUL after it. 0; for EXISTS and OPEN 1 if it is a directory; -errno. */
int ni_raw(const struct ni_dir *dir, const char *path, enum ni_access access, ni_take_fn *take,
           void *ctx);
/* Returns a descriptor for the directory (O_PATH); negative: there is none. */
int ni_raw_open_dir(const struct ni_dir *from, const char *path);

/* A text that comes in pieces: len of the cap bytes at buf are in use. */
struct ni_room {
    char *buf;
    size_t cap, len;
};

/* Takes a piece into a struct ni_room. -EOVERFLOW: it does not fit. */
int ni_take_text(void *ctx, const char *s, size_t n);

/* Opens "/", a directory, or a regular file in .tree form. 0 or -errno; -EINVAL: the file is no
   .tree, and *ret_line is the line (from 1) that is wrong, else 0. -EFBIG: more than there is room
   for. -ENXIO: neither file nor directory. -ENOSYS: kernel or seccomp filter lacks openat2. */
int ni_root_open(const char *path, struct ni_root *ret, unsigned *ret_line);
void ni_root_close(struct ni_root *root);

struct ni_dir ni_dir_top(const struct ni_root *root);

#endif
