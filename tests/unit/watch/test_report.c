/* SPDX-License-Identifier: Apache-2.0 */
/* What was watched, as text, JSON and metrics. */
#include "lib/watch_node.h"
#include "nccl_init/known.h"
#include "print/layout.h"
#include "print/words.h"
#include "watch/report.h"
#include <jansson.h>

static struct ni_text out;

static void watch_troubles(void)
{
    begin("Ethernet");
    for (int i = 0; i < 2; i++) {
        data(AT("3"), i * 3 * G, i * 2 * G);
        line("f %s/hw_counters/packet_seq_err %d", AT("3"), 7 + i * 12);
        line("f %s/hw_counters/out_of_sequence %d", AT("3"), 3 + i);
        if (i == 0)
            line("f %s/gids/0 " V4("0a00:0105"), AT("3"));
        else
            line("e %s/gids/0 EINVAL", AT("3"));
        line("f %s/gids/1 " V4("0a00:0106"), AT("3"));
        line("f %s/state 1: DOWN", AT("4"));
        traffic("eth0", "1", i * 20000, 0);
        look(1000 + i * 1000);
    }
}

static int set_up(void **state)
{
    (void)state;
    memset(&seen, 0, sizeof(seen));
    watch_troubles();
    out = ni_long_text();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    ni_free_text(&out);
    return 0;
}

static struct ni_view view_of(void)
{
    return (struct ni_view){.inv = &pod.inv, .findings = &pod.f, .root = "/"};
}

static void assert_has(const char *words)
{
    if (!strstr(out.buf, words))
        fail_msg("`%s` lacks `%s`", out.buf, words);
}

static void test_text(void **state)
{
    const struct ni_view view = view_of();

    (void)state;
    ni_put_watch(&out, &view, &seen);
    assert_has("Watched for 1.0 s, 2 looks; HCAs given by PCIDEVICE_* (SR-IOV device plugin)\n");
    assert_has("mlx5_3/1  ACTIVE  3.00 GB/s  2.00 GB/s  12               1");
    assert_has("mlx5_4/1  DOWN    ?          ?          -                -       cannot be told\n");
    assert_has("eth0       20.0 kB/s  0 B/s");
    assert_has("  mlx5_3/1: packet_seq_err +12, out_of_sequence +1\n");
    assert_has("  mlx5_3/1: GID 0 was 10.0.1.5, then empty\n");
    assert_has("\n1 of 2 rails carries data, 3.00 GB/s out and 2.00 GB/s in; it cannot be told of "
               "mlx5_4/1: no counters are shown here;");
}

static json_t *member(json_t *of, const char *name)
{
    json_t *value = json_object_get(of, name);

    if (!value)
        fail_msg("no member %s", name);
    return value;
}

static void test_json(void **state)
{
    const struct ni_view view = view_of();
    json_t *top, *rail, *change;

    (void)state;
    ni_put_watch_json(&out, &view, &seen);
    top = json_loads(out.buf, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(top);
    assert_string_equal(json_string_value(member(top, "carried_by")), "rails");
    assert_int_equal(json_integer_value(member(top, "untold")), 1);
    rail = json_array_get(member(top, "rails"), 0);
    assert_int_equal(json_integer_value(member(rail, "out_bytes_per_second")), 3 * G);
    assert_int_equal(json_integer_value(member(member(rail, "counters"), "packet_seq_err")), 12);
    assert_string_equal(json_string_value(member(rail, "counted_by")), "port_xmit_data");
    assert_true(json_is_null(member(rail, "untold")));
    rail = json_array_get(member(top, "rails"), 1);
    assert_true(json_is_null(member(rail, "out_bytes_per_second")));
    assert_string_equal(json_string_value(member(rail, "untold")), "namespace");
    /* it has no counter of that kind */
    assert_true(json_is_null(member(rail, "retransmissions")));
    assert_true(json_is_null(member(rail, "errors")));
    assert_true(json_is_true(member(top, "interfaces_complete")));
    change = json_array_get(member(top, "gid_changes"), 0);
    assert_string_equal(json_string_value(member(change, "was")), "10.0.1.5");
    assert_true(json_is_null(member(change, "is")));
    json_decref(top);
}

/* No error was seen, but one counter would not have shown it. */
static void test_full(void **state)
{
    const struct ni_view view = view_of();

    (void)state;
    begin("Ethernet");
    memset(&seen, 0, sizeof(seen));
    for (int i = 0; i < 2; i++) {
        data(AT("3"), i * 3 * G, i * 2 * G);
        line("f %s/counters/symbol_error 65535", AT("3"));
        line("f %s/counters/link_downed 255", AT("3"));
        line("f %s/counters/port_rcv_errors 7", AT("3"));
        line("f %s/hw_counters/packet_seq_err 7", AT("3"));
        look(1000 + i * 1000);
    }
    ni_put_watch(&out, &view, &seen);
    assert_has("mlx5_3/1  ACTIVE  3.00 GB/s  2.00 GB/s  0                -       -\n");
    assert_has("  mlx5_3/1: symbol_error is full, link_downed is full\n");
}

static void test_interfaces_incomplete(void **state)
{
    const struct ni_view view = view_of();
    json_t *top;

    (void)state;
    begin("Ethernet");
    for (int i = 0; i < 2; i++) {
        line("e sys/class/net EACCES");
        look(1000 + i * 1000);
    }
    ni_put_watch(&out, &view, &seen);
    assert_has("  the interfaces could not be listed\n");
    ni_free_text(&out);
    out = ni_long_text();
    ni_put_watch_json(&out, &view, &seen);
    top = json_loads(out.buf, JSON_REJECT_DUPLICATES, NULL);
    assert_true(json_is_false(member(top, "interfaces_complete")));
    json_decref(top);
}

static void test_metrics(void **state)
{
    (void)state;
    ni_put_watch_metrics(&out, &pod.inv, &seen, 1800000000);
    assert_has("# TYPE nccl_init_watch_rail_bytes_total counter\n");
    assert_has("\nnccl_init_watch_time_seconds 1800000000\n");
    assert_has("\nnccl_init_watch_rails 2\n");
    assert_has("\nnccl_init_watch_rails_carrying 1\n");
    assert_has("\nnccl_init_watch_rails_untold 1\n");
    assert_has("\nnccl_init_watch_rail_bytes_total{hca=\"mlx5_3\",port=\"1\",direction=\"out\"} "
               "3000000000\n");
    assert_has("\nnccl_init_watch_rail_retransmissions_total{hca=\"mlx5_3\",port=\"1\"} 19\n");
    assert_has("\nnccl_init_watch_rail_errors_total{hca=\"mlx5_3\",port=\"1\"} 4\n");
    assert_has(
        "\nnccl_init_watch_interface_bytes_total{interface=\"eth0\",direction=\"out\"} 20000\n");
    assert_null(strstr(out.buf, "mlx5_4")); /* what is not known is not there */
}

static void test_line(void **state)
{
    (void)state;
    ni_put_watch_line(&out, &pod.inv, &seen);
    assert_string_equal(out.buf,
                        "  mlx5_3/1 3.00 GB/s out 2.00 GB/s in  mlx5_4/1 ?  eth0 20.0 kB/s out "
                        "0 B/s in  retransmissions on 1 rail  errors on 1 rail");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_text, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_json, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_full, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_interfaces_incomplete, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_metrics, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_line, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
