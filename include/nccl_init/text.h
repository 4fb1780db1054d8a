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

/* Returns true for a name of a device or interface that NCCL's lists can carry: 1 to max-1 bytes of
   [A-Za-z0-9_.-], not "." or "..". The kernel's dev_valid_name (net/core/dev.c) allows more, but a
   comma, colon or blank changes the meaning of the list (NCCL misc/utils.cc parseStringList). */
bool ni_is_name(struct ni_span s, size_t max);

/* A NUL-terminated text in a caller's buffer. Bytes that do not fit are left off and `cut` is set,
   for good, unless `full` makes room by a larger buf. */
struct ni_text {
    char *buf;
    size_t cap; /* bytes of buf, at least 1 */
    size_t len; /* without the NUL */
    bool cut;
    void (*full)(struct ni_text *t); /* it sets itself to NULL if it cannot; NULL: none */
};

/* Begins a text in buf. */
struct ni_text ni_text_on(char *buf, size_t cap);
/* An empty text with a buffer of its own, which lasts as long as the block. */
#define NI_TEXT(cap) ni_text_on((char[cap]){""}, cap)
/* Add to the end of the text: a text, n bytes, a decimal number, a text as printf makes it. */
void ni_put(struct ni_text *t, const char *s);
void ni_putn(struct ni_text *t, const char *s, size_t n);
void ni_put_u64(struct ni_text *t, uint64_t v);
void ni_putf(struct ni_text *t, const char *fmt, ...) NI_PRINTF(2, 3);
void ni_vputf(struct ni_text *t, const char *fmt, va_list ap) NI_PRINTF(2, 0);
/* Adds untrusted bytes: control characters and non-ASCII as \xHH, at most `max` source bytes, then
   "...". ni_quote adds a whole text so. */
void ni_put_quoted(struct ni_text *t, const char *s, size_t n, size_t max);
void ni_quote(struct ni_text *t, const char *s);

/* Makes a text in buf as printf does. false: it was cut. */
bool ni_format(char *buf, size_t cap, const char *fmt, ...) NI_PRINTF(3, 4);

/* Copies the whole of s into buf. false, and buf is empty: it does not fit. */
bool ni_copy(char *buf, size_t cap, const char *s);
bool ni_copyn(char *buf, size_t cap, const char *s, size_t n);
bool ni_has_prefix(const char *s, const char *prefix);

/* Returns the number of bytes of the UTF-8 character at s; 0: there is none (Unicode 15.0, table
   3-7). *ret is its code point. */
size_t ni_utf8(const char *s, uint32_t *ret);

/* A piece of a text that others own. */
struct ni_span {
    const char *p;
    size_t n;
};

/* Finds the next piece of *cursor up to `sep` or the end, and moves *cursor after it. false after
   the last; a NULL *cursor has none. */
bool ni_split(const char **cursor, char sep, struct ni_span *ret);
/* Finds the next word between blanks and tabs, as ni_split finds an element; *ret is empty after
   the last. */
bool ni_word(const char **cursor, struct ni_span *ret);
/* Returns s without blanks, tabs, CR and LF at both ends. */
struct ni_span ni_trim(struct ni_span s);
bool ni_span_is(struct ni_span s, const char *text);
/* Returns true if both have the same bytes. The pointer of an empty span may be NULL. */
bool ni_is_same_span(struct ni_span a, struct ni_span b);
bool ni_is_any(const char *s, const char *const words[], size_t n);
/* Returns the number of letters to insert, remove or replace that make one text of the other
   (Levenshtein). Both have at most NI_EDITS_NAME letters. */
enum { NI_EDITS_NAME = 64 };
unsigned ni_edits(struct ni_span a, struct ni_span b);
/* Compares names as people count: mlx5_2 comes before mlx5_10. 0 only for equal strings. strverscmp
   would not do: in musl mlx5_bond_0 comes before mlx5_1, in glibc after it. */
int ni_natural_cmp(const char *a, const char *b);

bool ni_is_digit(char c);
struct ni_span ni_span_of(const char *s);

#endif
