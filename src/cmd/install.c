/* SPDX-License-Identifier: Apache-2.0 */
/* install: this program as a file of a volume that other containers mount. */
#include "nccl_init/act.h"
#include "nccl_init/cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

static const char self_path[] = "/proc/self/exe", caps_name[] = "security.capability";

/* The file of this program, and what of it goes with the copy. */
struct self {
    int fd;
    struct stat st;
    char caps[64];   /* struct vfs_ns_cap_data has 24 bytes (include/uapi/linux/capability.h) */
    size_t caps_len; /* 0: it has none */
    int caps_err;    /* why the copy has them not */
};

static int open_self(struct self *self)
{
    ssize_t n;

    self->fd = open(self_path, O_RDONLY | O_CLOEXEC);
    if (self->fd < 0 || fstat(self->fd, &self->st) < 0)
        return -errno;
    /* An error, ENODATA mostly: there are none that could be kept. */
    n = fgetxattr(self->fd, caps_name, self->caps, sizeof(self->caps));
    self->caps_len = n > 0 ? (size_t)n : 0;
    return 0;
}

static int copy_self(int fd, void *arg)
{
    struct self *self = arg;
    int r = ni_copy_all(fd, self->fd);

    if (r < 0)
        return r;
    /* Behind the last write, which takes them away (fs/inode.c file_remove_privs). */
    if (self->caps_len > 0 && fsetxattr(fd, caps_name, self->caps, self->caps_len, 0) < 0)
        self->caps_err = errno;
    return 0;
}

/* Where it goes: operand, or this name in the directory that it is. A link to a directory counts as
   one with a slash behind it only: who may plant one must not choose where we write. */
static int choose_path(const char *operand, char path[PATH_MAX])
{
    struct stat st;
    bool slash = operand[strlen(operand) - 1] == '/', into = slash;

    if (!slash && lstat(operand, &st) == 0) {
        if (S_ISLNK(st.st_mode) && stat(operand, &st) == 0 && S_ISDIR(st.st_mode))
            return -ELOOP;
        into = S_ISDIR(st.st_mode);
    }
    return ni_format(path, PATH_MAX, "%s%s%s", operand, into && !slash ? "/" : "",
                     into ? "nccl-init" : "")
               ? 0
               : -ENAMETOOLONG;
}

/* What to do about it. */
static const char *advice(int err)
{
    switch (err) {
    case ENOENT:
        return "; there is no such directory: mount the shared volume there, or create it";
    case EROFS:
        return "; mount the volume without readOnly in this container";
    case EACCES:
    case EPERM:
        return "; run as a user that may write there, or set the pod's fsGroup";
    case ENOSPC:
    case EDQUOT:
        return "; make room, or raise the volume's sizeLimit";
    case EISDIR:
        return "; a directory stands there: remove it, or name a file";
    case ELOOP:
        return "; a link to a directory is followed only with a slash behind it";
    case EINVAL:
        return "; what stands there is no file: name another";
    default:
        return "";
    }
}

/* The file is there; whether it is of use where it lies is another matter. */
static void say_limits(struct ni_context *ctx, const char *path, const struct self *self)
{
    struct statvfs fs;

    if (self->caps_err != 0)
        ni_say(ctx, NI_LOG_WARN, "%s: without the file capabilities of this program: %s; %s", path,
               ni_errno_text(self->caps_err),
               self->caps_err == EPERM ? "install as root with CAP_SETFCAP"
                                       : "use a volume that can keep them");
    if (statvfs(path, &fs) < 0)
        return;
    if ((fs.f_flag & ST_NOEXEC) != 0)
        ni_say(ctx, NI_LOG_WARN,
               "%s: the file system is mounted noexec here; a container that also mounts it so "
               "cannot execute the file",
               path);
    if (self->caps_len > 0 && self->caps_err == 0 && (fs.f_flag & ST_NOSUID) != 0)
        ni_say(ctx, NI_LOG_WARN,
               "%s: the file system is mounted nosuid here; the file capabilities have no effect "
               "in a container that also mounts it so",
               path);
}

static int failed(struct ni_context *ctx, int err, const char *path, const char *what_to_do)
{
    char buf[1024];
    struct ni_text t = ni_text_on(buf, sizeof(buf));

    ni_put_quoted(&t, path, strlen(path), 512);
    ni_putf(&t, ": %s%s", ni_errno_text(err), what_to_do);
    ni_last_words(ctx, buf, false);
    return NI_EXIT_FAILED;
}

int ni_cmd_install(struct ni_context *ctx, char *const operands[])
{
    struct self self = {.fd = -1};
    char path[PATH_MAX];
    mode_t mode;
    int r;

    if (!operands[0] || operands[0][0] == '\0')
        return ni_usage(ctx, "no DIR or FILE: nccl-init install DIR|FILE");
    if (operands[1])
        return ni_usage(ctx, "`install` takes one DIR or FILE, not `%s` too", operands[1]);
    ni_no_command();
    r = open_self(&self);
    if (r < 0)
        return failed(ctx, r, self_path, "; the program cannot read its own file");
    mode = self.st.st_mode & 0777; /* neither set-user-ID nor the like */
    r = choose_path(operands[0], path);
    if (r < 0)
        return failed(ctx, r, operands[0], advice(-r));
    r = ni_replace_file(path, mode, copy_self, &self);
    if (r < 0)
        return failed(ctx, r, path, advice(-r));
    ni_say(ctx, NI_LOG_INFO, "installed %s, mode %04o, %s", path, (unsigned)mode,
           self.caps_len > 0 && self.caps_err == 0 ? "with its file capabilities"
                                                   : "no file capabilities");
    say_limits(ctx, path, &self);
    return 0;
}
