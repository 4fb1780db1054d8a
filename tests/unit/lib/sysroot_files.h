/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the door on real files share: a directory of each test's own, and the count of
   open descriptors. */
#ifndef TEST_DOOR_FILES_H
#define TEST_DOOR_FILES_H

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "sysroot.h"
#include "sysroot/root.h"

static char base[] = "/tmp/ni-door-XXXXXX";
static int base_fd;

static inline void put_file(const char *path, const char *text, size_t n)
{
    int fd = openat(base_fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, n), n);
    close(fd);
}

static inline void put_text(const char *path, const char *text)
{
    put_file(path, text, strlen(text));
}

static inline void put_dir(const char *path)
{
    assert_int_equal(mkdirat(base_fd, path, 0755), 0);
}

static inline void put_link(const char *path, const char *target)
{
    assert_int_equal(symlinkat(target, base_fd, path), 0);
}

static inline struct ni_root dir_root(void)
{
    struct ni_root root;
    unsigned line;

    assert_int_equal(ni_root_open(base, &root, &line), 0);
    assert_int_equal(root.kind, NI_ROOT_DIR);
    return root;
}

static inline int set_up(void **state)
{
    (void)state;
    strcpy(base + sizeof(base) - 7, "XXXXXX");
    assert_non_null(mkdtemp(base));
    base_fd = open(base, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return base_fd < 0 ? -1 : 0;
}

static inline int tear_down(void **state)
{
    char command[64];

    (void)state;
    close(base_fd);
    snprintf(command, sizeof(command), "rm -rf %s", base);
    return system(command); /* NOLINT(bugprone-command-processor): a path that mkdtemp made */
}

static inline int open_fds(void)
{
    int n = 0;
    DIR *d = opendir("/proc/self/fd");

    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

#endif
