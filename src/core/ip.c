/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses and GIDs: sixteen bytes in network order. */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "nccl_init/base.h"
#include "nccl_init/ip.h"
#include "nccl_init/number.h"
#include "nccl_init/text.h"

static const uint8_t v4_prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

void ni_ip_from_v4(uint32_t host_order, uint8_t ret[NI_GID_BYTES])
{
    memcpy(ret, v4_prefix, sizeof(v4_prefix));
    ret[12] = (uint8_t)(host_order >> 24);
    ret[13] = (uint8_t)(host_order >> 16);
    ret[14] = (uint8_t)(host_order >> 8);
    ret[15] = (uint8_t)host_order;
}

bool ni_ip_is_zero(const uint8_t ip[NI_GID_BYTES])
{
    static const uint8_t zero[NI_GID_BYTES];

    return memcmp(ip, zero, sizeof(zero)) == 0;
}

bool ni_ip_is_v4(const uint8_t ip[NI_GID_BYTES])
{
    return memcmp(ip, v4_prefix, sizeof(v4_prefix)) == 0;
}

bool ni_ip_is_link_local(const uint8_t ip[NI_GID_BYTES])
{
    if (ni_ip_is_v4(ip))
        return ip[12] == 169 && ip[13] == 254;
    return ip[0] == 0xfe && (ip[1] & 0xc0) == 0x80;
}

bool ni_ip_is_loopback(const uint8_t ip[NI_GID_BYTES])
{
    if (ni_ip_is_v4(ip))
        return ip[12] == 127;
    static const uint8_t one[NI_GID_BYTES] = {[15] = 1};
    return memcmp(ip, one, sizeof(one)) == 0;
}

bool ni_ip_same_prefix(const uint8_t a[NI_GID_BYTES], const uint8_t b[NI_GID_BYTES], unsigned bits)
{
    unsigned whole = bits / 8, rest = bits % 8;

    if (memcmp(a, b, whole) != 0)
        return false;
    if (rest == 0)
        return true;
    unsigned mask = 0xffu & (0xffu << (8 - rest));
    return ((unsigned)(a[whole] ^ b[whole]) & mask) == 0;
}

const char *ni_ip_text(const uint8_t ip[NI_GID_BYTES], char buf[NI_IP_TEXT])
{
    const int family = ni_ip_is_v4(ip) ? AF_INET : AF_INET6;
    const uint8_t *address = ni_ip_is_v4(ip) ? ip + sizeof(v4_prefix) : ip;

    /* it fails only for lack of room, and NI_IP_TEXT is INET6_ADDRSTRLEN */
    if (!inet_ntop(family, address, buf, NI_IP_TEXT))
        buf[0] = '\0';
    return buf;
}

/* Parses eight groups of four digits, with so many colons between two. */
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
