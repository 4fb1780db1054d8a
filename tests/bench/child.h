/* SPDX-License-Identifier: Apache-2.0 */
/* What count and timeit share: `PROGRAM [-c CHROOT] [-e ENVFILE] [-i IN] [-o OUT] [-n ROUNDS] COMMAND [ARG...] [::: COMMAND [ARG...]]...`.
   The commands run in CHROOT, with exactly the K=V lines of ENVFILE in their environment. Their stdin is IN, their stdout
   goes to OUT, the rest to /dev/null. */
#ifndef TESTS_BENCH_CHILD_H
#define TESTS_BENCH_CHILD_H

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_COMMANDS = 8, MAX_ENTRIES = 512 };

struct jobs {
    char **command[MAX_COMMANDS]; /* each NULL-terminated */
    unsigned n, rounds;
    char *env[MAX_ENTRIES + 1];
    int fd[3];
};

static void die(const char *what)
{
    fprintf(stderr, "bench: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void read_env(const char *path, char *env[])
{
    FILE *file = fopen(path, "re");
    unsigned n = 0;

    if (!file)
        die(path);
    for (;;) {
        char *line = NULL;
        size_t size = 0;
        ssize_t len = getline(&line, &size, file);
        if (len < 0 || n == MAX_ENTRIES) {
            free(line);
            break;
        }
        line[strcspn(line, "\n")] = '\0';
        env[n++] = line;
    }
    env[n] = NULL;
    fclose(file);
}

/* A user who may not is root of a namespace of its own for this. */
static void enter(const char *dir)
{
    if (geteuid() != 0 && unshare(CLONE_NEWUSER) < 0)
        die("user namespace");
    if (chroot(dir) < 0 || chdir("/") < 0)
        die(dir);
}

static void split_commands(char *argv[], struct jobs *jobs)
{
    while (*argv && jobs->n < MAX_COMMANDS) {
        jobs->command[jobs->n++] = argv;
        while (*argv && strcmp(*argv, ":::") != 0)
            argv++;
        if (*argv)
            *argv++ = NULL;
    }
}

static void read_jobs(int argc, char *argv[], struct jobs *jobs)
{
    const char *root = NULL;
    const char *in = "/dev/null", *out = "/dev/null";
    int c;

    jobs->rounds = 1;
    while ((c = getopt(argc, argv, "+c:e:i:n:o:")) != -1) {
        if (c == 'c')
            root = optarg;
        else if (c == 'e')
            read_env(optarg, jobs->env);
        else if (c == 'i')
            in = optarg;
        else if (c == 'o')
            out = optarg;
        else if (c == 'n')
            jobs->rounds = (unsigned)strtoul(optarg, NULL, 10);
        else
            exit(1);
    }
    split_commands(argv + optind, jobs);
    jobs->fd[0] = open(in, O_RDONLY | O_CLOEXEC);
    jobs->fd[1] = open(out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    jobs->fd[2] = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (jobs->fd[0] < 0 || jobs->fd[1] < 0 || jobs->fd[2] < 0)
        die(out);
    if (root)
        enter(root);
}

#endif
