/* SPDX-License-Identifier: Apache-2.0 */
/* door: formats the path, lets the recorder see it, asks the kind of root. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "door.h"

int ni_root_open(const char *path, struct ni_root *ret, unsigned *ret_line)
{
    struct ni_root root;
    char *text = NULL;
    size_t len;

    *ret_line = 0;
    if (strcmp(path, "/") == 0) {
        *ret = (struct ni_root){.kind = NI_ROOT_LIVE, .fd = -1};
        return 0;
    }
    int r = ni_sys_open(path, &root, &text, &len);
    if (r == 0 && root.kind == NI_ROOT_TREE) {
        root.tree = ni_tree_new();
        root.text = text;
        r = root.tree ? ni_tree_parse(root.tree, text, len, ret_line) : -ENOMEM;
        if (r < 0)
            ni_root_close(&root);
    }
    if (r == 0)
        *ret = root;
    return r;
}

void ni_root_close(struct ni_root *root)
{
    if (root->fd >= 0)
        (void)close(root->fd);
    ni_tree_free(root->tree);
    ni_tree_free(root->record);
    free(root->text);
    *root = (struct ni_root){.fd = -1};
}

int ni_root_record(struct ni_root *root)
{
    if (root->record)
        return -EBUSY;
    root->record = ni_tree_new();
    return root->record ? 0 : -ENOMEM;
}

/* ---- the kinds of root ---- */

ssize_t ni_raw_read(const struct ni_root *root, const char *path, char *buf, size_t cap)
{
    return root->kind == NI_ROOT_TREE ? ni_tree_read(root->tree, path, buf, cap)
                                      : ni_sys_read(root, path, buf, cap);
}

ssize_t ni_raw_readlink(const struct ni_root *root, const char *path, char *buf, size_t cap)
{
    return root->kind == NI_ROOT_TREE ? ni_tree_readlink(root->tree, path, buf, cap)
                                      : ni_sys_readlink(root, path, buf, cap);
}

int ni_raw_exists(const struct ni_root *root, const char *path, bool *ret_dir)
{
    return root->kind == NI_ROOT_TREE ? ni_tree_exists(root->tree, path, ret_dir)
                                      : ni_sys_exists(root, path, ret_dir);
}

int ni_raw_openable(const struct ni_root *root, const char *path)
{
    return root->kind == NI_ROOT_TREE ? ni_tree_openable(root->tree, path)
                                      : ni_sys_openable(root, path);
}

int ni_raw_lines(const struct ni_root *root, const char *path, struct ni_liner *l)
{
    return root->kind == NI_ROOT_TREE ? ni_tree_lines(root->tree, path, l)
                                      : ni_sys_lines(root, path, l);
}

int ni_raw_list(const struct ni_root *root, const char *path, ni_name_fn *name, void *ctx)
{
    return root->kind == NI_ROOT_TREE ? ni_tree_list(root->tree, path, name, ctx)
                                      : ni_sys_list(root, path, name, ctx);
}

/* ---- the calls ---- */

/* A path below the root, with the slash that stands for it. */
struct path {
    char text[NI_PATH + 1];
};

/* 0 or -ENAMETOOLONG. */
static int NI_PRINTF(2, 0) format(struct path *p, const char *fmt, va_list ap)
{
    struct ni_text t = ni_text_on(p->text, sizeof(p->text));

    ni_put(&t, "/");
    ni_vputf(&t, fmt, ap);
    return t.cut ? -ENAMETOOLONG : 0;
}

static int NI_PRINTF(4, 0) format_and_record(const struct ni_root *root, enum ni_access access,
                                             struct path *p, const char *fmt, va_list ap)
{
    int r = format(p, fmt, ap);

    if (r == 0 && root->record)
        ni_record(root, p->text, access);
    return r;
}

void ni_held_init(struct ni_held *held)
{
    held->dir.fd = held->links.fd = -1;
}

void ni_held_close(struct ni_held *held)
{
    if (held->dir.fd >= 0)
        (void)close(held->dir.fd);
    if (held->links.fd >= 0)
        (void)close(held->links.fd);
    ni_held_init(held);
}

void ni_hold(const struct ni_root *root, const char *fmt, ...)
{
    struct path p;
    va_list ap;

    if (!root->held || root->kind == NI_ROOT_TREE)
        return;
    va_start(ap, fmt);
    int r = format(&p, fmt, ap);
    va_end(ap);
    if (r == 0)
        ni_sys_hold(root, p.text);
}

ssize_t ni_read(const struct ni_root *root, char *buf, size_t cap, const char *fmt, ...)
{
    struct path p;
    va_list ap;

    va_start(ap, fmt);
    ssize_t n = format_and_record(root, NI_ACCESS_READ, &p, fmt, ap);
    va_end(ap);
    if (n == 0)
        n = ni_raw_read(root, p.text, buf, cap);
    if (n > 0 && memchr(buf, '\0', (size_t)n))
        n = -EILSEQ;
    buf[n < 0 ? 0 : n] = '\0';
    return n;
}

ssize_t ni_read_raw(const struct ni_root *root, char *buf, size_t cap, const char *fmt, ...)
{
    struct path p;
    va_list ap;

    va_start(ap, fmt);
    ssize_t n = format(&p, fmt, ap);
    va_end(ap);
    if (n == 0)
        n = ni_raw_read(root, p.text, buf, cap);
    buf[n < 0 ? 0 : n] = '\0';
    return n;
}

ssize_t ni_readlink(const struct ni_root *root, char *buf, size_t cap, const char *fmt, ...)
{
    struct path p;
    va_list ap;

    va_start(ap, fmt);
    ssize_t n = format_and_record(root, NI_ACCESS_LINK, &p, fmt, ap);
    va_end(ap);
    if (n == 0)
        n = ni_raw_readlink(root, p.text, buf, cap);
    buf[n < 0 ? 0 : n] = '\0';
    return n;
}

int ni_exists(const struct ni_root *root, const char *fmt, ...)
{
    struct path p;
    va_list ap;
    bool dir;

    va_start(ap, fmt);
    int r = format_and_record(root, NI_ACCESS_EXISTS, &p, fmt, ap);
    va_end(ap);
    return r < 0 ? r : ni_raw_exists(root, p.text, &dir);
}

bool ni_is_at(const struct ni_root *root, const char *name, const char *fmt, ...)
{
    struct path p;
    va_list ap;

    va_start(ap, fmt);
    int r = format(&p, fmt, ap);
    va_end(ap);
    return r == 0 && root->kind == NI_ROOT_LIVE && ni_sys_is_at(p.text, name);
}

int ni_openable(const struct ni_root *root, const char *fmt, ...)
{
    struct path p;
    va_list ap;

    va_start(ap, fmt);
    int r = format_and_record(root, NI_ACCESS_OPEN, &p, fmt, ap);
    va_end(ap);
    return r < 0 ? r : ni_raw_openable(root, p.text);
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

int ni_lines(const struct ni_root *root, ni_line_fn *line, void *ctx, const char *fmt, ...)
{
    struct ni_liner liner;
    struct path p;
    va_list ap;

    va_start(ap, fmt);
    int r = format_and_record(root, NI_ACCESS_READ, &p, fmt, ap);
    va_end(ap);
    if (r < 0)
        return r;
    liner.line = line;
    liner.ctx = ctx;
    liner.len = 0;
    r = ni_raw_lines(root, p.text, &liner);
    if (r == 0 && liner.len > 0) /* a last line needs no newline */
        end_line(&liner);
    return r;
}

/* ---- listings ---- */

struct listing {
    struct ni_names *ret;
    size_t used; /* of ret->text */
};

static void add_name(void *ctx, const char *name)
{
    struct listing *l = ctx;
    struct ni_names *ret = l->ret;
    size_t len = strlen(name) + 1;

    if (ret->n == NI_MAX_NAMES || len > sizeof(ret->text) - l->used) {
        ret->cut = true;
        return;
    }
    ret->name[ret->n++] = memcpy(ret->text + l->used, name, len);
    l->used += len;
}

static int by_name(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;

    return ni_natural_cmp(*x, *y);
}

int ni_list(const struct ni_root *root, struct ni_names *ret, const char *fmt, ...)
{
    struct listing listing = {.ret = ret};
    struct path p;
    va_list ap;

    va_start(ap, fmt);
    int r = format_and_record(root, NI_ACCESS_LIST, &p, fmt, ap);
    va_end(ap);
    ret->n = 0;
    ret->cut = false;
    if (r == 0)
        r = ni_raw_list(root, p.text, add_name, &listing);
    if (r < 0) {
        ret->n = 0;
        ret->cut = false;
    }
    qsort(ret->name, ret->n, sizeof(*ret->name), by_name);
    return r;
}
