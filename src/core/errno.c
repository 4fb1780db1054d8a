/* SPDX-License-Identifier: Apache-2.0 */
/* Errors by name, for the `e` lines of a .tree file and for reports, and in words for people. */
#include <errno.h>
#include <string.h>

#include "nccl_init/base.h"
#include "nccl_init/errno.h"
#include "nccl_init/text.h"

/* The errors that a file system, a driver, a security module or the RDMA core give. musl has no
   strerrorname_np(3). */
#define NAMED(e) \
    {            \
#e, e    \
    }
static const struct {
    const char *name;
    int err;
} errors[] = {
    NAMED(E2BIG),
    NAMED(EACCES),
    NAMED(EADDRINUSE),
    NAMED(EADDRNOTAVAIL),
    NAMED(EAFNOSUPPORT),
    NAMED(EAGAIN),
    NAMED(EBADF),
    NAMED(EBADMSG),
    NAMED(EBUSY),
    NAMED(ECANCELED),
    NAMED(ECHILD),
    NAMED(ECONNREFUSED),
    NAMED(ECONNRESET),
    NAMED(EDEADLK),
    NAMED(EDOM),
    NAMED(EDQUOT),
    NAMED(EEXIST),
    NAMED(EFAULT),
    NAMED(EFBIG),
    NAMED(EHOSTDOWN),
    NAMED(EHOSTUNREACH),
    NAMED(EILSEQ),
    NAMED(EINTR),
    NAMED(EINVAL),
    NAMED(EIO),
    NAMED(EISDIR),
    NAMED(ELOOP),
    NAMED(EMFILE),
    NAMED(EMLINK),
    NAMED(EMSGSIZE),
    NAMED(ENAMETOOLONG),
    NAMED(ENETDOWN),
    NAMED(ENETUNREACH),
    NAMED(ENFILE),
    NAMED(ENOBUFS),
    NAMED(ENODATA),
    NAMED(ENODEV),
    NAMED(ENOENT),
    NAMED(ENOEXEC),
    NAMED(ENOKEY),
    NAMED(ENOLCK),
    NAMED(ENOLINK),
    NAMED(ENOMEM),
    NAMED(ENOSPC),
    NAMED(ENOSYS),
    NAMED(ENOTBLK),
    NAMED(ENOTCONN),
    NAMED(ENOTDIR),
    NAMED(EOPNOTSUPP),
    NAMED(ENOTSUP), /* the same number */
    NAMED(ENOTTY),
    NAMED(ENXIO),
    NAMED(EOVERFLOW),
    NAMED(EPERM),
    NAMED(EPIPE),
    NAMED(EPROTO),
    NAMED(EPROTONOSUPPORT),
    NAMED(ERANGE),
    NAMED(EREMOTEIO),
    NAMED(EROFS),
    NAMED(ESHUTDOWN),
    NAMED(ESPIPE),
    NAMED(ESRCH),
    NAMED(ESTALE),
    NAMED(ETIME),
    NAMED(ETIMEDOUT),
    NAMED(ETXTBSY),
    NAMED(EUCLEAN),
    NAMED(EXDEV),
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

/* Returns words for people. Three errors have another meaning here: the sysroot returns EILSEQ and
   EOVERFLOW for the content of a file, and a writer returns ENOTBLK for a thing that it does not
   replace. */
static const char *words_of(int err)
{
    switch (err) {
    case EILSEQ:
        return "it holds a NUL byte";
    case EOVERFLOW:
        return "it is too long";
    case ENOTBLK:
        return "what is there is not a file";
    default:
        return strerror(err);
    }
}

const char *ni_errno_text(int err, char buf[NI_ERRNO_TEXT])
{
    const int number = err < 0 ? -err : err;
    const char *name = ni_errno_name(number);

    if (name)
        (void)ni_format(buf, NI_ERRNO_TEXT, "%s (%s)", name, words_of(number));
    else
        (void)ni_format(buf, NI_ERRNO_TEXT, "errno %d", number);
    return buf;
}
