/* SPDX-License-Identifier: Apache-2.0 */
/* Errors by name, for the `e` lines of a .tree file and for reports, and in words for people. */
#include <errno.h>

#include "nccl_init/core.h"

#define NAMED(e) \
    {            \
#e, e    \
    }

/* What a file system, a driver, a security module or the RDMA core give. */
static const struct {
    const char *name;
    int err;
} names[] = {
    NAMED(E2BIG),         NAMED(EACCES),       NAMED(EADDRINUSE),
    NAMED(EADDRNOTAVAIL), NAMED(EAFNOSUPPORT), NAMED(EAGAIN),
    NAMED(EBADF),         NAMED(EBADMSG),      NAMED(EBUSY),
    NAMED(ECANCELED),     NAMED(ECHILD),       NAMED(ECONNREFUSED),
    NAMED(ECONNRESET),    NAMED(EDEADLK),      NAMED(EDOM),
    NAMED(EDQUOT),        NAMED(EEXIST),       NAMED(EFAULT),
    NAMED(EFBIG),         NAMED(EHOSTDOWN),    NAMED(EHOSTUNREACH),
    NAMED(EILSEQ),        NAMED(EINTR),        NAMED(EINVAL),
    NAMED(EIO),           NAMED(EISDIR),       NAMED(ELOOP),
    NAMED(EMFILE),        NAMED(EMLINK),       NAMED(EMSGSIZE),
    NAMED(ENAMETOOLONG),  NAMED(ENETDOWN),     NAMED(ENETUNREACH),
    NAMED(ENFILE),        NAMED(ENOBUFS),      NAMED(ENODATA),
    NAMED(ENODEV),        NAMED(ENOENT),       NAMED(ENOEXEC),
    NAMED(ENOKEY),        NAMED(ENOLCK),       NAMED(ENOLINK),
    NAMED(ENOMEM),        NAMED(ENOSPC),       NAMED(ENOSYS),
    NAMED(ENOTBLK),       NAMED(ENOTCONN),     NAMED(ENOTDIR),
    NAMED(EOPNOTSUPP),    NAMED(ENOTSUP),      NAMED(ENOTTY),
    NAMED(ENXIO),         NAMED(EOVERFLOW),    NAMED(EPERM),
    NAMED(EPIPE),         NAMED(EPROTO),       NAMED(EPROTONOSUPPORT),
    NAMED(ERANGE),        NAMED(EREMOTEIO),    NAMED(EROFS),
    NAMED(ESHUTDOWN),     NAMED(ESPIPE),       NAMED(ESRCH),
    NAMED(ESTALE),        NAMED(ETIME),        NAMED(ETIMEDOUT),
    NAMED(ETXTBSY),       NAMED(EUCLEAN),      NAMED(EXDEV),
};

int ni_errno_of(struct ni_span name)
{
    for (size_t i = 0; i < NI_COUNT(names); i++)
        if (ni_span_is(name, names[i].name))
            return names[i].err;
    return 0;
}

const char *ni_errno_name(int err)
{
    for (size_t i = 0; i < NI_COUNT(names); i++)
        if (names[i].err == err)
            return names[i].name;
    return NULL;
}

const char *ni_errno_text(int err)
{
    /* glibc's words, which people search for; for EILSEQ and EOVERFLOW what the door means. */
    static const struct {
        int err;
        const char *text;
    } words[] = {
        {E2BIG, "Argument list too long"},
        {EACCES, "Permission denied"},
        {EADDRINUSE, "Address already in use"},
        {EBADF, "Bad file descriptor"},
        {EBUSY, "Device or resource busy"},
        {ECONNREFUSED, "Connection refused"},
        {ECONNRESET, "Connection reset by peer"},
        {EDQUOT, "Disk quota exceeded"},
        {EEXIST, "File exists"},
        {EFBIG, "File too large"},
        {EHOSTUNREACH, "No route to host"},
        {EILSEQ, "it holds a NUL byte"},
        {EINVAL, "Invalid argument"},
        {EIO, "Input/output error"},
        {EISDIR, "Is a directory"},
        {ELOOP, "Too many levels of symbolic links"},
        {EMFILE, "Too many open files"},
        {ENAMETOOLONG, "File name too long"},
        {ENETUNREACH, "Network is unreachable"},
        {ENFILE, "Too many open files in system"},
        {ENODEV, "No such device"},
        {ENOENT, "No such file or directory"},
        {ENOEXEC, "Exec format error"},
        {ENOMEM, "Cannot allocate memory"},
        {ENOSPC, "No space left on device"},
        {ENOSYS, "Function not implemented"},
        {ENOTDIR, "Not a directory"},
        {ENOTSUP, "Operation not supported"},
        {ENXIO, "No such device or address"},
        {EOVERFLOW, "it is too long"},
        {EPERM, "Operation not permitted"},
        {EPIPE, "Broken pipe"},
        {EROFS, "Read-only file system"},
        {ESRCH, "No such process"},
        {ESTALE, "Stale file handle"},
        {ETIMEDOUT, "Connection timed out"},
        {ETXTBSY, "Text file busy"},
    };
    const int positive = err < 0 ? -err : err;
    const char *name = ni_errno_name(positive);

    for (size_t i = 0; i < NI_COUNT(words); i++)
        if (words[i].err == positive)
            return words[i].text;
    return name ? name : "unknown error";
}
