/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting that a signal ends, and child processes for work that may hang or crash, such as a
   device's. */
#ifndef NCCL_INIT_SYSTEM_PROCESS_H
#define NCCL_INIT_SYSTEM_PROCESS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Waiting, also as PID 1, until one of SIGHUP, SIGINT, SIGQUIT, SIGTERM comes, those that are
   ignored or blocked already apart. What must poll(2) gives `blocked` to signalfd(2). */
struct ni_wait {
    sigset_t blocked; /* from begin to end, and not before */
    int signal;       /* that came first; 0: none */
};

/* Children of the time between begin and end, which leave nothing to the command. */
struct ni_children {
    bool pending, dead; /* SIGCHLD was pending, a child of others waited to be reaped */
};

/* Milliseconds of CLOCK_MONOTONIC; without a clock INT64_MAX: every deadline is over. */
int64_t ni_now_ms(void);

void ni_wait_begin(struct ni_wait *w);
/* Sleeps so long at most. true: a signal came, now or earlier: clean up and call ni_wait_end. */
bool ni_wait_ms(struct ni_wait *w, int64_t ms);
/* All is as before ni_wait_begin. Ends the program by the signal that came; as PID 1 by 128+n. */
void ni_wait_end(struct ni_wait *w);
/* In a child: signals end it again. */
void ni_wait_unblock(const struct ni_wait *w);

void ni_children_begin(struct ni_children *c);
/* Ends what is left of the group that ni_fork_group started (-1: there is none), and waits for it,
   a second at most: one may hang in the kernel even then. No other child is reaped. Then all is as
   before ni_children_begin; a SIGCHLD of those that ended is not pending. */
void ni_children_end(const struct ni_children *c, pid_t group);

/* fork(2); the child dies with its parent. */
pid_t ni_fork(void);
/* The same; the child leads a process group of its own. */
pid_t ni_fork_group(void);
/* Forks for work that may hang or crash. The child leaves no core, and holds no descriptor of the
   pod's but `keep` (-1: none): standard input, output and error are /dev/null. */
pid_t ni_fork_worker(int keep);

#endif
