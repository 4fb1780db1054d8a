/* SPDX-License-Identifier: Apache-2.0 */
/* Bounded text and spans. */
#include <stdio.h>
#include <string.h>

#include "nccl_init/text.h"

struct ni_text ni_text_on(char *buf, size_t cap)
{
    buf[0] = '\0';
    return (struct ni_text){.buf = buf, .cap = cap, .len = 0, .cut = false};
}

/* Asks for room until n more bytes and a NUL fit, or no more room is given. false: they do not
   fit. */
static bool make_room(struct ni_text *t, size_t n)
{
    while (n >= t->cap - t->len && t->full)
        t->full(t);
    return n < t->cap - t->len;
}

void ni_putn(struct ni_text *t, const char *s, size_t n)
{
    if (!make_room(t, n)) {
        n = t->cap - 1 - t->len;
        t->cut = true;
    }
    memcpy(t->buf + t->len, s, n);
    t->len += n;
    t->buf[t->len] = '\0';
}

void ni_put(struct ni_text *t, const char *s)
{
    ni_putn(t, s, strlen(s));
}

void ni_put_u64(struct ni_text *t, uint64_t v)
{
    char digits[20]; /* of 2^64 - 1 */
    size_t at = sizeof(digits);

    do {
        digits[--at] = (char)('0' + v % 10);
        v /= 10;
    } while (v > 0);
    ni_putn(t, digits + at, sizeof(digits) - at);
}

/* Returns true if the format has no other directives than %s and %u. */
static bool is_plain_format(const char *fmt)
{
    const char *p = strchr(fmt, '%');

    while (p && (p[1] == 's' || p[1] == 'u'))
        p = strchr(p + 2, '%');
    return p == NULL;
}

/* Puts what such a format says. */
static void put_plain_format(struct ni_text *t, const char *fmt, va_list ap)
{
    for (const char *p = strchr(fmt, '%'); p; p = strchr(fmt, '%')) {
        ni_putn(t, fmt, (size_t)(p - fmt));
        if (p[1] == 's')
            ni_put(t, va_arg(ap, const char *));
        else
            ni_put_u64(t, va_arg(ap, unsigned));
        fmt = p + 2;
    }
    ni_put(t, fmt);
}

void ni_vputf(struct ni_text *t, const char *fmt, va_list ap)
{
    size_t room = t->cap - t->len;
    va_list again;
    int n;

    /* So are nearly all paths, a hundred at each start. musl's printf makes a stream for each text: it
       takes ten times the instructions. */
    if (is_plain_format(fmt)) {
        put_plain_format(t, fmt, ap);
        return;
    }
    va_copy(again, ap);
    n = vsnprintf(t->buf + t->len, room, fmt, ap);
    if (n >= 0 && (size_t)n >= room && t->full) {
        (void)make_room(t, (size_t)n); /* as much goes in as fits then */
        room = t->cap - t->len;
        n = vsnprintf(t->buf + t->len, room, fmt, again);
    }
    va_end(again);
    if (n < 0) { /* an encoding error, which only %ls can have */
        t->buf[t->len] = '\0';
        t->cut = true;
    } else if ((size_t)n >= room) {
        t->len = t->cap - 1;
        t->cut = true;
    } else {
        t->len += (size_t)n;
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
    size_t plain = 0; /* the bytes from here on need no escape */

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

/* Returns the number of bytes of a character that begins with this byte (RFC 3629, section 3); 0:
   none begins so. */
static size_t utf8_length(unsigned char first)
{
    if (first < 0x80)
        return 1;
    if (first < 0xc0)
        return 0;
    if (first < 0xe0)
        return 2;
    return first < 0xf0 ? 3 : 4;
}

size_t ni_utf8(const char *s, uint32_t *ret)
{
    /* the smallest code point of each length: longer forms of a smaller one are not UTF-8 */
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *p = (const unsigned char *)s;
    size_t n = utf8_length(p[0]);
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
    /* a loop, because usually the first bytes differ, and it is called for each line, entry and
       path */
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
    const char *p = *cursor, *end;

    /* loops, because words are short, and strspn first makes a table of all bytes */
    while (*p == ' ' || *p == '\t')
        p++;
    for (end = p; *end && *end != ' ' && *end != '\t';)
        end++;
    *ret = (struct ni_span){p, (size_t)(end - p)};
    *cursor = end;
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

bool ni_is_same_span(struct ni_span a, struct ni_span b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
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

/* Compares the runs of digits at a and b by value, of any length; 7 comes before 07. */
static int cmp_digits(const char *a, const char *b)
{
    size_t zeros_a = strspn(a, "0"), zeros_b = strspn(b, "0");
    size_t na = strspn(a + zeros_a, "0123456789"), nb = strspn(b + zeros_b, "0123456789");
    int c = na != nb ? (na > nb) - (na < nb) : memcmp(a + zeros_a, b + zeros_b, na);

    return c != 0 ? c : (zeros_a > zeros_b) - (zeros_a < zeros_b);
}

/* Works row by row on the table whose cells have the edits between the first i and the first k
   letters. */
unsigned ni_edits(struct ni_span a, struct ni_span b)
{
    unsigned row[NI_EDITS_NAME + 1];

    for (unsigned k = 0; k <= b.n; k++)
        row[k] = k;
    for (unsigned i = 1; i <= a.n; i++) {
        unsigned diagonal = row[0];

        row[0] = i;
        for (unsigned k = 1; k <= b.n; k++) {
            const unsigned above = row[k];
            const unsigned other = above < row[k - 1] ? above + 1 : row[k - 1] + 1;
            const unsigned same = diagonal + (a.p[i - 1] != b.p[k - 1]);

            row[k] = same < other ? same : other;
            diagonal = above;
        }
    }
    return row[b.n];
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

bool ni_is_name(struct ni_span s, size_t max)
{
    if (s.n == 0 || s.n >= max || ni_span_is(s, ".") || ni_span_is(s, ".."))
        return false;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_' || c == '.' || c == '-';

        if (!ok)
            return false;
    }
    return true;
}
