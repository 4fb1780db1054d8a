/* SPDX-License-Identifier: Apache-2.0 */
/* The crowd: the connections of pod 0. */
#include "preflight/crowd.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "nccl_init/ip.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "preflight/secret.h"
#include "preflight/wire.h"
#include "system/process.h"

enum {
    BACKLOG = 16384, /* the kernel cuts it to net.core.somaxconn, 4096 since Linux 5.4 */
    STRANGERS = 64,  /* connections beyond two for each pod */
    SPARE_FDS = 32,
    OWN_FDS = 4,     /* the listening one, epoll's, two of the participant of pod 0 */
    SLOW_MS = 10000, /* from the first byte of a message to the last */
    EVENTS = 256
};

bool ni_crowd_has(const struct ni_crowd *c, unsigned at)
{
    return c->conn[at].fd >= 0;
}

void ni_crowd_drop(struct ni_crowd *c, unsigned at)
{
    (void)close(c->conn[at].fd);
    c->conn[at] = (struct ni_conn){.fd = -1};
    if (at < c->ranks)
        c->leave(c->arg, at);
}

/* Sets the events of a connection. Each comes once, since half a message stays in the socket. */
static void set_events(struct ni_crowd *c, int how, unsigned at)
{
    struct epoll_event e = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET, .data.u32 = at};

    (void)epoll_ctl(c->epoll, how, c->conn[at].fd, &e);
}

/* ---- who comes ---- */

/* Takes the IP address out of that of a socket. */
static void take_ip(const struct sockaddr_in6 *from, uint8_t ret[NI_GID_BYTES])
{
    struct sockaddr_in from4;

    memcpy(&from4, from, sizeof(from4));
    if (from->sin6_family == AF_INET)
        ni_ip_from_v4(ntohl(from4.sin_addr.s_addr), ret);
    else
        memcpy(ret, &from->sin6_addr, NI_GID_BYTES);
}

/* Finds a place for a connection that has not said hello yet: a free one, or that of the one whose
   hello is due first, which is dropped. So strangers cannot take all places for long. */
static unsigned find_place(struct ni_crowd *c)
{
    unsigned at = c->ranks;

    for (unsigned k = at; k < c->n_conn && c->conn[at].fd >= 0; k++)
        if (c->conn[k].fd < 0 || c->conn[k].due_ms < c->conn[at].due_ms)
            at = k;
    if (c->conn[at].fd >= 0)
        ni_crowd_drop(c, at);
    return at;
}

/* Accepts all connections that wait, before any is read, for the kernel's queue is short. The address
   is noted now, because a connection that its other end resets no longer has one. */
static void accept_all(struct ni_crowd *c)
{
    for (int i = 0; i < BACKLOG; i++) {
        struct sockaddr_in6 from = {0};
        socklen_t size = sizeof(from);
        const int fd = accept4(c->listen, (void *)&from, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
        unsigned at;

        if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
            continue;
        if (fd < 0)
            return;
        at = find_place(c);
        c->conn[at] = (struct ni_conn){.fd = fd, .due_ms = ni_now_ms() + NI_HELLO_MS};
        take_ip(&from, c->conn[at].ip);
        set_events(c, EPOLL_CTL_ADD, at);
    }
}

void ni_crowd_add(struct ni_crowd *c, unsigned at, const struct ni_conn *conn)
{
    c->conn[at] = *conn;
    set_events(c, EPOLL_CTL_ADD, at);
}

void ni_crowd_write_sender(const struct ni_crowd *c, unsigned at, char ret[NI_IP_TEXT])
{
    const uint8_t *ip = c->conn[at].ip;

    (void)ni_copy(ret, NI_IP_TEXT, "this pod");
    if (!ni_ip_is_zero(ip))
        (void)ni_ip_text(ip, ret);
}

void ni_crowd_seat(struct ni_crowd *c, unsigned at, unsigned rank)
{
    if (rank == at)
        return;
    if (c->conn[rank].fd >= 0)
        ni_crowd_drop(c, rank);
    c->conn[rank] = c->conn[at];
    c->conn[at] = (struct ni_conn){.fd = -1};
    set_events(c, EPOLL_CTL_MOD, rank);
}

/* ---- messages ---- */

void ni_crowd_send(struct ni_crowd *c, unsigned at, enum ni_message_type type)
{
    struct ni_conn *conn = &c->conn[at];

    c->out.type = type;
    if (!ni_message_send(conn->fd, &c->room, &conn->auth, &c->out) || type == NI_MSG_NO)
        ni_crowd_drop(c, at);
}

void ni_crowd_refuse(struct ni_crowd *c, unsigned at, const char *why)
{
    (void)ni_copy(c->out.verdict.line, sizeof(c->out.verdict.line), why);
    ni_crowd_send(c, at, NI_MSG_NO);
}

void ni_crowd_refuse_stranger(struct ni_crowd *c, unsigned at, const char *why)
{
    c->strangers++;
    ni_crowd_write_sender(c, at, c->stranger);
    ni_crowd_refuse(c, at, why);
}

/* Answers the nonce of a connection with one: from here on its messages carry codes. It has no more
   time for that than for a hello. */
static void take_nonce(struct ni_crowd *c, unsigned at)
{
    struct ni_auth auth;

    if (!c->secret) {
        ni_crowd_refuse_stranger(c, at, ""); /* it says itself that pod 0 has no secret */
        return;
    }
    if (ni_auth_begin(&auth, NI_COORDINATOR) < 0) {
        ni_crowd_drop(c, at);
        return;
    }
    memcpy(auth.nonce[NI_PARTICIPANT], c->in.nonce, NI_NONCE_BYTES);
    memcpy(c->out.nonce, auth.nonce[NI_COORDINATOR], NI_NONCE_BYTES);
    auth.secret = c->secret;
    ni_crowd_send(c, at, NI_MSG_NONCE);
    c->conn[at].auth = auth;
}

/* Reads the messages of a connection. ends: the other side has closed it. */
static void read_some(struct ni_crowd *c, unsigned at, bool ends)
{
    struct ni_conn *conn = &c->conn[at];
    const bool pod = at < c->ranks;
    const size_t most = pod ? NI_MEET_MESSAGE : NI_MEET_HELLO;
    const int r = ni_message_receive(conn->fd, most, &c->room, &conn->auth, &c->in);

    if (r == 0 && conn->due_ms == INT64_MAX)
        conn->due_ms = ni_now_ms() + SLOW_MS;
    if ((r == 0 && !ends) || r == -EAGAIN || r == -EINTR)
        return;
    if (r == -EBADMSG && !pod)
        ni_crowd_refuse_stranger(c, at, ""); /* it says itself that the secrets differ */
    else if (r == 1 && !pod && !conn->auth.secret && c->in.type == NI_MSG_NONCE)
        take_nonce(c, at);
    else if (r == 1)
        c->take(c->arg, at, &c->in);
    else if (pod && r == -EPROTO)
        c->take(c->arg, at, NULL);
    else
        ni_crowd_drop(c, at);
    if (r == 1 && ends && ni_crowd_has(c, at))
        set_events(c, EPOLL_CTL_MOD, at); /* so that epoll reports the end once more */
}

void ni_crowd_wait(struct ni_crowd *c, int most_ms)
{
    struct epoll_event e[EVENTS];
    const int n = epoll_wait(c->epoll, e, EVENTS, most_ms);

    accept_all(c);
    for (int i = 0; i < n; i++) {
        const unsigned at = e[i].data.u32;

        if (at < c->n_conn && ni_crowd_has(c, at))
            read_some(c, at, e[i].events & EPOLLRDHUP);
    }
}

void ni_crowd_drop_late(struct ni_crowd *c, int64_t now)
{
    for (unsigned at = 0; at < c->n_conn; at++)
        if (ni_crowd_has(c, at) && now > c->conn[at].due_ms)
            ni_crowd_drop(c, at);
}

/* ---- setting up ---- */

/* Opens a socket on all addresses of this machine. Its descriptor, or -errno. */
static int listen_on(uint16_t port)
{
    static const int on = 1, off = 0;
    /* zeros mean any address, also for IPv4, whose structure is shorter */
    struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    socklen_t size = sizeof(any);
    const void *at = &any;
    int err, fd = socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0) { /* ipv6.disable=1 */
        any.sin6_family = AF_INET;
        size = sizeof(struct sockaddr_in);
        fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    }
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    ni_socket_set_up(fd);
    if (fd >= 0 && bind(fd, at, size) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    err = -errno;
    if (fd >= 0)
        (void)close(fd);
    return err;
}

int ni_crowd_listen(struct ni_crowd *c, uint16_t port)
{
    struct epoll_event e = {.events = EPOLLIN, .data.u32 = UINT32_MAX};
    const int fd = listen_on(port);

    if (fd < 0)
        return fd;
    c->listen = fd;
    return epoll_ctl(c->epoll, EPOLL_CTL_ADD, fd, &e) < 0 ? -errno : 0;
}

/* Raises the limit of descriptors and counts those that are free, up to most. Their number, or
   -errno. */
static int count_free_descriptors(int most)
{
    struct rlimit fds;
    int n_free = 0;

    if (getrlimit(RLIMIT_NOFILE, &fds) < 0)
        return -errno;
    fds.rlim_cur = fds.rlim_max;
    /* The hard limit may be above fs.nr_open; the present soft limit may be enough. */
    if (setrlimit(RLIMIT_NOFILE, &fds) < 0 && getrlimit(RLIMIT_NOFILE, &fds) < 0)
        return -errno;
    for (int fd = 0; n_free < most && fd + SPARE_FDS < (int64_t)fds.rlim_cur; fd++) {
        if (fcntl(fd, F_GETFD) < 0) /* the process may have inherited descriptors */
            n_free++;
    }
    return n_free;
}

int ni_crowd_begin(struct ni_crowd *c)
{
    const int n_free = count_free_descriptors((int)(2 * c->ranks + STRANGERS + OWN_FDS));

    if (n_free < 0)
        return n_free;
    if ((unsigned)n_free <= c->ranks + OWN_FDS)
        return -EMFILE;
    c->n_conn = (unsigned)n_free - OWN_FDS;
    c->conn = calloc(c->n_conn, sizeof(*c->conn));
    if (!c->conn)
        return -ENOMEM;
    for (unsigned at = 0; at < c->n_conn; at++)
        c->conn[at].fd = -1;
    c->epoll = epoll_create1(EPOLL_CLOEXEC);
    return c->epoll < 0 ? -errno : 0;
}
