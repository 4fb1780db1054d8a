/* SPDX-License-Identifier: Apache-2.0 */
/* mktree FILE.tree DIR: makes a new directory that holds what the tree holds, for tests and
   measurements of directory roots. `e` entries are left out: no directory can fail as they do. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "facts/door.h"

static int write_all(int fd, const char *s, size_t n)
{
    while (n > 0) {
        ssize_t done = write(fd, s, n);
        if (done < 0)
            return -1;
        s += done;
        n -= (size_t)done;
    }
    return 0;
}

static int make_file(int dir, const char *path, struct ni_span value)
{
    int fd = openat(dir, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);

    if (fd < 0)
        return -1;
    int r = write_all(fd, value.p, value.n);
    if (r == 0 && value.n > 0)
        r = write_all(fd, "\n", 1); /* the form leaves it off */
    return close(fd) < 0 ? -1 : r;
}

static int make_node(int dir, const struct ni_tree *t, uint32_t at)
{
    const struct ni_node *node = &t->node[at];
    struct ni_span name = {ni_tree_name(t, at), node->name_len};
    char path[NI_TREE_PATH], target[NI_TREE_PATH];

    if (!ni_tree_path(t, node->parent, name, path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    switch ((enum ni_node_kind)node->kind) {
    case NI_NODE_DIR:
        return mkdirat(dir, path + 1, 0755);
    case NI_NODE_FILE:
        return make_file(dir, path + 1, ni_tree_value(t, at));
    case NI_NODE_LINK:
        (void)ni_copyn(target, sizeof(target), ni_tree_value(t, at).p, node->len);
        return symlinkat(target, dir, path + 1);
    case NI_NODE_ERR:
        break;
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct ni_root root;
    unsigned line;

    if (argc != 3) {
        fprintf(stderr, "usage: mktree FILE.tree DIR\n");
        return 2;
    }
    int r = ni_root_open(argv[1], &root, &line);
    if (r < 0 || root.kind != NI_ROOT_TREE) {
        fprintf(stderr, "mktree: %s:%u: %s\n", argv[1], line, r < 0 ? strerror(-r) : "no tree");
        return 1;
    }
    if (mkdir(argv[2], 0755) < 0) {
        fprintf(stderr, "mktree: %s: %s\n", argv[2], strerror(errno));
        return 1;
    }
    int dir = open(argv[2], O_PATH | O_DIRECTORY | O_CLOEXEC);
    /* Parents come before children in the pool, and no path leads through a link (tree_parse.c). */
    for (uint32_t at = 1; at < root.tree->n; at++)
        if (make_node(dir, root.tree, at) < 0) {
            fprintf(stderr, "mktree: %s: %s\n", ni_tree_name(root.tree, at), strerror(errno));
            return 1;
        }
    ni_root_close(&root);
    return 0;
}
