/* SPDX-License-Identifier: Apache-2.0 */
/* timeit: wall time of commands from spawn to end, in turns, so that what disturbs the machine disturbs all alike. One line
   for each command: the least and the median of all rounds, in microseconds.
   With -n 0 each is run once and no more. See child.h for the arguments. */
#include <spawn.h>
#include <stdint.h>
#include <sys/wait.h>
#include <time.h>

#include "child.h"

enum { MAX_ROUNDS = 10000 };

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t run_once(const struct jobs *jobs, const posix_spawn_file_actions_t *actions,
                        unsigned at)
{
    char **argv = jobs->command[at];
    pid_t pid;
    int status = 0;

    (void)lseek(jobs->fd[0], 0, SEEK_SET);
    int64_t begin = now_ns();
    errno = posix_spawn(&pid, argv[0], actions, NULL, argv, jobs->env);
    if (errno != 0 || waitpid(pid, &status, 0) < 0)
        die(argv[0]);
    int64_t end = now_ns();
    if (status != 0) {
        fprintf(stderr, "bench: %s ends with status %#x\n", argv[0], (unsigned)status);
        exit(1);
    }
    return end - begin;
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

int main(int argc, char *argv[])
{
    static struct jobs jobs;
    static int64_t ns[MAX_COMMANDS][MAX_ROUNDS];
    posix_spawn_file_actions_t actions;

    read_jobs(argc, argv, &jobs);
    if (jobs.rounds > MAX_ROUNDS)
        return 1;
    posix_spawn_file_actions_init(&actions);
    for (int fd = 0; fd <= 2; fd++)
        posix_spawn_file_actions_adddup2(&actions, jobs.fd[fd], fd);
    for (unsigned i = 0; i < jobs.n; i++)
        run_once(&jobs, &actions, i); /* warms the caches */
    for (unsigned round = 0; round < jobs.rounds; round++) {
        for (unsigned i = 0; i < jobs.n; i++)
            ns[i][round] = run_once(&jobs, &actions, i);
    }
    for (unsigned i = 0; i < jobs.n && jobs.rounds > 0; i++) {
        qsort(ns[i], jobs.rounds, sizeof(ns[i][0]), compare);
        printf("%.1f %.1f\n", (double)ns[i][0] / 1000, (double)ns[i][jobs.rounds / 2] / 1000);
    }
    posix_spawn_file_actions_destroy(&actions);
    return fflush(stdout) != 0;
}
