/* SPDX-License-Identifier: Apache-2.0 */
/* The one writer of files. A file is replaced so that a reader, or a kill or crash at any moment,
   finds the old or the new one, whole. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nccl_init/act.h"

enum {
    TEMP_NAME = 32,
    HOPS = 4,      /* links on the way to a descriptor: /dev/stdout has one */
    STALE_S = 600, /* no writer takes so long */
    MOST_NAMES = 1 << 16
};

static const char temp_prefix[] = ".nccl-init.";
enum { TEMP_LEN = sizeof(temp_prefix) - 1 + 16 };

int ni_write_all(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t done = write(fd, p, n);

        if (done < 0)
            return -errno;
        if (done == 0)
            return -EIO; /* POSIX leaves it open; asking again could go on for ever */
        p += done;
        n -= (size_t)done;
    }
    return 0;
}

/* ---- what stands at a name ---- */

/* Opens the directory of path, as seen from `at`; *ret_base is what is left of path. The descriptor
   or -errno. */
static int open_parent(int at, const char *path, const char **ret_base)
{
    const char *slash = strrchr(path, '/');
    char dir[PATH_MAX] = ".";

    *ret_base = slash ? slash + 1 : path;
    if (!path[0])
        return -ENOENT;
    if (!**ret_base || strcmp(*ret_base, ".") == 0 || strcmp(*ret_base, "..") == 0)
        return -EISDIR;
    /* with the slash: "/file" lies in "/" */
    if (slash && !ni_copyn(dir, sizeof(dir), path, (size_t)(slash + 1 - path)))
        return -ENAMETOOLONG;
    /* O_PATH: what may be written to need not be readable (mode -wx). */
    int fd = openat(at, dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* The descriptor of ours that the name means, link by link: /dev/stdout, /dev/fd/3,
   /proc/self/fd/3. -1: none. Nodes are compared, as each machine spells these links in its way. */
static int own_descriptor(int dir, const char *base, int hops)
{
    char target[PATH_MAX];
    struct stat own, here;
    uint64_t n;

    if (stat("/proc/self/fd", &own) < 0 || fstat(dir, &here) < 0)
        return -1;
    if (here.st_dev == own.st_dev && here.st_ino == own.st_ino)
        return ni_parse_u64(ni_span_of(base), INT_MAX, &n) == 0 ? (int)n : -1;
    ssize_t len = hops > 0 ? readlinkat(dir, base, target, sizeof(target) - 1) : -1;
    if (len < 0)
        return -1;
    target[len] = '\0';
    int next = open_parent(dir, target, &base);
    if (next < 0)
        return -1;
    int fd = own_descriptor(next, base, hops - 1);
    (void)close(next);
    return fd;
}

static bool is_stream(mode_t mode)
{
    return S_ISFIFO(mode) || S_ISCHR(mode);
}

int ni_open_stream(const char *path)
{
    const char *base;
    struct stat st;
    int fd, dir = open_parent(AT_FDCWD, path, &base);

    if (dir < 0)
        return -EINVAL; /* ni_replace_file tells why */
    fd = own_descriptor(dir, base, HOPS);
    if (fd < 0 && (fstatat(dir, base, &st, AT_SYMLINK_NOFOLLOW) < 0 || !is_stream(st.st_mode))) {
        fd = -EINVAL;
    } else if (fd < 0) {
        /* A FIFO without a reader must not hold us. */
        fd = openat(dir, base, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
        fd = fd < 0 ? -errno : fd;
        if (fd >= 0 &&
            (fstat(fd, &st) < 0 || !is_stream(st.st_mode) || fcntl(fd, F_SETFL, 0) < 0)) {
            (void)close(fd); /* another took its place meanwhile */
            fd = -EINVAL;
        }
    }
    (void)close(dir);
    return fd;
}

/* 0 if a file may be put at this name. A symbolic link there is replaced itself, not what it points
   at: who may plant one in that directory must not choose what we overwrite. A device, FIFO or
   socket, also behind a link, was hardly meant to become a file: rename would do it, and root would
   lose /dev/null. */
static int check_target(int dir, const char *base)
{
    struct stat st;

    if (fstatat(dir, base, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : -errno;
    if (S_ISDIR(st.st_mode))
        return -EISDIR;
    if (S_ISLNK(st.st_mode)) {
        if (own_descriptor(dir, base, HOPS) >= 0)
            return -EINVAL;
        if (fstatat(dir, base, &st, 0) < 0 || S_ISDIR(st.st_mode))
            return 0; /* dangling, or to a directory: only the link goes */
    }
    return S_ISREG(st.st_mode) ? 0 : -EINVAL;
}

/* ---- the new file ---- */

/* A name that nobody can foresee. 0 or -errno. */
static int choose_temp(char name[TEMP_NAME])
{
    uint64_t suffix;

    if (getrandom(&suffix, sizeof(suffix), 0) < 0) /* so few bytes come whole: random(4) */
        return -errno;
    (void)snprintf(name, TEMP_NAME, "%s%016llx", temp_prefix, (unsigned long long)suffix);
    return 0;
}

static void put_self(char path[TEMP_NAME], int fd)
{
    (void)snprintf(path, TEMP_NAME, "/proc/self/fd/%d", fd);
}

/* A file without a name, of which a kill leaves nothing, and in *ret_nameless what it gets one by
   later. Where the file system has none (NFS), or there is no /proc, a file with a name, and -1. The
   descriptor or -errno. */
static int create_temp(int dir, char name[TEMP_NAME], int *ret_nameless)
{
    int fd = openat(dir, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);

    *ret_nameless = -1;
    if (fd >= 0) {
        put_self(name, fd);
        *ret_nameless = open(name, O_PATH | O_CLOEXEC);
        name[0] = '\0';
        if (*ret_nameless >= 0)
            return fd;
        (void)close(fd);
    }
    int r = choose_temp(name);
    if (r < 0)
        return r;
    fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    return fd < 0 ? -errno : fd;
}

/* Writes, settles mode and contents on the disk, and closes fd in any case: a file that is open for
   writing cannot be executed (ETXTBSY). */
static int fill(int fd, mode_t mode, int (*write)(int fd, void *ctx), void *ctx)
{
    int err = write(fd, ctx);

    if (err == 0 && fchmod(fd, mode) < 0) /* not by open's mode: the umask would cut it */
        err = -errno;
    if (err == 0 && fsync(fd) < 0)
        err = -errno;
    /* NFS and quotas may only tell here. After EINTR Linux has closed it all the same. */
    if (close(fd) < 0 && errno != EINTR && err == 0)
        err = -errno;
    return err;
}

/* linkat (AT_EMPTY_PATH wants a capability) replaces nothing: where there is an old file the new one
   has a name of its own for a moment. */
static int place(int dir, int nameless, char temp[TEMP_NAME], const char *base)
{
    char self[TEMP_NAME];

    if (nameless >= 0) {
        put_self(self, nameless);
        if (linkat(AT_FDCWD, self, dir, base, AT_SYMLINK_FOLLOW) == 0)
            return 0;
        int err = errno == EEXIST ? choose_temp(temp) : -errno;
        if (err < 0)
            return err;
        if (linkat(AT_FDCWD, self, dir, temp, AT_SYMLINK_FOLLOW) < 0)
            return -errno;
    }
    return renameat(dir, temp, dir, base) < 0 ? -errno : 0;
}

/* ---- the directory, afterwards ---- */

/* Left by a writer that was killed. Told by age, as that may have been on another machine, and in the
   file system's own time. */
static bool is_stale(int dir, const char *name, const struct stat *ours)
{
    struct stat st;

    return strlen(name) == TEMP_LEN && ni_has_prefix(name, temp_prefix) &&
           fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
           st.st_mtime < ours->st_mtime - STALE_S;
}

/* The new file is in place; an error only says that a power cut might bring the old one back. */
static int settle(int dir, const char *base)
{
    const struct dirent *e;
    struct stat ours;
    int readable = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (readable < 0)
        return errno == EACCES ? 0 : -errno; /* mode -wx */
    /* EINVAL: a file system that has nothing to settle */
    int err = fsync(readable) < 0 && errno != EINVAL ? -errno : 0;
    DIR *names = fstatat(dir, base, &ours, AT_SYMLINK_NOFOLLOW) == 0 ? fdopendir(readable) : NULL;
    for (int i = 0; names && i < MOST_NAMES && (e = readdir(names)); i++)
        if (is_stale(dir, e->d_name, &ours))
            (void)unlinkat(dir, e->d_name, 0);
    (void)(names ? closedir(names) : close(readable));
    return err;
}

int ni_replace_file(const char *path, mode_t mode, int (*write)(int fd, void *ctx), void *ctx)
{
    char temp[TEMP_NAME] = "";
    const char *base;
    int dir = open_parent(AT_FDCWD, path, &base);

    if (dir < 0)
        return dir;
    int err = check_target(dir, base);
    if (err == 0) {
        int nameless, fd = create_temp(dir, temp, &nameless);
        err = fd < 0 ? fd : fill(fd, mode, write, ctx);
        if (err == 0)
            err = place(dir, nameless, temp, base);
        if (err != 0 && fd >= 0 && temp[0])
            (void)unlinkat(dir, temp, 0); /* the error that counts is the first */
        if (err == 0)
            err = settle(dir, base);
        if (nameless >= 0)
            (void)close(nameless);
    }
    (void)close(dir);
    return err;
}
