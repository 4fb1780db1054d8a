/* SPDX-License-Identifier: Apache-2.0 */
/* What NVML says of GPUs, by the helper, and which of them are not to be tried. */
#include "nccl_init/tried_use.h"

#include <errno.h>
#include <string.h>

#include "nccl_init/base.h"
#include "nccl_init/gpu.h"
#include "nccl_init/number.h"
#include "nccl_init/pci.h"
#include "nccl_init/text.h"

/* nvmlComputeMode_t */
enum { PROHIBITED = 2, EXCLUSIVE = 3 };
/* of a GPU that nobody uses; an H200 with driver 580 says 0, and 22 beside one empty context's start */
enum { IDLE_MIB = 512 };

static int take_value(struct ni_gpu_use *use, struct ni_span word)
{
    const struct {
        const char *key;
        int64_t *to;
    } keys[] = {{"error", &use->error},         {"mode", &use->mode},     {"mig", &use->mig},
                {"processes", &use->processes}, {"used", &use->used_mib}, {"free", &use->free_mib}};
    const char *equals = memchr(word.p, '=', word.n);
    const size_t n = equals ? (size_t)(equals - word.p) : 0;
    uint64_t value;

    if (!equals ||
        ni_parse_u64((struct ni_span){equals + 1, word.n - n - 1}, UINT32_MAX, &value) < 0)
        return -EINVAL;
    for (size_t i = 0; i < NI_COUNT(keys); i++) {
        if (!ni_span_is((struct ni_span){word.p, n}, keys[i].key))
            continue;
        *keys[i].to = (int64_t)value;
        return 0;
    }
    return -EINVAL;
}

static int take_gpu(const char *rest, const struct ni_gpu *gpu, unsigned n,
                    struct ni_gpu_uses *uses)
{
    struct ni_span word;
    struct ni_bdf bdf;
    int r = 0;

    if (!ni_word(&rest, &word) || ni_parse_bdf(word, &bdf) < 0)
        return -EINVAL;
    for (unsigned i = 0; i < n; i++) {
        struct ni_gpu_use *use = &uses->gpu[i];

        if (ni_bdf_cmp(gpu[i].bdf, bdf) != 0)
            continue;
        if (use->told)
            return -EINVAL;
        use->told = true;
        while (r == 0 && ni_word(&rest, &word))
            r = take_value(use, word);
        return r;
    }
    return -EINVAL;
}

static int take_line(struct ni_span line, const struct ni_gpu *gpu, unsigned n,
                     struct ni_gpu_uses *uses, bool *versioned)
{
    char text[NI_TRIED_TEXT * 4];
    const char *rest = text;
    struct ni_span word;
    uint64_t value;

    if (uses->whole || memchr(line.p, '\0', line.n) ||
        !ni_copyn(text, sizeof(text), line.p, line.n) || !ni_word(&rest, &word))
        return -EINVAL;
    const struct ni_span more = ni_trim(ni_span_of(rest));
    if (ni_span_is(word, "version") && !*versioned) {
        *versioned = true;
        return 0;
    }
    if (!*versioned)
        return -EINVAL;
    if (ni_span_is(word, "gpu"))
        return uses->nvml == 0 ? take_gpu(more.p, gpu, n, uses) : -EINVAL;
    if (ni_span_is(word, "nvml")) {
        if (uses->nvml >= 0 || ni_parse_u64(more, UINT16_MAX, &value) < 0)
            return -EINVAL;
        uses->nvml = (int64_t)value;
        return 0;
    }
    if (ni_span_is(word, "unloaded")) {
        if (uses->unloaded[0] || more.n == 0)
            return -EINVAL;
        (void)ni_copyn(uses->unloaded, sizeof(uses->unloaded), more.p,
                       more.n < NI_TRIED_TEXT ? more.n : NI_TRIED_TEXT - 1);
        return 0;
    }
    uses->whole = ni_span_is(word, "end");
    return uses->whole ? 0 : -EINVAL;
}

int ni_read_gpu_uses(const char *words, const struct ni_gpu *gpu, unsigned n,
                     struct ni_gpu_uses *ret)
{
    bool versioned = false;

    memset(ret, 0, sizeof(*ret));
    ret->nvml = -1;
    for (unsigned i = 0; i < NI_MAX_GPU; i++)
        ret->gpu[i] = (struct ni_gpu_use){
            .mode = -1, .mig = -1, .processes = -1, .used_mib = -1, .free_mib = -1};
    for (const char *end = strchr(words, '\n'); end; end = strchr(words, '\n')) {
        const int r =
            take_line((struct ni_span){words, (size_t)(end - words)}, gpu, n, ret, &versioned);

        if (r < 0)
            return r;
        words = end + 1;
    }
    return versioned ? 0 : -EINVAL;
}

/* Puts why it is not known who uses the GPU; nothing: it is. */
static void put_unknown(struct ni_text *t, const struct ni_gpu_uses *uses, unsigned gpu)
{
    const struct ni_gpu_use *use = &uses->gpu[gpu];

    if (uses->unloaded[0])
        ni_put_quoted(t, uses->unloaded, strlen(uses->unloaded), 120);
    else if (uses->nvml > 0)
        ni_putf(t, "NVML does not start: its error %lld", (long long)uses->nvml);
    else if (use->error > 0)
        ni_putf(t, "NVML does not know the GPU: its error %lld", (long long)use->error);
    else if (!use->told || use->processes < 0 || use->used_mib < 0)
        ni_put(t, "NVML did not say");
}

void ni_put_gpu_use(struct ni_text *t, const struct ni_gpu_uses *uses, unsigned gpu, bool busy,
                    int64_t need_mib)
{
    const struct ni_gpu_use *use = &uses->gpu[gpu];
    struct ni_text unknown = NI_TEXT(256);

    put_unknown(&unknown, uses, gpu);
    if (use->mig == 1)
        ni_put(t, "MIG divides it");
    else if (use->mode == EXCLUSIVE)
        ni_put(t, "its compute mode is EXCLUSIVE_PROCESS: a trial needs several processes");
    else if (use->mode == PROHIBITED)
        ni_put(t, "its compute mode is PROHIBITED");
    else if (use->free_mib >= 0 && use->free_mib < need_mib)
        ni_putf(t, "too little GPU memory: %lld MiB are free, and a trial takes %lld MiB",
                (long long)use->free_mib, (long long)need_mib);
    else if (!busy && use->processes > 0)
        ni_putf(t, "it is in use: %lld process%s; --busy tries it all the same",
                (long long)use->processes, use->processes == 1 ? "" : "es");
    else if (!busy && use->used_mib > IDLE_MIB)
        ni_putf(t, "it is in use: %lld MiB of its memory; --busy tries it all the same",
                (long long)use->used_mib);
    else if (!busy && unknown.len > 0)
        ni_putf(t, "it is not known whether it is in use: %s; --busy tries it all the same",
                unknown.buf);
}
