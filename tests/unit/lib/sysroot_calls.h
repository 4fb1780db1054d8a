/* SPDX-License-Identifier: Apache-2.0 */
/* The system calls of the door, put in the place of libc's by the linker (--wrap,
   tests/CMakeLists.txt): one of them fails, or does less than was asked. */
#ifndef TEST_DOOR_CALLS_H
#define TEST_DOOR_CALLS_H

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_openat2 /* the headers of musl-gcc */
#define SYS_openat2 437
#endif

enum call { READ, OPENAT, OPENAT2, GETDENTS, READLINKAT, FSTATAT, FSTAT, CLOSE, CALLS };

enum { FOREVER = 1 << 20 };

/* The calls of one kind that fail: from the first, from 1 on, as many as times. */
static struct {
    bool armed;
    enum call call;
    unsigned first, times;
    int err;
    size_t most; /* a read gives no more bytes at once; 0: as many as there are */
} fault;
static unsigned calls[CALLS];

/* Whether this call fails; errno is set then. */
static inline bool fails(enum call call)
{
    if (!fault.armed)
        return false;
    unsigned n = ++calls[call];
    if (call != fault.call || n < fault.first || n - fault.first >= fault.times)
        return false;
    errno = fault.err;
    return true;
}

/* The linker's names: __real_X is X, and who calls X gets __wrap_X. */
#define WRAPPED(type, name, ...)     \
    type __real_##name(__VA_ARGS__); \
    type __wrap_##name(__VA_ARGS__)

WRAPPED(ssize_t, read, int fd, void *buf, size_t n);
WRAPPED(int, openat, int dir, const char *path, int flags, ...);
WRAPPED(long, syscall, long number, ...);
WRAPPED(ssize_t, readlinkat, int dir, const char *path, char *buf, size_t n);
WRAPPED(int, fstatat, int dir, const char *path, struct stat *ret, int flags);
WRAPPED(int, fstat, int fd, struct stat *ret);
WRAPPED(int, close, int fd);

ssize_t __wrap_read(int fd, void *buf, size_t n)
{
    if (fails(READ))
        return -1;
    return __real_read(fd, buf, fault.armed && fault.most && n > fault.most ? fault.most : n);
}

int __wrap_openat(int dir, const char *path, int flags, ...)
{
    int mode = 0;
    va_list ap;

    if (flags & O_CREAT) { /* the test's own files */
        va_start(ap, flags);
        mode = va_arg(ap, int);
        va_end(ap);
    }
    return fails(OPENAT) ? -1 : __real_openat(dir, path, flags, mode);
}

/* Nobody else in this program uses the function; libc makes its own calls without it. */
long __wrap_syscall(long number, ...)
{
    va_list ap;
    long r = -1;

    va_start(ap, number);
    int fd = va_arg(ap, int);
    void *p = va_arg(ap, void *);
    if (number == SYS_openat2) {
        void *how = va_arg(ap, void *);
        size_t n = va_arg(ap, size_t);
        if (!fails(OPENAT2))
            r = __real_syscall(number, fd, p, how, n);
    } else if (number == SYS_getdents64) {
        size_t n = va_arg(ap, size_t);
        if (!fails(GETDENTS))
            r = __real_syscall(number, fd, p, n);
    } else {
        abort();
    }
    va_end(ap);
    return r;
}

ssize_t __wrap_readlinkat(int dir, const char *path, char *buf, size_t n)
{
    return fails(READLINKAT) ? -1 : __real_readlinkat(dir, path, buf, n);
}

int __wrap_fstatat(int dir, const char *path, struct stat *ret, int flags)
{
    return fails(FSTATAT) ? -1 : __real_fstatat(dir, path, ret, flags);
}

int __wrap_fstat(int fd, struct stat *ret)
{
    return fails(FSTAT) ? -1 : __real_fstat(fd, ret);
}

/* Linux has freed the descriptor, whatever close() then says (close(2)). The errno of the call before
   is gone. */
int __wrap_close(int fd)
{
    int r = __real_close(fd);

    errno = fault.armed ? 0 : errno;
    return fails(CLOSE) ? -1 : r;
}

/* From now on, until fault.armed is false. */
static inline void arm(enum call call, unsigned first, unsigned times, int err)
{
    memset(calls, 0, sizeof(calls));
    fault.call = call;
    fault.first = first;
    fault.times = times;
    fault.err = err;
    fault.most = 0;
    fault.armed = true;
}

#endif
