/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers, parsed strictly from the texts that the kernel, plugins and people write. */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "nccl_init/base.h"
#include "nccl_init/number.h"
#include "nccl_init/text.h"

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
    static const char units[] = "kmg";
    const struct ni_span digits = {text, strspn(text, "0123456789")};
    const char *end = text + digits.n;
    unsigned shift = 0;
    uint64_t n;

    if (*end) {
        const char *unit = strchr(units, tolower((unsigned char)*end));

        if (!unit || (end[1] && strcmp(end + 1, "i") != 0 && strcmp(end + 1, "iB") != 0))
            return -EINVAL;
        shift = 10 * (unsigned)(unit - units + 1);
    }
    if (ni_parse_u64(digits, (uint64_t)max >> shift, &n) < 0 || (int64_t)(n << shift) < min)
        return -EINVAL;
    *ret = (int64_t)(n << shift);
    return 0;
}

void ni_put_bytes(struct ni_text *t, int64_t bytes)
{
    static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    const bool large = bytes >= INT64_C(256) << 30;
    size_t u = 0;

    if (bytes == NI_UNLIMITED) {
        ni_put(t, "unlimited");
        return;
    }
    while (bytes != 0 && bytes % 1024 == 0 && u + 1 < NI_COUNT(unit)) {
        bytes /= 1024;
        u++;
    }
    /* "1007.6 GiB", not "1056561952 KiB"; a limit that matters is smaller, and stays exact */
    if (large && bytes >= 10240 && u + 1 < NI_COUNT(unit)) {
        double size = (double)bytes;

        while (size >= 1024 && u + 1 < NI_COUNT(unit)) {
            size /= 1024;
            u++;
        }
        ni_putf(t, "%.1f %s", size, unit[u]);
        return;
    }
    ni_putf(t, "%lld %s", (long long)bytes, unit[u]);
}
