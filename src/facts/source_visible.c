/* SPDX-License-Identifier: Apache-2.0 */
/* The sources that know HCAs by name: --hcas, uverbs nodes that open, interfaces of this namespace,
   a host network. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "probe.h"

/* --hcas=mlx5_6,mlx5_7:1 */
void ni_source_option(struct ni_probe *p)
{
    const char *cursor = p->ask->hcas; /* NULL: no pieces */
    struct ni_span e;
    while (ni_split(&cursor, ',', &e)) {
        char name[NI_DEV_NAME];
        const char *colon = memchr(e.p, ':', e.n);
        if (!ni_copyn(name, sizeof(name), e.p, colon ? (size_t)(colon - e.p) : e.n) || !name[0])
            continue;
        char path[NI_PATH];
        (void)ni_format(path, sizeof(path), "sys/class/infiniband/%s", name);
        int err = ni_exists(p->root, "%s", path);
        if (err < 0 && ni_known_of(ni_note_unreadable(p, path, err)) != NI_ABSENT)
            p->lost = true;
        else if (err < 0)
            ni_report(p->f, NI_F_ALLOC_NO_DEVICE, name,
                      "named by --hcas, is not in sys/class/infiniband");
        else
            ni_add_claim_name(p, NI_SRC_OPTION, "--hcas", name);
    }
}

/* The listing of a source. One that cannot be read may hold what is the pod's: a weaker source must
   not decide in its place. */
static bool list_source(struct ni_probe *p, struct ni_names *ret, const char *dir)
{
    int err = ni_list(p->root, ret, "%s", dir);
    if (err < 0 && ni_known_of(ni_note_unreadable(p, dir, err)) != NI_ABSENT)
        p->lost = true;
    return err == 0;
}

/* What the node is of; a node without it is of a device that this namespace does not have. */
static bool read_ibdev(struct ni_probe *p, const char *node, char ibdev[NI_DEV_NAME])
{
    ssize_t n = ni_read_ibdev(p, NI_ABSENCE_IS_FINE, node, ibdev);
    bool good = n > 0 && ni_is_name(ni_span_of(ibdev), NI_DEV_NAME);
    if (n >= 0 && !good && (p->inv->source == NI_SRC_NONE || ni_users(p, "NCCL_IB_HCA")))
        ni_report(p->f, NI_F_HCA_NAME_INVALID, p->path, "RDMA device name `%s`", ibdev);
    p->lost = p->lost || (!good && ni_known_of((int)n) != NI_ABSENT);
    return good;
}

/* EACCES and EPERM are the file's mode and the device cgroup: not the pod's. */
static bool opens(struct ni_probe *p, const char *node)
{
    char path[NI_PATH];
    int err = ni_open_node(p, node);
    if (err < 0 && err != -EACCES && err != -EPERM) {
        (void)ni_format(path, sizeof(path), "dev/infiniband/%s", node);
        ni_note_missing(p, path, err);
        p->lost = true;
    }
    return err == 0;
}

/* A uverbs node that opens is one that the device cgroup lets the pod use. N of uverbsN need not be
   N of mlx5_N. */
void ni_source_uverbs(struct ni_probe *p)
{
    struct ni_names *nodes = &p->names;
    if (!list_source(p, nodes, "dev/infiniband"))
        return;
    for (unsigned i = 0; i < nodes->n; i++) {
        char ibdev[NI_DEV_NAME], from[NI_DEV_NAME + 32];
        const char *name = nodes->name[i];
        if (!ni_is_uverbs(name)) {
            /* rdma_cm, umadN and others are names; a broken one may be a node of the pod's */
            if (ni_has_prefix(name, "uverbs") || !ni_is_name(ni_span_of(name), NI_DEV_NAME)) {
                ni_note_odd(p, "dev/infiniband", name);
                p->lost = true;
            }
            continue;
        }
        if (!read_ibdev(p, name, ibdev) || !opens(p, name))
            continue;
        snprintf(from, sizeof(from), "/dev/infiniband/%s", name);
        ni_add_claim_name(p, NI_SRC_UVERBS, from, ibdev);
    }
}

/* An empty entry, which EINVAL says, has no interface. */
static bool is_softroce_here(struct ni_probe *p, const char *hca, char ndev[NI_DEV_NAME])
{
    char path[NI_PATH];
    (void)ni_format(path, sizeof(path), "sys/class/infiniband/%s/ports/1/gid_attrs/ndevs/0", hca);
    ssize_t n = ni_read(p->root, ndev, NI_DEV_NAME, "%s", path);
    if (n < 0 && n != -EINVAL)
        ni_note_unreadable(p, path, (int)n);
    if (n < 0)
        return false;
    if (!ni_is_name(ni_span_of(ndev), NI_IF_NAME)) {
        ni_note_odd(p, path, ndev);
        return false;
    }
    (void)ni_format(path, sizeof(path), "sys/class/net/%s", ndev);
    int err = ni_exists(p->root, "%s", path);
    if (err < 0)
        ni_note_unreadable(p, path, err);
    return err == 0;
}

/* SoftRoCE has no function to hang below; its interface is the one of its first GID. */
static void from_softroce(struct ni_probe *p)
{
    struct ni_names *hcas = &p->names;
    if (!list_source(p, hcas, "sys/devices/virtual/infiniband"))
        return;
    for (unsigned i = 0; i < hcas->n; i++) {
        char ndev[NI_DEV_NAME];
        if (ni_is_name(ni_span_of(hcas->name[i]), NI_DEV_NAME) &&
            is_softroce_here(p, hcas->name[i], ndev))
            ni_add_claim_name(p, NI_SRC_NETDEV, ndev, hcas->name[i]);
    }
}

void ni_source_netdevs(struct ni_probe *p)
{
    static const char dir[] = "sys/class/net";
    struct ni_names *ifs = &p->names;
    if (!list_source(p, ifs, dir))
        return;
    for (unsigned i = 0; i < ifs->n && p->inv->n_claim < NI_MAX_CLAIM; i++) {
        const char *name = ifs->name[i];
        char below[NI_PATH];
        (void)ni_format(below, sizeof(below), "%s/%s/device/infiniband", dir, name);
        if (!ni_is_name(ni_span_of(name), NI_IF_NAME) || !list_source(p, &p->inner, below))
            continue;
        for (unsigned k = 0; k < p->inner.n; k++)
            ni_add_claim_name(p, NI_SRC_NETDEV, name, p->inner.name[k]);
    }
    from_softroce(p);
}

/* Only the first network namespace has this sysctl (net/core/sysctl_net_core.c net_core_table). */
void ni_source_host(struct ni_probe *p)
{
    static const char sysctl[] = "proc/sys/net/core/netdev_max_backlog";
    int err = ni_exists(p->root, "%s", sysctl);
    if (err < 0)
        ni_note_unreadable(p, sysctl, err);
    if (err < 0 || !list_source(p, &p->names, "sys/class/infiniband"))
        return;
    for (unsigned i = 0; i < p->names.n; i++)
        ni_add_claim_name(p, NI_SRC_HOST, "host network", p->names.name[i]);
}
