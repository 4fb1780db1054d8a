/* SPDX-License-Identifier: Apache-2.0 */
/* facts: a record written in the .tree form (docs/tree.md): a `d` line for each directory, its
   entries as "./name" below, numbered neighbours that are alike as one range. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "door.h"

struct out {
    const struct ni_tree *t;
    struct ni_mask *mask;
    int fd, err;
    size_t n;
    char buf[NI_PAGE];
    /* of the text being written */
    bool is_path, begun;
    size_t blanks; /* read, not yet written: the last ones need escapes */
};

/* ---- bytes ---- */

static void flush(struct out *o)
{
    size_t at = 0;

    while (at < o->n && o->err == 0) {
        ssize_t n = write(o->fd, o->buf + at, o->n - at);
        if (n > 0)
            at += (size_t)n;
        else
            o->err = n == 0 ? -EIO : -errno;
    }
    o->n = 0;
}

static void put_bytes(struct out *o, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (o->n == sizeof(o->buf))
            flush(o);
        o->buf[o->n++] = s[i];
    }
}

static void put(struct out *o, const char *s)
{
    put_bytes(o, s, strlen(s));
}

static void put_hex(struct out *o, char c)
{
    static const char digit[] = "0123456789abcdef";
    unsigned char byte = (unsigned char)c;

    put(o, "\\x");
    put_bytes(o, &digit[byte >> 4], 1);
    put_bytes(o, &digit[byte & 15], 1);
}

static void put_escaped(struct out *o, char c)
{
    static const char special[] = "\nn\tt\rr\\\\";

    for (const char *p = special; *p; p += 2)
        if (*p == c) {
            put(o, "\\");
            put_bytes(o, p + 1, 1);
            return;
        }
    if (c < ' ' || c > '~' || (o->is_path && (c == ' ' || c == '{')))
        put_hex(o, c);
    else
        put_bytes(o, &c, 1);
}

/* A sink: blanks at either end of a value are escaped, so that no editor strips them. */
static void put_text(void *ctx, const char *s, size_t n)
{
    struct out *o = ctx;

    for (size_t i = 0; i < n; i++) {
        if (s[i] == ' ' && !o->is_path) {
            o->blanks++;
            continue;
        }
        for (; o->blanks > 0; o->blanks--)
            put(o, o->begun ? " " : "\\x20");
        o->begun = true;
        put_escaped(o, s[i]);
    }
}

static void end_text(struct out *o)
{
    for (; o->blanks > 0; o->blanks--)
        put(o, "\\x20");
    o->begun = false;
}

/* ---- names and values ---- */

/* A component of a path, or the target of a link. */
static void put_name(struct out *o, struct ni_span name)
{
    o->is_path = true;
    if (o->mask)
        ni_mask_name(o->mask, name, put_text, o);
    else
        put_text(o, name.p, name.n);
    end_text(o);
    o->is_path = false;
}

static void put_path(struct out *o, uint32_t dir)
{
    uint32_t up[NI_TREE_DEPTH + 1];
    unsigned n = 0;

    for (; dir; dir = o->t->node[dir].parent)
        up[n++] = dir;
    while (n-- > 0) {
        put_name(o, (struct ni_span){ni_tree_name(o->t, up[n]), o->t->node[up[n]].name_len});
        if (n > 0)
            put(o, "/");
    }
}

static void put_value(struct out *o, uint32_t at)
{
    const struct ni_node *node = &o->t->node[at];
    struct ni_span name = {ni_tree_name(o->t, at), node->name_len};
    char path[NI_TREE_PATH];

    if (node->kind == NI_NODE_ERR) {
        const char *err = ni_errno_name((int)node->value);
        put(o, err ? err : "EIO");
        return;
    }
    struct ni_span value = ni_tree_value(o->t, at);
    if (node->kind == NI_NODE_LINK) {
        put_name(o, value);
        return;
    }
    if (o->mask)
        ni_mask_value(o->mask, ni_tree_path(o->t, node->parent, name, path) ? path : "/", value,
                      put_text, o);
    else
        put_text(o, value.p, value.n);
    end_text(o);
}

/* ---- runs: siblings from..to that differ in their number only ---- */

static bool number_of(const struct ni_tree *t, uint32_t at, uint64_t *ret)
{
    const char *name = ni_tree_name(t, at);

    return (name[0] != '0' || !name[1]) && t->node[at].name_len < 10 &&
           ni_parse_u64(ni_span_of(name), UINT32_MAX, ret) == 0;
}

static bool alike(const struct ni_tree *t, uint32_t a, uint32_t b)
{
    const struct ni_node *x = &t->node[a], *y = &t->node[b];
    uint64_t from, to;

    if (x->kind != y->kind || x->first || y->first)
        return false;
    if (!number_of(t, a, &from) || !number_of(t, b, &to) || to != from + 1)
        return false;
    if (x->kind == NI_NODE_ERR)
        return x->value == y->value;
    struct ni_span v = ni_tree_value(t, a), w = ni_tree_value(t, b);
    return v.n == w.n && memcmp(v.p, w.p, v.n) == 0;
}

static uint32_t run_end(const struct ni_tree *t, uint32_t at)
{
    enum { MAX_RUN = 65536 }; /* what the parser takes */

    for (unsigned n = 1; n < MAX_RUN; n++) {
        uint32_t next = t->node[at].next;
        if (!next || !alike(t, at, next))
            break;
        at = next;
    }
    return at;
}

static void put_run(struct out *o, uint32_t from, uint32_t to)
{
    if (from == to) {
        put_name(o, (struct ni_span){ni_tree_name(o->t, from), o->t->node[from].name_len});
        return;
    }
    put(o, "{");
    put(o, ni_tree_name(o->t, from));
    put(o, "..");
    put(o, ni_tree_name(o->t, to));
    put(o, "}");
}

/* ---- lines ---- */

static bool is_empty_dir(const struct ni_node *node)
{
    return node->kind == NI_NODE_DIR && !node->first;
}

/* One line for the siblings from..to; `whole`: with the path of their directory. */
static void put_line(struct out *o, uint32_t from, uint32_t to, bool whole)
{
    const struct ni_node *node = &o->t->node[from];
    static const char *const letter[] = {
        [NI_NODE_DIR] = "d ", [NI_NODE_FILE] = "f ", [NI_NODE_LINK] = "l ", [NI_NODE_ERR] = "e "};

    put(o, letter[node->kind]);
    if (whole)
        put_path(o, node->parent);
    else
        put(o, ".");
    if (!whole || node->parent)
        put(o, "/");
    put_run(o, from, to);
    if (node->kind != NI_NODE_DIR && (node->kind != NI_NODE_FILE || node->len > 0)) {
        put(o, " ");
        put_value(o, from);
    }
    put(o, "\n");
}

/* The lines of one directory. Empty directories come first: each `d` moves what "./" stands for. */
static void put_section(struct out *o, uint32_t dir)
{
    const struct ni_tree *t = o->t;
    unsigned lines = 0;
    uint32_t end;

    for (uint32_t at = t->node[dir].first; at; at = t->node[end].next) {
        end = run_end(t, at);
        if (is_empty_dir(&t->node[at]))
            put_line(o, at, end, true);
        else if (t->node[at].kind != NI_NODE_DIR)
            lines++;
    }
    bool whole = dir == 0 || lines == 1;
    if (lines > 0 && !whole) {
        put(o, "d ");
        put_path(o, dir);
        put(o, "\n");
    }
    for (uint32_t at = t->node[dir].first; at; at = t->node[end].next) {
        end = run_end(t, at);
        if (t->node[at].kind != NI_NODE_DIR)
            put_line(o, at, end, whole);
    }
}

/* Parents before children, siblings in order. 0 at the end. */
static uint32_t next_node(const struct ni_tree *t, uint32_t at)
{
    if (t->node[at].first)
        return t->node[at].first;
    while (at && !t->node[at].next)
        at = t->node[at].parent;
    return t->node[at].next;
}

static void put_header(struct out *o, const char *header)
{
    struct ni_span line;

    while (header && *header && ni_split(&header, '\n', &line)) {
        put(o, line.n > 0 && *line.p == '#' ? "" : line.n > 0 ? "# " : "#");
        if (o->mask)
            ni_mask_value(o->mask, "/", line, put_text, o);
        else
            put_text(o, line.p, line.n);
        end_text(o);
        put(o, "\n");
    }
}

int ni_record_write(const struct ni_root *root, int fd, const char *header, bool mask)
{
    struct ni_tree *t = root->record;
    struct out o = {.t = t, .fd = fd};

    if (!t)
        return -EINVAL;
    if (t->failed)
        return t->failed;
    ni_tree_sort(t);
    if (mask) {
        int r = ni_mask_new(t, &o.mask);
        if (r < 0)
            return r;
    }
    put_header(&o, header);
    uint32_t at = 0;
    do {
        put_section(&o, at);
        at = next_node(t, at);
    } while (at && o.err == 0);
    flush(&o);
    if (o.mask && o.err == 0)
        o.err = ni_mask_error(o.mask);
    ni_mask_free(o.mask);
    return o.err;
}
