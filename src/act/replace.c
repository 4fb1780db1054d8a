/* SPDX-License-Identifier: Apache-2.0 */
/* The one writer of files. A file is replaced so that a reader, or a kill or crash at any moment,
   finds the old or the new one, whole. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "nccl_init/act.h"

int ni_write_all(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t done = write(fd, p, n);

        /* A parent may have set O_NONBLOCK on a pipe that it shares with us (node does): then wait
           for the reader, as a blocking write would. */
        if (done < 0 && errno == EAGAIN) {
            struct pollfd ready = {.fd = fd, .events = POLLOUT};

            (void)poll(&ready, 1, -1); /* whatever it says, the next write tells */
            continue;
        }
        if (done < 0)
            return -errno;
        if (done == 0)
            return -EIO; /* POSIX leaves it open; asking again could go on for ever */
        p += done;
        n -= (size_t)done;
    }
    return 0;
}

int ni_write_text(int fd, void *text)
{
    const struct ni_text *t = text;
    int r = ni_write_all(fd, t->buf, t->len);

    return r == 0 && t->cut ? -ENOMEM : r;
}

int ni_copy_all(int to, int from)
{
    char buf[1 << 14];
    ssize_t n;
    int r = 0;

    while (r == 0 && (n = read(from, buf, sizeof(buf))) != 0)
        r = n < 0 ? -errno : ni_write_all(to, buf, (size_t)n);
    return r;
}

int ni_make_folders(const char *path)
{
    char copy[PATH_MAX];

    if (!ni_copy(copy, sizeof(copy), path))
        return -ENAMETOOLONG;
    for (char *s = strchr(copy + 1, '/'); s; s = strchr(s + 1, '/')) {
        *s = '\0';
        if (mkdir(copy, 0755) < 0 && errno != EEXIST)
            return -errno;
        *s = '/';
    }
    return 0;
}

/* The descriptor of ours that the path names: /dev/fd/3, /proc/self/fd/3, a link to the latter, as
   /dev/stdout is, or a link that leads to our stdout or stderr in another way. -1: none. */
static int own_descriptor(const char *path)
{
    static const char *const folders[] = {"/proc/self/fd/", "/dev/fd/"};
    char target[64];
    ssize_t len = readlink(path, target, sizeof(target) - 1);
    uint64_t fd;

    target[len > 0 ? len : 0] = '\0';
    if (ni_has_prefix(target, folders[0]))
        path = target;
    for (size_t i = 0; i < NI_COUNT(folders); i++)
        if (ni_has_prefix(path, folders[i]) &&
            ni_parse_u64(ni_span_of(path + strlen(folders[i])), INT_MAX, &fd) == 0)
            return (int)fd;
    for (int own = STDOUT_FILENO; len > 0 && own <= STDERR_FILENO; own++) {
        struct stat there, ours;
        if (stat(path, &there) == 0 && fstat(own, &ours) == 0 && there.st_dev == ours.st_dev &&
            there.st_ino == ours.st_ino)
            return own;
    }
    return -1;
}

static bool is_stream(const struct stat *st)
{
    return S_ISFIFO(st->st_mode) || S_ISCHR(st->st_mode);
}

int ni_open_stream(const char *path)
{
    struct stat st;
    int fd = own_descriptor(path);

    if (fd >= 0)
        return fd;
    if (lstat(path, &st) < 0 || !is_stream(&st))
        return -EINVAL;
    /* A FIFO without a reader must not hold us. */
    fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    if (fstat(fd, &st) == 0 && is_stream(&st) && fcntl(fd, F_SETFL, 0) == 0)
        return fd;
    (void)close(fd); /* another took its place meanwhile */
    return -EINVAL;
}

/* 0 if a file may be put at the path. A symbolic link there is replaced itself, not what it points
   at: who may plant one in that directory must not choose what we overwrite. What is behind a link
   to a device or FIFO was hardly meant to become a file. */
static int check_target(const char *path)
{
    struct stat st;

    if (own_descriptor(path) >= 0)
        return -EINVAL;
    if (lstat(path, &st) < 0)
        return errno == ENOENT ? 0 : -errno;
    if (S_ISDIR(st.st_mode))
        return -EISDIR;
    if (S_ISLNK(st.st_mode) && (stat(path, &st) < 0 || S_ISDIR(st.st_mode)))
        return 0;
    return S_ISREG(st.st_mode) ? 0 : -EINVAL;
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

/* A name beside the path, for the moment before it gets that of the path. What a killed writer left
   there goes, by age: that writer may have been on another machine. `again`: another writer is at
   it; a name that nobody has. 0 or -errno. */
static int choose_name(char temp[PATH_MAX], const char *path, bool again)
{
    enum { STALE_S = 600 }; /* no writer takes so long */
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    uint64_t suffix = 0;
    struct stat st;

    if (again && getrandom(&suffix, sizeof(suffix), 0) < 0) /* so few bytes come whole: random(4) */
        return -errno;
    /* NAME_MAX bytes at most */
    if (!ni_format(temp, PATH_MAX, "%.*s.nccl-init.%.200s%s%llx", (int)(base - path), path, base,
                   again ? "." : ".new", (unsigned long long)suffix))
        return -ENAMETOOLONG;
    if (!again && lstat(temp, &st) == 0 && S_ISREG(st.st_mode) &&
        time(NULL) - st.st_mtime > STALE_S)
        (void)unlink(temp);
    return 0;
}

/* A file without a name in the directory of the path, of which a kill leaves nothing; *ret_link is
   what it gets a name by, still there when the descriptor is closed. -1: the file system has none
   (NFS), or there is no /proc. */
static int open_nameless(const char *path, int *ret_link)
{
    const char *slash = strrchr(path, '/');
    char dir[PATH_MAX] = ".", self[32];

    if (slash && !ni_copyn(dir, sizeof(dir), path, (size_t)(slash + 1 - path)))
        return -1;
    int fd = open(dir, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    (void)ni_format(self, sizeof(self), "/proc/self/fd/%d", fd);
    *ret_link = open(self, O_PATH | O_CLOEXEC);
    if (*ret_link >= 0)
        return fd;
    (void)close(fd);
    return -1;
}

/* Gives the nameless file a name. (AT_EMPTY_PATH would want a capability.) 0 or -errno. */
static int give_name(int link, const char *name)
{
    char self[32];

    (void)ni_format(self, sizeof(self), "/proc/self/fd/%d", link);
    return linkat(AT_FDCWD, self, AT_FDCWD, name, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

/* The nameless file, or with link -1 a new one, beside the path. 0, or the new one's descriptor, or
   -errno; temp is "" then. */
static int make_named(char temp[PATH_MAX], const char *path, int link)
{
    for (bool again = false;; again = true) {
        int r = choose_name(temp, path, again);
        if (r == 0 && link >= 0)
            r = give_name(link, temp);
        else if (r == 0 &&
                 (r = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)) < 0)
            r = -errno;
        if (r >= 0)
            return r;
        temp[0] = '\0'; /* it is another's */
        if (r != -EEXIST || again)
            return r;
    }
}

int ni_replace_file(const char *path, mode_t mode, int (*write)(int fd, void *ctx), void *ctx)
{
    char temp[PATH_MAX] = "";
    int link = -1, err = check_target(path);

    if (err < 0)
        return err;
    int fd = open_nameless(path, &link);
    if (fd < 0)
        fd = make_named(temp, path, -1);
    err = fd < 0 ? fd : fill(fd, mode, write, ctx);
    if (err == 0 && link >= 0 && (err = give_name(link, path)) == -EEXIST)
        err = make_named(temp, path, link); /* linkat replaces nothing, rename does */
    if (err == 0 && temp[0] && rename(temp, path) < 0)
        err = -errno;
    if (err < 0 && temp[0])
        (void)unlink(temp); /* the error that counts is the first */
    if (link >= 0)
        (void)close(link);
    return err;
}
