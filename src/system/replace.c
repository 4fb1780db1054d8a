/* SPDX-License-Identifier: Apache-2.0 */
/* The one writer of files. A file is replaced so that a reader, a kill or a crash at any moment
   finds the old one or the new one, whole; the termination log is appended to. */
#include "system/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nccl_init/base.h"
#include "nccl_init/number.h"
#include "nccl_init/text.h"

int ni_write_all(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t done = write(fd, p, n);

        /* a parent may have set O_NONBLOCK on a shared pipe (node does): wait for the reader, as a
           blocking write would */
        if (done < 0 && errno == EAGAIN) {
            struct pollfd ready = {.fd = fd, .events = POLLOUT};

            (void)poll(&ready, 1, -1); /* whatever the answer, the next write shows the state */
            continue;
        }
        if (done <= 0) /* POSIX allows a write of nothing, which could go on for ever */
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
    ssize_t n = 1;

    (void)nothing;
    while (r == 0 && n != 0) {
        n = read(self, buf, sizeof(buf));
        r = n < 0 ? -errno : ni_write_all(fd, buf, (size_t)n);
    }
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

/* Opens the descriptor of this process that the path means; -ENOENT: it means none. */
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
    /* a socket cannot be opened anew, and another user's pipe may not be */
    int fd = fcntl((int)n, F_DUPFD_CLOEXEC, 3);
    return fd < 0 ? -errno : fd;
}

/* Writes through a descriptor that the path names, and closes it. 0 or -errno. */
static int write_stream(int fd, int (*write)(int fd, void *ctx), void *ctx)
{
    int err = write(fd, ctx);

    /* some file systems report only now that nothing was stored */
    if (close(fd) < 0 && errno != EINTR && err == 0)
        err = -errno;
    return err;
}

/* Returns 0 if the path has nothing, a file or a symbolic link; otherwise -errno. */
static int may_replace(const char *path)
{
    struct stat st;

    if (lstat(path, &st) < 0)
        return errno == ENOENT ? 0 : -errno;
    if (S_ISDIR(st.st_mode))
        return -EISDIR;
    return S_ISREG(st.st_mode) || S_ISLNK(st.st_mode) ? 0 : -ENOTBLK;
}

/* Makes a new file beside the path, open for writing; its name goes into temp. A descriptor or
   -errno. */
static int make_temporary(char temp[PATH_MAX], const char *path)
{
    const char *slash = strrchr(path, '/');
    const int folder = slash ? (int)(slash + 1 - path) : 0;
    int fd;

    if (!ni_format(temp, PATH_MAX, "%.*s.nccl-init.XXXXXX", folder, path))
        return -ENAMETOOLONG;
    fd = mkostemp(temp, O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* Writes the file, flushes it to the disk and closes it. It is closed before the rename, because a
   file that is open for writing cannot be executed (ETXTBSY). NFS and quotas may report an error
   only then; after EINTR Linux has closed the file all the same. 0 or -errno. */
static int fill(int fd, mode_t mode, int (*write)(int fd, void *ctx), void *ctx)
{
    int err = write(fd, ctx);

    if (err == 0 && fchmod(fd, mode) < 0)
        err = -errno;
    if (err == 0 && fsync(fd) < 0)
        err = -errno;
    if (close(fd) < 0 && errno != EINTR && err == 0)
        err = -errno;
    return err;
}

/* A symbolic link itself is replaced, not its target: somebody who may plant a link in that
   directory must not choose which file is overwritten. */
int ni_replace_file(const char *path, mode_t mode, int (*write)(int fd, void *ctx), void *ctx)
{
    const bool is_program = (mode & S_IXUSR) != 0;
    char temp[PATH_MAX];
    int err, fd;

    fd = path ? open_stream(path) : STDOUT_FILENO;
    if (fd >= 0 && is_program) {
        (void)close(fd);
        return -ENOTBLK;
    }
    if (fd >= 0)
        return write_stream(fd, write, ctx);
    if (fd != -ENOENT)
        return fd;
    err = may_replace(path);
    if (err < 0)
        return err;
    fd = make_temporary(temp, path);
    if (fd < 0)
        return fd;
    err = fill(fd, mode, write, ctx);
    if (err == 0 && rename(temp, path) < 0)
        err = -errno;
    if (err < 0)
        (void)unlink(temp); /* the first error counts */
    return err;
}

mode_t ni_usual_mode(void)
{
    const mode_t mask = umask(0077);

    (void)umask(mask);
    return 0666 & ~mask;
}

int ni_termination_log(const char *path, const char *text)
{
    size_t n = strlen(text);
    struct stat st;
    /* appends, because kubelet shows the end of the file; never creates it, for the file shows that
       somebody reads it; does not block, so that a FIFO there cannot stop the program */
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW);

    if (fd < 0)
        return -errno;
    int r = -ENOTBLK; /* not a regular file */
    if (n > NI_TERMINATION_MAX)
        n = NI_TERMINATION_MAX;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        r = ni_write_all(fd, text, n);
    if (close(fd) != 0 && r == 0)
        r = -errno;
    return r;
}
