/* SPDX-License-Identifier: Apache-2.0 */
/* The verb install: this program as a file of a volume that other containers mount. */
#include "run/install.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cli/context.h"
#include "cli/option.h"
#include "cli/options.h"
#include "cli/say.h"
#include "nccl_init/base.h"
#include "nccl_init/errno.h"
#include "nccl_init/text.h"
#include "system/helper.h"
#include "system/replace.h"

/* ---- options ---- */

static struct {
    bool file;
} install_options;

static const struct ni_option options[] = {
    {
        .name = "file",
        .verbs = NI_VERB_INSTALL,
        .take = ni_take_switch,
        .at = 0,
        .help = "the operand is the path of the copy, not a directory; no file has to be there",
    },
};
const struct ni_option_rows ni_install_rows = {
    options,
    NI_COUNT(options),
    &install_options,
    sizeof(install_options),
};

/* ---- the copy ---- */

static const char caps_name[] = "security.capability";
static const char own_name[] = "nccl-init";

/* The file capabilities of this program, in the copy. */
struct capabilities {
    bool there;
    int err; /* why the copy does not have them; 0: it does */
};

static int copy_self(int fd, void *arg)
{
    struct capabilities *caps = arg;
    char buf[64]; /* struct vfs_ns_cap_data has 24 bytes (include/uapi/linux/capability.h) */
    /* an error, usually ENODATA: the program has none */
    const ssize_t n = getxattr(NI_SELF, caps_name, buf, sizeof(buf));
    int r = ni_write_self(fd, NULL);

    caps->there = n > 0;
    /* after the last write, since a write takes them away (fs/inode.c file_remove_privs) */
    if (r == 0 && n > 0 && fsetxattr(fd, caps_name, buf, (size_t)n, 0) < 0)
        caps->err = errno;
    return r;
}

/* Chooses the path of the copy: the operand, or this program's name in the directory that it names.
   A link to a directory counts as one only if a slash follows: somebody who may plant a link must
   not choose where we write. -ENOENT: nothing is there, and nobody said that a file is meant. */
static int choose_path(const char *operand, bool file, char path[PATH_MAX])
{
    const bool slash = operand[strlen(operand) - 1] == '/';
    bool into = slash;
    struct stat st;

    if (file && slash)
        return -EISDIR;
    if (!slash && lstat(operand, &st) == 0) {
        if (S_ISLNK(st.st_mode) && stat(operand, &st) == 0 && S_ISDIR(st.st_mode))
            return -ELOOP;
        into = S_ISDIR(st.st_mode) && !file;
    } else if (!slash && errno == ENOENT && !file) {
        return -ENOENT;
    }
    const char *between = into && !slash ? "/" : "";
    const char *name = into ? own_name : "";
    return ni_format(path, PATH_MAX, "%s%s%s", operand, between, name) ? 0 : -ENAMETOOLONG;
}

/* Advice for each errno. */
static const struct {
    int err;
    const char *text;
} advice[] = {
    {ENOENT, "there is no such directory: mount the shared volume there, or create it"},
    {EROFS, "mount the volume without readOnly in this container"},
    {EACCES, "run as a user that may write there, or set the pod's fsGroup"},
    {ENOSPC, "make room, or raise the volume's sizeLimit"},
    {EDQUOT, "make room, or raise the volume's sizeLimit"},
    {EISDIR, "a directory stands there: remove it, or name a file"},
    {ELOOP, "a link to a directory is followed only if the path ends in a slash"},
    {ENOTBLK, "name another file"},
};

/* Says why there is no copy. more: what else may help, or "". */
static int fail_to_install(struct ni_context *ctx, int err, const char *path, const char *more)
{
    struct ni_text t = NI_TEXT(1024);

    ni_put_quoted(&t, path, strlen(path), 512);
    ni_putf(&t, ": %s", NI_ERRNO(err));
    for (size_t i = 0; strcmp(path, NI_SELF) != 0 && i < NI_COUNT(advice); i++)
        if (advice[i].err == -err)
            ni_putf(&t, "; %s%s", advice[i].text, more);
    ni_last_words(ctx, t.buf, NI_LEAVE_REASON);
    return NI_EXIT_FAILED;
}

static int copy_helper(int fd, void *from)
{
    char buf[1 << 14];
    ssize_t n = 1;
    int r = 0;

    while (r == 0 && n != 0) {
        n = read(*(const int *)from, buf, sizeof(buf));
        r = n < 0 ? -errno : ni_write_all(fd, buf, (size_t)n);
    }
    return r;
}

/* Puts the helper of --try beside the copy, if this program has it. Without it the copy does all
   else. */
static void install_helper(struct ni_context *ctx, const char *copy)
{
    enum ni_helper_state state;
    char path[PATH_MAX];
    const char *slash = strrchr(copy, '/');
    const int n = slash ? (int)(slash + 1 - copy) : 0;
    int from = ni_open_helper(&state);

    if (from < 0 && state != NI_HELPER_MISSING)
        ni_say(ctx, NI_LOG_WARN,
               "%s is not copied: it is not the one that was built with this program", NI_HELPER);
    if (from < 0)
        return;
    int r = -ENAMETOOLONG;
    if (ni_format(path, sizeof(path), "%.*s%s", n, copy, NI_HELPER))
        r = ni_replace_file(path, 0755, copy_helper, &from);
    (void)close(from);
    if (r == 0)
        ni_say(ctx, NI_LOG_INFO, "installed %s, for --try", path);
    else
        ni_say(ctx, NI_LOG_WARN, "%s is not copied: %s; --try needs it", NI_HELPER, NI_ERRNO(r));
}

/* Warns of a mount that keeps the copy from being executed, or takes its file capabilities. */
static void warn_of_mount(struct ni_context *ctx, const char *path, bool capable)
{
    struct statvfs fs;

    if (statvfs(path, &fs) < 0)
        return;
    const bool noexec = (fs.f_flag & ST_NOEXEC) != 0;
    const bool nosuid = (fs.f_flag & ST_NOSUID) != 0 && capable;
    const char *how = noexec ? "noexec" : "nosuid";
    if (noexec && nosuid)
        how = "noexec,nosuid";
    if (noexec || nosuid)
        ni_say(ctx, NI_LOG_WARN,
               "%s: this file system is mounted %s; in a container that mounts it like this, too, "
               "the file %s",
               path, how, noexec ? "cannot be executed" : "has no capabilities");
}

int ni_cmd_install(struct ni_context *ctx)
{
    char *const *operands = ctx->operands;
    struct capabilities caps = {.there = false};
    char path[PATH_MAX];
    struct stat st;

    if (!operands[0] || operands[0][0] == '\0')
        return ni_usage(ctx, "no DIR or FILE: nccl-init install DIR|FILE");
    if (operands[1])
        return ni_usage(ctx, "`install` takes one DIR or FILE, not `%s` too", operands[1]);
    ni_ignore_sigxfsz();
    if (stat(NI_SELF, &st) < 0 || access(NI_SELF, R_OK) < 0)
        return fail_to_install(ctx, -errno, NI_SELF, "");
    st.st_mode &= 0777; /* neither set-user-ID nor the like */
    int r = choose_path(operands[0], install_options.file, path);
    if (r < 0)
        return fail_to_install(ctx, r, operands[0],
                               r == -ENOENT ? "; --file if a file is meant" : "");
    const char *slash = strrchr(path, '/');
    if (strcmp(slash ? slash + 1 : path, NI_HELPER) == 0)
        return ni_usage(ctx,
                        "`%s` is the name of the helper of --try, which is put beside the "
                        "copy: name another file",
                        NI_HELPER);
    r = ni_replace_file(path, st.st_mode, copy_self, &caps);
    if (r < 0)
        return fail_to_install(ctx, r, path, "");
    const bool capable = caps.there && caps.err == 0;
    ni_say(ctx, NI_LOG_INFO, "installed %s, mode %04o, %s", path, (unsigned)st.st_mode,
           capable ? "with its file capabilities" : "no file capabilities");
    if (caps.err != 0)
        ni_say(ctx, NI_LOG_WARN,
               "%s: without the file capabilities of this program: %s; install as root with "
               "CAP_SETFCAP, on a volume that can keep them",
               path, NI_ERRNO(caps.err));
    warn_of_mount(ctx, path, capable);
    install_helper(ctx, path);
    return 0;
}
