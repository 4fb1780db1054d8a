/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a fact. */
#include <errno.h>

#include "nccl_init/known.h"

enum ni_known ni_known_of(int64_t answer)
{
    if (answer >= 0)
        return NI_KNOWN;
    switch (answer) {
    case -ENOENT:
    case -ENOTDIR:
    case -ENODEV:
        return NI_ABSENT;
    case -EOVERFLOW:
    case -EILSEQ:
        return NI_BAD;
    default:
        return NI_DENIED;
    }
}

const char *ni_known_text(enum ni_known known)
{
    static const char *const text[] = {
        [NI_UNSET] = "unread",  [NI_ABSENT] = "absent", [NI_DENIED] = "denied",
        [NI_BAD] = "malformed", [NI_KNOWN] = "known",
    };

    return text[known];
}
