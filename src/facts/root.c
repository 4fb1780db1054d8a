/* SPDX-License-Identifier: Apache-2.0 */
/* facts: the door. Formats the path, picks the kind of root, lets the recorder see what passes. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "door.h"

int ni_root_open(const char *path, struct ni_root *ret, unsigned *ret_line)
{
    size_t len;

    *ret_line = 0;
    if (strcmp(path, "/") == 0) {
        *ret = (struct ni_root){.kind = NI_ROOT_LIVE, .fd = -1};
        return 0;
    }
    struct ni_root root;
    int r = ni_sys_open(path, &root, &len);
    if (r < 0)
        return r;
    if (root.kind == NI_ROOT_TREE) {
        r = ni_tree_parse(root.tree, len, ret_line);
        if (r < 0) {
            ni_tree_free(root.tree);
            return r;
        }
    }
    *ret = root;
    return 0;
}

void ni_root_close(struct ni_root *root)
{
    if (root->fd >= 0)
        (void)close(root->fd);
    ni_tree_free(root->tree);
    ni_tree_free(root->record);
    *root = (struct ni_root){.fd = -1};
}

int ni_root_record(struct ni_root *root)
{
    return root->record ? -EBUSY : ni_tree_new(NI_SLOT_RECORD, &root->record);
}

/* ---- the kinds of root ---- */

ssize_t ni_raw_read(const struct ni_root *root, const char *path, char *buf, size_t cap)
{
    if (root->kind == NI_ROOT_TREE)
        return ni_tree_read(root->tree, path, buf, cap);
    return ni_sys_read(root, path, buf, cap);
}

ssize_t ni_raw_readlink(const struct ni_root *root, const char *path, char *buf, size_t cap)
{
    if (root->kind == NI_ROOT_TREE)
        return ni_tree_readlink(root->tree, path, buf, cap);
    return ni_sys_readlink(root, path, buf, cap);
}

int ni_raw_exists(const struct ni_root *root, const char *path, bool *ret_dir)
{
    if (root->kind == NI_ROOT_TREE)
        return ni_tree_exists(root->tree, path, ret_dir);
    return ni_sys_exists(root, path, ret_dir);
}

int ni_raw_openable(const struct ni_root *root, const char *path)
{
    if (root->kind == NI_ROOT_TREE)
        return ni_tree_openable(root->tree, path);
    return ni_sys_openable(root, path);
}

int ni_raw_lines(const struct ni_root *root, const char *path, struct ni_liner *l)
{
    if (root->kind == NI_ROOT_TREE)
        return ni_tree_lines(root->tree, path, l);
    return ni_sys_lines(root, path, l);
}

int ni_raw_list(const struct ni_root *root, const char *path, ni_name_fn *name, void *ctx)
{
    if (root->kind == NI_ROOT_TREE)
        return ni_tree_list(root->tree, path, name, ctx);
    return ni_sys_list(root, path, name, ctx);
}

/* ---- the calls ---- */

/* A path below the root, with the slash that stands for it. */
struct path {
    char text[NI_PATH + 1];
};

static int NI_PRINTF(2, 0) format_path(struct path *p, const char *fmt, va_list ap)
{
    struct ni_text t = ni_text_on(p->text, sizeof(p->text));

    ni_put(&t, "/");
    ni_vputf(&t, fmt, ap);
    return t.cut ? -ENAMETOOLONG : 0;
}

/* Where the answer comes from. While recording: from the record, after it has taken in what is
   there. So a replay of the record cannot answer otherwise. A record that is full gives up, the
   program goes on. */
static struct ni_root source_of(const struct ni_root *root, const struct path *p,
                                enum ni_access access)
{
    if (root->record && ni_record_capture(root, p->text, access))
        return (struct ni_root){.kind = NI_ROOT_TREE, .fd = -1, .tree = root->record};
    return *root;
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
    int r = format_path(&p, fmt, ap);
    va_end(ap);
    if (r == 0)
        ni_sys_hold(root, p.text);
}

ssize_t ni_read(const struct ni_root *root, char *buf, size_t cap, const char *fmt, ...)
{
    struct path p;
    va_list ap;

    va_start(ap, fmt);
    ssize_t n = format_path(&p, fmt, ap);
    va_end(ap);
    if (n == 0) {
        struct ni_root from = source_of(root, &p, NI_ACCESS_READ);
        n = ni_raw_read(&from, p.text, buf, cap);
    }
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
    ssize_t n = format_path(&p, fmt, ap);
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
    ssize_t n = format_path(&p, fmt, ap);
    va_end(ap);
    if (n == 0) {
        struct ni_root from = source_of(root, &p, NI_ACCESS_LINK);
        n = ni_raw_readlink(&from, p.text, buf, cap);
    }
    buf[n < 0 ? 0 : n] = '\0';
    return n;
}

int ni_exists(const struct ni_root *root, const char *fmt, ...)
{
    struct path p;
    va_list ap;
    bool dir;

    va_start(ap, fmt);
    int r = format_path(&p, fmt, ap);
    va_end(ap);
    if (r < 0)
        return r;
    struct ni_root from = source_of(root, &p, NI_ACCESS_EXISTS);
    return ni_raw_exists(&from, p.text, &dir);
}

bool ni_is_at(const struct ni_root *root, const char *name, const char *fmt, ...)
{
    struct path p;
    va_list ap;

    va_start(ap, fmt);
    int r = format_path(&p, fmt, ap);
    va_end(ap);
    return r == 0 && root->kind == NI_ROOT_LIVE && ni_sys_is_at(p.text, name);
}

int ni_openable(const struct ni_root *root, const char *fmt, ...)
{
    struct path p;
    va_list ap;

    va_start(ap, fmt);
    int r = format_path(&p, fmt, ap);
    va_end(ap);
    if (r < 0)
        return r;
    struct ni_root from = source_of(root, &p, NI_ACCESS_OPEN);
    return ni_raw_openable(&from, p.text);
}

int ni_lines(const struct ni_root *root, ni_line_fn *line, void *ctx, const char *fmt, ...)
{
    struct ni_liner liner;
    struct path p;
    va_list ap;

    va_start(ap, fmt);
    int r = format_path(&p, fmt, ap);
    va_end(ap);
    if (r < 0)
        return r;
    liner.line = line;
    liner.ctx = ctx;
    liner.len = 0;
    struct ni_root from = source_of(root, &p, NI_ACCESS_READ);
    r = ni_raw_lines(&from, p.text, &liner);
    if (r == 0)
        ni_liner_end(&liner);
    return r;
}

static void add_name(void *ctx, const char *name)
{
    ni_listing_add(ctx, name);
}

int ni_list(const struct ni_root *root, struct ni_names *ret, const char *fmt, ...)
{
    struct ni_listing listing;
    struct path p;
    va_list ap;

    va_start(ap, fmt);
    int r = format_path(&p, fmt, ap);
    va_end(ap);
    ni_listing_begin(&listing, ret);
    if (r < 0)
        return r;
    struct ni_root from = source_of(root, &p, NI_ACCESS_LIST);
    r = ni_raw_list(&from, p.text, add_name, &listing);
    if (r < 0)
        ni_listing_begin(&listing, ret);
    else
        ni_listing_end(&listing);
    return r;
}
