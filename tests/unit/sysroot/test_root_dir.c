/* SPDX-License-Identifier: Apache-2.0 */
/* Directory roots and "/": nothing of the host is seen through a directory, nothing is opened that
   would notice. */
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "lib/refuse_call.h"
#include "lib/sysroot_files.h"
#include "nccl_init/base.h"
#include "nccl_init/text.h"
#include "sysroot/files.h"
#include "sysroot/root.h"

/* ---- what there is ---- */

static void test_reads(void **state)
{
    (void)state;
    char buf[9];
    int before = open_fds();

    put_dir("sys");
    put_dir("sys/dir");
    put_text("sys/seven", "1234567\n");
    put_text("sys/eight", "12345678");
    put_text("sys/nine", "123456789");
    put_text("eight", "12345678\n");
    put_text("eight+2", "12345678\n\n");
    put_text("empty", "");
    put_text("newline", "\n");
    put_file("nul", "a\0b\n", 4);
    put_link("link", "sys/seven");
    struct ni_root root = dir_root();

    assert_int_equal(ni_read(TOP(&root), buf, sizeof(buf), "sys/%s", "seven"), 7);
    assert_string_equal(buf, "1234567");
    assert_int_equal(ni_read(TOP(&root), buf, sizeof(buf), "sys/eight"), 8);
    assert_string_equal(buf, "12345678");
    assert_int_equal(ni_read(TOP(&root), buf, sizeof(buf), "eight"),
                     8); /* the newline is not counted */
    assert_int_equal(ni_read(TOP(&root), buf, sizeof(buf), "sys/nine"), -EOVERFLOW);
    assert_int_equal(ni_read(TOP(&root), buf, sizeof(buf), "eight+2"), -EOVERFLOW);
    assert_string_equal(buf, "");
    assert_int_equal(ni_read(TOP(&root), buf, 1, "newline"), 0);
    assert_string_equal(read_of(&root, "empty"), "");
    assert_string_equal(read_of(&root, "nul"), "EILSEQ");
    assert_string_equal(read_of(&root, "eight+2"), "12345678\n");
    assert_string_equal(read_of(&root, "sys/dir"), "EISDIR");
    assert_string_equal(read_of(&root, "sys/none"), "ENOENT");
    assert_string_equal(read_of(&root, "eight/x"), "ENOTDIR");
    assert_string_equal(link_of(&root, "link"), "sys/seven");
    assert_string_equal(link_of(&root, "eight"), "EINVAL");
    assert_string_equal(link_of(&root, "none"), "ENOENT");
    assert_int_equal(ni_readlink(TOP(&root), buf, sizeof(buf), "link"), -EOVERFLOW);
    assert_int_equal(ni_look_up(TOP(&root), "link"), 0);
    assert_int_equal(ni_look_up(TOP(&root), "sys/dir"), 0);
    assert_int_equal(ni_look_up(TOP(&root), "none"), -ENOENT);
    assert_int_equal(ni_openable(TOP(&root), "eight"), 0);
    assert_int_equal(ni_openable(TOP(&root), "none"), -ENOENT);
    assert_string_equal(list_of(&root, "eight"), "ENOTDIR");
    assert_string_equal(list_of(&root, "sys"), "dir eight nine seven");
    assert_string_equal(list_of(&root, "sys/dir"), "");
    ni_root_close(&root);
    assert_int_equal(open_fds(), before);
}

static void test_big_file(void **state)
{
    (void)state;
    static char text[3 * NI_PAGE], buf[4 * NI_PAGE];

    put_dir("sys");
    for (size_t n = NI_PAGE - 1; n <= sizeof(text); n += n < NI_PAGE + 1 ? 1 : NI_PAGE - 1) {
        memset(text, 'x', n);
        put_file("file", text, n);
        put_file("sys/file", text, n);
        struct ni_root root = dir_root();
        assert_int_equal(ni_read(TOP(&root), buf, sizeof(buf), "file"), n);
        assert_int_equal(ni_read(TOP(&root), buf, sizeof(buf), "sys/file"), n);
        assert_int_equal(ni_read(TOP(&root), buf, n, "sys/file"), -EOVERFLOW);
        ni_root_close(&root);
    }
}

/* ---- what there is not: the host ---- */

static void test_no_way_out(void **state)
{
    (void)state;
    char up[512] = "";

    for (int i = 0; i < 100; i++)
        strcat(up, "../");
    put_text("inside", "inside\n");
    put_dir("proc");
    put_dir("deep");
    put_dir("deep/er");
    put_link("absolute", "/proc/self/status");
    put_link("root", "/proc/self/root/proc/self/status");
    put_link("back", "/inside");
    put_link("deep/er/back", "../../../../inside");
    strcat(up, "proc/self/status");
    put_link("dots", up);
    strcpy(up + strlen(up) - strlen("proc/self/status"), "inside");
    put_link("stays", up);
    struct ni_root root = dir_root();

    assert_string_equal(read_of(&root, "absolute"), "ENOENT");
    assert_string_equal(read_of(&root, "root"), "ENOENT");
    assert_string_equal(read_of(&root, "dots"), "ENOENT");
    assert_int_equal(ni_look_up(TOP(&root), "dots"), -ENOENT);
    assert_string_equal(list_of(&root, "../../../../.."), list_of(&root, ""));
    assert_string_equal(read_of(&root, "../../../../proc/self/status"), "ENOENT");
    assert_string_equal(read_of(&root, "back"), "inside");
    assert_string_equal(read_of(&root, "stays"), "inside");
    assert_string_equal(read_of(&root, "deep/er/back"), "inside");
    ni_root_close(&root);
}

/* A procfs below the root: its links that jump somewhere lead nowhere. */
static void test_no_magic_links(void **state)
{
    (void)state;
    struct ni_root root;
    unsigned line;

    assert_int_equal(ni_root_open("//", &root, &line), 0);
    assert_int_equal(root.kind, NI_ROOT_DIR); /* only "/" itself may be acted on */
    assert_string_equal(read_of(&root, "proc/self/root/proc/self/status"), "ELOOP");
    assert_string_equal(read_of(&root, "proc/self/exe"), "ELOOP");
    assert_true(strstr(read_of(&root, "proc/self/status"), "Name:\t") != NULL);
    assert_true(strstr(link_of(&root, "proc/self/ns/net"), "net:[") != NULL);
    ni_root_close(&root);
}

/* ---- a directory that is kept open ---- */

/* Answers are those from the root, wherever links lead. */
static void test_dir_same_answers(void **state)
{
    static const char *const below[] = {
        "ports/1/state",
        "ports/1/none",
        "ports//1/state",
        "up/class",
        "home/class",
        "in/state",
        "out",
        "out/none",
        "loop",
        "in",
        "../10/state",
        "up/../dev/10/state",
        "../../class",
        ".",
        "..",
        "ports",
    };
    (void)state;
    char path[128], want[256];
    int before = open_fds();

    put_dir("sys");
    put_dir("sys/dev");
    put_dir("sys/dev/1");
    put_dir("sys/dev/10");
    put_dir("sys/dev/1/ports");
    put_dir("sys/dev/1/ports/1");
    put_text("sys/class", "of sys\n");
    put_text("sys/dev/1/ports/1/state", "of 1\n");
    put_text("sys/dev/10/state", "of 10\n");
    put_link("sys/dev/1/up", "../..");  /* out of the directory, within the root */
    put_link("sys/dev/1/home", "/sys"); /* the same, absolute */
    put_link("sys/dev/1/in", "ports/../ports/1");
    put_link("sys/dev/1/out", "../../../../../../../etc/hostname"); /* out of the root */
    put_link("sys/dev/1/loop", "loop");
    struct ni_root root = dir_root(), live = {.kind = NI_ROOT_LIVE, .fd = -1};
    struct ni_dir top = ni_dir_top(&root), host = ni_dir_top(&live);
    struct ni_dir base_dir = ni_dir_at(&host, "%s", base + 1);
    struct ni_dir from[] = {ni_dir_open(&top, "sys/dev/1"), ni_dir_open(&base_dir, "sys/dev/1")};

    assert_int_equal(open_fds(), before + 3);
    for (size_t d = 0; d < NI_COUNT(from); d++) {
        const struct ni_dir *whole = d == 0 ? &top : &base_dir, *dir = &from[d];
        for (size_t i = 0; i < NI_COUNT(below); i++) {
            snprintf(path, sizeof(path), "sys/dev/1/%s", below[i]);
            ni_copy(want, sizeof(want), read_in(whole, path));
            assert_string_equal(read_in(dir, below[i]), want);
            ni_copy(want, sizeof(want), link_in(whole, path));
            assert_string_equal(link_in(dir, below[i]), want);
            ni_copy(want, sizeof(want), list_in(whole, path));
            assert_string_equal(list_in(dir, below[i]), want);
            assert_int_equal(ni_look_up(dir, "%s", below[i]), ni_look_up(whole, "%s", path));
        }
        struct ni_dir port = ni_dir_at(dir, "ports/%d", 1), none = ni_dir_open(dir, "none");
        assert_string_equal(read_in(&port, "state"), "of 1");
        assert_string_equal(list_in(&port, "."), "state");
        assert_int_equal(port.fd, dir->fd);
        /* one that is not there: its files tell */
        assert_true(none.fd < 0);
        assert_string_equal(read_in(&none, "state"), "ENOENT");
        assert_string_equal(read_in(&none, "../ports/1/state"), "ENOENT");
        ni_dir_close(&none);
        ni_dir_close(&from[d]);
    }
    ni_root_close(&root);
    assert_int_equal(open_fds(), before);
}

/* What does not fit is no other path. */
static void test_dir_path_too_long(void **state)
{
    (void)state;
    char name[NI_PATH];
    struct ni_root root = dir_root();
    struct ni_dir top = ni_dir_top(&root);

    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    for (int slash = 200; slash < NI_PATH; slash += 200)
        name[slash] = '/';
    struct ni_dir fits = ni_dir_open(&top, "%s", name), cut = ni_dir_open(&top, "%sx", name);
    struct ni_dir below = ni_dir_at(&cut, "x");
    assert_string_equal(list_in(&top, name), "ENOENT");
    assert_string_equal(list_in(&fits, "x"), "ENAMETOOLONG");
    assert_string_equal(list_in(&cut, "."), "ENAMETOOLONG");
    assert_string_equal(read_in(&below, "x"), "ENAMETOOLONG");
    ni_root_close(&root);
}

static void test_no_devices(void **state)
{
    (void)state;
    assert_int_equal(mkfifoat(base_fd, "fifo", 0644), 0);
    put_dir("sys");
    assert_int_equal(mkfifoat(base_fd, "sys/fifo", 0644), 0);
    bool device = mknodat(base_fd, "device", S_IFCHR | 0644, makedev(1, 5)) == 0; /* zero */
    device = device && mknodat(base_fd, "sys/device", S_IFCHR | 0644, makedev(1, 5)) == 0;
    int before = open_fds();
    struct ni_root root = dir_root();

    assert_string_equal(read_of(&root, "fifo"), "ENXIO"); /* and does not wait */
    assert_string_equal(read_of(&root, "sys/fifo"), "ENXIO");
    assert_string_equal(list_of(&root, "fifo"), "ENOTDIR");
    assert_int_equal(ni_look_up(TOP(&root), "fifo"), 0);
    if (device) {
        assert_string_equal(read_of(&root, "device"), "ENXIO");
        assert_string_equal(read_of(&root, "sys/device"), "ENXIO");
        assert_int_equal(ni_look_up(TOP(&root), "device"), 0);
    }
    ni_root_close(&root);
    assert_int_equal(open_fds(), before);
}

/* ---- what is no root ---- */

static void test_no_root(void **state)
{
    (void)state;
    char path[64];
    struct ni_root root;
    unsigned line = 7;
    int before = open_fds();

    assert_int_equal(mkfifoat(base_fd, "fifo", 0644), 0);
    put_text("text", "f a 1\nwhat\n");
    snprintf(path, sizeof(path), "%s/none", base);
    assert_int_equal(ni_root_open(path, &root, &line), -ENOENT);
    assert_int_equal(line, 0);
    snprintf(path, sizeof(path), "%s/fifo", base);
    assert_int_equal(ni_root_open(path, &root, &line), -ENXIO);
    assert_int_equal(ni_root_open("/dev/null", &root, &line), -ENXIO);
    snprintf(path, sizeof(path), "%s/text", base);
    assert_int_equal(ni_root_open(path, &root, &line), -EINVAL);
    assert_int_equal(line, 2);
    assert_int_equal(open_fds(), before);
}

/* In a child whose filter refuses openat2 with `err`: the exit status is what opening the directory
   gave. */
static int open_without_openat2(int err)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        struct ni_root root;
        unsigned line;

        if (!refuse_call(437, err))
            _exit(255);
        _exit(-ni_root_open(base, &root, &line));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_no_openat2(void **state)
{
    (void)state;
    if (open_without_openat2(0) == 255)
        skip();
    assert_int_equal(open_without_openat2(ENOSYS), ENOSYS);
    assert_int_equal(open_without_openat2(EPERM), ENOSYS);
}

/* ---- "/" ---- */

static void test_live(void **state)
{
    (void)state;
    char path[64];
    struct ni_root root;
    unsigned line;
    int before = open_fds();

    assert_int_equal(ni_root_open("/", &root, &line), 0);
    assert_int_equal(root.kind, NI_ROOT_LIVE);
    assert_true(strstr(read_of(&root, "proc/self/status"), "Name:\t") != NULL);
    assert_true(strstr(read_of(&root, "proc/self/limits"), "Max locked memory") != NULL);
    assert_true(strstr(list_of(&root, "proc/self/ns"), "net") != NULL);
    assert_string_equal(read_of(&root, "proc/self"), "EISDIR");
    assert_string_equal(read_of(&root, "dev/zero"), "ENXIO");
    assert_int_equal(ni_look_up(TOP(&root), "dev/null"), 0);
    assert_int_equal(ni_openable(TOP(&root), "dev/null"), 0);
    assert_int_equal(ni_openable(TOP(&root), "dev/nothing"), -ENOENT);
    assert_int_equal(ni_look_up(TOP(&root), "proc/self/nothing"), -ENOENT);

    /* What is in a pipe is for the program that comes after us. */
    int pipes[2];
    struct ni_dir named = ni_dir_top(&root);
    named.named = true;
    assert_int_equal(pipe(pipes), 0);
    assert_int_equal(write(pipes[1], "for NCCL\n", 9), 9);
    snprintf(path, sizeof(path), "dev/fd/%d", pipes[0]);
    assert_string_equal(read_in(&named, path), "ENXIO");
    snprintf(path, sizeof(path), "proc/self/fd/%d", pipes[0]);
    assert_string_equal(read_in(&named, path), "ENXIO");
    close(pipes[0]);
    close(pipes[1]);

    snprintf(path, sizeof(path), "%s/real", base);
    put_file("real", "x", 1);
    put_link("to-real", "real");
    assert_true(ni_is_at(TOP(&root), path, "%s/../%s/real", base + 1, strrchr(base, '/') + 1));
    assert_true(ni_is_at(TOP(&root), path, "%s/to-real", base + 1));
    assert_false(ni_is_at(TOP(&root), path, "%s", base + 1));
    assert_false(ni_is_at(TOP(&root), path, "%s/none", base + 1));
    snprintf(path, sizeof(path), "%s/to-real", base); /* the link, and not what it leads to */
    assert_true(ni_is_at(TOP(&root), path, "%s/to-real", base + 1));
    assert_false(ni_is_at(TOP(&root), path, "%s/real", base + 1));
    ni_root_close(&root);
    assert_int_equal(open_fds(), before);
}

int main(void)
{
#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        IN_DIR(test_reads),          IN_DIR(test_big_file),         IN_DIR(test_no_way_out),
        IN_DIR(test_no_magic_links), IN_DIR(test_dir_same_answers), IN_DIR(test_dir_path_too_long),
        IN_DIR(test_no_devices),     IN_DIR(test_no_root),          IN_DIR(test_no_openat2),
        IN_DIR(test_live),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
