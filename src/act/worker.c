/* SPDX-License-Identifier: Apache-2.0 */
/* A process for work that may hang or crash, such as a device's. */
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "nccl_init/act.h"

/* A process that hangs must hold nothing of the pod's: not the log that others wait for, no lock.
   What a library prints, its user tells better. */
static void close_all(int keep)
{
    enum { USUAL = 1024 }; /* the soft RLIMIT_NOFILE that programs count on */
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (null < 0 || dup2(null, fd) < 0)
            (void)close(fd);
    }
    for (int fd = STDERR_FILENO + 1; fd < USUAL; fd++)
        if (fd != keep)
            (void)close(fd);
}

pid_t ni_fork(void)
{
    const pid_t parent = getpid();
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != parent) /* it died before that was in force */
        _exit(1);
    return 0;
}

pid_t ni_fork_worker(int keep)
{
    pid_t pid = ni_fork();

    if (pid != 0)
        return pid;
    /* A core would take longer than the time there is. RLIMIT_CORE does not hold where cores are
       piped to a program (core(5)). */
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    close_all(keep);
    return 0;
}
