/* SPDX-License-Identifier: Apache-2.0 */
/* NCCL's own search for a GID, followed step by step on the table that was read: NCCL 2.30.7
   transport/net_ib/connect.cc ncclIbGetGidIndex, ncclUpdateGidIndex; the same since 2.21.5. */
#include "rules/gid_search.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "nccl_init/inventory.h"
#include "nccl_init/ip.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "rules/decide.h"

/* Returns that entry of the table; one that was not read is empty, without a type. */
static const struct ni_gid *entry_or_empty(const struct ni_inventory *inv,
                                           const struct ni_port *port, unsigned index)
{
    static const struct ni_gid empty = {.type = NI_GID_UNREAD};
    const struct ni_gid *g = ni_gid_at(inv, port, index);

    return g ? g : &empty;
}

/* Returns true for an entry that NCCL's validGid takes: not empty, and not of fe80::/64, which is a
   part of the link-local addresses of RFC 4291. */
static bool is_valid(const struct ni_gid *e)
{
    static const uint8_t link_local[8] = {0xfe, 0x80};

    return !ni_ip_is_zero(e->ip) && memcmp(e->ip, link_local, sizeof(link_local)) != 0;
}

struct ni_gid_end ni_gid_end(const struct ni_inventory *inv, const struct ni_port *port,
                             const struct ni_gid_selection *selection)
{
    struct ni_gid_end end = {.unproven = port->gids_lost};

    if (selection->index >= 0)
        return (struct ni_gid_end){.index = (unsigned)selection->index,
                                   .gid = ni_gid_at(inv, port, (unsigned)selection->index)};
    const struct ni_gid *old = entry_or_empty(inv, port, 0);
    for (unsigned i = 1; i < port->gids_read; i++) {
        const struct ni_gid *cand = entry_or_empty(inv, port, i);
        /* getGidAddrFamily: anything but ::ffff:a.b.c.d, an empty entry too, counts as IPv6 */
        const bool v4 = ni_ip_is_v4(cand->ip);

        if (v4 == selection->v6 || selection->no_range ||
            (selection->ranged && !ni_ip_same_prefix(cand->ip, selection->range, selection->bits)))
            continue;
        /* the wanted family is taken, valid or not, whatever its version */
        bool take = v4 != ni_ip_is_v4(old->ip);
        if (!take && is_valid(cand)) {
            const bool wanted = (cand->type == NI_GID_V1 && selection->version == 1) ||
                                (cand->type == NI_GID_V2 && selection->version == 2);

            take = wanted && (old->type != cand->type || !is_valid(old));
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

/* Parses an address of that family. false: it is none. */
static bool parse_address(struct ni_span s, bool v6, uint8_t ret[NI_GID_BYTES])
{
    char text[INET6_ADDRSTRLEN];

    if (!v6)
        return ni_parse_ipv4(s, ret) == 0;
    return ni_copyn(text, sizeof(text), s.p, s.n) && inet_pton(AF_INET6, text, ret) == 1;
}

/* Parses NCCL_IB_ADDR_RANGE as NCCL does (envIbAddrRange). false: NCCL ignores it, because it has
   no "/", a bad address or a mask that is too long. A range with a negative mask counts, but no
   address is in it (matchGidAddrPrefix). */
static bool parse_address_range(const char *text, struct ni_gid_selection *selection)
{
    const char *slash = strchr(text, '/');

    if (!slash)
        return false;
    const struct ni_span address = {text, (size_t)(slash - text)};
    if (!parse_address(address, selection->v6, selection->range))
        return false;
    const int bits = (int)strtol(slash + 1, NULL, 10); /* NCCL also cuts it to 32 bits */
    selection->no_range = bits < 0;
    if (selection->no_range)
        return true;
    if (bits > (selection->v6 ? 128 : 32))
        return false;
    selection->bits = (unsigned)bits + (selection->v6 ? 0 : 96);
    selection->ranged = true;
    return true;
}

bool ni_user_selection(const struct ni_work *w, struct ni_gid_selection *selection)
{
    const char *family = ni_user_value(w, "NCCL_IB_ADDR_FAMILY");
    const char *range = ni_user_value(w, "NCCL_IB_ADDR_RANGE");
    const char *version = ni_user_value(w, "NCCL_IB_ROCE_VERSION_NUM");
    const int index = (int)ni_user_int(w, "NCCL_IB_GID_INDEX", -1); /* NCCL holds it in an int */

    if (ni_user_value(w, "NCCL_IB_GID_INDEX"))
        selection->index = index >= 0 ? index : -1;
    bool v6 = family ? strcmp(family, "AF_INET6") == 0 : selection->v6;
    if (range || v6 != selection->v6) /* a range of the other family does not count */
        selection->ranged = selection->no_range = false;
    selection->v6 = v6;
    selection->bad_range = range && *range && !parse_address_range(range, selection);
    selection->version = ni_user_int(w, "NCCL_IB_ROCE_VERSION_NUM", 2);
    return (family && *family) || (range && *range) || (version && *version);
}
