/* SPDX-License-Identifier: Apache-2.0 */
/* facts: the .tree form (docs/tree.md), parsed in place: names and values stay where they were
   read, unescaped. */
#include <errno.h>
#include <string.h>

#include "door.h"

enum { MAX_RANGE = 65536 };

/* A path of the file, split. At most one component is a range, `{0..255}`. */
struct path {
    struct ni_span name[NI_TREE_DEPTH]; /* in t->text, NUL-terminated */
    unsigned n;
    int range; /* index of the range, -1 */
    uint32_t from, to;
};

struct parser {
    struct ni_tree *t;
    struct path base; /* of the last `d`: what "./" stands for */
    uint32_t base_node;
};

/* ---- escapes ---- */

/* Reads the escape behind a backslash. Bytes used, 0 when it is none of ours. */
static size_t read_escape(const char *s, size_t n, char *ret)
{
    static const char plain[] = "n\nt\tr\r\\\\\"\"";

    if (n == 0)
        return 0;
    if (*s == 'x') {
        int hi = n > 2 ? ni_hex_digit(s[1]) : -1;
        int lo = n > 2 ? ni_hex_digit(s[2]) : -1;
        if (hi < 0 || lo < 0)
            return 0;
        *ret = (char)(hi * 16 + lo);
        return 3;
    }
    /* \0 alone is NUL; a digit behind it would be octal to readers of C. */
    if (*s == '0') {
        *ret = '\0';
        return n > 1 && s[1] >= '0' && s[1] <= '9' ? 0 : 1;
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
    char *in = memchr(s, '\\', *len);
    char *end = s + *len;
    char *out = in;

    if (!in)
        return true;
    while (in < end) {
        if (*in != '\\') {
            *out++ = *in++;
            continue;
        }
        size_t used = read_escape(in + 1, (size_t)(end - in) - 1, out);
        if (used == 0)
            return false;
        in += used + 1;
        out++;
    }
    *len = (size_t)(out - s);
    return true;
}

/* ---- paths ---- */

/* `{A..B}`, plain decimals, A <= B. */
static bool parse_range(struct ni_span s, struct path *p)
{
    struct ni_span a = {s.p + 1, 0};
    uint64_t from, to;

    while (a.n + 1 < s.n && a.p[a.n] >= '0' && a.p[a.n] <= '9')
        a.n++;
    if (s.n < a.n + 5 || memcmp(a.p + a.n, "..", 2) != 0 || s.p[s.n - 1] != '}')
        return false;
    struct ni_span b = {a.p + a.n + 2, s.n - a.n - 4};
    if (ni_parse_u64(a, UINT32_MAX, &from) < 0 || ni_parse_u64(b, UINT32_MAX, &to) < 0)
        return false;
    if ((a.n > 1 && *a.p == '0') || (b.n > 1 && *b.p == '0')) /* {00..07}: which of 7 and 07? */
        return false;
    if (from > to || to - from >= MAX_RANGE || p->range >= 0)
        return false;
    p->range = (int)p->n;
    p->from = (uint32_t)from;
    p->to = (uint32_t)to;
    return true;
}

/* One component, unescaped and ended in place: the byte behind it is a separator that nobody needs
   any more. */
static int add_component(struct path *p, char *s, size_t n)
{
    struct ni_span name = {s, n};

    if (p->n == NI_TREE_DEPTH)
        return -ENAMETOOLONG;
    if (n > 0 && *s == '{') {
        if (!parse_range(name, p))
            return -EINVAL;
    } else {
        if (!ni_tree_unescape(s, &name.n) || name.n == 0 || name.n >= NI_TREE_NAME)
            return -EINVAL;
        if (memchr(s, '/', name.n) || memchr(s, '\0', name.n))
            return -EINVAL;
        if (ni_span_is(name, ".") || ni_span_is(name, ".."))
            return -EINVAL;
        s[name.n] = '\0';
    }
    p->name[p->n++] = name;
    return 0;
}

/* *ret_node: the node that p is relative to. */
static int parse_path(struct parser *ps, char *s, size_t n, struct path *p, uint32_t *ret_node)
{
    *ret_node = 0;
    *p = (struct path){.range = -1};
    if (n >= 2 && s[0] == '.' && s[1] == '/') {
        s += 2;
        n -= 2;
        if (ps->base.range >= 0)
            *p = ps->base;
        else
            *ret_node = ps->base_node;
    }
    for (;;) {
        char *end = memchr(s, '/', n);
        size_t len = end ? (size_t)(end - s) : n;
        int r = add_component(p, s, len);
        if (r < 0 || !end)
            return r;
        s += len + 1;
        n -= len + 1;
    }
}

/* ---- entries ---- */

/* The directory `name` in `dir`, made when it is not there. */
static int enter(struct ni_tree *t, uint32_t dir, struct ni_span name, uint32_t *ret)
{
    uint32_t at = ni_tree_child(t, dir, name);

    if (!at)
        return ni_tree_insert(t, dir, (uint32_t)(name.p - t->text), name.n, ret);
    *ret = at;
    return t->node[at].kind == NI_NODE_DIR ? 0 : -EINVAL;
}

static int number_name(struct ni_tree *t, uint32_t number, struct ni_span *ret)
{
    char buf[16];
    struct ni_text text = ni_text_on(buf, sizeof(buf));
    uint32_t at;

    ni_putf(&text, "%u", number);
    int r = ni_tree_keep(t, buf, text.len, &at);
    *ret = (struct ni_span){t->text + at, text.len};
    return r;
}

/* Makes the entry that p names with `number` for its range. */
static int place(struct ni_tree *t, uint32_t dir, const struct path *p, uint32_t number,
                 const struct ni_node *entry, uint32_t *ret)
{
    uint32_t n_before = t->n;
    int r;

    for (unsigned i = 0; i < p->n; i++) {
        struct ni_span name = p->name[i];
        if ((int)i == p->range) {
            r = number_name(t, number, &name);
            if (r < 0)
                return r;
        }
        n_before = t->n;
        r = enter(t, dir, name, &dir);
        if (r < 0)
            return r;
    }
    *ret = dir;
    if (entry->kind == NI_NODE_DIR)
        return 0;
    if (t->n == n_before)
        return -EINVAL; /* there already: which of the two counts? */
    t->node[dir].kind = entry->kind;
    t->node[dir].value = entry->value;
    t->node[dir].len = entry->len;
    return 0;
}

static int place_all(struct parser *ps, uint32_t dir, const struct path *p,
                     const struct ni_node *entry)
{
    uint32_t at = 0;
    int r = 0;

    if (p->range < 0)
        r = place(ps->t, dir, p, 0, entry, &at);
    for (uint64_t i = p->from; p->range >= 0 && i <= p->to && r == 0; i++)
        r = place(ps->t, dir, p, (uint32_t)i, entry, &at);
    if (r == 0 && entry->kind == NI_NODE_DIR) {
        ps->base = *p;
        ps->base_node = at;
    }
    return r;
}

/* What stands behind the path. */
static int parse_value(struct ni_tree *t, char kind, char *s, size_t n, struct ni_node *ret)
{
    *ret = (struct ni_node){.kind = NI_NODE_DIR};
    if (kind == 'd')
        return n == 0 ? 0 : -EINVAL;
    if (kind == 'e') {
        int err = ni_errno_of((struct ni_span){s, n});
        *ret = (struct ni_node){.kind = NI_NODE_ERR, .value = (uint32_t)err};
        return err ? 0 : -EINVAL;
    }
    if (!ni_tree_unescape(s, &n))
        return -EINVAL;
    if (kind == 'l' && (n == 0 || n >= NI_TREE_PATH || memchr(s, '\0', n)))
        return -EINVAL;
    ret->kind = kind == 'l' ? NI_NODE_LINK : NI_NODE_FILE;
    ret->value = (uint32_t)(s - t->text);
    ret->len = (uint32_t)n;
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
    struct ni_node entry;
    struct path p;
    uint32_t dir;

    if (!is_clean(s, n))
        return -EINVAL;
    if (n == 0 || *s == '#' || ni_trim((struct ni_span){s, n}).n == 0)
        return 0;
    if (n < 3 || !strchr("dlfe", *s) || s[1] != ' ')
        return -EINVAL;
    char *path = s + 2;
    char *blank = memchr(path, ' ', n - 2);
    size_t path_len = blank ? (size_t)(blank - path) : n - 2;
    char *value = blank ? blank + 1 : s + n;
    int r = parse_value(ps->t, *s, value, (size_t)(s + n - value), &entry);
    if (r == 0 && blank && *s == 'd')
        r = -EINVAL;
    if (r == 0)
        r = parse_path(ps, path, path_len, &p, &dir);
    return r == 0 ? place_all(ps, dir, &p, &entry) : r;
}

int ni_tree_parse(struct ni_tree *t, size_t n, unsigned *ret_line)
{
    struct parser ps = {.t = t, .base = {.range = -1}};
    char *s = t->text;
    char *end = s + n;

    t->used = n + 1;
    for (unsigned line = 1; s < end; line++) {
        char *stop = memchr(s, '\n', (size_t)(end - s));
        if (!stop)
            stop = end;
        int r = parse_line(&ps, s, (size_t)(stop - s));
        if (r < 0) {
            *ret_line = line;
            return r;
        }
        s = stop + 1;
    }
    return 0;
}
