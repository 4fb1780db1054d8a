/* SPDX-License-Identifier: Apache-2.0 */
/* Messages between pods: what is written is read again, at the ends of all bounds; what is not of the
   form is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nccl_init/base.h"
#include "nccl_init/known.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "preflight/job.h"
#include "preflight/secret.h"
#include "preflight/wire.h"
#include "rail/step.h"
#include "rail/task.h"
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static struct ni_message m, back;
static struct ni_auth none; /* messages without a code */
static char buf[NI_WIRE_HEAD + NI_MEET_MESSAGE], again[sizeof(buf)];

static void fill(char *to, size_t size)
{
    memset(to, '"', size - 1); /* which JSON writes as two */
    to[size - 1] = '\0';
}

/* The largest of each. */
static void fill_message(void)
{
    memset(&m, 0, sizeof(m));
    memset(m.nonce, 0xab, sizeof(m.nonce));
    m.protocol = NI_MEET_PROTOCOL;
    m.party.rank = NI_MAX_RANKS - 1;
    m.party.ranks = NI_MAX_RANKS;
    fill(m.version, sizeof(m.version));
    fill(m.party.key, sizeof(m.party.key));
    m.session = INT64_MAX;
    m.within_ms = INT32_MAX;
    m.begun = true;
    fill(m.verdict.line, sizeof(m.verdict.line));
    m.verdict.outcome = NI_JOB_GOOD;
    m.work = NI_WORK_MOVE;
    m.bytes = INT64_MAX;
    m.move_ms = INT32_MAX / 4;
    m.n_item = NI_WIRE_ITEMS;
    for (unsigned i = 0; i < NI_WIRE_ITEMS; i++)
        m.item[i] = (struct ni_item){.rail = i / NI_ROLES,
                                     .role = i % NI_ROLES,
                                     .partner = NI_MAX_RANKS - 1,
                                     .queues = UINT8_MAX,
                                     .end = {NI_MAX_QUEUES,
                                             {{0}},
                                             UINT32_MAX,
                                             INT64_MAX,
                                             {0xff, [15] = 0xab},
                                             UINT16_MAX,
                                             4096,
                                             UINT8_MAX,
                                             true},
                                     .result = {.step = NI_PAIR_DONE,
                                                .at_to = true,
                                                .silent = true,
                                                .err = 4095,
                                                .wc = UINT16_MAX,
                                                .neighbour = 0xffffffffffff,
                                                .latency_ns = INT64_MAX,
                                                .slowest_ns = INT64_MAX,
                                                .write_mbps = INT32_MAX,
                                                .read_mbps = INT32_MAX,
                                                .n_queue = NI_MAX_QUEUES}};
    for (unsigned i = 0; i < NI_WIRE_ITEMS * NI_MAX_QUEUES; i++) {
        struct ni_item *item = &m.item[i / NI_MAX_QUEUES];

        item->batch = NI_MAX_QUEUES;
        item->end.queue[i % NI_MAX_QUEUES] = (struct ni_queue_end){UINT32_MAX, UINT32_MAX};
        item->result.queue[i % NI_MAX_QUEUES] = (struct ni_queue_result){.step = NI_PAIR_DONE,
                                                                         .err = 4095,
                                                                         .wc = UINT16_MAX,
                                                                         .slowest_ns = INT64_MAX,
                                                                         .late = NI_MAX_SMALL,
                                                                         .write_mbps = INT32_MAX,
                                                                         .read_mbps = INT32_MAX};
    }
    m.small = NI_MAX_SMALL;
    fill(m.pod.host, sizeof(m.pod.host));
    fill(m.pod.node, sizeof(m.pod.node));
    fill(m.pod.leaf, sizeof(m.pod.leaf));
    fill(m.pod.left_out, sizeof(m.pod.left_out));
    m.pod.transport = NI_NET_OTHER;
    m.pod.n_setting = NI_MAX_POD_SETTINGS;
    for (unsigned i = 0; i < NI_MAX_POD_SETTINGS; i++) {
        fill(m.setting[i].name, sizeof(m.setting[i].name));
        fill(m.setting[i].value, sizeof(m.setting[i].value));
    }
    m.pod.n_rail = NI_MAX_RAILS;
    for (unsigned i = 0; i < NI_MAX_RAILS; i++) {
        struct ni_rail *r = &m.rail[i];

        fill(r->hca, sizeof(r->hca));
        fill(r->firmware, sizeof(r->firmware));
        fill(r->untried, sizeof(r->untried));
        r->link = NI_LINK_ROCE;
        r->software = true;
        r->index = i == 0 ? -1 : INT32_MAX;
        r->v2 = true;
        r->mac = 0xffffffffffff;
        r->netdev_mtu = (struct ni_num){INT64_MAX, NI_KNOWN};
        r->mbps.known = NI_ABSENT;
        r->path_mtu = 4096;
        r->pkey = UINT16_MAX;
        r->n_subnet = NI_MAX_SUBNETS;
        for (unsigned k = 0; k < NI_MAX_SUBNETS; k++)
            r->subnet[k].bits = 128;
    }
}

/* What is in buf, through a socket. */
static int receive(size_t n, size_t most)
{
    static struct ni_wire_room room;
    int pair[2], r;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    assert_int_equal(send(pair[0], buf, n, 0), n);
    r = ni_message_receive(pair[1], most, &room, &none, &back);
    (void)close(pair[0]);
    (void)close(pair[1]);
    return r;
}

/* Each type comes back as it was, and its largest is within what is taken. */
static void test_all_come_back(void **state)
{
    (void)state;
    for (int type = 0; type < NI_MSG_TYPES; type++) {
        struct ni_text t = ni_text_on(buf, sizeof(buf)), u = ni_text_on(again, sizeof(again));

        fill_message();
        m.type = (enum ni_message_type)type;
        ni_message_put(&t, &none, &m);
        if (t.cut)
            fail_msg("type %d: %zu bytes", type, t.len);
        memset(&back, 0xee, sizeof(back));
        if (receive(t.len, type == NI_MSG_HELLO ? NI_MEET_HELLO : NI_MEET_MESSAGE) != 1)
            fail_msg("type %d", type);
        assert_int_equal(back.type, type);
        ni_message_put(&u, &none, &back);
        assert_int_equal(u.len, t.len);
        assert_memory_equal(buf, again, t.len);
    }
}

/* One member at a time is made wrong. */
static void test_refused(void **state)
{
    static const struct {
        enum ni_message_type type;
        const char *from, *to;
    } row[] = {
        {NI_MSG_DO, "\"rail\": 31", "\"rail\": 32"},
        {NI_MSG_DO, "\"role\": 1", "\"role\": 2"},
        {NI_MSG_DO, "\"role\": 1", "\"role\": -1"},
        {NI_MSG_DO, "\"partner\": 16383", "\"partner\": 16384"},
        {NI_MSG_DO, "qpn\": 4294967295", "qpn\": 4294967296"},
        {NI_MSG_DO, "qpn\": 4294967295", "qpn\": 1e9"},
        {NI_MSG_DO, "qpn\": 4294967295", "qpn\": true"},
        {NI_MSG_DO, "\"work\": 4", "\"other\": 4"},
        {NI_MSG_DO, "qpn\": 4294967295", "qpn\": NaN"},
        {NI_MSG_DO, "9223372036854775807", "9223372036854775808"},
        {NI_MSG_DO, "\"end.queue\": [", "\"end.queue\": [{},"},
        {NI_MSG_DO, "\"batch\": 8", "\"batch\": 9"},
        {NI_MSG_DO, "\"small\": 1024", "\"small\": 1025"},
        {NI_MSG_DONE, "\"result.queue\": [", "\"result.queue\": [{},"},
        {NI_MSG_DO, "\"queues\": 255", "\"queues\": 256"},
        {NI_MSG_DO, "global\": 1", "global\": true"},
        {NI_MSG_DO, "000ab\"", "000a\""},
        {NI_MSG_DO, "000ab\"", "000ag\""},
        {NI_MSG_DO, "\"item\": [", "\"item\": [[[[[[[[[[[[[[[[[["},
        {NI_MSG_DO, "\"item\": [", "\"item\": [{},"},
        {NI_MSG_DO, "\"item\": [{", "\"item\": [5, {"},
        {NI_MSG_DO, "\"item\": [{", "\"item\": 5, \"more\": [{"},
        {NI_MSG_DO, "\"work\": 4", "\"work\": 0"},
        {NI_MSG_DONE, "step\": 15", "step\": 16"},
        {NI_MSG_DONE, "err\": 4095", "err\": 4096"},
        {NI_MSG_DONE, "latency_ns\": 9", "latency_ns\": -9"},
        {NI_MSG_FACTS, "\"index\": -1", "\"index\": -2"},
        {NI_MSG_FACTS, "\"bits\": 128", "\"bits\": 129"},
        {NI_MSG_FACTS, "\"mac\": 281474976710655", "\"mac\": 281474976710656"},
        {NI_MSG_FACTS, "\"netdev_mtu\": 9", "\"netdev_mtu\": -9"},
        {NI_MSG_FACTS, "\"hca\": \"", "\"netdev\": \"0123456789abcdef\", \"hca\": \""},
        {NI_MSG_FACTS, "\"hca\": \"", "\"netdev\": \"a\\u0000\", \"hca\": \""},
        {NI_MSG_HELLO, "nccl-init preflight", "nccl-init-preflight"},
        {NI_MSG_HELLO, "rank\": 16383", "rank\": 16384"},
        {NI_MSG_HELLO, "ranks\": 16384", "ranks\": 0"},
        {NI_MSG_DO, "\"do\"", "\"dodo\""},
        {NI_MSG_HELLO, "}", ""},
        {NI_MSG_HELLO, "}", "}}"},
    };
    static char text[2 * NI_MEET_MESSAGE];

    (void)state;
    for (size_t i = 0; i < NI_COUNT(row); i++) {
        struct ni_text t = ni_text_on(buf, sizeof(buf));
        char *at;

        fill_message();
        m.type = row[i].type;
        ni_message_put(&t, &none, &m);
        at = strstr(buf + NI_WIRE_HEAD, row[i].from);
        assert_non_null(at);
        (void)snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - buf - NI_WIRE_HEAD),
                       buf + NI_WIRE_HEAD, row[i].to, at + strlen(row[i].from));
        if (ni_message_take(text, strlen(text), &back))
            fail_msg("row %zu", i);
    }
}

/* Text of others that would act on a terminal does not print; members of later versions are left. */
static void test_taken(void **state)
{
    static const char no[] = "{\"type\": \"no\", \"verdict.line\": \"a\\u001b[2J\\u00e9\\n\", "
                             "\"more\": {\"x\": [1]}}";
    static const char facts[] =
        "{\"type\": \"facts\", \"pod.host\": \"h\", \"pod.node\": \"\", "
        "\"pod.transport\": 0, \"rail\": [], \"setting\": [{\"name\": \"NCCL_LATER\\u001b\", "
        "\"value\": \"\"}, {\"name\": \"NCCL_ALGO\", \"value\": \"Ring\"}]}";

    (void)state;
    assert_true(ni_message_take(no, strlen(no), &back));
    assert_string_equal(back.verdict.line, "a?[2J???");
    assert_true(ni_message_take(facts, strlen(facts), &back));
    assert_string_equal(back.setting[0].name, "NCCL_LATER?");
    assert_string_equal(back.setting[1].name, "NCCL_ALGO");
    /* a NUL in the middle */
    assert_false(ni_message_take("{}\0{}", 5, &back));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_come_back),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
