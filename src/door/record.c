/* SPDX-License-Identifier: Apache-2.0 */
/* door: recording. Each call at the door leaves what it met, links resolved one by one. In the end
   that is a tree, written in the .tree form (docs/tree.md): a `d` line for each directory, its
   entries as "./name" below, numbered neighbours that are alike as one range. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "door.h"

/* How sure an entry is. What exists and is no directory is an empty file until it is read, so that
   device nodes stay that; a name that was listed is a directory until it is looked at. */
enum sure { LISTED, SEEN, READ };

static void add(const struct ni_dir *from, const char *path, enum sure sure, struct ni_entry e)
{
    struct ni_tree *t = from->root->record;

    e.path = path + strspn(path, "/");
    e.sure = (uint8_t)sure;
    e.number = (uint32_t)t->n;
    int r = *e.path ? ni_tree_add(t, &e) : 0;
    if (r < 0)
        t->failed = r;
}

/* That a path is too long a tree says too, and that it leads through a file, once that file is in it.
   What cannot even be looked at lies in a directory that lets nobody through. */
static void add_errno(const struct ni_dir *from, const char *path, int err)
{
    char dir[NI_TREE_PATH + 1] = "";
    const char *slash = strrchr(path, '/');
    bool is_dir;

    if (err == -ENAMETOOLONG || err == -ELOOP)
        return;
    if (slash > path)
        (void)ni_copyn(dir, sizeof(dir), path, (size_t)(slash - path));
    if (err == -ENOTDIR) {
        if (*dir && ni_raw_exists(from, dir, &is_dir) == 0 && !is_dir)
            add(from, dir, SEEN, (struct ni_entry){.kind = NI_ENTRY_FILE});
        return;
    }
    if (err != -ENOENT && *dir && ni_raw_exists(from, path, &is_dir) == err)
        path = dir;
    add(from, path, READ, (struct ni_entry){.kind = NI_ENTRY_ERR, .err = -err});
}

/* Each of these meets one kind of thing. 1: it is recorded; 0: what is there is of another kind;
   -errno. */

static int meet_file(const struct ni_dir *from, const char *path)
{
    static char *buf;

    if (!buf)
        buf = malloc(NI_TREE_FILE); /* pages that are not touched cost nothing */
    ssize_t n = buf ? ni_raw_read(from, path, buf, NI_TREE_FILE) : -ENOMEM;
    if (n == -EOVERFLOW || n == -ENOMEM) {
        from->root->record->failed = n == -ENOMEM ? -ENOMEM : -EFBIG;
        return 1;
    }
    if (n < 0)
        return n == -EISDIR ? 0 : (int)n;
    add(from, path, READ,
        (struct ni_entry){.kind = NI_ENTRY_FILE, .value = buf, .len = (uint32_t)n});
    return 1;
}

struct listing {
    const struct ni_dir *from;
    const char *dir;
};

static void add_name(void *ctx, const char *name)
{
    const struct listing *l = ctx;
    char path[NI_TREE_PATH];

    if (ni_format(path, sizeof(path), "%s/%s", l->dir, name))
        add(l->from, path, LISTED, (struct ni_entry){.kind = NI_ENTRY_DIR});
}

static int meet_list(const struct ni_dir *from, const char *path)
{
    struct listing l = {from, path};
    int r = ni_raw_list(from, path, add_name, &l);

    if (r < 0)
        return r == -ENOTDIR ? 0 : r;
    add(from, path, READ, (struct ni_entry){.kind = NI_ENTRY_DIR});
    return 1;
}

static int meet_link(const struct ni_dir *from, const char *path, char target[NI_TREE_PATH])
{
    ssize_t n = ni_raw_readlink(from, path, target, NI_TREE_PATH);

    if (n < 0)
        return n == -EINVAL ? 0 : (int)n;
    target[n] = '\0';
    add(from, path, READ,
        (struct ni_entry){.kind = NI_ENTRY_LINK, .value = target, .len = (uint32_t)n});
    return 1;
}

/* ---- a call at the door ---- */

/* proc/self is a link to a number and proc/net one through it. As directories they make a record
   that people can read, and that is the same for each run. */
static bool is_proc_alias(const struct ni_dir *from, const char *path)
{
    static const char *const alias[] = {"/proc/self", "/proc/thread-self", "/proc/net"};

    return from->root->kind == NI_ROOT_LIVE && ni_is_any(path, alias, NI_COUNT(alias));
}

static int step(void *ctx, const char *path, bool last, char target[NI_TREE_PATH])
{
    const struct ni_dir *from = ctx;
    char at[NI_TREE_PATH + 1];

    (void)ni_format(at, sizeof(at), "/%s", path);
    int r = is_proc_alias(from, at) ? 0 : meet_link(from, at, target);
    return r < 0 && last ? 0 : r; /* the last one's own error is for the access to meet */
}

void ni_record(const struct ni_dir *dir, const char *path, enum ni_access access)
{
    struct ni_dir top = ni_dir_top(dir->root), *from = &top; /* paths that links make are whole */
    char at[NI_TREE_PATH + 1] = "/", target[NI_TREE_PATH];
    bool is_dir;

    top.named = dir->named;
    int r = ni_walk(path, access != NI_ACCESS_LINK, at + 1, step, from);
    if (r == 0 && access == NI_ACCESS_READ)
        r = meet_file(from, at);
    else if (r == 0 && access == NI_ACCESS_LIST)
        r = meet_list(from, at);
    else if (r == 0 && access == NI_ACCESS_LINK)
        r = meet_link(from, at, target);
    else if (r == 0 && access == NI_ACCESS_OPEN)
        r = ni_raw_openable(from, at);
    if (r == 0 && (r = ni_raw_exists(from, at, &is_dir)) == 0)
        add(from, at, SEEN, (struct ni_entry){.kind = is_dir ? NI_ENTRY_DIR : NI_ENTRY_FILE});
    if (r < 0)
        add_errno(from, at, r);
}

int ni_record_add(const struct ni_root *root, const char *path, const char *value, size_t len)
{
    struct ni_dir top = ni_dir_top(root);

    add(&top, path, READ,
        (struct ni_entry){.kind = NI_ENTRY_FILE, .value = value, .len = (uint32_t)len});
    return root->record->failed;
}

/* ---- what was met, as a tree ---- */

/* Of each path the surest entry, the later one of two. That a thing is not there says nothing, unless
   it was listed. A directory with something in it needs no entry, and what became none while
   something in it was recorded stays one. */
static size_t settle(struct ni_entry *e, size_t n, struct ni_entry kept[])
{
    size_t same, k = 0;

    for (size_t i = 0; i < n; i += same) {
        for (same = 1; i + same < n && strcmp(e[i + same].path, e[i].path) == 0; same++)
            ;
        if (e[i].kind == NI_ENTRY_ERR && e[i].err == ENOENT && e[i + same - 1].sure != LISTED)
            continue;
        k -= k > 0 && ni_is_below(e[i].path, kept[k - 1].path);
        kept[k++] = e[i];
    }
    return k;
}

/* ---- the form ---- */

struct out {
    struct ni_text *text;
    struct ni_mask *mask;
};

void ni_put_escaped(struct ni_text *t, struct ni_span s, bool is_path)
{
    static const char from[] = "\n\t\r\\", to[] = "ntr\\";

    for (; s.n > 0; s.p++, s.n--) {
        const char *known = *s.p ? strchr(from, *s.p) : NULL;
        if (known)
            ni_putf(t, "\\%c", to[known - from]);
        else if (*s.p < ' ' || *s.p > '~' || (is_path && (*s.p == ' ' || *s.p == '{')))
            ni_putf(t, "\\x%02x", (unsigned char)*s.p);
        else
            ni_putn(t, s.p, 1);
    }
}

static struct ni_span put_blanks(struct ni_text *t, struct ni_span s)
{
    for (; s.n > 0 && *s.p == ' '; s.p++, s.n--)
        ni_put(t, "\\x20");
    return s;
}

/* path: of the file that the text is of; "" for a name or the target of a link. Blanks at either end
   are escaped, so that no editor strips them. */
static void put_text(struct out *o, const char *path, struct ni_span s)
{
    s = put_blanks(o->text, s);
    struct ni_span end = {s.p + s.n, 0};
    for (; s.n > 0 && s.p[s.n - 1] == ' '; s.n--, end.n++)
        end.p--;
    if (o->mask)
        ni_mask_text(o->mask, path, s, o->text);
    else
        ni_put_escaped(o->text, s, !*path);
    (void)put_blanks(o->text, end);
}

/* Of the path up to its last slash. */
static struct ni_span dir_of(const struct ni_entry *e)
{
    const char *slash = strrchr(e->path, '/');

    return (struct ni_span){e->path, slash ? (size_t)(slash - e->path) : 0};
}

static const char *name_of(const struct ni_entry *e)
{
    const char *slash = strrchr(e->path, '/');

    return slash ? slash + 1 : e->path;
}

static bool is_same(struct ni_span a, struct ni_span b)
{
    return a.n == b.n && memcmp(a.p, b.p, a.n) == 0;
}

/* mlx5_2 before mlx5_10, and behind a directory what is below it. */
static int natural_cmp(const char *a, const char *b)
{
    size_t n = 0;

    while (a[n] && a[n] == b[n])
        n++;
    if (a[n] == '/')
        return b[n] ? -1 : 1;
    if (b[n] == '/')
        return a[n] ? 1 : -1;
    return ni_natural_cmp(a, b);
}

/* By directory, and there the directories first, then by name: what lies deeper comes behind all that
   is in the directory. */
static int by_directory(const void *a, const void *b)
{
    const struct ni_entry *x = a, *y = b;
    char p[NI_TREE_PATH], q[NI_TREE_PATH];

    (void)ni_copyn(p, sizeof(p), x->path, dir_of(x).n);
    (void)ni_copyn(q, sizeof(q), y->path, dir_of(y).n);
    int c = natural_cmp(p, q);
    c = c ? c : (y->kind == NI_ENTRY_DIR) - (x->kind == NI_ENTRY_DIR);
    return c ? c : natural_cmp(x->path, y->path);
}

/* A number that a range can stand for. */
static bool number_of(const struct ni_entry *e, uint64_t *ret)
{
    const char *name = name_of(e);

    return (*name != '0' || !name[1]) && ni_parse_u64(ni_span_of(name), 999999999, ret) == 0;
}

/* The last entry of the range that begins with the first: neighbours that differ in their number
   alone. */
static const struct ni_entry *range_end(const struct ni_entry *e, const struct ni_entry *end)
{
    enum { MAX_RUN = 65536 }; /* what the parser takes */
    uint64_t from, to;

    for (const struct ni_entry *first = e;; e++) {
        const struct ni_entry *next = e + 1;
        if (next == end || next - first == MAX_RUN || !is_same(dir_of(e), dir_of(next)) ||
            e->kind != next->kind || e->err != next->err ||
            !is_same((struct ni_span){e->value, e->len},
                     (struct ni_span){next->value, next->len}) ||
            !number_of(e, &from) || !number_of(next, &to) || to != from + 1)
            return e;
    }
}

/* dir: of the path, as far as the line says it; "." for what the last `d` line said. */
static void put_line(struct out *o, const struct ni_entry *e, const struct ni_entry *last,
                     struct ni_span dir)
{
    static const char letters[] = "dfle"; /* of enum ni_entry_kind */

    ni_putf(o->text, "%c ", letters[e->kind]);
    put_text(o, "", dir);
    ni_put(o->text, dir.n > 0 ? "/" : "");
    if (last == e)
        put_text(o, "", ni_span_of(name_of(e)));
    else
        ni_putf(o->text, "{%s..%s}", name_of(e), name_of(last));
    if (e->kind == NI_ENTRY_ERR) {
        const char *err = ni_errno_name(e->err);
        ni_putf(o->text, " %s", err ? err : "EIO");
    } else if (e->len > 0) {
        ni_put(o->text, " ");
        put_text(o, e->kind == NI_ENTRY_LINK ? "" : e->path, (struct ni_span){e->value, e->len});
    }
    ni_put(o->text, "\n");
}

/* The entries in order. One that has others beside it goes without its directory, which a `d` line
   before them says; each such line of a directory that is empty says another. */
static void put_entries(struct out *o, const struct ni_entry *e, const struct ni_entry *end)
{
    struct ni_span base = {"", 0};

    for (const struct ni_entry *last; e < end; e = last + 1) {
        struct ni_span dir = dir_of(e);
        last = range_end(e, end);
        if (!*e->path) /* the root, which each tree has */
            continue;
        if (e->kind != NI_ENTRY_DIR && !is_same(dir, base) && last + 1 < end &&
            is_same(dir_of(last + 1), dir)) {
            ni_put(o->text, "d ");
            put_text(o, "", dir);
            ni_put(o->text, "\n");
            base = dir;
        }
        put_line(o, e, last, dir.n > 0 && is_same(dir, base) ? (struct ni_span){".", 1} : dir);
        if (e->kind == NI_ENTRY_DIR)
            base = (struct ni_span){"", 0};
    }
}

static void put_header(struct out *o, const char *header)
{
    struct ni_span line;

    while (header && *header && ni_split(&header, '\n', &line)) {
        ni_put(o->text, line.n == 0 ? "#" : *line.p == '#' ? "" : "# ");
        put_text(o, "/", line);
        ni_put(o->text, "\n");
    }
}

int ni_record_text(const struct ni_root *root, const char *header, bool mask, struct ni_text *ret)
{
    struct ni_tree *t = root->record;

    if (!t || t->failed)
        return t ? t->failed : -EINVAL;
    ni_tree_sort(t);
    struct ni_entry *kept = malloc((t->n + 1) * sizeof(*kept));
    struct out o = {ret, mask ? ni_mask_new(t) : NULL};
    int r = !kept || (mask && !o.mask) ? -ENOMEM : 0;
    if (r == 0) {
        put_header(&o, header);
        size_t n = settle(t->at, t->n, kept);
        qsort(kept, n, sizeof(*kept), by_directory);
        put_entries(&o, kept, kept + n);
        r = mask ? ni_mask_error(o.mask) : 0;
    }
    ni_mask_free(o.mask);
    free(kept);
    return r;
}
