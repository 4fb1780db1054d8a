/* What keeps a pod's namespaces while its containers come and go: waits, and reaps what was left to it.
   `pause env` first writes its environment: the command of an image without a shell. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

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

int main(int argc, char **argv)
{
    const struct sigaction on_end = {.sa_handler = end};
    const struct sigaction on_child = {.sa_handler = reap, .sa_flags = SA_NOCLDSTOP};

    if (sigaction(SIGTERM, &on_end, NULL) != 0 || sigaction(SIGINT, &on_end, NULL) != 0 ||
        sigaction(SIGCHLD, &on_child, NULL) != 0)
        return EXIT_FAILURE;
    if (argc == 2 && strcmp(argv[1], "env") == 0) {
        for (char **variable = environ; *variable; variable++)
            (void)puts(*variable);
        (void)fflush(stdout);
    }
    for (;;)
        (void)pause();
}
