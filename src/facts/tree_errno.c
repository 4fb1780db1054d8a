/* SPDX-License-Identifier: Apache-2.0 */
/* facts: names of errors, for `e` lines. Numbers differ between architectures, so a file holds
   names. */
#include <errno.h>
#include <string.h>

#include "door.h"

#define NAMED(e) \
    {            \
#e, e    \
    }

/* What open, read, readlink and getdents of a file system, a driver or a security module give. */
static const struct {
    const char *name;
    int err;
} names[] = {
    NAMED(E2BIG),        NAMED(EACCES),       NAMED(EAGAIN),    NAMED(EBADF),
    NAMED(EBADMSG),      NAMED(EBUSY),        NAMED(ECANCELED), NAMED(ECHILD),
    NAMED(ECONNREFUSED), NAMED(ECONNRESET),   NAMED(EDEADLK),   NAMED(EDOM),
    NAMED(EDQUOT),       NAMED(EEXIST),       NAMED(EFAULT),    NAMED(EFBIG),
    NAMED(EHOSTDOWN),    NAMED(EHOSTUNREACH), NAMED(EILSEQ),    NAMED(EINTR),
    NAMED(EINVAL),       NAMED(EIO),          NAMED(EISDIR),    NAMED(ELOOP),
    NAMED(EMFILE),       NAMED(EMLINK),       NAMED(EMSGSIZE),  NAMED(ENAMETOOLONG),
    NAMED(ENETDOWN),     NAMED(ENETUNREACH),  NAMED(ENFILE),    NAMED(ENOBUFS),
    NAMED(ENODATA),      NAMED(ENODEV),       NAMED(ENOENT),    NAMED(ENOEXEC),
    NAMED(ENOKEY),       NAMED(ENOLCK),       NAMED(ENOLINK),   NAMED(ENOMEM),
    NAMED(ENOSPC),       NAMED(ENOSYS),       NAMED(ENOTBLK),   NAMED(ENOTCONN),
    NAMED(ENOTDIR),      NAMED(ENOTSUP),      NAMED(ENOTTY),    NAMED(ENXIO),
    NAMED(EOVERFLOW),    NAMED(EPERM),        NAMED(EPIPE),     NAMED(EPROTO),
    NAMED(ERANGE),       NAMED(EREMOTEIO),    NAMED(EROFS),     NAMED(ESHUTDOWN),
    NAMED(ESPIPE),       NAMED(ESRCH),        NAMED(ESTALE),    NAMED(ETIME),
    NAMED(ETIMEDOUT),    NAMED(ETXTBSY),      NAMED(EUCLEAN),   NAMED(EXDEV),
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
