/* SPDX-License-Identifier: Apache-2.0 */
/* What doctor asks of the pod's RDMA devices: firmware, physical state of the ports, error counters,
   the traffic class that a driver forces, the RDMA cgroup. */
#include <string.h>

#include "probe.h"

/* "28.37.1014", "MT4126" */
static void read_word(struct ni_probe *p, const struct ni_dir *hca, const char *file, char *buf,
                      size_t cap)
{
    (void)ni_read_file(p, hca, NI_OPTIONAL, buf, cap, "%s", file);
    if (buf[0] && (unsigned char)buf[0] <= ' ')
        ni_note_odd(p, buf);
}

/* ---- counters ---- */

/* The HCA that has the wire: a VF's PF, where it is to be seen. */
static int wire_of(const struct ni_inventory *inv, int hca)
{
    for (unsigned i = 0; inv->hca[hca].is_vf && i < inv->n_hca; i++) {
        if (inv->hca[i].has_bdf && ni_bdf_cmp(inv->hca[i].bdf, inv->hca[hca].pf) == 0)
            return (int)i;
    }
    return hca;
}

/* A pod on a network of its own sees devices without counters, unless RDMA devices are separated by
   network namespace (drivers/infiniband/core/sysfs.c ib_setup_port_attrs). */
static void read_counters(struct ni_probe *p, struct ni_port *port, const struct ni_dir *own)
{
    const struct ni_dir wire =
        ni_dir_at(p->root, "%s/ports/%u", p->inv->hca[wire_of(p->inv, port->hca)].dir, port->num);
    for (unsigned link = 0; link < 2; link++) {
        const struct ni_dir *dir = link ? &wire : own;
        const bool there =
            ni_is_there(p, "%s/%scounters", dir->path, link ? "" : "hw_") == NI_KNOWN;
        for (unsigned i = 0; there && i < NI_N_COUNTER; i++) {
            if (ni_counters[i].link == link) /* the firmware tells a VF none of the wire: EINVAL */
                port->counter[i] =
                    ni_read_num(p, dir, NI_NOT_EINVAL, ni_parse_count, "%s", ni_counters[i].file);
        }
    }
}

/* "Global tclass=106" and rules by address (MLNX_OFED and DOCA only, mlx5_ib traffic_class_show). */
static struct ni_num read_traffic_class(struct ni_probe *p, const struct ni_dir *hca, unsigned port)
{
    static const char global[] = "Global tclass=";
    char buf[NI_PAGE];
    uint64_t v;
    const enum ni_known known =
        ni_read_file(p, hca, NI_OPTIONAL, buf, sizeof(buf), "tc/%u/traffic_class", port);
    if (known != NI_KNOWN)
        return (struct ni_num){-1, known};
    const char *digits = buf + strlen(global);
    if (!ni_has_prefix(buf, global))
        return (struct ni_num){-1, NI_KNOWN};
    if (ni_parse_u64((struct ni_span){digits, strcspn(digits, "\n")}, UINT8_MAX, &v) == 0)
        return (struct ni_num){(int64_t)v, NI_KNOWN};
    ni_note_odd(p, buf);
    return (struct ni_num){-1, NI_KNOWN};
}

/* ---- the RDMA cgroup ---- */

static bool cgroup_value(struct ni_span word, const char *name, struct ni_num *ret)
{
    const size_t n = strlen(name);
    uint64_t v;
    if (!ni_has_prefix(word.p, name))
        return false;
    const struct ni_span value = {word.p + n, word.n - n};
    if (ni_span_is(value, "max"))
        *ret = (struct ni_num){NI_UNLIMITED, NI_KNOWN};
    else if (ni_parse_u64(value, INT64_MAX, &v) == 0)
        *ret = (struct ni_num){(int64_t)v, NI_KNOWN};
    else
        *ret = (struct ni_num){0, NI_BAD};
    return true;
}

/* "mlx5_0 hca_handle=2 hca_object=2000" (kernel/cgroup/rdma.c rdmacg_resource_read). */
static void cgroup_line(void *ctx, const char *line)
{
    struct ni_inventory *inv = ctx;
    struct ni_hca *h = NULL;
    struct ni_span word;
    if (!ni_split(&line, ' ', &word))
        return;
    for (unsigned i = 0; !h && i < inv->n_hca; i++)
        h = ni_span_is(word, inv->hca[i].name) ? &inv->hca[i] : NULL;
    while (h && ni_split(&line, ' ', &word)) {
        if (!cgroup_value(word, "hca_handle=", &h->handles))
            (void)cgroup_value(word, "hca_object=", &h->objects);
    }
}

/* ---- all of it ---- */

static enum ni_netns_mode read_netns_mode(struct ni_probe *p)
{
    char buf[16];
    if (ni_read(p->root, buf, sizeof(buf), "sys/module/ib_core/parameters/netns_mode") < 0)
        return NI_NETNS_UNKNOWN;
    return strcmp(buf, "Y") == 0 || strcmp(buf, "1") == 0   ? NI_NETNS_SHARED
           : strcmp(buf, "N") == 0 || strcmp(buf, "0") == 0 ? NI_NETNS_EXCLUSIVE
                                                            : NI_NETNS_UNKNOWN;
}

void ni_health_rdma(struct ni_probe *p)
{
    struct ni_inventory *inv = p->inv;
    for (unsigned i = 0; i < inv->n_hca; i++) {
        struct ni_hca *h = &inv->hca[i];
        if (!ni_is_given(h))
            continue;
        struct ni_dir dir = ni_dir_open(p->root, "%s", h->dir);
        read_word(p, &dir, "fw_ver", h->fw, sizeof(h->fw));
        read_word(p, &dir, "hca_type", h->type, sizeof(h->type));
        for (unsigned k = 0; k < h->n_port; k++) {
            struct ni_port *port = &inv->port[h->first_port + (int)k];
            const struct ni_dir port_dir = ni_dir_at(&dir, "ports/%u", port->num);
            port->phys_state = ni_read_num(p, &port_dir, NI_REQUIRED, ni_parse_state, "phys_state");
            read_counters(p, port, &port_dir);
            port->traffic_class = read_traffic_class(p, &dir, port->num);
        }
        ni_dir_close(&dir);
    }
    if (ni_lines(p->root, cgroup_line, inv, "sys/fs/cgroup/rdma.max") < 0)
        (void)ni_lines(p->root, cgroup_line, inv, "sys/fs/cgroup/rdma/rdma.max"); /* version 1 */
    inv->rdma_cm = ni_known_of(ni_openable(p->root, "dev/infiniband/rdma_cm"));
    inv->netns_mode = read_netns_mode(p);
}
