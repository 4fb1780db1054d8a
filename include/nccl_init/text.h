/* SPDX-License-Identifier: Apache-2.0 */
/* Bounded text, and spans of text. */
#ifndef NCCL_INIT_TEXT_H
#define NCCL_INIT_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nccl_init/base.h"

struct ni_span;

/* A device or interface name that NCCL's lists can carry: 1 to max-1 bytes of [A-Za-z0-9_.-], not
   "." or "..", no leading '^' or '='. The kernel's dev_valid_name (net/core/dev.c) allows more; a
   comma, colon or blank changes the meaning of the list (NCCL misc/utils.cc parseStringList). */
bool ni_is_name(struct ni_span s, size_t max);

/* A NUL-terminated text in a caller's buffer. What does not fit is left off and `cut` is set, for
   good; unless `full` makes room by a larger buf. It sets itself to NULL if it cannot. */
struct ni_text {
    char *buf;
    size_t cap; /* bytes of buf, at least 1 */
    size_t len; /* without the NUL */
    bool cut;
    void (*full)(struct ni_text *t); /* NULL: none */
};

struct ni_text ni_text_on(char *buf, size_t cap);
/* An empty text with a buffer of its own, which lasts as long as the block. */
#define NI_TEXT(cap) ni_text_on((char[cap]){""}, cap)
void ni_put(struct ni_text *t, const char *s);
void ni_putn(struct ni_text *t, const char *s, size_t n);
void ni_put_u64(struct ni_text *t, uint64_t v); /* decimal */
void ni_putf(struct ni_text *t, const char *fmt, ...) NI_PRINTF(2, 3);
void ni_vputf(struct ni_text *t, const char *fmt, va_list ap) NI_PRINTF(2, 0);
/* Untrusted bytes for a message: control characters and non-ASCII as \xHH, at most `max` source
   bytes, then "...". Of a whole text: ni_quote. */
void ni_put_quoted(struct ni_text *t, const char *s, size_t n, size_t max);
void ni_quote(struct ni_text *t, const char *s);

/* Text made anew in buf. false: cut. */
bool ni_format(char *buf, size_t cap, const char *fmt, ...) NI_PRINTF(3, 4);

/* Copies s whole into buf; false, and buf empty, when it does not fit. */
bool ni_copy(char *buf, size_t cap, const char *s);
bool ni_copyn(char *buf, size_t cap, const char *s, size_t n);
bool ni_has_prefix(const char *s, const char *prefix);

/* Bytes of the UTF-8 character at s, 0: none (Unicode 15.0, table 3-7); *ret is its code point. */
size_t ni_utf8(const char *s, uint32_t *ret);

/* A piece of somebody else's text. */
struct ni_span {
    const char *p;
    size_t n;
};

/* Next piece of *cursor up to `sep` or the end; *cursor moves after it. false after the last. */
bool ni_split(const char **cursor, char sep, struct ni_span *ret);
/* Finds the next word between blanks and tabs, as ni_split finds an element; *ret is empty after
   the last. */
bool ni_word(const char **cursor, struct ni_span *ret);
/* s without blanks and tabs, CR and LF at both ends. */
struct ni_span ni_trim(struct ni_span s);
bool ni_span_is(struct ni_span s, const char *text);
/* Returns true if both have the same bytes. The pointer of an empty span may be NULL. */
bool ni_is_same_span(struct ni_span a, struct ni_span b);
bool ni_is_any(const char *s, const char *const words[], size_t n);
/* Letters to insert, remove or replace to make one of the other (Levenshtein). Both have at most
   NI_EDITS_NAME. */
enum { NI_EDITS_NAME = 64 };
unsigned ni_edits(struct ni_span a, struct ni_span b);
/* Order of names as people count: mlx5_2 before mlx5_10. Equal only for equal strings. Not
   strverscmp: musl has mlx5_bond_0 before mlx5_1, glibc after it. */
int ni_natural_cmp(const char *a, const char *b);

bool ni_is_digit(char c);
struct ni_span ni_span_of(const char *s);

#endif
