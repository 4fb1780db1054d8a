/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the door share: trees from text, without files, and records that are opened
   again. */
#ifndef TEST_DOOR_H
#define TEST_DOOR_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "nccl_init/errno.h"
#include "nccl_init/text.h"
#include "snapshot/masked.h"
#include "sysroot/files.h"
#include "sysroot/record.h"
#include "sysroot/root.h"
#include "sysroot/tree.h"
#include <cmocka.h>

static inline int text_fd(const char *text, size_t n)
{
    int fd = memfd_create("tree", MFD_CLOEXEC);

    assert_true(fd >= 0);
    for (size_t at = 0; at < n;) {
        ssize_t done = write(fd, text + at, n - at);
        assert_true(done > 0);
        at += (size_t)done;
    }
    return fd;
}

/* Opens the content of fd as a root and closes fd. */
static inline int open_fd(struct ni_root *root, int fd, unsigned *line)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    int r = ni_root_open(path, root, line);
    close(fd);
    return r;
}

static inline int open_text(struct ni_root *root, const char *text, unsigned *line)
{
    return open_fd(root, text_fd(text, strlen(text)), line);
}

static inline struct ni_root tree_of(const char *text)
{
    struct ni_root root;
    unsigned line;

    assert_int_equal(open_text(&root, text, &line), 0);
    return root;
}

/* Ends the test after so many seconds more of its own time: a busy machine does not count. */
static inline void limit_cpu(unsigned seconds)
{
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_CPU, &limit), 0);
    limit.rlim_cur = (rlim_t)(clock() / CLOCKS_PER_SEC) + seconds;
    assert_int_equal(setrlimit(RLIMIT_CPU, &limit), 0);
}

/* All of it: what is masked then is only what the door masks. */
static inline void keep_all(void *ctx, struct ni_mask *m, const char *asked, struct ni_span content,
                            struct ni_text *ret)
{
    (void)ctx;
    (void)m;
    (void)asked;
    ni_putn(ret, content.p, content.n);
}

/* What ni_record_text gives, behind its header. */
static inline const char *written(const struct ni_root *root, bool mask)
{
    static char buf[1 << 20];
    struct ni_text text = ni_text_on(buf, sizeof(buf));

    if (mask)
        assert_int_equal(ni_masked_text(root->record, "header", keep_all, NULL, &text), 0);
    else
        assert_int_equal(ni_record_text(root->record, "header", &text), 0);
    assert_false(text.cut);
    return strchr(buf, '\n') + 1;
}

/* A root as a directory. */
#define TOP(at) (&(struct ni_dir){.root = (at), .fd = -1})

#define read_of(root, path) read_in(TOP(root), path)
#define link_of(root, path) link_in(TOP(root), path)
#define list_of(root, path) list_in(TOP(root), path)

/* The text of a file or link, or the name of the error. */
static inline const char *read_in(const struct ni_dir *dir, const char *path)
{
    static char buf[65536];
    ssize_t n = ni_read(dir, buf, sizeof(buf), "%s", path);

    return n < 0 ? ni_errno_name((int)-n) : buf;
}

static inline const char *link_in(const struct ni_dir *dir, const char *path)
{
    static char buf[NI_TREE_PATH];
    ssize_t n = ni_readlink(dir, buf, sizeof(buf), "%s", path);

    return n < 0 ? ni_errno_name((int)-n) : buf;
}

/* The names with blanks between, or the name of the error. */
static inline const char *list_in(const struct ni_dir *dir, const char *path)
{
    static struct ni_names names;
    static char buf[2 * NI_NAMES_TEXT];
    struct ni_text text = ni_text_on(buf, sizeof(buf));
    int r = ni_list(dir, &names, "%s", path);

    if (r < 0)
        return ni_errno_name(-r);
    for (unsigned i = 0; i < names.n; i++)
        ni_putf(&text, "%s%s", i > 0 ? " " : "", names.name[i]);
    return buf;
}

#endif
