/* SPDX-License-Identifier: Apache-2.0 */
/* What every pod does: finds pod 0, tells what it is, and does with its rails what pod 0 says. */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nccl_init/act.h"
#include "wire.h"

enum {
    WELCOME_MS = 3000, /* from a hello to the welcome; then it is said again */
    CONNECT_MS = 4000, /* of one address, if it is the last; three times SYN */
    OTHERS_MS = 500,   /* of each before */
    FIRST_PAUSE_MS = 50,
    LAST_PAUSE_MS = 1000, /* names are not asked for more often: 1,000 pods ask one DNS */
    JITTER_MS = 200,
    /* Pod 0 lets nobody wait longer for the next step of a round. */
    STEP_MS =
        NI_RAIL_OPEN_MS + NI_RAIL_QUEUES_MS + NI_RAIL_CONNECT_MS + NI_RAIL_MOVE_MS + 4 * NI_GRACE_MS
};

struct leaf {
    const struct ni_meeting *m;
    struct ni_rails *rails; /* NULL: none */
    int fd;
    struct ni_message *in, *out;
    char *buf; /* of a message */
    struct ni_text why;
    bool refused; /* why: pod 0 was there, and said it */
};

/* What went wrong; replaces what was said before. */
static int fail(struct leaf *l, int err, const char *fmt, ...) NI_PRINTF(3, 4);
static int fail(struct leaf *l, int err, const char *fmt, ...)
{
    va_list ap;

    l->why = ni_text_on(l->why.buf, l->why.cap);
    va_start(ap, fmt);
    ni_vputf(&l->why, fmt, ap);
    va_end(ap);
    l->refused = err == -EBUSY;
    return err;
}

/* ---- messages ---- */

/* How long the next calls may block. */
static void set_limit(const struct leaf *l, int64_t ms)
{
    const struct timeval t = {.tv_sec = (time_t)(ms / 1000), .tv_usec = ms % 1000 * 1000 + 1};

    (void)setsockopt(l->fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t));
    (void)setsockopt(l->fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
}

static int send_message(struct leaf *l, enum ni_message_type type)
{
    struct ni_text t = ni_text_on(l->buf, NI_WIRE_HEAD + NI_MEET_MESSAGE);

    l->out->type = type;
    ni_message_put(&t, l->out);
    set_limit(l, STEP_MS);
    return send(l->fd, t.buf, t.len, MSG_NOSIGNAL) == (ssize_t)t.len
               ? 0
               : fail(l, -ECONNRESET, "pod 0 went away");
}

/* 0, or -errno after saying why. */
static int read_bytes(struct leaf *l, void *to, size_t n)
{
    const ssize_t got = recv(l->fd, to, n, MSG_WAITALL);

    if (got == (ssize_t)n)
        return 0;
    if (got < 0 && errno == EAGAIN)
        return fail(l, -ETIMEDOUT, "pod 0 does not answer any more");
    return fail(l, -ECONNRESET, "pod 0 went away");
}

/* The next message of pod 0, into l->in: 0, or -errno after saying why. */
static int read_message(struct leaf *l, int64_t limit_ms)
{
    char buf[160];
    struct ni_text why = ni_text_on(buf, sizeof(buf));
    uint8_t head[NI_WIRE_HEAD];
    size_t n;
    int r;

    set_limit(l, limit_ms);
    r = read_bytes(l, head, sizeof(head));
    n = ni_message_length(head);
    if (r == 0 && n > NI_MEET_MESSAGE)
        return fail(l, -EPROTO, "who answers is not pod 0 of a preflight");
    if (r == 0 && n > 0)
        r = read_bytes(l, l->buf, n);
    if (r != 0)
        return r;
    l->buf[n] = '\0';
    if (ni_message_take(l->buf, n, l->in, &why) != 0)
        return fail(l, -EPROTO, "pod 0 is not understood: %s", buf);
    if (l->in->type == NI_MSG_NO)
        return fail(l, l->in->again ? -EBUSY : -EPROTO, "pod 0 refused this pod: %s", l->in->line);
    return 0;
}

/* ---- finding pod 0 ---- */

static int connect_one(struct leaf *l, const struct addrinfo *at, int64_t limit_ms)
{
    l->fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (l->fd < 0)
        return -errno;
    ni_socket_set_up(l->fd);
    set_limit(l, limit_ms);
    if (connect(l->fd, at->ai_addr, at->ai_addrlen) == 0)
        return 0;
    return errno == EINPROGRESS ? -ETIMEDOUT : -errno; /* socket(7), SO_SNDTIMEO */
}

/* A hello, and its answer. Who hangs up without one may be a proxy in front of a pod 0 that is not
   there yet. */
static int greet(struct leaf *l)
{
    const struct ni_party *p = l->m->party;
    int r;

    l->out->protocol = NI_MEET_PROTOCOL;
    l->out->rank = p->rank;
    l->out->ranks = p->ranks;
    (void)ni_copy(l->out->version, sizeof(l->out->version), l->m->pod->version);
    (void)ni_copy(l->out->host, sizeof(l->out->host), l->m->pod->host);
    (void)ni_copy(l->out->key, sizeof(l->out->key), p->key);
    r = send_message(l, NI_MSG_HELLO);
    r = r == 0 ? read_message(l, WELCOME_MS) : r;
    if (r == 0 && l->in->type != NI_MSG_WELCOME)
        r = fail(l, -EAGAIN, "who answers there is not pod 0");
    return r;
}

static void hang_up(struct leaf *l)
{
    if (l->fd >= 0)
        (void)close(l->fd);
    l->fd = -1;
}

/* Each address of pod 0 once. 0: welcome; -EPROTO: refused; else not yet. */
static int try_addresses(struct leaf *l, int64_t until_ms)
{
    const struct ni_party *p = l->m->party;
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *all;
    char port[8];
    int r;

    (void)ni_format(port, sizeof(port), "%u", p->port);
    r = getaddrinfo(p->host, port, &hints, &all);
    if (r != 0)
        return fail(l, -EAGAIN, "%s: %s", p->host, gai_strerror(r));
    r = -EAGAIN;
    for (const struct addrinfo *at = all; at && r != 0 && r != -EPROTO; at = at->ai_next) {
        const int64_t left = until_ms - ni_now_ms(), limit = at->ai_next ? OTHERS_MS : CONNECT_MS;

        if (left <= 0)
            break;
        r = connect_one(l, at, left < limit ? left : limit);
        if (r != 0)
            (void)fail(l, r, "%s port %u: %s", p->host, p->port, ni_errno_text(r));
        else
            r = greet(l);
        if (r != 0)
            hang_up(l);
    }
    freeaddrinfo(all);
    return r;
}

/* Until pod 0 says welcome, or `until`. */
static int find_hub(struct leaf *l, int64_t until_ms)
{
    int64_t pause = FIRST_PAUSE_MS;

    for (;;) {
        const int r = try_addresses(l, until_ms);
        const int64_t left = until_ms - ni_now_ms();

        if (r == 0 || r == -EPROTO)
            return r;
        if (left <= 0) {
            if (!l->refused)
                ni_putf(&l->why, "; the others have started, or never came");
            return -ETIMEDOUT;
        }
        if (l->m->progress)
            l->m->progress(l->m->arg, l->why.buf, false);
        pause += (l->m->party->rank * 37) % JITTER_MS / 4;
        (void)poll(NULL, 0, (int)(left < pause ? left : pause));
        pause = pause < LAST_PAUSE_MS / 2 ? 2 * pause : LAST_PAUSE_MS;
    }
}

/* ---- the rails ---- */

/* Lets them do it, all at once. */
static void work(struct leaf *l, enum ni_rail_work what, int64_t limit_ms)
{
    struct pollfd p[NI_MAX_RAILS];
    int wait_ms;

    if (!l->rails)
        return;
    ni_rails_ask(l->rails, what, limit_ms);
    while (!ni_rails_done(l->rails, &wait_ms))
        (void)poll(p, ni_rails_poll(l->rails, p), wait_ms);
}

/* Gives each rail the roles that pod 0 names, and no others. */
static void take_roles(struct leaf *l, bool partners)
{
    const struct ni_message *m = l->in;
    const unsigned n = l->rails ? l->rails->n : 0;

    for (unsigned i = 0; i < n; i++) {
        l->rails->task[i].has[NI_ROLE_FROM] = false;
        l->rails->task[i].has[NI_ROLE_TO] = false;
    }
    for (unsigned i = 0; i < m->n_item; i++) {
        const struct ni_item *it = &m->item[i];
        struct ni_rail_task *task = it->rail < n ? &l->rails->task[it->rail] : NULL;

        if (!task)
            continue;
        task->has[it->role] = true;
        if (partners)
            task->partner[it->role] = it->partner;
        if (it->has_end)
            task->peer[it->role] = it->end;
        task->bytes = m->bytes;
        task->move_ms = m->move_ms;
    }
}

/* Answers for each role: how it went, and the end if it came to one. passed: the step at which a role
   stands that did what was asked; only failures are told. */
static int answer(struct leaf *l, enum ni_message_type type, enum ni_pair_step passed)
{
    struct ni_message *m = l->out;

    m->round = l->in->round;
    m->n_item = 0;
    for (unsigned rail = 0; l->rails && rail < l->rails->n; rail++) {
        const struct ni_rail_task *task = &l->rails->task[rail];

        for (unsigned role = 0; role < NI_ROLES; role++) {
            const struct ni_pair_result *r = &task->result[role];
            const bool failed = r->silent || r->step < passed;

            if (!task->has[role] || (type == NI_MSG_CONNECTED && !failed))
                continue;
            m->item[m->n_item++] = (struct ni_item){
                .rail = rail,
                .role = role,
                .partner = task->partner[role],
                .has_end = type == NI_MSG_ENDS && !failed,
                .has_result = type == NI_MSG_RESULTS || failed,
                .end = task->own[role],
                .result = *r,
            };
        }
    }
    return send_message(l, type);
}

/* Does what one message asks for. */
static int step(struct leaf *l)
{
    const enum ni_message_type type = l->in->type;

    if (type == NI_MSG_ROUND) {
        take_roles(l, true);
        work(l, NI_WORK_QUEUES, NI_RAIL_QUEUES_MS);
        return answer(l, NI_MSG_ENDS, NI_PAIR_CONNECT);
    }
    if (type == NI_MSG_PEERS) {
        take_roles(l, false);
        work(l, NI_WORK_CONNECT, NI_RAIL_CONNECT_MS);
        return answer(l, NI_MSG_CONNECTED, NI_PAIR_SMALL);
    }
    if (type == NI_MSG_GO) {
        take_roles(l, false);
        work(l, NI_WORK_MOVE, NI_RAIL_MOVE_MS + 3 * (int64_t)l->in->move_ms);
        return answer(l, NI_MSG_RESULTS, NI_PAIR_DONE);
    }
    if (type != NI_MSG_STOP)
        return fail(l, -EPROTO, "pod 0 says what it should not");
    work(l, NI_WORK_STOP, NI_RAIL_STOP_MS);
    return 0;
}

/* ---- the whole ---- */

static int tell_facts(struct leaf *l)
{
    const struct ni_pod *p = l->m->pod;
    struct ni_message *m = l->out;

    m->pod = *p;
    memcpy(m->rail, p->rail, p->n_rail * sizeof(*p->rail));
    for (unsigned i = 0; i < p->n_setting; i++) {
        (void)ni_copy(m->setting[i].name, sizeof(m->setting[i].name), p->setting[i].name);
        (void)ni_copy(m->setting[i].value, sizeof(m->setting[i].value), p->setting[i].value);
    }
    return send_message(l, NI_MSG_FACTS);
}

/* Welcome until the verdict. *ret_begun: rounds have begun, so that there is no coming back. */
static int take_part(struct leaf *l, bool *ret_begun)
{
    const int64_t within = l->in->within_ms;
    int r;

    for (unsigned i = 0; l->rails && i < l->rails->n; i++) {
        l->rails->task[i].session = l->in->session;
        l->rails->task[i].rank = l->m->party->rank;
    }
    r = tell_facts(l);
    if (r == 0)
        r = read_message(l, within + STEP_MS);
    while (r == 0 && l->in->type != NI_MSG_VERDICT) {
        *ret_begun = true;
        r = step(l);
        if (r == 0)
            r = read_message(l, STEP_MS + 3 * (int64_t)l->in->move_ms);
    }
    return r;
}

static void open_rails(struct leaf *l)
{
    const struct ni_meeting *m = l->m;
    int r = m->start && m->pod->n_rail > 0 ? m->start(m->rails, m->arg) : -ENOENT;

    if (r != 0) {
        for (unsigned i = 0; r != -ENOENT && i < m->pod->n_rail; i++)
            (void)ni_format(m->pod->rail[i].untried, sizeof(m->pod->rail[i].untried),
                            "its process could not be started: %s", ni_errno_text(r));
        return;
    }
    l->rails = m->rails;
    work(l, NI_WORK_OPEN, NI_RAIL_OPEN_MS);
    for (unsigned i = 0; i < l->rails->n && i < m->pod->n_rail; i++) {
        m->pod->rail[i] = l->rails->task[i].rail;
        if (l->rails->task[i].result[NI_ROLE_FROM].silent)
            (void)ni_copy(m->pod->rail[i].untried, sizeof(m->pod->rail[i].untried),
                          "its device does not open in time");
    }
}

int ni_leaf(const struct ni_meeting *m, int fd, struct ni_verdict *ret, struct ni_findings *f)
{
    const int64_t until = ni_now_ms() + m->within_ms;
    struct leaf l = {.m = m, .fd = fd, .why = ni_text_on(ret->line, sizeof(ret->line))};
    bool begun = false;
    int r = -ENOMEM;

    ret->good = false;
    l.in = calloc(1, sizeof(*l.in));
    l.out = calloc(1, sizeof(*l.out));
    l.buf = malloc(NI_WIRE_HEAD + NI_MEET_MESSAGE + 1);
    if (l.in && l.out && l.buf) {
        open_rails(&l);
        do {
            r = l.fd >= 0 ? greet(&l) : find_hub(&l, until);
            r = r == 0 ? take_part(&l, &begun) : r;
            hang_up(&l);
        } while (r != 0 && r != -EPROTO && r != -ETIMEDOUT && !begun && fd < 0);
    }
    if (r == 0) {
        ret->good = l.in->good;
        (void)ni_copy(ret->line, sizeof(ret->line), l.in->line);
        for (unsigned i = 0; i < l.in->findings.n; i++) {
            const struct ni_finding *it = &l.in->findings.at[i];

            if (it->id < NI_F_COUNT)
                ni_report(f, it->id, it->subject, "%s", it->message);
        }
    }
    if (l.rails)
        ni_rails_end(l.rails);
    free(l.in);
    free(l.out);
    free(l.buf);
    return r;
}

/* The hub's process ends with the leaf's. Returns its pid. */
static pid_t fork_hub(const struct ni_meeting *m, int listen_fd, int leaf_fd, int other_fd)
{
    pid_t pid = ni_fork();

    if (pid != 0)
        return pid;
    (void)close(other_fd);
    _exit(ni_hub(m, listen_fd, leaf_fd) == 0 ? 0 : 1);
}

int ni_meet(const struct ni_meeting *m, struct ni_verdict *ret, struct ni_findings *f)
{
    struct ni_text why = ni_text_on(ret->line, sizeof(ret->line));
    int pair[2], r;
    pid_t pid;

    ret->good = false;
    if (m->party->rank > 0)
        return ni_leaf(m, -1, ret, f);
    r = ni_hub_listen(m->party->port, m->party->ranks);
    if (r < 0) {
        ni_putf(&why, "pod 0 cannot listen on port %u: %s%s", m->party->port, ni_errno_text(r),
                r == -EADDRINUSE ? "; does another preflight run there (--port)?"
                : r == -EMFILE   ? ": it needs one for each pod (ulimit -Hn)"
                                 : "");
        return r;
    }
    pid = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0
              ? -1
              : fork_hub(m, r, pair[1], pair[0]);
    (void)close(r);
    if (pid < 0) {
        r = -errno;
        ni_putf(&why, "no process for pod 0: %s", ni_errno_text(r));
        return r;
    }
    (void)close(pair[1]);
    r = ni_leaf(m, pair[0], ret, f);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return r;
}
