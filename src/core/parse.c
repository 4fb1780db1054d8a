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
    if (!ni_is_name(s, NI_DEV_NAME))
        return false;
    const char *end = s.p + s.n, *name = memchr(s.p, '.', s.n);
    const char *number = name ? memchr(name + 1, '.', (size_t)(end - name - 1)) : NULL;
    uint64_t id;
    return number && name > s.p && number > name + 1 &&
           ni_parse_u64((struct ni_span){number + 1, (size_t)(end - number - 1)}, UINT32_MAX,
                        &id) == 0;
}

/* Eight groups of four digits, with so many colons between two. */
static int parse_groups(struct ni_span s, size_t colons, uint8_t ret[NI_GID_BYTES])
{
    uint64_t group;
    if (s.n != 8 * 4 + 7 * colons)
        return -EINVAL;
    for (size_t i = 0; i < 8; i++) {
        const char *at = s.p + i * (4 + colons);
        if (ni_parse_hex((struct ni_span){at, 4}, UINT16_MAX, &group) < 0 ||
            (colons && i < 7 && at[4] != ':'))
            return -EINVAL;
        ret[2 * i] = (uint8_t)(group >> 8);
        ret[2 * i + 1] = (uint8_t)group;
    }
    return 0;
}

int ni_parse_gid(struct ni_span s, uint8_t ret[NI_GID_BYTES])
{
    return parse_groups(s, 1, ret);
}

int ni_parse_hex_ip(struct ni_span s, uint8_t ret[NI_GID_BYTES])
{
    return parse_groups(s, 0, ret);
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
