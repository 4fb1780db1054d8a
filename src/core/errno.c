/* SPDX-License-Identifier: Apache-2.0 */
/* Names of errors: for the `e` lines of a .tree file, and for people. */
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
