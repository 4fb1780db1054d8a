/* SPDX-License-Identifier: Apache-2.0 */
/* What the helper says, and, after a form feed, what libibverbs says beside it: a finding comes only
   from words that are whole. */
#include "lib/fuzz.h"

#include "nccl_init/text.h"
#include "nccl_init/tried.h"
#include "nccl_init/tried_nccl.h"
#include "nccl_init/tried_use.h"
#include <stdlib.h>
#include <string.h>

static void check_tried(const struct ni_tried *t)
{
    FUZZ_CHECK(t->version[0] != '\0', "no version");
    FUZZ_CHECK(t->n_hca == 0 || t->listed, "HCAs without a list");
    for (unsigned i = 0; i < t->n_hca; i++) {
        const struct ni_tried_hca *hca = &t->hca[i];

        FUZZ_CHECK(ni_is_name(ni_span_of(hca->name), NI_DEV_NAME), "a name");
        FUZZ_CHECK(hca->told || i + 1 == t->n_hca, "only the last may be left");
        FUZZ_CHECK(!hca->told || (hca->err == 0) == (hca->step == NI_TRIED_DONE), "an errno");
        FUZZ_CHECK(ni_find_tried(t, hca->name) == hca, "twice");
    }
}

static void check_errors(const char *errors)
{
    struct ni_driver_abi abi;
    struct ni_span words;

    if (ni_find_driver_abi(errors, "bnxt_re0", &abi))
        FUZZ_CHECK(strstr(errors, abi.provider) && strstr(errors, "bnxt_re0"), "not said");
    if (ni_find_unloaded_provider(errors, "bnxt_re", &words))
        FUZZ_CHECK(words.p >= errors && words.p + words.n <= errors + strlen(errors), "outside");
    if (ni_find_library_abi(errors, &words))
        FUZZ_CHECK(words.p >= errors && words.p + words.n <= errors + strlen(errors), "outside");
}

static void check_nccl(const char *words, const char *errors)
{
    static const struct ni_gpu gpus[] = {{.bdf = {0, 6, 0, 0}}, {.bdf = {0, 7, 0, 0}}};
    static struct ni_tried_nccl nccl;
    static struct ni_gpu_uses uses;
    struct ni_span line;

    if (ni_read_tried_nccl(words, 2, &nccl) == 0) {
        for (unsigned i = 0; i < 4; i++) {
            const struct ni_nccl_rank *x = &nccl.rank[i / 2][i % 2];

            FUZZ_CHECK(x->done <= NI_NCCL_STEPS, "a step");
            FUZZ_CHECK(x->failed == (x->err != 0), "an error");
            FUZZ_CHECK(x->wrong == 0 || x->done == NI_NCCL_COMPARE, "sums");
        }
    }
    if (ni_read_gpu_uses(words, gpus, 2, &uses) == 0)
        FUZZ_CHECK(uses.nvml == 0 || !(uses.gpu[0].told || uses.gpu[1].told), "without NVML");
    while (ni_next_nccl_line(&errors, 1, &line))
        FUZZ_CHECK(!memchr(line.p, '\n', line.n), "a line");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct ni_tried tried;
    struct fuzz_input in = {(const char *)data, size};
    struct ni_span part = {"", 0};

    (void)fuzz_piece(&in, '\f', &part);
    char *words = fuzz_text(part.p, part.n), *errors = fuzz_text(in.p, in.n);
    if (ni_read_tried(words, &tried) == 0)
        check_tried(&tried);
    check_errors(errors);
    check_nccl(words, errors);
    free(words);
    free(errors);
    return 0;
}
