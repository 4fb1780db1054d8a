/* SPDX-License-Identifier: Apache-2.0 */
/* door: the inside. Included by this room, its tests and tools only. */
#ifndef NCCL_INIT_DOOR_DOOR_H
#define NCCL_INIT_DOOR_DOOR_H

#include "nccl_init/door.h"

/* ---- tree.c: a tree in memory ---- */

enum {
    NI_TREE_NAME = 256,  /* NAME_MAX, include/uapi/linux/limits.h, and the NUL */
    NI_TREE_PATH = 4096, /* PATH_MAX, same file */
    NI_TREE_LINKS = 40,  /* MAXSYMLINKS, include/linux/namei.h */
    NI_TREE_FILE = 64 << 20
};

enum ni_entry_kind { NI_ENTRY_DIR, NI_ENTRY_FILE, NI_ENTRY_LINK, NI_ENTRY_ERR };

struct ni_entry {
    void *memory;      /* of path and value */
    const char *path;  /* "sys/class/net" */
    const char *value; /* FILE: content, LINK: target; NUL-terminated, may hold NULs */
    uint32_t len;      /* of value */
    uint32_t number;   /* the line; of a record: the later one counts */
    uint8_t kind;
    uint8_t sure; /* of a record: record.c */
    int err;      /* of ERR */
};

/* A tree is in order, has one entry of each path, and all directories; the first is the root, with
   path "". A record has entries as they came. */
struct ni_tree {
    struct ni_entry *at;
    size_t n, room;
    size_t text; /* bytes of all paths and values */
    int failed;  /* record: what made it incomplete, -errno */
};

void ni_tree_free(struct ni_tree *t); /* made by calloc */
/* Adds a copy behind the others. 0, -EFBIG, -ENOMEM. */
int ni_tree_add(struct ni_tree *t, const struct ni_entry *e);
/* By path; of one path the surest first, then the one of the highest number. */
void ni_tree_sort(struct ni_tree *t);
/* By bytes, but behind a directory comes what is below it. */
int ni_path_cmp(const char *a, const char *b);
/* dir "": everything is. */
bool ni_is_below(const char *path, const char *dir);
/* Parses s[0..n), which it changes. 0 or -errno and the line. */
int ni_tree_parse(struct ni_tree *t, char *s, size_t n, unsigned *ret_line);
/* Replaces escapes in place; *len shrinks. false: malformed. */
bool ni_tree_unescape(char *s, size_t *len);

/* Walks a path as fs/namei.c link_path_walk does below the root of RESOLVE_IN_ROOT. `step` is asked
   at each component that may be a link: 1 and its target, 0: none, or -errno. ret: the path without
   links, or where the walk ended. 0 or -errno. */
typedef int ni_step_fn(void *ctx, const char *path, bool last, char target[NI_TREE_PATH]);
int ni_walk(const char *path, bool follow, char ret[NI_TREE_PATH], ni_step_fn *step, void *ctx);

enum ni_access { NI_ACCESS_READ, NI_ACCESS_LINK, NI_ACCESS_EXISTS, NI_ACCESS_OPEN, NI_ACCESS_LIST };

/* What is there, of whatever kind; of the kind that the access wants. 0 or -errno. */
int ni_tree_find(const struct ni_tree *t, const char *path, bool follow,
                 const struct ni_entry **ret);
int ni_tree_get(const struct ni_tree *t, const char *path, enum ni_access access,
                const struct ni_entry **ret);
typedef void ni_name_fn(void *ctx, const char *name);
/* Those in the directory `dir` of the tree. */
void ni_tree_names(const struct ni_tree *t, const struct ni_entry *dir, ni_name_fn *name,
                   void *ctx);

/* ---- lines: root.c ---- */

struct ni_liner {
    ni_line_fn *line;
    void *ctx;
    size_t len;
    char buf[NI_PAGE];
};

/* -EILSEQ at a NUL: a line with one would reach `line` cut short. */
int ni_liner_feed(struct ni_liner *l, const char *s, size_t n);

/* ---- live.c: the three kinds of root behind one set of calls ---- */

/* As ni_read and the others of door.h, but a NUL is a byte like any other, and unrecorded. `path` is
   whole, from the root on, and begins with a slash. */
ssize_t ni_raw_read(const struct ni_dir *dir, const char *path, char *buf, size_t cap);
ssize_t ni_raw_readlink(const struct ni_dir *dir, const char *path, char *buf, size_t cap);
/* 0 and whether it is a directory. */
int ni_raw_exists(const struct ni_dir *dir, const char *path, bool *ret_dir);
int ni_raw_openable(const struct ni_dir *dir, const char *path);
int ni_raw_lines(const struct ni_dir *dir, const char *path, struct ni_liner *l);
int ni_raw_list(const struct ni_dir *dir, const char *path, ni_name_fn *name, void *ctx);
/* A descriptor that stands for the directory (O_PATH); negative: there is none. */
int ni_raw_open_dir(const struct ni_dir *from, const char *path);

/* ---- record.c, mask.c ---- */

/* Puts what the access meets into the record, links on the way too. */
void ni_record(const struct ni_dir *dir, const char *path, enum ni_access access);

/* Puts s with escapes for what must not stand so in a .tree. */
void ni_put_escaped(struct ni_text *t, struct ni_span s, bool is_path);

struct ni_mask;

/* Looks through the tree for GUIDs and host names. NULL: no memory. */
struct ni_mask *ni_mask_new(const struct ni_tree *t);
void ni_mask_free(struct ni_mask *m);
/* The text of the file at `path`, or with path "" a name or the target of a link, with everything
   replaced that says which machine it is, and the rest escaped. */
void ni_mask_text(struct ni_mask *m, const char *path, struct ni_span s, struct ni_text *ret);
/* 0, or -EFBIG when there were more different things to mask than the table has room for. */
int ni_mask_error(const struct ni_mask *m);

#endif
