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

/* Descriptors 0 to 2 that are closed are kept from being given to a file of ours; the command finds
   them closed again. O_PATH needs no permission and no /dev. The lowest free number is always taken
   first. In secure execution libc has opened /dev/null there before us (musl
   src/env/__libc_start_main.c; glibc csu/check_fds.c: /dev/full for 0), and that the command finds
   too. */
static void reserve_standard_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)open("/", O_PATH | O_CLOEXEC);
}

/* File capabilities, or a parent whose real user is another one: whoever wrote the environment and
   the command line may not be who may use these rights. Files are then looked at with the rights of
   the user alone: no capability is effective while they are, and CAP_SYS_RESOURCE only for the one
   call that raises the limit. Which variables are left alone: args.c. */
static int be_careful(void)
{
    return getauxval(AT_SECURE) != 0 && geteuid() != 0 ? ni_caps_disable() : 0;
}

int ni_start(struct ni_context *ctx)
{
    int r;

    reserve_standard_descriptors();
    r = be_careful();
    return r < 0 ? ni_caps_stay(ctx, r) : 0;
}
