/* SPDX-License-Identifier: Apache-2.0 */
/* Directory roots and "/": each system call of the door fails, or does less than was asked. The
   linker puts the functions of lib/sysroot_calls.h in the place of libc's (--wrap). */
#include "lib/sysroot_calls.h"
#include "lib/sysroot_files.h"
#include "nccl_init/base.h"
#include "nccl_init/errno.h"
#include "nccl_init/text.h"
#include "sysroot/files.h"
#include "sysroot/root.h"

/* ---- what is asked ---- */

enum ask { ASK_READ, ASK_LIST, ASK_LINK, ASK_EXISTS, ASKS };

enum { NAMES = 300 };

static const char dev[] = "sys/dev";
/* Below it; the file is longer than a page, the listing than the buffer of one getdents64. */
static const char *const asked[ASKS] = {"file", "names", "link", "file"};

static void put_node(void)
{
    static char text[3 * NI_PAGE];

    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (char)(i % 64 == 63 ? '\n' : 'a' + i / 64 % 26);
    put_dir("sys");
    put_dir("sys/dev");
    put_dir("sys/dev/names");
    put_file("sys/dev/file", text, sizeof(text));
    put_text("sys/dev/short", "1234567\n");
    put_link("sys/dev/link", "file");
    for (int i = 0; i < NAMES; i++) {
        char name[64];
        snprintf(name, sizeof(name), "sys/dev/names/a-name-that-takes-room-%d", i);
        put_text(name, "");
    }
}

/* A root of each kind, and the directory below it. */
static struct ni_root root_of(enum ni_root_kind kind)
{
    struct ni_root live = {.kind = NI_ROOT_LIVE, .fd = -1};

    return kind == NI_ROOT_LIVE ? live : dir_root();
}

static struct ni_dir dir_in(const struct ni_root *root)
{
    struct ni_dir top = ni_dir_top(root);

    return root->kind == NI_ROOT_LIVE ? ni_dir_at(&top, "%s/%s", base + 1, dev)
                                      : ni_dir_at(&top, "%s", dev);
}

/* The answer as text, or the name of the error; in a buffer of its own for each `slot`. */
static const char *answer(const struct ni_dir *dir, enum ask ask, int slot)
{
    static char kept[2][1 << 17];
    const char *path = asked[ask], *s;

    switch ((int)ask) {
    case ASK_READ:
        s = read_in(dir, path);
        break;
    case ASK_LIST:
        s = list_in(dir, path);
        break;
    case ASK_LINK:
        s = link_in(dir, path);
        break;
    default: {
        int r = ni_look_up(dir, "%s", path);
        s = r < 0 ? ni_errno_name(-r) : "is there";
    }
    }
    bool fit = ni_copy(kept[slot], sizeof(kept[slot]), s);
    fault.armed = false;
    assert_true(fit);
    return kept[slot];
}

/* ---- each call of each question fails, with each error ---- */

/* How a question is asked: of which root, and from a directory that is open. */
struct way {
    enum ni_root_kind kind;
    bool open;
};

/* One that passes, for who tries again. */
static bool is_retried(enum call call, int err)
{
    return call == CLOSE || (call == OPENAT2 && err == EAGAIN);
}

/* Asks with the armed fault; opens the directory first, if that is the way. Nothing stays open. */
static const char *ask_so(struct way way, enum ask ask, unsigned ret_open[CALLS], int slot)
{
    bool armed = fault.armed;

    fault.armed = false;
    int before = open_fds();
    struct ni_root root = root_of(way.kind);
    struct ni_dir dir = dir_in(&root);
    fault.armed = armed;
    struct ni_dir opened = way.open ? ni_dir_open(&dir, ".") : dir;
    memcpy(ret_open, calls, sizeof(calls));
    const char *s = answer(&opened, ask, slot);
    ni_dir_close(&opened);
    ni_root_close(&root);
    assert_int_equal(open_fds(), before);
    return s;
}

/* The n-th call fails once, and the first of them for ever. */
static void fail_each(struct way way, enum ask ask, enum call call, int err)
{
    unsigned opening[CALLS], plain[CALLS];
    const struct way without = {way.kind, false};

    arm(CALLS, 1, 1, 0);
    const char *good = ask_so(without, ask, opening, 0);
    memcpy(plain, calls, sizeof(calls));
    assert_int_equal(ni_errno_of(ni_span_of(good)), 0);
    for (unsigned n = 1; n < 64; n++) {
        arm(call, n, 1, err);
        const char *got = ask_so(way, ask, opening, 1);
        if (calls[call] < n) { /* so many are not made */
            assert_string_equal(got, good);
            break;
        }
        /* From a directory that could not be opened, files are walked to from the root. */
        if (n <= opening[call] || is_retried(call, err))
            assert_string_equal(got, good);
        else
            assert_string_equal(got, ni_errno_name(err)); /* and nothing before it */
    }
    arm(call, 1, FOREVER, err);
    const char *got = ask_so(way, ask, opening, 1);
    assert_in_range(calls[call], 0, 64); /* nothing is tried for ever */
    if (plain[call] == 0 || call == CLOSE)
        assert_string_equal(got, good);
    else
        assert_string_equal(got, ni_errno_name(err));
    arm(CALLS, 1, 1, 0);
    assert_string_equal(ask_so(way, ask, opening, 1), good); /* later calls work */
}

static void test_each_call(void **state)
{
    static const int errors[] = {EIO, EMFILE, ENFILE, ENOMEM, EINTR, EAGAIN, EACCES};
    static const struct way ways[] = {
        {NI_ROOT_DIR, false}, {NI_ROOT_DIR, true}, {NI_ROOT_LIVE, false}, {NI_ROOT_LIVE, true}};
    (void)state;

    put_node();
    for (unsigned w = 0; w < NI_COUNT(ways); w++)
        for (enum ask ask = 0; ask < ASKS; ask++)
            for (enum call call = 0; call < CALLS; call++)
                for (unsigned e = 0; e < NI_COUNT(errors); e++)
                    fail_each(ways[w], ask, call, errors[e]);
}

/* ---- what is tried again, and how often ---- */

static void test_tries(void **state)
{
    (void)state;

    put_node();
    struct ni_root root = dir_root();
    struct ni_dir dir = dir_in(&root);

    arm(OPENAT2, 1, 15, EAGAIN);
    assert_string_equal(answer(&dir, ASK_EXISTS, 0), "is there");
    arm(OPENAT2, 1, 15, EAGAIN);
    assert_int_equal(strlen(answer(&dir, ASK_READ, 0)), 3 * NI_PAGE - 1);
    arm(OPENAT2, 1, 16, EAGAIN);
    assert_string_equal(answer(&dir, ASK_READ, 0), "EAGAIN");
    assert_int_equal(calls[OPENAT2], 16);
    ni_root_close(&root);
}

/* ---- less than was asked for ---- */

/* One byte at a time: what is no attribute of sysfs comes whole all the same. */
static void test_short_reads(void **state)
{
    static char want[4 * NI_PAGE];
    (void)state;
    struct ni_root live = {.kind = NI_ROOT_LIVE, .fd = -1};
    char path[128], buf[8];

    put_node();
    put_dir("etc");
    assert_int_equal(linkat(base_fd, "sys/dev/file", base_fd, "etc/file", 0), 0);
    assert_int_equal(linkat(base_fd, "sys/dev/short", base_fd, "etc/short", 0), 0);
    struct ni_root root = dir_root();
    snprintf(path, sizeof(path), "%s/etc/file", base + 1);
    const struct {
        const struct ni_root *root;
        const char *path;
    } whole[] = {{&root, "etc/file"}, {&live, path}, {&live, "proc/version"}};

    for (unsigned i = 0; i < NI_COUNT(whole); i++) {
        assert_true(ni_copy(want, sizeof(want), read_of(whole[i].root, whole[i].path)));
        assert_true(strlen(want) > 8);
        arm(CALLS, 1, 1, 0);
        fault.most = 1;
        const char *got = read_of(whole[i].root, whole[i].path);
        fault.armed = false;
        assert_string_equal(got, want);
        assert_true(calls[READ] > strlen(want));
    }
    /* it just fits: all that is too much is the newline */
    arm(CALLS, 1, 1, 0);
    fault.most = 1;
    ssize_t n = ni_read(TOP(&root), buf, sizeof(buf), "etc/short");
    fault.armed = false;
    assert_int_equal(n, 7);
    assert_string_equal(buf, "1234567");
    ni_root_close(&root);
}

/* A short first read of an attribute of sysfs does not happen. fs/kernfs/file.c
   kernfs_fop_read_iter (6.8) hands an attribute to seq_read_iter (fs/seq_file.c), which lets show()
   fill a page and copies all of it that there is room for: less only where the copy itself faults,
   at a buffer that is not ours. Signals do not cut it, it does not wait between the bytes. An
   attribute has no more than a page (fs/sysfs/file.c sysfs_kf_seq_show); a binary file, whose reads
   go by pages (kernfs_file_read_iter), is read on while they come full. So the door takes a read
   shorter than a page and than the room for the last one, which halves the calls of a plan. Were
   the kernel to do otherwise, what the door gives is what came first: the rules see a text that is
   cut, as in "short: half" of docs/dev/fault-injection.md. */
static void test_short_attribute(void **state)
{
    (void)state;

    put_node();
    struct ni_root root = dir_root();
    struct ni_dir dir = dir_in(&root);
    arm(CALLS, 1, 1, 0);
    const char *got = read_of(&root, "sys/dev/short");
    fault.armed = false;
    assert_string_equal(got, "1234567");
    assert_int_equal(calls[READ], 1);
    arm(CALLS, 1, 1, 0);
    fault.most = 3;
    got = read_of(&root, "sys/dev/short");
    fault.armed = false;
    assert_string_equal(got, "123");
    assert_int_equal(calls[READ], 1);
    /* pages that come full are followed by the next */
    arm(CALLS, 1, 1, 0);
    fault.most = NI_PAGE;
    got = answer(&dir, ASK_READ, 0);
    assert_int_equal(strlen(got), 3 * NI_PAGE - 1);
    assert_int_equal(calls[READ], 4);
    ni_root_close(&root);
}

/* ---- the kernel says that a path leads out of the directory ---- */

static void test_leads_out(void **state)
{
    (void)state;
    unsigned opening[CALLS];
    const struct way from_dir = {NI_ROOT_DIR, true};

    put_node();
    arm(OPENAT2, 2, 1, EXDEV); /* the first opens it */
    const char *got = ask_so(from_dir, ASK_EXISTS, opening, 0);
    assert_string_equal(got, "is there");
    assert_int_equal(calls[OPENAT2], 3);
    arm(OPENAT2, 2, FOREVER, EXDEV);
    assert_string_equal(ask_so(from_dir, ASK_EXISTS, opening, 0), "EXDEV");
}

/* ---- a root ---- */

static int open_root(const char *name, enum ni_root_kind kind)
{
    struct ni_root root;
    char path[128];
    unsigned line;
    bool armed = fault.armed;

    snprintf(path, sizeof(path), "%s%s", base, name);
    fault.armed = false;
    int before = open_fds();
    fault.armed = armed;
    int r = ni_root_open(path, &root, &line);
    fault.armed = false;
    if (r == 0) {
        assert_int_equal(root.kind, kind);
        ni_root_close(&root);
    }
    assert_int_equal(open_fds(), before);
    return r;
}

static void test_root(void **state)
{
    static const int errors[] = {EIO, EMFILE, ENFILE, ENOMEM};
    static const enum call of_tree[] = {FSTATAT, OPENAT, READ}, of_dir[] = {FSTATAT, OPENAT2};
    (void)state;

    put_text("tree", "f sys/a 1\n");
    for (unsigned e = 0; e < NI_COUNT(errors); e++) {
        for (unsigned i = 0; i < NI_COUNT(of_tree); i++) {
            arm(of_tree[i], 1, 1, errors[e]);
            assert_int_equal(open_root("/tree", NI_ROOT_TREE), -errors[e]);
        }
        for (unsigned i = 0; i < NI_COUNT(of_dir); i++) {
            arm(of_dir[i], 1, 1, errors[e]);
            assert_int_equal(open_root("", NI_ROOT_DIR), -errors[e]);
        }
        arm(READ, 2, 1, errors[e]); /* behind the first chunk; the memory is free again */
        assert_int_equal(open_root("/tree", NI_ROOT_TREE), -errors[e]);
    }
    arm(OPENAT2, 1, FOREVER, EAGAIN);
    assert_int_equal(open_root("", NI_ROOT_DIR), -EAGAIN);
    arm(CALLS, 1, 1, 0);
    fault.most = 1;
    assert_int_equal(open_root("/tree", NI_ROOT_TREE), 0);
    /* without openat2 a tree still opens, a directory does not */
    arm(OPENAT2, 1, FOREVER, ENOSYS);
    assert_int_equal(open_root("/tree", NI_ROOT_TREE), 0);
    arm(OPENAT2, 1, FOREVER, EPERM);
    assert_int_equal(open_root("", NI_ROOT_DIR), -ENOSYS);
}

int main(void)
{
#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        IN_DIR(test_each_call),       IN_DIR(test_tries),     IN_DIR(test_short_reads),
        IN_DIR(test_short_attribute), IN_DIR(test_leads_out), IN_DIR(test_root),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
