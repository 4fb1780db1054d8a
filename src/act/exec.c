/* SPDX-License-Identifier: Apache-2.0 */
/* The last step: the command instead of us, or why it cannot be: the kernel gives one errno for many
   reasons. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "nccl_init/act.h"

/* ---- why not ---- */

enum { HEAD = 256 }; /* BINPRM_BUF_SIZE: what the kernel looks at */

#if defined(__x86_64__)
enum { OWN_MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { OWN_MACHINE = EM_AARCH64 };
#else
enum { OWN_MACHINE = EM_NONE };
#endif

/* A file, and its beginning with a NUL behind it. */
struct program {
    int fd; /* -1: it cannot be read */
    char head[HEAD + 1];
    Elf64_Ehdr elf; /* zero for a file that does not begin with all of one */
};

static struct program open_program(const char *file)
{
    struct program p = {.fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
    ssize_t n = p.fd >= 0 ? read(p.fd, p.head, HEAD) : -1;

    if (n >= (ssize_t)sizeof(p.elf) && memcmp(p.head, ELFMAG, SELFMAG) == 0)
        memcpy(&p.elf, p.head, sizeof(p.elf));
    return p;
}

static bool is_script(const struct program *p)
{
    return ni_has_prefix(p->head, "#!");
}

/* What the kernel starts in its place: what comes behind `#!`, or the dynamic loader that a native
   ELF file names. */
static bool interpreter(const struct program *p, char buf[HEAD])
{
    enum { MAX_HEADERS = 64 };
    Elf64_Phdr ph;

    if (is_script(p)) {
        const char *path = p->head + 2 + strspn(p->head + 2, " \t");

        return ni_copyn(buf, HEAD, path, strcspn(path, " \t\n")) && *buf;
    }
    if (p->elf.e_machine != OWN_MACHINE)
        return false;
    for (unsigned i = 0; i < p->elf.e_phnum && i < MAX_HEADERS; i++) {
        off_t at = (off_t)(p->elf.e_phoff + (uint64_t)i * sizeof(ph));

        if (pread(p->fd, &ph, sizeof(ph), at) != (ssize_t)sizeof(ph))
            return false;
        if (ph.p_type != PT_INTERP)
            continue;
        if (ph.p_filesz == 0 || ph.p_filesz > HEAD ||
            pread(p->fd, buf, ph.p_filesz, (off_t)ph.p_offset) != (ssize_t)ph.p_filesz)
            return false;
        buf[ph.p_filesz - 1] = '\0';
        return true;
    }
    return false;
}

static void explain_absent(const struct program *p, struct ni_text *why)
{
    char path[HEAD];

    if (!interpreter(p, path)) {
        ni_put(why, ": its interpreter is missing");
        return;
    }
    ni_put(why, ": its interpreter `");
    ni_put_quoted(why, path, strlen(path), HEAD);
    if (!is_script(p))
        ni_put(why, "` is missing: the program was built for another libc (glibc or musl) than the "
                    "image has");
    else if (path[strlen(path) - 1] == '\r')
        ni_put(why, "` does not exist: the first line ends with CR LF; convert the file to Unix "
                    "line ends");
    else
        ni_put(why, "`, or what that one needs, is missing: install it in the image or correct the "
                    "`#!` line");
}

static void explain_format(const struct program *p, struct ni_text *why)
{
    if (p->elf.e_machine != EM_NONE && p->elf.e_machine != OWN_MACHINE)
        ni_putf(why, ": built for another architecture than this node's, which is %s",
                OWN_MACHINE == EM_X86_64 ? "x86-64" : "arm64");
    else if (p->elf.e_machine != EM_NONE || !*p->head)
        ni_put(why, ": the file is empty, damaged or no program");
    else
        ni_put(why, ": a script needs a first line like `#!/bin/sh`; or start it as `sh FILE`");
}

static void explain_denied(const char *file, struct ni_text *why)
{
    struct statvfs fs;
    struct stat st;

    if (stat(file, &st) != 0)
        ni_put(why, ": this user may not search a directory on the way");
    else if (S_ISDIR(st.st_mode))
        ni_put(why, ": it is a directory");
    else if (!S_ISREG(st.st_mode))
        ni_put(why, ": it is not a regular file");
    else if (statvfs(file, &fs) == 0 && (fs.f_flag & ST_NOEXEC) != 0)
        ni_put(why, ": the file system is mounted noexec");
    else if (access(file, X_OK) != 0)
        ni_putf(why, ": not executable for uid %u (mode %04o, owner %u): chmod +x",
                (unsigned)getuid(), (unsigned)(st.st_mode & 07777), (unsigned)st.st_uid);
    else
        ni_put(why, ": its interpreter, a directory on the way to it, or a security module denies "
                    "execution");
}

/* Bytes that a list takes; *longest: its longest entry, if that is longer than `len`. */
static size_t size_of(char *const list[], const char **longest, size_t *len)
{
    size_t sum = 0;

    for (; *list; list++) {
        size_t n = strlen(*list) + 1;

        sum += n + sizeof(*list);
        if (n > *len) {
            *len = n;
            *longest = *list;
        }
    }
    return sum;
}

static void explain_size(char *const argv[], char *const envp[], struct ni_text *why)
{
    const char *longest = "";
    size_t len = 0;
    size_t args = size_of(argv, &longest, &len);
    size_t env = size_of(envp, &longest, &len);

    ni_putf(why, ": %zu bytes of arguments and %zu of environment, the longest (%zu) beginning `",
            args, env, len);
    ni_put_quoted(why, longest, len, 24);
    ni_put(why, "`; one may have 128 KiB, all together a quarter of the stack limit");
}

/* The errors after which execvp(3) goes on with the next element, EACCES apart (glibc
   posix/execvpe.c; musl goes on after the first two). */
static bool is_absence(int err)
{
    return err == ENOENT || err == ENOTDIR || err == ESTALE || err == ENODEV || err == ETIMEDOUT;
}

/* Puts the reason why execve(file) failed with err, and what to do, on `why`. The exit status. */
static int explain(int err, const char *file, char *const argv[], char *const envp[],
                   struct ni_text *why)
{
    struct program p = open_program(file);

    ni_put(why, "`");
    ni_put_quoted(why, file, strlen(file), 256);
    ni_putf(why, "`: %s", ni_errno_text(err));
    if (err == ENOENT)
        explain_absent(&p, why);
    else if (err == ENOEXEC)
        explain_format(&p, why);
    else if (err == EACCES)
        explain_denied(file, why);
    else if (err == E2BIG)
        explain_size(argv, envp, why);
    else if (err == EPERM)
        ni_put(why, ": file capabilities beyond the container's bounding set, or a seccomp filter");
    else if (err == ETXTBSY)
        ni_put(why, ": another process has it open for writing");
    if (p.fd >= 0)
        (void)close(p.fd);
    return is_absence(err) ? NI_EXIT_NOT_FOUND : NI_EXIT_NOT_EXECUTABLE;
}

/* ---- exec ---- */

/* musl's default; glibc's confstr(_CS_PATH) lacks /usr/local/bin, where images put their own
   programs. */
static const char default_path[] = "/usr/local/bin:/bin:/usr/bin";

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

/* Tries each directory of PATH. The error that counts, with its file: of a file that is there, and of
   those that may not be executed the first. 0: nothing but files that are not there. */
static int search(const char *path, char *const argv[], char *const envp[], char ret[PATH_MAX])
{
    struct ni_span dir;
    char file[PATH_MAX];
    int err = 0;

    while ((err == 0 || err == EACCES) && ni_split(&path, ':', &dir)) {
        if (!join(file, sizeof(file), dir, argv[0]))
            continue; /* longer than any path the kernel takes */
        execve(file, argv, envp);
        if (is_absence(errno) || err == errno)
            continue;
        err = errno;
        (void)ni_copy(ret, PATH_MAX, file);
    }
    return err;
}

/* A file that is there, though execve said ENOENT: what it needs, its interpreter, is not. execvp
   goes on behind it; it is only looked for when all else failed. */
static bool search_crippled(const char *path, const char *name, char ret[PATH_MAX])
{
    struct ni_span dir;

    while (ni_split(&path, ':', &dir))
        if (join(ret, PATH_MAX, dir, name) && access(ret, F_OK) == 0)
            return true;
    return false;
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

int ni_exec(char *const argv[], char *const envp[], struct ni_text *why)
{
    const struct ni_env env = {.entry = envp};
    const char *path = ni_env_get(&env, "PATH");
    char file[PATH_MAX];
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
        return explain(err, argv[0], argv, envp, why);
    }
    if (strlen(argv[0]) > NAME_MAX)
        return explain(ENAMETOOLONG, argv[0], argv, envp, why);
    if (!path)
        path = default_path;
    err = search(path, argv, envp, file);
    if (err == 0 && search_crippled(path, argv[0], file))
        err = ENOENT;
    return err != 0 ? explain(err, file, argv, envp, why) : not_found(argv[0], path, why);
}
