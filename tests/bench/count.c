/* SPDX-License-Identifier: Apache-2.0 */
/* count: what commands cost, exactly, by stepping through them. One line for each command: instructions in user space,
   system calls, KiB resident at the end, KiB of these its own (anonymous). A command that becomes another one by execve
   is counted up to there. With -n 0 there is no stepping, which takes some 20 us an instruction, and the first figure is 0.
   See child.h for the arguments. */
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "child.h"

static pid_t start(const struct jobs *jobs, unsigned at)
{
    char **argv = jobs->command[at];
    int status;
    pid_t pid = fork();

    if (pid < 0)
        die("fork");
    if (pid == 0) {
        for (int fd = 0; fd <= 2; fd++)
            dup2(jobs->fd[fd], fd);
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
            _exit(1);
        execve(argv[0], argv, jobs->env);
        _exit(127);
    }
    if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
        die(argv[0]);
    if (ptrace(PTRACE_SETOPTIONS, pid, NULL,
               PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT | PTRACE_O_TRACESYSGOOD |
                   PTRACE_O_EXITKILL) < 0)
        die("ptrace");
    return pid;
}

/* What the exit status is does not matter to a count, a signal does. */
static void finish(pid_t pid, const char *name)
{
    int status;

    ptrace(PTRACE_CONT, pid, NULL, NULL);
    while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status))
        ptrace(PTRACE_CONT, pid, NULL, NULL);
    if (!WIFEXITED(status)) {
        fprintf(stderr, "bench: %s was killed\n", name);
        exit(1);
    }
}

/* Steps to the end or the next execve. */
static unsigned long count_instructions(pid_t pid)
{
    unsigned long n = 0;
    int status;

    for (;; n++) {
        if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) < 0 || waitpid(pid, &status, 0) != pid ||
            !WIFSTOPPED(status))
            die("ptrace");
        if (status >> 16 == PTRACE_EVENT_EXEC || status >> 16 == PTRACE_EVENT_EXIT)
            return n;
    }
}

struct memory {
    unsigned long rss, own;
};

/* smaps_rollup counts the pages, while VmHWM is of counters that are allowed to lag behind (kernel 6.2 and later). */
static void read_memory(int proc, pid_t pid, struct memory *ret)
{
    char path[64], line[256];
    unsigned long kib;

    snprintf(path, sizeof(path), "%d/smaps_rollup", (int)pid);
    int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    if (!file)
        return; /* the memory is gone with the process */
    while (fgets(line, sizeof(line), file)) {
        if (sscanf(line, "Rss: %lu", &kib) == 1 && kib > ret->rss)
            ret->rss = kib;
        if (sscanf(line, "Anonymous: %lu", &kib) == 1 && kib > ret->own)
            ret->own = kib;
    }
    fclose(file);
}

/* Stops at each system call; after the last one the memory is at its largest. */
static unsigned long count_calls(int proc, pid_t pid, struct memory *ret)
{
    unsigned long n = 0;
    int status;

    for (;; n++) {
        if (ptrace(PTRACE_SYSCALL, pid, NULL, NULL) < 0 || waitpid(pid, &status, 0) != pid ||
            !WIFSTOPPED(status))
            die("ptrace");
        if (status >> 16 == PTRACE_EVENT_EXEC || status >> 16 == PTRACE_EVENT_EXIT)
            return (n + 1) / 2; /* the last call was entered only */
        if (n % 2 == 0)
            read_memory(proc, pid, ret);
    }
}

int main(int argc, char *argv[])
{
    static struct jobs jobs;
    int proc = open("/proc", O_PATH | O_CLOEXEC);

    read_jobs(argc, argv, &jobs);
    for (unsigned i = 0; i < jobs.n; i++) {
        struct memory memory = {0, 0};
        pid_t pid = start(&jobs, i);
        unsigned long calls = count_calls(proc, pid, &memory);
        finish(pid, jobs.command[i][0]);
        unsigned long steps = 0;
        if (jobs.rounds > 0) {
            pid = start(&jobs, i);
            steps = count_instructions(pid);
            finish(pid, jobs.command[i][0]);
        }
        printf("%lu %lu %lu %lu\n", steps, calls, memory.rss, memory.own);
    }
    return fflush(stdout) != 0;
}
