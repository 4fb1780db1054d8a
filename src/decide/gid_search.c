/* SPDX-License-Identifier: Apache-2.0 */
/* NCCL's own search for a GID, followed step by step on the table that was read: NCCL 2.30.7
   transport/net_ib/connect.cc ncclIbGetGidIndex, ncclUpdateGidIndex; the same since 2.21.5. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "rule.h"

struct entry {
    const uint8_t *ip;
    enum ni_gid_type type;
};

static const uint8_t zero[NI_GID_BYTES];

static struct entry entry_at(const struct ni_inventory *inv, const struct ni_port *port,
                             unsigned index)
{
    for (unsigned i = 0; i < port->n_gid; i++) {
        const struct ni_gid *g = ni_port_gid(inv, port, i);
        if (g->index == index)
            return (struct entry){g->ip, g->type};
    }
    return (struct entry){zero, NI_GID_UNREAD};
}

/* getGidAddrFamily: ::ffff:a.b.c.d, or ff0e::ffff:a.b.c.d; anything else, an empty entry too,
   counts as IPv6. */
static bool is_v6(struct entry e)
{
    static const uint8_t multicast[12] = {0xff, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    return !ni_ip_is_v4(e.ip) && memcmp(e.ip, multicast, sizeof(multicast)) != 0;
}

/* validGid: not empty, and not of fe80::/64, narrower than what RFC 4291 calls link-local. */
static bool is_valid(struct entry e)
{
    static const uint8_t link_local[8] = {0xfe, 0x80};
    return !ni_ip_is_zero(e.ip) && memcmp(e.ip, link_local, sizeof(link_local)) != 0;
}

static bool in_range(struct entry e, const struct ni_gid_search *how)
{
    return !how->nothing && (!how->ranged || ni_ip_same_prefix(e.ip, how->range, how->bits));
}

static bool has_version(struct entry e, int64_t version)
{
    return (e.type == NI_GID_V1 && version == 1) || (e.type == NI_GID_V2 && version == 2);
}

unsigned ni_nccl_gid_search(const struct ni_inventory *inv, const struct ni_port *port,
                            const struct ni_gid_search *how)
{
    unsigned cur = 0;
    for (unsigned i = 1; i < port->gids_read; i++) {
        struct entry old = entry_at(inv, port, cur), cand = entry_at(inv, port, i);
        if (is_v6(cand) != how->v6 || !in_range(cand, how))
            continue;
        if (is_v6(cand) != is_v6(old)) {
            cur = i; /* the wanted family, valid or not, whatever its version */
            continue;
        }
        bool better = old.type != cand.type || !is_valid(old);
        if (is_valid(cand) && cand.type != NI_GID_UNREAD && better &&
            has_version(cand, how->version))
            cur = i;
    }
    return cur;
}

/* NCCL_IB_ADDR_RANGE as NCCL reads it (envIbAddrRange): no "/", a bad address or a mask too long is
   no range at all. */
static void parse_range(const char *text, struct ni_gid_search *how)
{
    char address[128];
    unsigned char raw[16];
    const char *slash = strchr(text, '/');
    if (!slash || !ni_copyn(address, sizeof(address), text, (size_t)(slash - text)) ||
        inet_pton(how->v6 ? AF_INET6 : AF_INET, address, raw) != 1)
        return;
    long bits = strtol(slash + 1, NULL, 10);
    if (bits > (how->v6 ? 128 : 32))
        return;
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
}

bool ni_user_search(const struct ni_facts *facts, struct ni_gid_search *ret)
{
    const char *family = ni_user_value(facts, "NCCL_IB_ADDR_FAMILY");
    const char *range = ni_user_value(facts, "NCCL_IB_ADDR_RANGE");
    const char *version = ni_user_value(facts, "NCCL_IB_ROCE_VERSION_NUM");
    *ret = (struct ni_gid_search){.v6 = family && strcmp(family, "AF_INET6") == 0,
                                  .version = ni_user_int(facts, "NCCL_IB_ROCE_VERSION_NUM", 2)};
    if (range && *range)
        parse_range(range, ret);
    return (family && *family) || (range && *range) || (version && *version);
}
