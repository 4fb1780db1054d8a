/* SPDX-License-Identifier: Apache-2.0 */
/* door: the calls. Each makes the path whole, lets the recorder see it, and asks the root. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "door.h"

int ni_root_record(struct ni_root *root)
{
    if (root->record)
        return -EBUSY;
    root->record = calloc(1, sizeof(*root->record));
    return root->record ? 0 : -ENOMEM;
}

/* ---- paths ---- */

/* A path below the root, with the slash that stands for it. */
struct path {
    char text[NI_PATH + 1];
    int err; /* 0 or -ENAMETOOLONG */
};

static void NI_PRINTF(3, 0)
    join(const struct ni_dir *dir, struct path *p, const char *fmt, va_list ap)
{
    struct ni_text t = ni_text_on(p->text, sizeof(p->text));

    ni_put(&t, "/");
    ni_put(&t, dir->path);
    if (t.len > 1)
        ni_put(&t, "/");
    ni_vputf(&t, fmt, ap);
    p->err = t.cut || dir->cut ? -ENAMETOOLONG : 0;
}

/* The path that a call's own arguments make. */
#define JOIN(dir, p, fmt)            \
    do {                             \
        va_list ap;                  \
        va_start(ap, fmt);           \
        join((dir), (p), (fmt), ap); \
        va_end(ap);                  \
    } while (0)

struct ni_dir ni_dir_top(const struct ni_root *root)
{
    return (struct ni_dir){.root = root, .fd = -1};
}

static struct ni_dir dir_at(const struct ni_dir *from, const struct path *p)
{
    struct ni_dir dir = *from;

    dir.cut = p->err < 0;
    (void)ni_copy(dir.path, sizeof(dir.path), p->text + 1);
    return dir;
}

struct ni_dir ni_dir_at(const struct ni_dir *from, const char *fmt, ...)
{
    struct path p;

    JOIN(from, &p, fmt);
    return dir_at(from, &p);
}

struct ni_dir ni_dir_open(const struct ni_dir *from, const char *fmt, ...)
{
    struct path p;

    JOIN(from, &p, fmt);
    struct ni_dir dir = dir_at(from, &p);
    dir.fd = p.err < 0 ? -1 : ni_raw_open_dir(from, p.text);
    dir.len = strlen(dir.path);
    return dir;
}

void ni_dir_close(struct ni_dir *dir)
{
    if (dir->fd >= 0)
        (void)close(dir->fd);
    dir->fd = -1;
}

/* ---- the calls ---- */

/* What the recorder is to see. 0 or -errno: then there is nothing to look at. */
static int pass(const struct ni_dir *dir, const struct path *p, enum ni_access access)
{
    if (p->err == 0 && dir->root->record && !dir->unrecorded)
        ni_record(dir, p->text, access);
    return p->err;
}

ssize_t ni_read(const struct ni_dir *dir, char *buf, size_t cap, const char *fmt, ...)
{
    struct path p;

    JOIN(dir, &p, fmt);
    ssize_t n = pass(dir, &p, NI_ACCESS_READ);
    if (n == 0)
        n = ni_raw_read(dir, p.text, buf, cap);
    if (n > 0 && memchr(buf, '\0', (size_t)n))
        n = -EILSEQ;
    buf[n < 0 ? 0 : n] = '\0';
    return n;
}

ssize_t ni_read_raw(const struct ni_dir *dir, char *buf, size_t cap, const char *fmt, ...)
{
    struct path p;

    JOIN(dir, &p, fmt);
    ssize_t n = p.err < 0 ? p.err : ni_raw_read(dir, p.text, buf, cap);
    buf[n < 0 ? 0 : n] = '\0';
    return n;
}

ssize_t ni_readlink(const struct ni_dir *dir, char *buf, size_t cap, const char *fmt, ...)
{
    struct path p;

    JOIN(dir, &p, fmt);
    ssize_t n = pass(dir, &p, NI_ACCESS_LINK);
    if (n == 0)
        n = ni_raw_readlink(dir, p.text, buf, cap);
    buf[n < 0 ? 0 : n] = '\0';
    return n;
}

int ni_exists(const struct ni_dir *dir, const char *fmt, ...)
{
    struct path p;
    bool is_dir;

    JOIN(dir, &p, fmt);
    int r = pass(dir, &p, NI_ACCESS_EXISTS);
    return r < 0 ? r : ni_raw_exists(dir, p.text, &is_dir);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

bool ni_is_at(const struct ni_dir *dir, const char *name, const char *fmt, ...)
{
    struct stat at, st;
    struct path p;

    JOIN(dir, &p, fmt);
    return p.err == 0 && dir->root->kind == NI_ROOT_LIVE && lstat(name, &at) == 0 &&
           ((stat(p.text, &st) == 0 && is_same(&st, &at)) ||
            (lstat(p.text, &st) == 0 && is_same(&st, &at)));
}

int ni_openable(const struct ni_dir *dir, const char *fmt, ...)
{
    struct path p;

    JOIN(dir, &p, fmt);
    int r = pass(dir, &p, NI_ACCESS_OPEN);
    return r < 0 ? r : ni_raw_openable(dir, p.text);
}

/* ---- lines ---- */

static void end_line(struct ni_liner *l)
{
    l->buf[l->len] = '\0';
    l->len = 0;
    l->line(l->ctx, l->buf);
}

int ni_liner_feed(struct ni_liner *l, const char *s, size_t n)
{
    if (memchr(s, '\0', n))
        return -EILSEQ;
    while (n > 0) {
        const char *end = memchr(s, '\n', n);
        size_t len = end ? (size_t)(end - s) : n;
        size_t room = sizeof(l->buf) - 1 - l->len, take = len < room ? len : room;
        memcpy(l->buf + l->len, s, take); /* the rest of a longer line is dropped */
        l->len += take;
        if (!end)
            return 0;
        end_line(l);
        s += len + 1;
        n -= len + 1;
    }
    return 0;
}

int ni_lines(const struct ni_dir *dir, ni_line_fn *line, void *ctx, const char *fmt, ...)
{
    struct ni_liner liner;
    struct path p;

    JOIN(dir, &p, fmt);
    int r = pass(dir, &p, NI_ACCESS_READ);
    if (r < 0)
        return r;
    liner.line = line;
    liner.ctx = ctx;
    liner.len = 0;
    r = ni_raw_lines(dir, p.text, &liner);
    if (r == 0 && liner.len > 0) /* a last line needs no newline */
        end_line(&liner);
    return r;
}

/* ---- listings ---- */

static void add_name(void *ctx, const char *name)
{
    struct ni_names *ret = ctx;
    const char *last = ret->n > 0 ? ret->name[ret->n - 1] : NULL;
    char *at = last ? ret->text + (last - ret->text) + strlen(last) + 1 : ret->text;
    size_t len = strlen(name) + 1;

    if (ret->n == NI_MAX_NAMES || len > sizeof(ret->text) - (size_t)(at - ret->text))
        ret->cut = true;
    else
        ret->name[ret->n++] = memcpy(at, name, len);
}

static int by_name(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;

    return ni_natural_cmp(*x, *y);
}

int ni_list(const struct ni_dir *dir, struct ni_names *ret, const char *fmt, ...)
{
    struct path p;

    JOIN(dir, &p, fmt);
    ret->n = 0;
    ret->cut = false;
    int r = pass(dir, &p, NI_ACCESS_LIST);
    if (r == 0)
        r = ni_raw_list(dir, p.text, add_name, ret);
    if (r < 0) {
        ret->n = 0;
        ret->cut = false;
    }
    qsort(ret->name, ret->n, sizeof(*ret->name), by_name);
    return r;
}
