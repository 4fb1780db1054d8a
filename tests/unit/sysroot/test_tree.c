/* SPDX-License-Identifier: Apache-2.0 */
/* The .tree form: what it means, and each way in which a line can be wrong. */
#include "lib/sysroot.h"
#include "lib/trials.h"
#include "nccl_init/base.h"
#include "nccl_init/errno.h"
#include "nccl_init/text.h"
#include "sysroot/files.h"
#include "sysroot/root.h"
#include "sysroot/tree.h"

/* ---- what a tree says ---- */

static void test_entries(void **state)
{
    (void)state;
    struct ni_root root = tree_of("# a machine\n"
                                  "\n"
                                  "  \t \n"
                                  "d sys/class/infiniband/mlx5_0\n"
                                  "f ./node_guid a088:c203:0027:c418\n"
                                  "f ./ports/1/state 4: ACTIVE\n"
                                  "e ./ports/1/gids/0 EINVAL\n"
                                  "f ./empty\n"
                                  "f ./blank  x \n"
                                  "l sys/link ../sys/class\n"
                                  "d empty\n"
                                  "d ./below\n"
                                  "f ./file last line");

    assert_string_equal(read_of(&root, "sys/class/infiniband/mlx5_0/node_guid"),
                        "a088:c203:0027:c418");
    assert_string_equal(read_of(&root, "sys/class/infiniband/mlx5_0/ports/1/state"), "4: ACTIVE");
    assert_string_equal(read_of(&root, "sys/class/infiniband/mlx5_0/ports/1/gids/0"), "EINVAL");
    assert_string_equal(read_of(&root, "sys/class/infiniband/mlx5_0/empty"), "");
    assert_string_equal(read_of(&root, "sys/class/infiniband/mlx5_0/blank"), " x ");
    assert_string_equal(read_of(&root, "sys/nothing"), "ENOENT");
    assert_string_equal(read_of(&root, "sys/class"), "EISDIR");
    assert_string_equal(read_of(&root, "empty/below/file"), "last line");
    assert_string_equal(link_of(&root, "sys/link"), "../sys/class");
    assert_string_equal(link_of(&root, "sys/class"), "EINVAL");
    assert_string_equal(list_of(&root, "sys/class/infiniband/mlx5_0"),
                        "blank empty node_guid ports");
    assert_string_equal(list_of(&root, ""), "empty sys");
    assert_string_equal(list_of(&root, "sys/class/infiniband/mlx5_0/empty"), "ENOTDIR");
    ni_root_close(&root);
}

static void test_escapes(void **state)
{
    (void)state;
    char buf[16];
    struct ni_root root = tree_of("f a \\n\\t\\r\\\\\\\"\\x41\\xfF\n"
                                  "f a\\x20b 1\n"
                                  "f \\x7b0..1} 2\n"
                                  "f nul a\\0b\n"
                                  "f lines a\\nb\\n\\nc\n"
                                  "l link to\\x20there\n");

    assert_string_equal(read_of(&root, "a"), "\n\t\r\\\"A\xff");
    assert_string_equal(read_of(&root, "a b"), "1");
    assert_string_equal(read_of(&root, "{0..1}"), "2");
    assert_string_equal(read_of(&root, "nul"), "EILSEQ");
    struct ni_dir binary = ni_dir_top(&root);
    binary.binary = true;
    assert_int_equal(ni_read(&binary, buf, sizeof(buf), "nul"), 3);
    assert_memory_equal(buf, "a\0b", 4);
    assert_string_equal(read_of(&root, "lines"), "a\nb\n\nc");
    assert_string_equal(link_of(&root, "link"), "to there");
    ni_root_close(&root);
}

static void test_ranges(void **state)
{
    (void)state;
    struct ni_root root = tree_of("f gids/{0..2} zero\n"
                                  "f gids/3 three\n"
                                  "e gids/{4..11} EINVAL\n"
                                  "d net/{1..2}/dir\n"
                                  "f ./mtu 1500\n"
                                  "f ./sub/deep 9\n"
                                  "f one/{7..7} 7\n"
                                  "d net/{2..3}\n");

    assert_string_equal(list_of(&root, "gids"), "0 1 2 3 4 5 6 7 8 9 10 11");
    assert_string_equal(read_of(&root, "gids/2"), "zero");
    assert_string_equal(read_of(&root, "gids/3"), "three");
    assert_string_equal(read_of(&root, "gids/11"), "EINVAL");
    assert_string_equal(read_of(&root, "net/2/dir/mtu"), "1500");
    assert_string_equal(read_of(&root, "net/1/dir/sub/deep"), "9");
    assert_string_equal(list_of(&root, "net"), "1 2 3");
    assert_string_equal(list_of(&root, "one"), "7");
    ni_root_close(&root);
}

static void test_bounds_of_a_read(void **state)
{
    (void)state;
    char buf[6] = "xxxxx";
    struct ni_root root = tree_of("f five 12345\nf six 123456\nl link 123456\n");

    assert_int_equal(ni_read(TOP(&root), buf, 6, "five"), 5);
    assert_string_equal(buf, "12345");
    assert_int_equal(ni_read(TOP(&root), buf, 6, "six"), -EOVERFLOW);
    assert_string_equal(buf, "");
    assert_int_equal(ni_readlink(TOP(&root), buf, 6, "link"), -EOVERFLOW);
    char path[NI_PATH + 1];
    memset(path, 'x', sizeof(path));
    path[NI_PATH] = '\0';
    assert_int_equal(ni_read(TOP(&root), buf, 6, "%s", path), -ENAMETOOLONG);
    assert_int_equal(ni_look_up(TOP(&root), "%s", path + 1),
                     -ENAMETOOLONG); /* one name of 511 bytes */
    memset(path + 1, '/', NI_PATH - 5);
    memcpy(path + NI_PATH - 4, "five", 4);
    path[1] = '.';
    assert_int_equal(ni_look_up(TOP(&root), "%s", path + 1), 0);
    path[0] = '.';
    assert_int_equal(ni_look_up(TOP(&root), "%s", path), -ENAMETOOLONG);
    ni_root_close(&root);
}

/* ---- paths ---- */

static void test_links(void **state)
{
    (void)state;
    struct ni_root root = tree_of("f sys/devices/a/file 1\n"
                                  "l sys/bus/a ../../sys/devices/a\n"
                                  "l sys/abs /sys/devices\n"
                                  "l up ../../../../sys/devices/../devices\n"
                                  "l chain up\n"
                                  "l tail/dir ../chain/\n"
                                  "l tail/file ../sys/bus/a/file/\n"
                                  "l dangling nothing/there\n"
                                  "l loop pool\n"
                                  "l pool loop\n"
                                  "l self self/x\n");

    assert_string_equal(read_of(&root, "sys/bus/a/file"), "1");
    assert_string_equal(read_of(&root, "sys/bus/a/../a/file"), "1");
    assert_string_equal(read_of(&root, "sys/abs/a/file"), "1");
    assert_string_equal(read_of(&root, "up/a/file"), "1");
    assert_string_equal(read_of(&root, "chain/a//./file"), "1");
    assert_string_equal(list_of(&root, "tail/dir"), "a");
    assert_string_equal(read_of(&root, "tail/file"), "ENOTDIR");
    assert_string_equal(read_of(&root, "../../sys/abs/a/file"), "1");
    assert_string_equal(read_of(&root, "sys/devices/a/file/below"), "ENOTDIR");
    assert_string_equal(read_of(&root, "sys/devices/a/file/.."), "ENOTDIR");
    assert_string_equal(read_of(&root, "sys/devices/a/file/"), "ENOTDIR");
    assert_string_equal(read_of(&root, "dangling"), "ENOENT");
    assert_string_equal(link_of(&root, "dangling"), "nothing/there");
    assert_string_equal(link_of(&root, "chain/"), "EINVAL"); /* the slash follows it */
    assert_int_equal(ni_look_up(TOP(&root), "dangling"), -ENOENT);
    assert_int_equal(ni_look_up(TOP(&root), "chain"), 0);
    assert_int_equal(ni_look_up(TOP(&root), "loop"), -ELOOP);
    assert_int_equal(ni_look_up(TOP(&root), "self"), -ELOOP);
    ni_root_close(&root);
}

/* The kernel follows 40 links and refuses the next. */
static void test_forty_links(void **state)
{
    (void)state;
    char buf[4096];
    struct ni_text text = ni_text_on(buf, sizeof(buf));

    ni_put(&text, "f l0 end\n");
    for (int i = 1; i <= 41; i++)
        ni_putf(&text, "l l%d l%d\n", i, i - 1);
    struct ni_root root = tree_of(buf);
    assert_string_equal(read_of(&root, "l40"), "end");
    assert_string_equal(read_of(&root, "l41"), "ELOOP");
    ni_root_close(&root);
}

static void test_errors_of_files(void **state)
{
    (void)state;
    struct ni_root root = tree_of("e dir/denied EACCES\ne dir/gone ENOENT\nl link dir/denied\n");

    assert_string_equal(read_of(&root, "dir/denied"), "EACCES");
    assert_string_equal(read_of(&root, "link"), "EACCES");
    assert_string_equal(list_of(&root, "dir/denied"), "EACCES");
    assert_string_equal(link_of(&root, "dir/denied"), "EACCES");
    assert_string_equal(read_of(&root, "dir/denied/below"), "EACCES");
    assert_int_equal(ni_openable(TOP(&root), "dir/denied"), -EACCES);
    assert_int_equal(ni_openable(TOP(&root), "dir"), 0);
    assert_int_equal(ni_look_up(TOP(&root), "dir/denied"), 0);
    assert_int_equal(ni_look_up(TOP(&root), "link"), 0);
    assert_int_equal(ni_look_up(TOP(&root), "dir/gone"), -ENOENT);
    assert_string_equal(read_of(&root, "dir/gone"), "ENOENT");
    assert_string_equal(list_of(&root, "dir"), "denied gone"); /* it went after it was listed */
    ni_root_close(&root);
}

static void test_errno_names(void **state)
{
    (void)state;
    for (int err = 1; err < 4096; err++) {
        const char *name = ni_errno_name(err);
        if (name)
            assert_int_equal(ni_errno_of(ni_span_of(name)), err);
    }
    assert_int_equal(ni_errno_of(ni_span_of("ENOTSUP")), ENOTSUP);
    assert_true(ni_has_prefix(NI_ERRNO(ENOTSUP), "EOPNOTSUPP ("));
    assert_true(ni_has_prefix(NI_ERRNO(-ENOENT), "ENOENT (No such file"));
    assert_string_equal(NI_ERRNO(EOVERFLOW), "EOVERFLOW (it is too long)");
    assert_string_equal(NI_ERRNO(133), "errno 133");
    assert_int_equal(ni_errno_of(ni_span_of("EINVAL")), EINVAL);
    assert_int_equal(ni_errno_of(ni_span_of("EINVA")), 0);
    assert_int_equal(ni_errno_of(ni_span_of("")), 0);
}

/* ---- what is no tree ---- */

static void test_malformed(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        unsigned line;
        int err;
    } cases[] = {
        {"x a b\n", 1, EINVAL},
        {"f\n", 1, EINVAL},
        {"f \n", 1, EINVAL},
        {"fa b\n", 1, EINVAL},
        {" f a b\n", 1, EINVAL},
        {"#\nf a 1\nF b 2\n", 3, EINVAL},
        {"f a 1\r\n", 1, EINVAL},
        {"f a \x01\n", 1, EINVAL},
        {"# \x01\n", 1, EINVAL},
        {"f /a 1\n", 1, EINVAL},
        {"f a/ 1\n", 1, EINVAL},
        {"f a 1\nf a/b 2\n", 2, EINVAL},
        {"f a 1\nf a/b/c 2\n", 2, EINVAL},
        {"f a//b 1\n", 1, EINVAL},
        {"f . 1\n", 1, EINVAL},
        {"f .. 1\n", 1, EINVAL},
        {"f ./ 1\n", 1, EINVAL},
        {"f a/./b 1\n", 1, EINVAL},
        {"f a/../b 1\n", 1, EINVAL},
        {"f ././a 1\n", 1, EINVAL},
        {"f a/\\x2e\\x2e/b 1\n", 1, EINVAL},
        {"f a\\x2fb 1\n", 1, EINVAL},
        {"f a\\0b 1\n", 1, EINVAL},
        {"f a\\x2 1\n", 1, EINVAL},
        {"f a \\\n", 1, EINVAL},
        {"f a \\q\n", 1, EINVAL},
        {"f a \\x\n", 1, EINVAL},
        {"f a \\x4\n", 1, EINVAL},
        {"f a \\x4g\n", 1, EINVAL},
        {"f a \\012\n", 1, EINVAL},
        {"d a b\n", 1, EINVAL},
        {"d a \n", 1, EINVAL},
        {"l a\n", 1, EINVAL},
        {"l a \n", 1, EINVAL},
        {"l a x\\0y\n", 1, EINVAL},
        {"e a\n", 1, EINVAL},
        {"e a 22\n", 1, EINVAL},
        {"e a EWHAT\n", 1, EINVAL},
        {"e a EINVAL \n", 1, EINVAL},
        {"f a 1\nf a 1\n", 2, EINVAL},
        {"f a 1\nl a b\n", 2, EINVAL},
        {"f a 1\nd a\n", 2, EINVAL},
        {"f a 1\nf a/b 2\n", 2, EINVAL},
        {"l a b\nf a/b 2\n", 2, EINVAL},
        {"e a EIO\nf a/b 2\n", 2, EINVAL},
        {"f a/b 1\nf a 2\n", 2, EINVAL},
        {"d a\nf a 2\n", 2, EINVAL},
        {"f a/5 1\nf a/{0..9} 2\n", 2, EINVAL},
        {"f {0..1 x\n", 1, EINVAL},
        {"f {} x\n", 1, EINVAL},
        {"f {a..b} x\n", 1, EINVAL},
        {"f {1..0} x\n", 1, EINVAL},
        {"f {..1} x\n", 1, EINVAL},
        {"f {1..} x\n", 1, EINVAL},
        {"f {0.1} x\n", 1, EINVAL},
        {"f {0...1} x\n", 1, EINVAL},
        {"f {00..1} x\n", 1, EINVAL},
        {"f {0..01} x\n", 1, EINVAL},
        {"f {0..1}x x\n", 1, EINVAL},
        {"f {-1..1} x\n", 1, EINVAL},
        {"f {0..65536} x\n", 1, EINVAL},
        {"f {0..4294967296} x\n", 1, EINVAL},
        {"f {0..1}/{0..1} x\n", 1, EINVAL},
        {"d {0..1}\nf ./{0..1} x\n", 2, EINVAL},
    };
    struct ni_root root;
    unsigned line;

    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        int r = open_text(&root, cases[i].text, &line);
        if (r != -cases[i].err || line != cases[i].line)
            fail_msg("%s: %d, line %u", cases[i].text, r, line);
    }
    int r = open_fd(&root, text_fd("f a b\nf c\0d e\n", 14), &line);
    assert_int_equal(r, -EINVAL);
    assert_int_equal(line, 2);
}

/* Names have the kernel's bound; what is longer is no tree. */
static void test_long(void **state)
{
    (void)state;
    char buf[1024];
    unsigned line;
    struct ni_root root;

    snprintf(buf, sizeof(buf), "f %0255d x\n", 7);
    assert_int_equal(open_text(&root, buf, &line), 0);
    ni_root_close(&root);
    snprintf(buf, sizeof(buf), "f %0256d x\n", 7);
    assert_int_equal(open_text(&root, buf, &line), -EINVAL);
}

/* ---- size and use ---- */

/* A million lines (TRIALS): directories of a thousand files each, then all in one directory. A second or two,
   where time goes with the length; hours, where it goes with the square. */
static void test_big(void **state)
{
    enum { LINES = TRIALS(1000000), SHAPES = 2 };
    static char text[LINES * 24];
    (void)state;
    struct ni_root root;
    struct ni_names names;
    unsigned line;

    limit_cpu(300);
    for (int shape = 0; shape < SHAPES; shape++) {
        struct ni_text out = ni_text_on(text, sizeof(text));
        for (int i = 0; i < LINES; i++) {
            if (shape == 0 && i % 1000 == 0)
                ni_putf(&out, "d sys/class/%d\n", i / 1000);
            else if (shape == 0)
                ni_putf(&out, "f ./ports/%d %d\n", i % 1000, i % 1000);
            else
                ni_putf(&out, "f sys/class/%d 1\n", i);
        }
        assert_false(out.cut);
        assert_int_equal(open_fd(&root, text_fd(text, out.len), &line), 0);
        assert_string_equal(read_of(&root, shape == 0 ? "sys/class/99/ports/998" : "sys/class/998"),
                            shape == 0 ? "998" : "1");
        assert_int_equal(ni_list(TOP(&root), &names, "sys/class"), 0);
        ni_root_close(&root);
    }
}

static void test_too_big(void **state)
{
    (void)state;
    char buf[4096];
    struct ni_text text = ni_text_on(buf, sizeof(buf));
    struct ni_root root;
    unsigned line;

    if (TRIALS(10) < 10)
        skip(); /* half of the time of all unit tests */

    /* 2^21 entries */
    for (int i = 1; i <= 32; i++)
        ni_putf(&text, "f {0..65535}/d%d x\n", i);
    buf[text.len -= strlen("f {0..65535}/d32 x\n")] = '\0';
    assert_int_equal(open_text(&root, buf, &line), 0);
    assert_string_equal(read_of(&root, "65535/d31"), "x");
    ni_root_close(&root);
    ni_put(&text, "f more x\n");
    assert_int_equal(open_text(&root, buf, &line), -EFBIG);

    /* what is there already takes time, if no room */
    text = ni_text_on(buf, sizeof(buf));
    while (!text.cut)
        ni_put(&text, "d {0..65535}\n");
    assert_int_equal(open_text(&root, buf, &line), -EFBIG);

    int fd = memfd_create("tree", MFD_CLOEXEC);
    assert_int_equal(ftruncate(fd, NI_TREE_FILE + 1), 0);
    assert_int_equal(open_fd(&root, fd, &line), -EFBIG);
    assert_int_equal(line, 0);
    root = tree_of("f a 1\n"); /* the memory is free again */
    ni_root_close(&root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_entries),
        cmocka_unit_test(test_escapes),
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_bounds_of_a_read),
        cmocka_unit_test(test_links),
        cmocka_unit_test(test_forty_links),
        cmocka_unit_test(test_errors_of_files),
        cmocka_unit_test(test_errno_names),
        cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_long),
        cmocka_unit_test(test_big),
        cmocka_unit_test(test_too_big),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
