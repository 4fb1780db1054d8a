/* SPDX-License-Identifier: Apache-2.0 */
/* facts: the door's calls, answered from a tree in memory. */
#include <errno.h>
#include <string.h>

#include "door.h"

/* The node, links followed, or the error that opening it gives. */
static int open_node(const struct ni_tree *t, const char *path, uint32_t *ret)
{
    int r = ni_tree_find(t, path, true, ret);

    if (r < 0)
        return r;
    return t->node[*ret].kind == NI_NODE_ERR ? -(int)t->node[*ret].value : 0;
}

/* What the file holds, links followed, or the error that reading it gives. */
static int open_file(const struct ni_tree *t, const char *path, struct ni_span *ret)
{
    uint32_t at;
    int r = open_node(t, path, &at);

    if (r < 0)
        return r;
    if (t->node[at].kind == NI_NODE_DIR)
        return -EISDIR;
    *ret = ni_tree_value(t, at);
    return 0;
}

static ssize_t copy_out(struct ni_span value, char *buf, size_t cap)
{
    if (value.n >= cap)
        return -EOVERFLOW;
    memcpy(buf, value.p, value.n);
    return (ssize_t)value.n;
}

ssize_t ni_tree_read(const struct ni_tree *t, const char *path, char *buf, size_t cap)
{
    struct ni_span value;
    int r = open_file(t, path, &value);

    return r < 0 ? r : copy_out(value, buf, cap);
}

ssize_t ni_tree_readlink(const struct ni_tree *t, const char *path, char *buf, size_t cap)
{
    uint32_t at;
    int r = ni_tree_find(t, path, false, &at);

    if (r < 0)
        return r;
    if (t->node[at].kind == NI_NODE_ERR)
        return -(ssize_t)t->node[at].value;
    if (t->node[at].kind != NI_NODE_LINK)
        return -EINVAL;
    return copy_out(ni_tree_value(t, at), buf, cap);
}

int ni_tree_exists(const struct ni_tree *t, const char *path, bool *ret_dir)
{
    uint32_t at;
    int r = open_node(t, path, &at);

    /* A file that cannot be opened is there all the same. */
    if (r < 0 && r != -ENOENT && ni_tree_find(t, path, true, &at) == 0)
        r = 0;
    if (r < 0)
        return r;
    *ret_dir = t->node[at].kind == NI_NODE_DIR;
    return 0;
}

int ni_tree_openable(const struct ni_tree *t, const char *path)
{
    uint32_t at;

    return open_node(t, path, &at);
}

int ni_tree_lines(const struct ni_tree *t, const char *path, struct ni_liner *l)
{
    struct ni_span value;
    int r = open_file(t, path, &value);

    if (r < 0 || value.n == 0)
        return r;
    r = ni_liner_feed(l, value.p, value.n);
    return r < 0 ? r : ni_liner_feed(l, "\n", 1); /* the form leaves the last newline off */
}

int ni_tree_list(const struct ni_tree *t, const char *path, ni_name_fn *name, void *ctx)
{
    uint32_t at;
    int r = open_node(t, path, &at);

    if (r < 0)
        return r;
    if (t->node[at].kind != NI_NODE_DIR)
        return -ENOTDIR;
    for (uint32_t child = t->node[at].first; child; child = t->node[child].next)
        name(ctx, ni_tree_name(t, child));
    return 0;
}
