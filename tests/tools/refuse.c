/*
 * refuse ERROR CALL[,CALL...] COMMAND [ARG...]: run COMMAND where these system calls fail with ERROR, as under a seccomp
 * profile that does not know them (EPERM: container runtimes of old; ENOSYS: those of today, kernels of old). execve of
 * COMMAND itself is done before it would matter: do not name execve. ERROR and CALL are names below; with KILL the call
 * kills as SIGKILL does, and with ZERO it does nothing and answers 0.
 *
 * With REFUSE_AS_ROOT in the environment no_new_privs is not set: CAP_SYS_ADMIN must do.
 *
 * Exit status 77: no filter can be set here, or this architecture has no such call.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { EXIT_USAGE = 125, EXIT_NO_EXEC = 126, EXIT_SKIP = 77, MAX_CALLS = 64 };

/* linux/filter.h, linux/seccomp.h and linux/audit.h, which musl-gcc does not see. */
struct insn {
    uint16_t code;
    uint8_t jt, jf;
    uint32_t k;
};
enum { LOAD = 0x20, JUMP_EQUAL = 0x15, RETURN = 0x06 };
enum { NUMBER = 0, ARCH = 4 }; /* offsets in struct seccomp_data */
enum { SET_MODE_FILTER = 1 };
#define RET_ERRNO 0x00050000U
#define RET_ALLOW 0x7fff0000U
#define RET_KILL  0x80000000U /* the process */
#if defined(__x86_64__)
#define THIS_ARCH 0xc000003eU /* AUDIT_ARCH_X86_64 */
#elif defined(__aarch64__)
#define THIS_ARCH 0xc00000b7U /* AUDIT_ARCH_AARCH64 */
#else
#error "which architecture?"
#endif

struct word {
    const char *name;
    long number;
};

/* Those of arm64 that x86-64 has too; the old forms are x86-64's alone. */
static const struct word calls[] = {
#ifdef SYS_open
    {"access", SYS_access},
    {"arch_prctl", SYS_arch_prctl},
    {"lstat", SYS_lstat},
    {"open", SYS_open},
    {"pipe", SYS_pipe},
    {"poll", SYS_poll},
    {"readlink", SYS_readlink},
    {"rename", SYS_rename},
    {"stat", SYS_stat},
    {"fork", SYS_fork},
#endif
    {"brk", SYS_brk},
    {"capget", SYS_capget},
    {"capset", SYS_capset},
    {"clock_gettime", SYS_clock_gettime},
    {"clock_nanosleep", SYS_clock_nanosleep},
    {"clone", SYS_clone},
    {"clone3", 435},
    {"close", SYS_close},
    {"close_range", 436},
    {"dup3", SYS_dup3},
    {"faccessat", SYS_faccessat},
    {"faccessat2", 439},
    {"fchmod", SYS_fchmod},
    {"fcntl", SYS_fcntl},
    {"fgetxattr", SYS_fgetxattr},
    {"fsetxattr", SYS_fsetxattr},
    {"fstat", SYS_fstat},
    {"fsync", SYS_fsync},
    {"getdents64", SYS_getdents64},
    {"getegid", SYS_getegid},
    {"geteuid", SYS_geteuid},
    {"getpid", SYS_getpid},
    {"getppid", SYS_getppid},
    {"getrandom", SYS_getrandom},
    {"getrlimit", SYS_getrlimit},
    {"gettid", SYS_gettid},
    {"ioctl", SYS_ioctl},
    {"kill", SYS_kill},
    {"linkat", SYS_linkat},
    {"lseek", SYS_lseek},
    {"memfd_create", SYS_memfd_create},
    {"mmap", SYS_mmap},
    {"mprotect", SYS_mprotect},
    {"munmap", SYS_munmap},
    {"nanosleep", SYS_nanosleep},
    {"newfstatat", SYS_newfstatat},
    {"openat", SYS_openat},
    {"openat2", 437},
    {"pipe2", SYS_pipe2},
    {"ppoll", SYS_ppoll},
    {"prctl", SYS_prctl},
    {"pread64", SYS_pread64},
    {"prlimit64", SYS_prlimit64},
    {"read", SYS_read},
    {"readlinkat", SYS_readlinkat},
    {"readv", SYS_readv},
    {"renameat", SYS_renameat},
    {"renameat2", SYS_renameat2},
    {"rt_sigaction", SYS_rt_sigaction},
    {"rt_sigprocmask", SYS_rt_sigprocmask},
    {"rt_sigtimedwait", SYS_rt_sigtimedwait},
    {"setrlimit", SYS_setrlimit},
    {"set_tid_address", SYS_set_tid_address},
    {"socket", SYS_socket},
    {"statfs", SYS_statfs},
    {"statx", SYS_statx},
    {"uname", SYS_uname},
    {"unlinkat", SYS_unlinkat},
    {"wait4", SYS_wait4},
    {"write", SYS_write},
    {"writev", SYS_writev},
};

enum { KILL = 1 << 12 };
static const struct word errors[] = {
    {"EACCES", EACCES}, {"EDQUOT", EDQUOT}, {"EINTR", EINTR},   {"EINVAL", EINVAL},
    {"EIO", EIO},       {"ENOMEM", ENOMEM}, {"ENOSPC", ENOSPC}, {"ENOSYS", ENOSYS},
    {"EPERM", EPERM},   {"KILL", KILL},     {"ZERO", 0},
};

static long find(const struct word *words, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(words[i].name, name) == 0)
            return words[i].number;
    return -1;
}

/* Seccomp's own call and not prctl's: that one may be among the refused. */
static int filter(const long *numbers, size_t n, uint32_t err)
{
    struct insn code[4 + MAX_CALLS + 1];
    size_t at = 0;

    code[at++] = (struct insn){LOAD, 0, 0, ARCH};
    code[at++] = (struct insn){JUMP_EQUAL, 1, 0, THIS_ARCH};
    code[at++] = (struct insn){RETURN, 0, 0, RET_ALLOW};
    code[at++] = (struct insn){LOAD, 0, 0, NUMBER};
    for (size_t i = 0; i < n; i++) /* to the last but one, which is behind the return below */
        code[at++] = (struct insn){JUMP_EQUAL, (uint8_t)(n - i), 0, (uint32_t)numbers[i]};
    struct insn tail[] = {{RETURN, 0, 0, RET_ALLOW},
                          {RETURN, 0, 0, err == KILL ? RET_KILL : RET_ERRNO | err}};
    struct insn all[sizeof(code) / sizeof(code[0]) + 2];
    memcpy(all, code, at * sizeof(code[0]));
    memcpy(all + at, tail, sizeof(tail));
    struct {
        unsigned short len;
        struct insn *filter;
    } program = {(unsigned short)(at + 2), all};

    if (!getenv("REFUSE_AS_ROOT") && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -1;
    return (int)syscall(SYS_seccomp, SET_MODE_FILTER, 0, &program);
}

int main(int argc, char *argv[])
{
    long numbers[MAX_CALLS];
    size_t n = 0;

    if (argc < 4) {
        fprintf(stderr, "usage: refuse ERROR CALL[,CALL...] COMMAND [ARG...]\n");
        return EXIT_USAGE;
    }
    long err = find(errors, sizeof(errors) / sizeof(errors[0]), argv[1]);
    if (err < 0) {
        fprintf(stderr, "refuse: no error %s\n", argv[1]);
        return EXIT_USAGE;
    }
    for (char *name = strtok(argv[2], ","); name && n < MAX_CALLS; name = strtok(NULL, ",")) {
        numbers[n] = find(calls, sizeof(calls) / sizeof(calls[0]), name);
        if (numbers[n] < 0) {
            fprintf(stderr, "refuse: no call %s here\n", name);
            return EXIT_SKIP;
        }
        n++;
    }
    if (filter(numbers, n, (uint32_t)err) < 0) {
        fprintf(stderr, "refuse: no filter can be set: %s\n", strerror(errno));
        return EXIT_SKIP;
    }
    execv(argv[3], &argv[3]);
    fprintf(stderr, "refuse: %s: %s\n", argv[3], strerror(errno));
    return EXIT_NO_EXEC;
}
