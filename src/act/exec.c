/* SPDX-License-Identifier: Apache-2.0 */
/* The last step: the command instead of us. */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "explain.h"
#include "nccl_init/act.h"

/* musl's default; glibc's confstr(_CS_PATH) lacks /usr/local/bin, where images put their own
   programs. */
static const char default_path[] = "/usr/local/bin:/bin:/usr/bin";

/* What the walk through PATH met. */
struct walk {
    int err; /* 0: nothing but files that are not there */
    /* the file that err is about; else one that exists though execve says ENOENT, or "" */
    char file[PATH_MAX];
};

/* The errors after which execvp(3) goes on with the next element, EACCES apart (glibc
   posix/execvpe.c; musl goes on after the first two). */
static bool is_absence(int err)
{
    return err == ENOENT || err == ENOTDIR || err == ESTALE || err == ENODEV || err == ETIMEDOUT;
}

/* dir/name, or name alone for an empty element, which is the working directory. */
static bool join(char *buf, size_t cap, struct ni_span dir, const char *name)
{
    struct ni_text t = ni_text_on(buf, cap);

    ni_putn(&t, dir.p, dir.n);
    if (dir.n > 0)
        ni_put(&t, "/");
    ni_put(&t, name);
    return !t.cut;
}

static void search(const char *path, char *const argv[], char *const envp[], struct walk *w)
{
    struct ni_span dir;
    char file[PATH_MAX];

    w->err = 0;
    w->file[0] = '\0';
    while (ni_split(&path, ':', &dir)) {
        if (!join(file, sizeof(file), dir, argv[0]))
            continue; /* longer than any path the kernel takes */
        execve(file, argv, envp);
        if (is_absence(errno))
            continue;
        if (errno == EACCES) {
            if (w->err == 0)
                (void)ni_copy(w->file, sizeof(w->file), file);
            w->err = EACCES;
        } else {
            w->err = errno;
            (void)ni_copy(w->file, sizeof(w->file), file);
            return;
        }
    }
}

/* A file that is there, though execve said ENOENT: what it needs, its interpreter, is not. execvp
   goes on behind it; it is only looked for when all else failed. */
static void search_crippled(const char *path, const char *name, struct walk *w)
{
    struct ni_span dir;

    while (ni_split(&path, ':', &dir))
        if (join(w->file, sizeof(w->file), dir, name) && access(w->file, F_OK) == 0)
            return;
    w->file[0] = '\0';
}

static int not_found(const char *name, const char *path, struct ni_text *why)
{
    ni_put(why, "`");
    ni_put_quoted(why, name, strlen(name), 256);
    if (path) {
        ni_put(why, "` is in no directory of PATH (");
        ni_put_quoted(why, path, strlen(path), 512);
        ni_put(why, "): is it installed in this image?");
    } else {
        ni_put(why, "` does not exist");
    }
    return NI_EXIT_NOT_FOUND;
}

static int failed(int err, const char *file, char *const argv[], char *const envp[],
                  struct ni_text *why)
{
    ni_explain(err, file, argv, envp, why);
    return is_absence(err) ? NI_EXIT_NOT_FOUND : NI_EXIT_NOT_EXECUTABLE;
}

int ni_exec(char *const argv[], char *const envp[], struct ni_text *why)
{
    const struct ni_env env = {.entry = envp};
    const char *path = ni_env_get(&env, "PATH");
    struct walk w;
    int err;

    if (!argv[0] || argv[0][0] == '\0') {
        ni_put(why, "the name of the command is empty");
        return NI_EXIT_NOT_FOUND;
    }
    if (strchr(argv[0], '/')) {
        execve(argv[0], argv, envp);
        err = errno;
        if (is_absence(err) && access(argv[0], F_OK) != 0)
            return not_found(argv[0], NULL, why);
        return failed(err, argv[0], argv, envp, why);
    }
    if (strlen(argv[0]) > NAME_MAX)
        return failed(ENAMETOOLONG, argv[0], argv, envp, why);
    if (!path)
        path = default_path;
    search(path, argv, envp, &w);
    if (w.err != 0)
        return failed(w.err, w.file, argv, envp, why);
    search_crippled(path, argv[0], &w);
    if (w.file[0] != '\0')
        return failed(ENOENT, w.file, argv, envp, why);
    return not_found(argv[0], path, why);
}
