/* SPDX-License-Identifier: Apache-2.0 */
/* The faults: their names, what comes instead of what is there, and where each can happen. */
#include <errno.h>
#include <string.h>

#include "inject.h"
#include "nccl_init/base.h"
#include "nccl_init/text.h"
#include "sysroot/root.h"
#include "sysroot/tree.h"

static const char *const names[FAULTS] = {
    [FAULT_ENOENT] = "ENOENT",
    [FAULT_EACCES] = "EACCES",
    [FAULT_EIO] = "EIO",
    [FAULT_EINVAL] = "EINVAL",
    [FAULT_MIDWAY] = "EIO behind the first half",
    [FAULT_HALF] = "short: half",
    [FAULT_EMPTY] = "short: nothing",
    [FAULT_BINARY] = "garbage: binary",
    [FAULT_NUL] = "garbage: a NUL",
    [FAULT_LONG] = "garbage: 4,000 letters",
    [FAULT_FORMAT] = "garbage: wrong form",
    [FAULT_NUMBER] = "garbage: a number",
    [FAULT_SEPARATORS] = "garbage: separators",
    [FAULT_DOTS] = "garbage: `..` and `/`",
    [FAULT_BLANK] = "garbage: blanks",
    [FAULT_EXTRA] = "garbage: more names",
};

const char *fault_name(enum fault f)
{
    return names[f];
}

int fault_error(enum fault f)
{
    switch ((int)f) {
    case FAULT_ENOENT:
        return -ENOENT;
    case FAULT_EACCES:
        return -EACCES;
    case FAULT_EIO:
        return -EIO;
    case FAULT_EINVAL:
        return -EINVAL;
    default:
        return 0;
    }
}

/* ---- what comes instead ---- */

static char letters[100000];

static struct ni_span span(const char *s)
{
    return (struct ni_span){s, strlen(s)};
}

/* Half of it, and never whole lines: the last one ends before its own middle. */
static size_t half_of(struct ni_span text)
{
    size_t from = text.n / 2, to = from;

    while (from > 0 && text.p[from - 1] != '\n')
        from--;
    while (to < text.n && text.p[to] != '\n')
        to++;
    return from + (to - from) / 4; /* the lines of proc/net/route are padded */
}

/* The text with what makes it one of its kind taken out: no digit is left, and so no address. */
static struct ni_span without_digits(struct ni_span text)
{
    static char copy[1 << 17];
    size_t n = text.n < sizeof(copy) ? text.n : sizeof(copy);

    for (size_t i = 0; i < n; i++)
        copy[i] = text.p[i] >= '0' && text.p[i] <= '9' ? 'z' : text.p[i];
    return (struct ni_span){copy, n};
}

struct ni_span fault_text(enum fault f, struct ni_span value)
{
    static char buf[1 << 17];
    const bool lines = value.n > 0 && memchr(value.p, '\n', value.n);

    switch ((int)f) {
    case FAULT_HALF:
        return (struct ni_span){value.p, lines ? half_of(value) : value.n / 2};
    case FAULT_BINARY:
        return span("\x80\xff\x01\x7f\x1b[2J\xc3\x28");
    case FAULT_NUL: {
        size_t n = value.n < sizeof(buf) ? value.n : sizeof(buf) - 1;
        memcpy(buf, value.p, n);
        buf[n / 2] = '\0';
        return (struct ni_span){buf, n ? n : 1};
    }
    case FAULT_LONG:
        memset(letters, 'A', sizeof(letters));
        return (struct ni_span){letters, lines ? sizeof(letters) : 4000};
    case FAULT_FORMAT:
        return lines ? without_digits(value) : span("mlx5_9 port 1: ACTIVE, 0000:zz:00.0");
    case FAULT_NUMBER:
        return span("7");
    case FAULT_SEPARATORS:
        return span("net9,mlx5_9:1=^");
    case FAULT_DOTS:
        return span("/../../../etc/../sys/class/infiniband");
    case FAULT_BLANK:
        return span(" \t ");
    default:
        return span("");
    }
}

/* ---- listings ---- */

static void put_names(const char *const *list, ni_take_fn *take, void *ctx)
{
    for (; *list; list++)
        (void)take(ctx, *list, strlen(*list));
}

void fault_names(enum fault f, ni_take_fn *take, void *ctx)
{
    static const char *const binary[] = {"\xff\xfe\x80", "\x1b[2J", NULL};
    static const char *const form[] = {"mlx5 9", "uverbs6x", "0000:zz:00.0", "nvidiaX", NULL};
    static const char *const numbers[] = {"7", "007", NULL};
    static const char *const separators[] = {"mlx5_6,mlx5_9", "=mlx5_9", "^mlx5_9", "mlx5_9:1",
                                             NULL};
    static const char *const dots[] = {
        "a/b", "../../class/infiniband/mlx5_0", "/", "...//..", "uverbs../x", NULL};
    static const char *const blanks[] = {" ", "\n", "mlx5_9\n", "\t", NULL};
    static char big[NI_TREE_NAME];
    static const char *const long_name[] = {big, NULL};
    static const char *const *const lists[FAULTS] = {
        [FAULT_BINARY] = binary,         [FAULT_LONG] = long_name, [FAULT_FORMAT] = form,
        [FAULT_NUMBER] = numbers,        [FAULT_DOTS] = dots,      [FAULT_BLANK] = blanks,
        [FAULT_SEPARATORS] = separators,
    };

    memset(big, 'A', sizeof(big) - 1);
    if (lists[f]) {
        put_names(lists[f], take, ctx);
        return;
    }
    /* FAULT_EXTRA: all that no rule can take for a name of its own */
    put_names(binary, take, ctx);
    put_names(form, take, ctx);
    put_names(separators, take, ctx);
    put_names(dots, take, ctx);
    put_names(blanks, take, ctx);
    put_names(long_name, take, ctx);
}

/* ---- what can happen ---- */

static bool ends_with(const char *s, const char *tail)
{
    size_t n = strlen(s), t = strlen(tail);

    return n >= t && strcmp(s + n - t, tail) == 0;
}

/* A file that holds one bare number: another number is no garbage, nor is what is left of it. */
static bool is_number(const char *path)
{
    static const char *const tails[] = {"/numa_node", "/mtu", "/netns_mode", "_link_width"};

    for (unsigned i = 0; i < NI_COUNT(tails); i++)
        if (ends_with(path, tails[i]))
            return true;
    return strstr(path, "counters/") != NULL;
}

bool fault_can_happen(const struct passed *at, enum fault f)
{
    /* what is in it is what they wrote */
    bool people = ends_with(at->path, ".conf") || strcmp(at->path, "etc/passwd") == 0 ||
                  strcmp(at->path, "etc/hosts") == 0 || ends_with(at->path, "kernel/hostname");

    if (f == FAULT_ENOENT && strcmp(at->path, "dev") == 0 && at->call == CALL_EXISTS)
        return false; /* a recording without one says nothing of device nodes; a machine has it */
    if (f <= FAULT_EINVAL)
        return true;
    if (!at->gives || at->call == CALL_EXISTS || at->call == CALL_OPEN)
        return false;
    if (strcmp(at->path, "proc/self/environ") == 0)
        return false; /* of a recording only: any text may be in it */
    if (f == FAULT_MIDWAY || f == FAULT_EXTRA)
        return at->call == CALL_LIST;
    if (f == FAULT_NUL)
        return at->call != CALL_LIST;
    if (people)
        return false;
    if (is_number(at->path))
        return f != FAULT_HALF && f != FAULT_NUMBER;
    return true;
}
