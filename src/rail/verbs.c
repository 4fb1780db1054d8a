/* SPDX-License-Identifier: Apache-2.0 */
/* The clock of a rail, and the errno of libibverbs. */
#include "rail/verbs.h"

#include <errno.h>
#include <time.h>

int64_t ni_now_ns(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * NI_SECOND_NS + now.tv_nsec;
}

int ni_verbs_error(const void *object)
{
    if (object)
        return 0;
    return errno != 0 ? errno : EIO; /* a library that fails without an errno */
}

int64_t ni_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}
