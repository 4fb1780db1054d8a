/* SPDX-License-Identifier: Apache-2.0 */
/* The trial `nccl`: two ranks on each GPU, each in a process of its own, with an NCCL_HOSTID of its
   own, so that NCCL takes them for two nodes and goes over its network. What the ranks print goes to
   standard error, each line behind the number of the pair. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "nccl_init/base.h"
#include "try/rank.h"
#include "try/try.h"

enum {
    PAIRS = 32,
    AT_ONCE = 8,
    LOOK_MS = 20,
    ALONE_MS = 2000, /* for a rank whose other one has failed: it says why, too */
    LINE = 2048,
    PRINTED = 480 << 10 /* of all pairs; what starts the helper keeps 512 KiB (system/helper.h) */
};

struct pair {
    const char *bus, *hcas; /* hcas NULL: NCCL_IB_HCA as it is */
    pid_t parent;           /* of the ranks */
    pid_t rank[2];          /* 0: it has ended, or was not started */
    int printed;            /* -1: closed */
    long long until;        /* when what is left of it is killed */
    char line[LINE];
    size_t n;
    size_t room; /* for what it prints: a pair that prints much takes nothing from the others */
    bool cut;    /* it printed more */
};

static struct pair pairs[PAIRS];

static long long now_ms(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (long long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- the ranks ---- */

/* Becomes a rank: what NCCL prints goes to `printed`, line by line also where it dies. */
static _Noreturn void become(struct ni_rank *rank, const struct pair *pair, int printed, int other)
{
    char host[64];

    ni_try_die_with(pair->parent);
    (void)signal(SIGPIPE, SIG_IGN); /* the other rank may be gone */
    (void)close(other);
    (void)dup2(printed, STDOUT_FILENO);
    (void)dup2(printed, STDERR_FILENO);
    (void)setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    (void)snprintf(host, sizeof(host), "nccl-init-try-%d", rank->number);
    (void)setenv("NCCL_HOSTID", host, 1);
    if (pair->hcas)
        (void)setenv("NCCL_IB_HCA", pair->hcas, 1);
    const int status = ni_try_rank(rank);
    (void)fflush(stdout);
    _exit(status); /* what a library would do at its end does not matter */
}

/* Starts both ranks. */
static void start(unsigned at, const char *library)
{
    struct pair *pair = &pairs[at];
    int id[2], printed[2];

    if (pipe2(id, O_CLOEXEC) < 0 || pipe2(printed, O_CLOEXEC) < 0) {
        (void)ni_try_say("failed %u 0 load pipe %d", at, errno);
        return;
    }
    pair->parent = getpid();
    for (int i = 0; i < 2; i++) {
        struct ni_rank rank = {library, pair->bus, at, i, i == 0 ? id[1] : id[0]};

        pair->rank[i] = fork();
        if (pair->rank[i] == 0)
            become(&rank, pair, printed[1], i == 0 ? id[0] : id[1]);
        if (pair->rank[i] < 0) {
            (void)ni_try_say("failed %u %d load fork %d", at, i, errno);
            pair->rank[i] = 0;
        }
    }
    (void)close(id[0]);
    (void)close(id[1]);
    (void)close(printed[1]);
    pair->printed = printed[0];
}

/* ---- what they print ---- */

static void pass_line(unsigned at)
{
    struct pair *pair = &pairs[at];
    char line[LINE + 16];
    const int n = snprintf(line, sizeof(line), "%u %.*s\n", at, (int)pair->n, pair->line);

    if (pair->n > 0 && (size_t)n > pair->room && !pair->cut)
        (void)ni_try_say("cut %u", at);
    pair->cut = pair->cut || (size_t)n > pair->room;
    if (pair->n > 0 && !pair->cut) {
        (void)!write(STDERR_FILENO, line, (size_t)n);
        pair->room -= (size_t)n;
    }
    pair->n = 0;
}

/* Passes the lines on that are there; false: there will be no more. */
static bool pass_on(unsigned at)
{
    struct pair *pair = &pairs[at];
    char buf[4096];
    const ssize_t n = read(pair->printed, buf, sizeof(buf));

    for (ssize_t i = 0; i < n; i++) {
        if (buf[i] == '\n' || buf[i] == '\0' || pair->n == sizeof(pair->line))
            pass_line(at);
        if (buf[i] != '\n' && buf[i] != '\0')
            pair->line[pair->n++] = buf[i];
    }
    return n > 0 || (n < 0 && errno == EINTR);
}

/* Passes on what all pairs print, for a short time at most. false: nothing came. */
static bool listen_to(unsigned n)
{
    struct pollfd p[PAIRS];
    bool any = false;

    for (unsigned i = 0; i < n; i++)
        p[i] = (struct pollfd){.fd = pairs[i].printed, .events = POLLIN};
    (void)poll(p, n, LOOK_MS);
    for (unsigned i = 0; i < n; i++) {
        if (pairs[i].printed < 0 || p[i].revents == 0)
            continue;
        any = true;
        if (pass_on(i))
            continue;
        pass_line(i);
        (void)close(pairs[i].printed);
        pairs[i].printed = -1;
    }
    return any;
}

/* ---- how they end ---- */

/* Notes ranks of a pair that have ended. Returns whether one is left. */
static bool reap(unsigned at, long long now)
{
    struct pair *pair = &pairs[at];

    for (int i = 0; i < 2; i++) {
        int status;

        if (pair->rank[i] == 0 || waitpid(pair->rank[i], &status, WNOHANG) <= 0)
            continue;
        pair->rank[i] = 0;
        if (WIFSIGNALED(status))
            (void)ni_try_say("died %u %d %d", at, i, WTERMSIG(status));
        if (status != 0 && pair->until > now + ALONE_MS)
            pair->until = now + ALONE_MS;
    }
    return pair->rank[0] != 0 || pair->rank[1] != 0;
}

static void stop(unsigned at)
{
    struct pair *pair = &pairs[at];

    for (int i = 0; i < 2; i++) {
        if (pair->rank[i] != 0 && kill(pair->rank[i], SIGKILL) == 0)
            (void)ni_try_say("stopped %u %d", at, i);
    }
    for (int i = 0; i < 2; i++) {
        if (pair->rank[i] != 0)
            (void)waitpid(pair->rank[i], NULL, 0);
        pair->rank[i] = 0;
    }
}

void ni_try_nccl(int n_what, char *const what[])
{
    const long long until = now_ms() + (n_what > 1 ? strtoll(what[1], NULL, 10) : 0);
    const unsigned n = n_what > 2 ? (unsigned)n_what - 2 : 0;
    unsigned started = 0, left = 0;

    for (unsigned i = 0; i < n && i < PAIRS; i++) {
        char *hcas = strchr(what[2 + i], '=');

        if (hcas)
            *hcas++ = '\0';
        pairs[i] = (struct pair){
            .bus = what[2 + i], .hcas = hcas, .printed = -1, .until = until, .room = PRINTED / n};
    }
    do {
        const long long now = now_ms();

        left = 0;
        for (unsigned i = 0; i < started; i++) {
            if (!reap(i, now))
                continue;
            left++;
            if (now >= pairs[i].until)
                stop(i);
        }
        while (started < n && started < PAIRS && left < AT_ONCE && now < until) {
            start(started, what[0]);
            started++;
            left++;
        }
        (void)listen_to(started);
    } while (left > 0);
    while (listen_to(started)) /* what is still in the pipes */
        ;
}
