/* SPDX-License-Identifier: Apache-2.0 */
/* What the pods write to each other, and how it is read: each struct has a table of its members, for
   both directions. */
#include <errno.h>
#include <jansson.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "nccl_init/json.h"
#include "wire.h"

/* ---- what is in each: the members of its struct ---- */

enum kind {
    WHOLE, /* a number of min to max */
    MAYBE, /* struct ni_num: null if it is not known */
    YES,   /* bool */
    TEXT,
    BYTES,   /* of a GID, as hex digits */
    FINDING, /* enum ni_finding_id, as its text */
    PART,    /* an object of `form`, if the bool at `n` says so */
    LIST     /* of objects of `form`, each `size` bytes; at most max; their number at `n` */
};

struct form;
struct member {
    const char *key;
    enum kind kind;
    size_t at, size;
    int64_t min, max;
    const struct form *form;
    size_t n;
};
struct form {
    const struct member *member;
    unsigned n;
};

/* clang-format off */
#define FORM(members) {members, NI_COUNT(members)}
#define AT(type, name) offsetof(struct type, name), sizeof(((struct type *)NULL)->name)
#define WHOLE(type, name, min, max) {#name, WHOLE, AT(type, name), (min), (max), NULL, 0}
#define MAYBE(type, name) {#name, MAYBE, AT(type, name), 0, 0, NULL, 0}
#define YES(type, name) {#name, YES, AT(type, name), 0, 0, NULL, 0}
#define TEXT(type, name) {#name, TEXT, AT(type, name), 0, 0, NULL, 0}
#define BYTES(type, name) {#name, BYTES, AT(type, name), 0, 0, NULL, 0}
#define PART(type, name, has) {#name, PART, AT(type, name), 0, 0, &(name), offsetof(struct type, has)}
#define LIST(key, type, name, max, count, form) \
    {(key), LIST, offsetof(struct type, name), sizeof(((struct type *)NULL)->name[0]), 0, (max), \
     &(form), offsetof(struct type, count)}
/* clang-format on */

static const struct member end_members[] = {
    WHOLE(ni_rail_end, qpn, 0, UINT32_MAX),       WHOLE(ni_rail_end, psn, 0, UINT32_MAX),
    WHOLE(ni_rail_end, rkey, 0, UINT32_MAX),      WHOLE(ni_rail_end, address, 0, INT64_MAX),
    WHOLE(ni_rail_end, length, 0, UINT32_MAX),    BYTES(ni_rail_end, gid),
    WHOLE(ni_rail_end, lid, 0, UINT16_MAX),       WHOLE(ni_rail_end, path_mtu, 0, 4096),
    WHOLE(ni_rail_end, most_reads, 0, UINT8_MAX), YES(ni_rail_end, global),
};
static const struct form end = FORM(end_members);

static const struct member result_members[] = {
    WHOLE(ni_pair_result, step, 0, NI_PAIR_DONE),
    YES(ni_pair_result, at_to),
    YES(ni_pair_result, silent),
    WHOLE(ni_pair_result, err, 0, 4095), /* MAX_ERRNO, linux include/linux/err.h */
    WHOLE(ni_pair_result, wc, 0, UINT16_MAX),
    WHOLE(ni_pair_result, latency_ns, 0, INT64_MAX),
    WHOLE(ni_pair_result, slowest_ns, 0, INT64_MAX),
    WHOLE(ni_pair_result, write_mbps, 0, INT32_MAX),
    WHOLE(ni_pair_result, read_mbps, 0, INT32_MAX),
};
static const struct form result = FORM(result_members);

static const struct member item_members[] = {
    WHOLE(ni_item, rail, 0, NI_MAX_RAILS - 1),
    WHOLE(ni_item, role, 0, NI_ROLES - 1),
    WHOLE(ni_item, partner, 0, NI_MAX_RANKS - 1),
    PART(ni_item, end, has_end),
    PART(ni_item, result, has_result),
};
static const struct form item = FORM(item_members);

static const struct member subnet_members[] = {
    BYTES(ni_subnet, ip),
    WHOLE(ni_subnet, bits, 0, 128),
};
static const struct form subnet = FORM(subnet_members);

static const struct member rail_members[] = {
    TEXT(ni_rail, hca),
    WHOLE(ni_rail, port, 0, UINT16_MAX),
    WHOLE(ni_rail, link, 0, NI_LINK_ROCE),
    TEXT(ni_rail, netdev),
    WHOLE(ni_rail, index, -1, INT32_MAX),
    BYTES(ni_rail, gid),
    YES(ni_rail, v2),
    MAYBE(ni_rail, netdev_mtu),
    MAYBE(ni_rail, mbps),
    YES(ni_rail, asked),
    WHOLE(ni_rail, path_mtu, 0, 4096),
    WHOLE(ni_rail, lid, 0, UINT16_MAX),
    WHOLE(ni_rail, pkey, 0, UINT16_MAX),
    TEXT(ni_rail, firmware),
    TEXT(ni_rail, untried),
    LIST("subnets", ni_rail, subnet, NI_MAX_SUBNETS, n_subnet, subnet),
};
static const struct form rail = FORM(rail_members);

static const struct member setting_members[] = {
    TEXT(ni_wire_setting, name),
    TEXT(ni_wire_setting, value),
};
static const struct form setting = FORM(setting_members);

static const struct member finding_members[] = {
    {"id", FINDING, AT(ni_finding, id), 0, 0, NULL, 0},
    TEXT(ni_finding, subject),
    TEXT(ni_finding, message),
};
static const struct form finding = FORM(finding_members);

/* ---- messages ---- */

static const struct member hello[] = {
    WHOLE(ni_message, protocol, 0, INT32_MAX),
    TEXT(ni_message, version),
    TEXT(ni_message, host),
    WHOLE(ni_message, rank, 0, NI_MAX_RANKS - 1),
    WHOLE(ni_message, ranks, 1, NI_MAX_RANKS),
    TEXT(ni_message, key),
};
enum { HELLO_OF_ALL = 3 }; /* protocols */

static const struct member facts[] = {
    TEXT(ni_message, pod.host),
    TEXT(ni_message, pod.node),
    TEXT(ni_message, pod.version),
    TEXT(ni_message, pod.kernel),
    TEXT(ni_message, pod.gpu_driver),
    TEXT(ni_message, pod.cpu),
    WHOLE(ni_message, pod.n_gpu, 0, UINT16_MAX),
    WHOLE(ni_message, pod.transport, 0, NI_NET_OTHER),
    LIST("settings", ni_message, setting, NI_MAX_POD_SETTINGS, pod.n_setting, setting),
    LIST("rails", ni_message, rail, NI_MAX_RAILS, pod.n_rail, rail),
};
static const struct member items[] = {
    WHOLE(ni_message, round, 0, INT32_MAX),
    WHOLE(ni_message, bytes, 0, INT64_MAX),
    WHOLE(ni_message, move_ms, 0, INT32_MAX / 2),
    LIST("items", ni_message, item, NI_WIRE_ITEMS, n_item, item),
};
static const struct member welcome[] = {
    WHOLE(ni_message, session, 0, INT64_MAX),
    WHOLE(ni_message, within_ms, 0, INT32_MAX),
};
static const struct member no[] = {
    TEXT(ni_message, line),
    YES(ni_message, again),
};
static const struct member verdict[] = {
    TEXT(ni_message, line),
    YES(ni_message, good),
    LIST("findings", ni_message, findings.at, NI_WIRE_FINDINGS, findings.n, finding),
};

static const struct {
    const char *name;
    struct form form;
} types[NI_MSG_TYPES] = {
    [NI_MSG_HELLO] = {"hello", FORM(hello)},
    [NI_MSG_FACTS] = {"facts", FORM(facts)},
    [NI_MSG_ENDS] = {"ends", FORM(items)},
    [NI_MSG_CONNECTED] = {"connected", FORM(items)},
    [NI_MSG_RESULTS] = {"results", FORM(items)},
    [NI_MSG_WELCOME] = {"welcome", FORM(welcome)},
    [NI_MSG_NO] = {"no", FORM(no)},
    [NI_MSG_ROUND] = {"round", FORM(items)},
    [NI_MSG_PEERS] = {"peers", FORM(items)},
    [NI_MSG_GO] = {"go", FORM(items)},
    [NI_MSG_STOP] = {"stop", FORM(items)},
    [NI_MSG_VERDICT] = {"verdict", FORM(verdict)},
};
static const char magic[] = "nccl-init preflight"; /* in a hello: who knocks is one of us */

/* ---- writing ---- */

static int64_t load(const struct member *m, const void *from)
{
    uint32_t u32;
    int64_t i64;

    switch (m->size) {
    case 1:
        return *(const uint8_t *)from;
    case sizeof(uint16_t):
        return *(const uint16_t *)from;
    case sizeof(u32): /* also enums, and int */
        memcpy(&u32, from, sizeof(u32));
        return m->min < 0 ? (int64_t)(int32_t)u32 : (int64_t)u32;
    default:
        memcpy(&i64, from, sizeof(i64));
        return i64;
    }
}

static void put_bytes(struct ni_json *j, const char *key, const uint8_t gid[NI_GID_BYTES])
{
    char buf[2 * NI_GID_BYTES + 1];
    struct ni_text t = ni_text_on(buf, sizeof(buf));

    for (size_t i = 0; i < NI_GID_BYTES; i++)
        ni_putf(&t, "%02x", gid[i]);
    ni_json_text(j, key, buf);
}

static void put(struct ni_json *j, const struct form *form, const void *from);

static void put_list(struct ni_json *j, const struct member *m, const void *at, unsigned n)
{
    ni_json_array(j, m->key);
    for (unsigned i = 0; i < n && i < m->max; i++) {
        ni_json_object(j, NULL);
        put(j, m->form, (const char *)at + i * m->size);
        ni_json_end(j);
    }
    ni_json_end(j);
}

static void put_one(struct ni_json *j, const struct member *m, const void *from)
{
    const void *at = (const char *)from + m->at, *beside = (const char *)from + m->n;
    const struct ni_num *num = at;
    const enum ni_finding_id *id = at;
    const bool *yes = at, *has = beside;
    const unsigned *n = beside;

    if (m->kind == WHOLE) {
        ni_json_int(j, m->key, load(m, at));
    } else if (m->kind == MAYBE) {
        ni_json_num(j, m->key, *num);
    } else if (m->kind == YES) {
        ni_json_bool(j, m->key, *yes);
    } else if (m->kind == TEXT) {
        ni_json_text(j, m->key, at);
    } else if (m->kind == BYTES) {
        put_bytes(j, m->key, at);
    } else if (m->kind == FINDING) {
        ni_json_text(j, m->key, ni_finding_kind(*id)->id);
    } else if (m->kind == LIST) {
        put_list(j, m, at, *n);
    } else if (*has) {
        ni_json_object(j, m->key);
        put(j, m->form, at);
        ni_json_end(j);
    }
}

static void put(struct ni_json *j, const struct form *form, const void *from)
{
    for (unsigned i = 0; i < form->n; i++)
        put_one(j, &form->member[i], from);
}

void ni_message_put(struct ni_text *t, const struct ni_message *m)
{
    const size_t begin = t->len;
    struct ni_json j;

    ni_putn(t, "\0\0\0\0", NI_WIRE_HEAD);
    j = ni_json_on(t, false);
    ni_json_object(&j, NULL);
    ni_json_text(&j, "type", types[m->type].name);
    if (m->type == NI_MSG_HELLO)
        ni_json_text(&j, "magic", magic);
    put(&j, &types[m->type].form, m);
    ni_json_end(&j);
    for (unsigned i = 0; i < NI_WIRE_HEAD; i++)
        t->buf[begin + i] = (char)((t->len - begin - NI_WIRE_HEAD) >> (24 - 8 * i));
}

/* ---- reading ---- */

static bool store(const struct member *m, const json_t *from, void *to)
{
    const int64_t v = json_integer_value(from);
    const uint8_t u8 = (uint8_t)v;
    const uint16_t u16 = (uint16_t)v;
    const uint32_t u32 = (uint32_t)v;
    const void *const by[] = {
        [1] = &u8, [sizeof(u16)] = &u16, [sizeof(u32)] = &u32, [sizeof(v)] = &v};

    if (!json_is_integer(from) || v < m->min || v > m->max)
        return false;
    memcpy(to, by[m->size], m->size);
    return true;
}

/* A text of others goes to terminals, pictures and findings. */
static bool take_text(const json_t *from, char *to, size_t size)
{
    const char *s = json_string_value(from);

    if (!s || strlen(s) != json_string_length(from) || !ni_copy(to, size, s))
        return false;
    for (; *to; to++) {
        if (*to < ' ' || *to > '~')
            *to = '?';
    }
    return true;
}

static bool take_finding(const json_t *from, enum ni_finding_id *to)
{
    const char *s = json_string_value(from);

    for (*to = 0; s && *to < NI_F_COUNT && strcmp(s, ni_finding_kind(*to)->id) != 0;)
        ++*to;
    return s;
}

static bool take(const json_t *from, const struct form *form, void *to, struct ni_text *why);

static bool take_list(const json_t *from, const struct member *m, void *at, unsigned *n,
                      struct ni_text *why)
{
    *n = 0;
    if (!json_is_array(from) || json_array_size(from) > (size_t)m->max)
        return false;
    for (; *n < json_array_size(from); ++*n)
        if (!take(json_array_get(from, *n), m->form, (char *)at + *n * m->size, why))
            return false;
    return true;
}

static bool take_one(const json_t *from, const struct member *m, void *to, struct ni_text *why)
{
    void *at = (char *)to + m->at, *beside = (char *)to + m->n;
    const char *s = json_string_value(from);
    struct ni_num *num = at;
    bool *yes = at, *has = beside;

    switch (m->kind) {
    case WHOLE:
        return store(m, from, at);
    case MAYBE:
        num->v = json_integer_value(from);
        num->known = json_is_integer(from) ? NI_KNOWN : NI_ABSENT;
        return json_is_null(from) || (json_is_integer(from) && num->v >= 0);
    case YES:
        *yes = json_is_true(from);
        return json_is_boolean(from);
    case TEXT:
        return take_text(from, at, m->size);
    case BYTES:
        return s && ni_parse_hex_ip(ni_span_of(s), at) == 0;
    case FINDING:
        return take_finding(from, at);
    case PART:
        *has = from;
        return !from || take(from, m->form, at, why);
    case LIST:
    default:
        return take_list(from, m, at, beside, why);
    }
}

/* Members that are not known are left: of a later version. */
static bool take(const json_t *from, const struct form *form, void *to, struct ni_text *why)
{
    for (unsigned i = 0; i < form->n; i++) {
        const struct member *m = &form->member[i];

        if (take_one(json_object_get(from, m->key), m, to, why))
            continue;
        if (why->len == 0)
            ni_putf(why, "`%s` is missing, or not what it should be", m->key);
        return false;
    }
    return true;
}

static bool take_message(const json_t *top, struct ni_message *m, struct ni_text *why)
{
    const char *type = json_string_value(json_object_get(top, "type"));
    const char *word = json_string_value(json_object_get(top, "magic"));
    struct form form;

    for (m->type = 0; type && m->type < NI_MSG_TYPES && strcmp(type, types[m->type].name) != 0;)
        m->type++;
    if (!type || m->type == NI_MSG_TYPES ||
        (m->type == NI_MSG_HELLO && (!word || strcmp(word, magic) != 0))) {
        ni_put(why, "not of nccl-init's preflight");
        return false;
    }
    form = types[m->type].form;
    if (m->type == NI_MSG_HELLO) {
        if (!take(top, &(struct form){hello, HELLO_OF_ALL}, m, why))
            return false;
        if (m->protocol != NI_MEET_PROTOCOL)
            return true;
    }
    return take(top, &form, m, why);
}

int ni_message_take(const char *text, size_t n, struct ni_message *ret, struct ni_text *why)
{
    json_t *top = strlen(text) == n ? ni_read_json(text, why) : NULL;
    const bool ok = top && take_message(top, ret, why);

    json_decref(top);
    return ok ? 0 : -EPROTO;
}

size_t ni_message_length(const uint8_t head[NI_WIRE_HEAD])
{
    return (size_t)head[0] << 24 | (size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3];
}

/* ---- sockets ---- */

void ni_socket_set_up(int fd)
{
    static const int on = 1, idle_s = 5, lost = 3;
    static const unsigned unanswered_ms = 15000;

    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &idle_s, sizeof(idle_s));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &lost, sizeof(lost));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unanswered_ms, sizeof(unanswered_ms));
}
