/* SPDX-License-Identifier: Apache-2.0 */
/* The one writer of files. A file is replaced so that a reader, or a kill or crash at any moment,
   finds the old or the new one, whole. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nccl_init/act.h"

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

/* The descriptor of ours that the path names: /dev/fd/3, /proc/self/fd/3, or a link to the latter,
   as /dev/stdout is. -1: none. */
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

int ni_replace_file(const char *path, mode_t mode, int (*write)(int fd, void *ctx), void *ctx)
{
    const char *slash = strrchr(path, '/');
    char temp[PATH_MAX];
    int fd, err = check_target(path);

    if (err < 0)
        return err;
    /* in the same directory, as rename(2) wants */
    if (!ni_format(temp, sizeof(temp), "%.*s.nccl-init.XXXXXX", slash ? (int)(slash + 1 - path) : 0,
                   path))
        return -ENAMETOOLONG;
    fd = mkostemp(temp, O_CLOEXEC);
    if (fd < 0)
        return -errno;
    err = fill(fd, mode, write, ctx);
    if (err == 0 && rename(temp, path) < 0)
        err = -errno;
    if (err < 0)
        (void)unlink(temp); /* the error that counts is the first */
    return err;
}
