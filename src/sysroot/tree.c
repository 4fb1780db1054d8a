/* SPDX-License-Identifier: Apache-2.0 */
/* A tree in memory: the content of a .tree file (docs/reference/tree.md), or of a recording. */
#include "sysroot/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nccl_init/errno.h"
#include "nccl_init/index.h"
#include "nccl_init/number.h"
#include "nccl_init/text.h"

enum {
    MAX_RANGE = 65536,
    MAX_ENTRIES = 1 << 21,
    MAX_TEXT = 256 << 20 /* bytes of all names and values */
};

/* ---- entries ---- */

void ni_tree_free(struct ni_tree *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->n; i++) {
        free(t->at[i].path);
        free(t->at[i].memory);
        free(t->at[i].asked);
    }
    free(t->at);
    free(t->index.place);
    free(t->read);
    free(t);
}

static struct ni_span path_of(const void *entries, uint32_t number)
{
    const struct ni_entry *entry = entries;

    return ni_span_of(entry[number - 1].path);
}

/* Returns the slot of the entry with path[0..n), or a free one for it. */
static uint32_t *place_in_tree(const struct ni_tree *t, const char *path, size_t n)
{
    return ni_index_find(&t->index, (struct ni_span){path, n}, path_of, t->at);
}

static const struct ni_entry *find(const struct ni_tree *t, const char *path)
{
    uint32_t place = t->n > 0 ? *place_in_tree(t, path, strlen(path)) : 0;

    return place > 0 ? &t->at[place - 1] : NULL;
}

static int grow_tree(struct ni_tree *t)
{
    const size_t room = t->room ? 2 * t->room : 1024;
    struct ni_entry *at = realloc(t->at, room * sizeof(*at));
    uint32_t *place = at ? calloc(2 * room, sizeof(*place)) : NULL;

    t->at = at ? at : t->at;
    if (!place)
        return -ENOMEM;
    free(t->index.place);
    t->index = (struct ni_index){.place = place, .room = 2 * room, .seed = ni_seed()};
    t->room = room;
    for (size_t i = 0; i < t->n; i++)
        *place_in_tree(t, at[i].path, strlen(at[i].path)) = (uint32_t)i + 1;
    return 0;
}

int ni_tree_make(struct ni_tree *t, const char *path, struct ni_entry **ret)
{
    size_t name = 0, n = strlen(path); /* the last component, and the end, of an entry's path */
    const char *slash = strrchr(path, '/');
    const struct ni_span dir = {path, slash ? (size_t)(slash - path) : 0};
    uint32_t up = t->last_dir;

    if (t->room == 0 && grow_tree(t) < 0)
        return -ENOMEM;
    if (n > 0 && t->n > 0 && ni_is_same_span(path_of(t->at, up + 1), dir)) {
        name = dir.n + (dir.n > 0); /* as for most: its directory is that of the one before */
    } else {
        while (n > 0 && *place_in_tree(t, path, n) == 0)
            while (n > 0 && path[--n] != '/')
                ;
    }
    for (;; name = n + (n > 0), n = name + strcspn(path + name, "/")) {
        if (t->n == t->room && grow_tree(t) < 0)
            return -ENOMEM;
        uint32_t *place = place_in_tree(t, path, n);
        if (*place == 0) {
            char *copy = strndup(path, n);

            if (!copy || t->n > MAX_ENTRIES || t->text + n > MAX_TEXT) {
                free(copy);
                return copy ? -EFBIG : -ENOMEM;
            }
            t->text += n + 1;
            t->at[t->n++] = (struct ni_entry){copy, .name = copy + name, .value = "", .up = up};
            *place = (uint32_t)t->n;
        }
        up = *place - 1;
        if (path[n] == '\0') {
            *ret = &t->at[up];
            t->last_dir = t->at[up].up;
            return 0;
        }
    }
}

int ni_tree_set(struct ni_tree *t, struct ni_entry *e, const struct ni_entry *from)
{
    char *copy = NULL;

    if (t->text + from->len > MAX_TEXT)
        return -EFBIG;
    if (from->len > 0) {
        copy = calloc(from->len + 1, 1);
        if (!copy)
            return -ENOMEM;
        memcpy(copy, from->value, from->len);
        t->text += from->len + 1;
    }
    free(e->memory);
    e->memory = copy;
    e->value = copy ? copy : "";
    e->len = from->len;
    e->kind = from->kind;
    e->err = from->err;
    return 0;
}

/* ---- paths ---- */

int ni_walk(const char *path, bool follow, char ret[NI_TREE_PATH], ni_step_fn *step,
            const void *ctx)
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
        links++;
        if (links > NI_TREE_LINKS)
            return -ELOOP;
        n = strlen(target);
        if (n == 0)
            return -ENOENT;
        if (n > (size_t)(at - rest))
            return -ENAMETOOLONG;
        at = memcpy(at - n, target, n); /* the rest begins with a slash, or is empty */
        len = *target == '/' ? 0 : len;
        ret[len] = '\0';
    }
}

/* A step of ni_walk. An entry with an errno ends the walk only above others; ni_tree_get judges the
   last one. */
static int step_tree(const void *ctx, const char *path, bool last, char target[NI_TREE_PATH])
{
    const struct ni_entry *e = find(ctx, path);

    if (!e)
        return -ENOENT;
    if (e->kind == NI_ENTRY_LINK) {
        memcpy(target, e->value, e->len + 1);
        return 1;
    }
    if (last || e->kind == NI_ENTRY_DIR)
        return 0;
    return e->kind == NI_ENTRY_ERR ? -e->err : -ENOTDIR;
}

int ni_tree_find(const struct ni_tree *t, const char *path, bool follow,
                 const struct ni_entry **ret)
{
    char at[NI_TREE_PATH];
    int r = ni_walk(path, follow, at, step_tree, t);

    if (r < 0)
        return r;
    *ret = find(t, at);
    return *ret ? 0 : -ENOENT;
}

const struct ni_wanted ni_wanted[] = {
    [NI_ACCESS_READ] = {NI_ENTRY_FILE, EISDIR},
    [NI_ACCESS_LINK] = {NI_ENTRY_LINK, EINVAL},
    [NI_ACCESS_LIST] = {NI_ENTRY_DIR, ENOTDIR},
};

int ni_tree_get(const struct ni_tree *t, const char *path, enum ni_access access,
                const struct ni_entry **ret)
{
    int r = ni_tree_find(t, path, access != NI_ACCESS_LINK, ret);

    if (r < 0)
        return r;
    /* a file that cannot be opened exists all the same */
    if ((*ret)->kind == NI_ENTRY_ERR)
        return access == NI_ACCESS_EXISTS && (*ret)->err != ENOENT ? 0 : -(*ret)->err;
    return access < NI_ACCESS_EXISTS && (*ret)->kind != ni_wanted[access].kind
               ? -ni_wanted[access].other
               : 0;
}

/* ---- the form ---- */

bool ni_tree_unescape(char *s, size_t *len)
{
    static const char from[] = "ntr\\\"0", to[] = "\n\t\r\\\"";
    size_t out = 0;

    for (size_t in = 0; in < *len; in++, out++) {
        if (s[in] != '\\') {
            s[out] = s[in];
            continue;
        }
        const size_t left = *len - in - 1;
        const char *known = left > 0 && s[in + 1] ? strchr(from, s[in + 1]) : NULL;
        if (known) {
            /* \0 alone is NUL; a digit after it would be octal to readers of C. */
            if (*known == '0' && left > 1 && ni_is_digit(s[in + 2]))
                return false;
            s[out] = to[known - from];
            in++;
        } else {
            int high = left > 2 && s[in + 1] == 'x' ? ni_hex_digit(s[in + 2]) : -1;
            int low = high >= 0 ? ni_hex_digit(s[in + 3]) : -1;

            if (low < 0)
                return false;
            s[out] = (char)(high * 16 + low);
            in += 3;
        }
    }
    *len = out;
    return true;
}

/* the most bytes of a path in the file, where each byte may be escaped */
enum { RAW_PATH = 4 * NI_TREE_PATH };

struct parser {
    struct ni_tree *t;
    /* paths so far; a path that is given twice counts twice, for it costs time */
    size_t paths;
    /* the path of the last `d` line, as it stands in the file: "./" stands for it */
    char base[RAW_PATH];
    char raw[RAW_PATH];  /* the path of the present line, with the base */
    char path[RAW_PATH]; /* the same without escapes */
};

/* Parses `{A..B}`, plain decimals, A <= B. */
static int parse_byte_range(struct ni_span s, uint64_t *from, uint64_t *to)
{
    const char *dots = memmem(s.p, s.n, "..", 2);

    if (!dots || s.p[s.n - 1] != '}')
        return -EINVAL;
    struct ni_span a = {s.p + 1, (size_t)(dots - s.p - 1)};
    struct ni_span b = {dots + 2, (size_t)(s.p + s.n - dots - 3)};
    /* {00..07} is refused: it could mean 7 or 07 */
    if ((a.n > 1 && *a.p == '0') || (b.n > 1 && *b.p == '0'))
        return -EINVAL;
    if (ni_parse_u64(a, UINT32_MAX, from) < 0 || ni_parse_u64(b, UINT32_MAX, to) < 0)
        return -EINVAL;
    return *from > *to || *to - *from >= MAX_RANGE ? -EINVAL : 0;
}

/* Replaces escapes in the path. false: it is no path, or an escape makes another one of it. */
static bool clean_path(char *path)
{
    const char *at = path;
    size_t names = 1, n = strlen(path);
    struct ni_span name;

    for (size_t i = 0; i < n; i++)
        names += path[i] == '/';
    if (!ni_tree_unescape(path, &n))
        return false;
    path[n] = '\0';
    if (strlen(path) != n || n >= NI_TREE_PATH)
        return false;
    for (; ni_split(&at, '/', &name); names--)
        if (name.n == 0 || name.n >= NI_TREE_NAME ||
            (name.n <= 2 && strncmp(name.p, "..", name.n) == 0))
            return false;
    return names == 0;
}

/* Adds the entry. It may not be given twice, a directory may; nothing may stand below an entry that
   is no directory. */
static int add_path(struct parser *ps, const struct ni_entry *e)
{
    struct ni_tree *t = ps->t;
    const size_t before = t->n;
    struct ni_entry *at;

    ps->paths++;
    if (ps->paths > MAX_ENTRIES)
        return -EFBIG;
    int r = ni_tree_make(t, ps->path, &at);
    if (r < 0)
        return r;
    if (t->n == before && (at->kind != NI_ENTRY_DIR || e->kind != NI_ENTRY_DIR))
        return -EINVAL;
    for (const struct ni_entry *up = at; up != t->at;) {
        up = &t->at[up->up];
        if (up->kind != NI_ENTRY_DIR)
            return -EINVAL;
    }
    at->listed = true;
    return ni_tree_set(t, at, e);
}

/* Adds an entry for each number of the range in the path, "gids/{2..255}"; one entry if there is no
   range. */
static int add_paths(struct parser *ps, const struct ni_entry *e)
{
    const char *raw = ps->raw;
    struct ni_span name, range = {NULL, 0};
    uint64_t from = 0, to = 0;
    int r = 0;

    while (ni_split(&raw, '/', &name)) {
        if (name.n == 0 || *name.p != '{')
            continue;
        if (range.p || parse_byte_range(name, &from, &to) < 0)
            return -EINVAL;
        range = name;
    }
    for (uint64_t i = from; i <= to && r == 0; i++) {
        struct ni_text path = ni_text_on(ps->path, sizeof(ps->path));

        ni_putn(&path, ps->raw, range.p ? (size_t)(range.p - ps->raw) : strlen(ps->raw));
        if (range.p) {
            ni_put_u64(&path, i);
            ni_put(&path, range.p + range.n);
        }
        r = path.cut || !clean_path(ps->path) ? -EINVAL : add_path(ps, e);
    }
    return r;
}

/* Reads the value of a line into *e: the target of a link, the content of a file, an errno. value:
   NULL if there is none; it is unescaped in place. 0 or -EINVAL. */
static int parse_value(char kind, char *value, size_t len, struct ni_entry *e)
{
    switch (kind) {
    case 'd':
        return value ? -EINVAL : 0;
    case 'e':
        e->kind = NI_ENTRY_ERR;
        e->err = ni_errno_of((struct ni_span){value, len});
        return e->err == 0 ? -EINVAL : 0;
    case 'f':
    case 'l':
        if (value && !ni_tree_unescape(value, &len))
            return -EINVAL;
        if (kind == 'l' && (len == 0 || len >= NI_TREE_PATH || memchr(value, '\0', len)))
            return -EINVAL;
        e->kind = kind == 'l' ? NI_ENTRY_LINK : NI_ENTRY_FILE;
        e->value = value;
        e->len = (uint32_t)len;
        return 0;
    default:
        return -EINVAL;
    }
}

/* Puts the whole path into ps->raw: "./name" is below the last directory. 0 or -EINVAL. */
static int join_path(struct parser *ps, struct ni_span path, size_t *ret_len)
{
    struct ni_text raw = ni_text_on(ps->raw, sizeof(ps->raw));

    if (path.n >= 2 && path.p[0] == '.' && path.p[1] == '/') {
        const size_t skip = *ps->base ? 1 : 2; /* a slash joins both */

        ni_put(&raw, ps->base);
        path = (struct ni_span){path.p + skip, path.n - skip};
    }
    ni_putn(&raw, path.p, path.n);
    *ret_len = raw.len;
    return raw.cut ? -EINVAL : 0;
}

/* Adds the entries of a line: kind, path, value. 0, also for an empty line and a comment; or
   -errno. */
static int parse_line(struct parser *ps, char *s, size_t n)
{
    struct ni_entry e = {.kind = NI_ENTRY_DIR};

    /* a carriage return would be a part of a value, and not be seen */
    for (size_t i = 0; i < n; i++) {
        if ((unsigned char)s[i] < ' ' && s[i] != '\t')
            return -EINVAL;
    }
    if (n == 0 || *s == '#' || ni_trim((struct ni_span){s, n}).n == 0)
        return 0;
    if (n < 3 || s[1] != ' ')
        return -EINVAL;
    struct ni_span path = {s + 2, n - 2};
    char *blank = memchr(path.p, ' ', path.n), *value = NULL;
    size_t len = 0;
    if (blank) {
        value = blank + 1;
        len = (size_t)(s + n - value);
        path.n -= len + 1;
    }
    int r = parse_value(*s, value, len, &e);
    if (r == 0)
        r = join_path(ps, path, &len);
    if (r < 0)
        return r;
    if (*s == 'd')
        memcpy(ps->base, ps->raw, len + 1);
    return add_paths(ps, &e);
}

int ni_tree_parse(struct ni_tree *t, char *s, size_t n, unsigned *ret_line)
{
    static struct parser ps; /* too large for a small stack */
    const char *end = s + n;
    struct ni_entry *top;
    int r = ni_tree_make(t, "", &top);

    ps.t = t;
    ps.paths = 0;
    ps.base[0] = '\0';
    for (unsigned line = 1; s < end && r == 0; line++) {
        char *stop = memchr(s, '\n', (size_t)(end - s));

        n = (size_t)((stop ? stop : end) - s);
        r = parse_line(&ps, s, n);
        if (r < 0)
            *ret_line = line;
        s += n + 1;
    }
    return r;
}

bool ni_is_met(const struct ni_entry *e)
{
    return e->listed || (e->sure > 0 && (e->kind != NI_ENTRY_ERR || e->err != ENOENT));
}
