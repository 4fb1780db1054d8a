/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses and GIDs: sixteen bytes in network order. */
#include <arpa/inet.h>
#include <string.h>

#include "nccl_init/core.h"

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

    /* It fails only without room, and NI_IP_TEXT is INET6_ADDRSTRLEN. */
    if (!inet_ntop(family, address, buf, NI_IP_TEXT))
        buf[0] = '\0';
    return buf;
}
