/* SPDX-License-Identifier: Apache-2.0 */
/* facts: paths in a tree, walked as fs/namei.c link_path_walk does below the root of
   RESOLVE_IN_ROOT. */
#include <errno.h>

#include "door.h"

static struct ni_span skip_slashes(struct ni_span s)
{
    while (s.n > 0 && *s.p == '/') {
        s.p++;
        s.n--;
    }
    return s;
}

struct ni_span ni_walk_next(struct ni_walk *w, bool *ret_slash)
{
    while (w->n > 0) {
        struct ni_span *top = &w->rest[w->n - 1];
        *top = skip_slashes(*top);
        if (top->n == 0) {
            w->n--;
            continue;
        }
        struct ni_span name = {top->p, 0};
        while (name.n < top->n && name.p[name.n] != '/')
            name.n++;
        *ret_slash = name.n < top->n;
        top->p += name.n;
        top->n -= name.n;
        *top = skip_slashes(*top);
        /* Pieces that are used up go now: then each piece left on the stack costs one of the 40
           links. */
        while (w->n > 0 && skip_slashes(w->rest[w->n - 1]).n == 0)
            w->n--;
        return name;
    }
    return (struct ni_span){"", 0};
}

/* Whether the walk can go on below the node it is at. */
static int step_into(const struct ni_tree *t, uint32_t at)
{
    const struct ni_node *node = &t->node[at];

    if (node->kind == NI_NODE_ERR)
        return -(int)node->value;
    return node->kind == NI_NODE_DIR ? 0 : -ENOTDIR;
}

static int push_link(const struct ni_tree *t, struct ni_walk *w, uint32_t link)
{
    struct ni_span target = ni_tree_value(t, link);

    if (w->links++ >= NI_TREE_LINKS)
        return -ELOOP;
    if (target.n == 0)
        return -ENOENT;
    if (*target.p == '/')
        w->at = 0;
    w->rest[w->n++] = target;
    return 0;
}

int ni_walk_step(const struct ni_tree *t, struct ni_walk *w, struct ni_span name, bool follow)
{
    int r = step_into(t, w->at);

    if (r < 0)
        return r;
    if (ni_span_is(name, "."))
        return 0;
    if (ni_span_is(name, "..")) {
        w->at = t->node[w->at].parent; /* the root is its own parent */
        return 0;
    }
    if (name.n >= NI_TREE_NAME)
        return -ENAMETOOLONG;
    uint32_t child = ni_tree_child(t, w->at, name);
    if (!child)
        return -ENOENT;
    if (t->node[child].kind == NI_NODE_LINK && follow)
        return push_link(t, w, child);
    w->at = child;
    return 0;
}

int ni_tree_find(const struct ni_tree *t, const char *path, bool follow, uint32_t *ret)
{
    struct ni_walk w = {.rest = {ni_span_of(path)}, .n = 1};
    bool slash = false, dir = false;

    if (!*path)
        return -ENOENT;
    for (;;) {
        struct ni_span name = ni_walk_next(&w, &slash);
        if (name.n == 0)
            break;
        dir |= slash && w.n == 0; /* a slash behind the last name asks for a directory, no link */
        int r = ni_walk_step(t, &w, name, follow || dir || w.n > 0);
        if (r < 0)
            return r;
    }
    if (dir) {
        int r = step_into(t, w.at);
        if (r < 0)
            return r;
    }
    *ret = w.at;
    return 0;
}
