/* SPDX-License-Identifier: Apache-2.0 */
/* door: a .tree file (docs/tree.md) in memory, an array in the order of paths. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "door.h"

enum {
    MAX_RANGE = 65536,
    MAX_ENTRIES = 1 << 21,
    MAX_TEXT = 256 << 20 /* of all names and values */
};

/* ---- entries ---- */

void ni_tree_free(struct ni_tree *t)
{
    for (size_t i = 0; t && i < t->n; i++)
        free(t->at[i].memory);
    if (t) {
        free(t->at);
        free(t->bucket);
    }
    free(t);
}

int ni_tree_add(struct ni_tree *t, const struct ni_entry *e)
{
    size_t n = strlen(e->path) + 1, all = n + e->len + 1;

    if (t->n > MAX_ENTRIES || t->text + all > MAX_TEXT)
        return -EFBIG;
    if (t->n == t->room) {
        size_t room = t->room ? 2 * t->room : 1024;
        struct ni_entry *at = realloc(t->at, room * sizeof(*at));
        if (!at)
            return -ENOMEM;
        t->at = at;
        t->room = room;
    }
    char *copy = malloc(all);
    if (!copy)
        return -ENOMEM;
    struct ni_entry *to = &t->at[t->n++];
    *to = *e;
    to->memory = copy;
    to->path = memcpy(copy, e->path, n);
    if (e->len > 0)
        memcpy(copy + n, e->value, e->len);
    copy[all - 1] = '\0';
    to->value = copy + n;
    t->text += all;
    return 0;
}

/* FNV-1a */
uint64_t ni_hash(const char *s, size_t n)
{
    uint64_t h = 0xcbf29ce484222325U;

    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)s[i]) * 0x100000001b3U;
    return h ^ (h >> 32);
}

/* The bucket of path[0..n), or the free one for it. */
static uint32_t *bucket_of(const struct ni_tree *t, const char *path, size_t n)
{
    for (uint64_t h = ni_hash(path, n);; h++) {
        uint32_t *b = &t->bucket[h & (t->buckets - 1)];
        if (!*b || (strncmp(t->at[*b - 1].path, path, n) == 0 && !t->at[*b - 1].path[n]))
            return b;
    }
}

static const struct ni_entry *find(const struct ni_tree *t, const char *path, size_t n)
{
    uint32_t b = *bucket_of(t, path, n);

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

/* Behind the others of its directory, to be found. */
static int put_in(struct ni_tree *t, size_t dir, const struct ni_entry *e)
{
    int r = ni_tree_add(t, e);

    if (r == 0)
        r = grow(t);
    if (r < 0)
        return r;
    uint32_t at = (uint32_t)t->n - 1;
    *bucket_of(t, e->path, strlen(e->path)) = at + 1;
    if (at > 0) /* not the root */
        *(t->at[dir].first ? &t->at[t->at[dir].last].next : &t->at[dir].first) = at;
    t->at[dir].last = at;
    return 0;
}

/* With the directories above it. -EINVAL: it is there already, or stands below something that is no
   directory. */
static int put(struct ni_tree *t, const struct ni_entry *e)
{
    size_t n = strlen(e->path), next;
    const struct ni_entry *dir = find(t, e->path, n);
    char buf[NI_TREE_PATH];

    if (dir) {                     /* given twice: which of the two counts? */
        t->text += sizeof(*e) + n; /* a range of directories may be given again and again */
        if (dir->kind != NI_ENTRY_DIR || e->kind != NI_ENTRY_DIR)
            return -EINVAL;
        return t->text > MAX_TEXT ? -EFBIG : 0;
    }
    while (!dir) { /* the root is there */
        while (n > 0 && e->path[--n] != '/')
            ;
        dir = find(t, e->path, n);
    }
    if (dir->kind != NI_ENTRY_DIR)
        return -EINVAL;
    size_t at = (size_t)(dir - t->at);
    for (;; n = next) {
        next = n + (n > 0);
        next += strcspn(e->path + next, "/");
        if (!e->path[next])
            return put_in(t, at, e);
        (void)ni_copyn(buf, sizeof(buf), e->path, next);
        int r = put_in(t, at, &(struct ni_entry){.kind = NI_ENTRY_DIR, .path = buf});
        if (r < 0)
            return r;
        at = t->n - 1;
    }
}

/* ---- paths ---- */

int ni_walk(const char *path, bool follow, char ret[NI_TREE_PATH], ni_step_fn *step, void *ctx)
{
    char rest[2 * NI_TREE_PATH], target[NI_TREE_PATH] = "";
    size_t len = 0, n = strlen(path);
    unsigned links = 0;

    ret[0] = '\0';
    if (n == 0)
        return -ENOENT;
    if (n >= sizeof(rest))
        return -ENAMETOOLONG;
    char *at = memcpy(rest + sizeof(rest) - n - 1, path, n + 1); /* room in front, for targets */
    for (;;) {
        at += strspn(at, "/");
        n = strcspn(at, "/");
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
        memcpy(ret + end - n, at, n);
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
        n = strlen(target);
        if (n == 0)
            return -ENOENT;
        if (n > (size_t)(at - rest))
            return -ENAMETOOLONG;
        at = memcpy(at - n, target, n); /* what is left begins with a slash, or is nothing */
        len = *target == '/' ? 0 : len;
        ret[len] = '\0';
    }
}

static int step(void *ctx, const char *path, bool last, char target[NI_TREE_PATH])
{
    const struct ni_entry *e = find(ctx, path, strlen(path));

    if (!e)
        return -ENOENT;
    if (e->kind == NI_ENTRY_LINK) {
        memcpy(target, e->value, e->len + 1);
        return 1;
    }
    return last || e->kind == NI_ENTRY_DIR ? 0 : e->kind == NI_ENTRY_ERR ? -e->err : -ENOTDIR;
}

int ni_tree_find(const struct ni_tree *t, const char *path, bool follow,
                 const struct ni_entry **ret)
{
    struct ni_tree *ctx = (struct ni_tree *)(uintptr_t)t; /* step only reads */
    char at[NI_TREE_PATH];
    int r = ni_walk(path, follow, at, step, ctx);

    if (r < 0)
        return r;
    *ret = find(t, at, strlen(at));
    return *ret ? 0 : -ENOENT;
}

/* ---- the door's calls ---- */

/* What opening the path gives: 0, or the error that was recorded. */
static int open_entry(const struct ni_tree *t, const char *path, bool follow,
                      const struct ni_entry **ret)
{
    int r = ni_tree_find(t, path, follow, ret);

    return r == 0 && (*ret)->kind == NI_ENTRY_ERR ? -(*ret)->err : r;
}

/* wrong: the error where it is of another kind. */
static ssize_t copy_out(const struct ni_tree *t, const char *path, enum ni_entry_kind kind,
                        int wrong, char *buf, size_t cap)
{
    const struct ni_entry *e;
    int r = open_entry(t, path, kind != NI_ENTRY_LINK, &e);

    if (r < 0)
        return r;
    if (e->kind != kind || e->len >= cap)
        return e->kind != kind ? wrong : -EOVERFLOW;
    memcpy(buf, e->value, e->len);
    return (ssize_t)e->len;
}

ssize_t ni_tree_read(const struct ni_tree *t, const char *path, char *buf, size_t cap)
{
    return copy_out(t, path, NI_ENTRY_FILE, -EISDIR, buf, cap);
}

ssize_t ni_tree_readlink(const struct ni_tree *t, const char *path, char *buf, size_t cap)
{
    return copy_out(t, path, NI_ENTRY_LINK, -EINVAL, buf, cap);
}

int ni_tree_exists(const struct ni_tree *t, const char *path, bool *ret_dir)
{
    const struct ni_entry *e;
    int r = ni_tree_find(t, path, true, &e);

    if (r < 0)
        return r;
    *ret_dir = e->kind == NI_ENTRY_DIR;
    /* A file that cannot be opened is there all the same. */
    return e->kind == NI_ENTRY_ERR && e->err == ENOENT ? -ENOENT : 0;
}

int ni_tree_openable(const struct ni_tree *t, const char *path)
{
    const struct ni_entry *e;

    return open_entry(t, path, true, &e);
}

int ni_tree_lines(const struct ni_tree *t, const char *path, struct ni_liner *l)
{
    const struct ni_entry *e;
    int r = open_entry(t, path, true, &e);

    if (r == 0 && e->kind != NI_ENTRY_FILE)
        r = -EISDIR;
    if (r < 0 || e->len == 0)
        return r;
    r = ni_liner_feed(l, e->value, e->len);
    return r < 0 ? r : ni_liner_feed(l, "\n", 1); /* the form leaves the last newline off */
}

int ni_tree_list(const struct ni_tree *t, const char *path, ni_name_fn *name, void *ctx)
{
    const struct ni_entry *e;
    int r = open_entry(t, path, true, &e);

    if (r == 0 && e->kind != NI_ENTRY_DIR)
        r = -ENOTDIR;
    if (r < 0)
        return r;
    size_t n = *e->path ? strlen(e->path) + 1 : 0;
    for (uint32_t i = e->first; i; i = t->at[i].next)
        name(ctx, t->at[i].path + n);
    return 0;
}

/* ---- the form ---- */

/* The byte that an escape stands for, behind its backslash; *n: how long it is, 0 for none of ours. */
static char read_escape(const char *s, size_t left, size_t *n)
{
    static const char from[] = "ntr\\\"0", to[] = "\n\t\r\\\"";
    const char *known = left > 0 && *s ? strchr(from, *s) : NULL;
    int high = left > 2 && *s == 'x' ? ni_hex_digit(s[1]) : -1;
    int low = high >= 0 ? ni_hex_digit(s[2]) : -1;

    *n = known ? 1 : low >= 0 ? 3 : 0;
    /* \0 alone is NUL; a digit behind it would be octal to readers of C. */
    if (known && *s == '0' && left > 1 && ni_is_digit(s[1]))
        *n = 0;
    return known ? to[known - from] : (char)(high * 16 + low);
}

bool ni_tree_unescape(char *s, size_t *len)
{
    size_t out = 0, n;

    for (size_t in = 0; in < *len;) {
        char c = s[in++];
        if (c == '\\') {
            c = read_escape(s + in, *len - in, &n);
            if (n == 0)
                return false;
            in += n;
        }
        s[out++] = c;
    }
    *len = out;
    return true;
}

/* A path as it stands in the file is at most so long: each byte escaped. */
enum { RAW_PATH = 4 * NI_TREE_PATH };

struct parser {
    struct ni_tree *t;
    char base[RAW_PATH]; /* of the last `d`, as in the file: what "./" stands for */
    char raw[RAW_PATH];  /* of this line, with the base */
    char path[RAW_PATH]; /* what it means */
};

/* `{A..B}`, plain decimals, A <= B. */
static int parse_range(struct ni_span s, uint64_t *from, uint64_t *to)
{
    const char *inside = s.p + 1;
    size_t n = s.n > 1 && s.p[s.n - 1] == '}' ? s.n - 2 : 0;
    const char *dots = n > 0 ? memmem(inside, n, "..", 2) : NULL;

    if (!dots)
        return -EINVAL;
    struct ni_span a = {inside, (size_t)(dots - inside)};
    struct ni_span b = {dots + 2, n - a.n - 2};
    if (ni_parse_u64(a, UINT32_MAX, from) < 0 || ni_parse_u64(b, UINT32_MAX, to) < 0)
        return -EINVAL;
    if ((a.n > 1 && *a.p == '0') || (b.n > 1 && *b.p == '0')) /* {00..07}: which of 7 and 07? */
        return -EINVAL;
    return *from > *to || *to - *from >= MAX_RANGE ? -EINVAL : 0;
}

/* ps->path of ps->raw, with the number in place of its range. */
static int parse_path(struct parser *ps, uint64_t number)
{
    struct ni_text path = ni_text_on(ps->path, sizeof(ps->path));
    const char *raw = ps->raw;
    struct ni_span name;

    while (ni_split(&raw, '/', &name)) {
        if (path.len > 0)
            ni_put(&path, "/");
        char *s = path.buf + path.len;
        if (name.n > 0 && *name.p == '{') {
            ni_put_u64(&path, number);
            continue;
        }
        ni_putn(&path, name.p, name.n);
        if (path.cut || !ni_tree_unescape(s, &name.n) || name.n == 0 || name.n >= NI_TREE_NAME ||
            memchr(s, '/', name.n) || memchr(s, '\0', name.n) ||
            (name.n <= 2 && strncmp(s, "..", name.n) == 0))
            return -EINVAL;
        path.len = (size_t)(s - path.buf) + name.n;
        path.buf[path.len] = '\0';
    }
    return path.len < NI_TREE_PATH ? 0 : -EINVAL;
}

/* An entry for each number of the range, or one. */
static int add_paths(struct parser *ps, struct ni_entry *e)
{
    const char *raw = ps->raw;
    struct ni_span name;
    uint64_t from = 0, to = 0;
    bool ranged = false;

    while (ni_split(&raw, '/', &name)) {
        if (name.n == 0 || *name.p != '{')
            continue;
        if (ranged || parse_range(name, &from, &to) < 0)
            return -EINVAL;
        ranged = true;
    }
    e->path = ps->path;
    int r = 0;
    for (uint64_t i = from; i <= to && r == 0; i++) {
        r = parse_path(ps, i);
        if (r == 0)
            r = put(ps->t, e);
    }
    return r;
}

/* What stands behind the path; NULL: nothing does. */
static int parse_value(char kind, char *s, size_t n, struct ni_entry *ret)
{
    *ret = (struct ni_entry){.kind = NI_ENTRY_DIR};
    if (kind == 'd')
        return s ? -EINVAL : 0;
    if (kind == 'e') {
        *ret = (struct ni_entry){.kind = NI_ENTRY_ERR, .err = ni_errno_of((struct ni_span){s, n})};
        return ret->err ? 0 : -EINVAL;
    }
    if (s && !ni_tree_unescape(s, &n))
        return -EINVAL;
    if (kind == 'l' && (n == 0 || n >= NI_TREE_PATH || memchr(s, '\0', n)))
        return -EINVAL;
    *ret = (struct ni_entry){
        .kind = kind == 'l' ? NI_ENTRY_LINK : NI_ENTRY_FILE, .value = s, .len = (uint32_t)n};
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
    struct ni_text raw = ni_text_on(ps->raw, sizeof(ps->raw));

    if (!is_clean(s, n))
        return -EINVAL;
    if (n == 0 || *s == '#' || ni_trim((struct ni_span){s, n}).n == 0)
        return 0;
    if (n < 3 || !strchr("dlfe", *s) || s[1] != ' ')
        return -EINVAL;
    char *path = s + 2, *blank = memchr(path, ' ', n - 2);
    size_t path_len = blank ? (size_t)(blank - path) : n - 2;
    int r = parse_value(*s, blank ? blank + 1 : NULL, blank ? n - path_len - 3 : 0, &entry);
    if (r < 0)
        return r;
    if (path_len >= 2 && path[0] == '.' && path[1] == '/') {
        ni_put(&raw, ps->base);
        size_t skip = *ps->base ? 1 : 2; /* the slash joins them */
        path += skip;
        path_len -= skip;
    }
    ni_putn(&raw, path, path_len);
    if (raw.cut)
        return -EINVAL;
    if (entry.kind == NI_ENTRY_DIR)
        memcpy(ps->base, ps->raw, raw.len + 1);
    return add_paths(ps, &entry);
}

int ni_tree_parse(struct ni_tree *t, char *s, size_t n, unsigned *ret_line)
{
    static struct parser ps; /* too large for a small stack */
    char *end = s + n;
    int r = put_in(t, 0, &(struct ni_entry){.kind = NI_ENTRY_DIR, .path = ""});

    ps.t = t;
    ps.base[0] = '\0';
    for (unsigned line = 1; s < end && r == 0; line++) {
        char *stop = memchr(s, '\n', (size_t)(end - s));
        stop = stop ? stop : end;
        r = parse_line(&ps, s, (size_t)(stop - s));
        *ret_line = r < 0 ? line : 0;
        s = stop + 1;
    }
    return r;
}
