/* SPDX-License-Identifier: Apache-2.0 */
/* Why a file could not be executed: the kernel gives one errno for many reasons. */
#include "explain.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { HEAD = 256 }; /* BINPRM_BUF_SIZE: what the kernel looks at */

struct head {
    char at[HEAD];
    size_t n;
};

static void put(struct ni_text *why, const char *s)
{
    ni_put_quoted(why, s, strlen(s), 256);
}

static bool starts_with(const struct head *h, const char *magic, size_t n)
{
    return h->n >= n && memcmp(h->at, magic, n) == 0;
}

/* What comes behind `#!`, up to a blank or the end of the line. */
static bool script_interpreter(const struct head *h, struct ni_span *ret)
{
    const char *end = h->at + h->n;
    const char *p = h->at + 2;

    if (!starts_with(h, "#!", 2))
        return false;
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    ret->p = p;
    while (p < end && *p != ' ' && *p != '\t' && *p != '\n' && *p != '\0')
        p++;
    ret->n = (size_t)(p - ret->p);
    return ret->n > 0;
}

static bool is_native_elf(const Elf64_Ehdr *eh)
{
    const unsigned order = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;

    return memcmp(eh->e_ident, ELFMAG, SELFMAG) == 0 && eh->e_ident[EI_CLASS] == ELFCLASS64 &&
           eh->e_ident[EI_DATA] == order;
}

/* The dynamic loader that a native ELF file names. */
static bool elf_interpreter(int fd, const struct head *h, char *buf, size_t cap)
{
    enum { MAX_HEADERS = 64 };
    Elf64_Ehdr eh;
    Elf64_Phdr ph;

    if (h->n < sizeof(eh))
        return false;
    memcpy(&eh, h->at, sizeof(eh));
    if (!is_native_elf(&eh))
        return false;
    for (unsigned i = 0; i < eh.e_phnum && i < MAX_HEADERS; i++) {
        off_t at = (off_t)(eh.e_phoff + (uint64_t)i * sizeof(ph));

        if (pread(fd, &ph, sizeof(ph), at) != (ssize_t)sizeof(ph))
            return false;
        if (ph.p_type != PT_INTERP)
            continue;
        if (ph.p_filesz == 0 || ph.p_filesz > cap ||
            pread(fd, buf, ph.p_filesz, (off_t)ph.p_offset) != (ssize_t)ph.p_filesz)
            return false;
        buf[ph.p_filesz - 1] = '\0';
        return true;
    }
    return false;
}

static const char *machine_name(unsigned machine)
{
    static const struct {
        unsigned machine;
        const char *name;
    } names[] = {
        {EM_386, "32-bit x86"}, {EM_ARM, "32-bit arm"}, {EM_X86_64, "x86-64"},
        {EM_AARCH64, "arm64"},  {EM_PPC64, "ppc64"},    {EM_S390, "s390x"},
        {EM_RISCV, "riscv"},
    };

    for (size_t i = 0; i < NI_COUNT(names); i++)
        if (names[i].machine == machine)
            return names[i].name;
    return "another machine";
}

#if defined(__x86_64__)
enum { OWN_MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { OWN_MACHINE = EM_AARCH64 };
#else
enum { OWN_MACHINE = EM_NONE };
#endif

static void explain_interpreter(int fd, const struct head *h, struct ni_text *why)
{
    char interpreter[HEAD];
    struct ni_span s;

    if (script_interpreter(h, &s)) {
        (void)ni_copyn(interpreter, sizeof(interpreter), s.p, s.n);
        ni_put(why, ": its interpreter `");
        put(why, interpreter);
        if (s.p[s.n - 1] == '\r')
            ni_put(why, "` does not exist: the first line ends with CR LF; convert the file to "
                        "Unix line ends");
        else
            ni_put(why, "`, or what that one needs, is missing: install it in the image or correct "
                        "the `#!` line");
    } else if (elf_interpreter(fd, h, interpreter, sizeof(interpreter))) {
        ni_put(why, ": its loader `");
        put(why, interpreter);
        ni_put(why, "` is missing: the program was built for another libc (glibc or musl) than the "
                    "image has");
    } else {
        ni_put(why, ": its interpreter is missing");
    }
}

static void explain_format(const struct head *h, struct ni_text *why)
{
    uint16_t machine;

    if (h->n == 0) {
        ni_put(why, ": the file is empty or cannot be read");
    } else if (starts_with(h, ELFMAG, SELFMAG) && h->n >= sizeof(Elf64_Ehdr)) {
        /* e_machine lies at the same place in ELF32 and ELF64. */
        memcpy(&machine, h->at + offsetof(Elf64_Ehdr, e_machine), sizeof(machine));
        if (h->at[EI_DATA] == ELFDATA2MSB && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
            machine = (uint16_t)(machine >> 8 | machine << 8);
        if (machine != OWN_MACHINE)
            ni_putf(why, ": built for %s, this node is %s: use an image for this architecture",
                    machine_name(machine), machine_name(OWN_MACHINE));
        else
            ni_put(why, ": a damaged or cut-off program file");
    } else if (starts_with(h, "#!", 2)) {
        ni_put(why, ": its `#!` line names no interpreter, or is too long");
    } else if (memchr(h->at, '\0', h->n)) {
        ni_put(why, ": neither a program nor a script");
    } else {
        ni_put(why, ": a script needs a first line like `#!/bin/sh`; or start it as `sh FILE`");
    }
}

/* The first thing on the way to the interpreter that denies execution. */
static void explain_denied_interpreter(const struct head *h, struct ni_text *why)
{
    char interpreter[HEAD];
    struct ni_span s;

    if (script_interpreter(h, &s) && ni_copyn(interpreter, sizeof(interpreter), s.p, s.n) &&
        access(interpreter, X_OK) != 0) {
        ni_put(why, ": its interpreter `");
        put(why, interpreter);
        ni_put(why, "` may not be executed");
    } else {
        ni_put(why, ": access denied (a directory on the way, or a security module)");
    }
}

static void explain_denied(const char *file, const struct head *h, struct ni_text *why)
{
    struct statvfs fs;
    struct stat st;

    if (stat(file, &st) != 0)
        ni_put(why, ": a directory on the way may not be searched by this user");
    else if (S_ISDIR(st.st_mode))
        ni_put(why, ": is a directory");
    else if (!S_ISREG(st.st_mode))
        ni_put(why, ": is no regular file");
    else if (statvfs(file, &fs) == 0 && (fs.f_flag & ST_NOEXEC) != 0)
        ni_put(why, ": lies on a file system mounted noexec");
    else if (access(file, X_OK) != 0)
        ni_putf(why, ": not executable for uid %u (mode %04o, owner %u): chmod +x",
                (unsigned)getuid(), (unsigned)(st.st_mode & 07777), (unsigned)st.st_uid);
    else
        explain_denied_interpreter(h, why);
}

static size_t bytes_of(char *const list[], const char **ret_longest, size_t *ret_longest_len)
{
    size_t sum = 0;

    for (; *list; list++) {
        size_t n = strlen(*list) + 1;

        sum += n + sizeof(*list);
        if (n > *ret_longest_len) {
            *ret_longest_len = n;
            *ret_longest = *list;
        }
    }
    return sum;
}

static void explain_size(char *const argv[], char *const envp[], struct ni_text *why)
{
    const char *longest = "";
    size_t len = 0;
    size_t args = bytes_of(argv, &longest, &len);
    size_t env = bytes_of(envp, &longest, &len);

    ni_putf(why, ": %zu bytes of arguments and %zu of environment, the longest (%zu) beginning `",
            args, env, len);
    ni_put_quoted(why, longest, strlen(longest), 24);
    ni_put(why, "`; one may have 128 KiB, all together a quarter of the stack limit");
}

static const char *fixed_hint(int err)
{
    switch (err) {
    case EPERM:
        return ": file capabilities beyond the container's bounding set, or a seccomp filter";
    case ETXTBSY:
        return ": another process has it open for writing";
    case ELOOP:
        return ": symbolic links or interpreters in a circle";
    default:
        return "";
    }
}

void ni_explain(int err, const char *file, char *const argv[], char *const envp[],
                struct ni_text *why)
{
    struct head h = {.n = 0};
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    ssize_t n = fd >= 0 ? read(fd, h.at, sizeof(h.at)) : -1;

    if (n > 0)
        h.n = (size_t)n;
    ni_put(why, "`");
    put(why, file);
    ni_putf(why, "`: %s", ni_errno_text(err));
    if (err == ENOENT)
        explain_interpreter(fd, &h, why);
    else if (err == ENOEXEC)
        explain_format(&h, why);
    else if (err == EACCES)
        explain_denied(file, &h, why);
    else if (err == E2BIG)
        explain_size(argv, envp, why);
    else
        ni_put(why, fixed_hint(err));
    if (fd >= 0)
        close(fd);
}
