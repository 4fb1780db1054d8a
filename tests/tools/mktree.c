/* SPDX-License-Identifier: Apache-2.0 */
/* mktree FILE.tree DIR: makes a new directory that holds what the tree holds, for tests and
   measurements of directory roots. `e` entries are left out: no directory can fail as they do. */
#include "nccl_init/text.h"
#include "sysroot/root.h"
#include "sysroot/tree.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

static int make_entry(int dir, const struct ni_entry *e)
{
    switch ((enum ni_entry_kind)e->kind) {
    case NI_ENTRY_DIR:
        return mkdirat(dir, e->path, 0755);
    case NI_ENTRY_FILE:
        return make_file(dir, e->path, (struct ni_span){e->value, e->len});
    case NI_ENTRY_LINK:
        return symlinkat(e->value, dir, e->path);
    case NI_ENTRY_ERR:
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
    for (size_t i = 1; i < root.tree->n; i++) /* behind the root */
        if (make_entry(dir, &root.tree->at[i]) < 0) {
            fprintf(stderr, "mktree: %s: %s\n", root.tree->at[i].path, strerror(errno));
            return 1;
        }
    ni_root_close(&root);
    return 0;
}
