/* SPDX-License-Identifier: Apache-2.0 */
/* door: the files of a root. Of "/" and of a directory: one open, one read (a second only where the
   first may not be all), one close. */
#include <errno.h>
#include <fcntl.h>
#include <stdalign.h>
#include <stdlib.h>
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
#define RESOLVE_BENEATH       0x08
#define RESOLVE_IN_ROOT       0x10
#endif
struct how {
    uint64_t flags, mode, resolve;
};

/* A FIFO must not make us wait, a terminal not become ours. */
#define READ_FLAGS (O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)

/* How often a call is made that says to try again: a file system of another program (FUSE) may say
   so for ever. */
enum { TRIES = 16 };

/* ---- opening ---- */

static int open_resolved(int dir, const char *path, int flags, uint64_t resolve)
{
    struct how how = {.flags = (uint64_t)flags, .resolve = resolve};
    long fd = -1;

    /* EAGAIN: something was renamed while ".." was resolved (openat2(2)). */
    for (int tries = 0; tries < TRIES; tries++) {
        fd = syscall(SYS_openat2, dir, path, &how, sizeof(how));
        if (fd >= 0 || errno != EAGAIN)
            break;
    }
    return fd < 0 ? -errno : (int)fd;
}

/* From where a path is walked. */
struct place {
    int fd;
    const char *path;
};

/* From the directory if it is open. What is left of the path is then not absolute; if nothing is
   left, or nothing is open, it is the whole path. */
static struct place place_of(const struct ni_dir *dir, const char *path)
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
    struct place at = place_of(dir, path);
    int fd = -EXDEV;

    if (dir->root->kind == NI_ROOT_LIVE) {
        fd = openat(at.fd, at.path, flags);
        return fd < 0 ? -errno : fd;
    }
    /* In a directory root a link may lead out of the directory that is open, but not out of the
       root: such a path is EXDEV, and walked from the root. */
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

/* What is neither file nor directory is not opened for reading where its driver or its other end
   would notice. */
static int check_mode(mode_t mode)
{
    return S_ISREG(mode) || S_ISDIR(mode) ? 0 : -ENXIO;
}

/* An open file, or what of a tree's is not yet read. */
struct file {
    int fd; /* -1: of a tree */
    struct ni_span rest;
    bool newline; /* ends it: the form leaves it off */
};

static int open_file(const struct ni_dir *dir, const char *path, struct file *ret)
{
    const bool live = dir->root->kind == NI_ROOT_LIVE;
    struct place at = place_of(dir, path);
    const struct ni_entry *e;
    struct stat st;
    int r = 0;

    if (dir->root->tree) {
        r = ni_tree_get(dir->root->tree, path, NI_ACCESS_READ, &e);
        if (r == 0)
            *ret = (struct file){-1, {e->value, e->len}, e->len > 0};
        return r;
    }
    /* A path that a user chose may be a pipe (NCCL_CONF_FILE=<(...)) whose content is for NCCL. Our
       own lead to nothing but files and directories in sysfs and procfs. */
    if (live && (dir->named || !(ni_has_prefix(path, "/sys/") || ni_has_prefix(path, "/proc/"))))
        r = fstatat(at.fd, at.path, &st, 0) < 0 ? -errno : check_mode(st.st_mode);
    ret->fd = r < 0 ? r : open_at(dir, path, READ_FLAGS);
    if (ret->fd < 0)
        return ret->fd;
    /* In a directory a disk may pose as a file of sysfs: its content is not the root's. */
    if (!live)
        r = fstat(ret->fd, &st) < 0 ? -errno : check_mode(st.st_mode);
    if (r < 0)
        (void)close(ret->fd);
    return r;
}

static void close_file(struct file *f)
{
    if (f->fd >= 0)
        (void)close(f->fd);
}

static ssize_t read_some(struct file *f, char *buf, size_t cap)
{
    /* A sysctl refuses a read larger than KMALLOC_MAX_SIZE with ENOMEM (fs/proc/proc_sysctl.c
       proc_sys_call_handler), and a recording reads into all the room there is. */
    enum { MOST = 1 << 20 };
    ssize_t n = -1;

    for (int tries = 0; f->fd >= 0 && tries < TRIES; tries++) {
        n = read(f->fd, buf, cap < MOST ? cap : MOST);
        if (n >= 0 || errno != EINTR)
            break;
    }
    if (f->fd >= 0)
        return n < 0 ? -errno : n;
    size_t k = f->rest.n < cap ? f->rest.n : cap;
    memcpy(buf, f->rest.p, k);
    f->rest = (struct ni_span){f->rest.p + k, f->rest.n - k};
    if (f->newline && k < cap) {
        buf[k++] = '\n';
        f->newline = false;
    }
    return (ssize_t)k;
}

/* The whole content, one final newline cut. */
static ssize_t read_all(struct file *f, char *buf, size_t cap, bool attribute)
{
    size_t n = 0;

    while (n < cap) {
        ssize_t got = read_some(f, buf + n, cap - n);
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
        ssize_t got = buf[cap - 1] == '\n' ? read_some(f, &more, 1) : 1;
        if (got != 0)
            return got < 0 ? got : -EOVERFLOW;
    }
    return (ssize_t)(n > 0 && buf[n - 1] == '\n' ? n - 1 : n);
}

ssize_t ni_raw_read(const struct ni_dir *dir, const char *path, char *buf, size_t cap)
{
    struct file f = {.fd = -1};
    ssize_t n = open_file(dir, path, &f);

    if (n < 0)
        return n;
    n = read_all(&f, buf, cap, f.fd >= 0 && !dir->named && ni_has_prefix(path, "/sys/"));
    close_file(&f);
    return n;
}

int ni_raw_lines(const struct ni_dir *dir, const char *path, struct ni_liner *l)
{
    char buf[NI_PAGE];
    size_t all = 0;
    struct file f;
    ssize_t n = open_file(dir, path, &f);

    if (n < 0)
        return (int)n;
    while ((n = read_some(&f, buf, sizeof(buf))) > 0) {
        /* One that grows as fast as it is read has no end. No tree can hold more. */
        all += (size_t)n;
        int r = all > NI_TREE_FILE ? -EFBIG : ni_liner_feed(l, buf, (size_t)n);
        if (r < 0) {
            n = r;
            break;
        }
    }
    close_file(&f);
    return (int)n;
}

ssize_t ni_raw_readlink(const struct ni_dir *dir, const char *path, char *buf, size_t cap)
{
    struct place at = place_of(dir, path);
    const struct ni_entry *e;
    ssize_t n;

    if (dir->root->tree) {
        n = ni_tree_get(dir->root->tree, path, NI_ACCESS_LINK, &e);
        if (n == 0 && e->len < cap)
            memcpy(buf, e->value, e->len);
        n = n < 0 ? n : e->len;
    } else if (dir->root->kind == NI_ROOT_LIVE || !strchr(at.path, '/')) {
        /* A single name is not followed, so it cannot lead out of a directory root. */
        n = readlinkat(at.fd, at.path, buf, cap);
        n = n < 0 ? -errno : n;
    } else {
        int fd = open_at(dir, path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
            return fd;
        n = readlinkat(fd, "", buf, cap);
        /* The empty path of something that is no link gives ENOENT (fs/stat.c do_readlinkat). */
        if (n < 0)
            n = errno == ENOENT ? -EINVAL : -errno;
        (void)close(fd);
    }
    return n >= 0 && (size_t)n >= cap ? -EOVERFLOW : n;
}

int ni_raw_exists(const struct ni_dir *dir, const char *path, bool *ret_dir)
{
    struct place at = place_of(dir, path);
    const struct ni_entry *e;
    struct stat st;
    int r;

    if (dir->root->tree) {
        r = ni_tree_get(dir->root->tree, path, NI_ACCESS_EXISTS, &e);
        *ret_dir = r == 0 && e->kind == NI_ENTRY_DIR;
        return r;
    }
    if (dir->root->kind == NI_ROOT_LIVE) {
        r = fstatat(at.fd, at.path, &st, 0) < 0 ? -errno : 0;
    } else {
        int fd = open_at(dir, path, O_PATH | O_CLOEXEC);
        if (fd < 0)
            return fd;
        r = fstat(fd, &st) < 0 ? -errno : 0;
        (void)close(fd);
    }
    *ret_dir = r == 0 && S_ISDIR(st.st_mode);
    return r;
}

int ni_raw_openable(const struct ni_dir *dir, const char *path)
{
    const struct ni_entry *e;
    bool is_dir;

    if (dir->root->tree)
        return ni_tree_get(dir->root->tree, path, NI_ACCESS_OPEN, &e);
    /* Nodes in a directory are no devices of this machine, or not this pod's. */
    if (dir->root->kind != NI_ROOT_LIVE)
        return ni_raw_exists(dir, path, &is_dir);
    /* drivers/infiniband/core/uverbs_main.c ib_uverbs_open: the context goes with the descriptor,
       nothing is left. */
    int fd = open_at(dir, path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return fd;
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

int ni_raw_list(const struct ni_dir *dir, const char *path, ni_name_fn *name, void *ctx)
{
    alignas(8) char buf[2 * NI_PAGE]; /* musl's readdir asks for 2 KiB at a time */
    const struct ni_entry *e;
    size_t all = 0;
    long n;

    if (dir->root->tree) {
        int r = ni_tree_get(dir->root->tree, path, NI_ACCESS_LIST, &e);
        if (r == 0)
            ni_tree_names(dir->root->tree, e, name, ctx);
        return r;
    }
    int fd = open_at(dir, path, READ_FLAGS | O_DIRECTORY);
    if (fd < 0)
        return fd;
    while ((n = syscall(SYS_getdents64, fd, buf, sizeof(buf))) > 0 && all <= NI_TREE_FILE) {
        each_name(buf, (size_t)n, name, ctx);
        all += (size_t)n;
    }
    int r = n < 0 ? -errno : n > 0 ? -EFBIG : 0;
    (void)close(fd);
    return r;
}

/* ---- opening a root ---- */

/* The .tree file at the path. */
static int open_tree(const char *path, struct ni_root *ret, unsigned *ret_line)
{
    struct file f = {.fd = openat(AT_FDCWD, path, READ_FLAGS)};

    if (f.fd < 0)
        return -errno;
    char *text = malloc(NI_TREE_FILE); /* pages that are not touched cost nothing */
    struct ni_tree *t = calloc(1, sizeof(*t));
    ssize_t n = text && t ? read_all(&f, text, NI_TREE_FILE, false) : -ENOMEM;
    int r = n == -EOVERFLOW ? -EFBIG : (int)n;
    if (r >= 0)
        r = ni_tree_parse(t, text, (size_t)n, ret_line);
    if (r < 0)
        ni_tree_free(t);
    else
        *ret = (struct ni_root){.kind = NI_ROOT_TREE, .fd = -1, .tree = t};
    free(text);
    close_file(&f);
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
    /* First without opening: a FIFO would count a reader. */
    if (fstatat(AT_FDCWD, path, &st, 0) < 0)
        return -errno;
    int r = check_mode(st.st_mode);
    if (r < 0 || !S_ISDIR(st.st_mode))
        return r < 0 ? r : open_tree(path, ret, ret_line);
    int fd = open_resolved(AT_FDCWD, path, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd < 0)
        return fd == -EPERM ? -ENOSYS : fd; /* a filter that does not know openat2 (old runtimes) */
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
