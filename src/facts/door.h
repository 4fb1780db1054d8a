/* SPDX-License-Identifier: Apache-2.0 */
/* facts: the inside of the door. Included by root*.c, tree*.c, record*.c, mask*.c, their tests and
   tools only. */
#ifndef NCCL_INIT_FACTS_DOOR_H
#define NCCL_INIT_FACTS_DOOR_H

#include "nccl_init/facts.h"

/* ---- a tree in memory: tree.c ---- */

enum {
    NI_TREE_NAME = 256,  /* NAME_MAX, include/uapi/linux/limits.h, and the NUL */
    NI_TREE_PATH = 4096, /* PATH_MAX, same file */
    NI_TREE_DEPTH = 64,  /* directories below each other; sysfs has about 25 */
    NI_TREE_LINKS = 40,  /* MAXSYMLINKS, include/linux/namei.h */
    NI_TREE_FILE = 64 << 20
};

enum ni_node_kind { NI_NODE_DIR, NI_NODE_FILE, NI_NODE_LINK, NI_NODE_ERR };

/* Node 0 is the root, and because the root is nobody's child or sibling, 0 also says "none". */
struct ni_node {
    uint32_t parent, first, next; /* first child, next sibling */
    uint32_t chain;               /* next in the hash bucket */
    uint32_t name;                /* offset in text, NUL-terminated */
    uint32_t value;               /* FILE: content, LINK: target, offset in text; ERR: the errno */
    uint32_t len;                 /* bytes of the value; they may hold NUL */
    uint8_t name_len;
    uint8_t depth;
    uint8_t kind;
    bool guess; /* record: seen, but of a kind that was not asked for */
};

/* The pools are one anonymous mapping made when the tree is: the program as it runs in a pod has
   none of it. */
struct ni_tree {
    struct ni_node *node;
    uint32_t *bucket;
    char *text;
    uint32_t n, bucket_mask;
    size_t used, cap; /* of text */
    int failed;       /* record: what made it incomplete, -errno */
    void *map;
    size_t map_len;
};

enum ni_tree_slot { NI_SLOT_ROOT, NI_SLOT_RECORD };

/* An empty tree in the memory of the slot. 0, -EBUSY when it is in use, -ENOMEM. */
int ni_tree_new(enum ni_tree_slot slot, struct ni_tree **ret);
void ni_tree_free(struct ni_tree *t);

/* The child of that name, 0 when there is none. */
uint32_t ni_tree_child(const struct ni_tree *t, uint32_t dir, struct ni_span name);
/* A new child, an empty directory. `name` must be NUL-terminated inside t->text. 0 or -EFBIG,
   -ENAMETOOLONG. */
int ni_tree_insert(struct ni_tree *t, uint32_t dir, uint32_t name, size_t len, uint32_t *ret);
/* Copies bytes and a NUL behind the text. 0 or -EFBIG. */
int ni_tree_keep(struct ni_tree *t, const char *s, size_t n, uint32_t *ret);
struct ni_span ni_tree_value(const struct ni_tree *t, uint32_t node);
const char *ni_tree_name(const struct ni_tree *t, uint32_t node);

/* "/a/b/name", or the path of `dir` itself for an empty name. false: longer than the kernel's
   longest. */
bool ni_tree_path(const struct ni_tree *t, uint32_t dir, struct ni_span name,
                  char ret[NI_TREE_PATH]);

/* ---- walking: tree_walk.c ---- */

/* What is still to walk: the path, and on top of it the targets of the links met on the way. */
struct ni_walk {
    struct ni_span rest[NI_TREE_LINKS + 1];
    unsigned n, links;
    uint32_t at;
};

/* Next component, empty at the end; w->n == 0: it is the last. *ret_slash: a slash follows it. */
struct ni_span ni_walk_next(struct ni_walk *w, bool *ret_slash);
/* Goes there. 0 or -errno. */
int ni_walk_step(const struct ni_tree *t, struct ni_walk *w, struct ni_span name, bool follow);
/* The node at a path, links resolved as by openat2 RESOLVE_IN_ROOT. 0 or -errno. */
int ni_tree_find(const struct ni_tree *t, const char *path, bool follow, uint32_t *ret);

/* ---- the .tree form: tree_parse.c ---- */

/* Parses t->text[0..n), which must have a spare byte behind it. 0 or -errno and the line. */
int ni_tree_parse(struct ni_tree *t, size_t n, unsigned *ret_line);
/* Replaces escapes in place; *len shrinks. false: malformed. */
bool ni_tree_unescape(char *s, size_t *len);

/* ---- listings: root_names.c ---- */

/* Collects the names that come first in natural order, as many as fit, whatever the order they come
   in. */
struct ni_listing {
    struct ni_names *ret;
    size_t used;              /* of ret->text, dropped names included */
    size_t live;              /* the same without them */
    char limit[NI_TREE_NAME]; /* the first name that did not fit; "" while all did */
};

void ni_listing_begin(struct ni_listing *l, struct ni_names *ret);
void ni_listing_add(struct ni_listing *l, const char *name);
void ni_listing_end(struct ni_listing *l);

/* ---- lines: root_lines.c ---- */

struct ni_liner {
    ni_line_fn *line;
    void *ctx;
    size_t len;
    char buf[NI_PAGE];
};

/* -EILSEQ at a NUL: a line with one would reach `line` cut short. */
int ni_liner_feed(struct ni_liner *l, const char *s, size_t n);
void ni_liner_end(struct ni_liner *l);

/* ---- the three kinds of root behind one set of calls. `path` begins with a slash. ---- */

typedef void ni_name_fn(void *ctx, const char *name);

/* As ni_read and the others of facts.h, but a NUL is a byte like any other, and unrecorded. */
ssize_t ni_raw_read(const struct ni_root *root, const char *path, char *buf, size_t cap);
ssize_t ni_raw_readlink(const struct ni_root *root, const char *path, char *buf, size_t cap);
/* 0 and whether it is a directory. */
int ni_raw_exists(const struct ni_root *root, const char *path, bool *ret_dir);
int ni_raw_openable(const struct ni_root *root, const char *path);
int ni_raw_lines(const struct ni_root *root, const char *path, struct ni_liner *l);
int ni_raw_list(const struct ni_root *root, const char *path, ni_name_fn *name, void *ctx);

/* tree_read.c */
ssize_t ni_tree_read(const struct ni_tree *t, const char *path, char *buf, size_t cap);
ssize_t ni_tree_readlink(const struct ni_tree *t, const char *path, char *buf, size_t cap);
int ni_tree_exists(const struct ni_tree *t, const char *path, bool *ret_dir);
int ni_tree_openable(const struct ni_tree *t, const char *path);
int ni_tree_lines(const struct ni_tree *t, const char *path, struct ni_liner *l);
int ni_tree_list(const struct ni_tree *t, const char *path, ni_name_fn *name, void *ctx);

/* root_open.c: descriptors below "/" and directories, or -errno */

/* How often a call is made that says to try again: a file system of another program (FUSE) may say
   so for ever. */
enum { NI_TRIES = 16 };
/* openat2; EAGAIN, where something was renamed meanwhile, is tried again. */
int ni_open_resolved(int dir, const char *path, int flags, uint64_t resolve);
/* From the root itself. Where no more may be open, what is held goes first. */
int ni_open_whole(const struct ni_root *root, const char *path, int flags);
/* From the directory that is held, where the path is below it. */
int ni_open_path(const struct ni_root *root, const char *path, int flags);
/* Links of one directory are read one after the other, so the directory, path[0..len), stays open:
   the last name of a path is not followed, and cannot lead anywhere. false: there is none to read
   it from. */
bool ni_hold_links(const struct ni_root *root, const char *path, size_t len);

/* root_sys.c: "/" and directories */
/* A directory, or a file whose text is then in ret->tree, *ret_len bytes, not parsed. */
int ni_sys_open(const char *path, struct ni_root *ret, size_t *ret_len);
void ni_sys_hold(const struct ni_root *root, const char *path);
ssize_t ni_sys_read(const struct ni_root *root, const char *path, char *buf, size_t cap);
ssize_t ni_sys_readlink(const struct ni_root *root, const char *path, char *buf, size_t cap);
int ni_sys_exists(const struct ni_root *root, const char *path, bool *ret_dir);
bool ni_sys_is_at(const char *path, const char *name);
int ni_sys_openable(const struct ni_root *root, const char *path);
int ni_sys_lines(const struct ni_root *root, const char *path, struct ni_liner *l);
int ni_sys_list(const struct ni_root *root, const char *path, ni_name_fn *name, void *ctx);

/* ---- recording: record.c ---- */

enum ni_access { NI_ACCESS_READ, NI_ACCESS_LINK, NI_ACCESS_EXISTS, NI_ACCESS_OPEN, NI_ACCESS_LIST };

/* Brings what the access meets into root->record, so that the record answers it as the root does.
   false: it cannot; the reason is then in root->record->failed, or the root itself could not be
   looked at. */
bool ni_record_capture(const struct ni_root *root, const char *path, enum ni_access access);

/* Orders the children of every directory by name: record_sort.c. */
void ni_tree_sort(struct ni_tree *t);

/* ---- masking: mask.c ---- */

struct ni_mask;

/* Takes the text piece by piece. */
typedef void ni_sink_fn(void *ctx, const char *s, size_t n);

/* Looks through the tree for host names and GUIDs. 0 or -ENOMEM, -ENOSPC. One at a time. */
int ni_mask_new(const struct ni_tree *t, struct ni_mask **ret);
void ni_mask_free(struct ni_mask *m);
/* 0, or -ENOSPC when there were more different things to mask than the table has room for. */
int ni_mask_error(const struct ni_mask *m);
/* The text of the file at `path` ("/sys/..."). */
void ni_mask_value(struct ni_mask *m, const char *path, struct ni_span s, ni_sink_fn *sink,
                   void *ctx);
/* One component of a path, or the target of a link. */
void ni_mask_name(struct ni_mask *m, struct ni_span s, ni_sink_fn *sink, void *ctx);

#endif
