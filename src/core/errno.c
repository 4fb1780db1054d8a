/* SPDX-License-Identifier: Apache-2.0 */
/* Errors by name, for the `e` lines of a .tree file and for reports, and in words for people. */
#include <errno.h>

#include "nccl_init/core.h"

/* What a file system, a driver, a security module or the RDMA core give; words that people search for
   are glibc's, EILSEQ, EOVERFLOW and ENOTBLK what we mean. NULL: the name says it. */
#define NAMED(e) #e, e
static const struct {
    const char *name;
    int err;
    const char *words;
} errors[] = {
    {NAMED(E2BIG), "Argument list too long"},
    {NAMED(EACCES), "Permission denied"},
    {NAMED(EADDRINUSE), "Address already in use"},
    {NAMED(EADDRNOTAVAIL), NULL},
    {NAMED(EAFNOSUPPORT), NULL},
    {NAMED(EAGAIN), NULL},
    {NAMED(EBADF), "Bad file descriptor"},
    {NAMED(EBADMSG), NULL},
    {NAMED(EBUSY), "Device or resource busy"},
    {NAMED(ECANCELED), NULL},
    {NAMED(ECHILD), NULL},
    {NAMED(ECONNREFUSED), "Connection refused"},
    {NAMED(ECONNRESET), "Connection reset by peer"},
    {NAMED(EDEADLK), NULL},
    {NAMED(EDOM), NULL},
    {NAMED(EDQUOT), "Disk quota exceeded"},
    {NAMED(EEXIST), "File exists"},
    {NAMED(EFAULT), NULL},
    {NAMED(EFBIG), "File too large"},
    {NAMED(EHOSTDOWN), NULL},
    {NAMED(EHOSTUNREACH), "No route to host"},
    {NAMED(EILSEQ), "it holds a NUL byte"},
    {NAMED(EINTR), NULL},
    {NAMED(EINVAL), "Invalid argument"},
    {NAMED(EIO), "Input/output error"},
    {NAMED(EISDIR), "Is a directory"},
    {NAMED(ELOOP), "Too many levels of symbolic links"},
    {NAMED(EMFILE), "Too many open files"},
    {NAMED(EMLINK), NULL},
    {NAMED(EMSGSIZE), NULL},
    {NAMED(ENAMETOOLONG), "File name too long"},
    {NAMED(ENETDOWN), NULL},
    {NAMED(ENETUNREACH), "Network is unreachable"},
    {NAMED(ENFILE), "Too many open files in system"},
    {NAMED(ENOBUFS), NULL},
    {NAMED(ENODATA), NULL},
    {NAMED(ENODEV), "No such device"},
    {NAMED(ENOENT), "No such file or directory"},
    {NAMED(ENOEXEC), "Exec format error"},
    {NAMED(ENOKEY), NULL},
    {NAMED(ENOLCK), NULL},
    {NAMED(ENOLINK), NULL},
    {NAMED(ENOMEM), "Cannot allocate memory"},
    {NAMED(ENOSPC), "No space left on device"},
    {NAMED(ENOSYS), "Function not implemented"},
    {NAMED(ENOTBLK), "what stands there is no file"},
    {NAMED(ENOTCONN), NULL},
    {NAMED(ENOTDIR), "Not a directory"},
    {NAMED(EOPNOTSUPP), "Operation not supported"},
    {NAMED(ENOTSUP), NULL}, /* the same number */
    {NAMED(ENOTTY), NULL},
    {NAMED(ENXIO), "No such device or address"},
    {NAMED(EOVERFLOW), "it is too long"},
    {NAMED(EPERM), "Operation not permitted"},
    {NAMED(EPIPE), "Broken pipe"},
    {NAMED(EPROTO), NULL},
    {NAMED(EPROTONOSUPPORT), NULL},
    {NAMED(ERANGE), NULL},
    {NAMED(EREMOTEIO), NULL},
    {NAMED(EROFS), "Read-only file system"},
    {NAMED(ESHUTDOWN), NULL},
    {NAMED(ESPIPE), NULL},
    {NAMED(ESRCH), "No such process"},
    {NAMED(ESTALE), "Stale file handle"},
    {NAMED(ETIME), NULL},
    {NAMED(ETIMEDOUT), "Connection timed out"},
    {NAMED(ETXTBSY), "Text file busy"},
    {NAMED(EUCLEAN), NULL},
    {NAMED(EXDEV), NULL},
};

int ni_errno_of(struct ni_span name)
{
    for (size_t i = 0; i < NI_COUNT(errors); i++)
        if (ni_span_is(name, errors[i].name))
            return errors[i].err;
    return 0;
}

const char *ni_errno_name(int err)
{
    for (size_t i = 0; i < NI_COUNT(errors); i++)
        if (errors[i].err == err)
            return errors[i].name;
    return NULL;
}

const char *ni_errno_text(int err)
{
    for (size_t i = 0; i < NI_COUNT(errors); i++)
        if (errors[i].err == err || errors[i].err == -err)
            return errors[i].words ? errors[i].words : errors[i].name;
    return "unknown error";
}
