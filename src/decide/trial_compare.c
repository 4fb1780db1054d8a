/* SPDX-License-Identifier: Apache-2.0 */
/* What a device says, against what sysfs says and the plan counts on. */
#include <string.h>

#include "check.h"

static const struct ni_trial_gid *told(const struct ni_trial *t, unsigned port, unsigned index)
{
    for (unsigned i = 0; i < t->n_gid; i++) {
        if (t->table[i].port == port && t->table[i].index == index)
            return &t->table[i];
    }
    return NULL;
}

/* Entries of the port that one of the two lacks, or that differ. sysfs is whole only where it was
   read to the end. *ret_first: of the first such index, -1. */
static unsigned count_different(const struct ni_inventory *inv, const struct ni_port *port,
                                const struct ni_trial *t, int *ret_first)
{
    unsigned n = 0, same = 0, total = 0;
    *ret_first = -1;
    for (unsigned i = 0; i < port->n_gid; i++) {
        const struct ni_gid *g = ni_port_gid(inv, port, i);
        const struct ni_trial_gid *its = told(t, port->num, g->index);
        const bool type = !its || g->type == NI_GID_UNREAD || port->link != NI_LINK_ROCE ||
                          its->v2 == (g->type == NI_GID_V2);
        if (its && type && memcmp(its->ip, g->ip, NI_GID_BYTES) == 0) {
            same++;
            continue;
        }
        if (n++ == 0)
            *ret_first = g->index;
    }
    for (unsigned i = 0; i < t->n_gid; i++)
        total += t->table[i].port == port->num;
    return port->gids_complete && total > same + n ? total - same : n;
}

static void compare_gids(const struct ni_facts *facts, const struct ni_trial *t,
                         struct ni_findings *f)
{
    const struct ni_inventory *inv = facts->inv;
    const struct ni_hca *hca = &inv->hca[inv->port[t->at].hca];
    if (t->gid_err != 0 || t->device.dmabuf == NI_UNSET)
        return;
    for (unsigned i = 0; i < hca->n_port; i++) {
        const struct ni_port *port = &inv->port[hca->first_port + (int)i];
        int first;
        unsigned n = count_different(inv, port, t, &first);
        char name[NI_DEV_NAME + 8], where[40] = "";
        if (n == 0 || port->link != NI_LINK_ROCE) /* InfiniBand's are not read */
            continue;
        if (first >= 0)
            (void)ni_format(where, sizeof(where), ", first at index %d", first);
        ni_report(f, NI_F_VERBS_GID_DIFFERS, ni_port_text(inv, hca->first_port + (int)i, name),
                  "%u GID entr%s between sysfs and the device%s", n,
                  n == 1 ? "y differs" : "ies differ", where);
    }
}

/* The plan counted on DMA-BUF, and the device's driver has none. */
static void compare_dmabuf(const struct ni_facts *facts, const struct ni_trial *t, const char *name,
                           struct ni_findings *f)
{
    const struct ni_inventory *inv = facts->inv;
    if (t->device.dmabuf == NI_ABSENT && inv->n_gpu > 0 && inv->gdr.peermem != NI_KNOWN &&
        ni_has_dmabuf(inv))
        ni_report(f, NI_F_VERBS_DMABUF, name,
                  "ibv_reg_dmabuf_mr is not supported, and nvidia-peermem is not loaded: no "
                  "GPUDirect RDMA through this HCA");
}

void ni_compare_trial(const struct ni_facts *facts, const struct ni_trial *t, const char *name,
                      struct ni_findings *f)
{
    compare_gids(facts, t, f);
    compare_dmabuf(facts, t, name, f);
}
