/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "nccl_init/text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fuzz_fail(const char *file, int line, const char *fmt, ...)
{
    va_list ap;

    fprintf(stderr, "%s:%d: ", file, line);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    abort();
}

bool fuzz_piece(struct fuzz_input *in, char sep, struct ni_span *ret)
{
    if (!in->p || in->n == 0)
        return false;
    const char *end = memchr(in->p, sep, in->n);
    size_t n = end ? (size_t)(end - in->p) : in->n;

    *ret = (struct ni_span){in->p, n};
    in->n -= n + (end != NULL);
    in->p = end ? end + 1 : NULL;
    return true;
}

char *fuzz_text(const char *s, size_t n)
{
    char *text = malloc(n + 1);
    size_t len = 0;

    FUZZ_CHECK(text, "no memory for %zu bytes", n);
    for (size_t i = 0; i < n; i++)
        if (s[i])
            text[len++] = s[i];
    char *fitting = len < n ? realloc(text, len + 1) : text;
    FUZZ_CHECK(fitting, "no memory for %zu bytes", len);
    fitting[len] = '\0';
    return fitting;
}
