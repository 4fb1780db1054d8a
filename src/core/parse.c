/* SPDX-License-Identifier: Apache-2.0 */
/* Strict parsers of what the kernel, plugins and people write. */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "nccl_init/core.h"

int ni_hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

static int parse_base(struct ni_span s, unsigned base, uint64_t max, uint64_t *ret)
{
    if (s.n == 0)
        return -EINVAL;
    uint64_t v = 0;
    bool over = false;
    for (size_t i = 0; i < s.n; i++) {
        int d = ni_hex_digit(s.p[i]);
        if (d < 0 || (unsigned)d >= base)
            return -EINVAL;
        over = __builtin_mul_overflow(v, base, &v) || __builtin_add_overflow(v, (unsigned)d, &v) ||
               over;
    }
    if (over || v > max)
        return -ERANGE;
    *ret = v;
    return 0;
}

int ni_parse_u64(struct ni_span s, uint64_t max, uint64_t *ret)
{
    return parse_base(s, 10, max, ret);
}

int ni_parse_hex(struct ni_span s, uint64_t max, uint64_t *ret)
{
    return parse_base(s, 16, max, ret);
}

int ni_parse_bytes(const char *text, int64_t min, int64_t max, int64_t *ret)
{
    static const char units[] = "KMG";
    struct ni_span digits = ni_span_of(text);
    const char *unit = digits.n > 0 ? strchr(units, text[digits.n - 1]) : NULL;
    unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
    uint64_t n;

    digits.n -= unit != NULL;
    if (ni_parse_u64(digits, (uint64_t)max >> shift, &n) < 0 || (int64_t)(n << shift) < min)
        return -EINVAL;
    *ret = (int64_t)(n << shift);
    return 0;
}

int ni_parse_bdf(struct ni_span s, struct ni_bdf *ret)
{
    /* The tail ":bb:dd.f" has a fixed length; what is before it is the domain. */
    if (s.n < 12 || s.n > 16)
        return -EINVAL;
    const char *t = s.p + s.n - 8;
    if (t[0] != ':' || t[3] != ':' || t[6] != '.')
        return -EINVAL;
    uint64_t domain, bus, dev, fn;
    if (ni_parse_hex((struct ni_span){s.p, s.n - 8}, UINT32_MAX, &domain) < 0 ||
        ni_parse_hex((struct ni_span){t + 1, 2}, 0xff, &bus) < 0 ||
        ni_parse_hex((struct ni_span){t + 4, 2}, 0x1f, &dev) < 0 ||
        ni_parse_hex((struct ni_span){t + 7, 1}, 7, &fn) < 0)
        return -EINVAL;
    *ret = (struct ni_bdf){(uint32_t)domain, (uint8_t)bus, (uint8_t)dev, (uint8_t)fn};
    return 0;
}

static uint64_t bdf_key(struct ni_bdf b)
{
    return (uint64_t)b.domain << 24 | (uint64_t)b.bus << 16 | (uint64_t)b.dev << 8 | b.fn;
}

int ni_bdf_cmp(struct ni_bdf a, struct ni_bdf b)
{
    uint64_t x = bdf_key(a), y = bdf_key(b);
    return x < y ? -1 : x > y;
}

bool ni_is_aux_id(struct ni_span s)
{
    if (s.n >= NI_DEV_NAME || !ni_is_name(s, NI_DEV_NAME))
        return false;
    size_t dots = 0, last = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] != '.')
            continue;
        if (i == 0 || s.p[i - 1] == '.')
            return false;
        dots++;
        last = i;
    }
    uint64_t id;
    return dots == 2 &&
           ni_parse_u64((struct ni_span){s.p + last + 1, s.n - last - 1}, UINT32_MAX, &id) == 0;
}

static int parse_hex_bytes(struct ni_span s, size_t group, uint8_t ret[NI_GID_BYTES])
{
    size_t at = 0;
    for (size_t i = 0; i < NI_GID_BYTES; i++) {
        if (group && i > 0 && i % group == 0) {
            if (at >= s.n || s.p[at] != ':')
                return -EINVAL;
            at++;
        }
        if (at + 2 > s.n)
            return -EINVAL;
        int hi = ni_hex_digit(s.p[at]), lo = ni_hex_digit(s.p[at + 1]);
        if (hi < 0 || lo < 0)
            return -EINVAL;
        ret[i] = (uint8_t)(hi << 4 | lo);
        at += 2;
    }
    return at == s.n ? 0 : -EINVAL;
}

int ni_parse_gid(struct ni_span s, uint8_t ret[NI_GID_BYTES])
{
    return parse_hex_bytes(s, 2, ret);
}

int ni_parse_hex_ip(struct ni_span s, uint8_t ret[NI_GID_BYTES])
{
    return parse_hex_bytes(s, 0, ret);
}

int ni_parse_ipv4(struct ni_span s, uint8_t ret[NI_GID_BYTES])
{
    char text[INET_ADDRSTRLEN];
    uint8_t ip[4];
    if (!ni_copyn(text, sizeof(text), s.p, s.n) || strlen(text) != s.n ||
        inet_pton(AF_INET, text, ip) != 1)
        return -EINVAL;
    ni_ip_from_v4((uint32_t)ip[0] << 24 | (uint32_t)ip[1] << 16 | (uint32_t)ip[2] << 8 | ip[3],
                  ret);
    return 0;
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

enum ni_known ni_known_of(int64_t answer)
{
    if (answer >= 0)
        return NI_KNOWN;
    switch (answer) {
    case -ENOENT:
    case -ENOTDIR:
    case -ENODEV:
        return NI_ABSENT;
    case -EOVERFLOW:
    case -EILSEQ:
        return NI_BAD;
    default:
        return NI_DENIED;
    }
}

const char *ni_known_text(enum ni_known known)
{
    static const char *const text[] = {
        [NI_UNSET] = "unread",  [NI_ABSENT] = "absent", [NI_DENIED] = "denied",
        [NI_BAD] = "malformed", [NI_KNOWN] = "known",
    };
    return text[known];
}
