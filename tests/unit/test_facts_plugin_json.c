/* SPDX-License-Identifier: Apache-2.0 */
/* The device plugin's JSON: what is read without the library is what the library reads. */
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "facts/probe.h"

/* Devices as "id=rdma_dev;", "id;" without one. */
static struct {
    char text[2048];
    size_t n;
    unsigned most; /* devices taken before it is enough */
} got;

static bool take(void *ctx, struct ni_span id, struct ni_span rdma_dev)
{
    (void)ctx;
    if (got.most-- == 0)
        return false;
    got.n += (size_t)snprintf(got.text + got.n, sizeof(got.text) - got.n, "%.*s", (int)id.n, id.p);
    if (rdma_dev.p)
        got.n += (size_t)snprintf(got.text + got.n, sizeof(got.text) - got.n, "=%.*s",
                                  (int)rdma_dev.n, rdma_dev.p);
    got.n += (size_t)snprintf(got.text + got.n, sizeof(got.text) - got.n, ";");
    return true;
}

static bool read_plain(const char *text)
{
    got.n = 0;
    got.text[0] = '\0';
    got.most = 100;
    return ni_read_plugin_json(text, take, NULL);
}

/* The library's answer in the same words; false: no JSON, or not maps of maps of strings. */
static bool read_by_library(const char *text, char *buf, size_t cap)
{
    json_t *top = json_loads(text, JSON_REJECT_DUPLICATES, NULL), *providers, *values, *value;
    const char *id, *provider, *key;
    bool good = json_is_object(top);
    size_t n = 0;

    buf[0] = '\0';
    json_object_foreach(top, id, providers)
    {
        const json_t *dev = json_object_get(json_object_get(providers, "rdma"), "rdma_dev");

        good = good && json_is_object(providers);
        json_object_foreach(providers, provider, values)
        {
            good = good && json_is_object(values);
            json_object_foreach(values, key, value) good = good && json_is_string(value);
        }
        n += (size_t)snprintf(buf + n, cap - n, "%s%s%s;", id, dev ? "=" : "",
                              dev ? json_string_value(dev) : "");
    }
    json_decref(top);
    return good;
}

static void assert_same(const char *text)
{
    char want[2048];

    if (!read_plain(text)) {
        assert_int_equal(got.n, 0); /* nothing was taken */
        return;
    }
    if (!read_by_library(text, want, sizeof(want)))
        fail_msg("`%s` is taken, and is not what the plugin writes", text);
    if (strcmp(got.text, want) != 0)
        fail_msg("`%s`: %s, the library says %s", text, got.text, want);
}

#define TWO                                                                                     \
    "{\"0000:03:00.2\":{\"generic\":{\"deviceID\":\"0000:03:00.2\"},\"rdma\":{\"issm\":\"/dev/" \
    "i\","                                                                                      \
    "\"rdma_dev\":\"mlx5_6\",\"uverbs\":\"u\"}},\"0000:23:00.2\":{\"extra\":{},\"netdevice\":{" \
    "\"pciID\":\"0\",\"rdma_dev\":\"no\"}}}"

static void test_forms(void **state)
{
    static const struct {
        const char *text, *want; /* NULL: the library's */
    } cases[] = {
        {"{}", ""},
        {"{\"a\":{}}", "a;"},
        {TWO, "0000:03:00.2=mlx5_6;0000:23:00.2;"},
        {"{\"a\":{\"rdma\":{\"rdma_dev\":\"\"}}}", "a=;"},
        {"{\"a\":{\"rdma\":{\"rdma_dev2\":\"x\"}}}", "a;"},
        {"{\"a\":{\"rdm\":{\"rdma_dev\":\"x\"}}}", "a;"},
        {"{\"\":{}}", NULL}, /* does not ascend from nothing */
        {"{\"a\":{\"rdma\":{\"rdma_dev\":\"m\"}},\"b\":{}}", "a=m;b;"},
        /* the one device's name is not the next one's */
        {"{\"a\":{\"rdma\":{\"rdma_dev\":\"m\"}},\"b\":{\"x\":{\"rdma_dev\":\"n\"}}}", "a=m;b;"},
        /* keys that are there twice, or in another order */
        {"{\"a\":{},\"a\":{}}", NULL},
        {"{\"b\":{},\"a\":{}}", NULL},
        {"{\"ab\":{},\"a\":{}}", NULL},
        {"{\"a\":{\"r\":{},\"r\":{}}}", NULL},
        {"{\"a\":{\"r\":{\"k\":\"1\",\"k\":\"2\"}}}", NULL},
        /* other values, blanks, escapes, other bytes, more or less than one text */
        {"{\"a\":7}", NULL},
        {"{\"a\":{\"r\":\"x\"}}", NULL},
        {"{\"a\":{\"r\":{\"k\":{}}}}", NULL},
        {"{\"a\":{\"r\":{\"k\":null}}}", NULL},
        {"{ \"a\":{}}", NULL},
        {"{\"a\":{}} ", NULL},
        {"{\"a\":{}}x", NULL},
        {"{\"a\":{}}}", NULL},
        {"{\"a\\u0062\":{}}", NULL},
        {"{\"\xc3\xa4\":{}}", NULL},
        {"{\"a\x7f\":{}}", NULL},
        {"{\"a\n\":{}}", NULL},
        {"{\"a\":{},}", NULL},
        {"{,}", NULL},
        {"{\"a\":{}", NULL},
        {"{\"a\":", NULL},
        {"{\"a\"", NULL},
        {"{\"a", NULL},
        {"{\"", NULL},
        {"{", NULL},
        {"[]", NULL},
        {"", NULL},
    };

    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        if (read_plain(cases[i].text) != (cases[i].want != NULL) ||
            (cases[i].want && strcmp(got.text, cases[i].want) != 0))
            fail_msg("`%s`: %s", cases[i].text, got.text);
        assert_same(cases[i].text);
    }
}

/* Each byte of it another one, or left out, or twice. */
static void test_neighbours(void **state)
{
    char text[sizeof(TWO) + 1];
    const size_t n = sizeof(TWO) - 1;
    unsigned taken = 0;

    (void)state;
    for (size_t at = 0; at < n; at++) {
        for (int byte = 1; byte < 256; byte++) {
            memcpy(text, TWO, n + 1);
            text[at] = (char)byte;
            assert_same(text);
            taken += read_plain(text);
        }
        memcpy(text, TWO, at);
        memcpy(text + at, &TWO[at + 1], n - at);
        assert_same(text);
        memcpy(text, TWO, at + 1);
        memcpy(text + at + 1, &TWO[at], n - at + 1);
        assert_same(text);
    }
    assert_true(taken > n); /* other letters in a value are another value */
}

static void test_enough(void **state)
{
    (void)state;
    got.n = 0;
    got.most = 1;
    assert_true(ni_read_plugin_json("{\"a\":{},\"b\":{},\"c\":{}}", take, NULL));
    assert_string_equal(got.text, "a;");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_neighbours),
        cmocka_unit_test(test_enough),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
