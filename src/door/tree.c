/* SPDX-License-Identifier: Apache-2.0 */
/* door: a .tree file (docs/tree.md) in memory. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "door.h"

enum {
    MAX_RANGE = 65536,
    MAX_ENTRIES = 1 << 21,
    MAX_TEXT = 256 << 20, /* of all names and values */
    BLOCK = 1 << 20
};

/* ---- memory ---- */

struct ni_block {
    struct ni_block *next;
    size_t used, size;
    char at[];
};

struct ni_tree *ni_tree_new(void)
{
    struct ni_tree *t = calloc(1, sizeof(*t));

    if (t)
        t->top = (struct ni_entry){.path = "", .value = "", .kind = NI_ENTRY_DIR};
    return t;
}

void ni_tree_free(struct ni_tree *t)
{
    if (!t)
        return;
    for (struct ni_block *b = t->block, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    free(t->bucket);
    free(t->at);
    free(t);
}

char *ni_tree_room(struct ni_tree *t, size_t n)
{
    struct ni_block *b = t->block;

    if (!b || n > b->size - b->used) {
        size_t size = n > BLOCK ? n : BLOCK;
        b = t->text + size > MAX_TEXT ? NULL : malloc(sizeof(*b) + size);
        if (!b)
            return NULL;
        *b = (struct ni_block){.next = t->block, .size = size};
        t->block = b;
        t->text += size;
    }
    b->used += n;
    return b->at + b->used - n;
}

int ni_tree_add(struct ni_tree *t, const struct ni_entry *e)
{
    if (t->n == MAX_ENTRIES)
        return -EFBIG;
    if (t->n == t->room || !t->at) {
        size_t room = t->room ? 2 * t->room : 1024;
        struct ni_entry *at = realloc(t->at, room * sizeof(*at));
        if (!at)
            return -ENOMEM;
        t->at = at;
        t->room = room;
    }
    t->at[t->n++] = *e;
    return 0;
}

/* ---- entries ---- */

/* FNV-1a */
static size_t hash_of(const char *s, size_t n)
{
    uint32_t h = 2166136261U;

    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)s[i]) * 16777619U;
    return h ^ (h >> 15);
}

/* The bucket of path[0..n), or the free one for it. */
static uint32_t *bucket_of(const struct ni_tree *t, const char *path, size_t n)
{
    for (size_t h = hash_of(path, n);; h++) {
        uint32_t *b = &t->bucket[h & (t->buckets - 1)];
        if (!*b || (strncmp(t->at[*b - 1].path, path, n) == 0 && !t->at[*b - 1].path[n]))
            return b;
    }
}

static struct ni_entry *find(const struct ni_tree *t, const char *path, size_t n)
{
    uint32_t b = t->n > 0 ? *bucket_of(t, path, n) : 0;

    return b ? &t->at[b - 1] : NULL;
}

static int grow(struct ni_tree *t)
{
    if (2 * t->n < t->buckets)
        return 0;
    free(t->bucket);
    t->buckets = t->buckets ? 2 * t->buckets : 1024;
    t->bucket = calloc(t->buckets, sizeof(*t->bucket));
    for (size_t i = 0; t->bucket && i < t->n; i++)
        *bucket_of(t, t->at[i].path, strlen(t->at[i].path)) = (uint32_t)i + 1;
    return t->bucket ? 0 : -ENOMEM;
}

/* The directory above path[0..n): its index + 1 or -errno; 0: it is the root. */
static int64_t parent_of(struct ni_tree *t, const char *path, size_t n)
{
    while (n > 0 && path[n - 1] != '/')
        n--;
    if (n == 0)
        return 0;
    n--;
    const struct ni_entry *dir = find(t, path, n);
    if (!dir) {
        char *copy = ni_tree_room(t, n + 1);
        if (!copy)
            return -EFBIG;
        (void)ni_copyn(copy, n + 1, path, n);
        int r = ni_tree_put(t, &(struct ni_entry){.kind = NI_ENTRY_DIR, .path = copy, .value = ""});
        return r < 0 ? r : (int64_t)t->n;
    }
    return dir->kind == NI_ENTRY_DIR ? dir - t->at + 1 : -EINVAL;
}

int ni_tree_put(struct ni_tree *t, const struct ni_entry *e)
{
    size_t n = strlen(e->path);
    const struct ni_entry *is = find(t, e->path, n);

    if (is) /* given twice: which of the two counts? */
        return is->kind == NI_ENTRY_DIR && e->kind == NI_ENTRY_DIR ? 0 : -EINVAL;
    int64_t parent = parent_of(t, e->path, n);
    int r = parent < 0 ? (int)parent : ni_tree_add(t, e);
    if (r == 0)
        r = grow(t);
    if (r < 0 || !t->bucket)
        return r;
    t->at[t->n - 1].first = t->at[t->n - 1].last = t->at[t->n - 1].next = 0;
    struct ni_entry *dir = parent > 0 ? &t->at[parent - 1] : &t->top;
    *(dir->first ? &t->at[dir->last - 1].next : &dir->first) = (uint32_t)t->n;
    dir->last = (uint32_t)t->n;
    *bucket_of(t, e->path, n) = (uint32_t)t->n;
    return 0;
}

/* ---- paths ---- */

int ni_walk(const char *path, bool follow, char ret[NI_TREE_PATH], ni_step_fn *step, void *ctx)
{
    char rest[2 * NI_TREE_PATH], target[NI_TREE_PATH] = "", *at = rest;
    unsigned links = 0;
    size_t len = 0;

    ret[0] = '\0';
    if (!*path)
        return -ENOENT;
    if (!ni_copy(rest, sizeof(rest), path))
        return -ENAMETOOLONG;
    for (;;) {
        at += strspn(at, "/");
        size_t n = strcspn(at, "/");
        if (n == 0)
            return 0;
        bool last = at[n] == '\0';
        size_t end = len + (len > 0) + n;
        if (n >= NI_TREE_NAME || end >= NI_TREE_PATH)
            return -ENAMETOOLONG;
        if (n <= 2 && strncmp(at, "..", n) == 0) { /* the root is its own parent */
            char *slash = n == 2 ? strrchr(ret, '/') : ret + len;
            len = slash ? (size_t)(slash - ret) : 0;
            ret[len] = '\0';
            at += n;
            continue;
        }
        memmove(ret + end - n, at, n);
        ret[end] = '\0';
        if (len > 0)
            ret[len] = '/';
        at += n;
        int r = last && !follow ? 0 : step(ctx, ret, last, target);
        if (r < 0)
            return r;
        if (r == 0) {
            len = end;
            continue;
        }
        if (++links > NI_TREE_LINKS)
            return -ELOOP;
        if (!*target)
            return -ENOENT;
        char now[sizeof(rest)];
        if (!ni_format(now, sizeof(now), "%s%s", target, at)) /* `at`: a slash, or the end */
            return -ENAMETOOLONG;
        memcpy(rest, now, sizeof(now));
        at = rest;
        len = *target == '/' ? 0 : len;
        ret[len] = '\0';
    }
}

/* What is at a path without links. */
static int look_up(const struct ni_tree *t, const char *path, const struct ni_entry **ret)
{
    const struct ni_entry *e = *path ? find(t, path, strlen(path)) : &t->top;

    *ret = e;
    return e ? 0 : -ENOENT;
}

static int step(void *ctx, const char *path, bool last, char target[NI_TREE_PATH])
{
    const struct ni_tree *t = ctx;
    const struct ni_entry *e;
    int r = look_up(t, path, &e);

    if (r < 0 || e->kind == NI_ENTRY_DIR)
        return r;
    if (e->kind == NI_ENTRY_LINK) {
        memcpy(target, e->value, e->len + 1);
        return 1;
    }
    return last ? 0 : e->kind == NI_ENTRY_ERR ? -e->err : -ENOTDIR;
}

int ni_tree_find(const struct ni_tree *t, const char *path, bool follow,
                 char ret_path[NI_TREE_PATH], const struct ni_entry **ret)
{
    struct ni_tree *ctx = (struct ni_tree *)(uintptr_t)t; /* step only reads */
    int r = ni_walk(path, follow, ret_path, step, ctx);

    return r < 0 ? r : look_up(t, ret_path, ret);
}

/* ---- the door's calls ---- */

/* What opening the path gives: 0, or the error that was recorded. */
static int open_entry(const struct ni_tree *t, const char *path, const struct ni_entry **ret)
{
    char at[NI_TREE_PATH];
    int r = ni_tree_find(t, path, true, at, ret);

    return r == 0 && (*ret)->kind == NI_ENTRY_ERR ? -(*ret)->err : r;
}

static ssize_t copy_out(const struct ni_entry *e, char *buf, size_t cap)
{
    if (e->len >= cap)
        return -EOVERFLOW;
    memcpy(buf, e->value, e->len);
    return (ssize_t)e->len;
}

ssize_t ni_tree_read(const struct ni_tree *t, const char *path, char *buf, size_t cap)
{
    const struct ni_entry *e;
    int r = open_entry(t, path, &e);

    if (r < 0)
        return r;
    return e->kind == NI_ENTRY_FILE ? copy_out(e, buf, cap) : -EISDIR;
}

ssize_t ni_tree_readlink(const struct ni_tree *t, const char *path, char *buf, size_t cap)
{
    const struct ni_entry *e;
    char at[NI_TREE_PATH];
    int r = ni_tree_find(t, path, false, at, &e);

    if (r < 0)
        return r;
    if (e->kind == NI_ENTRY_ERR)
        return -e->err;
    return e->kind == NI_ENTRY_LINK ? copy_out(e, buf, cap) : -EINVAL;
}

int ni_tree_exists(const struct ni_tree *t, const char *path, bool *ret_dir)
{
    const struct ni_entry *e;
    char at[NI_TREE_PATH];
    int r = ni_tree_find(t, path, true, at, &e);

    if (r < 0)
        return r;
    *ret_dir = e->kind == NI_ENTRY_DIR;
    /* A file that cannot be opened is there all the same. */
    return e->kind == NI_ENTRY_ERR && e->err == ENOENT ? -ENOENT : 0;
}

int ni_tree_openable(const struct ni_tree *t, const char *path)
{
    const struct ni_entry *e;

    return open_entry(t, path, &e);
}

int ni_tree_lines(const struct ni_tree *t, const char *path, struct ni_liner *l)
{
    const struct ni_entry *e;
    int r = open_entry(t, path, &e);

    if (r < 0)
        return r;
    if (e->kind != NI_ENTRY_FILE)
        return -EISDIR;
    if (e->len == 0)
        return 0;
    r = ni_liner_feed(l, e->value, e->len);
    return r < 0 ? r : ni_liner_feed(l, "\n", 1); /* the form leaves the last newline off */
}

int ni_tree_list(const struct ni_tree *t, const char *path, ni_name_fn *name, void *ctx)
{
    const struct ni_entry *e;
    char dir[NI_TREE_PATH];
    int r = ni_tree_find(t, path, true, dir, &e);

    if (r == 0 && e->kind != NI_ENTRY_DIR)
        r = e->kind == NI_ENTRY_ERR ? -e->err : -ENOTDIR;
    if (r < 0)
        return r;
    size_t n = strlen(dir) + (*dir ? 1 : 0);
    for (uint32_t i = e->first; i; i = t->at[i - 1].next)
        name(ctx, t->at[i - 1].path + n);
    return 0;
}

/* ---- the form ---- */

/* Reads the escape behind a backslash. Bytes used, 0 when it is none of ours. */
static size_t read_escape(const char *s, size_t n, char *ret)
{
    static const char plain[] = "n\nt\tr\r\\\\\"\"";

    if (n == 0)
        return 0;
    if (*s == 'x') {
        int hi = n > 2 ? ni_hex_digit(s[1]) : -1;
        int lo = n > 2 ? ni_hex_digit(s[2]) : -1;
        *ret = (char)(hi * 16 + lo);
        return hi < 0 || lo < 0 ? 0 : 3;
    }
    /* \0 alone is NUL; a digit behind it would be octal to readers of C. */
    if (*s == '0') {
        *ret = '\0';
        return n > 1 && ni_is_digit(s[1]) ? 0 : 1;
    }
    for (const char *p = plain; *p; p += 2)
        if (*p == *s) {
            *ret = p[1];
            return 1;
        }
    return 0;
}

bool ni_tree_unescape(char *s, size_t *len)
{
    size_t out = 0;

    for (size_t in = 0; in < *len;) {
        char c = s[in++];
        if (c == '\\') {
            size_t used = read_escape(s + in, *len - in, &c);
            if (used == 0)
                return false;
            in += used;
        }
        s[out++] = c;
    }
    *len = out;
    return true;
}

/* A path of the file. A range, `{0..255}`, is an empty component at text + range. */
struct path {
    char text[NI_TREE_PATH];
    size_t len;
    bool ranged;
    size_t range;
    uint32_t from, to;
};

struct parser {
    struct ni_tree *t;
    struct path base; /* of the last `d`: what "./" stands for */
};

/* `{A..B}`, plain decimals, A <= B. */
static int parse_range(struct ni_span s, struct path *p)
{
    const char *inside = s.p + 1;
    size_t n = s.n > 1 && s.p[s.n - 1] == '}' ? s.n - 2 : 0;
    const char *dots = n > 0 ? memmem(inside, n, "..", 2) : NULL;
    uint64_t from, to;

    if (!dots || p->ranged)
        return -EINVAL;
    struct ni_span a = {inside, (size_t)(dots - inside)};
    struct ni_span b = {dots + 2, n - a.n - 2};
    if (ni_parse_u64(a, UINT32_MAX, &from) < 0 || ni_parse_u64(b, UINT32_MAX, &to) < 0)
        return -EINVAL;
    if ((a.n > 1 && *a.p == '0') || (b.n > 1 && *b.p == '0')) /* {00..07}: which of 7 and 07? */
        return -EINVAL;
    if (from > to || to - from >= MAX_RANGE)
        return -EINVAL;
    p->ranged = true;
    p->range = p->len;
    p->from = (uint32_t)from;
    p->to = (uint32_t)to;
    return 0;
}

static int add_component(struct path *p, char *s, size_t n)
{
    bool first = p->len == 0 && !p->ranged;

    if (p->len + n + 2 > sizeof(p->text))
        return -ENAMETOOLONG;
    if (!first)
        p->text[p->len++] = '/';
    if (n > 0 && *s == '{')
        return parse_range((struct ni_span){s, n}, p);
    if (!ni_tree_unescape(s, &n) || n == 0 || n >= NI_TREE_NAME || memchr(s, '/', n) ||
        memchr(s, '\0', n) || (n <= 2 && strncmp(s, "..", n) == 0))
        return -EINVAL;
    memcpy(p->text + p->len, s, n);
    p->len += n;
    return 0;
}

static int parse_path(struct parser *ps, char *s, size_t n, struct path *p)
{
    int r = 0;

    *p = (struct path){0};
    if (n >= 2 && s[0] == '.' && s[1] == '/') {
        *p = ps->base;
        s += 2;
        n -= 2;
    }
    for (bool more = true; more && r == 0;) {
        char *end = memchr(s, '/', n);
        size_t len = end ? (size_t)(end - s) : n;
        r = add_component(p, s, len);
        more = end != NULL;
        s += len + 1;
        n -= more ? len + 1 : len;
    }
    p->text[p->len] = '\0';
    return r;
}

static int add_path(struct parser *ps, const struct path *p, const char *number, struct ni_entry *e)
{
    size_t n = strlen(number), front = p->ranged ? p->range : p->len;

    if (p->len + n >= NI_TREE_PATH)
        return -ENAMETOOLONG;
    char *path = ni_tree_room(ps->t, p->len + n + 1);
    if (!path)
        return -EFBIG;
    (void)ni_format(path, p->len + n + 1, "%.*s%s%s", (int)front, p->text, number, p->text + front);
    e->path = path;
    return ni_tree_put(ps->t, e);
}

/* What stands behind the path; NULL: nothing does. */
static int parse_value(char kind, char *s, size_t n, struct ni_entry *ret)
{
    *ret = (struct ni_entry){.kind = NI_ENTRY_DIR, .value = ""};
    if (kind == 'd')
        return s ? -EINVAL : 0;
    if (kind == 'e') {
        *ret = (struct ni_entry){
            .kind = NI_ENTRY_ERR, .value = "", .err = ni_errno_of((struct ni_span){s, n})};
        return ret->err ? 0 : -EINVAL;
    }
    if (s && !ni_tree_unescape(s, &n))
        return -EINVAL;
    if (kind == 'l' && (n == 0 || n >= NI_TREE_PATH || memchr(s, '\0', n)))
        return -EINVAL;
    if (s)
        s[n] = '\0'; /* of the separator */
    *ret = (struct ni_entry){.kind = kind == 'l' ? NI_ENTRY_LINK : NI_ENTRY_FILE,
                             .value = s ? s : "",
                             .len = (uint32_t)n};
    return 0;
}

/* No raw control characters: a carriage return would be in a value that does not show it. */
static bool is_clean(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)s[i] < ' ' && s[i] != '\t')
            return false;
    return true;
}

static int parse_line(struct parser *ps, char *s, size_t n)
{
    struct ni_entry entry;
    struct path p = {0};
    char number[16];

    if (!is_clean(s, n))
        return -EINVAL;
    if (n == 0 || *s == '#' || ni_trim((struct ni_span){s, n}).n == 0)
        return 0;
    if (n < 3 || !strchr("dlfe", *s) || s[1] != ' ')
        return -EINVAL;
    char *path = s + 2, *blank = memchr(path, ' ', n - 2);
    size_t path_len = blank ? (size_t)(blank - path) : n - 2;
    int r = parse_value(*s, blank ? blank + 1 : NULL, blank ? n - path_len - 3 : 0, &entry);
    if (r == 0)
        r = parse_path(ps, path, path_len, &p);
    if (r == 0 && entry.kind == NI_ENTRY_DIR)
        ps->base = p;
    if (r < 0 || !p.ranged)
        return r < 0 ? r : add_path(ps, &p, "", &entry);
    for (uint64_t i = p.from; i <= p.to && r == 0; i++) {
        (void)ni_format(number, sizeof(number), "%u", (unsigned)i);
        r = add_path(ps, &p, number, &entry);
    }
    return r;
}

int ni_tree_parse(struct ni_tree *t, char *s, size_t n, unsigned *ret_line)
{
    static struct parser ps; /* too large for a small stack */
    char *end = s + n;

    ps = (struct parser){.t = t};
    for (unsigned line = 1; s < end; line++) {
        char *stop = memchr(s, '\n', (size_t)(end - s));
        stop = stop ? stop : end;
        int r = parse_line(&ps, s, (size_t)(stop - s));
        if (r < 0) {
            *ret_line = line;
            return r;
        }
        s = stop + 1;
    }
    return 0;
}
