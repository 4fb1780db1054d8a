/* SPDX-License-Identifier: Apache-2.0 */
/* The sources that know HCAs by name: --hcas, uverbs nodes that open, interfaces of this namespace,
   a host network. */
#include <stdio.h>
#include <string.h>

#include "probe.h"

/* --hcas=mlx5_6,mlx5_7:1 */
void ni_source_option(struct ni_probe *p)
{
    const char *cursor = p->ask->hcas;
    struct ni_span e;
    while (ni_split(&cursor, ',', &e)) {
        char name[NI_DEV_NAME];
        const char *colon = memchr(e.p, ':', e.n);
        if (!ni_copyn(name, sizeof(name), e.p, colon ? (size_t)(colon - e.p) : e.n) || !name[0])
            continue;
        if (ni_exists(p->root, "sys/class/infiniband/%s", name) < 0)
            ni_report(p->f, NI_F_ALLOC_NO_DEVICE, name,
                      "named by --hcas, is not in sys/class/infiniband");
        else
            ni_add_claim_name(p, NI_SRC_OPTION, "--hcas", name);
    }
}

/* A uverbs node that opens is one that the device cgroup lets the pod use. N of uverbsN need not be
   N of mlx5_N. */
void ni_source_uverbs(struct ni_probe *p)
{
    struct ni_names *nodes = &p->names;
    if (ni_list(p->root, nodes, "dev/infiniband") < 0)
        return;
    for (unsigned i = 0; i < nodes->n; i++) {
        char ibdev[NI_DEV_NAME], from[NI_DEV_NAME + 32];
        const char *name = nodes->name[i];
        if (!ni_has_prefix(name, "uverbs") || !ni_is_name(ni_span_of(name), NI_DEV_NAME) ||
            ni_read(p->root, ibdev, sizeof(ibdev), "sys/class/infiniband_verbs/%s/ibdev", name) <
                0 ||
            ni_openable(p->root, "dev/infiniband/%s", name) < 0)
            continue;
        snprintf(from, sizeof(from), "/dev/infiniband/%s", name);
        ni_add_claim_name(p, NI_SRC_UVERBS, from, ibdev);
    }
}

/* SoftRoCE has no function to hang below; its interface is the one of its first GID. */
static void from_softroce(struct ni_probe *p)
{
    struct ni_names *hcas = &p->names;
    if (ni_list(p->root, hcas, "sys/devices/virtual/infiniband") < 0)
        return;
    for (unsigned i = 0; i < hcas->n; i++) {
        char ndev[NI_DEV_NAME];
        if (ni_is_name(ni_span_of(hcas->name[i]), NI_DEV_NAME) &&
            ni_read(p->root, ndev, sizeof(ndev),
                    "sys/class/infiniband/%s/ports/1/gid_attrs/ndevs/0", hcas->name[i]) > 0 &&
            ni_is_name(ni_span_of(ndev), NI_IF_NAME) &&
            ni_exists(p->root, "sys/class/net/%s", ndev) == 0)
            ni_add_claim_name(p, NI_SRC_NETDEV, ndev, hcas->name[i]);
    }
}

void ni_source_netdevs(struct ni_probe *p)
{
    static const char dir[] = "sys/class/net";
    struct ni_names *ifs = &p->names;
    if (ni_list(p->root, ifs, "%s", dir) < 0)
        return;
    for (unsigned i = 0; i < ifs->n && p->inv->n_claim < NI_MAX_CLAIM; i++) {
        const char *name = ifs->name[i];
        if (!ni_is_name(ni_span_of(name), NI_IF_NAME) ||
            ni_list(p->root, &p->inner, "%s/%s/device/infiniband", dir, name) < 0)
            continue;
        for (unsigned k = 0; k < p->inner.n; k++)
            ni_add_claim_name(p, NI_SRC_NETDEV, name, p->inner.name[k]);
    }
    from_softroce(p);
}

/* Only the first network namespace has this sysctl (net/core/sysctl_net_core.c net_core_table). */
void ni_source_host(struct ni_probe *p)
{
    if (ni_exists(p->root, "proc/sys/net/core/netdev_max_backlog") < 0 ||
        ni_list(p->root, &p->names, "sys/class/infiniband") < 0)
        return;
    for (unsigned i = 0; i < p->names.n; i++)
        ni_add_claim_name(p, NI_SRC_HOST, "host network", p->names.name[i]);
}
