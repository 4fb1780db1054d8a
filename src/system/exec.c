/* SPDX-License-Identifier: Apache-2.0 */
/* The last step: the environment of the command, and the exec. If it fails: the reason, because
   the kernel gives one errno for many reasons. */
#include "system/exec.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "nccl_init/env.h"
#include "nccl_init/errno.h"
#include "nccl_init/plan.h"
#include "nccl_init/text.h"

char *const *ni_command_env(const struct ni_env *env, const struct ni_plan *plan)
{
    const unsigned n_setting = plan ? plan->n_setting : 0;
    size_t n = 0, size = 0;
    char **list; /* the texts of the settings follow */
    char *text;

    while (env->entry[n])
        n++;
    for (unsigned i = 0; i < n_setting; i++)
        size += strlen(plan->setting[i].name) + strlen(plan->setting[i].value) + sizeof("=");
    /* One call; the first malloc of musl 1.2.3 takes four. */
    list = mmap(NULL, (n + n_setting + 1) * sizeof(*list) + size, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (list == MAP_FAILED)
        return NULL;
    text = (char *)(list + n + n_setting + 1);
    n = 0;
    /* our own variables are left out; an entry without '=' is no variable, and stays */
    for (char *const *e = env->entry; *e; e++)
        if (!ni_has_prefix(*e, NI_OWN_PREFIX) || !strchr(*e, '='))
            list[n++] = *e;
    for (unsigned i = 0; i < n_setting; i++) {
        const struct ni_setting *s = &plan->setting[i];
        struct ni_text t;

        if (s->origin != NI_FROM_RULE)
            continue;
        t = ni_text_on(text, size);
        ni_putf(&t, "%s=%s", s->name, s->value);
        list[n++] = text;
        text += t.len + 1;
        size -= t.len + 1;
    }
    list[n] = NULL;
    return list;
}

/* ---- why not ---- */

#ifdef __aarch64__
static const Elf64_Half own_machine = EM_AARCH64;
#else
static const Elf64_Half own_machine = EM_X86_64;
#endif

/* Returns advice for the errno. head: the first bytes of the file. */
static const char *advice(int err, const char *file, const char *head)
{
    struct statvfs fs;
    struct stat st;
    Elf64_Half machine;

    switch (err) {
    case ENOENT:
        if (!*head) /* the file cannot be read */
            return "its interpreter or loader is missing";
        if (!ni_has_prefix(head, "#!"))
            return "its loader is missing: the program was built for another libc (glibc or musl) "
                   "than the image has";
        head += 2 + strspn(head + 2, " \t"); /* a CR after it belongs to the argument */
        return head[strcspn(head, " \t\r\n")] == '\r'
                   ? "its first line ends in CR LF, and the CR counts as part of the interpreter's "
                     "name: "
                     "convert it to Unix line ends"
                   : "its interpreter, or what that needs, is missing: install it in the image, or "
                     "correct the first line";
    case ENOEXEC:
        memcpy(&machine, head + offsetof(Elf64_Ehdr, e_machine), sizeof(machine));
        if (ni_has_prefix(head, ELFMAG)) /* the header ends before the machine type */
            return machine != EM_NONE && machine != own_machine
                       ? "the program was built for an architecture other than this node's"
                       : "the program is damaged";
        return "it is not a program; a script needs a first line like `#!/bin/sh`, or start it as "
               "`sh FILE`";
    case EACCES:
        if (stat(file, &st) != 0)
            return "this user may not search a directory on its path";
        if (!S_ISREG(st.st_mode))
            return S_ISDIR(st.st_mode) ? "it is a directory" : "it is not a regular file";
        if (statvfs(file, &fs) == 0 && (fs.f_flag & ST_NOEXEC) != 0)
            return "the file system is mounted noexec";
        return access(file, X_OK) != 0 ? "not executable for this user: chmod +x"
                                       : "its interpreter, a directory on the way to it, or a "
                                         "security module denies execution";
    case E2BIG:
        return "one argument or variable may have at most 128 KiB, all together a quarter of the "
               "stack limit (ulimit -s)";
    case EPERM:
        return "file capabilities beyond the container's bounding set, or a seccomp filter";
    default:
        return NULL;
    }
}

/* Returns true for errors after which execvp(3) goes on with the next element, EACCES apart (glibc
   posix/execvpe.c; musl goes on after the first two). */
static bool is_absence(int err)
{
    return err == ENOENT || err == ENOTDIR || err == ESTALE || err == ENODEV || err == ETIMEDOUT;
}

/* Puts the reason why execve(file) failed with err, and what to do, on `why`. The exit status. */
static int explain_exec(int err, const char *file, struct ni_text *why)
{
    char head[257] = ""; /* BINPRM_BUF_SIZE bytes, which the kernel reads, and a NUL */
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd >= 0 && read(fd, head, sizeof(head) - 1) < 0)
        head[0] = '\0';
    if (fd >= 0)
        (void)close(fd);
    const char *what_to_do = advice(err, file, head);
    ni_put(why, "`");
    ni_put_quoted(why, file, strlen(file), 256);
    ni_put(why, "`");
    if (ni_has_prefix(head, "#!")) {
        ni_put(why, " (`");
        ni_put_quoted(why, head, strcspn(head, "\n"), sizeof(head));
        ni_put(why, "`)");
    }
    ni_putf(why, ": %s", NI_ERRNO(err));
    if (what_to_do)
        ni_putf(why, ": %s", what_to_do);
    return is_absence(err) ? NI_EXIT_NOT_FOUND : NI_EXIT_NOT_EXECUTABLE;
}

/* ---- exec ---- */

/* musl's default; glibc's confstr(_CS_PATH) lacks /usr/local/bin, where images put their own
   programs. */
static const char default_path[] = "/usr/local/bin:/bin:/usr/bin";

/* Makes dir/name, or name alone for an empty element, which is the working directory. false: it is
   longer than any path of the kernel. */
static bool join_dir(char ret[PATH_MAX], struct ni_span dir, const char *name)
{
    return ni_format(ret, PATH_MAX, "%.*s%s%s", (int)dir.n, dir.p, dir.n > 0 ? "/" : "", name);
}

/* Tries each directory of PATH. Returns the error that counts, with its file: that of a file that
   exists; of files that may not be executed the first. ENOENT for an existing file means that its
   interpreter is absent; execvp goes on after it, so it is looked for only when all else failed. 0:
   no directory has the file. */
static int search(const char *path, char *const argv[], char *const envp[], char ret[PATH_MAX])
{
    const char *rest = path;
    struct ni_span dir;
    char file[PATH_MAX];
    int err = 0;

    while ((err == 0 || err == EACCES) && ni_split(&rest, ':', &dir)) {
        if (!join_dir(file, dir, argv[0]))
            continue;
        execve(file, argv, envp);
        if (is_absence(errno) || err == errno)
            continue;
        err = errno;
        (void)ni_copy(ret, PATH_MAX, file);
    }
    while (err == 0 && ni_split(&path, ':', &dir))
        if (join_dir(ret, dir, argv[0]) && access(ret, F_OK) == 0)
            err = ENOENT;
    return err;
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

int ni_exec(char *const argv[], char *const envp[], struct ni_text *why, bool *too_big)
{
    const struct ni_env env = {.entry = envp};
    const char *path = ni_env_get(&env, "PATH");
    char file[PATH_MAX];
    int err;

    *too_big = false;
    if (!argv[0] || argv[0][0] == '\0') {
        ni_put(why, "the name of the command is empty");
        return NI_EXIT_NOT_FOUND;
    }
    if (strchr(argv[0], '/')) {
        execve(argv[0], argv, envp);
        err = errno;
        *too_big = err == E2BIG;
        if (is_absence(err) && access(argv[0], F_OK) != 0)
            return not_found(argv[0], NULL, why);
        return explain_exec(err, argv[0], why);
    }
    if (!path)
        path = default_path;
    err = search(path, argv, envp, file);
    *too_big = err == E2BIG;
    return err != 0 ? explain_exec(err, file, why) : not_found(argv[0], path, why);
}
