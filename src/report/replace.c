/* SPDX-License-Identifier: Apache-2.0 */
/* Replacing a file so that a reader, or a crash at any moment, finds the old or the new one, whole.
   */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nccl_init/report.h"

enum { TRIES = 64, TEMP_NAME = 32 };

/* Opens the directory of path, whose last part is base. The descriptor or -errno. */
static int open_parent(const char *path, const char *base)
{
    char dir[PATH_MAX] = ".";
    if (!path[0])
        return -ENOENT;
    if (!base[0] || strcmp(base, ".") == 0 || strcmp(base, "..") == 0)
        return -EISDIR;
    if (strlen(base) > NAME_MAX)
        return -ENAMETOOLONG;
    /* with the slash: "/file" lies in "/" */
    if (base != path && !ni_copyn(dir, sizeof(dir), path, (size_t)(base - path)))
        return -ENAMETOOLONG;
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* 0 if rename may put a file at this name. A symbolic link there is replaced itself, not what it
   points at: who may plant one in that directory must not choose what we overwrite. A device, FIFO
   or socket, also behind a link (/dev/stdout), was hardly meant to become a file: rename would do
   it, and root would lose /dev/null. */
static int check_target(int dir, const char *base)
{
    struct stat st;
    if (fstatat(dir, base, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : -errno;
    if (S_ISDIR(st.st_mode))
        return -EISDIR;
    if (S_ISLNK(st.st_mode) && (fstatat(dir, base, &st, 0) < 0 || S_ISDIR(st.st_mode)))
        return 0; /* dangling, or to a directory: only the link goes */
    return S_ISREG(st.st_mode) ? 0 : -EINVAL;
}

/* Creates a file of a name that nobody can foresee. The descriptor or -errno. */
static int create_temp(int dir, char name[TEMP_NAME])
{
    for (int i = 0; i < TRIES; i++) {
        uint64_t suffix;
        if (getrandom(&suffix, sizeof(suffix), 0) < 0) /* so few bytes come whole: random(4) */
            return -errno;
        (void)snprintf(name, TEMP_NAME, ".nccl-init.%016llx", (unsigned long long)suffix);
        int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd >= 0)
            return fd;
        if (errno != EEXIST)
            return -errno;
    }
    return -EEXIST;
}

/* Writes, settles mode and contents on the disk, and closes fd in any case. */
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
    const char *base = slash ? slash + 1 : path;
    char temp[TEMP_NAME];
    int dir = open_parent(path, base);
    if (dir < 0)
        return dir;
    int err = check_target(dir, base);
    if (err == 0) {
        int fd = create_temp(dir, temp);
        err = fd < 0 ? fd : fill(fd, mode, write, ctx);
        if (err == 0 && renameat(dir, temp, dir, base) < 0)
            err = -errno;
        if (err != 0 && fd >= 0)
            (void)unlinkat(dir, temp, 0); /* the error that counts is the first */
        /* From here on the new file is in place; an error only says that a power cut might bring
           the old one back. EINVAL: a file system that has nothing to settle. */
        if (err == 0 && fsync(dir) < 0 && errno != EINVAL)
            err = -errno;
    }
    (void)close(dir);
    return err;
}
