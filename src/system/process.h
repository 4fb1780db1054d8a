/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting that a signal ends, and child processes for work that may hang or crash, such as a
   device's. */
#ifndef NCCL_INIT_SYSTEM_PROCESS_H
#define NCCL_INIT_SYSTEM_PROCESS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Waits, also as PID 1, until one of SIGHUP, SIGINT, SIGQUIT, SIGTERM comes, unless it is ignored
   or blocked already. A caller of poll(2) gives `blocked` to signalfd(2). */
struct ni_wait {
    sigset_t blocked; /* the ending signals that were not blocked before */
    int signal;       /* the signal that came first; 0: none */
};

/* Children of the time between begin and end, which leave nothing to the command. */
struct ni_children {
    bool pending, dead; /* before: SIGCHLD was pending; a child of others waited to be reaped */
};

/* Returns milliseconds of CLOCK_MONOTONIC; without a clock INT64_MAX, so that every deadline is
   over. */
int64_t ni_now_ms(void);

void ni_wait_begin(struct ni_wait *w);
/* Sleeps so long at most. true: a signal came, now or earlier: clean up and call ni_wait_end. */
bool ni_wait_ms(struct ni_wait *w, int64_t ms);
/* Restores the state before ni_wait_begin. Ends the program by the signal that came; as PID 1 with
   128+n. */
void ni_wait_end(struct ni_wait *w);
/* Lets signals end the process again, in a child. */
void ni_wait_unblock(const struct ni_wait *w);

void ni_children_begin(struct ni_children *c);
/* Ends the rest of the group that ni_fork_group started (-1: there is none), and waits a second for
   it at most: one may hang in the kernel even then. No other child is reaped. Then restores the
   state before ni_children_begin; no SIGCHLD of the ended ones is pending. */
void ni_children_end(const struct ni_children *c, pid_t group);

/* Forks as fork(2) does; the child dies with its parent. */
pid_t ni_fork(void);
/* Forks; the child dies with its parent, and leads a process group of its own. */
pid_t ni_fork_group(void);
/* Forks for work that may hang or crash. The child leaves no core, and holds no descriptor of the
   pod's but `keep` (-1: none): standard input, output and error are /dev/null. */
pid_t ni_fork_worker(int keep);
/* Closes all descriptors from that number on. */
void ni_close_from(unsigned first);
/* Does a work in such a process, which is ended after the limit. false: it did not come to its end.
   One that hangs in the kernel may be left behind until it can die. */
bool ni_work_beside(int keep, void (*work)(void *ctx), void *ctx, int64_t limit_ms);

#endif
