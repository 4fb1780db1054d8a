/* SPDX-License-Identifier: Apache-2.0 */
/* What the helper says of GPU memory. Its words are those by which the helper says it, too. */
#include "nccl_init/tried_gpu.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "nccl_init/base.h"
#include "nccl_init/number.h"
#include "nccl_init/text.h"
#include "nccl_init/tried.h"

static const char *const steps[NI_GDR_STEPS] = {
    [NI_GDR_CONTEXT] = "context",
    [NI_GDR_OPEN] = "open",
    [NI_GDR_PORT] = "port",
    [NI_GDR_HOST] = "host-memory",
    [NI_GDR_CONNECT] = "connect",
    [NI_GDR_PORT_DATA] = "host-to-host",
    [NI_GDR_ALLOCATE] = "gpu-memory",
    [NI_GDR_EXPORT] = "export",
    [NI_GDR_REGISTER] = "register",
    [NI_GDR_IN] = "host-to-gpu",
    [NI_GDR_READ] = "gpu-to-host-read",
    [NI_GDR_OUT] = "gpu-to-host",
    [NI_GDR_ACROSS] = "gpu-to-gpu",
    [NI_GDR_RATE] = "rate",
    [NI_GDR_DONE] = "done",
};

static const char *const ways[NI_WAYS] = {
    [NI_WAY_NONE] = "none",
    [NI_WAY_DIRECT] = "data-direct",
    [NI_WAY_DMABUF] = "dma-buf",
    [NI_WAY_PEERMEM] = "peermem",
};

const char *ni_gdr_step_text(enum ni_gdr_step step)
{
    return steps[step];
}

const char *ni_gdr_way_text(enum ni_gdr_way way)
{
    return ways[way];
}

/* ---- the helper's words ---- */

static int find_word(struct ni_span word, const char *const words[], unsigned n, unsigned *ret)
{
    for (unsigned i = 0; i < n; i++) {
        if (ni_span_is(word, words[i])) {
            *ret = i;
            return 0;
        }
    }
    return -EINVAL;
}

/* The keys of a line, and where their values go: numbers of at most `most`. */
#define KEY(name, member, most)                                                                    \
    {                                                                                              \
        name, offsetof(struct ni_tried_pair, member), sizeof(((struct ni_tried_pair *)0)->member), \
            most                                                                                   \
    }
static const struct {
    const char *name;
    size_t at, size;
    uint64_t most;
} keys[] = {
    KEY("err", err, 4095),           KEY("wc", wc, 255),
    KEY("cuda", cuda, 9999),         KEY("died", died, 127),
    KEY("wrong", wrong, INT64_MAX),  KEY("of", of, INT64_MAX),
    KEY("first", first, INT64_MAX),  KEY("late", late, 255),
    KEY("once", once, INT64_MAX),    KEY("in", in_mbps, INT32_MAX),
    KEY("out", out_mbps, INT32_MAX), KEY("us", took_us, INT64_MAX),
    KEY("mode", mode, 255),          KEY("driver", driver, INT32_MAX),
};

static int take_number(struct ni_span key, struct ni_span value, struct ni_tried_pair *ret)
{
    for (size_t i = 0; i < NI_COUNT(keys); i++) {
        uint64_t number;

        if (!ni_span_is(key, keys[i].name))
            continue;
        if (ni_parse_u64(value, keys[i].most, &number) < 0)
            return -EINVAL;
        /* the processors are little endian, and the number fits */
        memcpy((char *)ret + keys[i].at, &number, keys[i].size);
        return 0;
    }
    return -EINVAL;
}

/* Takes "KEY=VALUE". */
static int take_key(struct ni_span word, struct ni_tried_pair *ret)
{
    const char *equals = memchr(word.p, '=', word.n);
    unsigned way;
    uint64_t number;

    if (!equals)
        return -EINVAL;
    const struct ni_span key = {word.p, (size_t)(equals - word.p)};
    const struct ni_span value = {equals + 1, word.n - key.n - 1};
    if (ni_span_is(key, "way")) {
        if (find_word(value, ways, NI_WAYS, &way) < 0)
            return -EINVAL;
        ret->way = (enum ni_gdr_way)way;
        return 0;
    }
    if (!ni_span_is(key, "holds"))
        return take_number(key, value, ret);
    if (ni_parse_u64(value, INT64_MAX, &number) < 0)
        return -EINVAL;
    ret->holds = (int64_t)number;
    return 0;
}

/* Takes "N STEP KEY=VALUE..." about one of n. told: it is the end of it. */
static int take_result(const char *rest, struct ni_tried_pair *of, unsigned n, bool told)
{
    struct ni_span word;
    uint64_t at;
    unsigned step;

    if (!ni_word(&rest, &word) || ni_parse_u64(word, UINT32_MAX, &at) < 0 || at >= n ||
        of[at].told || !ni_word(&rest, &word) || find_word(word, steps, NI_GDR_STEPS, &step) < 0)
        return -EINVAL;
    struct ni_tried_pair *x = &of[at];
    x->begun = true;
    x->told = told;
    x->step = (enum ni_gdr_step)step;
    x->holds = -1;
    while (ni_word(&rest, &word)) {
        if (!told || take_key(word, x) < 0)
            return -EINVAL;
    }
    const bool failed = x->err || x->wc || x->cuda || x->died || x->wrong;
    return failed && x->step == NI_GDR_DONE ? -EINVAL : 0;
}

static int take_line(struct ni_span line, unsigned n_gpu, unsigned n_pair, struct ni_tried_gpus *t)
{
    char text[NI_TRIED_TEXT * 4];
    const char *rest = text;
    struct ni_span word;

    if (t->whole || memchr(line.p, '\0', line.n) || !ni_copyn(text, sizeof(text), line.p, line.n) ||
        !ni_word(&rest, &word))
        return -EINVAL;
    const struct ni_span value = ni_trim(ni_span_of(rest));
    if (ni_span_is(word, "version"))
        return ni_take_tried_text(value, t->version, sizeof(t->version));
    if (t->version[0] == '\0')
        return -EINVAL;
    if (ni_span_is(word, "library"))
        return ni_take_tried_text(value, t->library, sizeof(t->library));
    if (ni_span_is(word, "unloaded"))
        return ni_take_tried_text(value, t->unloaded, sizeof(t->unloaded));
    if (ni_span_is(word, "gpu"))
        return take_result(rest, t->gpu, n_gpu, true);
    if (ni_span_is(word, "at")) /* a pair has begun; "pair" says how it ended */
        return take_result(rest, t->pair, n_pair, false);
    if (ni_span_is(word, "pair"))
        return take_result(rest, t->pair, n_pair, true);
    t->whole = ni_span_is(word, "end");
    return t->whole ? 0 : -EINVAL;
}

int ni_read_tried_gpus(const char *words, unsigned n_gpu, unsigned n_pair,
                       struct ni_tried_gpus *ret)
{
    memset(ret, 0, sizeof(*ret));
    for (const char *end = strchr(words, '\n'); end; end = strchr(words, '\n')) {
        const struct ni_span line = {words, (size_t)(end - words)};
        const int r = take_line(line, n_gpu, n_pair, ret);

        if (r < 0)
            return r;
        words = end + 1;
    }
    return ret->version[0] != '\0' ? 0 : -EINVAL;
}
