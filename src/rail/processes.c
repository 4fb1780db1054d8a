/* SPDX-License-Identifier: Apache-2.0 */
/* Processes: one for each rail. A process is asked by one byte on a socket, answers by one, and
   puts its results into shared memory. */
#include "rail/processes.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "nccl_init/text.h"
#include "rail/step.h"
#include "rail/task.h"
#include "system/process.h"

enum {
    DEATH_MS = 1000, /* from SIGKILL to giving up */
    NAMED = 3        /* rails that are named in a line */
};

static void end(struct ni_rails *r, unsigned i)
{
    if (r->at[i].fd >= 0)
        (void)close(r->at[i].fd);
    r->at[i].fd = -1;
    r->at[i].busy = false;
    if (r->at[i].pid > 0)
        (void)kill(r->at[i].pid, SIGKILL);
}

/* Is the process of a rail: does each work that is asked for, until the other end closes. */
static _Noreturn void be_rail(int fd, struct ni_rail_task *task, ni_rail_fn *fn)
{
    void *state = NULL;
    char work;

    /* Rates and round trips are measured between naps: one of 20 us takes 76 to 83 with the 50 us
       that are usual (prctl(2) PR_SET_TIMERSLACK), and 26 to 29 with 1 ns. */
    (void)prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
    while (read(fd, &work, 1) == 1) {
        fn(task, (enum ni_rail_work)work, &state);
        (void)send(fd, &work, 1, MSG_NOSIGNAL);
    }
    _exit(0); /* the kernel takes back what was opened and registered */
}

int ni_rails_start(struct ni_rails *r, unsigned n, ni_rail_fn *fn)
{
    int pair[2], err;

    memset(r, 0, sizeof(*r));
    r->task = mmap(NULL, NI_MAX_RAILS * sizeof(*r->task), PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (r->task == MAP_FAILED) {
        r->task = NULL;
        return -errno;
    }
    while (r->n < n) {
        const unsigned i = r->n;

        r->n++;
        r->at[i].pid = r->at[i].fd = -1;
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0) {
            r->at[i].fd = pair[0];
            r->at[i].pid = ni_fork_worker(pair[1]);
            if (r->at[i].pid == 0)
                be_rail(pair[1], &r->task[i], fn);
            (void)close(pair[1]);
        }
        if (r->at[i].pid < 0) {
            err = -errno;
            ni_rails_end(r);
            return err;
        }
    }
    return 0;
}

/* Marks the roles that had this work and did not answer: nobody knows how it went. */
static void mark_silent(struct ni_rail_task *task, enum ni_rail_work work)
{
    for (int i = 0; i < NI_ROLES; i++) {
        struct ni_pair_result *it = &task->result[i];
        const bool waits = task->has[i] && (work != NI_WORK_MOVE || i == NI_ROLE_INITIATOR);

        if ((waits || work == NI_WORK_OPEN) && it->err == 0 && it->wc == 0)
            it->silent = true;
    }
}

void ni_rails_ask(struct ni_rails *r, enum ni_rail_work work, int64_t limit_ms)
{
    const char byte = (char)work;

    r->work = work;
    r->until_ms = ni_now_ms() + limit_ms;
    for (unsigned i = 0; i < r->n; i++) {
        struct ni_rail_task *task = &r->task[i];

        if (work != NI_WORK_OPEN && !task->has[NI_ROLE_INITIATOR] && !task->has[NI_ROLE_TARGET])
            continue;
        if (work == NI_WORK_OPEN || work == NI_WORK_QUEUES)
            memset(task->result, 0, sizeof(task->result));
        r->at[i].busy = r->at[i].fd >= 0 && send(r->at[i].fd, &byte, 1, MSG_NOSIGNAL) == 1;
        if (!r->at[i].busy)
            mark_silent(task, work);
    }
}

bool ni_rails_done(struct ni_rails *r, int64_t most_ms)
{
    const int64_t left = r->until_ms - ni_now_ms();
    struct pollfd p[NI_MAX_RAILS];
    bool busy = false;

    for (unsigned i = 0; i < r->n; i++) {
        char byte;
        const ssize_t n = r->at[i].busy ? recv(r->at[i].fd, &byte, 1, MSG_DONTWAIT) : 1;

        r->at[i].busy = n < 0 && (errno == EAGAIN || errno == EINTR) && left > 0;
        p[i] = (struct pollfd){.fd = r->at[i].busy ? r->at[i].fd : -1, .events = POLLIN};
        busy = busy || r->at[i].busy;
        if (n == 1 || r->at[i].busy)
            continue;
        end(r, i);
        mark_silent(&r->task[i], r->work);
    }
    if (busy)
        (void)poll(p, r->n, (int)(left < most_ms ? left : most_ms));
    return !busy;
}

void ni_put_awaited_rails(struct ni_text *t, const struct ni_rails *r)
{
    unsigned busy = 0, named = 0;

    for (unsigned i = 0; i < r->n; i++)
        busy += r->at[i].busy;
    ni_putf(t, "%u of %u done", r->n - busy, r->n);
    for (unsigned i = 0; i < r->n && named < NAMED; i++) {
        const struct ni_rail *rail = &r->task[i].rail;

        if (!r->at[i].busy)
            continue;
        ni_put(t, named > 0 ? ", " : "; waiting for ");
        ni_putf(t, "%s/%u", rail->hca, rail->port);
        named++;
    }
    if (busy > named)
        ni_putf(t, " and %u more", busy - named);
}

void ni_rails_end(struct ni_rails *r)
{
    static const struct timespec ms = {.tv_nsec = 1000000};
    const int64_t until = ni_now_ms() + DEATH_MS;

    for (unsigned i = 0; i < r->n; i++)
        end(r, i);
    for (unsigned i = 0; i < r->n; i++) {
        while (r->at[i].pid > 0 && waitpid(r->at[i].pid, NULL, WNOHANG) == 0 && ni_now_ms() < until)
            (void)nanosleep(&ms, NULL);
    }
    if (r->task)
        (void)munmap(r->task, NI_MAX_RAILS * sizeof(*r->task));
    r->task = NULL;
    r->n = 0;
}
