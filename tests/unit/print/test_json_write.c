/* SPDX-License-Identifier: Apache-2.0 */
/* JSON as it is written: what jansson reads back, in ASCII, in the two forms; and in a text that is too short. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "nccl_init/base.h"
#include "nccl_init/known.h"
#include "nccl_init/text.h"
#include "print/json_read.h"
#include "print/json_write.h"
#include <jansson.h>
#include <cmocka.h>

static char buf[1024];

static void write_all(struct ni_text *t, enum ni_json_form form)
{
    struct ni_json j = ni_json_on(t, form);
    ni_json_object(&j, NULL);
    ni_json_int(&j, "least", INT64_MIN);
    ni_json_num(&j, "known", (struct ni_num){7, NI_KNOWN});
    ni_json_num(&j, "denied", (struct ni_num){7, NI_DENIED});
    ni_json_array(&j, "none");
    ni_json_end(&j);
    ni_json_array(&j, "some");
    ni_json_bool(&j, NULL, true);
    ni_json_text_or_null(&j, NULL, "");
    ni_json_object(&j, NULL);
    ni_json_end(&j);
    ni_json_end(&j);
    ni_json_text(&j, "te\"xt", "a\\b");
    ni_json_end(&j);
}

static void test_forms(void **state)
{
    (void)state;
    struct ni_text t = ni_text_on(buf, sizeof(buf));
    write_all(&t, NI_JSON_LINE);
    assert_string_equal(
        buf, "{\"least\": -9223372036854775808, \"known\": 7, \"denied\": null, \"none\": [], "
             "\"some\": [true, null, {}], \"te\\\"xt\": \"a\\\\b\"}\n");
    t = ni_text_on(buf, sizeof(buf));
    write_all(&t, NI_JSON_INDENTED);
    assert_string_equal(buf, "{\n"
                             "  \"least\": -9223372036854775808,\n"
                             "  \"known\": 7,\n"
                             "  \"denied\": null,\n"
                             "  \"none\": [],\n"
                             "  \"some\": [\n"
                             "    true,\n"
                             "    null,\n"
                             "    {}\n"
                             "  ],\n"
                             "  \"te\\\"xt\": \"a\\\\b\"\n"
                             "}\n");
}

/* Each text comes back, but for bytes that are no UTF-8; and all of it is printable ASCII. */
static void test_texts(void **state)
{
    static const struct {
        const char *text, *back;
    } texts[] = {
        {"\x01\t\n\x1b[31m\x7f", NULL},
        {"\xc2\x80\xc2\x9b \xe2\x82\xac \xf0\x9f\x98\x80 \xf4\x8f\xbf\xbf", NULL},
        {"a\xff\xc3", "a\\xff\\xc3"},
        {"\xc0\x80\xe0\x9f\xbf\xf0\x8f\xbf\xbf",
         "\\xc0\\x80\\xe0\\x9f\\xbf\\xf0\\x8f\\xbf\\xbf"}, /* overlong */
        {"\xed\xa0\x80\xed\xbf\xbf\xf4\x90\x80\x80\xf8",
         "\\xed\\xa0\\x80\\xed\\xbf\\xbf\\xf4\\x90\\x80\\x80\\xf8"}, /* surrogate, too high */
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(texts); i++) {
        struct ni_text t = ni_text_on(buf, sizeof(buf));
        struct ni_json j = ni_json_on(&t, NI_JSON_LINE);
        ni_json_array(&j, NULL);
        ni_json_text(&j, NULL, texts[i].text);
        ni_json_end(&j);
        for (const char *c = buf; c[1]; c++)
            assert_true(*c >= ' ' && *c <= '~');
        json_t *all = json_loads(buf, 0, NULL);
        assert_string_equal(json_string_value(json_array_get(all, 0)),
                            texts[i].back ? texts[i].back : texts[i].text);
        json_decref(all);
    }
}

static void test_cut(void **state)
{
    (void)state;
    for (size_t cap = 1; cap < 100; cap++) {
        struct ni_text t = ni_text_on(buf, cap);
        write_all(&t, NI_JSON_INDENTED);
        assert_true(t.cut);
        assert_int_equal(strlen(buf), cap - 1);
    }
}

/* One value after another; where one is no JSON, or is not whole, the text stays where it is. */
static void test_read_first(void **state)
{
    static const char text[] = " {\"a\": 1}[2]\n{\"b\"x}";
    static const char *const cut[] = {"{", "[1,", "{\"a", "{\"a\":", "{\"a\":{\"b\":1}", ""};
    const char *at = text;
    bool ends = true;
    struct ni_text why = NI_TEXT(256);
    json_t *value = ni_read_json_first(&at, &ends, &why);

    (void)state;
    assert_int_equal(json_integer_value(json_object_get(value, "a")), 1);
    assert_string_equal(at, text + strlen(" {\"a\": 1}"));
    json_decref(value);
    value = ni_read_json_first(&at, &ends, &why);
    assert_int_equal(json_array_size(value), 1);
    assert_string_equal(at, "\n{\"b\"x}");
    json_decref(value);
    assert_int_equal(why.len, 0);
    assert_null(ni_read_json_first(&at, &ends, &why));
    assert_string_equal(at, "\n{\"b\"x}");
    assert_false(ends);
    assert_non_null(strstr(why.buf, "no JSON: "));
    for (size_t i = 0; i < NI_COUNT(cut); i++) {
        at = cut[i];
        assert_null(ni_read_json_first(&at, &ends, &why));
        assert_true(ends);
    }
    at = "[[[[[[[[[[[[[[[[[[";
    assert_null(ni_read_json_first(&at, &ends, &why));
    assert_false(ends); /* too deep, whatever follows */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read_first),
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
