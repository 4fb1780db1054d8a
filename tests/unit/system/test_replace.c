/* SPDX-License-Identifier: Apache-2.0 */
/* Replacing a file: whatever goes wrong, the old one is whole and nothing is left beside it. Each test runs in a directory of
   its own; what needs other rights or limits runs in a child. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "nccl_init/base.h"
#include "system/replace.h"
#include <cmocka.h>

static char dir[64]; /* the working directory during a test */
static char old_cwd[4096];

static int setup(void **state)
{
    const char *base = getenv("TMPDIR");
    (void)state;
    snprintf(dir, sizeof(dir), "%s/nccl-init.XXXXXX", base && strlen(base) < 40 ? base : "/tmp");
    return getcwd(old_cwd, sizeof(old_cwd)) && mkdtemp(dir) && chdir(dir) == 0 ? 0 : -1;
}

/* Calls each for every name in the working directory. */
static unsigned for_names(void (*each)(const char *name))
{
    DIR *d = opendir(".");
    const struct dirent *e;
    unsigned n = 0;
    assert_non_null(d);
    while ((e = readdir(d))) {
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) {
            n++;
            each(e->d_name);
        }
    }
    closedir(d);
    return n;
}

static void remove_name(const char *name)
{
    if (unlink(name) < 0)
        rmdir(name);
}

static void ignore_name(const char *name)
{
    (void)name;
}

static int teardown(void **state)
{
    (void)state;
    chmod(".", 0755);
    for_names(remove_name);
    return chdir(old_cwd) == 0 && rmdir(dir) == 0 ? 0 : -1;
}

static void make_file(const char *path, const char *content)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, content, strlen(content)), strlen(content));
    close(fd);
}

static bool holds(const char *path, const char *want)
{
    char buf[256];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, buf, sizeof(buf) - 1);
    close(fd);
    return n >= 0 && (size_t)n == strlen(want) && memcmp(buf, want, (size_t)n) == 0;
}

static void assert_content(const char *path, const char *want)
{
    assert_true(holds(path, want));
}

/* The directory holds exactly that many names: no temporary one. */
static void assert_names(unsigned want)
{
    assert_int_equal(for_names(ignore_name), want);
}

/* A writer as the program's: all or -errno. */
static int put(int fd, void *ctx)
{
    const char *s = ctx;
    size_t left = strlen(s);
    while (left > 0) {
        ssize_t n = write(fd, s, left);
        if (n < 0)
            return -errno;
        s += n;
        left -= (size_t)n;
    }
    return 0;
}

static int put_then_fail(int fd, void *ctx)
{
    return put(fd, ctx) < 0 ? -EIO : -EILSEQ;
}

static char new_text[] = "new\n";

/* Runs fn in a child, with its exit status as the answer: 0 good, 77 not permitted here. No assertion in there: cmocka would
   go on with the other tests in the child. */
static void in_child(int (*fn)(void))
{
    int status;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(fn());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) {
        print_message("not permitted here\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- what works ---- */

static void test_new_file(void **state)
{
    struct stat st;
    (void)state;
    mode_t old = umask(0777);
    int err = ni_replace_file("env", 0644, put, new_text);
    umask(old);
    assert_int_equal(err, 0);
    assert_content("env", "new\n");
    assert_int_equal(stat("env", &st), 0);
    assert_int_equal(st.st_mode, S_IFREG | 0644);
    assert_names(1);
}

/* Exactly that mode, no bit less and none more. */
static void test_mode(void **state)
{
    static const mode_t modes[] = {0755, 0700, 0444, 0600};
    struct stat st;
    (void)state;
    for (size_t i = 0; i < NI_COUNT(modes); i++) {
        assert_int_equal(ni_replace_file("env", modes[i], put, new_text), 0);
        assert_int_equal(stat("env", &st), 0);
        assert_int_equal(st.st_mode, S_IFREG | modes[i]);
    }
    assert_names(1);
}

static void test_replaces(void **state)
{
    struct stat st;
    char path[128];
    (void)state;
    make_file("env", "old and longer\n");
    assert_int_equal(link("env", "kept"), 0);
    snprintf(path, sizeof(path), "%s/env", dir);
    assert_int_equal(ni_replace_file(path, 0644, put, new_text), 0);
    assert_content("env", "new\n");
    assert_content("kept", "old and longer\n"); /* another file, not the same written over */
    assert_int_equal(stat("env", &st), 0);
    assert_int_equal(st.st_mode, S_IFREG | 0644);
    assert_names(2);
    assert_int_equal(ni_replace_file("./env", 0644, put, (char[]){""}), 0);
    assert_content("env", "");
}

/* While it is written the old file is in place, and the new one is nobody else's to read or inherit. */
static int look_around(int fd, void *ctx)
{
    struct stat st;
    assert_content("env", "old\n");
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_mode, S_IFREG | 0600);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    return put(fd, ctx);
}

static void test_old_until_the_end(void **state)
{
    (void)state;
    make_file("env", "old\n");
    assert_int_equal(ni_replace_file("env", 0644, look_around, new_text), 0);
    assert_content("env", "new\n");
}

static int file_in_root(void)
{
    if (chroot(".") < 0)
        return 77;
    return ni_replace_file("/env", 0644, put, new_text) == 0 ? 0 : 1;
}

static void test_file_in_root(void **state)
{
    (void)state;
    in_child(file_in_root);
    assert_content("env", "new\n");
}

/* ---- links and other kinds at the target ---- */

static void test_symlink_is_replaced(void **state)
{
    struct stat st;
    static const char *const targets[] = {"victim", "nowhere", "folder"};
    (void)state;
    make_file("victim", "precious\n");
    assert_int_equal(mkdir("folder", 0755), 0);
    for (size_t i = 0; i < NI_COUNT(targets); i++) {
        assert_int_equal(symlink(targets[i], "env"), 0);
        assert_int_equal(ni_replace_file("env", 0644, put, new_text), 0);
        assert_int_equal(lstat("env", &st), 0);
        assert_true(S_ISREG(st.st_mode));
        assert_content("env", "new\n");
        assert_content("victim", "precious\n");
        assert_names(3);
        assert_int_equal(unlink("env"), 0);
    }
}

/* Root could rename over it. */
static void test_devices_stay(void **state)
{
    struct stat st;
    (void)state;
    assert_int_equal(mkfifo("fifo", 0600), 0);
    assert_int_equal(ni_replace_file("fifo", 0644, put, new_text), -ENOTBLK);
    assert_int_equal(lstat("fifo", &st), 0);
    assert_true(S_ISFIFO(st.st_mode));
    assert_int_equal(ni_replace_file("/dev/stdout", 0755, put, new_text), -ENOTBLK); /* a program */
    assert_names(1);
}

/* A path to one of our descriptors is none that somebody planted; what is there already stays. */
static void test_streams(void **state)
{
    char path[64];
    (void)state;
    make_file("file", "before\n");
    int fd = open("file", O_WRONLY | O_APPEND | O_CLOEXEC);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    assert_int_equal(ni_replace_file(path, 0644, put, new_text), 0);
    assert_content("file", "before\nnew\n");
    assert_int_equal(ni_replace_file("/dev/fd/4000000", 0644, put, new_text), -EBADF);
    assert_true(ni_replace_file("/dev/fd/x", 0644, put, new_text) < 0);
    close(fd);
    assert_names(1);
}

static void test_directories(void **state)
{
    (void)state;
    assert_int_equal(mkdir("folder", 0755), 0);
    assert_int_equal(ni_replace_file("folder", 0644, put, new_text), -EISDIR);
    assert_int_equal(ni_replace_file("folder/", 0644, put, new_text), -EISDIR);
    assert_int_equal(ni_replace_file("env/", 0644, put, new_text), -ENOENT);
    assert_int_equal(ni_replace_file(".", 0644, put, new_text), -EISDIR);
    assert_int_equal(ni_replace_file("folder/..", 0644, put, new_text), -EISDIR);
    assert_int_equal(ni_replace_file("/", 0644, put, new_text), -EISDIR);
    assert_names(1);
}

static void test_bad_paths(void **state)
{
    static char longest[5000];
    (void)state;
    make_file("plain", "x");
    assert_int_equal(ni_replace_file("", 0644, put, new_text), -ENOENT);
    assert_int_equal(ni_replace_file("missing/env", 0644, put, new_text), -ENOENT);
    assert_int_equal(ni_replace_file("plain/env", 0644, put, new_text), -ENOTDIR);
    memset(longest, 'x', 256);
    assert_int_equal(ni_replace_file(longest, 0644, put, new_text), -ENAMETOOLONG);
    longest[255] = '\0';
    assert_int_equal(ni_replace_file(longest, 0644, put, new_text), 0);
    memset(longest, '/', sizeof(longest) - 2);
    longest[sizeof(longest) - 2] = 'x';
    assert_int_equal(ni_replace_file(longest, 0644, put, new_text), -ENAMETOOLONG);
    assert_names(2);
}

/* ---- failures half way ---- */

static void test_writer_fails(void **state)
{
    (void)state;
    make_file("env", "old\n");
    assert_int_equal(ni_replace_file("env", 0644, put_then_fail, new_text), -EILSEQ);
    assert_content("env", "old\n");
    assert_names(1);
}

static int put_and_block(int fd, void *ctx)
{
    assert_int_equal(mkdir("env", 0755), 0); /* too late for the check: rename must fail */
    return put(fd, ctx);
}

static void test_rename_fails(void **state)
{
    (void)state;
    assert_int_equal(ni_replace_file("env", 0644, put_and_block, new_text), -EISDIR);
    assert_names(1);
}

static char big_text[20000];

static int with_small_limit(void)
{
    const struct rlimit limit = {4096, 4096};
    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) < 0)
        return 77;
    return ni_replace_file("env", 0644, put, big_text) == -EFBIG ? 0 : 1;
}

static void test_file_too_big(void **state)
{
    (void)state;
    memset(big_text, 'x', sizeof(big_text) - 1);
    make_file("env", "old\n");
    in_child(with_small_limit);
    assert_content("env", "old\n");
    assert_names(1);
}

/* A file system of two pages, then the same read-only. */
static int on_full_disk(void)
{
    if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("tmpfs", dir, "tmpfs", 0, "size=8k") < 0 || chdir(dir) < 0)
        return 77;
    if (ni_replace_file("env", 0644, put, (char[]){"old\n"}) != 0)
        return 1;
    if (ni_replace_file("env", 0644, put, big_text) != -ENOSPC || !holds("env", "old\n") ||
        for_names(ignore_name) != 1)
        return 2;
    if (mount("none", dir, "none", MS_REMOUNT | MS_RDONLY, "size=8k") < 0)
        return 77;
    if (ni_replace_file("env", 0644, put, new_text) != -EROFS || !holds("env", "old\n") ||
        for_names(ignore_name) != 1)
        return 3;
    return 0;
}

static void test_full_disk(void **state)
{
    (void)state;
    memset(big_text, 'x', sizeof(big_text) - 1);
    in_child(on_full_disk);
}

static int as_nobody(void)
{
    if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
        return 77;
    int before = dup(1);
    close(before);
    if (ni_replace_file("env", 0644, put, new_text) != -EACCES)
        return 1;
    return dup(1) == before ? 0 : 2; /* no descriptor is left open */
}

static void test_directory_not_writable(void **state)
{
    (void)state;
    make_file("env", "old\n");
    assert_int_equal(chmod(".", 0555), 0);
    in_child(as_nobody);
    assert_content("env", "old\n");
    assert_names(1);
}

#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

/* ---- writing ---- */

/* Counts what comes, slowly, and leaves with 0 when it is as much as wanted. */
static void slow_reader(int fd, size_t want)
{
    const struct timespec nap = {.tv_nsec = 1000000};
    char buf[1000];
    ssize_t n;
    while ((n = read(fd, buf, sizeof(buf))) > 0) {
        want -= (size_t)n;
        nanosleep(&nap, NULL);
    }
    _exit(want == 0 ? 0 : 1);
}

/* More than a pipe holds, the pipe not blocking: nothing is lost. */
static void test_nonblocking_pipe(void **state)
{
    static const char text[50000];
    int p[2], status;
    (void)state;
    assert_int_equal(pipe2(p, O_CLOEXEC), 0);
    assert_int_equal(fcntl(p[1], F_SETFL, O_NONBLOCK), 0);
    assert_true(fcntl(p[1], F_SETPIPE_SZ, 4096) >= 4096);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        close(p[1]);
        slow_reader(p[0], sizeof(text));
    }
    assert_int_equal(ni_write_all(p[1], text, sizeof(text)), 0);
    close(p[0]);
    close(p[1]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* A write(2) is cut short by a limit, as by a disk that just fills up: no success is told. */
static void test_short_write(void **state)
{
    static const char text[5000];
    const struct rlimit limit = {4200, 4200};
    int status;
    (void)state;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        int fd = open("short", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        signal(SIGXFSZ, SIG_IGN);
        if (fd < 0 || setrlimit(RLIMIT_FSIZE, &limit) < 0)
            _exit(1);
        _exit(ni_write_all(fd, text, sizeof(text)) == -EFBIG ? 0 : 2);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(test_new_file),
        IN_DIR(test_mode),
        IN_DIR(test_replaces),
        IN_DIR(test_old_until_the_end),
        IN_DIR(test_file_in_root),
        IN_DIR(test_symlink_is_replaced),
        IN_DIR(test_devices_stay),
        IN_DIR(test_streams),
        IN_DIR(test_directories),
        IN_DIR(test_bad_paths),
        IN_DIR(test_writer_fails),
        IN_DIR(test_rename_fails),
        IN_DIR(test_file_too_big),
        IN_DIR(test_full_disk),
        IN_DIR(test_directory_not_writable),
        IN_DIR(test_nonblocking_pipe),
        IN_DIR(test_short_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
