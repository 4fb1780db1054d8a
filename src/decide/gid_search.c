/* SPDX-License-Identifier: Apache-2.0 */
/* NCCL's own search for a GID, followed step by step on the table that was read: NCCL 2.30.7
   transport/net_ib/connect.cc ncclIbGetGidIndex, ncclUpdateGidIndex; the same since 2.21.5. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "rule.h"

/* A row of the table; what was not read is empty, without a type. */
static const struct ni_gid *row(const struct ni_inventory *inv, const struct ni_port *port,
                                unsigned index)
{
    static const struct ni_gid empty = {.type = NI_GID_UNREAD};
    const struct ni_gid *g = ni_gid_at(inv, port, index);
    return g ? g : &empty;
}

/* getGidAddrFamily: ::ffff:a.b.c.d, or ff0e::ffff:a.b.c.d; anything else, an empty entry too,
   counts as IPv6. */
static bool is_v6(const struct ni_gid *e)
{
    static const uint8_t multicast[12] = {0xff, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    return !ni_ip_is_v4(e->ip) && memcmp(e->ip, multicast, sizeof(multicast)) != 0;
}

/* validGid: not empty, and not of fe80::/64, narrower than what RFC 4291 calls link-local. */
static bool is_valid(const struct ni_gid *e)
{
    static const uint8_t link_local[8] = {0xfe, 0x80};
    return !ni_ip_is_zero(e->ip) && memcmp(e->ip, link_local, sizeof(link_local)) != 0;
}

static bool in_range(const struct ni_gid *e, const struct ni_gid_search *how)
{
    return !how->nothing && (!how->ranged || ni_ip_same_prefix(e->ip, how->range, how->bits));
}

static bool has_version(const struct ni_gid *e, int64_t version)
{
    return (e->type == NI_GID_V1 && version == 1) || (e->type == NI_GID_V2 && version == 2);
}

struct ni_gid_end ni_nccl_gid_search(const struct ni_inventory *inv, const struct ni_port *port,
                                     const struct ni_gid_search *how)
{
    struct ni_gid_end end = {.unproven = port->gids_lost};
    const struct ni_gid *old = row(inv, port, 0);
    for (unsigned i = 1; i < port->gids_read; i++) {
        const struct ni_gid *cand = row(inv, port, i);
        if (is_v6(cand) != how->v6 || !in_range(cand, how))
            continue;
        /* the wanted family is taken, valid or not, whatever its version */
        bool take = is_v6(cand) != is_v6(old);
        if (!take && is_valid(cand)) {
            bool wanted = has_version(cand, how->version);
            take = wanted && (old->type != cand->type || !is_valid(old));
            end.unread = end.unread || old->type == NI_GID_UNREAD || cand->type == NI_GID_UNREAD;
            end.unproven = end.unproven || (wanted && old->type == NI_GID_UNREAD && is_valid(old));
        }
        if (take) {
            old = cand;
            end.index = i;
        }
    }
    end.gid = end.unproven ? NULL : ni_gid_at(inv, port, end.index);
    return end;
}

/* NCCL_IB_ADDR_RANGE as NCCL reads it (envIbAddrRange). false: no "/", a bad address or a mask too
   long is no range at all. */
static bool parse_range(const char *text, struct ni_gid_search *how)
{
    char address[128];
    unsigned char raw[16];
    const char *slash = strchr(text, '/');
    if (!slash || !ni_copyn(address, sizeof(address), text, (size_t)(slash - text)) ||
        inet_pton(how->v6 ? AF_INET6 : AF_INET, address, raw) != 1)
        return false;
    long bits = strtol(slash + 1, NULL, 10);
    if (bits > (how->v6 ? 128 : 32))
        return false;
    how->nothing = bits < 0; /* a negative mask matches no entry */
    bits = bits < 0 ? 0 : bits;
    if (how->v6)
        memcpy(how->range, raw, sizeof(how->range));
    else
        ni_ip_from_v4((uint32_t)raw[0] << 24 | (uint32_t)raw[1] << 16 | (uint32_t)raw[2] << 8 |
                          raw[3],
                      how->range);
    how->bits = (unsigned)bits + (how->v6 ? 0 : 96);
    how->ranged = true;
    return true;
}

bool ni_user_search(const struct ni_work *w, struct ni_gid_search *how)
{
    const char *family = ni_user_value(w, "NCCL_IB_ADDR_FAMILY");
    const char *range = ni_user_value(w, "NCCL_IB_ADDR_RANGE");
    const char *version = ni_user_value(w, "NCCL_IB_ROCE_VERSION_NUM");
    bool v6 = family ? strcmp(family, "AF_INET6") == 0 : how->v6;
    if (range || v6 != how->v6) /* a range of the other family is none */
        how->ranged = how->nothing = false;
    how->v6 = v6;
    how->bad_range = range && *range && !parse_range(range, how);
    how->version = ni_user_int(w, "NCCL_IB_ROCE_VERSION_NUM", 2);
    return (family && *family) || (range && *range) || (version && *version);
}
