/* SPDX-License-Identifier: Apache-2.0 */
/* The inner side of the door, replaced by the linker (--wrap): each call of the door comes
   here, is counted, and one of them fails. The product has no hook for it. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "inject.h"

/* The linker's names: __real_X is X, and who calls X gets __wrap_X. */
#define WRAPPED(type, name, ...)     \
    type __real_##name(__VA_ARGS__); \
    type __wrap_##name(__VA_ARGS__)

WRAPPED(ssize_t, ni_raw_read, const struct ni_dir *dir, const char *path, char *buf, size_t cap);
WRAPPED(ssize_t, ni_raw_readlink, const struct ni_dir *dir, const char *path, char *buf,
        size_t cap);
WRAPPED(int, ni_raw_exists, const struct ni_dir *dir, const char *path, bool *ret_dir);
WRAPPED(int, ni_raw_openable, const struct ni_dir *dir, const char *path);
WRAPPED(int, ni_raw_lines, const struct ni_dir *dir, const char *path, struct ni_liner *l);
WRAPPED(int, ni_raw_list, const struct ni_dir *dir, const char *path, ni_name_fn *name, void *ctx);
WRAPPED(int, ni_root_open, const char *path, struct ni_root *ret, unsigned *ret_line);
WRAPPED(void, ni_root_close, struct ni_root *r);
WRAPPED(ssize_t, write, int fd, const void *buf, size_t n);
WRAPPED(int, close, int fd);
WRAPPED(int, poll, struct pollfd *p, nfds_t n, int ms);

static struct ni_root root; /* opened once: parsing is no read of a plan */
static struct passed passed[MAX_PASSED];
static char paths[MAX_PASSED * 80];
static size_t paths_used;
static unsigned n_passed, count, target;
static bool noting, failed;
static enum fault fault;
static char output[1 << 16];
static size_t output_used;

/* What the tree answered to passed[i]. A run with a fault asks the same in the same order but for a
   little: most of its answers are the next of these, and no walk through the tree is needed. */
static struct answer {
    int err;
    struct ni_span value;
} answers[MAX_PASSED];
static unsigned next;
static long last_gid; /* the highest index of a GID that is in use, of all tables */
static bool measuring;

/* ---- counting ---- */

static void start(void)
{
    count = 0;
    next = 0;
    failed = false;
    output_used = 0;
}

void door_note(void)
{
    start();
    measuring = false;
    noting = true;
    n_passed = 0;
    paths_used = 0;
}

void door_measure(void)
{
    door_note();
    last_gid = 0;
    measuring = true;
}

void door_fail(unsigned n, enum fault f)
{
    start();
    noting = false;
    target = n;
    fault = f;
}

const struct passed *door_passed(unsigned *ret_n)
{
    *ret_n = n_passed;
    return passed;
}

bool door_failed(void)
{
    return failed;
}

struct ni_span door_output(void)
{
    return (struct ni_span){output, output_used};
}

/* Whether this call is the one that fails. */
static bool is_hit(enum call call, const char *path)
{
    size_t n = strlen(path);

    if (noting) {
        if (n_passed == MAX_PASSED || n >= sizeof(paths) - paths_used)
            abort();
        memcpy(paths + paths_used, path, n + 1);
        passed[n_passed++] = (struct passed){call, paths + paths_used + 1, false};
        paths_used += n + 1;
        return false;
    }
    failed = failed || count == target;
    return count++ == target;
}

/* The index of "ports/P/gids/INDEX"; -1: another path. */
static long gid_index(const char *path)
{
    const char *gids = strstr(path, "/gids/");

    return gids && strstr(path, "/ports/") ? strtol(gids + 6, NULL, 10) : -1;
}

/* Up to 1,024 empty entries stand behind the last in use, and a look at one is like a look at the
   next: the tables of all runs end two behind it. */
static struct answer cut_table(const char *path, struct answer a)
{
    static const char empty[] = "0000:0000:0000:0000:0000:0000:0000:0000";
    long index = gid_index(path);

    if (index >= 0 && a.err == 0 && !ni_span_is(a.value, empty) && index > last_gid)
        last_gid = index;
    if (index > last_gid + 2 && !measuring)
        return (struct answer){.err = -ENOENT};
    return a;
}

/* The answer to a read or readlink, from the noted ones or the tree. */
static struct answer answer_to(const struct ni_tree *t, enum call call, const char *path)
{
    enum { AHEAD = 16 };
    struct answer a = {0};
    const struct ni_entry *e = NULL;

    for (unsigned i = next; !noting && i < n_passed && i < next + AHEAD; i++) {
        if (passed[i].call == call && strcmp(passed[i].path, path + 1) == 0) {
            next = i + 1;
            return answers[i];
        }
    }
    a.err = ni_tree_get(t, path, call == CALL_LINK ? NI_ACCESS_LINK : NI_ACCESS_READ, &e);
    if (a.err == 0)
        a.value = (struct ni_span){e->value, e->len};
    a = cut_table(path, a);
    if (noting) {
        answers[n_passed - 1] = a;
        passed[n_passed - 1].gives = a.err == 0;
    }
    return a;
}

/* ---- one thing each: texts, targets, whether it is there ---- */

static ssize_t give(const struct ni_tree *t, enum call call, const char *path, char *buf,
                    size_t cap)
{
    bool hit = is_hit(call, path);

    if (hit && fault_error(fault) < 0)
        return fault_error(fault);
    struct answer a = answer_to(t, call, path);
    if (a.err < 0 && !hit)
        return a.err;
    struct ni_span s = hit ? fault_text(fault, a.value) : a.value;
    if (s.n >= cap)
        return -EOVERFLOW;
    memcpy(buf, s.p, s.n);
    return (ssize_t)s.n;
}

/* These two answer as live.c does, without asking it: a change there has to be made here too. */
ssize_t __wrap_ni_raw_read(const struct ni_dir *dir, const char *path, char *buf, size_t cap)
{
    return give(dir->root->tree, CALL_READ, path, buf, cap);
}

ssize_t __wrap_ni_raw_readlink(const struct ni_dir *dir, const char *path, char *buf, size_t cap)
{
    return give(dir->root->tree, CALL_LINK, path, buf, cap);
}

int __wrap_ni_raw_exists(const struct ni_dir *dir, const char *path, bool *ret_dir)
{
    if (is_hit(CALL_EXISTS, path))
        return fault_error(fault);
    return __real_ni_raw_exists(dir, path, ret_dir);
}

int __wrap_ni_raw_openable(const struct ni_dir *dir, const char *path)
{
    if (is_hit(CALL_OPEN, path))
        return fault_error(fault);
    return __real_ni_raw_openable(dir, path);
}

static struct ni_span text_of(const struct ni_tree *t, const char *path)
{
    const struct ni_entry *e = NULL;

    if (ni_tree_find(t, path, true, &e) < 0 || !e || e->kind != NI_ENTRY_FILE)
        return (struct ni_span){"", 0};
    return (struct ni_span){e->value, e->len};
}

int __wrap_ni_raw_lines(const struct ni_dir *dir, const char *path, struct ni_liner *l)
{
    if (!is_hit(CALL_LINES, path)) {
        int r = __real_ni_raw_lines(dir, path, l);
        if (noting)
            passed[n_passed - 1].gives = r == 0;
        return r;
    }
    if (fault_error(fault) < 0)
        return fault_error(fault);
    struct ni_span lines = fault_lines(fault, text_of(dir->root->tree, path));
    int r = ni_liner_feed(l, lines.p, lines.n);
    return fault == FAULT_MIDWAY ? -EIO : r;
}

/* ---- listings ---- */

struct pass_on {
    ni_name_fn *name;
    void *ctx;
    unsigned n, most;
};

static void some(void *ctx, const char *name)
{
    struct pass_on *p = ctx;

    if (p->n++ < p->most)
        p->name(p->ctx, name);
}

int __wrap_ni_raw_list(const struct ni_dir *dir, const char *path, ni_name_fn *name, void *ctx)
{
    struct pass_on first = {.name = name, .ctx = ctx}, none = {.most = 0};

    if (!is_hit(CALL_LIST, path)) {
        int r = __real_ni_raw_list(dir, path, name, ctx);
        if (noting)
            passed[n_passed - 1].gives = r == 0;
        return r;
    }
    if (fault_error(fault) < 0)
        return fault_error(fault);
    if (fault == FAULT_HALF || fault == FAULT_MIDWAY) {
        (void)__real_ni_raw_list(dir, path, some, &none);
        first.most = none.n / 2;
        (void)__real_ni_raw_list(dir, path, some, &first);
        return fault == FAULT_MIDWAY ? -EIO : 0;
    }
    if (fault == FAULT_EXTRA)
        (void)__real_ni_raw_list(dir, path, name, ctx);
    if (fault != FAULT_EMPTY)
        fault_names(fault, name, ctx);
    return 0;
}

/* ---- the rest of the world ---- */

int door_open(const char *tree)
{
    unsigned line;

    return __real_ni_root_open(tree, &root, &line);
}

int __wrap_ni_root_open(const char *path, struct ni_root *ret, unsigned *ret_line)
{
    (void)path;
    *ret_line = 0;
    *ret = root;
    return 0;
}

void __wrap_ni_root_close(struct ni_root *r)
{
    *r = (struct ni_root){.fd = -1};
}

/* What the program says goes nowhere, what it writes is kept. */
ssize_t __wrap_write(int fd, const void *buf, size_t n)
{
    if (fd == STDOUT_FILENO && n <= sizeof(output) - output_used) {
        memcpy(output + output_used, buf, n);
        output_used += n;
    }
    return fd == STDOUT_FILENO || fd == STDERR_FILENO ? (ssize_t)n : __real_write(fd, buf, n);
}

int __wrap_close(int fd)
{
    return fd == STDOUT_FILENO ? 0 : __real_close(fd);
}

int __wrap_poll(struct pollfd *p, nfds_t n, int ms)
{
    (void)ms;
    for (nfds_t i = 0; i < n; i++)
        p[i].revents = POLLOUT;
    return (int)n;
}
