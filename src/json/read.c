/* SPDX-License-Identifier: Apache-2.0 */
/* Untrusted JSON, through jansson: duplicate keys refused, depth bounded, no file opened for its
   hash seed. */
#include <jansson.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "nccl_init/json.h"

enum {
    MAX_DEPTH = 16, /* device plugins write 3, DRA metadata and OCI runtimes 6 */
    PIECE = 1 << 20,
    PIECES = 64
};

static void *take(size_t n)
{
    static char *piece, *at; /* a piece begins with a pointer to the one before */
    static size_t left, pieces;
    const size_t align = _Alignof(max_align_t);

    n = (n + align - 1) & ~(align - 1);
    if (n > left) {
        const size_t size = n + align > PIECE ? n + align : PIECE;
        char *more = size / PIECE < PIECES - pieces ? malloc(size) : NULL;
        if (!more)
            return NULL;
        memcpy(more, &piece, sizeof(piece));
        piece = more;
        pieces += size / PIECE;
        left = size - align;
        at = more + align;
    }
    left -= n;
    at += n;
    return at - n;
}

static void leave(void *at)
{
    (void)at;
}

void ni_json_take_only(void)
{
    json_set_alloc_funcs(take, leave);
}

/* jansson parses by recursion; what is deeper than any plugin writes is not handed to it. */
static bool too_deep(const char *s)
{
    int depth = 0;
    bool in_string = false;
    for (; *s; s++) {
        if (in_string) {
            if (*s == '\\' && s[1])
                s++;
            else if (*s == '"')
                in_string = false;
        } else if (*s == '"') {
            in_string = true;
        } else if (*s == '{' || *s == '[') {
            if (++depth > MAX_DEPTH)
                return true;
        } else if (*s == '}' || *s == ']') {
            depth--;
        }
    }
    return false;
}

struct json_t *ni_read_json(const char *text, bool reals, struct ni_text *why)
{
    if (too_deep(text)) {
        ni_putf(why, "JSON nested deeper than %d", MAX_DEPTH);
        return NULL;
    }
    /* jansson would read /dev/urandom for its hash seed; the kernel gave us 16 random bytes
       already. */
    size_t seed = 1;
    const void *random = (const void *)getauxval(AT_RANDOM);
    if (random)
        memcpy(&seed, random, sizeof(seed));
    json_object_seed(seed | 1);
    json_error_t err;
    json_t *top =
        json_loads(text, JSON_REJECT_DUPLICATES | (reals ? JSON_DECODE_INT_AS_REAL : 0U), &err);
    if (!top) { /* its text has some of ours */
        ni_put(why, "no JSON: ");
        ni_quote(why, err.text);
        ni_putf(why, " at byte %d", err.position);
    }
    return top;
}

struct json_t *ni_parse_json(struct ni_findings *f, const char *subject, const char *text)
{
    struct ni_text why = NI_TEXT(JSON_ERROR_TEXT_LENGTH + 64);
    json_t *top = ni_read_json(text, false, &why);

    if (!top)
        ni_report(f, NI_F_ALLOC_INFO_INVALID, subject, "%s", why.buf);
    return top;
}
