/* SPDX-License-Identifier: Apache-2.0 */
/* install: this program as a file of a volume that other containers mount. */
#include "nccl_init/act.h"
#include "nccl_init/cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

/* struct vfs_ns_cap_data, the longest form, has 24 bytes (include/uapi/linux/capability.h). */
enum { CAPS_MAX = 64, BUFFER = 1 << 14 };

static const char caps_name[] = "security.capability";

/* The file of this program, and what of it goes with the copy. */
struct self {
    const char *path;
    int fd;
    struct stat st;
    char caps[CAPS_MAX];
    size_t caps_len; /* 0: it has none */
    int caps_err;    /* why the copy has them not */
};

/* The descriptor, or -errno. Without /proc: the name it was executed by, relative to a directory
   that has not changed since. */
static int open_self(const char **path)
{
    int fd;

    *path = "/proc/self/exe";
    fd = open(*path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT && getauxval(AT_EXECFN) != 0) {
        *path = (const char *)getauxval(AT_EXECFN);
        fd = open(*path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    }
    return fd < 0 ? -errno : fd;
}

/* 0, or -errno and nothing open. */
static int look_at_self(struct self *self)
{
    ssize_t n;
    int r = 0;

    self->fd = open_self(&self->path);
    if (self->fd < 0)
        return self->fd;
    if (fstat(self->fd, &self->st) < 0)
        r = -errno;
    else if (!S_ISREG(self->st.st_mode))
        r = -ENOEXEC;
    if (r < 0) {
        (void)close(self->fd);
        return r;
    }
    /* An error, ENODATA mostly: there are none that could be kept. */
    n = fgetxattr(self->fd, caps_name, self->caps, sizeof(self->caps));
    self->caps_len = n > 0 ? (size_t)n : 0;
    return 0;
}

static int copy_self(int fd, void *arg)
{
    struct self *self = arg;
    char buf[BUFFER];
    ssize_t n;
    int r = 0;

    while (r == 0 && (n = read(self->fd, buf, sizeof(buf))) != 0)
        r = n < 0 ? -errno : ni_write_all(fd, buf, (size_t)n);
    if (r < 0)
        return r;
    /* Behind the last write, which takes them away (fs/inode.c file_remove_privs). */
    if (self->caps_len > 0 && fsetxattr(fd, caps_name, self->caps, self->caps_len, 0) < 0)
        self->caps_err = errno;
    return 0;
}

/* Where it goes: operand, or this name in the directory that it is. 0 or -errno. A link to a
   directory counts as one with a slash behind it only: who may plant one must not choose where we
   write. */
static int choose_path(const char *operand, char *path, size_t cap)
{
    struct stat st;
    bool slash = operand[strlen(operand) - 1] == '/', into = slash;

    if (!slash && lstat(operand, &st) == 0) {
        if (S_ISLNK(st.st_mode) && stat(operand, &st) == 0 && S_ISDIR(st.st_mode))
            return -ELOOP;
        into = S_ISDIR(st.st_mode);
    }
    return ni_format(path, cap, "%s%s%s", operand, into && !slash ? "/" : "",
                     into ? "nccl-init" : "")
               ? 0
               : -ENAMETOOLONG;
}

/* Who may write in the directory of path, and who we are. */
static void put_owner(struct ni_text *t, const char *path)
{
    const char *slash = strrchr(path, '/');
    char dir[PATH_MAX] = ".";
    struct stat st;

    if (slash)
        (void)ni_copyn(dir, sizeof(dir), path, (size_t)(slash - path) + 1);
    ni_putf(t, "this is user %u, group %u", (unsigned)geteuid(), (unsigned)getegid());
    if (stat(dir, &st) == 0)
        ni_putf(t, ", the directory is of user %u, group %u, mode %04o", (unsigned)st.st_uid,
                (unsigned)st.st_gid, (unsigned)st.st_mode & 07777U);
    ni_put(t, "; run as a user that may write there, or set the pod's fsGroup");
}

/* What to do about it. */
static void put_advice(struct ni_text *t, int err, const char *path, const struct self *self)
{
    switch (err) {
    case ENOENT:
        ni_put(t, "; there is no such directory: mount the shared volume there, or create it");
        break;
    case EROFS:
        ni_put(t, "; mount the volume without readOnly in this container");
        break;
    case EACCES:
    case EPERM:
        ni_put(t, "; ");
        put_owner(t, path);
        break;
    case ENOSPC:
    case EDQUOT:
        ni_putf(t, "; the copy takes %lld bytes: make room, or raise the volume's sizeLimit",
                (long long)self->st.st_size);
        break;
    case EISDIR:
        ni_put(t, "; a directory stands there: remove it, or name a file");
        break;
    case ELOOP:
        ni_put(t, "; a link to a directory is followed only with a slash behind it");
        break;
    case EINVAL:
        ni_put(t, "; what stands there is no file: name another");
        break;
    default:
        break;
    }
}

/* The file is there; whether it is of use where it lies is another matter. */
static void say_limits(struct ni_context *ctx, const char *path, const struct self *self)
{
    bool caps = self->caps_len > 0 && self->caps_err == 0;
    struct statvfs fs;

    if (self->caps_err != 0)
        ni_say(ctx, NI_LOG_WARN,
               "%s: without the file capabilities of %s: %s; %s, or raise the limit elsewhere",
               path, self->path, ni_errno_text(self->caps_err),
               self->caps_err == EPERM ? "install as root with CAP_SETFCAP"
                                       : "use a volume that can keep them");
    if (statvfs(path, &fs) < 0)
        return;
    if ((fs.f_flag & ST_NOEXEC) != 0)
        ni_say(ctx, NI_LOG_WARN,
               "%s: the file system is mounted noexec here; a container where it is so too cannot "
               "execute the file",
               path);
    if (caps && (fs.f_flag & ST_NOSUID) != 0)
        ni_say(ctx, NI_LOG_WARN,
               "%s: the file system is mounted nosuid here; where it is so too, the file "
               "capabilities count for nothing",
               path);
}

static int failed(struct ni_context *ctx, int err, const char *path, const struct self *self)
{
    char buf[1024];
    struct ni_text t = ni_text_on(buf, sizeof(buf));

    ni_put_quoted(&t, path, strlen(path), 512);
    ni_putf(&t, ": %s", ni_errno_text(err));
    if (self)
        put_advice(&t, err, path, self);
    else
        ni_put(&t, "; the program cannot read its own file");
    ni_last_words(ctx, buf, false);
    return NI_EXIT_FAILED;
}

int ni_cmd_install(struct ni_context *ctx, char *const operands[])
{
    struct self self = {.fd = -1};
    mode_t mode;
    char path[PATH_MAX];
    const char *shown;
    int r;

    if (!operands[0] || operands[0][0] == '\0')
        return ni_usage(ctx, "install where? nccl-init install DIR|FILE");
    if (operands[1])
        return ni_usage(ctx, "`install` takes one DIR or FILE; `%s` is one more", operands[1]);
    r = look_at_self(&self);
    if (r < 0)
        return failed(ctx, -r, self.path, NULL);
    mode = self.st.st_mode & 0777; /* neither set-user-ID nor the like */
    ni_no_command();
    r = choose_path(operands[0], path, sizeof(path));
    shown = r < 0 ? operands[0] : path;
    if (r == 0)
        r = ni_replace_file(path, mode, copy_self, &self);
    (void)close(self.fd);
    if (r < 0)
        return failed(ctx, -r, shown, &self);
    ni_say(ctx, NI_LOG_INFO, "installed %s, mode %04o, %s", path, (unsigned)mode,
           self.caps_len > 0 && self.caps_err == 0 ? "with its file capabilities"
                                                   : "no file capabilities");
    say_limits(ctx, path, &self);
    return 0;
}
