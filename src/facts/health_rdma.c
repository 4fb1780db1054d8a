/* SPDX-License-Identifier: Apache-2.0 */
/* Health of the pod's RDMA devices: physical port states, firmware, own interfaces,
   RDMA cgroup. */
#include <stdio.h>
#include <string.h>

#include "probe.h"

static void probe_netdev(struct ni_probe *p, const struct ni_hca *h, struct ni_health_hca *ret)
{
    char dir[NI_PATH], path[NI_PATH + 32];
    if (!ni_function_dir(h, dir))
        return;
    (void)ni_format(path, sizeof(path), "%s/net", dir);
    int err = ni_list(p->root, &p->names, "%s", path);
    ret->netdev_known = err < 0 ? ni_known_of(ni_note_unreadable(p, path, err)) : NI_ABSENT;
    for (unsigned i = 0; err == 0 && i < p->names.n; i++) {
        if (!ni_is_name(ni_span_of(p->names.name[i]), NI_IF_NAME))
            continue;
        ni_copy(ret->netdev, sizeof(ret->netdev), p->names.name[i]);
        ret->netdev_known = NI_KNOWN;
        snprintf(path, sizeof(path), "sys/class/net/%s/mtu", ret->netdev);
        ret->mtu = ni_read_num(p->root, path);
        return;
    }
}

static void read_word(struct ni_probe *p, const char *dir, const char *file, char *buf, size_t cap)
{
    char path[NI_PATH + 32];
    (void)ni_format(path, sizeof(path), "%s/%s", dir, file);
    ssize_t n = ni_read(p->root, buf, cap, "%s", path);
    if (n < 0)
        ni_note_unreadable(p, path, (int)n);
    else if (n > 0 && (unsigned char)buf[0] <= ' ')
        ni_note_odd(p, path, buf);
    if (n < 0)
        buf[0] = '\0';
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

static struct ni_num cgroup_value(struct ni_span s)
{
    uint64_t v;
    if (ni_span_is(s, "max"))
        return (struct ni_num){NI_UNLIMITED, NI_KNOWN};
    if (ni_parse_u64(s, INT64_MAX, &v) < 0)
        return (struct ni_num){0, NI_BAD};
    return (struct ni_num){(int64_t)v, NI_KNOWN};
}

/* "mlx5_0 hca_handle=2 hca_object=2000" (kernel/cgroup/rdma.c rdmacg_resource_read). */
static void cgroup_line(void *ctx, const char *line)
{
    static const char handle[] = "hca_handle=", object[] = "hca_object=";
    struct ni_inventory *inv = ctx;
    struct ni_health_hca *to = NULL;
    struct ni_span word;
    while (ni_split(&line, ' ', &word)) {
        for (unsigned i = 0; !to && i < inv->n_hca; i++) {
            if (ni_span_is(word, inv->hca[i].name))
                to = &inv->health.hca[i];
        }
        if (!to)
            return;
        if (ni_has_prefix(word.p, handle))
            to->handles = cgroup_value(
                (struct ni_span){word.p + sizeof(handle) - 1, word.n - (sizeof(handle) - 1)});
        else if (ni_has_prefix(word.p, object))
            to->objects = cgroup_value(
                (struct ni_span){word.p + sizeof(object) - 1, word.n - (sizeof(object) - 1)});
    }
}

static void probe_netns_mode(struct ni_probe *p)
{
    char buf[16];
    if (ni_read(p->root, buf, sizeof(buf), "sys/module/ib_core/parameters/netns_mode") < 0)
        return;
    if (strcmp(buf, "Y") == 0 || strcmp(buf, "1") == 0)
        p->inv->health.netns_mode = NI_NETNS_SHARED;
    else if (strcmp(buf, "N") == 0 || strcmp(buf, "0") == 0)
        p->inv->health.netns_mode = NI_NETNS_EXCLUSIVE;
}

void ni_health_hcas(struct ni_probe *p)
{
    struct ni_inventory *inv = p->inv;
    char dir[NI_PATH], port_dir[NI_PORT_PATH];
    for (unsigned i = 0; i < inv->n_hca; i++) {
        const struct ni_hca *h = &inv->hca[i];
        struct ni_health_hca *to = &inv->health.hca[i];
        if (h->claim < 0)
            continue;
        probe_netdev(p, h, to);
        ni_hca_dir(inv, h, dir);
        read_word(p, dir, "fw_ver", to->fw, sizeof(to->fw));
        read_word(p, dir, "hca_type", to->type, sizeof(to->type));
        for (unsigned k = 0; k < h->n_port; k++) {
            unsigned at = (unsigned)h->first_port + k;
            ni_port_dir(inv, (int)i, inv->port[at].num, port_dir);
            inv->health.phys_state[at] = read_phys_state(p, port_dir);
        }
    }
    if (ni_lines(p->root, cgroup_line, inv, "sys/fs/cgroup/rdma.max") < 0)
        (void)ni_lines(p->root, cgroup_line, inv, "sys/fs/cgroup/rdma/rdma.max"); /* version 1 */
    inv->health.rdma_cm = ni_known_of(ni_openable(p->root, "dev/infiniband/rdma_cm"));
    probe_netns_mode(p);
    int err = ni_list(p->root, &p->names, "sys/class/infiniband");
    if (err < 0)
        ni_note_unreadable(p, "sys/class/infiniband", err);
    inv->health.visible = err < 0 ? ni_known_of(err) : p->names.n > 0 ? NI_KNOWN : NI_ABSENT;
}
