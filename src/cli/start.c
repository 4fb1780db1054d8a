/* SPDX-License-Identifier: Apache-2.0 */
/* The first steps of the program, before it reads its command line. */
#include "cli/start.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli/context.h"
#include "cli/say.h"
#include "nccl_init/text.h"
#include "system/caps.h"
#include "system/exec.h"
#include "system/replace.h"

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

/* Returns false if the stack may not grow to what the program needs, after saying so in few bytes of
   it. More than that would end in SIGSEGV. */
static bool has_stack(void)
{
    enum { KIB = 1024, NEEDED = 128 * KIB }; /* tests/exec/stack.sh */
    struct ni_text line = NI_TEXT(160);
    struct rlimit limit;

    if (getrlimit(RLIMIT_STACK, &limit) < 0 || limit.rlim_cur >= NEEDED)
        return true;
    ni_put(&line, "nccl-init: error: the stack may have ");
    ni_put_u64(&line, limit.rlim_cur / KIB);
    ni_put(&line, " KiB, and nccl-init needs 128: raise the limit (ulimit -s)\n");
    (void)ni_write_all(STDERR_FILENO, line.buf, line.len);
    return false;
}

int ni_start(struct ni_context *ctx)
{
    int r;

    if (!has_stack())
        return NI_EXIT_REFUSED;
    reserve_standard_descriptors();
    r = drop_unowned_caps();
    return r < 0 ? ni_refuse_caps(ctx, r) : 0;
}
