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
    if (t)
        free(t->at);
    free(t);
}

static int push(struct ni_tree *t, const struct ni_entry *e)
{
    if (t->n > MAX_ENTRIES)
        return -EFBIG;
    if (t->n == t->room) {
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

static int add(struct ni_tree *t, struct ni_entry e, size_t path_len)
{
    size_t all = path_len + 1 + e.len + 1;

    if (t->text + all > MAX_TEXT)
        return -EFBIG;
    char *copy = calloc(all, 1);
    if (!copy)
        return -ENOMEM;
    memcpy(copy, e.path, path_len);
    if (e.len > 0)
        memcpy(copy + path_len + 1, e.value, e.len);
    e.memory = copy;
    e.path = copy;
    e.value = copy + path_len + 1;
    int r = push(t, &e);
    if (r < 0)
        free(copy);
    t->text += all;
    return r;
}

int ni_tree_add(struct ni_tree *t, const struct ni_entry *e)
{
    return add(t, *e, strlen(e->path));
}

bool ni_is_below(const char *path, const char *dir)
{
    size_t n = strlen(dir);

    return n == 0 || (strncmp(path, dir, n) == 0 && path[n] == '/');
}

static int rank(char c)
{
    return c == '/' ? 1 : c ? (unsigned char)c + 1 : 0;
}

int ni_path_cmp(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return rank(*a) - rank(*b);
}

static int by_path(const void *a, const void *b)
{
    const struct ni_entry *x = a, *y = b;
    int c = ni_path_cmp(x->path, y->path);

    c = c ? c : (int)y->sure - (int)x->sure;
    return c ? c : (x->number < y->number) - (x->number > y->number);
}

void ni_tree_sort(struct ni_tree *t)
{
    if (t->n > 0)
        qsort(t->at, t->n, sizeof(*t->at), by_path);
}

/* The directories on the way to `path` that are not on the way to the one before it. */
static int add_directories(struct ni_tree *t, const char *path, const char *before)
{
    const char *slash = path;
    int r = 0;

    while (*before && *slash == *before) {
        slash++;
        before++;
    }
    slash += !*before && *slash == '/'; /* the one before it is such a directory */
    for (; r == 0 && (slash = strchr(slash, '/')); slash++)
        r = add(t, (struct ni_entry){.kind = NI_ENTRY_DIR, .path = path}, (size_t)(slash - path));
    return r;
}

static int add_settled(struct ni_tree *t, const struct ni_entry *e, const char *before)
{
    int r = add_directories(t, e->path, before);

    return r < 0 ? r : push(t, e);
}

/* Puts the entries in order, with the directories that paths only name, one of each path, and nothing
   below what is no directory. 0; -EINVAL and the first line that contradicts one before it; another
   -errno. */
static int settle(struct ni_tree *t, unsigned *ret_line)
{
    struct ni_tree all = {.text = t->text};
    const char *before = "";
    int r = 0, wrong = 0;

    ni_tree_sort(t);
    for (size_t i = 0; i < t->n; i++) {
        const struct ni_entry *e = &t->at[i];
        const struct ni_entry *last = all.n > 0 ? &all.at[all.n - 1] : e;
        bool again = last != e && strcmp(e->path, last->path) == 0;
        bool lost = last->kind != NI_ENTRY_DIR && ni_is_below(e->path, last->path);
        unsigned line = e->number > last->number ? e->number : last->number;
        bool odd = lost || (again && (last->kind != NI_ENTRY_DIR || e->kind != NI_ENTRY_DIR));
        if (r == 0 && !again && !lost && (r = add_settled(&all, e, before)) == 0) {
            before = e->path;
            continue;
        }
        if (odd && (wrong == 0 || line < *ret_line)) {
            *ret_line = line;
            wrong = -EINVAL;
        }
        free(e->memory);
    }
    free(t->at);
    *t = all;
    return r < 0 ? r : wrong;
}

static const struct ni_entry *find(const struct ni_tree *t, const char *path)
{
    size_t from = 0, to = t->n;
    size_t low = 0,
           high = 0; /* bytes that are the same in the last ones looked at on either side */

    while (from < to) {
        size_t mid = from + (to - from) / 2, n = low < high ? low : high;
        const char *at = t->at[mid].path;
        while (path[n] && path[n] == at[n])
            n++;
        int c = rank(path[n]) - rank(at[n]);
        if (c == 0)
            return &t->at[mid];
        if (c < 0) {
            to = mid;
            high = n;
        } else {
            from = mid + 1;
            low = n;
        }
    }
    return NULL;
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
    const struct ni_entry *e = find(ctx, path);

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
    *ret = find(t, at);
    return *ret ? 0 : -ENOENT;
}

int ni_tree_get(const struct ni_tree *t, const char *path, enum ni_access access,
                const struct ni_entry **ret)
{
    int r = ni_tree_find(t, path, access != NI_ACCESS_LINK, ret);

    if (r < 0)
        return r;
    enum ni_entry_kind kind = (enum ni_entry_kind)(*ret)->kind;
    /* A file that cannot be opened is there all the same. */
    if (kind == NI_ENTRY_ERR)
        return access == NI_ACCESS_EXISTS && (*ret)->err != ENOENT ? 0 : -(*ret)->err;
    if (access == NI_ACCESS_READ && kind != NI_ENTRY_FILE)
        return -EISDIR;
    if (access == NI_ACCESS_LINK && kind != NI_ENTRY_LINK)
        return -EINVAL;
    return access == NI_ACCESS_LIST && kind != NI_ENTRY_DIR ? -ENOTDIR : 0;
}

/* The first entry behind what is below `e`: found in doubled steps, for most entries are leaves and
   a device has hundreds below it. */
static const struct ni_entry *behind(const struct ni_tree *t, const struct ni_entry *e)
{
    const struct ni_entry *end = t->at + t->n, *inside = e;
    size_t step = 1;

    while (step < (size_t)(end - inside) && ni_is_below(inside[step].path, e->path)) {
        inside += step;
        step *= 2;
    }
    for (; step > 0; step /= 2)
        if (step < (size_t)(end - inside) && ni_is_below(inside[step].path, e->path))
            inside += step;
    return inside + 1;
}

void ni_tree_names(const struct ni_tree *t, const struct ni_entry *dir, ni_name_fn *name, void *ctx)
{
    const size_t n = *dir->path ? strlen(dir->path) + 1 : 0;

    for (const struct ni_entry *e = dir + 1; e < t->at + t->n && ni_is_below(e->path, dir->path);
         e = behind(t, e))
        name(ctx, e->path + n);
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
    unsigned line;
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
    e->number = ps->line;
    int r = 0;
    for (uint64_t i = from; i <= to && r == 0; i++) {
        r = parse_path(ps, i);
        if (r == 0)
            r = ni_tree_add(ps->t, e);
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
    unsigned line = 0, wrong = 0;
    int r = ni_tree_add(t, &(struct ni_entry){.kind = NI_ENTRY_DIR, .path = ""});

    ps.t = t;
    ps.base[0] = '\0';
    while (s < end && r == 0) {
        char *stop = memchr(s, '\n', (size_t)(end - s));
        stop = stop ? stop : end;
        ps.line = ++line;
        r = parse_line(&ps, s, (size_t)(stop - s));
        s = stop + 1;
    }
    int settled = settle(t, &wrong); /* after an error, too, it is one to look into */
    *ret_line = r < 0 ? line : wrong;
    return r < 0 ? r : settled;
}
