/* SPDX-License-Identifier: Apache-2.0 */
/* What doctor asks of the pod's RDMA devices: firmware, physical state of the ports, error counters,
   the traffic class that a driver forces, the RDMA cgroup. */
#include <errno.h>
#include <string.h>

#include "probe.h"

/* "28.37.1014", "MT4126" */
static void read_word(struct ni_probe *p, const char *dir, const char *file, char *buf, size_t cap)
{
    char path[NI_PATH + 32];
    (void)ni_format(path, sizeof(path), "%s/%s", dir, file);
    if (ni_note_text(p, buf, cap, path) == NI_KNOWN && buf[0] && (unsigned char)buf[0] <= ' ')
        ni_note_odd(p, path, buf);
}

/* "3: Disabled" (drivers/infiniband/core/sysfs.c phys_state_show). */
static struct ni_num read_phys_state(struct ni_probe *p, const char *dir)
{
    char path[NI_PORT_PATH + 16], buf[64];
    uint64_t v;
    (void)ni_format(path, sizeof(path), "%s/phys_state", dir);
    ssize_t n = ni_read(p->root, buf, sizeof(buf), "%s", path);
    if (n < 0)
        return (struct ni_num){0, ni_known_of(ni_note_missing(p, path, (int)n))};
    if (ni_parse_u64((struct ni_span){buf, strcspn(buf, ":")}, 15, &v) < 0 || !strchr(buf, ':')) {
        ni_note_odd(p, path, buf);
        return (struct ni_num){0, NI_BAD};
    }
    return (struct ni_num){(int64_t)v, NI_KNOWN};
}

/* ---- counters ---- */

static struct ni_num read_counter(struct ni_probe *p, const char *path)
{
    char buf[64];
    uint64_t v;
    ssize_t n = ni_read(p->root, buf, sizeof(buf), "%s", path);
    if (n == -EINVAL) /* the firmware does not tell a VF the counters of the wire */
        return (struct ni_num){0, NI_ABSENT};
    if (n < 0)
        return (struct ni_num){0, ni_known_of(ni_note_unreadable(p, path, (int)n))};
    if (ni_parse_u64(ni_span_of(buf), INT64_MAX, &v) < 0) {
        ni_note_odd(p, path, buf);
        return (struct ni_num){0, NI_BAD};
    }
    return (struct ni_num){(int64_t)v, NI_KNOWN};
}

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
static void read_counters(struct ni_probe *p, struct ni_port *port, const char *own_dir)
{
    char wire_dir[NI_PORT_PATH], path[NI_PORT_PATH + 64];
    ni_port_dir(p->inv, wire_of(p->inv, port->hca), port->num, wire_dir);
    (void)ni_format(path, sizeof(path), "%s/counters", wire_dir);
    const bool wire_there = ni_is_there(p, path) == NI_KNOWN;
    (void)ni_format(path, sizeof(path), "%s/hw_counters", own_dir);
    const bool own_there = ni_is_there(p, path) == NI_KNOWN;
    for (unsigned i = 0; i < NI_N_COUNTER; i++) {
        const struct ni_counter *c = &ni_counters[i];
        if (c->link ? !wire_there : !own_there)
            continue;
        (void)ni_format(path, sizeof(path), "%s/%s", c->link ? wire_dir : own_dir, c->file);
        port->counter[i] = read_counter(p, path);
    }
}

/* "Global tclass=106" and rules by address (MLNX_OFED and DOCA only, mlx5_ib traffic_class_show). */
static struct ni_num read_traffic_class(struct ni_probe *p, const char *hca_dir, unsigned port)
{
    static const char global[] = "Global tclass=";
    char path[NI_PATH + 64], buf[NI_PAGE];
    uint64_t v;
    (void)ni_format(path, sizeof(path), "%s/tc/%u/traffic_class", hca_dir, port);
    const enum ni_known known = ni_note_text(p, buf, sizeof(buf), path);
    if (known != NI_KNOWN || !ni_has_prefix(buf, global))
        return (struct ni_num){-1, known};
    const char *digits = buf + strlen(global);
    if (ni_parse_u64((struct ni_span){digits, strcspn(digits, "\n")}, UINT8_MAX, &v) == 0)
        return (struct ni_num){(int64_t)v, NI_KNOWN};
    ni_note_odd(p, path, buf);
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
    char dir[NI_PATH], port_dir[NI_PORT_PATH];
    for (unsigned i = 0; i < inv->n_hca; i++) {
        struct ni_hca *h = &inv->hca[i];
        if (!ni_is_given(h))
            continue;
        if (h->netdev_known == NI_UNSET) /* the rules ask for those of ACTIVE ports */
            ni_probe_own_netdev(p, h);
        ni_hca_dir(inv, h, dir);
        read_word(p, dir, "fw_ver", h->fw, sizeof(h->fw));
        read_word(p, dir, "hca_type", h->type, sizeof(h->type));
        for (unsigned k = 0; k < h->n_port; k++) {
            struct ni_port *port = &inv->port[h->first_port + (int)k];
            ni_port_dir(inv, (int)i, port->num, port_dir);
            port->phys_state = read_phys_state(p, port_dir);
            read_counters(p, port, port_dir);
            port->traffic_class = read_traffic_class(p, dir, port->num);
        }
    }
    if (ni_lines(p->root, cgroup_line, inv, "sys/fs/cgroup/rdma.max") < 0)
        (void)ni_lines(p->root, cgroup_line, inv, "sys/fs/cgroup/rdma/rdma.max"); /* version 1 */
    inv->rdma_cm = ni_known_of(ni_openable(p->root, "dev/infiniband/rdma_cm"));
    inv->netns_mode = read_netns_mode(p);
}
