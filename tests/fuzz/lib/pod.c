/* SPDX-License-Identifier: Apache-2.0 */
#include "pod.h"

#include "cli/args.h"
#include "cli/context.h"
#include "cli/flow.h"
#include "cli/option.h"
#include "cli/program.h"
#include "doctor/checks.h"
#include "main.h"
#include "nccl_init/number.h"
#include "nccl_init/text.h"
#include "sysroot/root.h"
#include "sysroot/tree.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MAX_RANGED = 20000 };

struct pod *pod_new(enum pod_slot slot)
{
    static struct pod *pods[2];
    struct pod *pod = pods[slot];

    /* Pages mapped anew are zero: megabytes need not be written for the few pages that were used. */
    pod = mmap(pod, sizeof(*pod), PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (pod ? MAP_FIXED : 0), -1, 0);
    FUZZ_CHECK(pod != MAP_FAILED, "no memory for a pod");
    pods[slot] = pod;
    ni_context_init(&pod->ctx, &ni_main_program, pod->entry);
    pod->ctx.options.root = "pod";
    pod->given = pod->ctx.options;
    pod->ctx.stderr_dead = true;
    pod->ctx.verb = NI_VERB_DOCTOR;
    pod->ctx.root = (struct ni_root){.kind = NI_ROOT_TREE, .fd = -1};
    pod->ctx.opened = true;
    return pod;
}

void pod_free_entries(struct pod *pod)
{
    for (unsigned i = 0; i < pod->n_entry; i++)
        free(pod->entry[i]);
    pod->n_entry = 0;
}

void pod_free(struct pod *pod)
{
    pod_free_entries(pod);
    for (unsigned i = 0; i < pod->n_words; i++)
        free(pod->words[i]);
    pod->n_words = 0;
    ni_root_close(&pod->ctx.root);
}

bool pod_env(struct pod *pod, const char *entry, size_t n)
{
    if (pod->n_entry == POD_ENTRIES)
        return false;
    pod->entry[pod->n_entry++] = fuzz_text(entry, n);
    return true;
}

/* ---- reading ---- */

static bool read_option(struct pod *pod, struct ni_span line)
{
    char *argv[] = {NULL, NULL};

    if (memchr(line.p, '\0', line.n) || pod->n_words == POD_WORDS)
        return false;
    argv[0] = pod->words[pod->n_words++] = pod_copy(line.p, line.n); /* options point into it */
    if (ni_args_parse(&pod->ctx, argv) != 0)
        return false;
    pod->given = pod->ctx.options;
    pod->taken = pod->ctx.taken;
    /* what would be a file of this machine */
    return !pod->ctx.options.output && strcmp(pod->ctx.options.root, "pod") == 0;
}

static void read_verb(struct pod *pod, struct ni_span name)
{
    const struct ni_verb *verb = ni_verb_named(&ni_main_program, name);

    if (verb && verb->bit != NI_VERB_INSTALL)
        pod->ctx.verb = verb->bit;
}

/* `\n` becomes a line end. */
static bool read_entry(struct pod *pod, struct ni_span line)
{
    char *copy = malloc(line.n + 1);
    size_t n = 0;

    FUZZ_CHECK(copy, "no memory");
    for (size_t i = 0; i < line.n; i++) {
        bool end = line.p[i] == '\\' && i + 1 < line.n && line.p[i + 1] == 'n';
        copy[n++] = end ? '\n' : line.p[i];
        i += end;
    }
    bool room = pod_env(pod, copy, n);
    free(copy);
    return room;
}

/* How many files the ranges of a line stand for. */
static size_t ranged(struct ni_span line)
{
    const char *open = memchr(line.p, '{', line.n), *end = line.p + line.n;
    uint64_t from, to;

    if (!open)
        return 0;
    const char *dots = memchr(open, '.', (size_t)(end - open));
    const char *close = memchr(open, '}', (size_t)(end - open));
    if (!dots || !close || close < dots + 2 ||
        ni_parse_u64((struct ni_span){open + 1, (size_t)(dots - open - 1)}, UINT32_MAX, &from) ||
        ni_parse_u64((struct ni_span){dots + 2, (size_t)(close - dots - 2)}, UINT32_MAX, &to))
        return 0;
    return to >= from && to - from < 65536 ? (size_t)(to - from) : 0;
}

static bool is_tree_line(struct ni_span line)
{
    return line.n == 0 || line.p[0] == '#' ||
           (line.n > 1 && line.p[1] == ' ' && strchr("dlfe", line.p[0]));
}

/* A range in a `d` line counts again for each line below it. */
static size_t cost_of(struct ni_span line, size_t *below)
{
    size_t n = ranged(line);

    if (line.n > 1 && line.p[0] == 'd')
        *below = n;
    return n + *below;
}

size_t fuzz_tree_cost(const char *text, size_t n)
{
    struct fuzz_input in = {text, n};
    struct ni_span line;
    size_t cost = 0, below = 0;

    while (fuzz_piece(&in, '\n', &line))
        cost += cost_of(line, &below);
    return cost;
}

bool pod_read(struct pod *pod, const uint8_t *data, size_t size)
{
    struct fuzz_input in = {(const char *)data, size};
    struct ni_span line;
    bool good = true;
    size_t n = 0;
    unsigned bad;

    if (size > FUZZ_MAX || fuzz_tree_cost(in.p, in.n) > MAX_RANGED)
        return false;
    pod->ctx.root.tree = calloc(1, sizeof(*pod->ctx.root.tree));
    char *text = malloc(size + 2);
    FUZZ_CHECK(pod->ctx.root.tree && text, "no memory");
    while (good && fuzz_piece(&in, '\n', &line)) {
        if (is_tree_line(line)) {
            memcpy(text + n, line.p, line.n);
            text[n + line.n] = '\n';
            n += line.n + 1;
        } else if (line.n > 1 && memcmp(line.p, "--", 2) == 0) { /* a span: no NUL ends it */
            good = read_option(pod, line);
        } else if (line.p[0] == '@') {
            read_verb(pod, (struct ni_span){line.p + 1, line.n - 1});
        } else {
            good = read_entry(pod, line);
        }
    }
    pod->entry[pod->n_entry] = NULL;
    (void)ni_tree_parse(pod->ctx.root.tree, text, n, &bad); /* as far as it goes */
    free(text);
    return good;
}

void pod_share(struct pod *pod, const struct pod *from)
{
    pod->given = from->given;
    pod->taken = from->taken;
    pod->ctx.verb = from->ctx.verb;
    pod->ctx.root = from->ctx.root;
    memcpy(pod->entry, from->entry, sizeof(pod->entry[0]) * (from->n_entry + 1));
}

/* ---- another order ---- */

static size_t name_len(const char *entry)
{
    return strcspn(entry, "=") + 1; /* with the '=', or the NUL */
}

void pod_reverse_env(struct pod *pod)
{
    char *was[POD_ENTRIES + 1];
    unsigned n = 0, done = 0;

    for (; pod->entry[n]; n++)
        was[n] = pod->entry[n];
    for (unsigned i = n; i-- > 0;) {
        bool again = false;
        for (unsigned k = i + 1; k < n && !again; k++)
            again = strncmp(was[k], was[i], name_len(was[i])) == 0;
        for (unsigned k = 0; k <= i && !again; k++)
            if (strncmp(was[k], was[i], name_len(was[i])) == 0)
                pod->entry[done++] = was[k];
    }
    FUZZ_CHECK(done == n, "%u of %u entries", done, n);
}

/* ---- deciding ---- */

void pod_decide(struct pod *pod)
{
    struct ni_context *ctx = &pod->ctx;

    ctx->options = pod->given;
    ctx->taken = pod->taken;
    (void)ni_args_env(ctx, &ctx->env, NI_ENV_RECORDED);
    ni_flow_decide(ctx);
    if (ctx->verb == NI_VERB_DOCTOR)
        ni_diagnose(&ctx->work, &pod->diagnosis);
}

char *pod_copy(const char *s, size_t n)
{
    char *copy = malloc(n + 1);

    FUZZ_CHECK(copy, "no memory for %zu bytes", n);
    memcpy(copy, s, n);
    copy[n] = '\0';
    return copy;
}

struct ni_root pod_tree(const char *text, size_t n, int *ret_err, unsigned *ret_line)
{
    struct ni_root root = {.kind = NI_ROOT_TREE, .fd = -1};

    char *copy = pod_copy(text, n);
    root.tree = calloc(1, sizeof(*root.tree));
    FUZZ_CHECK(root.tree, "no memory for a tree");
    *ret_line = 0;
    *ret_err = ni_tree_parse(root.tree, copy, n, ret_line);
    free(copy);
    return root;
}
