/* SPDX-License-Identifier: Apache-2.0 */
/* A process for each rail. It is asked by one byte on a socket, answers by one, and says how it went
   in shared memory. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "nccl_init/act.h"
#include "nccl_init/rails.h"

enum { DEATH_MS = 1000 }; /* from SIGKILL to giving up */

/* ---- in the rail's process ---- */

static void serve(struct ni_rail_task *task, ni_rail_fn *fn, int fd)
{
    void *state = NULL;
    char work;

    while (read(fd, &work, 1) == 1) {
        fn(task, (enum ni_rail_work)work, &state);
        if (write(fd, &work, 1) != 1)
            break;
    }
    _exit(0); /* the kernel takes back what was opened and registered */
}

/* ---- the leaf's side ---- */

static int start(struct ni_rails *r, unsigned i)
{
    int pair[2], err;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return -errno;
    r->at[i].pid = ni_fork_worker(pair[1]);
    if (r->at[i].pid == 0)
        serve(&r->task[i], r->fn, pair[1]);
    err = r->at[i].pid < 0 ? -errno : 0;
    (void)close(pair[1]);
    if (err == 0)
        r->at[i].fd = pair[0];
    else
        (void)close(pair[0]);
    return err;
}

static void close_rail(struct ni_rails *r, unsigned i)
{
    if (r->at[i].fd >= 0)
        (void)close(r->at[i].fd);
    r->at[i].fd = -1;
    r->at[i].busy = false;
}

/* Whether it is gone. */
static bool reap(struct ni_rails *r, unsigned i)
{
    if (r->at[i].pid > 0 && waitpid(r->at[i].pid, NULL, WNOHANG) != 0)
        r->at[i].pid = -1;
    return r->at[i].pid <= 0;
}

int ni_rails_start(struct ni_rails *r, unsigned n, const struct ni_rail *rail, ni_rail_fn *fn)
{
    int err = 0;

    memset(r, 0, sizeof(*r));
    for (unsigned i = 0; i < NI_MAX_RAILS; i++)
        r->at[i].pid = r->at[i].fd = -1;
    r->fn = fn;
    r->task = mmap(NULL, NI_MAX_RAILS * sizeof(*r->task), PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (r->task == MAP_FAILED) {
        r->task = NULL;
        return -errno;
    }
    for (r->n = 0; r->n < n && err == 0; r->n++) {
        r->task[r->n].rail = rail[r->n];
        r->task[r->n].number = r->n;
        err = start(r, r->n);
    }
    if (err < 0)
        ni_rails_end(r);
    return err;
}

/* The last step of a work that was not done: nobody knows how it went. */
static void mark_silent(struct ni_rail_task *task, enum ni_rail_work work)
{
    for (int i = 0; i < NI_ROLES; i++) {
        struct ni_pair_result *it = &task->result[i];
        const bool waits = work == NI_WORK_MOVE ? i == NI_ROLE_FROM : work != NI_WORK_STOP;

        if (waits && (task->has[i] || work == NI_WORK_OPEN) && it->err == 0 && it->wc == 0)
            it->silent = true;
    }
}

void ni_rails_ask(struct ni_rails *r, enum ni_rail_work work, int64_t limit_ms)
{
    const int64_t until = ni_now_ms() + limit_ms;
    const bool all = work == NI_WORK_OPEN || work == NI_WORK_STOP;
    const char byte = (char)work;

    for (unsigned i = 0; i < r->n; i++) {
        struct ni_rail_task *task = &r->task[i];
        bool anew = false;

        if (!all && !task->has[NI_ROLE_FROM] && !task->has[NI_ROLE_TO])
            continue;
        if (work == NI_WORK_OPEN || work == NI_WORK_QUEUES)
            memset(task->result, 0, sizeof(task->result));
        if (work == NI_WORK_QUEUES && r->at[i].fd < 0 && reap(r, i))
            anew = start(r, i) == 0;
        r->at[i].work = work;
        r->at[i].until_ms = until + (anew ? NI_RAIL_OPEN_MS : 0);
        r->at[i].busy = r->at[i].fd >= 0 && send(r->at[i].fd, &byte, 1, MSG_NOSIGNAL) == 1;
        if (!r->at[i].busy)
            mark_silent(task, work);
    }
}

unsigned ni_rails_poll(const struct ni_rails *r, struct pollfd *ret)
{
    unsigned n = 0;

    for (unsigned i = 0; i < r->n; i++)
        if (r->at[i].busy)
            ret[n++] = (struct pollfd){.fd = r->at[i].fd, .events = POLLIN};
    return n;
}

bool ni_rails_done(struct ni_rails *r, int *ret_wait_ms)
{
    const int64_t now = ni_now_ms();
    int64_t wait = INT64_MAX;

    for (unsigned i = 0; i < r->n; i++) {
        ssize_t n;
        char byte;

        if (!r->at[i].busy)
            continue;
        n = recv(r->at[i].fd, &byte, 1, MSG_DONTWAIT);
        if (n == 1) {
            r->at[i].busy = false;
        } else if (n == 0 || (errno != EAGAIN && errno != EINTR) || now >= r->at[i].until_ms) {
            if (r->at[i].pid > 0)
                (void)kill(r->at[i].pid, SIGKILL);
            close_rail(r, i);
            mark_silent(&r->task[i], r->at[i].work);
        } else if (r->at[i].until_ms - now < wait) {
            wait = r->at[i].until_ms - now;
        }
    }
    *ret_wait_ms = wait == INT64_MAX ? -1 : (int)wait;
    return wait == INT64_MAX;
}

void ni_rails_end(struct ni_rails *r)
{
    static const struct timespec ms = {.tv_nsec = 1000000};
    const int64_t until = ni_now_ms() + DEATH_MS;
    bool any = true;

    for (unsigned i = 0; i < r->n; i++) {
        close_rail(r, i);
        if (r->at[i].pid > 0)
            (void)kill(r->at[i].pid, SIGKILL);
    }
    while (any && ni_now_ms() < until) {
        any = false;
        for (unsigned i = 0; i < r->n; i++)
            any = !reap(r, i) || any;
        if (any)
            (void)nanosleep(&ms, NULL);
    }
    if (r->task)
        (void)munmap(r->task, NI_MAX_RAILS * sizeof(*r->task));
    r->task = NULL;
    r->n = 0;
}
