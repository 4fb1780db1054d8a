/* SPDX-License-Identifier: Apache-2.0 */
/* Bounded text and spans. */
#include <stdio.h>
#include <string.h>

#include "nccl_init/core.h"

struct ni_text ni_text_on(char *buf, size_t cap)
{
    buf[0] = '\0';
    return (struct ni_text){.buf = buf, .cap = cap, .len = 0, .cut = false};
}

void ni_putn(struct ni_text *t, const char *s, size_t n)
{
    const size_t room = t->cap - 1 - t->len, take = n < room ? n : room;
    char *to = t->buf + t->len, *const end = to + take;
    t->len += take;
    /* Mostly a few bytes, and musl's memcpy (`rep movs`) takes as long for one as for a hundred. */
    for (; end - to >= 8; to += 8, s += 8)
        memcpy(to, s, 8);
    while (to < end)
        *to++ = *s++;
    *to = '\0';
    if (n > take && t->full) {
        t->full(t);
        ni_putn(t, s, n - take);
    } else if (n > take) {
        t->cut = true;
    }
}

void ni_put(struct ni_text *t, const char *s)
{
    ni_putn(t, s, strlen(s));
}

void ni_put_u64(struct ni_text *t, uint64_t v)
{
    char digits[20];
    size_t at = sizeof(digits);
    do {
        digits[--at] = (char)('0' + v % 10);
        v /= 10;
    } while (v > 0);
    ni_putn(t, digits + at, sizeof(digits) - at);
}

static void put_int(struct ni_text *t, int v)
{
    if (v < 0)
        ni_putn(t, "-", 1);
    ni_put_u64(t, v < 0 ? (uint64_t) - (int64_t)v : (uint64_t)v);
}

static void put_hex(struct ni_text *t, unsigned v, unsigned least)
{
    static const char digits[] = "0123456789abcdef";
    char hex[9];
    size_t at = sizeof(hex);
    for (; v > 0 || sizeof(hex) - at < least; v >>= 4)
        hex[--at] = digits[v & 0xf];
    ni_putn(t, hex + at, sizeof(hex) - at);
}

/* The C library's. */
static void NI_PRINTF(2, 0) put_printf(struct ni_text *t, const char *fmt, va_list ap)
{
    size_t room = t->cap - t->len;
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(t->buf + t->len, room, fmt, ap);

    if (n >= 0 && (size_t)n >= room && t->full) {
        t->full(t);
        room = t->cap - t->len;
        n = vsnprintf(t->buf + t->len, room, fmt, again);
    }
    va_end(again);
    if (n < 0) /* an encoding error: only %ls can give one */
        t->buf[t->len] = '\0';
    else
        t->len += (size_t)n < room ? (size_t)n : room - 1;
    t->cut = t->cut || n < 0 || (size_t)n >= room;
}

/* Paths and most sentences have no conversions but %s, %u, %d, %x, %02x and %%: these by hand, because
   each read begins with one. With the C library's printf they were a third of all instructions. What is
   left when there is another one is the C library's. */
void ni_vputf(struct ni_text *t, const char *fmt, va_list ap)
{
    for (const char *plain = fmt;; fmt++) {
        while (*fmt && *fmt != '%')
            fmt++;
        if (fmt > plain)
            ni_putn(t, plain, (size_t)(fmt - plain));
        if (!*fmt)
            return;
        const char *conversion = fmt++;
        unsigned least = 1;
        if (fmt[0] == '0' && ni_is_digit(fmt[1]) && fmt[2] == 'x') {
            least = (unsigned)(fmt[1] - '0');
            fmt += 2;
        }
        plain = fmt + 1;
        switch (*fmt) {
        case 's':
            ni_put(t, va_arg(ap, const char *));
            break;
        case 'u':
            ni_put_u64(t, va_arg(ap, unsigned));
            break;
        case 'd':
            put_int(t, va_arg(ap, int));
            break;
        case 'x':
            put_hex(t, va_arg(ap, unsigned), least);
            break;
        case '%':
            ni_putn(t, "%", 1);
            break;
        default:
            fmt = conversion; /* the parameter, which clang knows for a format */
            put_printf(t, fmt, ap);
            return;
        }
    }
}

bool ni_format(char *buf, size_t cap, const char *fmt, ...)
{
    struct ni_text t = ni_text_on(buf, cap);
    va_list ap;
    va_start(ap, fmt);
    ni_vputf(&t, fmt, ap);
    va_end(ap);
    return !t.cut;
}

void ni_putf(struct ni_text *t, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    ni_vputf(t, fmt, ap);
    va_end(ap);
}

void ni_put_quoted(struct ni_text *t, const char *s, size_t n, size_t max)
{
    const size_t shown = n < max ? n : max;
    size_t plain = 0; /* from there on nothing is escaped */
    for (size_t i = 0; i < shown; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c >= 0x20 && c < 0x7f)
            continue;
        ni_putn(t, s + plain, i - plain);
        ni_putf(t, "\\x%02x", c);
        plain = i + 1;
    }
    if (shown > plain)
        ni_putn(t, s + plain, shown - plain);
    if (shown < n)
        ni_put(t, "...");
}

void ni_quote(struct ni_text *t, const char *s)
{
    ni_put_quoted(t, s, strlen(s), SIZE_MAX);
}

size_t ni_utf8(const char *s, uint32_t *ret)
{
    /* The smallest code point of each length: shorter forms of it are no UTF-8. */
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *p = (const unsigned char *)s;
    size_t n = p[0] < 0x80 ? 1 : p[0] < 0xc0 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    uint32_t c = n == 1 ? p[0] : p[0] & (0x7fU >> n);
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (p[i] & 0x3fU);
    }
    if (n == 0 || p[0] > 0xf4 || c < least[n] || (c >= 0xd800 && c <= 0xdfff) || c > 0x10ffff)
        return 0;
    *ret = c;
    return n;
}

bool ni_copyn(char *buf, size_t cap, const char *s, size_t n)
{
    struct ni_text t = ni_text_on(buf, cap);
    if (n < cap)
        ni_putn(&t, s, n);
    return n < cap;
}

bool ni_copy(char *buf, size_t cap, const char *s)
{
    return ni_copyn(buf, cap, s, strlen(s));
}

bool ni_has_prefix(const char *s, const char *prefix)
{
    /* Mostly the first bytes differ: by hand, for it is asked of each line, entry and path. */
    while (*prefix && *s == *prefix) {
        s++;
        prefix++;
    }
    return !*prefix;
}

struct ni_span ni_span_of(const char *s)
{
    return (struct ni_span){s, strlen(s)};
}

bool ni_split(const char **cursor, char sep, struct ni_span *ret)
{
    const char *p = *cursor;
    if (!p)
        return false;
    const char *end = strchr(p, sep);
    *ret = (struct ni_span){p, end ? (size_t)(end - p) : strlen(p)};
    *cursor = end ? end + 1 : NULL;
    return true;
}

bool ni_word(const char **cursor, struct ni_span *ret)
{
    const char *p = *cursor + strspn(*cursor, " \t");
    *ret = (struct ni_span){p, strcspn(p, " \t")};
    *cursor = p + ret->n;
    return ret->n > 0;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

struct ni_span ni_trim(struct ni_span s)
{
    while (s.n > 0 && is_blank(s.p[0])) {
        s.p++;
        s.n--;
    }
    while (s.n > 0 && is_blank(s.p[s.n - 1]))
        s.n--;
    return s;
}

bool ni_span_is(struct ni_span s, const char *text)
{
    return strlen(text) == s.n && (s.n == 0 || memcmp(s.p, text, s.n) == 0); /* s.p may be NULL */
}

bool ni_is_any(const char *s, const char *const words[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(s, words[i]) == 0)
            return true;
    }
    return false;
}

bool ni_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The runs of digits at a and b, by value, of any length; 7 before 07. */
static int cmp_digits(const char *a, const char *b)
{
    size_t zeros_a = strspn(a, "0"), zeros_b = strspn(b, "0");
    size_t na = strspn(a + zeros_a, "0123456789"), nb = strspn(b + zeros_b, "0123456789");
    int c = na != nb ? (na > nb) - (na < nb) : memcmp(a + zeros_a, b + zeros_b, na);
    return c != 0 ? c : (zeros_a > zeros_b) - (zeros_a < zeros_b);
}

int ni_natural_cmp(const char *a, const char *b)
{
    size_t same = 0, from;
    while (a[same] && a[same] == b[same])
        same++;
    for (from = same; from > 0 && ni_is_digit(a[from - 1]);)
        from--;
    if ((ni_is_digit(a[same]) || ni_is_digit(b[same])) && ni_is_digit(a[from]) &&
        ni_is_digit(b[from]))
        return cmp_digits(a + from, b + from);
    unsigned char x = (unsigned char)a[same], y = (unsigned char)b[same];
    return (x > y) - (x < y);
}
