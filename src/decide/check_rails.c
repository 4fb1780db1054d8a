/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that compare the rails: NCCL spreads its traffic evenly, so the slowest one sets the pace.
   */
#include <string.h>

#include "check.h"

static void say_rate(struct ni_text *t, int64_t mbps)
{
    ni_putf(t, "%lld", (long long)(mbps / 1000));
    if (mbps % 1000)
        ni_putf(t, ".%lld", (long long)(mbps % 1000 / 100));
    ni_put(t, " Gb/s");
}

enum ni_outcome ni_check_rate(const struct ni_facts *facts, const struct ni_plan *plan,
                              struct ni_findings *f)
{
    const struct ni_inventory *inv = facts->inv;
    struct ni_seen seen = {0};
    int fastest = -1;
    for (unsigned i = 0; i < plan->n_chosen; i++) {
        const struct ni_port *port = &inv->port[plan->chosen[i]];
        bool known = port->mbps.known == NI_KNOWN;
        seen.judged += known;
        seen.unknown += !known;
        if (known && (fastest < 0 || port->mbps.v > inv->port[fastest].mbps.v))
            fastest = plan->chosen[i];
    }
    for (unsigned i = 0; fastest >= 0 && i < plan->n_chosen; i++) {
        const struct ni_port *port = &inv->port[plan->chosen[i]];
        char name[NI_DEV_NAME + 8], other[NI_DEV_NAME + 8], slow[32], fast[32];
        struct ni_text s = ni_text_on(slow, sizeof(slow)), q = ni_text_on(fast, sizeof(fast));
        if (port->mbps.known != NI_KNOWN || port->mbps.v >= inv->port[fastest].mbps.v)
            continue;
        say_rate(&s, port->mbps.v);
        say_rate(&q, inv->port[fastest].mbps.v);
        ni_report(f, NI_F_RAIL_RATE_DIFFERS, ni_port_text(inv, plan->chosen[i], name),
                  "runs at %s, %s at %s: all rails go at the pace of this one", slow,
                  ni_port_text(inv, fastest, other), fast);
    }
    return ni_seen_outcome(&seen);
}

/* The MTU that bounds a RoCE port: its function's own interface, else that of its GID. */
static struct ni_num port_mtu(const struct ni_inventory *inv, const struct ni_plan *plan, int port,
                              const char **ret_ifname)
{
    const struct ni_health_hca *h = &inv->health.hca[inv->port[port].hca];
    int gid = plan->pick[port].gid;
    *ret_ifname = h->netdev;
    if (h->netdev_known == NI_KNOWN)
        return h->mtu;
    const struct ni_netdev *d = gid < 0 ? NULL : ni_find_netdev(inv, inv->gid[gid].ndev);
    if (!d)
        return (struct ni_num){0, NI_UNSET};
    *ret_ifname = d->name;
    return d->mtu;
}

enum ni_outcome ni_check_mtu(const struct ni_facts *facts, const struct ni_plan *plan,
                             struct ni_findings *f)
{
    enum {
        FOR_4096 = 4200
    }; /* 4096 bytes and the headers of RoCE (drivers/infiniband/core/verbs.c iboe_get_mtu) */
    const struct ni_inventory *inv = facts->inv;
    const char *small_if = "", *large_if = "", *ifname;
    int small = -1, large = -1;
    int64_t least = 0, most = 0;
    struct ni_seen seen = {0};
    for (unsigned i = 0; i < plan->n_chosen; i++) {
        int at = plan->chosen[i];
        if (inv->port[at].link != NI_LINK_ROCE)
            continue;
        struct ni_num mtu = port_mtu(inv, plan, at, &ifname);
        bool known = mtu.known == NI_KNOWN;
        seen.judged += known;
        seen.unknown += !known;
        if (known && (small < 0 || mtu.v < least)) {
            small = at;
            least = mtu.v;
            small_if = ifname;
        }
        if (known && (large < 0 || mtu.v > most)) {
            large = at;
            most = mtu.v;
            large_if = ifname;
        }
    }
    char a[NI_DEV_NAME + 8], b[NI_DEV_NAME + 8];
    if (small >= 0 && least != most)
        ni_report(f, NI_F_RAIL_MTU_DIFFERS, ni_port_text(inv, small, a),
                  "MTU %lld on %s, but %lld on %s (%s): a rail of its own size, and retries where "
                  "the switch drops what is too large",
                  (long long)least, small_if, (long long)most, large_if,
                  ni_port_text(inv, large, b));
    else if (small >= 0 && most < FOR_4096)
        ni_report(f, NI_F_RAIL_MTU_SMALL, ni_port_text(inv, small, a),
                  "MTU %lld on %s and all other rails: RoCE packets carry %d bytes instead of 4096",
                  (long long)most, small_if, most < 2200 ? 1024 : 2048);
    return ni_seen_outcome(&seen);
}

enum ni_outcome ni_check_firmware(const struct ni_facts *facts, const struct ni_plan *plan,
                                  struct ni_findings *f)
{
    const struct ni_inventory *inv = facts->inv;
    const struct ni_health_hca *health = inv->health.hca;
    struct ni_seen seen = {0};
    for (unsigned i = 0; i < inv->n_hca; i++) {
        if (!ni_is_kept(inv, plan, i))
            continue;
        bool known = health[i].fw[0] && health[i].type[0];
        seen.judged += known;
        seen.unknown += !known;
        for (unsigned k = 0; known && k < i; k++) { /* the first of its type is the measure */
            if (!ni_is_kept(inv, plan, k) || strcmp(health[k].type, health[i].type) != 0)
                continue;
            if (strcmp(health[k].fw, health[i].fw) != 0)
                ni_report(f, NI_F_RAIL_FIRMWARE_DIFFERS, inv->hca[i].name,
                          "firmware %s, %s has %s; both are %s", health[i].fw, inv->hca[k].name,
                          health[k].fw, health[i].type);
            break;
        }
    }
    return ni_seen_outcome(&seen);
}
