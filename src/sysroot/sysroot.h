/* SPDX-License-Identifier: Apache-2.0 */
/* door: the only way to files. Every fact is one below a root. */
#ifndef NCCL_INIT_DOOR_H
#define NCCL_INIT_DOOR_H

#include <sys/types.h>

#include "nccl_init/base.h"
#include "nccl_init/text.h"

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
struct ni_dir;
typedef void ni_see_fn(const struct ni_dir *dir, const char *path, enum ni_access access);

/* Every fact is a file below one root. */
struct ni_root {
    enum ni_root_kind kind;
    int fd;                 /* of a directory root, O_PATH; else -1 */
    struct ni_tree *tree;   /* of a tree */
    ni_see_fn *see;         /* NULL: nobody */
    struct ni_tree *record; /* snapshot: what was seen; NULL: none */
};

/* Opens "/", a directory, or a regular file in .tree form. 0 or -errno; -EINVAL: the file is no
   .tree, and *ret_line is the line (from 1) that is wrong, else 0. -EFBIG: more than there is room
   for. -ENXIO: neither file nor directory. -ENOSYS: kernel or seccomp filter lacks openat2. */
int ni_root_open(const char *path, struct ni_root *ret, unsigned *ret_line);
void ni_root_close(struct ni_root *root);

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

struct ni_dir ni_dir_top(const struct ni_root *root);
/* The directory at that path from `from`, kept open, for the kernel walks sysfs's links anew each time
   (fs/kernfs/symlink.c): an open takes 3 to 4 us instead of 7 to 8. One that cannot be opened, and one
   of a tree, is none the worse: its files tell. */
struct ni_dir ni_dir_open(const struct ni_dir *from, const char *fmt, ...) NI_PRINTF(2, 3);
void ni_dir_close(struct ni_dir *dir);
/* The same, but nothing is opened: it uses what `from` keeps open, and lives no longer. */
struct ni_dir ni_dir_at(const struct ni_dir *from, const char *fmt, ...) NI_PRINTF(2, 3);

/* From now on, record what passes the door. 0 or -errno. */
int ni_root_record(struct ni_root *root);

/* ---- the calls; paths go from the directory, and have no leading slash ---- */

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

enum { NI_MAX_NAMES = 2048, NI_NAMES_TEXT = 65536 };

/* Names of a directory, in the order of ni_natural_cmp, without "." and "..". */
struct ni_names {
    unsigned n;
    bool cut;    /* more than fit: the rest is missing */
    size_t used; /* of text */
    const char *name[NI_MAX_NAMES];
    char text[NI_NAMES_TEXT];
};

/* 0 or -errno; ret->n is 0 then. Names may be anything: check them. */
int ni_list(const struct ni_dir *dir, struct ni_names *ret, const char *fmt, ...) NI_PRINTF(3, 4);

/* ---- snapshot ---- */

struct ni_mask; /* what stands for what in a masked record: the same for the same */

/* Puts what of a file's content may stand in a masked record. asked: the path by which it was read. */
typedef void ni_keep_fn(void *ctx, struct ni_mask *m, const char *asked, struct ni_span content,
                        struct ni_text *ret);

/* For those: "name-3"; a path name by name, but for those that every machine has; whether a device or an
   interface that the record shows has a name that begins so. */
void ni_mask_name(struct ni_mask *m, struct ni_span name, struct ni_text *ret);
void ni_mask_path(struct ni_mask *m, struct ni_span path, struct ni_text *ret);
bool ni_mask_is_shown(const struct ni_mask *m, struct ni_span beginning);

/* Puts what was recorded in .tree form: header, a comment line, then the entries. keep: the record is
   masked: of each file's content only what it puts is there, with MAC addresses, GUIDs and UUIDs replaced,
   and paths of people's choosing have other names; NULL: all is there. 0 or -errno:
   then the text is of no use. */
int ni_record_text(const struct ni_root *root, const char *header, ni_keep_fn *keep, void *ctx,
                   struct ni_text *ret);
/* Adds a file that is no file below the root (the environment) to the record. 0 or -errno. */
int ni_record_add(const struct ni_root *root, const char *path, const char *value, size_t len);

#endif
