/* SPDX-License-Identifier: Apache-2.0 */
/* What all harnesses share: the entry that libFuzzer calls, and the end of one that found a fault.
   docs/dev/fuzzing.md */
#ifndef NCCL_INIT_FUZZ_H
#define NCCL_INIT_FUZZ_H

#include "nccl_init/base.h"
#include "nccl_init/text.h"
#include <stddef.h>
#include <stdint.h>

/* One execution; each harness has its own. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A property of the program. What does not hold ends the harness as a crash does. */
#define FUZZ_CHECK(holds, ...)                          \
    do {                                                \
        if (!(holds))                                   \
            fuzz_fail(__FILE__, __LINE__, __VA_ARGS__); \
    } while (0)

_Noreturn void fuzz_fail(const char *file, int line, const char *fmt, ...) NI_PRINTF(3, 4);

/* The next piece of the input up to `sep`; false at the end. */
struct fuzz_input {
    const char *p;
    size_t n;
};
bool fuzz_piece(struct fuzz_input *in, char sep, struct ni_span *ret);

/* The longest input that the harnesses of text look at. */
enum { FUZZ_MAX = 1 << 17 };

/* The input as a text of its own on the heap, ended by a NUL: a read beyond it is seen. NULs of the
   input are left out. To be given to free. */
char *fuzz_text(const char *s, size_t n);

#endif
