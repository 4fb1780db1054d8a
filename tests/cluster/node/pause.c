/* What keeps a pod's namespaces while its containers come and go: waits, and reaps what was left to it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void end(int signal)
{
    (void)signal;
    _exit(EXIT_SUCCESS);
}

static void reap(int signal)
{
    (void)signal;
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
}

int main(void)
{
    const struct sigaction on_end = {.sa_handler = end};
    const struct sigaction on_child = {.sa_handler = reap, .sa_flags = SA_NOCLDSTOP};

    if (sigaction(SIGTERM, &on_end, NULL) != 0 || sigaction(SIGINT, &on_end, NULL) != 0 ||
        sigaction(SIGCHLD, &on_child, NULL) != 0)
        return EXIT_FAILURE;
    for (;;)
        (void)pause();
}
