/* SPDX-License-Identifier: Apache-2.0 */
/* The parsers of single words: numbers, PCI addresses, GIDs, addresses, names, NCCL's lists. What is
   parsed and printed again is the same; where others read the same form, they agree. The input's
   first line is a word, and a list of which the second is a name and the third a port. */
#include "lib/fuzz.h"

#include "nccl_init/base.h"
#include "nccl_init/errno.h"
#include "nccl_init/ip.h"
#include "nccl_init/nccl_list.h"
#include "nccl_init/number.h"
#include "nccl_init/pci.h"
#include "nccl_init/text.h"
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINES = 3, MOST = 4096 };

/* ---- numbers ---- */

static void check_number(const char *s, int base)
{
    uint64_t v = 0, again = 0;
    struct ni_span span = ni_span_of(s);
    int r = base == 10 ? ni_parse_u64(span, UINT64_MAX, &v) : ni_parse_hex(span, UINT64_MAX, &v);
    bool digits = *s != '\0';

    for (const char *c = s; *c; c++)
        digits = digits && (base == 10 ? isdigit((unsigned char)*c) : isxdigit((unsigned char)*c));
    FUZZ_CHECK((r == -EINVAL) == !digits, "`%s` in base %d: %d", s, base, r);
    if (!digits)
        return;
    errno = 0;
    unsigned long long want = strtoull(s, NULL, base);
    FUZZ_CHECK((r == -ERANGE) == (errno == ERANGE), "`%s` in base %d: %d", s, base, r);
    FUZZ_CHECK(r != 0 || v == want, "`%s` in base %d is %llu", s, base, want);
    if (r == 0 && base == 10) {
        char buf[32];
        struct ni_text t = ni_text_on(buf, sizeof(buf));
        ni_put_u64(&t, v);
        FUZZ_CHECK(ni_parse_u64(ni_span_of(buf), UINT64_MAX, &again) == 0 && again == v, "%s", s);
        FUZZ_CHECK(v == 0 || ni_parse_u64(span, v - 1, &again) == -ERANGE, "bound of %s", s);
    }
}

/* ---- PCI addresses ---- */

static void check_bdf(const char *s)
{
    struct ni_bdf bdf, again;
    char domain[9], bus[3], dev[3], fn[2], buf[NI_BDF_TEXT];
    int end = -1;
    bool want = strchr(s, '.') &&
                sscanf(s, "%8[0-9a-fA-F]:%2[0-9a-fA-F]:%2[0-9a-fA-F].%1[0-7]%n", domain, bus, dev,
                       fn, &end) == 4 &&
                end == (int)strlen(s) && strlen(domain) >= 4 && strlen(bus) == 2 &&
                strlen(dev) == 2 && strtoul(dev, NULL, 16) < 32;

    FUZZ_CHECK((ni_parse_bdf(ni_span_of(s), &bdf) == 0) == want, "PCI address `%s`", s);
    if (!want)
        return;
    ni_bdf_text(bdf, buf);
    FUZZ_CHECK(ni_parse_bdf(ni_span_of(buf), &again) == 0 && ni_bdf_cmp(bdf, again) == 0,
               "`%s` is printed `%s`", s, buf);
    FUZZ_CHECK(bdf.domain == strtoul(domain, NULL, 16) && bdf.bus == strtoul(bus, NULL, 16), "%s",
               s);
    FUZZ_CHECK(strlen(domain) != 4 || strcasecmp(s, buf) == 0, "`%s` is printed `%s`", s, buf);
}

/* ---- addresses ---- */

static void check_ip_text(const uint8_t ip[NI_GID_BYTES])
{
    char ours[NI_IP_TEXT], theirs[INET6_ADDRSTRLEN];
    uint8_t back[NI_GID_BYTES], v4[NI_GID_BYTES];

    ni_ip_text(ip, ours);
    if (ni_ip_is_v4(ip)) {
        FUZZ_CHECK(ni_parse_ipv4(ni_span_of(ours), v4) == 0 && memcmp(v4, ip, sizeof(v4)) == 0,
                   "%s", ours);
        return;
    }
    FUZZ_CHECK(inet_pton(AF_INET6, ours, back) == 1 && memcmp(back, ip, sizeof(back)) == 0,
               "%s is another address", ours);
    FUZZ_CHECK(inet_ntop(AF_INET6, ip, theirs, sizeof(theirs)), "inet_ntop");
    FUZZ_CHECK(strchr(theirs, '.') || strcmp(ours, theirs) == 0, "%s, and %s", ours, theirs);
}

static void check_addresses(const char *s)
{
    struct ni_span span = ni_span_of(s);
    uint8_t ours[NI_GID_BYTES], theirs[NI_GID_BYTES];
    uint8_t v4[4];
    bool gid = span.n == 39 && !strchr(s, '.') && inet_pton(AF_INET6, s, theirs) == 1;

    FUZZ_CHECK((ni_parse_gid(span, ours) == 0) == gid, "GID `%s`", s);
    FUZZ_CHECK(!gid || memcmp(ours, theirs, sizeof(ours)) == 0, "GID `%s`", s);
    if (gid)
        check_ip_text(ours);
    if (ni_parse_hex_ip(span, ours) == 0) {
        for (unsigned i = 0; i < NI_GID_BYTES; i++) {
            char hex[3] = {s[2 * i], s[2 * i + 1], '\0'};
            FUZZ_CHECK(strtoul(hex, NULL, 16) == ours[i], "`%s`", s);
        }
        FUZZ_CHECK(span.n == 32, "`%s`", s);
    }
    bool known = isdigit((unsigned char)*s) && inet_pton(AF_INET, s, v4) == 1,
         parsed = ni_parse_ipv4(span, ours) == 0;
    FUZZ_CHECK(known == parsed, "IPv4 `%s`", s);
    FUZZ_CHECK(!parsed || (ni_ip_is_v4(ours) && memcmp(ours + 12, v4, sizeof(v4)) == 0), "`%s`", s);
}

static void check_prefix(const uint8_t *a, const uint8_t *b, unsigned bits)
{
    bool same = true;
    for (unsigned i = 0; i < bits; i++)
        same = same && ((unsigned)(a[i / 8] ^ b[i / 8]) >> (7 - i % 8) & 1) == 0;
    FUZZ_CHECK(ni_ip_same_prefix(a, b, bits) == same, "%u bits", bits);
}

/* ---- names ---- */

static void check_quoted(const char *s, size_t n)
{
    char buf[64];
    struct ni_text t = ni_text_on(buf, sizeof(buf));

    ni_put_quoted(&t, s, n, 12);
    FUZZ_CHECK(!t.cut && t.len <= 12 * 4 + 3 && strlen(buf) == t.len, "%zu bytes", t.len);
    for (size_t i = 0; i < t.len; i++)
        FUZZ_CHECK(buf[i] >= ' ' && buf[i] <= '~', "byte %02x", (unsigned char)buf[i]);
    t = ni_text_on(buf, 1 + n % 9);
    ni_put_quoted(&t, s, n, 10);
    FUZZ_CHECK(t.len <= n % 9 && strlen(buf) == t.len && (t.cut || t.len >= (n < 10 ? n : 10)),
               "cut at %zu", t.len);
}

/* An exact list with a port takes that port of that name and nothing else. */
static void check_name(const char *s)
{
    struct ni_span span = ni_span_of(s);
    char list[NI_DEV_NAME + 8], longer[NI_DEV_NAME + 8];

    FUZZ_CHECK(!ni_is_aux_id(span) || ni_is_name(span, NI_DEV_NAME), "`%s`", s);
    if (!ni_is_name(span, NI_DEV_NAME))
        return;
    FUZZ_CHECK(span.n > 0 && !strpbrk(s, ",:=^ /\t\n"), "name `%s`", s);
    FUZZ_CHECK(ni_format(list, sizeof(list), "=%s:1", s) &&
                   ni_format(longer, sizeof(longer), "%s0", s),
               "%s", s);
    FUZZ_CHECK(ni_nccl_match(list, s, 1) && !ni_nccl_match(list, s, 2) &&
                   !ni_nccl_match(list, longer, 1),
               "%s", list);
}

static void check_words(const char *s)
{
    int err = ni_errno_of(ni_span_of(s));

    FUZZ_CHECK(err >= 0 && (err == 0 || ni_errno_of(ni_span_of(ni_errno_name(err))) == err), "%s",
               s);
}

/* ---- lists ---- */

/* Pieces and separators are the text again; none has a blank at its ends once trimmed. */
static void check_split(const char *s)
{
    const char *cursor = s, *at = s;
    struct ni_span e;

    while (ni_split(&cursor, ',', &e)) {
        struct ni_span trimmed = ni_trim(e);
        FUZZ_CHECK(e.p == at && !memchr(e.p, ',', e.n), "`%s`", s);
        FUZZ_CHECK(trimmed.p >= e.p && trimmed.p + trimmed.n <= e.p + e.n, "`%s`", s);
        at = e.p + e.n + (e.p[e.n] == ',');
    }
    FUZZ_CHECK(*at == '\0', "`%s` was not split to its end", s);
}

/* NCCL's reading by the words of its source (2.30.7 misc/utils.cc): pieces without a name do not
   count, the 33rd and later are dropped; a port is what atoi makes of it, -1 and none any. */
static bool nccl_takes(const char *list, const char *name, int port)
{
    bool invert = *list == '^', any = false;
    char *copy = strdup(list + invert), *p = copy;
    bool exact = *p == '=';
    unsigned n = 0;

    FUZZ_CHECK(copy, "no memory");
    p += exact;
    for (char *e; n < 32 && (e = strsep(&p, ",")) != NULL;) {
        char *ports = e, *prefix = strsep(&ports, ":");
        if (!*prefix)
            continue;
        n++;
        ports = ports ? strsep(&ports, ":") : NULL;
        /* as glibc has it: beyond long is LONG_MAX, of which int keeps -1 */
        int wanted = ports && *ports ? (int)strtol(ports, NULL, 10) : -1;
        bool same = exact ? strcmp(name, prefix) == 0 : ni_has_prefix(name, prefix);
        any = any || (same && (port == -1 || wanted == -1 || wanted == port));
    }
    free(copy);
    return n == 0 ? !invert : any != invert;
}

static void check_list(char *const s[LINES])
{
    int port = s[2][0] == '-' ? -1 : s[2][0] & 3;
    bool takes = nccl_takes(s[0], s[1], port);

    FUZZ_CHECK(ni_nccl_match(s[0], s[1], port) == takes, "`%s` %s `%s`:%d", s[0],
               takes ? "takes" : "does not take", s[1], port);
}

/* The parsers of spans end where the span does, and say the same whatever stands behind it. */
static void check_bounds(const char *s, struct ni_span bare)
{
    struct ni_span whole = ni_span_of(s);
    uint8_t a[NI_GID_BYTES], b[NI_GID_BYTES];
    struct ni_bdf x, y;
    uint64_t v, w;

    if (whole.n != bare.n) /* it holds a NUL */
        return;
    FUZZ_CHECK(ni_parse_u64(whole, 7, &v) == ni_parse_u64(bare, 7, &w), "`%s`", s);
    FUZZ_CHECK(ni_parse_hex(whole, 7, &v) == ni_parse_hex(bare, 7, &w), "`%s`", s);
    FUZZ_CHECK(ni_parse_bdf(whole, &x) == ni_parse_bdf(bare, &y), "`%s`", s);
    FUZZ_CHECK(ni_parse_gid(whole, a) == ni_parse_gid(bare, b), "`%s`", s);
    FUZZ_CHECK(ni_parse_hex_ip(whole, a) == ni_parse_hex_ip(bare, b), "`%s`", s);
    FUZZ_CHECK(ni_parse_ipv4(whole, a) == ni_parse_ipv4(bare, b), "`%s`", s);
    FUZZ_CHECK(ni_is_name(whole, NI_DEV_NAME) == ni_is_name(bare, NI_DEV_NAME), "`%s`", s);
    FUZZ_CHECK(ni_is_aux_id(whole) == ni_is_aux_id(bare), "`%s`", s);
}

static void check_word(const char *s)
{
    check_number(s, 10);
    check_number(s, 16);
    check_bdf(s);
    check_addresses(s);
    check_name(s);
    if (isalpha((unsigned char)*s))
        check_words(s);
    check_split(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char rest[LINES][MOST + 1];
    struct fuzz_input in = {(const char *)data, size};
    struct ni_span word = {"", 0}, s;
    char *line[LINES] = {NULL, rest[1], rest[2]};

    if (size > MOST)
        return 0;
    (void)fuzz_piece(&in, '\n', &word);
    line[0] = fuzz_text(word.p, word.n);
    check_quoted(word.p, word.n);
    check_word(line[0]);
    if (word.n == size) /* the end of the input, which is the end of its memory */
        check_bounds(line[0], word);
    for (unsigned i = 1; i < LINES; i++) {
        s = (struct ni_span){"", 0};
        (void)fuzz_piece(&in, '\n', &s);
        (void)ni_copyn(line[i], MOST + 1, s.p, s.n);
    }
    check_list(line);
    if (size >= 2 * NI_GID_BYTES) {
        check_ip_text(data);
        for (unsigned bits = data[0] % 17u; bits <= 128; bits += 17)
            check_prefix(data, data + NI_GID_BYTES, bits);
    }
    free(line[0]);
    return 0;
}
