/* SPDX-License-Identifier: Apache-2.0 */
/* A tree in memory: the content of a .tree file (docs/reference/tree.md), or of a recording. */
#ifndef NCCL_INIT_SYSROOT_TREE_H
#define NCCL_INIT_SYSROOT_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nccl_init/index.h"

enum {
    NI_TREE_NAME = 256,  /* NAME_MAX, include/uapi/linux/limits.h, and the NUL */
    NI_TREE_PATH = 4096, /* PATH_MAX, same file */
    NI_TREE_LINKS = 40,  /* MAXSYMLINKS, include/linux/namei.h */
    NI_TREE_FILE = 64 << 20
};

enum ni_entry_kind { NI_ENTRY_DIR, NI_ENTRY_FILE, NI_ENTRY_LINK, NI_ENTRY_ERR };

struct ni_entry {
    char *path;        /* "sys/class/net" */
    const char *name;  /* its last component */
    const char *value; /* FILE: content, LINK: target; NUL-terminated, may hold NULs */
    void *memory;      /* of value */
    char *asked;       /* in a record: the path by which the file was read; NULL: its own */
    uint32_t len;      /* of value */
    uint32_t up;       /* number of the directory that it is in */
    uint8_t kind;
    uint8_t sure; /* used by record.c only */
    bool listed;  /* a line of the file lists it; in a record: a listed directory has that name */
    bool above;   /* record.c */
    int err;      /* the errno of an ERR entry */
};

/* Entries in the order in which they came, each after its directory; the first is the root, with
   path "". index: by the entries' paths, with 2 * room places. */
struct ni_tree {
    struct ni_entry *at;
    struct ni_index index;
    size_t n, room;
    size_t text;       /* bytes of all paths and values */
    uint32_t last_dir; /* number of the directory that the last entry made or found is in */
    int failed;        /* in a record: the reason why it is incomplete, -errno */
    char *read;        /* in a record: NI_TREE_FILE bytes for what is read; NULL: not yet */
};

/* Walks a path as fs/namei.c link_path_walk does below the root of RESOLVE_IN_ROOT. `step` is asked
   at each component that may be a link: 1 and its target, 0: none, or -errno. ret: the path without
   links, or where the walk ended. 0 or -errno. */
typedef int ni_step_fn(const void *ctx, const char *path, bool last, char target[NI_TREE_PATH]);

/* Kinds of access to a path. */
enum ni_access {
    NI_ACCESS_READ,
    NI_ACCESS_LINK,
    NI_ACCESS_LIST,
    NI_ACCESS_EXISTS,
    NI_ACCESS_OPEN,
    NI_ACCESS_NONE
};

/* The kind of entry that each of the first three accesses wants, and the errno for another kind. */
extern const struct ni_wanted {
    uint8_t kind;
    int other;
} ni_wanted[NI_ACCESS_EXISTS];

void ni_tree_free(struct ni_tree *t); /* made by calloc */
/* Finds or makes the entry at the path, valid until the next call. A new one is a directory, and
   the directories on the way are made. 0, -EFBIG, -ENOMEM. */
int ni_tree_make(struct ni_tree *t, const char *path, struct ni_entry **ret);
/* Gives the entry the kind of another, and a copy of its value. 0, -EFBIG, -ENOMEM. */
int ni_tree_set(struct ni_tree *t, struct ni_entry *e, const struct ni_entry *from);
/* Parses s[0..n), which it changes. 0; or -errno and the number of the line. */
int ni_tree_parse(struct ni_tree *t, char *s, size_t n, unsigned *ret_line);
/* Replaces escapes in place; *len shrinks. false: malformed. */
bool ni_tree_unescape(char *s, size_t *len);
int ni_walk(const char *path, bool follow, char ret[NI_TREE_PATH], ni_step_fn *step,
            const void *ctx);

/* Find the entry of a path: of any kind; of the kind that the access needs. 0 or -errno. */
int ni_tree_find(const struct ni_tree *t, const char *path, bool follow,
                 const struct ni_entry **ret);
int ni_tree_get(const struct ni_tree *t, const char *path, enum ni_access access,
                const struct ni_entry **ret);

/* Returns true if a recorded entry was met itself, not only on the way to another. Absence in a
   recording says nothing, unless the thing was listed. */
bool ni_is_met(const struct ni_entry *e);

#endif
