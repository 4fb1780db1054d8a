/* SPDX-License-Identifier: Apache-2.0 */
/* Messages between coordinator and participants: each struct has a table of its members, used to
   write and to read. */
#include "preflight/wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <jansson.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "nccl_init/base.h"
#include "nccl_init/ip.h"
#include "nccl_init/known.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "preflight/job.h"
#include "preflight/secret.h"
#include "print/json_read.h"
#include "print/json_write.h"
#include "rail/step.h"
#include "rail/task.h"
#include "system/process.h"

/* ---- what is in each: the members of its struct ---- */

enum kind {
    WHOLE, /* a number of min to max, or a bool */
    NUM,   /* struct ni_num */
    TEXT,
    GID, /* the bytes of a GID, as hex digits */
    LIST /* objects of `members`, each of `size` bytes; at most max; their number is at `count` */
};

struct member {
    const char *key;
    enum kind kind;
    size_t at, size;
    int64_t min, max;
    const struct member *members;
    size_t n_members, count;
};

/* clang-format off */
#define MAC_MAX ((INT64_C(1) << 48) - 1) /* six bytes */
#define IT(type, name) ((struct type *)NULL)->name
#define ONE(kind, type, name, min, max) \
    {#name, kind, offsetof(struct type, name), sizeof(IT(type, name)), (min), (max), NULL, 0, 0}
#define WHOLE(type, name, min, max) ONE(WHOLE, type, name, min, max)
#define YES(type, name) WHOLE(type, name, 0, 1)
#define NUM(type, name) ONE(NUM, type, name, 0, INT64_MAX)
#define TEXT(type, name) ONE(TEXT, type, name, 0, 0)
#define GID(type, name) ONE(GID, type, name, 0, 0)
#define LIST(type, name, count, members) \
    {#name, LIST, offsetof(struct type, name), sizeof(IT(type, name)[0]), 0, \
     NI_COUNT(IT(type, name)), (members), NI_COUNT(members), offsetof(struct type, count)}
/* clang-format on */

static const struct member queue_end_members[] = {
    WHOLE(ni_queue_end, qpn, 0, UINT32_MAX),
    WHOLE(ni_queue_end, psn, 0, UINT32_MAX),
};
static const struct member queue_members[] = {
    WHOLE(ni_queue_result, step, 0, NI_PAIR_DONE),
    WHOLE(ni_queue_result, err, 0, 4095),
    WHOLE(ni_queue_result, wc, 0, UINT16_MAX),
    WHOLE(ni_queue_result, slowest_ns, 0, INT64_MAX),
    WHOLE(ni_queue_result, late, 0, NI_MAX_SMALL),
    WHOLE(ni_queue_result, resent, 0, UINT32_MAX),
    WHOLE(ni_queue_result, write_mbps, 0, INT32_MAX),
    WHOLE(ni_queue_result, read_mbps, 0, INT32_MAX),
};
static const struct member item_members[] = {
    WHOLE(ni_item, rail, 0, NI_MAX_RAILS - 1),
    WHOLE(ni_item, own, 0, NI_MAX_RAILS - 1),
    WHOLE(ni_item, role, 0, NI_ROLES - 1),
    WHOLE(ni_item, partner, 0, NI_MAX_RANKS - 1),
    WHOLE(ni_item, queues, 0, UINT8_MAX),
    WHOLE(ni_item, batch, 0, NI_MAX_QUEUES),
    LIST(ni_item, end.queue, end.n_queue, queue_end_members),
    WHOLE(ni_item, end.rkey, 0, UINT32_MAX),
    WHOLE(ni_item, end.address, 0, INT64_MAX),
    GID(ni_item, end.gid),
    WHOLE(ni_item, end.lid, 0, UINT16_MAX),
    WHOLE(ni_item, end.path_mtu, 0, 4096),
    WHOLE(ni_item, end.most_reads, 0, UINT8_MAX),
    YES(ni_item, end.global),
    WHOLE(ni_item, result.step, 0, NI_PAIR_DONE),
    YES(ni_item, result.silent),
    WHOLE(ni_item, result.err, 0, 4095), /* MAX_ERRNO, linux include/linux/err.h */
    WHOLE(ni_item, result.wc, 0, UINT16_MAX),
    WHOLE(ni_item, result.neighbour, 0, MAC_MAX),
    WHOLE(ni_item, result.latency_ns, 0, INT64_MAX),
    WHOLE(ni_item, result.slowest_ns, 0, INT64_MAX),
    WHOLE(ni_item, result.write_mbps, 0, INT32_MAX),
    WHOLE(ni_item, result.read_mbps, 0, INT32_MAX),
    WHOLE(ni_item, result.resent, 0, INT64_MAX),
    LIST(ni_item, result.queue, result.n_queue, queue_members),
};
static const struct member subnet_members[] = {
    GID(ni_subnet, ip),
    WHOLE(ni_subnet, bits, 0, 128),
};
static const struct member rail_members[] = {
    TEXT(ni_rail, hca),
    WHOLE(ni_rail, port, 0, UINT16_MAX),
    WHOLE(ni_rail, link, 0, NI_LINK_ROCE),
    YES(ni_rail, software),
    TEXT(ni_rail, netdev),
    WHOLE(ni_rail, index, -1, INT32_MAX),
    GID(ni_rail, gid),
    YES(ni_rail, v2),
    WHOLE(ni_rail, mac, 0, MAC_MAX),
    NUM(ni_rail, netdev_mtu),
    NUM(ni_rail, mbps),
    WHOLE(ni_rail, path_mtu, 0, 4096),
    WHOLE(ni_rail, pkey, 0, UINT16_MAX),
    TEXT(ni_rail, firmware),
    TEXT(ni_rail, untried),
    LIST(ni_rail, subnet, n_subnet, subnet_members),
};
static const struct member setting_members[] = {
    TEXT(ni_pod_setting, name),
    TEXT(ni_pod_setting, value),
};

/* ---- messages ---- */

#define IN(type) (1U << NI_MSG_##type)

static const struct {
    unsigned in; /* the messages that have the member, as bits */
    struct member is;
} members[] = {
    {IN(NONCE), GID(ni_message, nonce)},
    {IN(HELLO), WHOLE(ni_message, protocol, 0, INT32_MAX)},
    {IN(HELLO), TEXT(ni_message, version)},
    {IN(HELLO), WHOLE(ni_message, party.rank, 0, NI_MAX_RANKS - 1)},
    {IN(HELLO), WHOLE(ni_message, party.ranks, 1, NI_MAX_RANKS)},
    {IN(HELLO), TEXT(ni_message, party.key)},
    {IN(HELLO) | IN(FACTS), TEXT(ni_message, pod.host)},
    {IN(FACTS), TEXT(ni_message, pod.node)},
    {IN(FACTS), TEXT(ni_message, pod.leaf)},
    {IN(FACTS), TEXT(ni_message, pod.left_out)},
    {IN(FACTS), WHOLE(ni_message, pod.transport, 0, NI_NET_OTHER)},
    {IN(FACTS), LIST(ni_message, setting, pod.n_setting, setting_members)},
    {IN(FACTS), LIST(ni_message, rail, pod.n_rail, rail_members)},
    {IN(HELLO), WHOLE(ni_message, within_ms, 0, INT32_MAX)},
    {IN(ALIVE), YES(ni_message, begun)},
    {IN(DO), WHOLE(ni_message, work, NI_WORK_QUEUES, NI_WORK_MOVE)},
    {IN(DO), WHOLE(ni_message, session, 0, INT64_MAX)},
    {IN(DO), WHOLE(ni_message, bytes, 0, INT64_MAX)},
    {IN(DO), WHOLE(ni_message, move_ms, 0, INT32_MAX / 4)},
    {IN(DO), WHOLE(ni_message, small, 0, NI_MAX_SMALL)},
    {IN(DO) | IN(DONE), LIST(ni_message, item, n_item, item_members)},
    {IN(NO) | IN(VERDICT) | IN(ALIVE), TEXT(ni_message, verdict.line)},
    {IN(VERDICT), WHOLE(ni_message, verdict.outcome, 0, NI_JOB_OUTCOMES - 1)},
};

static const char *const types[NI_MSG_TYPES] = {
    [NI_MSG_NONCE] = "nonce",
    [NI_MSG_HELLO] = "nccl-init preflight", /* shows that the other side is nccl-init */
    [NI_MSG_FACTS] = "facts",
    [NI_MSG_DONE] = "done",
    [NI_MSG_WELCOME] = "welcome",
    [NI_MSG_ALIVE] = "alive",
    [NI_MSG_NO] = "no",
    [NI_MSG_DO] = "do",
    [NI_MSG_VERDICT] = "verdict",
};

/* ---- writing ---- */

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "a number's first bytes are its lowest");

/* Writes the members of a message from a structure; what is 0, empty or not known is left out. */
static void put(struct ni_json *j, const struct member *m, size_t n, const void *from)
{
    for (const struct member *end = m + n; m < end; m++) {
        const char *at = (const char *)from + m->at;
        const struct ni_num *num = (const void *)at;
        const unsigned *n_list = (const void *)((const char *)from + m->count);
        char hex[2 * NI_GID_BYTES + 1];
        struct ni_text t = ni_text_on(hex, sizeof(hex));
        int64_t v = 0;

        if (m->kind == WHOLE)
            memcpy(&v, at, m->size);
        if (v != 0)
            ni_json_int(j, m->key, m->min < 0 ? (int32_t)v : v);
        if (m->kind == NUM && num->known == NI_KNOWN)
            ni_json_int(j, m->key, num->v);
        if (m->kind == TEXT && *at)
            ni_json_text(j, m->key, at);
        if (m->kind == GID && !ni_ip_is_zero((const uint8_t *)at)) {
            for (size_t i = 0; i < NI_GID_BYTES; i++)
                ni_putf(&t, "%02x", (uint8_t)at[i]);
            ni_json_text(j, m->key, hex);
        }
        if (m->kind == LIST) {
            ni_json_array(j, m->key);
            for (unsigned i = 0; i < *n_list; i++) {
                ni_json_object(j, NULL);
                put(j, m->members, m->n_members, at + i * m->size);
                ni_json_end(j);
            }
            ni_json_end(j);
        }
    }
}

/* Returns the number of bytes that stand before the object of a message. */
static size_t code_bytes(const struct ni_auth *auth)
{
    return auth->secret ? NI_CODE_BYTES : 0;
}

void ni_message_put(struct ni_text *t, struct ni_auth *auth, const struct ni_message *m)
{
    static const char room[NI_WIRE_HEAD + NI_CODE_BYTES];
    const size_t before = NI_WIRE_HEAD + code_bytes(auth);
    struct ni_json j = ni_json_on(t, NI_JSON_LINE);
    uint32_t length;

    ni_putn(t, room, before);
    ni_json_object(&j, NULL);
    ni_json_text(&j, "type", types[m->type]);
    for (size_t i = 0; i < NI_COUNT(members); i++)
        if (members[i].in & 1U << m->type)
            put(&j, &members[i].is, 1, m);
    ni_json_end(&j);
    length = htonl((uint32_t)(t->len - NI_WIRE_HEAD));
    memcpy(t->buf, &length, NI_WIRE_HEAD);
    if (auth->secret)
        ni_auth_put(auth, t->buf + before, t->len - before, (uint8_t *)t->buf + NI_WIRE_HEAD);
}

bool ni_message_send(int fd, struct ni_wire_room *room, struct ni_auth *auth,
                     const struct ni_message *m)
{
    struct ni_text t = ni_text_on(room->bytes, sizeof(room->bytes));

    ni_message_put(&t, auth, m);
    return send(fd, t.buf, t.len, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)t.len;
}

/* ---- reading ---- */

/* Takes a text of another pod, which goes to terminals, pictures and findings: printable ASCII
   alone. */
static bool take_text(const char *s, size_t n, char *to, size_t size)
{
    if (!s || strlen(s) != n || !ni_copy(to, size, s))
        return false;
    for (; *to; to++)
        if (*to < ' ' || *to > '~')
            *to = '?';
    return true;
}

/* Takes the members of an object. Unknown members are ignored, for they belong to a later
   version. */
static bool take_members(const json_t *object, const struct member *m, size_t n, void *to)
{
    bool ok = json_is_object(object);

    for (const struct member *end = m + n; ok && m < end; m++) {
        const json_t *from = json_object_get(object, m->key);
        const char *s = json_string_value(from);
        const size_t n_list = json_array_size(from);
        const int64_t v = json_integer_value(from);
        char *at = (char *)to + m->at;
        unsigned *count = (void *)((char *)to + m->count);
        struct ni_num *num = (void *)at;

        ok = json_is_integer(from) && v >= m->min && v <= m->max;
        if (m->kind == LIST)
            *count = (unsigned)n_list;
        else
            memset(at, 0, m->size);
        if (!from) {
            ok = m->min <= 0;
        } else if (m->kind == TEXT) {
            ok = take_text(s, json_string_length(from), at, m->size);
        } else if (m->kind == GID) {
            ok = s && ni_parse_hex_ip(ni_span_of(s), (uint8_t *)at) == 0;
        } else if (m->kind == LIST) {
            ok = json_is_array(from) && n_list <= (size_t)m->max;
            for (size_t i = 0; ok && i < n_list; i++)
                ok = take_members(json_array_get(from, i), m->members, m->n_members,
                                  at + i * m->size);
        } else if (m->kind == NUM) {
            *num = (struct ni_num){v, NI_KNOWN};
        } else {
            memcpy(at, &v, m->size);
        }
    }
    return ok;
}

bool ni_message_take(const char *text, size_t n, struct ni_message *ret)
{
    struct ni_text why = NI_TEXT(256); /* nobody reads this reason */
    json_t *top = strlen(text) == n ? ni_read_json(text, &why) : NULL;
    const char *type = json_string_value(json_object_get(top, "type"));
    bool ok;

    for (ret->type = 0; type && ret->type < NI_MSG_TYPES; ret->type++)
        if (strcmp(type, types[ret->type]) == 0)
            break;
    ok = type && ret->type < NI_MSG_TYPES;
    for (size_t i = 0; ok && i < NI_COUNT(members); i++)
        if (members[i].in & 1U << ret->type)
            ok = take_members(top, &members[i].is, 1, ret);
    json_decref(top);
    return ok;
}

int ni_message_open(const char *bytes, size_t n, struct ni_auth *auth, struct ni_message *ret)
{
    const size_t code = code_bytes(auth);

    /* nothing of a message is read before its code is found right */
    if (code > 0 && !ni_auth_takes(auth, bytes, n))
        return -EBADMSG;
    return ni_message_take(bytes + code, n - code, ret) ? 0 : -EPROTO;
}

/* Opens the message of which so many bytes came after the head. */
static int open_room(struct ni_wire_room *room, size_t size, struct ni_auth *auth,
                     struct ni_message *ret)
{
    char *text = room->bytes + NI_WIRE_HEAD;

    text[size] = '\0';
    return ni_message_open(text, size, auth, ret);
}

/* Returns the number of bytes after the head; 0 if it is not allowed. */
static size_t size_in(uint32_t head, size_t most)
{
    const size_t size = ntohl(head);

    return size <= most ? size : 0;
}

int ni_message_receive(int fd, size_t most, struct ni_wire_room *room, struct ni_auth *auth,
                       struct ni_message *ret)
{
    uint32_t head;
    ssize_t n = recv(fd, &head, NI_WIRE_HEAD, MSG_PEEK | MSG_DONTWAIT);
    size_t size;
    int there = 0;
    int r;

    if (n <= 0)
        return n < 0 ? -errno : -ECONNRESET;
    if (n < NI_WIRE_HEAD)
        return 0;
    size = size_in(head, most + code_bytes(auth));
    if (size == 0)
        return -EPROTO;
    if (ioctl(fd, FIONREAD, &there) < 0 || (size_t)there < NI_WIRE_HEAD + size)
        return 0;
    size += NI_WIRE_HEAD;
    for (size_t got = 0; got < size; got += (size_t)n) {
        n = recv(fd, room->bytes + got, size - got, MSG_DONTWAIT);
        if (n == 0)
            return -ECONNRESET;
        if (n < 0 && errno != EINTR)
            return -errno;
        if (n < 0)
            n = 0;
    }
    r = open_room(room, size - NI_WIRE_HEAD, auth, ret);
    return r < 0 ? r : 1;
}

/* Reads all n bytes. 0 or -errno. Bytes that are already there are taken even after the time: this
   process may have been stopped. */
static int read_bytes(int fd, char *to, size_t n, int64_t until_ms)
{
    while (n > 0) {
        const ssize_t got = recv(fd, to, n, MSG_DONTWAIT);
        const int64_t left = until_ms - ni_now_ms();
        struct pollfd p = {.fd = fd, .events = POLLIN};

        if (got == 0)
            return -ECONNRESET;
        if (got < 0 && errno != EAGAIN && errno != EINTR)
            return -errno;
        if (got < 0 && left <= 0)
            return -ETIMEDOUT;
        if (got < 0)
            (void)poll(&p, 1, left < INT32_MAX ? (int)left : INT32_MAX);
        if (got > 0) {
            to += got;
            n -= (size_t)got;
        }
    }
    return 0;
}

int ni_message_await(int fd, int64_t until_ms, struct ni_wire_room *room, struct ni_auth *auth,
                     struct ni_message *ret)
{
    uint32_t head;
    size_t size;
    int r = read_bytes(fd, room->bytes, NI_WIRE_HEAD, until_ms);

    if (r < 0)
        return r;
    memcpy(&head, room->bytes, NI_WIRE_HEAD);
    size = size_in(head, NI_MEET_MESSAGE + code_bytes(auth));
    if (size == 0)
        return -EPROTO;
    r = read_bytes(fd, room->bytes + NI_WIRE_HEAD, size, until_ms);
    return r < 0 ? r : open_room(room, size, auth, ret);
}

static void set_option(int fd, int level, int name, int value)
{
    (void)setsockopt(fd, level, name, &value, sizeof(value));
}

void ni_socket_set_up(int fd)
{
    enum { ROOM = 4 * NI_MEET_MESSAGE }; /* the kernel takes half of it for itself */

    set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    set_option(fd, SOL_SOCKET, SO_SNDBUF, ROOM);
    set_option(fd, SOL_SOCKET, SO_RCVBUF, ROOM);
    set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, 5);
    set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, 5);
    /* in ms; it also counts instead of TCP_KEEPCNT (tcp(7)) */
    set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, 15000);
}
