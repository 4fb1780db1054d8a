/* SPDX-License-Identifier: Apache-2.0 */
/* Recording: whatever was asked of a root, the record answers the same, byte for byte, after it was
   written and read. */
#include <fcntl.h>
#include <sys/stat.h>

#include "lib/sysroot.h"
#include "nccl_init/base.h"
#include "nccl_init/text.h"
#include "sysroot/files.h"
#include "sysroot/record.h"
#include "sysroot/root.h"
#include "sysroot/tree.h"

/* ---- calls, and their answers as text ---- */

enum { MAX_CALLS = 20000, LOG = 4 << 20 };

static struct call {
    char what;
    char path[NI_PATH];
} calls[MAX_CALLS];
static unsigned n_calls;

static void call(char what, const char *path)
{
    assert_true(n_calls < MAX_CALLS);
    calls[n_calls].what = what;
    assert_true(ni_copy(calls[n_calls++].path, NI_PATH, path));
}

static void answer(const struct ni_root *root, const struct call *c, struct ni_text *out)
{
    static char buf[65536];
    int r = 0;

    ni_putf(out, "%c %s: ", c->what, c->path);
    switch (c->what) {
    case 'r':
        ni_put(out, read_of(root, c->path));
        break;
    case 's': /* too short a buffer */
        r = (int)ni_read(TOP(root), buf, 4, "%s", c->path);
        ni_putf(out, "%d %s", r, buf);
        break;
    case 'l':
        ni_put(out, link_of(root, c->path));
        break;
    case 'd':
        ni_put(out, list_of(root, c->path));
        break;
    case 'e':
        ni_putf(out, "%d", ni_look_up(TOP(root), "%s", c->path));
        break;
    default:
        ni_putf(out, "%d", ni_openable(TOP(root), "%s", c->path));
        break;
    }
    ni_put(out, "\n");
}

static void answer_all(const struct ni_root *root, char *log)
{
    struct ni_text out = ni_text_on(log, LOG);

    for (unsigned i = 0; i < n_calls; i++)
        answer(root, &calls[i], &out);
    assert_false(out.cut);
}

static char plain_log[LOG], record_log[LOG], replay_log[LOG];

static void assert_same(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    if (*a != *b)
        fail_msg("differs at: %.200s\nfrom: %.200s", a, b);
}

/* Asks without recording, while recording, and of the record. */
static void check_replay(struct ni_root *root)
{
    static char first[1 << 20];

    answer_all(root, plain_log);
    assert_int_equal(ni_root_record(root), 0);
    answer_all(root, record_log);
    assert_same(plain_log, record_log);
    assert_true(ni_copy(first, sizeof(first), written(root, false)));
    assert_string_equal(written(root, false), first);
    ni_root_close(root);

    struct ni_root replay = tree_of(first);
    answer_all(&replay, replay_log);
    assert_same(plain_log, replay_log);
    /* A record of the record is the record. */
    assert_int_equal(ni_root_record(&replay), 0);
    answer_all(&replay, replay_log);
    assert_same(plain_log, replay_log);
    assert_string_equal(written(&replay, false), first);
    ni_root_close(&replay);
    n_calls = 0;
}

static const char node_tree[] =
    "d sys/devices/pci0000:00/0000:00:01.0/0000:03:00.2\n"
    "f ./numa_node 1\n"
    "f ./uevent A=1\\nB=2\\n\n"
    "e ./config EACCES\n"
    "f ./infiniband/mlx5_6/ports/1/state 4: ACTIVE\n"
    "f ./infiniband/mlx5_6/ports/1/gids/{0..3} fe80:0000\n"
    "e ./infiniband/mlx5_6/ports/1/gids/{4..6} EINVAL\n"
    "f ./infiniband/mlx5_6/ports/1/gids/7 last\n"
    "l ./physfn ../0000:03:00.0\n"
    "f sys/devices/pci0000:00/0000:00:01.0/0000:03:00.0/sriov_numvfs 8\n"
    "l sys/bus/pci/devices/0000:03:00.2 "
    "../../../devices/pci0000:00/0000:00:01.0/0000:03:00.2\n"
    "l sys/class/infiniband/mlx5_6 "
    "../../devices/pci0000:00/0000:00:01.0/0000:03:00.2/infiniband/mlx5_6\n"
    "l sys/class/infiniband/mlx5_gone ../../devices/nothing\n"
    "l sys/class/abs /sys/devices/pci0000:00\n"
    "l loop/a b\n"
    "l loop/b a\n"
    "f odd/nul a\\0b\n"
    "f odd/blanks \\x20\\x20a b \\x20\n"
    "f odd/bytes \\x01\\x7f\\xff\\t\\\\n\"\n"
    "f odd/name\\x20with\\x20blanks 1\n"
    "f odd/\\x7b0..1} 2\n"
    "f odd/007 3\n"
    "f odd/008 3\n"
    "e odd/gone ENOENT\n"
    "f odd/#x 4\n"
    "f odd/empty\n"
    "f odd/newline a\\n\n"
    "d odd/dir\n"
    "d odd/numbers/{0..20}\n"
    "f odd/seven/{0..9} x\n"
    "f odd/seven/10 y\n"
    "f odd/seven/12 y\n"
    "f odd/long/{0..2000} z\n"
    "e dev/infiniband/uverbs1 EPERM\n"
    "f dev/infiniband/uverbs0\n"
    "f top 1\n";

static const char *const paths[] = {
    /* through a link before anybody asks whether it is one */
    "sys/bus/pci/devices/0000:03:00.2/numa_node",
    "sys/bus/pci/devices/0000:03:00.2",
    "sys/bus/pci/devices/0000:03:00.2/physfn/sriov_numvfs",
    "sys/bus/pci/devices/0000:03:00.2/physfn",
    "sys/bus/pci/devices/0000:03:00.2/uevent",
    "sys/bus/pci/devices/0000:03:00.2/config",
    "sys/bus/pci/devices/0000:03:00.2/infiniband",
    "sys/bus/pci/devices/0000:03:00.9/infiniband",
    "sys/class/infiniband/mlx5_6/ports/1/state",
    "sys/class/infiniband/mlx5_6/ports/1/gids",
    "sys/class/infiniband/mlx5_6/ports/1/gids/0",
    "sys/class/infiniband/mlx5_6/ports/1/gids/1",
    "sys/class/infiniband/mlx5_6/ports/1/gids/4",
    "sys/class/infiniband/mlx5_6/ports/1/gids/5",
    "sys/class/infiniband/mlx5_6/ports/1/gids/7",
    "sys/class/infiniband/mlx5_6/ports/1/gids/8",
    "sys/class/infiniband/mlx5_gone",
    "sys/class/infiniband/mlx5_gone/ports",
    "sys/class/infiniband",
    "sys/class/abs/0000:00:01.0/0000:03:00.0/sriov_numvfs",
    "sys/class/abs/",
    "loop/a",
    "loop/a/x",
    "odd",
    "odd/nul",
    "odd/007/below",
    "odd/007/below/it",
    "odd/blanks",
    "odd/bytes",
    "odd/name with blanks",
    "odd/{0..1}",
    "odd/007",
    "odd/008",
    "odd/gone",
    "odd/#x",
    "odd/empty",
    "odd/newline",
    "odd/dir",
    "odd/numbers",
    "odd/numbers/20",
    "odd/numbers/21",
    "odd/seven/0",
    "odd/seven/3",
    "odd/seven/4",
    "odd/seven/9",
    "odd/seven/10",
    "odd/seven/11",
    "odd/seven/12",
    "odd/long",
    "odd/long/1900",
    "dev/infiniband/uverbs0",
    "dev/infiniband/uverbs1",
    "dev/infiniband/uverbs2",
    "dev",
    "top",
    "",
    ".",
    "..",
    "../top",
    "none",
    "none/below",
};

/* Every kind of call on every path; `order` picks which kind comes first. */
static void call_all(const char *order)
{
    for (const char *what = order; *what; what++)
        for (size_t i = 0; i < NI_COUNT(paths); i++)
            call(*what, paths[i]);
}

static const char *const orders[] = {"rslode", "edlosr", "dlreos", "oeslrd", "lredos"};

static void test_of_a_tree(void **state)
{
    (void)state;
    for (size_t i = 0; i < NI_COUNT(orders); i++) {
        struct ni_root root = tree_of(node_tree);
        call_all(orders[i]);
        check_replay(&root);
    }
}

/* Each call alone: nothing that another one recorded helps. */
static void test_single_calls(void **state)
{
    (void)state;
    for (const char *what = orders[0]; *what; what++)
        for (size_t i = 0; i < NI_COUNT(paths); i++) {
            struct ni_root root = tree_of(node_tree);
            call(*what, paths[i]);
            check_replay(&root);
        }
}

/* ---- a directory ---- */

static char base[] = "/tmp/ni-record-XXXXXX";

static int set_up(void **state)
{
    (void)state;
    memcpy(base + sizeof(base) - 7, "XXXXXX", 6);
    return mkdtemp(base) ? 0 : -1;
}

static int tear_down(void **state)
{
    char command[64];

    (void)state;
    snprintf(command, sizeof(command), "rm -rf %s", base);
    return system(command); /* NOLINT(bugprone-command-processor): a path that mkdtemp made */
}

/* As tests/tools/mktree.c, without its error messages. */
static void make_dir(const char *text)
{
    struct ni_root root = tree_of(text);
    const struct ni_tree *t = root.tree;
    int dir = open(base, O_PATH | O_DIRECTORY | O_CLOEXEC);

    for (size_t i = 0; i < t->n; i++) {
        const struct ni_entry *e = &t->at[i];
        if (e->kind == NI_ENTRY_DIR) {
            (void)mkdirat(dir, e->path, 0755);
        } else if (e->kind == NI_ENTRY_LINK) {
            assert_int_equal(symlinkat(e->value, dir, e->path), 0);
        } else if (e->kind == NI_ENTRY_FILE) {
            int fd = openat(dir, e->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
            assert_int_equal(write(fd, e->value, e->len), e->len);
            if (e->len > 0)
                assert_int_equal(write(fd, "\n", 1), 1);
            close(fd);
        }
    }
    close(dir);
    ni_root_close(&root);
}

static struct ni_root open_path(const char *path)
{
    struct ni_root root;
    unsigned line;

    assert_int_equal(ni_root_open(path, &root, &line), 0);
    return root;
}

static void test_of_a_directory(void **state)
{
    (void)state;
    make_dir(node_tree);
    for (size_t i = 0; i < NI_COUNT(orders); i++) {
        struct ni_root root = open_path(base);
        call_all(orders[i]);
        check_replay(&root);
    }
}

/* That a user may not read a file, or not look into a directory, is recorded too. */
static void test_denied(void **state)
{
    (void)state;
    static const char *const below[] = {"closed/x", "closed/x/y", "closed", "file"};

    make_dir("f closed/x 1\nf file 2\n");
    char path[64];
    for (size_t i = 0; i < 2; i++) {
        snprintf(path, sizeof(path), "%s/%s", base, below[i + 2]);
        assert_int_equal(chmod(path, 0), 0);
    }
    assert_int_equal(chmod(base, 0755), 0);
    bool is_root = geteuid() == 0;
    if (is_root && seteuid(65534) < 0)
        skip();
    for (const char *what = "eldro"; *what; what++) {
        struct ni_root root = open_path(base);
        /* An `e` line fails every call but ni_look_up; on the file itself these two would not. */
        for (size_t i = 0; i < (*what == 'l' || *what == 'o' ? 2 : NI_COUNT(below)); i++)
            call(*what, below[i]);
        check_replay(&root);
    }
    struct ni_root root = open_path("/");
    call('r', "proc/1/environ");
    check_replay(&root);
    if (is_root)
        assert_int_equal(seteuid(0), 0);
    snprintf(path, sizeof(path), "%s/closed", base);
    assert_int_equal(chmod(path, 0700), 0);
}

/* The file system changes while it is recorded. */
static void test_changes(void **state)
{
    (void)state;
    char path[64];

    make_dir("f dir/x 1\nf file 2\n");
    struct ni_root root = open_path(base);
    assert_int_equal(ni_root_record(&root), 0);
    assert_string_equal(read_of(&root, "dir/x"), "1");
    assert_string_equal(read_of(&root, "file"), "2");
    snprintf(path, sizeof(path), "%s/file", base);
    int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    assert_int_equal(write(fd, "3\n", 2), 2);
    close(fd);
    assert_string_equal(read_of(&root, "file"), "3"); /* the last value counts */

    /* A directory of which something is recorded stays one. */
    snprintf(path, sizeof(path), "%s/dir/x", base);
    assert_int_equal(unlink(path), 0);
    snprintf(path, sizeof(path), "%s/dir", base);
    assert_int_equal(rmdir(path), 0);
    close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    assert_string_equal(read_of(&root, "dir"), "");
    assert_string_equal(written(&root, false), "f file 3\nf dir/x 1\n");
    ni_root_close(&root);
}

/* ---- this machine ---- */

static void test_of_this_machine(void **state)
{
    (void)state;
    static struct ni_names nets;
    char path[NI_PATH];
    struct ni_root root = open_path("/");

    assert_int_equal(ni_list(TOP(&root), &nets, "sys/class/net"), 0);
    call('d', "sys/class/net");
    for (unsigned i = 0; i < nets.n; i++) {
        static const char *const file[] = {"", "/mtu", "/speed", "/device/numa_node", "/address"};
        for (size_t k = 0; k < NI_COUNT(file); k++) {
            snprintf(path, sizeof(path), "sys/class/net/%s%s", nets.name[i], file[k]);
            call(k == 0 ? 'l' : 'r', path);
        }
    }
    call('r', "proc/net/route");
    call('r', "proc/net/if_inet6");
    call('r', "proc/self/limits");
    call('r', "proc/mounts");
    call('l', "proc/self/ns/net");
    call('e', "dev/null");
    call('o', "dev/null");
    call('r', "dev/zero");
    call('r', "etc/hostname");
    call('s', "proc/self/limits");
    call('d', "proc/self/task/none");
    check_replay(&root);

    /* No process ids: what is recorded twice is the same. */
    root = open_path("/");
    assert_int_equal(ni_root_record(&root), 0);
    read_of(&root, "proc/self/comm");
    read_of(&root, "proc/net/route");
    assert_true(ni_has_prefix(written(&root, false), "f proc/net/route "));
    assert_non_null(strstr(written(&root, false), "\nf proc/self/comm "));
    ni_root_close(&root);
}

/* ---- form ---- */

static void test_form(void **state)
{
    (void)state;
    struct ni_root root = tree_of(node_tree);

    assert_int_equal(ni_root_record(&root), 0);
    list_of(&root, "sys/class/infiniband/mlx5_6/ports/1/gids");
    for (int i = 0; i < 8; i++) {
        char path[NI_PATH];
        snprintf(path, sizeof(path), "sys/class/infiniband/mlx5_6/ports/1/gids/%d", i);
        read_of(&root, path);
    }
    read_of(&root, "odd/blanks");
    read_of(&root, "odd/bytes");
    list_of(&root, "odd/numbers");
    assert_int_equal(ni_look_up(TOP(&root), "dev/infiniband/uverbs0"), 0);
    assert_int_equal(ni_record_add(&root, "env", "A=1\0B=2", 7), 0);
    assert_string_equal(
        written(&root, false),
        "f env A=1\\x00B=2\n"
        "f dev/infiniband/uverbs0\n"
        "d odd\n"
        "f ./blanks   a b \\x20\n"
        "f ./bytes \\x01\\x7f\\xff\\t\\\\n\"\n"
        "d odd/numbers/{0..20}\n"
        "l sys/class/infiniband/mlx5_6 "
        "../../devices/pci0000:00/0000:00:01.0/0000:03:00.2/infiniband/mlx5_6\n"
        "d sys/devices/pci0000:00/0000:00:01.0/0000:03:00.2/infiniband/mlx5_6/ports/1/gids\n"
        "f ./{0..3} fe80:0000\n"
        "e ./{4..6} EINVAL\n"
        "f ./7 last\n");
    ni_root_close(&root);
}

/* Of directories and in them: ni_natural_cmp, not strverscmp of the one libc or the other. */
static void test_order(void **state)
{
    static const char *const names[] = {"b00/f", "b0/f", "c/x00", "c/x0"};
    (void)state;
    struct ni_root root = tree_of("f b00/f 1\nf b0/f 2\nf c/x00 3\nf c/x0 4\n");

    assert_int_equal(ni_root_record(&root), 0);
    for (size_t i = 0; i < NI_COUNT(names); i++)
        read_of(&root, names[i]);
    assert_string_equal(written(&root, false), "f b0/f 2\nf b00/f 1\nd c\nf ./x0 4\nf ./x00 3\n");
    ni_root_close(&root);
}

/* A record with a hole would replay as another machine: it is not written. */
static void test_full(void **state)
{
    (void)state;
    char path[64];
    struct ni_root root;

    snprintf(path, sizeof(path), "%s/huge", base);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    assert_int_equal(ftruncate(fd, 100 << 20), 0);
    close(fd);
    snprintf(path, sizeof(path), "%s/small", base);
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    assert_int_equal(write(fd, "1\n", 2), 2);
    close(fd);
    root = open_path(base);
    assert_int_equal(ni_root_record(&root), 0);
    struct ni_text text = ni_text_on(path, sizeof(path));
    assert_string_equal(read_of(&root, "huge"), "EOVERFLOW"); /* the program goes on */
    assert_string_equal(read_of(&root, "small"), "1");
    assert_int_equal(ni_record_text(root.record, "header", &text), -EFBIG);
    ni_root_close(&root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_of_a_tree),
        cmocka_unit_test(test_single_calls),
        cmocka_unit_test_setup_teardown(test_of_a_directory, set_up, tear_down),
        cmocka_unit_test(test_of_this_machine),
        cmocka_unit_test_setup_teardown(test_denied, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_changes, set_up, tear_down),
        cmocka_unit_test(test_form),
        cmocka_unit_test(test_order),
        cmocka_unit_test_setup_teardown(test_full, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
