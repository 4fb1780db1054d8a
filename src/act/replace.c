/* SPDX-License-Identifier: Apache-2.0 */
/* The one writer of files. One is replaced so that a reader, or a kill or crash at any moment, finds
   the old or the new one, whole; the termination log is added to. */
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
        if (done <= 0) /* nothing written, POSIX leaves that open: it could go on for ever */
            return done < 0 ? -errno : -EIO;
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

int ni_write_self(int fd, void *nothing)
{
    int self = open(NI_SELF, O_RDONLY | O_CLOEXEC), r = self < 0 ? -errno : 0;
    char buf[1 << 14];
    ssize_t n;

    (void)nothing;
    while (r == 0 && (n = read(self, buf, sizeof(buf))) != 0)
        r = n < 0 ? -errno : ni_write_all(fd, buf, (size_t)n);
    if (self >= 0)
        (void)close(self);
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

/* A descriptor of our own that the path means, which nobody else put there; -ENOENT: it means none. */
static int open_stream(const char *path)
{
    static const char *const name[] = {"/dev/stdin", "/dev/stdout", "/dev/stderr"};
    const bool numbered = ni_has_prefix(path, "/dev/fd/") || ni_has_prefix(path, "/proc/self/fd/");
    uint64_t n = 0;

    while (!numbered && n < NI_COUNT(name) && strcmp(path, name[n]) != 0)
        n++;
    if (n == NI_COUNT(name) ||
        (numbered && ni_parse_u64(ni_span_of(strrchr(path, '/') + 1), INT_MAX, &n) < 0))
        return -ENOENT;
    /* A socket cannot be opened anew, and another user's pipe may not. */
    int fd = fcntl((int)n, F_DUPFD_CLOEXEC, 3);
    return fd < 0 ? -errno : fd;
}

/* A file without a name in the directory of the path, of which a kill leaves nothing. -1: the file
   system has none (NFS), or it could not get a name, for there is no /proc. */
static int open_nameless(const char *path)
{
    const char *slash = strrchr(path, '/');
    char dir[PATH_MAX] = ".";

    if ((slash && !ni_copyn(dir, sizeof(dir), path, (size_t)(slash + 1 - path))) ||
        access("/proc/self/fd", F_OK) != 0)
        return -1;
    return open(dir, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
}

/* Of the file of fd, which has no name: gives it that one; NULL: a descriptor that only points at it. */
static int reach(int fd, const char *name)
{
    char self[32];

    (void)ni_format(self, sizeof(self), "/proc/self/fd/%d", fd);
    int r = name ? linkat(AT_FDCWD, self, AT_FDCWD, name, AT_SYMLINK_FOLLOW)
                 : open(self, O_PATH | O_CLOEXEC);
    return r < 0 ? -errno : r;
}

/* Gives the nameless file of fd, or with -1 a new one, a name beside the path, for the moment before
   it gets that of the path; another one where another writer is at it. What a killed writer left goes
   by its age: that writer may have been on another machine. 0, the new one's descriptor, or -errno. */
static int make_named(char temp[PATH_MAX], const char *path, int fd)
{
    enum { STALE_S = 600 }; /* no writer takes so long */
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    struct stat st;
    uint32_t suffix = 0;
    int r = -EEXIST;

    for (int i = 0; i < 2 && r == -EEXIST; i++) {
        if (i > 0 && getrandom(&suffix, sizeof(suffix), 0) < 0)
            return -errno;
        if (!ni_format(temp, PATH_MAX, "%.*s.nccl-init.%.200s.new%x", (int)(base - path), path,
                       base, suffix)) /* NAME_MAX bytes at most */
            return -ENAMETOOLONG;
        if (i == 0 && lstat(temp, &st) == 0 && S_ISREG(st.st_mode) &&
            time(NULL) - st.st_mtime > STALE_S)
            (void)unlink(temp);
        r = fd < 0 ? open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : reach(fd, temp);
        if (fd < 0 && r < 0)
            r = -errno;
    }
    return r;
}

/* A symbolic link is replaced itself, not what it points at: who may plant one in that directory must
   not choose what we overwrite. */
int ni_replace_file(const char *path, mode_t mode, int (*write)(int fd, void *ctx), void *ctx)
{
    char temp[PATH_MAX];
    struct stat st;
    bool has_name;
    int err, fd, link = -1;

    fd = path ? open_stream(path) : STDOUT_FILENO;
    if (fd != -ENOENT) {
        err = fd < 0 ? fd : mode & 0100 ? -ENOTBLK : write(fd, ctx); /* a program needs a file */
        /* Some file systems tell only now that nothing was stored. */
        return fd >= 0 && close(fd) < 0 && errno != EINTR && err == 0 ? -errno : err;
    }
    if (lstat(path, &st) == 0) {
        if (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
            return S_ISDIR(st.st_mode) ? -EISDIR : -ENOTBLK;
    } else if (errno != ENOENT) {
        return -errno;
    }
    fd = open_nameless(path);
    has_name = fd < 0;
    if (has_name)
        fd = make_named(temp, path, -1);
    if (fd < 0)
        return fd;
    err = write(fd, ctx);
    if (err == 0 && (fchmod(fd, mode) < 0 || fsync(fd) < 0))
        err = -errno;
    if (err == 0 && !has_name && (link = reach(fd, NULL)) < 0)
        err = link;
    /* Closed first: a file that is open for writing cannot be executed (ETXTBSY). NFS and quotas may
       only tell here. After EINTR Linux has closed it all the same. */
    if (close(fd) < 0 && errno != EINTR && err == 0)
        err = -errno;
    if (link >= 0 && err == 0 && (err = reach(link, path)) == -EEXIST) {
        err = make_named(temp, path, link); /* linkat replaces nothing, rename does */
        has_name = err == 0;
    }
    if (link >= 0)
        (void)close(link);
    if (err == 0 && has_name && rename(temp, path) < 0)
        err = -errno;
    if (err < 0 && has_name)
        (void)unlink(temp); /* the error that counts is the first */
    return err;
}

int ni_termination_log(const char *path, const char *text)
{
    size_t n = strlen(text);
    struct stat st;
    /* Appended, as kubelet shows the end of the file. Never created: a file there is the sign that
       somebody reads it. Non-blocking, so that a FIFO put there cannot hold us. */
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW);

    if (fd < 0)
        return -errno;
    int r = fstat(fd, &st) == 0 && S_ISREG(st.st_mode)
                ? ni_write_all(fd, text, n < NI_TERMINATION_MAX ? n : NI_TERMINATION_MAX)
                : -ENOTBLK;
    if (close(fd) != 0 && r == 0)
        r = -errno;
    return r;
}
