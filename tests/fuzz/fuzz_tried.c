/* SPDX-License-Identifier: Apache-2.0 */
/* What the helper says, and, after a form feed, what libibverbs says beside it: a finding comes only
   from words that are whole. */
#include "lib/fuzz.h"

#include "nccl_init/text.h"
#include "nccl_init/tried.h"
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
    free(words);
    free(errors);
    return 0;
}
