/* SPDX-License-Identifier: Apache-2.0 */
/* The inner side of the door, replaced by the linker (--wrap): each call of the door comes
   here, is counted, and one of them fails. The product has no hook for it. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inject.h"
#include "nccl_init/text.h"
#include "sysroot/root.h"
#include "sysroot/tree.h"

/* The linker's names: __real_X is X, and who calls X gets __wrap_X. */
#define WRAPPED(type, name, ...)     \
    type __real_##name(__VA_ARGS__); \
    type __wrap_##name(__VA_ARGS__)

WRAPPED(int, ni_raw, const struct ni_dir *dir, const char *path, enum ni_access access,
        ni_take_fn *take, void *ctx);
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

/* What the tree answered to passed[i], names with a NUL behind each. A run with a fault asks the same
   in the same order but for a little: most of its answers are the next of these, and no walk through
   the tree is needed. */
static struct answer {
    int result;
    struct ni_span value;
} answers[MAX_PASSED];
static char names[1 << 22];
static size_t names_used;
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
    names_used = 0;
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

    if (index >= 0 && a.result == 0 && !ni_span_is(a.value, empty) && index > last_gid)
        last_gid = index;
    if (index > last_gid + 2 && !measuring)
        return (struct answer){.result = -ENOENT};
    return a;
}

static int keep_name(void *ctx, const char *name, size_t n)
{
    (void)ctx;
    if (n + 1 > sizeof(names) - names_used)
        abort();
    memcpy(names + names_used, name, n);
    names[names_used + n] = '\0';
    names_used += n + 1;
    return 0;
}

/* The answer to a call, from the noted ones or the tree. */
static struct answer answer_to(const struct ni_dir *dir, enum ni_access access, enum call call,
                               const char *path)
{
    enum { AHEAD = 16 };
    struct answer a = {.value = {names + names_used, 0}};
    const struct ni_entry *e = NULL;

    for (unsigned i = next; !noting && i < n_passed && i < next + AHEAD; i++) {
        if (passed[i].call == call && strcmp(passed[i].path, path + 1) == 0) {
            next = i + 1;
            return answers[i];
        }
    }
    if (call == CALL_READ || call == CALL_LINK) {
        a.result = ni_tree_get(dir->root->tree, path, access, &e);
        if (a.result == 0)
            a.value = (struct ni_span){e->value, e->len};
        a = cut_table(path, a);
    } else {
        a.result = __real_ni_raw(dir, path, access, keep_name, NULL);
        a.value.n = (size_t)(names + names_used - a.value.p);
    }
    if (noting) {
        answers[n_passed - 1] = a;
        passed[n_passed - 1].gives = a.result == 0 && call <= CALL_LIST;
    } else {
        names_used -= call == CALL_LIST ? a.value.n : 0;
    }
    return a;
}

/* ---- the call ---- */

/* A text or a target. This answers as live.c does, without asking it: a change there has to be made
   here too. */
static int give(const struct ni_dir *dir, enum ni_access access, enum call call, const char *path,
                bool hit, ni_take_fn *take, void *ctx)
{
    struct answer a = answer_to(dir, access, call, path);
    if (a.result < 0 && !hit)
        return a.result;
    struct ni_span s = hit ? fault_text(fault, a.value) : a.value;
    int r = take(ctx, s.p, s.n);
    return r == 0 && call == CALL_READ && s.n > 0 ? take(ctx, "\n", 1) : r;
}

struct pass_on {
    ni_take_fn *take;
    void *ctx;
    unsigned n, most;
};

static int some(void *ctx, const char *name, size_t n)
{
    struct pass_on *p = ctx;

    return p->n++ < p->most ? p->take(p->ctx, name, n) : 0;
}

static int give_names(const struct ni_dir *dir, const char *path, ni_take_fn *take, void *ctx)
{
    struct pass_on first = {.take = take, .ctx = ctx}, none = {.most = 0};

    if (fault == FAULT_HALF || fault == FAULT_MIDWAY) {
        (void)__real_ni_raw(dir, path, NI_ACCESS_LIST, some, &none);
        first.most = none.n / 2;
        (void)__real_ni_raw(dir, path, NI_ACCESS_LIST, some, &first);
        return fault == FAULT_MIDWAY ? -EIO : 0;
    }
    if (fault == FAULT_EXTRA)
        (void)__real_ni_raw(dir, path, NI_ACCESS_LIST, take, ctx);
    if (fault != FAULT_EMPTY)
        fault_names(fault, take, ctx);
    return 0;
}

int __wrap_ni_raw(const struct ni_dir *dir, const char *path, enum ni_access access,
                  ni_take_fn *take, void *ctx)
{
    static const enum call calls[] = {
        [NI_ACCESS_READ] = CALL_READ, [NI_ACCESS_LINK] = CALL_LINK,
        [NI_ACCESS_LIST] = CALL_LIST, [NI_ACCESS_EXISTS] = CALL_EXISTS,
        [NI_ACCESS_OPEN] = CALL_OPEN,
    };
    const enum call call = calls[access];

    if (!dir->root->tree) /* door_open */
        return __real_ni_raw(dir, path, access, take, ctx);
    const bool hit = is_hit(call, path);
    if (hit && fault_error(fault) < 0)
        return fault_error(fault);
    if (call == CALL_READ || call == CALL_LINK)
        return give(dir, access, call, path, hit, take, ctx);
    if (hit)
        return call == CALL_LIST ? give_names(dir, path, take, ctx) : 0;
    const struct answer a = answer_to(dir, access, call, path);
    int r = a.result;
    for (const char *name = a.value.p; r == 0 && name < a.value.p + a.value.n;
         name += strlen(name) + 1)
        r = take(ctx, name, strlen(name));
    return r;
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

/* Standard output, or a copy of it. */
static bool is_output(int fd)
{
    struct stat at, out;

    return fstat(fd, &at) == 0 && fstat(STDOUT_FILENO, &out) == 0 && at.st_dev == out.st_dev &&
           at.st_ino == out.st_ino;
}

/* What the program says goes nowhere, what it writes is kept. */
ssize_t __wrap_write(int fd, const void *buf, size_t n)
{
    if (fd == STDERR_FILENO)
        return (ssize_t)n;
    if (!is_output(fd))
        return __real_write(fd, buf, n);
    if (n <= sizeof(output) - output_used) {
        memcpy(output + output_used, buf, n);
        output_used += n;
    }
    return (ssize_t)n;
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
