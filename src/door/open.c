/* SPDX-License-Identifier: Apache-2.0 */
/* door: opening, below a root and from the directories that are held open (struct ni_held). */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "door.h"

/* include/uapi/linux/openat2.h, which musl-gcc does not see. */
#ifndef SYS_openat2
#define SYS_openat2 437 /* the same on every architecture */
#endif
#ifndef RESOLVE_IN_ROOT
#define RESOLVE_NO_MAGICLINKS 0x02
#define RESOLVE_BENEATH       0x08
#define RESOLVE_IN_ROOT       0x10
#endif
struct how {
    uint64_t flags, mode, resolve;
};

int ni_open_resolved(int dir, const char *path, int flags, uint64_t resolve)
{
    struct how how = {.flags = (uint64_t)flags, .resolve = resolve};
    long fd = -1;

    /* EAGAIN: something was renamed while ".." was resolved (openat2(2)). */
    for (int tries = 0; tries < NI_TRIES; tries++) {
        fd = syscall(SYS_openat2, dir, path, &how, sizeof(how));
        if (fd >= 0 || errno != EAGAIN)
            break;
    }
    return fd < 0 ? -errno : (int)fd;
}

/* ---- from the root, or from the directory that is held ---- */

static int open_once(const struct ni_root *root, const char *path, int flags)
{
    if (root->kind == NI_ROOT_DIR)
        return ni_open_resolved(root->fd, path, flags, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
    int fd = openat(AT_FDCWD, path, flags);
    return fd < 0 ? -errno : fd;
}

int ni_open_whole(const struct ni_root *root, const char *path, int flags)
{
    int fd = open_once(root, path, flags);

    if ((fd != -EMFILE && fd != -ENFILE) || !root->held)
        return fd;
    ni_held_close(root->held);
    return open_once(root, path, flags);
}

/* What is left of the path from there, no absolute one; NULL: it leads elsewhere. */
static const char *below(const struct ni_held_dir *dir, const char *path)
{
    bool is_below = dir->fd >= 0 && ni_has_prefix(path, dir->path) && path[dir->len] == '/' &&
                    path[dir->len + 1] != '/';

    return is_below ? path + dir->len + 1 : NULL;
}

/* In a directory root nothing may lead out of what is held: links that do are EXDEV, and are walked
   from the root, where they may go on. */
int ni_open_path(const struct ni_root *root, const char *path, int flags)
{
    const char *rest = root->held ? below(&root->held->dir, path) : NULL;
    int fd = -EXDEV;

    if (rest && root->kind == NI_ROOT_LIVE) {
        fd = openat(root->held->dir.fd, rest, flags);
        fd = fd < 0 ? -errno : fd;
    } else if (rest) {
        fd = ni_open_resolved(root->held->dir.fd, rest, flags,
                              RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
    }
    return fd == -EXDEV || fd == -EMFILE || fd == -ENFILE ? ni_open_whole(root, path, flags) : fd;
}

/* path is no longer than NI_PATH and the slash. */
static void hold(const struct ni_root *root, struct ni_held_dir *dir, const char *path, size_t len)
{
    if (dir->fd >= 0)
        (void)close(dir->fd);
    dir->fd = -1;
    memcpy(dir->path, path, len);
    dir->path[len] = '\0';
    dir->len = len;
    dir->fd = ni_open_whole(root, dir->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

void ni_sys_hold(const struct ni_root *root, const char *path)
{
    hold(root, &root->held->dir, path, strlen(path));
}

bool ni_hold_links(const struct ni_root *root, const char *path, size_t len)
{
    struct ni_held_dir *dir = root->held ? &root->held->links : NULL;

    if (!dir || len == 0 || len > NI_PATH)
        return false;
    if (dir->fd < 0 || dir->len != len || memcmp(dir->path, path, len) != 0)
        hold(root, dir, path, len);
    return dir->fd >= 0;
}
