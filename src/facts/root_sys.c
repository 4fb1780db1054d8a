/* SPDX-License-Identifier: Apache-2.0 */
/* facts: the only file that opens files. One open, one read (a second only where the first may not
   be all), one close; nothing stays open. */
#include <errno.h>
#include <fcntl.h>
#include <stdalign.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "door.h"

/* include/uapi/linux/openat2.h, which musl-gcc does not see. */
#ifndef SYS_openat2
#define SYS_openat2 437 /* the same on every architecture */
#endif
#ifndef RESOLVE_IN_ROOT
#define RESOLVE_NO_MAGICLINKS 0x02
#define RESOLVE_IN_ROOT       0x10
#endif
struct how {
    uint64_t flags, mode, resolve;
};

/* A FIFO must not make us wait, a terminal not become ours. */
#define READ_FLAGS (O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)

static int open_in_root(int root, const char *path, int flags)
{
    struct how how = {.flags = (uint64_t)flags, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
    long fd = -1;

    /* EAGAIN: something was renamed while ".." was resolved (openat2(2)). */
    for (int tries = 0; tries < 16; tries++) {
        fd = syscall(SYS_openat2, root, path, &how, sizeof(how));
        if (fd >= 0 || errno != EAGAIN)
            break;
    }
    return fd < 0 ? -errno : (int)fd;
}

/* What is neither file nor directory is not opened for reading where its driver or its other end
   would notice. */
static int check_mode(mode_t mode)
{
    return S_ISREG(mode) || S_ISDIR(mode) ? 0 : -ENXIO;
}

/* sysfs and procfs hold files and directories only, save for the descriptors in procfs. */
static bool is_kernel_file(const char *path)
{
    return ni_has_prefix(path, "/sys/") || (ni_has_prefix(path, "/proc/") && !strstr(path, "/fd/"));
}

static int open_live(const char *path)
{
    struct stat st;

    /* A path that a user chose may be a pipe (NCCL_CONF_FILE=<(...)) whose content is for NCCL. */
    if (!is_kernel_file(path)) {
        if (fstatat(AT_FDCWD, path, &st, 0) < 0)
            return -errno;
        int r = check_mode(st.st_mode);
        if (r < 0)
            return r;
    }
    int fd = openat(AT_FDCWD, path, READ_FLAGS);
    return fd < 0 ? -errno : fd;
}

static int open_file(const struct ni_root *root, const char *path)
{
    struct stat st;

    if (root->kind == NI_ROOT_LIVE)
        return open_live(path);
    int fd = open_in_root(root->fd, path, READ_FLAGS);
    if (fd < 0 || is_kernel_file(path)) /* O_NONBLOCK: what only poses as one cannot hold us */
        return fd;
    int r = fstat(fd, &st) < 0 ? -errno : check_mode(st.st_mode);
    if (r < 0) {
        (void)close(fd);
        return r;
    }
    return fd;
}

static ssize_t read_some(int fd, char *buf, size_t cap)
{
    /* A sysctl refuses a read larger than KMALLOC_MAX_SIZE with ENOMEM (fs/proc/proc_sysctl.c
       proc_sys_call_handler), and a recording reads into all the room there is. */
    enum { MOST = 1 << 20 };
    ssize_t n;

    do
        n = read(fd, buf, cap < MOST ? cap : MOST);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n;
}

/* The whole content, one final newline cut. */
static ssize_t read_all(int fd, char *buf, size_t cap, bool attribute)
{
    size_t n = 0;

    while (n < cap) {
        ssize_t got = read_some(fd, buf + n, cap - n);
        if (got < 0)
            return got;
        n += (size_t)got;
        /* sysfs gives a whole attribute in one read (fs/kernfs/file.c: one seq_file record), a
           binary one a page at a time. Nothing else promises that a short read is the last. */
        if (got == 0 || (attribute && n < cap && got < NI_PAGE))
            break;
    }
    if (n == cap) {
        /* Full. It fits only if all that is too much is the final newline. */
        char more;
        ssize_t got = buf[cap - 1] == '\n' ? read_some(fd, &more, 1) : 1;
        if (got != 0)
            return got < 0 ? got : -EOVERFLOW;
    }
    return (ssize_t)(n > 0 && buf[n - 1] == '\n' ? n - 1 : n);
}

ssize_t ni_sys_read(const struct ni_root *root, const char *path, char *buf, size_t cap)
{
    int fd = open_file(root, path);

    if (fd < 0)
        return fd;
    ssize_t n = read_all(fd, buf, cap, ni_has_prefix(path, "/sys/"));
    (void)close(fd);
    return n;
}

int ni_sys_lines(const struct ni_root *root, const char *path, struct ni_liner *l)
{
    char buf[NI_PAGE];
    int fd = open_file(root, path);

    if (fd < 0)
        return fd;
    ssize_t n;
    while ((n = read_some(fd, buf, sizeof(buf))) > 0) {
        int r = ni_liner_feed(l, buf, (size_t)n);
        if (r < 0) {
            n = r;
            break;
        }
    }
    (void)close(fd);
    return (int)n;
}

ssize_t ni_sys_readlink(const struct ni_root *root, const char *path, char *buf, size_t cap)
{
    ssize_t n;

    if (root->kind == NI_ROOT_LIVE) {
        n = readlinkat(AT_FDCWD, path, buf, cap);
        if (n < 0)
            return -errno;
    } else {
        int fd = open_in_root(root->fd, path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
            return fd;
        n = readlinkat(fd, "", buf, cap);
        /* The empty path of something that is no link gives ENOENT (fs/stat.c do_readlinkat). */
        if (n < 0)
            n = errno == ENOENT ? -EINVAL : -errno;
        (void)close(fd);
        if (n < 0)
            return n;
    }
    return (size_t)n >= cap ? -EOVERFLOW : n;
}

int ni_sys_exists(const struct ni_root *root, const char *path, bool *ret_dir)
{
    struct stat st;
    int r = 0;

    if (root->kind == NI_ROOT_LIVE) {
        if (fstatat(AT_FDCWD, path, &st, 0) < 0)
            return -errno;
    } else {
        int fd = open_in_root(root->fd, path, O_PATH | O_CLOEXEC);
        if (fd < 0)
            return fd;
        if (fstat(fd, &st) < 0)
            r = -errno;
        (void)close(fd);
    }
    *ret_dir = r == 0 && S_ISDIR(st.st_mode);
    return r;
}

int ni_sys_openable(const struct ni_root *root, const char *path)
{
    bool dir;

    /* Nodes in a directory are no devices of this machine, or not this pod's. */
    if (root->kind != NI_ROOT_LIVE)
        return ni_sys_exists(root, path, &dir);
    /* drivers/infiniband/core/uverbs_main.c ib_uverbs_open: the context goes with the descriptor,
       nothing is left. */
    int fd = openat(AT_FDCWD, path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return -errno;
    (void)close(fd);
    return 0;
}

/* struct linux_dirent64 (include/linux/dirent.h): u64 ino, s64 off, u16 reclen, u8 type, name. */
enum { DIRENT_RECLEN = 16, DIRENT_NAME = 19 };

static void each_name(const char *buf, size_t n, ni_name_fn *name, void *ctx)
{
    uint16_t reclen;

    for (size_t at = 0; at + DIRENT_NAME < n; at += reclen) {
        memcpy(&reclen, buf + at + DIRENT_RECLEN, sizeof(reclen));
        const char *s = buf + at + DIRENT_NAME;
        if (strcmp(s, ".") != 0 && strcmp(s, "..") != 0)
            name(ctx, s);
    }
}

int ni_sys_list(const struct ni_root *root, const char *path, ni_name_fn *name, void *ctx)
{
    alignas(8) char buf[32768]; /* opendir would take it from the heap */
    int fd;
    long n;

    if (root->kind == NI_ROOT_LIVE) {
        fd = openat(AT_FDCWD, path, READ_FLAGS | O_DIRECTORY);
        fd = fd < 0 ? -errno : fd;
    } else {
        fd = open_in_root(root->fd, path, READ_FLAGS | O_DIRECTORY);
    }
    if (fd < 0)
        return fd;
    while ((n = syscall(SYS_getdents64, fd, buf, sizeof(buf))) > 0)
        each_name(buf, (size_t)n, name, ctx);
    int r = n < 0 ? -errno : 0;
    (void)close(fd);
    return r;
}

/* ---- opening a root ---- */

/* 0 when openat2 works here. A filter that does not know it may answer EPERM (old container
   runtimes). */
static int probe_openat2(int fd)
{
    int dot = open_in_root(fd, ".", O_PATH | O_CLOEXEC);

    if (dot < 0)
        return dot == -EPERM ? -ENOSYS : dot;
    (void)close(dot);
    return 0;
}

/* A directory into *ret, or the text of a file into ret->tree. */
static int open_dir_root(int fd, struct ni_root *ret)
{
    int r = probe_openat2(fd);

    if (r < 0) {
        (void)close(fd);
        return r;
    }
    *ret = (struct ni_root){.kind = NI_ROOT_DIR, .fd = fd};
    return 0;
}

static ssize_t read_tree_text(int fd, struct ni_tree *t)
{
    size_t n = 0;

    while (n <= NI_TREE_FILE) {
        ssize_t got = read_some(fd, t->text + n, NI_TREE_FILE + 1 - n);
        if (got < 0)
            return got;
        if (got == 0)
            return (ssize_t)n;
        n += (size_t)got;
    }
    return -EFBIG;
}

int ni_sys_open(const char *path, struct ni_root *ret, size_t *ret_len)
{
    struct stat st;
    int r = 0;

    /* First without opening: a FIFO would count a reader. */
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    if (fstat(fd, &st) < 0)
        r = -errno;
    else if (S_ISDIR(st.st_mode))
        return open_dir_root(fd, ret);
    else
        r = check_mode(st.st_mode);
    (void)close(fd);
    if (r < 0)
        return r;

    fd = open(path, READ_FLAGS);
    if (fd < 0)
        return -errno;
    *ret = (struct ni_root){.kind = NI_ROOT_TREE, .fd = -1};
    r = ni_tree_new(NI_SLOT_ROOT, &ret->tree);
    ssize_t n = r < 0 ? r : read_tree_text(fd, ret->tree);
    (void)close(fd);
    if (n < 0 && r == 0)
        ni_tree_free(ret->tree);
    *ret_len = n < 0 ? 0 : (size_t)n;
    return n < 0 ? (int)n : 0;
}
