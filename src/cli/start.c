/* SPDX-License-Identifier: Apache-2.0 */
/* The first steps of the program, before it reads its command line. */
#include "cli/start.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "cli/context.h"
#include "cli/say.h"
#include "system/caps.h"

/* Fills those of descriptors 0 to 2 that are closed, so that no file of ours gets such a number;
   the command finds them closed again. O_PATH needs no permission and no /dev. The kernel gives the
   lowest free number first. In secure execution libc has opened /dev/null there before us (musl
   src/env/__libc_start_main.c; glibc csu/check_fds.c: /dev/full for 0), which the command keeps.
   */
static void reserve_standard_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)open("/", O_PATH | O_CLOEXEC);
}

/* Puts the capabilities down in secure execution: the program has file capabilities, or the real
   user is another one. The caller, who wrote the environment and the command line, may not have
   these rights. So no capability is effective while files are read, and CAP_SYS_RESOURCE is
   effective only in the call that raises the limit; root keeps its capabilities. args.c ignores
   some variables then. */
static int drop_unowned_caps(void)
{
    return getauxval(AT_SECURE) != 0 && geteuid() != 0 ? ni_caps_disable() : 0;
}

int ni_start(struct ni_context *ctx)
{
    int r;

    reserve_standard_descriptors();
    r = drop_unowned_caps();
    return r < 0 ? ni_refuse_caps(ctx, r) : 0;
}
