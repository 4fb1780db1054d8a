/* SPDX-License-Identifier: Apache-2.0 */
/* Pod 0's star: waits for all pods, compares them, lets them try their rails round by round, and
   tells all the verdict. One loop, no thread; what a connection sends disturbs no other. */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "nccl_init/act.h"
#include "wire.h"

enum {
    BACKLOG = 16384, /* the kernel cuts it to net.core.somaxconn, 4096 since Linux 5.4 */
    STRANGERS = 64,  /* connections beyond two for each pod */
    SPARE_FDS = 32,
    HELLO_MS = 5000,  /* from accept to a whole hello, and to the facts */
    SLOW_MS = 10000,  /* from the first byte of a message to the last */
    LOOK_MS = 250,    /* between looks for those that are too slow */
    TOLD_MS = 3000,   /* from the verdict to hanging up */
    UNREAD = 1 << 18, /* bytes that a pod may leave in its socket */
    EVENTS = 256,
    TWINS = 16,
    REFUSED = 16 /* strangers that are told of: they leave room for what is wrong */
};

static const uint32_t listener = UINT32_MAX; /* among the connections that epoll tells */

struct conn {
    int fd;           /* -1: free */
    int rank;         /* -1: not welcome yet */
    bool told;        /* its facts */
    bool asked;       /* it owes an answer */
    int64_t since_ms; /* accepted; with in: the message began */
    uint8_t head[NI_WIRE_HEAD];
    unsigned n_head;
    char *in; /* of `want` bytes and a NUL */
    size_t want, got;
};

/* A pair of this round, beside its result. */
struct pair {
    bool over; /* its result is known */
    bool has[NI_ROLES];
    struct ni_rail_end end[NI_ROLES];
};

struct hub {
    const struct ni_meeting *m;
    int epoll, listen;
    enum ni_message_type wants; /* what is waited for; FACTS: who comes is welcome */
    unsigned waiting;           /* for so many */
    int64_t until_ms, looked_ms;
    unsigned cap, n_free;
    struct conn *conn;
    unsigned *free;
    int *of; /* connection by rank, -1: none */
    uint64_t session;
    struct ni_job job;
    uint8_t *verdicts;
    struct ni_findings *f;
    struct ni_message *in, *out;
    struct ni_text text; /* of a message going out */
    /* of the round */
    unsigned n_pair;
    struct ni_pair *pairs;
    struct pair *pair;
    struct ni_pair_result *result;
    int *at;       /* pair by rank, rail and role, -1: none */
    bool own_leaf; /* rank 0 comes on a socket that no stranger has */
    unsigned n_twin;
    struct {
        unsigned rank;
        char host[NI_POD_NAME];
    } twin[TWINS]; /* who came with the rank of another that lives */
};
static struct hub hub; /* of this process */

static void say(const struct hub *h, bool phase, const char *fmt, ...) NI_PRINTF(3, 4);
static void say(const struct hub *h, bool phase, const char *fmt, ...)
{
    char buf[160];
    struct ni_text t = ni_text_on(buf, sizeof(buf));
    va_list ap;

    if (!h->m->progress)
        return;
    va_start(ap, fmt);
    ni_vputf(&t, fmt, ap);
    va_end(ap);
    h->m->progress(h->m->arg, buf, phase);
}

/* ---- connections ---- */

static void forget_pod(struct hub *h, unsigned rank)
{
    free(h->job.pod[rank].setting);
    free(h->job.pod[rank].rail);
    h->job.pod[rank] = (struct ni_pod){.here = false};
}

static void drop(struct hub *h, struct conn *c)
{
    if (c->rank >= 0) {
        const unsigned rank = (unsigned)c->rank;

        h->of[rank] = -1;
        if (h->wants != NI_MSG_FACTS) {
            if (h->wants != NI_MSG_VERDICT) /* who has heard it may go */
                h->job.missing[rank] = NI_POD_WENT_AWAY;
            h->waiting -= c->asked;
        } else {
            h->waiting += c->told;
            h->job.missing[rank] = NI_POD_NEVER_CAME;
            forget_pod(h, rank);
        }
    }
    (void)close(c->fd);
    free(c->in);
    *c = (struct conn){.fd = -1, .rank = -1};
    h->free[h->n_free++] = (unsigned)(c - h->conn);
}

/* Where there are too many, who waits for a welcome longest makes room. */
static bool make_room(struct hub *h)
{
    struct conn *oldest = NULL;

    for (unsigned i = 0; i < h->cap && h->n_free == 0; i++) {
        struct conn *c = &h->conn[i];

        if (c->rank < 0 && (!oldest || c->since_ms < oldest->since_ms))
            oldest = c;
    }
    if (oldest)
        drop(h, oldest);
    return h->n_free > 0;
}

/* since_ms: pod 0's own leaf may take its time, and never makes room. */
static void add(struct hub *h, int fd, int64_t since_ms)
{
    static const int unread = UNREAD;
    struct epoll_event e = {.events = EPOLLIN};
    struct conn *c;

    if (!make_room(h)) {
        (void)close(fd);
        return;
    }
    c = &h->conn[h->free[--h->n_free]];
    *c = (struct conn){.fd = fd, .rank = -1, .since_ms = since_ms};
    ni_socket_set_up(fd);
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &unread, sizeof(unread));
    e.data.u32 = (uint32_t)(c - h->conn);
    (void)epoll_ctl(h->epoll, EPOLL_CTL_ADD, fd, &e);
}

/* All that wait, before any is read: the kernel's queue of them is short. */
static void accept_all(struct hub *h)
{
    for (int i = 0; i < BACKLOG; i++) {
        int fd = accept4(h->listen, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (fd >= 0)
            add(h, fd, ni_now_ms());
        else if (errno != EINTR && errno != ECONNABORTED)
            return;
    }
}

static void put_message(struct hub *h, enum ni_message_type type)
{
    h->text = ni_text_on(h->text.buf, h->text.cap);
    h->out->type = type;
    ni_message_put(&h->text, h->out);
}

/* h->text. The kernel keeps what a pod has not read yet; who leaves more unread than that is gone. */
static void send_text(struct hub *h, struct conn *c)
{
    if (send(c->fd, h->text.buf, h->text.len, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)h->text.len)
        drop(h, c);
}

/* ---- what comes ---- */

/* Says no, and hangs up. */
static void refuse(struct hub *h, struct conn *c, bool again, const char *fmt, ...) NI_PRINTF(4, 5);
static void refuse(struct hub *h, struct conn *c, bool again, const char *fmt, ...)
{
    struct ni_text t = ni_text_on(h->out->line, sizeof(h->out->line));
    va_list ap;

    va_start(ap, fmt);
    ni_vputf(&t, fmt, ap);
    va_end(ap);
    h->out->again = again;
    put_message(h, NI_MSG_NO);
    (void)send(c->fd, h->text.buf, h->text.len, MSG_NOSIGNAL | MSG_DONTWAIT);
    drop(h, c);
}

/* Two pods with one rank: one of the same host is that pod again; another is told to come later, for
   the first may be dead, and nobody knows it yet. */
static bool is_twin(struct hub *h, struct conn *c, const struct ni_message *m)
{
    struct conn *other = h->of[m->rank] >= 0 ? &h->conn[h->of[m->rank]] : NULL;
    const char *host = h->job.pod[m->rank].host;

    if (!other)
        return false;
    if (strcmp(host, m->host) == 0) {
        drop(h, other);
        return false;
    }
    if (h->n_twin < TWINS) {
        h->twin[h->n_twin].rank = m->rank;
        (void)ni_copy(h->twin[h->n_twin++].host, NI_POD_NAME, m->host);
    }
    refuse(h, c, true, "%s has rank %u, too", host, m->rank);
    return true;
}

static void take_hello(struct hub *h, struct conn *c, const struct ni_message *m)
{
    const struct ni_party *p = h->m->party;
    const unsigned found = h->f->n;

    if (m->protocol != NI_MEET_PROTOCOL) {
        ni_report(h->f, NI_F_JOB_REFUSED, m->host, "nccl-init %s speaks protocol %u, pod 0 %d",
                  m->version, m->protocol, NI_MEET_PROTOCOL);
        refuse(h, c, false, "pod 0 has nccl-init %s, which speaks protocol %d, and this pod %s, %u",
               h->m->pod->version, NI_MEET_PROTOCOL, m->version, m->protocol);
    } else if (p->key[0] && m->key[0] && strcmp(p->key, m->key) != 0) {
        ni_report(h->f, NI_F_JOB_REFUSED, m->host, "it came with the key `%s`, pod 0 has `%s`",
                  m->key, p->key);
        refuse(h, c, true, "pod 0 is of another job, or attempt: its key is `%s`, this pod's `%s`",
               p->key, m->key);
    } else if (m->ranks != p->ranks || m->rank >= p->ranks) {
        ni_report(h->f, NI_F_JOB_REFUSED, m->host, "it is rank %u of %u pods, pod 0 knows of %u",
                  m->rank, m->ranks, p->ranks);
        refuse(h, c, false, "pod 0 knows of %u pods, this one is rank %u of %u", p->ranks, m->rank,
               m->ranks);
    } else if (m->rank == 0 && h->own_leaf && c->since_ms != INT64_MAX) {
        refuse(h, c, false, "rank 0 is pod 0 itself");
    } else if (h->wants != NI_MSG_FACTS) {
        refuse(h, c, false, "the others have started without this pod");
    } else if (!is_twin(h, c, m)) {
        c->rank = (int)m->rank;
        c->since_ms = c->since_ms == INT64_MAX ? INT64_MAX : ni_now_ms();
        h->of[m->rank] = (int)(c - h->conn);
        (void)ni_copy(h->job.pod[m->rank].host, NI_POD_NAME, m->host);
        h->out->session = h->session;
        h->out->within_ms = h->until_ms - ni_now_ms();
        h->out->within_ms = h->out->within_ms > 0 ? h->out->within_ms : 0;
        put_message(h, NI_MSG_WELCOME);
        send_text(h, c);
    }
    if (found >= REFUSED)
        h->f->n = found;
}

/* The pod of a message, with memory of its own. false: there is none. */
static bool keep_pod(struct ni_pod *to, const struct ni_message *m)
{
    *to = m->pod;
    to->here = true;
    to->rail = malloc(m->pod.n_rail * sizeof(*to->rail) + 1);
    to->setting = malloc(m->pod.n_setting * sizeof(*to->setting) + 1);
    to->n_setting = 0;
    if (!to->rail || !to->setting)
        return false;
    memcpy(to->rail, m->rail, m->pod.n_rail * sizeof(*to->rail));
    for (unsigned i = 0; i < m->pod.n_setting; i++) {
        const struct ni_job_setting *row = ni_find_job_setting(m->setting[i].name);
        struct ni_pod_setting *s = &to->setting[to->n_setting];

        if (!row)
            continue;
        s->name = row->name;
        (void)ni_copy(s->value, sizeof(s->value), m->setting[i].value);
        to->n_setting++;
    }
    return true;
}

static void take_facts(struct hub *h, struct conn *c, const struct ni_message *m)
{
    if (c->rank < 0 || c->told || h->wants != NI_MSG_FACTS) {
        drop(h, c);
        return;
    }
    c->told = true;
    h->waiting--;
    h->job.missing[c->rank] = NI_POD_CAME;
    if (!keep_pod(&h->job.pod[c->rank], m)) {
        drop(h, c);
        return;
    }
    say(h, false, "%u of %u pods have come", h->job.ranks - h->waiting, h->job.ranks);
}

/* The pair is over; what one end says of a failure. */
static void end_pair(struct hub *h, unsigned pair, bool at_to, const struct ni_pair_result *how)
{
    struct ni_pair_result *r = &h->result[pair], before = *r;

    *r = *how;
    r->pair = before.pair;
    r->round = before.round;
    r->at_to = at_to;
    h->pair[pair].over = true;
}

static int *pair_at(const struct hub *h, unsigned rank, unsigned rail, unsigned role)
{
    return &h->at[(rank * h->job.n_rail + rail) * NI_ROLES + role];
}

static void take_items(struct hub *h, struct conn *c, const struct ni_message *m)
{
    if (c->rank < 0 || !c->asked || m->type != h->wants || m->round != h->job.rounds) {
        drop(h, c);
        return;
    }
    c->asked = false;
    h->waiting--;
    for (unsigned i = 0; i < m->n_item; i++) {
        const struct ni_item *it = &m->item[i];
        int p = it->rail < h->job.n_rail ? *pair_at(h, (unsigned)c->rank, it->rail, it->role) : -1;

        if (p < 0 || h->pair[p].over || (m->type == NI_MSG_RESULTS && it->role == NI_ROLE_TO))
            continue;
        if (it->has_result) {
            end_pair(h, (unsigned)p,
                     m->type == NI_MSG_RESULTS ? it->result.at_to : it->role == NI_ROLE_TO,
                     &it->result);
        } else if (it->has_end && m->type == NI_MSG_ENDS) {
            h->pair[p].end[it->role] = it->end;
            h->pair[p].has[it->role] = true;
        }
    }
}

static void take_message(struct hub *h, struct conn *c)
{
    char buf[160];
    struct ni_text why = ni_text_on(buf, sizeof(buf));
    char *text = c->in;
    int r;

    c->in = NULL;
    c->n_head = 0;
    c->got = 0;
    r = ni_message_take(text, c->want, h->in, &why);
    free(text);
    if (r == 0 && c->rank < 0 && h->in->type == NI_MSG_HELLO)
        take_hello(h, c, h->in);
    else if (r == 0 && h->in->type == NI_MSG_FACTS)
        take_facts(h, c, h->in);
    else if (r == 0 && h->in->type <= NI_MSG_RESULTS && h->in->type != NI_MSG_HELLO)
        take_items(h, c, h->in);
    else if (c->rank < 0)
        drop(h, c);
    else
        refuse(h, c, false, "pod 0 does not understand this pod: %s",
               why.len > 0 ? buf : "a message out of turn");
}

/* One read. false: nothing more is there now, or the connection is gone. */
static bool read_some(struct hub *h, struct conn *c)
{
    const bool in_head = c->n_head < NI_WIRE_HEAD;
    ssize_t n = recv(c->fd, in_head ? (void *)(c->head + c->n_head) : c->in + c->got,
                     in_head ? NI_WIRE_HEAD - c->n_head : c->want - c->got, MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n <= 0) {
        drop(h, c);
        return false;
    }
    if (!in_head) {
        c->got += (size_t)n;
    } else {
        if (c->n_head == 0 && c->rank >= 0)
            c->since_ms = ni_now_ms();
        c->n_head += (unsigned)n;
        if (c->n_head < NI_WIRE_HEAD)
            return true;
        c->want = ni_message_length(c->head);
        if (c->want > 0 && c->want <= (c->rank < 0 ? NI_MEET_HELLO : NI_MEET_MESSAGE))
            c->in = malloc(c->want + 1);
        if (!c->in) {
            drop(h, c);
            return false;
        }
        c->in[c->want] = '\0';
    }
    if (c->in && c->got == c->want)
        take_message(h, c);
    return c->fd >= 0;
}

static void drop_slow(struct hub *h, int64_t now)
{
    if (now - h->looked_ms < LOOK_MS)
        return;
    h->looked_ms = now;
    for (unsigned i = 0; i < h->cap; i++) {
        struct conn *c = &h->conn[i];

        if (c->fd >= 0 && (((c->rank < 0 || !c->told) && now - c->since_ms > HELLO_MS) ||
                           (c->n_head > 0 && now - c->since_ms > SLOW_MS)))
            drop(h, c);
    }
}

/* Until nobody is waited for, or the time is over. */
static void wait_for_answers(struct hub *h, int64_t until_ms)
{
    enum { TURN = 8 }; /* reads of one connection, before others have theirs */
    struct epoll_event e[EVENTS];

    h->until_ms = until_ms;
    for (int64_t now; h->waiting > 0 && (now = ni_now_ms()) < until_ms;) {
        const int64_t left = until_ms - now;
        int n = epoll_wait(h->epoll, e, EVENTS, left < LOOK_MS ? (int)left : LOOK_MS);

        accept_all(h);
        for (int i = 0; i < n; i++) {
            int turn = 0;

            if (e[i].data.u32 == listener)
                continue;
            while (h->conn[e[i].data.u32].fd >= 0 && turn < TURN &&
                   read_some(h, &h->conn[e[i].data.u32]))
                turn++;
        }
        drop_slow(h, now);
    }
}

/* ---- rounds ---- */

/* What pod `rank` is to know or do of its pairs. */
static void put_items(struct hub *h, enum ni_message_type type, unsigned rank)
{
    struct ni_message *m = h->out;

    m->n_item = 0;
    for (unsigned rail = 0; rail < h->job.n_rail; rail++) {
        for (unsigned role = 0; role < NI_ROLES; role++) {
            const int p = *pair_at(h, rank, rail, role);
            const struct ni_pair *pair = p >= 0 ? &h->result[p].pair : NULL;

            if (!pair || (h->pair[p].over && type != NI_MSG_STOP) ||
                (type == NI_MSG_GO && role == NI_ROLE_TO))
                continue;
            m->item[m->n_item++] = (struct ni_item){
                .rail = rail,
                .role = role,
                .partner = role == NI_ROLE_FROM ? pair->to : pair->from,
                .has_end = type == NI_MSG_PEERS,
                .end = h->pair[p].end[role == NI_ROLE_FROM ? NI_ROLE_TO : NI_ROLE_FROM],
            };
        }
    }
}

/* Tells each pod its items, and waits for the answers. Who does not answer in time is dropped. */
static void ask(struct hub *h, enum ni_message_type type, enum ni_message_type answer,
                int64_t limit_ms)
{
    h->wants = answer;
    h->waiting = 0;
    for (unsigned rank = 0; rank < h->job.ranks; rank++) {
        struct conn *c = h->of[rank] >= 0 ? &h->conn[h->of[rank]] : NULL;

        put_items(h, type, rank);
        if (!c || h->out->n_item == 0)
            continue;
        put_message(h, type);
        c->asked = limit_ms > 0;
        h->waiting += c->asked;
        send_text(h, c);
    }
    if (limit_ms > 0)
        wait_for_answers(h, ni_now_ms() + limit_ms + NI_GRACE_MS);
    for (unsigned rank = 0; rank < h->job.ranks; rank++) {
        if (h->of[rank] >= 0 && h->conn[h->of[rank]].asked)
            drop(h, &h->conn[h->of[rank]]);
    }
}

/* Pairs of which one end is silent are over. */
static void end_silent(struct hub *h, enum ni_pair_step step)
{
    for (unsigned p = 0; p < h->n_pair; p++) {
        const struct ni_pair *pair = &h->result[p].pair;

        for (unsigned role = 0; role < NI_ROLES && !h->pair[p].over; role++) {
            const bool gone = h->of[role == NI_ROLE_FROM ? pair->from : pair->to] < 0;

            if (gone || !h->pair[p].has[role])
                end_pair(h, p, role == NI_ROLE_TO,
                         &(struct ni_pair_result){.step = step, .silent = true});
        }
    }
}

/* Memory for a round; false: none. */
static bool begin_round(struct hub *h, unsigned n)
{
    const struct ni_pair *pairs = h->pairs;
    struct ni_job *job = &h->job;
    const unsigned slots = job->ranks * job->n_rail * NI_ROLES;
    struct ni_pair_result *r = realloc(job->result, (job->n_result + n) * sizeof(*r));

    if (!r)
        return false;
    job->result = r;
    h->result = r + job->n_result;
    h->n_pair = n;
    memset(h->pair, 0, n * sizeof(*h->pair));
    for (unsigned i = 0; i < slots; i++)
        h->at[i] = -1;
    for (unsigned p = 0; p < n; p++) {
        h->result[p] = (struct ni_pair_result){.pair = pairs[p], .round = job->rounds};
        *pair_at(h, pairs[p].from, pairs[p].rail, NI_ROLE_FROM) = (int)p;
        *pair_at(h, pairs[p].to, pairs[p].rail, NI_ROLE_TO) = (int)p;
    }
    h->out->round = job->rounds;
    h->out->bytes = h->m->bytes;
    h->out->move_ms = h->m->move_ms;
    return true;
}

static void run_rounds(struct hub *h)
{
    struct ni_job *job = &h->job;
    const unsigned most = job->ranks * job->n_rail;

    h->pairs = calloc(most + 1, sizeof(*h->pairs));
    h->pair = calloc(most + 1, sizeof(*h->pair));
    h->at = calloc((size_t)most * NI_ROLES + 1, sizeof(*h->at));
    while (h->pairs && h->pair && h->at) {
        const unsigned n = ni_next_round(job, h->pairs, most);

        if (n == 0)
            return;
        if (!begin_round(h, n))
            return;
        say(h, true, "round %u: %u pairs", job->rounds + 1, n);
        ask(h, NI_MSG_ROUND, NI_MSG_ENDS, NI_RAIL_OPEN_MS + NI_RAIL_QUEUES_MS);
        end_silent(h, NI_PAIR_QUEUES);
        ask(h, NI_MSG_PEERS, NI_MSG_CONNECTED, NI_RAIL_CONNECT_MS);
        end_silent(h, NI_PAIR_CONNECT);
        ask(h, NI_MSG_GO, NI_MSG_RESULTS, NI_RAIL_MOVE_MS + 3 * (int64_t)h->m->move_ms);
        for (unsigned p = 0; p < n; p++)
            h->pair[p].has[NI_ROLE_FROM] = h->pair[p].over;
        end_silent(h, NI_PAIR_SMALL);
        ask(h, NI_MSG_STOP, NI_MSG_STOP, 0);
        job->n_result += n;
        job->rounds++;
    }
}

/* ---- the whole ---- */

int ni_hub_listen(unsigned port, unsigned ranks)
{
    static const int on = 1, off = 0;
    const struct sockaddr_in6 any6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
    const struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    struct rlimit fds;
    int fd, r;
    const void *at;
    bool v6;

    if (getrlimit(RLIMIT_NOFILE, &fds) == 0) {
        fds.rlim_cur = fds.rlim_max;
        if (setrlimit(RLIMIT_NOFILE, &fds) == 0 && fds.rlim_max < ranks + SPARE_FDS)
            return -EMFILE;
    }
    fd = socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    v6 = fd >= 0;
    at = v6 ? (const void *)&any6 : &any;
    if (!v6) /* ipv6.disable=1 */
        fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    r = bind(fd, at, v6 ? sizeof(any6) : sizeof(any));
    if (r == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    r = -errno;
    (void)close(fd);
    return r;
}

/* 0, or -errno: no memory, or too few descriptors. */
static int set_up(struct hub *h, int listen_fd)
{
    const unsigned ranks = h->m->party->ranks;
    struct epoll_event e = {.events = EPOLLIN, .data.u32 = listener};
    struct rlimit fds;

    if (getrlimit(RLIMIT_NOFILE, &fds) < 0)
        return -errno;
    h->cap = 2 * ranks + STRANGERS;
    if (h->cap > fds.rlim_cur - SPARE_FDS)
        h->cap = (unsigned)fds.rlim_cur - SPARE_FDS;
    h->conn = calloc(h->cap, sizeof(*h->conn));
    h->free = calloc(h->cap, sizeof(*h->free));
    h->of = calloc(ranks, sizeof(*h->of));
    h->f = calloc(1, sizeof(*h->f));
    h->in = calloc(1, sizeof(*h->in));
    h->out = calloc(1, sizeof(*h->out));
    h->text.cap = NI_WIRE_HEAD + NI_MEET_MESSAGE;
    h->text.buf = malloc(h->text.cap);
    h->job = (struct ni_job){.ranks = ranks,
                             .source = h->m->party->source,
                             .pod = calloc(ranks, sizeof(*h->job.pod)),
                             .missing = calloc(ranks, 1),
                             .measured = h->m->bytes > 0 || h->m->move_ms > 0};
    if (!h->conn || !h->free || !h->of || !h->f || !h->in || !h->out || !h->text.buf ||
        !h->job.pod || !h->job.missing)
        return -ENOMEM;
    for (unsigned i = h->cap; i-- > 0;) {
        h->conn[i] = (struct conn){.fd = -1, .rank = -1};
        h->free[h->n_free++] = i;
    }
    for (unsigned rank = 0; rank < ranks; rank++) {
        h->of[rank] = -1;
        h->job.missing[rank] = NI_POD_NEVER_CAME;
    }
    h->listen = listen_fd;
    h->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (h->epoll < 0 || epoll_ctl(h->epoll, EPOLL_CTL_ADD, listen_fd, &e) < 0)
        return -errno;
    (void)getrandom(&h->session, sizeof(h->session), 0);
    h->session &= INT64_MAX;
    return 0;
}

/* All pods, or those that come in time; and what they told. */
static void gather(struct hub *h)
{
    say(h, true, "waiting for %u pods", h->job.ranks);
    h->wants = NI_MSG_FACTS;
    h->waiting = h->job.ranks;
    wait_for_answers(h, ni_now_ms() + h->m->within_ms);
    for (unsigned rank = 0; rank < h->job.ranks; rank++) {
        if (h->job.pod[rank].here && h->job.pod[rank].n_rail > h->job.n_rail)
            h->job.n_rail = h->job.pod[rank].n_rail;
        if (!h->job.pod[rank].here && h->of[rank] >= 0)
            refuse(h, &h->conn[h->of[rank]], false, "this pod told nothing of itself in time");
    }
    h->wants = NI_MSG_STOP; /* from now on who goes away is missed */
    for (unsigned i = 0; i < h->n_twin; i++) {
        const char *host = h->job.pod[h->twin[i].rank].host;

        if (strcmp(host, h->twin[i].host) != 0)
            ni_report(h->f, NI_F_JOB_RANK_TWICE, host, "rank %u is also that of %s",
                      h->twin[i].rank, h->twin[i].host);
    }
}

/* The verdict to all, who then hang up. */
static void tell(struct hub *h, bool bad)
{
    struct ni_text line = ni_text_on(h->out->line, sizeof(h->out->line));

    ni_put_verdict(&line, &h->job, h->verdicts, h->f, bad);
    h->out->good = !bad;
    h->out->findings = *h->f;
    put_message(h, NI_MSG_VERDICT);
    h->wants = NI_MSG_VERDICT;
    h->waiting = 0;
    for (unsigned rank = 0; rank < h->job.ranks; rank++) {
        if (h->of[rank] < 0)
            continue;
        h->conn[h->of[rank]].asked = true;
        h->waiting++;
        send_text(h, &h->conn[h->of[rank]]);
    }
    wait_for_answers(h, ni_now_ms() + TOLD_MS);
}

int ni_hub(const struct ni_meeting *m, int listen_fd, int leaf_fd)
{
    struct hub *h = &hub;
    size_t slots; /* one more than there are, for some have none */
    bool bad;
    int r;

    h->m = m;
    r = set_up(h, listen_fd);
    if (r != 0)
        return r;
    h->own_leaf = leaf_fd >= 0;
    if (h->own_leaf)
        add(h, leaf_fd, INT64_MAX);
    gather(h);
    ni_compare_pods(&h->job, m->policy, h->f);
    slots = (size_t)h->job.ranks * h->job.n_rail + 1;
    h->verdicts = calloc(slots, sizeof(*h->verdicts));
    h->job.tally = calloc(slots, sizeof(*h->job.tally));
    if (!h->verdicts || !h->job.tally)
        return -ENOMEM;
    if (h->job.n_rail > 0)
        run_rounds(h);
    ni_judge_rails(&h->job, h->verdicts, h->f);
    bad = ni_findings_count(h->f, NI_ERROR) > 0 ||
          (m->strict && ni_findings_count(h->f, NI_WARNING) > 0);
    for (unsigned rank = 0; rank < h->job.ranks; rank++)
        bad = bad || h->job.missing[rank] != NI_POD_CAME;
    tell(h, bad);
    (void)close(listen_fd);
    if (m->result)
        m->result(m->arg, &h->job, h->verdicts, h->f, bad);
    return bad;
}
