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

/* That a path is too long, or leads through a file, a tree says too. What cannot even be looked at
   lies in a directory that lets nobody through. */
static void add_errno(const struct ni_dir *from, const char *path, int err)
{
    char dir[NI_TREE_PATH + 1];
    const char *slash = strrchr(path, '/');
    bool is_dir;

    if (err == -ENOTDIR || err == -ENAMETOOLONG || err == -ELOOP)
        return;
    if (err != -ENOENT && slash > path && ni_raw_exists(from, path, &is_dir) == err) {
        (void)ni_copyn(dir, sizeof(dir), path, (size_t)(slash - path));
        path = dir;
    }
    add(from, path, READ, (struct ni_entry){.kind = NI_ENTRY_ERR, .err = -err});
}

static void add_exists(const struct ni_dir *from, const char *path)
{
    bool dir;
    int r = ni_raw_exists(from, path, &dir);

    if (r < 0)
        add_errno(from, path, r);
    else
        add(from, path, SEEN, (struct ni_entry){.kind = dir ? NI_ENTRY_DIR : NI_ENTRY_FILE});
}

static void add_read(const struct ni_dir *from, const char *path)
{
    static char *buf;

    if (!buf)
        buf = malloc(NI_TREE_FILE); /* pages that are not touched cost nothing */
    ssize_t n = buf ? ni_raw_read(from, path, buf, NI_TREE_FILE) : -ENOMEM;
    if (n == -EISDIR)
        add_exists(from, path);
    else if (n == -EOVERFLOW || n == -ENOMEM)
        from->root->record->failed = n == -ENOMEM ? -ENOMEM : -EFBIG;
    else if (n < 0)
        add_errno(from, path, (int)n);
    else
        add(from, path, READ,
            (struct ni_entry){.kind = NI_ENTRY_FILE, .value = buf, .len = (uint32_t)n});
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

static void add_list(const struct ni_dir *from, const char *path)
{
    struct listing l = {from, path};
    int r = ni_raw_list(from, path, add_name, &l);

    if (r == -ENOTDIR)
        add_exists(from, path);
    else if (r < 0)
        add_errno(from, path, r);
    else
        add(from, path, READ, (struct ni_entry){.kind = NI_ENTRY_DIR});
}

/* proc/self is a link to a number and proc/net one through it. As directories they make a record
   that people can read, and that is the same for each run. */
static bool is_proc_alias(const struct ni_dir *from, const char *path)
{
    static const char *const alias[] = {"/proc/self", "/proc/thread-self", "/proc/net"};

    return from->root->kind == NI_ROOT_LIVE && ni_is_any(path, alias, NI_COUNT(alias));
}

/* The link at that path, into the record too: 1. 0: it is none. */
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

    top.named = dir->named;
    char at[NI_TREE_PATH + 1] = "/", target[NI_TREE_PATH];
    int r = ni_walk(path, access != NI_ACCESS_LINK, at + 1, step, from);

    if (r < 0) {
        add_errno(from, at, r);
        return;
    }
    switch (access) {
    case NI_ACCESS_READ:
        add_read(from, at);
        return;
    case NI_ACCESS_LIST:
        add_list(from, at);
        return;
    case NI_ACCESS_LINK:
        r = meet_link(from, at, target);
        break;
    case NI_ACCESS_OPEN:
        r = ni_raw_openable(from, at);
        break;
    case NI_ACCESS_EXISTS:
        break;
    }
    if (r < 0)
        add_errno(from, at, r);
    else if (r == 0)
        add_exists(from, at);
}

int ni_record_add(const struct ni_root *root, const char *path, const char *value, size_t len)
{
    struct ni_dir top = ni_dir_top(root);

    add(&top, path, READ,
        (struct ni_entry){.kind = NI_ENTRY_FILE, .value = value, .len = (uint32_t)len});
    return root->record->failed;
}

/* ---- what was met, as a tree ---- */

bool ni_is_below(const char *path, const char *dir)
{
    size_t n = strlen(dir);

    return n == 0 || (strncmp(path, dir, n) == 0 && path[n] == '/');
}

/* mlx5_2 before mlx5_10, and behind a directory what is below it. */
static int path_cmp(const char *a, const char *b)
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

static void sort(struct ni_tree *t, int (*cmp)(const void *, const void *))
{
    if (t->n > 0)
        qsort(t->at, t->n, sizeof(*t->at), cmp);
}

/* Of one path the surest first, then the latest. */
static int by_path(const void *a, const void *b)
{
    const struct ni_entry *x = a, *y = b;
    int c = path_cmp(x->path, y->path);

    c = c ? c : (int)y->sure - (int)x->sure;
    return c ? c : (x->number < y->number) - (x->number > y->number);
}

/* Of each path the surest entry, the later one of two. That a thing is not there says nothing, unless
   it was listed. A directory with something in it needs no entry, and what became none while
   something in it was recorded stays one. Marks the others. */
static void settle(struct ni_tree *t)
{
    struct ni_entry *before = NULL;
    size_t same;

    for (size_t i = 0; i < t->n; i += same) {
        struct ni_entry *e = &t->at[i];
        for (same = 1; i + same < t->n && strcmp(e[same].path, e->path) == 0; same++)
            e[same].dropped = true;
        e->dropped = e->kind == NI_ENTRY_ERR && e->err == ENOENT && e[same - 1].sure != LISTED;
        if (e->dropped)
            continue;
        if (before && ni_is_below(e->path, before->path))
            before->dropped = true;
        before = e;
    }
}

/* ---- the form ---- */

void ni_bytes_put(struct ni_bytes *b, const char *s, size_t n)
{
    if (n > b->room - b->n) {
        size_t room = 2 * (b->room + n) + NI_PAGE;
        char *p = b->lost ? NULL : realloc(b->p, room);
        b->lost = !p;
        if (!p)
            return;
        b->p = p;
        b->room = room;
    }
    if (n > 0)
        memcpy(b->p + b->n, s, n);
    b->n += n;
}

void ni_bytes_putf(struct ni_bytes *b, const char *fmt, ...)
{
    char buf[320];
    struct ni_text t = ni_text_on(buf, sizeof(buf));
    va_list ap;

    va_start(ap, fmt);
    ni_vputf(&t, fmt, ap);
    va_end(ap);
    ni_bytes_put(b, buf, t.len);
}

struct out {
    struct ni_bytes text, scratch;
    struct ni_mask *mask;
};

/* Escapes what the form needs, and blanks at either end, so that no editor strips them. */
static void put_escaped(struct ni_bytes *b, struct ni_span s, bool is_path)
{
    static const char from[] = "\n\t\r\\", to[] = "ntr\\";
    size_t begin = 0, end = s.n;

    while (begin < end && s.p[begin] == ' ')
        begin++;
    while (end > begin && s.p[end - 1] == ' ')
        end--;
    for (size_t i = 0; i < s.n; i++) {
        const char *known = s.p[i] ? strchr(from, s.p[i]) : NULL;
        bool blank = s.p[i] == ' ' && (is_path || i < begin || i >= end);
        if (known)
            ni_bytes_putf(b, "\\%c", to[known - from]);
        else if (s.p[i] < ' ' || s.p[i] > '~' || blank || (is_path && s.p[i] == '{'))
            ni_bytes_putf(b, "\\x%02x", (unsigned char)s.p[i]);
        else
            ni_bytes_put(b, &s.p[i], 1);
    }
}

/* path: of the file that the text is of; "" for a name or the target of a link. */
static void put_text(struct out *o, const char *path, struct ni_span s)
{
    if (o->mask) {
        o->scratch.n = 0;
        ni_mask_text(o->mask, path, s, &o->scratch);
        s = (struct ni_span){o->scratch.p, o->scratch.n};
    }
    put_escaped(&o->text, s, !*path);
}

static size_t dir_len(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? (size_t)(slash - path) : 0;
}

static const char *name_of(const char *path)
{
    return path + dir_len(path) + (dir_len(path) > 0);
}

static bool is_beside(const struct ni_entry *a, const struct ni_entry *b)
{
    size_t n = dir_len(a->path);

    return dir_len(b->path) == n && memcmp(b->path, a->path, n) == 0;
}

/* By directory, then by name: what lies deeper comes behind all that is in the directory. What was
   dropped comes last. */
static int by_directory(const void *a, const void *b)
{
    const struct ni_entry *x = a, *y = b;
    char p[NI_TREE_PATH], q[NI_TREE_PATH];

    if (x->dropped != y->dropped)
        return x->dropped ? 1 : -1;
    (void)ni_copyn(p, sizeof(p), x->path, dir_len(x->path));
    (void)ni_copyn(q, sizeof(q), y->path, dir_len(y->path));
    int c = path_cmp(p, q);
    return c ? c : path_cmp(x->path, y->path);
}

/* A number that a range can stand for. */
static bool number_of(const struct ni_entry *e, uint64_t *ret)
{
    const char *name = name_of(e->path);

    return (*name != '0' || !name[1]) && ni_parse_u64(ni_span_of(name), 999999999, ret) == 0;
}

/* The last entry of the range that begins with the first of n: neighbours that differ in their number
   alone. */
static size_t range_end(const struct ni_entry *e, size_t n)
{
    enum { MAX_RUN = 65536 }; /* what the parser takes */
    uint64_t from, to;
    size_t i = 0;

    for (; i + 1 < n && i + 1 < MAX_RUN; i++) {
        const struct ni_entry *a = &e[i], *b = &e[i + 1];
        if (a->kind != b->kind || a->err != b->err || a->len != b->len ||
            memcmp(a->value, b->value, a->len) != 0 || !number_of(a, &from) || !number_of(b, &to) ||
            to != from + 1)
            break;
    }
    return i;
}

static void put_line(struct out *o, const struct ni_entry *e, const struct ni_entry *last,
                     bool whole)
{
    static const char *const letter[] = {[NI_ENTRY_DIR] = "d ",
                                         [NI_ENTRY_FILE] = "f ",
                                         [NI_ENTRY_LINK] = "l ",
                                         [NI_ENTRY_ERR] = "e "};
    struct ni_span value = {e->value, e->len};
    size_t dir = dir_len(e->path);

    if (!*e->path) /* the root, which each tree has */
        return;
    ni_bytes_put(&o->text, letter[e->kind], 2);
    if (whole)
        put_text(o, "", (struct ni_span){e->path, dir});
    ni_bytes_putf(&o->text, "%s%s", whole ? "" : ".", whole && dir == 0 ? "" : "/");
    if (last == e)
        put_text(o, "", ni_span_of(name_of(e->path)));
    else
        ni_bytes_putf(&o->text, "{%s..%s}", name_of(e->path), name_of(last->path));
    if (e->kind == NI_ENTRY_ERR) {
        const char *err = ni_errno_name(e->err);
        ni_bytes_putf(&o->text, " %s", err ? err : "EIO");
    } else if (e->len > 0) {
        ni_bytes_put(&o->text, " ", 1);
        put_text(o, e->kind == NI_ENTRY_LINK ? "" : e->path, value);
    }
    ni_bytes_put(&o->text, "\n", 1);
}

/* The n entries of one directory. Empty directories come first: each `d` moves what "./" stands
   for. */
static void put_section(struct out *o, const struct ni_entry *e, size_t n)
{
    struct ni_span dir = {e->path, dir_len(e->path)};
    unsigned lines = 0; /* of others */
    bool whole = true;

    for (int dirs = 1; dirs >= 0; dirs--) {
        for (size_t i = 0, last; i < n; i = last + 1) {
            last = i + range_end(&e[i], n - i);
            if ((e[i].kind == NI_ENTRY_DIR) == (dirs == 1))
                put_line(o, &e[i], &e[last], whole);
            else
                lines++;
        }
        if (dirs == 0 || dir.n == 0 || lines < 2)
            continue;
        whole = false;
        ni_bytes_put(&o->text, "d ", 2);
        put_text(o, "", dir);
        ni_bytes_put(&o->text, "\n", 1);
    }
}

static void put_all(struct out *o, struct ni_tree *t)
{
    const struct ni_entry *e = t->at;
    size_t same;

    sort(t, by_directory);
    for (size_t i = 0; i < t->n && !e[i].dropped; i += same) {
        for (same = 1; i + same < t->n && !e[i + same].dropped && is_beside(&e[i], &e[i + same]);)
            same++;
        put_section(o, &e[i], same);
    }
}

static void put_header(struct out *o, const char *header)
{
    struct ni_span line;

    while (header && *header && ni_split(&header, '\n', &line)) {
        ni_bytes_putf(&o->text, "%s", line.n == 0 ? "#" : *line.p == '#' ? "" : "# ");
        put_text(o, "/", line);
        ni_bytes_put(&o->text, "\n", 1);
    }
}

int ni_record_text(const struct ni_root *root, const char *header, bool mask, char **ret,
                   size_t *ret_len)
{
    struct ni_tree *t = root->record;
    struct out o = {0};

    *ret = NULL;
    *ret_len = 0;
    if (!t || t->failed)
        return t ? t->failed : -EINVAL;
    sort(t, by_path);
    settle(t);
    o.mask = mask ? ni_mask_new(t) : NULL;
    put_header(&o, header);
    put_all(&o, t);
    int r = (mask && !o.mask) || o.text.lost || o.scratch.lost ? -ENOMEM : 0;
    if (r == 0 && o.mask)
        r = ni_mask_error(o.mask);
    ni_mask_free(o.mask);
    free(o.scratch.p);
    if (r < 0) {
        free(o.text.p);
        return r;
    }
    *ret = o.text.p;
    *ret_len = o.text.n;
    return 0;
}
