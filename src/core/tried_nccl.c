/* SPDX-License-Identifier: Apache-2.0 */
/* What the helper says of the image's NCCL. */
#include "nccl_init/tried_nccl.h"

#include <errno.h>
#include <string.h>

#include "nccl_init/base.h"
#include "nccl_init/number.h"
#include "nccl_init/text.h"

static const char *const steps[NI_NCCL_STEPS] = {
    [NI_NCCL_LOAD] = "load", [NI_NCCL_GPU] = "gpu",         [NI_NCCL_MEMORY] = "memory",
    [NI_NCCL_ID] = "id",     [NI_NCCL_JOIN] = "join",       [NI_NCCL_CONNECT] = "connect",
    [NI_NCCL_SUM] = "sum",   [NI_NCCL_COMPARE] = "compare", [NI_NCCL_LEAVE] = "leave",
};

const char *ni_nccl_step_text(enum ni_nccl_step step)
{
    return steps[step];
}

static bool take_number(const char **rest, uint64_t max, uint64_t *ret)
{
    struct ni_span word;

    return ni_word(rest, &word) && ni_parse_u64(word, max, ret) == 0;
}

/* Copies the rest of a line once. */
static int take_text(const char *rest, char *to, size_t cap)
{
    const struct ni_span text = ni_trim(ni_span_of(rest));

    if (text.n == 0)
        return -EINVAL;
    if (to[0] == '\0') /* both ranks say the same */
        (void)ni_copyn(to, cap, text.p, text.n < cap ? text.n : cap - 1);
    return 0;
}

static int take_library(const char *rest, unsigned n, struct ni_tried_nccl *t)
{
    uint64_t gpu, version;

    if (!take_number(&rest, n - 1, &gpu) || !take_number(&rest, 999999, &version))
        return -EINVAL;
    t->version = (int)version;
    return take_text(rest, t->library, sizeof(t->library));
}

/* Takes the step of a line, which must be the rank's next one. */
static int take_step(const char **rest, const struct ni_nccl_rank *x)
{
    struct ni_span word;

    if (x->failed || x->died != 0 || x->stopped || x->done == NI_NCCL_STEPS ||
        !ni_word(rest, &word) || !ni_span_is(word, steps[x->done]))
        return -EINVAL;
    return 0;
}

static int take_failed(const char *rest, struct ni_nccl_rank *x)
{
    struct ni_span of;
    uint64_t err;

    if (take_step(&rest, x) < 0 || !ni_word(&rest, &of) || !ni_is_name(of, sizeof(x->of)) ||
        !take_number(&rest, 99999, &err) || err == 0)
        return -EINVAL;
    (void)ni_copyn(x->of, sizeof(x->of), of.p, of.n);
    x->failed = true;
    x->err = (int)err;
    return 0;
}

static int take_done(const char *rest, struct ni_nccl_rank *x)
{
    uint64_t us;

    if (!x->begun || take_step(&rest, x) < 0 || !take_number(&rest, INT32_MAX, &us))
        return -EINVAL;
    x->us[x->done] = (int64_t)us;
    x->done++;
    x->begun = false;
    return 0;
}

/* Takes a line about a rank, `what` it is about and the rest. */
static int take_rank(struct ni_span what, const char *rest, struct ni_nccl_rank *x)
{
    uint64_t value;

    if (ni_span_is(what, "at")) {
        if (x->begun || take_step(&rest, x) < 0)
            return -EINVAL;
        x->begun = true;
        return 0;
    }
    if (ni_span_is(what, "done"))
        return take_done(rest, x);
    if (ni_span_is(what, "failed"))
        return take_failed(rest, x);
    if (ni_span_is(what, "wrong")) {
        if (x->wrong > 0 || x->done != NI_NCCL_COMPARE ||
            !take_number(&rest, NI_NCCL_BYTES, &x->wrong) ||
            !take_number(&rest, NI_NCCL_BYTES, &x->first) || x->wrong == 0)
            return -EINVAL;
        return 0;
    }
    if (ni_span_is(what, "died")) {
        if (x->died != 0 || x->stopped || !take_number(&rest, 64, &value) || value == 0)
            return -EINVAL;
        x->died = (int)value;
        return 0;
    }
    if (!ni_span_is(what, "stopped") || x->stopped || x->died != 0)
        return -EINVAL;
    x->stopped = true;
    return 0;
}

static int take_line(struct ni_span line, unsigned n, struct ni_tried_nccl *t, bool *versioned)
{
    char text[NI_TRIED_TEXT * 4];
    const char *rest = text;
    struct ni_span word;
    uint64_t gpu, rank;

    if (t->whole || memchr(line.p, '\0', line.n) || !ni_copyn(text, sizeof(text), line.p, line.n) ||
        !ni_word(&rest, &word))
        return -EINVAL;
    if (ni_span_is(word, "version") && !*versioned) {
        *versioned = true;
        return 0;
    }
    if (!*versioned)
        return -EINVAL;
    if (ni_span_is(word, "library"))
        return take_library(rest, n, t);
    if (ni_span_is(word, "unloaded"))
        return take_text(rest, t->unloaded, sizeof(t->unloaded));
    if (ni_span_is(word, "end")) {
        t->whole = true;
        return 0;
    }
    if (!take_number(&rest, n - 1, &gpu))
        return -EINVAL;
    if (ni_span_is(word, "cut")) {
        t->cut[gpu] = true;
        return 0;
    }
    if (!take_number(&rest, NI_NCCL_RANKS - 1, &rank))
        return -EINVAL;
    return take_rank(word, rest, &t->rank[gpu][rank]);
}

int ni_read_tried_nccl(const char *words, unsigned n, struct ni_tried_nccl *ret)
{
    bool versioned = false;

    memset(ret, 0, sizeof(*ret));
    if (n == 0 || n > NI_MAX_GPU)
        return -EINVAL;
    for (const char *end = strchr(words, '\n'); end; end = strchr(words, '\n')) {
        const int r = take_line((struct ni_span){words, (size_t)(end - words)}, n, ret, &versioned);

        if (r < 0)
            return r;
        words = end + 1;
    }
    return versioned ? 0 : -EINVAL;
}

bool ni_next_nccl_line(const char **errors, unsigned gpu, struct ni_span *ret)
{
    struct ni_span line;

    while (ni_split(errors, '\n', &line)) {
        const char *blank = memchr(line.p, ' ', line.n);
        const size_t n = blank ? (size_t)(blank - line.p) : 0;
        uint64_t number;

        if (!blank || ni_parse_u64((struct ni_span){line.p, n}, NI_MAX_GPU, &number) < 0 ||
            number != gpu)
            continue;
        *ret = (struct ni_span){blank + 1, line.n - n - 1};
        return true;
    }
    return false;
}
