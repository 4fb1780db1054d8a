/* SPDX-License-Identifier: Apache-2.0 */
/* Roots. A file of "/" or of a directory costs one open, one read (a second only if the first
   may not be all), one close. */
#include "sysroot/root.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "nccl_init/base.h"
#include "nccl_init/text.h"
#include "sysroot/tree.h"

/* A FIFO must not make the program wait, a terminal must not become its own. */
#define READ_FLAGS (O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)

/* ---- opening ---- */

static int open_resolved(int dir, const char *path, int flags, uint64_t resolve)
{
    enum { TRIES = 16 };
    struct open_how how = {.flags = (unsigned)flags, .resolve = resolve};
    long fd = -1;

    /* EAGAIN: something was renamed while ".." was resolved (openat2(2)). */
    for (int i = 0; i < TRIES && (i == 0 || (fd < 0 && errno == EAGAIN)); i++)
        fd = syscall(SYS_openat2, dir, path, &how, sizeof(how));
    return fd < 0 ? -errno : (int)fd;
}

/* The place from which a path is walked. */
struct place {
    int fd;
    const char *path;
};

/* Returns the open directory and the rest of the path, which is then not absolute; if no directory
   is open, or nothing remains, the whole path from the root. */
static struct place place_at_root(const struct ni_dir *dir, const char *path)
{
    if (dir->fd >= 0) {
        const char *rest = path + 1 + dir->len;

        rest += strspn(rest, "/");
        if (*rest)
            return (struct place){dir->fd, rest};
    }
    return (struct place){dir->root->kind == NI_ROOT_DIR ? dir->root->fd : AT_FDCWD, path};
}

static int open_at(const struct ni_dir *dir, const char *path, int flags)
{
    struct place at = place_at_root(dir, path);
    int fd = -EXDEV;

    if (dir->root->kind == NI_ROOT_LIVE) {
        fd = openat(at.fd, at.path, flags);
        return fd < 0 ? -errno : fd;
    }
    /* in a directory root a link may lead out of the open directory, but not out of the root:
       EXDEV, and the path is walked from the root */
    if (at.path != path)
        fd = open_resolved(at.fd, at.path, flags, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
    if (fd == -EXDEV)
        fd = open_resolved(dir->root->fd, path, flags, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
    return fd;
}

int ni_raw_open_dir(const struct ni_dir *from, const char *path)
{
    return from->root->tree ? -1 : open_at(from, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* ---- files ---- */

/* Refuses a thing that is neither file nor directory, whose driver or other end would notice that
   it is opened for reading. */
static int check_mode(mode_t mode)
{
    return S_ISREG(mode) || S_ISDIR(mode) ? 0 : -ENXIO;
}

static int open_file(const struct ni_dir *dir, const char *path)
{
    const bool live = dir->root->kind == NI_ROOT_LIVE;
    struct place at = place_at_root(dir, path);
    struct stat st;
    int r = 0;

    /* a path that a user chose may be a pipe (NCCL_CONF_FILE=<(...)) whose content is for NCCL;
       sysfs and procfs, which nccl-init reads itself, have only files and directories there */
    if (live && (dir->named || !(ni_has_prefix(path, "/sys/") || ni_has_prefix(path, "/proc/"))))
        r = fstatat(at.fd, at.path, &st, 0) < 0 ? -errno : check_mode(st.st_mode);
    int fd = r < 0 ? r : open_at(dir, path, READ_FLAGS);
    if (fd < 0)
        return fd;
    /* in a directory a disk may pose as a file of sysfs: its content is not the root's */
    if (!live)
        r = fstat(fd, &st) < 0 ? -errno : check_mode(st.st_mode);
    if (r < 0)
        (void)close(fd);
    return r < 0 ? r : fd;
}

/* Gives a file's content. sysfs gives a whole attribute in one read (fs/kernfs/file.c: one seq_file
   record), a binary one a page at a time. Of other files a short read need not be the last. */
static int give_content(int fd, bool attribute, ni_take_fn *take, void *ctx)
{
    char buf[NI_PAGE];

    for (;;) {
        const ssize_t n = read(fd, buf, sizeof(buf));

        if (n <= 0)
            return n < 0 ? -errno : 0;
        const int r = take(ctx, buf, (size_t)n);
        if (r < 0 || (attribute && n < NI_PAGE))
            return r;
    }
}

static int give_names(int fd, ni_take_fn *take, void *ctx)
{
    /* struct linux_dirent64 (include/linux/dirent.h): u64 ino, s64 off, u16 reclen, u8 type, name
       */
    enum { RECLEN = 16, NAME = 19 };
    alignas(8) char buf[2 * NI_PAGE]; /* musl's readdir asks for 2 KiB at a time */
    size_t all = 0;

    for (;;) {
        const long n = syscall(SYS_getdents64, fd, buf, sizeof(buf));
        uint16_t reclen;
        int r = 0;

        if (n <= 0)
            return n < 0 ? -errno : 0;
        for (long at = 0; at + NAME < n && r == 0; at += reclen) {
            const char *s = buf + at + NAME;

            memcpy(&reclen, buf + at + RECLEN, sizeof(reclen));
            if (strcmp(s, ".") != 0 && strcmp(s, "..") != 0)
                r = take(ctx, s, strlen(s));
        }
        all += (size_t)n;
        if (r < 0 || all > NI_TREE_FILE)
            return r < 0 ? r : -EFBIG;
    }
}

static int give_target(const struct ni_dir *dir, const char *path, ni_take_fn *take, void *ctx)
{
    const bool live = dir->root->kind == NI_ROOT_LIVE;
    struct place at = place_at_root(dir, path);
    char target[NI_TREE_PATH];

    if (!live)
        at = (struct place){open_at(dir, path, O_PATH | O_NOFOLLOW | O_CLOEXEC), ""};
    if (!live && at.fd < 0)
        return at.fd;
    ssize_t n = readlinkat(at.fd, at.path, target, sizeof(target));
    int r = n >= 0 ? 0 : -errno;
    /* the empty path of something that is no link gives ENOENT (fs/stat.c do_readlinkat) */
    if (!live && r == -ENOENT)
        r = -EINVAL;
    if (!live)
        (void)close(at.fd);
    return r < 0 ? r : take(ctx, target, (size_t)n);
}

static int find_path(const struct ni_dir *dir, const char *path)
{
    struct place at = place_at_root(dir, path);
    struct stat st;
    int r;

    if (dir->root->kind == NI_ROOT_LIVE) {
        r = fstatat(at.fd, at.path, &st, 0) < 0 ? -errno : 0;
    } else {
        int fd = open_at(dir, path, O_PATH | O_CLOEXEC);

        if (fd < 0)
            return fd;
        r = fstat(fd, &st) < 0 ? -errno : 0;
        (void)close(fd);
    }
    return r < 0 ? r : S_ISDIR(st.st_mode);
}

/* ---- the call ---- */

static int ask_tree(const struct ni_tree *t, const char *path, enum ni_access access,
                    ni_take_fn *take, void *ctx)
{
    const struct ni_entry *e;
    int r = ni_tree_get(t, path, access, &e);

    if (r < 0)
        return r;
    if (access == NI_ACCESS_EXISTS)
        return e->kind == NI_ENTRY_DIR;
    if (access == NI_ACCESS_READ || access == NI_ACCESS_LINK)
        r = take(ctx, e->value, e->len);
    if (r == 0 && access == NI_ACCESS_READ && e->len > 0)
        r = take(ctx, "\n", 1); /* the .tree form has no final newline */
    for (size_t i = 1; r == 0 && access == NI_ACCESS_LIST && i < t->n; i++)
        if (&t->at[t->at[i].up] == e)
            r = take(ctx, t->at[i].name, strlen(t->at[i].name));
    return r;
}

int ni_raw(const struct ni_dir *dir, const char *path, enum ni_access access, ni_take_fn *take,
           void *ctx)
{
    int fd, r = 0;

    if (dir->root->tree)
        return ask_tree(dir->root->tree, path, access, take, ctx);
    if (access == NI_ACCESS_LINK)
        return give_target(dir, path, take, ctx);
    /* nodes in a directory are no devices of this machine, or not this pod's */
    if (access == NI_ACCESS_EXISTS || (access == NI_ACCESS_OPEN && dir->root->kind != NI_ROOT_LIVE))
        return find_path(dir, path);
    if (access == NI_ACCESS_READ)
        fd = open_file(dir, path);
    else if (access == NI_ACCESS_LIST)
        fd = open_at(dir, path, READ_FLAGS | O_DIRECTORY);
    /* closing leaves nothing behind: the context ends with the descriptor
       (drivers/infiniband/core/uverbs_main.c ib_uverbs_open) */
    else
        fd = open_at(dir, path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return fd;
    if (access == NI_ACCESS_READ)
        r = give_content(fd, !dir->named && ni_has_prefix(path, "/sys/"), take, ctx);
    else if (access == NI_ACCESS_LIST)
        r = give_names(fd, take, ctx);
    (void)close(fd);
    return r;
}

int ni_take_text(void *ctx, const char *s, size_t n)
{
    struct ni_room *room = ctx;

    if (n > room->cap - room->len)
        return -EOVERFLOW;
    memcpy(room->buf + room->len, s, n);
    room->len += n;
    return 0;
}

/* ---- opening a root ---- */

/* Opens the .tree file at the path. */
static int open_tree(const char *path, struct ni_root *ret, unsigned *ret_line)
{
    const struct ni_root live = {.kind = NI_ROOT_LIVE, .fd = -1};
    struct ni_dir top = ni_dir_top(&live);
    char *text = malloc(NI_TREE_FILE); /* pages that are not touched cost nothing */
    struct ni_tree *t = calloc(1, sizeof(*t));
    struct ni_room room = {text, NI_TREE_FILE, 0};
    int r = text && t ? 0 : -ENOMEM;

    top.named = true;
    if (r == 0)
        r = ni_raw(&top, path, NI_ACCESS_READ, ni_take_text, &room);
    if (r == -EOVERFLOW || (r == 0 && room.len == room.cap))
        r = -EFBIG;
    if (r == 0)
        r = ni_tree_parse(t, text, room.len, ret_line);
    if (r < 0)
        ni_tree_free(t);
    else
        *ret = (struct ni_root){.kind = NI_ROOT_TREE, .fd = -1, .tree = t};
    free(text);
    return r;
}

int ni_root_open(const char *path, struct ni_root *ret, unsigned *ret_line)
{
    struct stat st;

    *ret_line = 0;
    if (strcmp(path, "/") == 0) {
        *ret = (struct ni_root){.kind = NI_ROOT_LIVE, .fd = -1};
        return 0;
    }
    /* stat before open: to open a FIFO lets the program go on that waits for a reader */
    if (fstatat(AT_FDCWD, path, &st, 0) < 0)
        return -errno;
    int r = check_mode(st.st_mode);
    if (r < 0 || !S_ISDIR(st.st_mode))
        return r < 0 ? r : open_tree(path, ret, ret_line);
    int fd = open_resolved(AT_FDCWD, path, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd < 0)
        /* a seccomp filter of an old runtime, which does not know openat2 */
        return fd == -EPERM ? -ENOSYS : fd;
    *ret = (struct ni_root){.kind = NI_ROOT_DIR, .fd = fd};
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

struct ni_dir ni_dir_top(const struct ni_root *root)
{
    return (struct ni_dir){.root = root, .fd = -1};
}
