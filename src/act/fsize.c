/* SPDX-License-Identifier: Apache-2.0 */
/* Writing where RLIMIT_FSIZE (`ulimit -f`) allows no more. */
#include <signal.h>
#include <sys/resource.h>

#include "nccl_init/act.h"

/* mm/filemap.c generic_write_check_limits: SIGXFSZ, which kills, and EFBIG. */
void ni_write_begin(struct ni_fsize *f)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct rlimit limit;

    f->changed = getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
                 sigaction(SIGXFSZ, &ignore, &f->old) == 0;
}

void ni_write_end(const struct ni_fsize *f)
{
    if (f->changed)
        (void)sigaction(SIGXFSZ, &f->old, NULL);
}
