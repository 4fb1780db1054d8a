/* SPDX-License-Identifier: Apache-2.0 */
/* Messages between pods: what is written is read again, at the ends of all bounds; what is not of the
   form is refused, and its member named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>

#include "meet/wire.h"

static struct ni_message m, back;
static char buf[NI_WIRE_HEAD + NI_MEET_MESSAGE], again[sizeof(buf)], why_buf[256];

static void fill(char *to, size_t size)
{
    memset(to, '"', size - 1); /* which JSON writes as two */
    to[size - 1] = '\0';
}

/* The largest of each. */
static void fill_message(void)
{
    memset(&m, 0, sizeof(m));
    m.protocol = NI_MEET_PROTOCOL;
    m.rank = NI_MAX_RANKS - 1;
    m.ranks = NI_MAX_RANKS;
    fill(m.version, sizeof(m.version));
    fill(m.host, sizeof(m.host));
    fill(m.key, sizeof(m.key));
    m.session = INT64_MAX;
    m.within_ms = INT32_MAX;
    fill(m.line, sizeof(m.line));
    m.good = m.again = true;
    m.findings.n = NI_MAX_FINDINGS;
    for (unsigned i = 0; i < NI_MAX_FINDINGS; i++) {
        m.findings.at[i].id = NI_F_COUNT - 1;
        fill(m.findings.at[i].subject, sizeof(m.findings.at[i].subject));
        fill(m.findings.at[i].message, sizeof(m.findings.at[i].message));
    }
    m.round = INT32_MAX;
    m.bytes = INT64_MAX;
    m.move_ms = INT32_MAX / 2;
    m.n_item = NI_WIRE_ITEMS;
    for (unsigned i = 0; i < NI_WIRE_ITEMS; i++)
        m.item[i] = (struct ni_item){.rail = i / NI_ROLES,
                                     .role = i % NI_ROLES,
                                     .partner = NI_MAX_RANKS - 1,
                                     .end = {UINT32_MAX,
                                             UINT32_MAX,
                                             UINT32_MAX,
                                             INT64_MAX,
                                             UINT32_MAX,
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
                                                .latency_ns = INT64_MAX,
                                                .slowest_ns = INT64_MAX,
                                                .write_mbps = INT32_MAX,
                                                .read_mbps = INT32_MAX}};
    fill(m.pod.host, sizeof(m.pod.host));
    fill(m.pod.node, sizeof(m.pod.node));
    fill(m.pod.cpu, sizeof(m.pod.cpu));
    m.pod.n_gpu = UINT16_MAX;
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
        r->index = i == 0 ? -1 : INT32_MAX;
        r->v2 = r->asked = true;
        r->netdev_mtu = (struct ni_num){INT64_MAX, NI_KNOWN};
        r->mbps.known = NI_ABSENT;
        r->path_mtu = 4096;
        r->lid = r->pkey = UINT16_MAX;
        r->n_subnet = NI_MAX_SUBNETS;
        for (unsigned k = 0; k < NI_MAX_SUBNETS; k++)
            r->subnet[k].bits = 128;
    }
}

/* Each type comes back as it was, and its largest is within what is taken. */
static void test_all_come_back(void **state)
{
    (void)state;
    for (int type = 0; type < NI_MSG_TYPES; type++) {
        struct ni_text t = ni_text_on(buf, sizeof(buf)), u = ni_text_on(again, sizeof(again));
        struct ni_text why = ni_text_on(why_buf, sizeof(why_buf));

        fill_message();
        m.type = (enum ni_message_type)type;
        for (unsigned i = 0; i < m.n_item; i++) {
            m.item[i].has_end = type == NI_MSG_ENDS || type == NI_MSG_PEERS;
            m.item[i].has_result = type == NI_MSG_CONNECTED || type == NI_MSG_RESULTS;
        }
        ni_message_put(&t, &m);
        if (t.cut || ni_message_length((const uint8_t *)buf) != t.len - NI_WIRE_HEAD)
            fail_msg("type %d: %zu bytes", type, t.len);
        if (type == NI_MSG_HELLO)
            assert_true(t.len - NI_WIRE_HEAD <= NI_MEET_HELLO);
        memset(&back, 0xee, sizeof(back));
        if (ni_message_take(buf + NI_WIRE_HEAD, t.len - NI_WIRE_HEAD, &back, &why) != 0)
            fail_msg("type %d: %s", type, why_buf);
        assert_int_equal(back.type, type);
        ni_message_put(&u, &back);
        assert_int_equal(u.len, t.len);
        assert_memory_equal(buf, again, t.len);
    }
    assert_int_equal(back.findings.n, NI_WIRE_FINDINGS);
    assert_int_equal(back.findings.at[0].id, NI_F_COUNT - 1);
    assert_string_equal(back.findings.at[0].message, m.findings.at[0].message);
}

/* One member at a time is made wrong. */
static void test_refused(void **state)
{
    static const struct {
        enum ni_message_type type;
        const char *from, *to, *why;
    } row[] = {
        {NI_MSG_ENDS, "\"rail\": 31", "\"rail\": 32", "`rail`"},
        {NI_MSG_ENDS, "\"role\": 1", "\"role\": 2", "`role`"},
        {NI_MSG_ENDS, "\"role\": 1", "\"role\": -1", "`role`"},
        {NI_MSG_ENDS, "\"partner\": 16383", "\"partner\": 16384", "`partner`"},
        {NI_MSG_ENDS, "\"qpn\": 4294967295", "\"qpn\": 4294967296", "`qpn`"},
        {NI_MSG_ENDS, "\"qpn\": 4294967295", "\"qpn\": 1e9", "`qpn`"},
        {NI_MSG_ENDS, "\"qpn\": 4294967295", "\"qpn\": true", "`qpn`"},
        {NI_MSG_ENDS, "\"qpn\": 4294967295", "\"other\": 1", "`qpn`"},
        {NI_MSG_ENDS, "\"qpn\": 4294967295", "\"qpn\": NaN", "no JSON"},
        {NI_MSG_ENDS, "9223372036854775807", "9223372036854775808", "no JSON"},
        {NI_MSG_ENDS, "\"qpn\": 4294967295", "\"psn\": 4294967295", "duplicate"},
        {NI_MSG_ENDS, "\"global\": true", "\"global\": 1", "`global`"},
        {NI_MSG_ENDS, "000ab\"", "000a\"", "`gid`"},
        {NI_MSG_ENDS, "000ab\"", "000ag\"", "`gid`"},
        {NI_MSG_ENDS, "\"items\": [", "\"items\": [[[[[[[[[[[[[[[[[[", "deeper"},
        {NI_MSG_ENDS, "\"items\": [", "\"items\": [{},", "`items`"},
        {NI_MSG_RESULTS, "\"step\": 8", "\"step\": 9", "`step`"},
        {NI_MSG_RESULTS, "\"err\": 4095", "\"err\": 4096", "`err`"},
        {NI_MSG_RESULTS, "\"latency_ns\": 9", "\"latency_ns\": -9", "`latency_ns`"},
        {NI_MSG_FACTS, "\"index\": -1", "\"index\": -2", "`index`"},
        {NI_MSG_FACTS, "\"bits\": 128", "\"bits\": 129", "`bits`"},
        {NI_MSG_FACTS, "\"mbps\": null", "\"mbps\": -1", "`mbps`"},
        {NI_MSG_FACTS, "\"netdev\": \"\"", "\"netdev\": \"0123456789abcdef\"", "`netdev`"},
        {NI_MSG_FACTS, "\"netdev\": \"\"", "\"netdev\": \"a\\u0000\"", "no JSON"},
        {NI_MSG_HELLO, "nccl-init preflight", "nccl-init-preflight", "not of nccl-init"},
        {NI_MSG_HELLO, "\"rank\": 16383", "\"rank\": 16384", "`rank`"},
        {NI_MSG_HELLO, "\"ranks\": 16384", "\"ranks\": 0", "`ranks`"},
        {NI_MSG_HELLO, "\"hello\"", "\"helo\"", "not of nccl-init"},
        {NI_MSG_HELLO, "}", "", "no JSON"},
        {NI_MSG_HELLO, "}", "}}", "no JSON"},
    };
    static char text[2 * NI_MEET_MESSAGE];

    (void)state;
    for (size_t i = 0; i < NI_COUNT(row); i++) {
        struct ni_text t = ni_text_on(buf, sizeof(buf));
        struct ni_text why = ni_text_on(why_buf, sizeof(why_buf));
        char *at;

        fill_message();
        m.type = row[i].type;
        for (unsigned k = 0; k < m.n_item; k++) {
            m.item[k].has_end = m.type == NI_MSG_ENDS;
            m.item[k].has_result = m.type == NI_MSG_RESULTS;
        }
        ni_message_put(&t, &m);
        at = strstr(buf + NI_WIRE_HEAD, row[i].from);
        assert_non_null(at);
        (void)snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - buf - NI_WIRE_HEAD),
                       buf + NI_WIRE_HEAD, row[i].to, at + strlen(row[i].from));
        if (ni_message_take(text, strlen(text), &back, &why) != -EPROTO ||
            !strstr(why_buf, row[i].why))
            fail_msg("row %zu: %s", i, why_buf);
    }
}

/* Text of others that would act on a terminal does not print; members of later versions are left. */
static void test_taken(void **state)
{
    static const char no[] = "{\"type\": \"no\", \"line\": \"a\\u001b[2J\\u00e9\\n\", \"again\": "
                             "false, \"more\": {\"x\": [1]}}";
    static const char later[] = "{\"type\": \"hello\", \"magic\": \"nccl-init preflight\", "
                                "\"protocol\": 2, \"version\": \"2\", \"host\": \"h\"}";
    struct ni_text why = ni_text_on(why_buf, sizeof(why_buf));

    (void)state;
    assert_int_equal(ni_message_take(no, strlen(no), &back, &why), 0);
    assert_string_equal(back.line, "a?[2J???");
    assert_false(back.again);
    assert_int_equal(ni_message_take(later, strlen(later), &back, &why), 0);
    assert_int_equal(back.protocol, 2);
    /* a NUL in the middle */
    assert_int_equal(ni_message_take("{}\0{}", 5, &back, &why), -EPROTO);
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
