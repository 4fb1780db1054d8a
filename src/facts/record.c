/* SPDX-License-Identifier: Apache-2.0 */
/* facts: recording. Each call at the door first brings what it meets into the record, links
   resolved one by one, and is then answered from there (root.c source_of): the record cannot lack
   anything that an answer came from. */
#include <errno.h>
#include <string.h>

#include "door.h"

struct capture {
    const struct ni_root *root;
    struct ni_tree *t;
    enum ni_access access;
    uint32_t dir; /* where the walk is; for an empty name the object itself */
    struct ni_span name;
    char path[NI_TREE_PATH]; /* of dir/name, without links */
};

/* What a node is to become. */
struct news {
    enum ni_node_kind kind;
    const char *p; /* value */
    size_t n;
    bool kept; /* the value lies in the text already */
    int err;
    bool guess; /* no better than what is known already */
};

static int set_value(struct ni_tree *t, uint32_t at, const struct news *news)
{
    struct ni_node *node = &t->node[at];
    struct ni_span old = ni_tree_value(t, at);
    uint32_t value = (uint32_t)news->err;

    if (news->kind == NI_NODE_FILE || news->kind == NI_NODE_LINK) {
        if (node->kind == news->kind && old.n == news->n && memcmp(old.p, news->p, old.n) == 0) {
            node->guess &= news->guess;
            return 0;
        }
        int r = 0;
        if (news->kept)
            value = (uint32_t)(news->p - t->text);
        else
            r = ni_tree_keep(t, news->p, news->n, &value);
        if (r < 0)
            return r;
    }
    node->kind = (uint8_t)news->kind;
    node->value = value;
    node->len = (uint32_t)news->n;
    node->guess = news->guess;
    return 0;
}

/* dir/name becomes what the news say. */
static int put(struct ni_tree *t, uint32_t dir, struct ni_span name, const struct news *news)
{
    uint32_t at = ni_tree_child(t, dir, name);
    uint32_t kept;
    int r;

    if (at) {
        if (news->guess && !t->node[at].guess)
            return 0;
        /* It had entries a moment ago: the file system changes under us. The first state stays. */
        if (t->node[at].first && news->kind != NI_NODE_DIR)
            return 0;
        return set_value(t, at, news);
    }
    r = ni_tree_keep(t, name.p, name.n, &kept);
    if (r == 0)
        r = ni_tree_insert(t, dir, kept, name.n, &at);
    return r < 0 ? r : set_value(t, at, news);
}

static int put_here(struct capture *c, const struct news *news)
{
    return c->name.n ? put(c->t, c->dir, c->name, news) : 0;
}

static int put_kind(struct capture *c, bool dir)
{
    /* What exists and is no directory is an empty file until it is read: device nodes stay that. */
    return put_here(
        c, &(struct news){.kind = dir ? NI_NODE_DIR : NI_NODE_FILE, .p = "", .guess = true});
}

/* The directory of the walk turns out to be something else. */
static void put_dir(struct capture *c, const struct news *news)
{
    struct ni_node *dir = &c->t->node[c->dir];

    if (c->dir != 0 && dir->guess && !dir->first)
        (void)set_value(c->t, c->dir, news);
}

/* ---- what went wrong is a fact too ---- */

/* The directory lets nobody through: no search permission. */
static bool dir_refuses(const struct capture *c, int err)
{
    char path[NI_TREE_PATH];
    bool is_dir;

    return ni_tree_path(c->t, c->dir, (struct ni_span){".", 1}, path) &&
           ni_raw_exists(c->root, path, &is_dir) == err;
}

static int put_errno(struct capture *c, int err)
{
    struct news news = {.kind = NI_NODE_ERR, .err = -err};
    bool is_dir;

    switch (-err) {
    case ENOENT: /* what is not in the record is not there; but a listing may have shown it */
        return ni_tree_child(c->t, c->dir, c->name) ? put_here(c, &news) : 0;
    case ENOTDIR: /* of the thing itself when it was to be listed, else of its directory */
        if (c->access == NI_ACCESS_LIST && ni_raw_exists(c->root, c->path, &is_dir) == 0)
            return put_kind(c, is_dir);
        put_dir(c, &(struct news){.kind = NI_NODE_FILE, .p = "", .guess = true});
        return 0;
    case EISDIR:
        return put_kind(c, true);
    case ENAMETOOLONG: /* a tree says the same */
        return 0;
    default:
        break;
    }
    if (!dir_refuses(c, err))
        return put_here(c, &news);
    put_dir(c, &news);
    return 0;
}

/* ---- the access itself ---- */

static int capture_read(struct capture *c)
{
    struct ni_tree *t = c->t;
    size_t used = t->used;
    struct news news = {.kind = NI_NODE_FILE, .p = t->text + used, .kept = true};
    uint32_t before = ni_tree_child(t, c->dir, c->name);

    /* Straight to the end of the text; a new node's name comes behind it. */
    ssize_t n = ni_raw_read(c->root, c->path, t->text + used, t->cap - used);
    if (n == -EOVERFLOW)
        return -EFBIG;
    if (n < 0)
        return put_errno(c, (int)n);
    news.n = (size_t)n;
    t->used += news.n + 1;
    int r = put_here(c, &news);
    if (before && t->node[before].value != used) /* it had that value before */
        t->used = used;
    return r;
}

struct listing {
    struct ni_tree *t;
    uint32_t dir;
    int err;
};

static void capture_name(void *ctx, const char *name)
{
    struct listing *l = ctx;

    if (l->err == 0)
        l->err =
            put(l->t, l->dir, ni_span_of(name), &(struct news){.kind = NI_NODE_DIR, .guess = true});
}

static int capture_list(struct capture *c)
{
    struct listing l = {.t = c->t};
    bool is_dir;
    int r = ni_raw_exists(c->root, c->path, &is_dir);

    if (r < 0)
        return put_errno(c, r);
    r = put_kind(c, is_dir);
    if (r < 0)
        return r;
    l.dir = c->name.n ? ni_tree_child(c->t, c->dir, c->name) : c->dir;
    r = ni_raw_list(c->root, c->path, capture_name, &l);
    if (l.err < 0)
        return l.err;
    if (r < 0)
        return put_errno(c, r);
    return put_here(c, &(struct news){.kind = NI_NODE_DIR});
}

static int capture_exists(struct capture *c)
{
    bool is_dir;
    int r = ni_raw_exists(c->root, c->path, &is_dir);

    return r < 0 ? put_errno(c, r) : put_kind(c, is_dir);
}

static int capture_open(struct capture *c)
{
    int r = ni_raw_openable(c->root, c->path);

    return r < 0 ? put_errno(c, r) : capture_exists(c);
}

static int capture_object(struct capture *c)
{
    switch (c->access) {
    case NI_ACCESS_READ:
        return capture_read(c);
    case NI_ACCESS_LIST:
        return capture_list(c);
    case NI_ACCESS_OPEN:
        return capture_open(c);
    case NI_ACCESS_EXISTS:
    case NI_ACCESS_LINK: /* and it is no link */
        return capture_exists(c);
    }
    return 0;
}

/* ---- the way there ---- */

/* proc/self is a link to a number and proc/net one through it. As directories they make a record
   that people can read, and that is the same for each run. */
static bool is_proc_alias(const struct capture *c)
{
    static const char *const alias[] = {"/proc/self", "/proc/thread-self", "/proc/net"};

    return c->root->kind == NI_ROOT_LIVE && ni_is_any(c->path, alias, NI_COUNT(alias));
}

/* 1: dir/name is a link and in the record. 0: something else. Or -errno of looking at it. */
static int capture_link(struct capture *c, bool last)
{
    char target[NI_TREE_PATH];

    if (is_proc_alias(c) && !(last && c->access == NI_ACCESS_LINK))
        return 0;
    ssize_t n = ni_raw_readlink(c->root, c->path, target, sizeof(target));
    if (n < 0)
        return n == -EINVAL ? 0 : (int)n;
    struct news news = {.kind = NI_NODE_LINK, .p = target, .n = (size_t)n};
    int r = put_here(c, &news);
    if (r < 0)
        c->t->failed = -ENOSPC;
    return r < 0 ? r : 1;
}

/* Walks to the object. 1: c is at it, 0: there is no more to capture, -EFBIG: no room. */
static int walk(struct capture *c, const char *path)
{
    struct ni_walk w = {.rest = {ni_span_of(path)}, .n = 1};
    bool slash = false;

    for (;;) {
        c->name = ni_walk_next(&w, &slash);
        c->dir = w.at;
        bool last = w.n == 0;
        bool dots = ni_span_is(c->name, ".") || ni_span_is(c->name, "..");
        if (c->name.n >= NI_TREE_NAME ||
            !ni_tree_path(c->t, c->dir, dots ? (struct ni_span){"", 0} : c->name, c->path))
            return 0;
        if (c->name.n == 0)
            return 1;
        bool follow = !last || slash || c->access != NI_ACCESS_LINK;
        int link = dots ? 0 : capture_link(c, last);
        if (link == -EFBIG)
            return link;
        /* The last one's own error is for the access to meet: an unreadable file exists. */
        if (link < 0 && (!last || c->access == NI_ACCESS_LINK))
            return put_errno(c, link) < 0 ? -EFBIG : 0;
        if (link == 1 && !follow)
            return 0;
        if (link <= 0 && last && !dots)
            return 1;
        if (link <= 0 && !dots && put_kind(c, true) < 0)
            return -EFBIG;
        if (ni_walk_step(c->t, &w, c->name, true) < 0)
            return 0;
    }
}

bool ni_record_capture(const struct ni_root *root, const char *path, enum ni_access access)
{
    struct capture c = {.root = root, .t = root->record, .access = access};

    if (c.t->failed)
        return false;
    int r = walk(&c, path);
    if (r > 0)
        r = capture_object(&c);
    if (r < 0)
        c.t->failed = -ENOSPC;
    return r >= 0;
}

int ni_record_add(const struct ni_root *root, const char *path, const char *value, size_t len)
{
    struct ni_walk w = {.rest = {ni_span_of(path)}, .n = 1};
    struct news news = {.kind = NI_NODE_DIR, .guess = true};
    bool slash;

    while (w.n > 0) {
        struct ni_span name = ni_walk_next(&w, &slash);
        if (name.n == 0 || name.n >= NI_TREE_NAME || ni_span_is(name, ".") ||
            ni_span_is(name, ".."))
            return -EINVAL;
        if (w.n == 0)
            news = (struct news){.kind = NI_NODE_FILE, .p = value, .n = len};
        int r = put(root->record, w.at, name, &news);
        if (r == 0)
            r = ni_walk_step(root->record, &w, name, true);
        if (r < 0)
            return r == -EFBIG ? -ENOSPC : r;
    }
    return 0;
}
