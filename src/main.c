/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "nccl_init/act.h"
#include "nccl_init/cmd.h"

/* The program's only state. */
extern struct ni_context ni_the_context;
struct ni_context ni_the_context NI_LARGE;

/* Where the linker puts zeroed data. */
extern char __bss_start[], _end[]; /* NOLINT(bugprone-reserved-identifier) */

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
    return getauxval(AT_SECURE) != 0 && geteuid() != 0 ? ni_caps_calm() : 0;
}

/* Where everybody is given huge pages (transparent_hugepage/enabled "always", as RHEL has it), the
   first touch of a table would clear 2 MiB: a third more time. Ends with this address space, at
   exec. A kernel without huge pages answers EINVAL. */
static void take_small_pages(void)
{
    const uintptr_t page = getauxval(AT_PAGESZ);
    uintptr_t at = ((uintptr_t)__bss_start + page - 1) / page * page;

    (void)madvise((void *)at, (uintptr_t)_end - at, MADV_NOHUGEPAGE);
}

int main(int argc, char *argv[])
{
    int r;

    take_small_pages();
    reserve_standard_descriptors();
    r = be_careful();
    if (r < 0)
        return ni_usage(&ni_the_context,
                        "nccl-init has file capabilities, and the kernel does not let it put them "
                        "down: %s",
                        ni_errno_text(r));
    return ni_main(&ni_the_context, argc, argv, environ);
}
