/* SPDX-License-Identifier: Apache-2.0 */
/* The sources that name HCAs by what the container can open or see, and --hcas: uverbs nodes
   that open, interfaces of this namespace, a host network. */
#include "node/source_visible.h"

#include <errno.h>
#include <string.h>

#include "findings/device.h"
#include "nccl_init/allocation.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/known.h"
#include "nccl_init/nccl_list.h"
#include "nccl_init/text.h"
#include "node/allocations.h"
#include "node/rdma.h"
#include "node/read.h"
#include "sysroot/files.h"

/* Adds the HCAs that the user names, --hcas=mlx5_6,mlx5_7:1. */
void ni_source_option(struct ni_probe *p)
{
    const char *cursor = p->ask->hcas; /* NULL: no pieces */
    struct ni_span e;

    while (ni_split(&cursor, ',', &e)) {
        char name[NI_DEV_NAME];
        struct ni_span device, port;
        const bool has_port = ni_split_port(e, &device, &port);
        enum ni_known there;

        if (!ni_copyn(name, sizeof(name), device.p, device.n) || !name[0])
            continue;
        there = ni_is_there(p, "sys/class/infiniband/%s%s%.*s", name, has_port ? "/ports/" : "",
                            (int)port.n, port.p);
        if (there == NI_KNOWN)
            ni_add_allocation_name(p, "--hcas", name);
        else if (there == NI_ABSENT)
            ni_report(p->f, NI_F_ALLOC_NO_DEVICE, name,
                      "`%.*s`, named by --hcas, is not in sys/class/infiniband", (int)e.n, e.p);
        else
            p->lost = true;
    }
}

/* Lists the directory of a source. If it cannot be read it may still hold the pod's devices, so no
   weaker source may decide. */
static bool list_source(struct ni_probe *p, struct ni_names *ret, const char *dir)
{
    const enum ni_known known = ni_read_names(p, p->root, NI_OPTIONAL, ret, "%s", dir);

    p->lost = p->lost || (known != NI_KNOWN && known != NI_ABSENT);
    return known == NI_KNOWN;
}

/* Adds HCAs by the uverbs nodes that open: the device cgroup lets the pod use these; EACCES and
   EPERM come from the file's mode and the cgroup. N of uverbsN need not be N of mlx5_N. A node
   without `ibdev` is of a device that this namespace does not have. */
void ni_source_uverbs(struct ni_probe *p)
{
    static const char dir[] = "dev/infiniband";
    struct ni_names *nodes = &p->names;

    if (!list_source(p, nodes, dir))
        return;
    for (unsigned i = 0; i < nodes->n; i++) {
        char ibdev[NI_DEV_NAME], from[NI_DEV_NAME + 32];
        const char *name = nodes->name[i];

        if (!ni_is_uverbs(name)) {
            /* rdma_cm, umadN and others are plain names; a name of another form may be a node of
               the pod */
            if (ni_has_prefix(name, "uverbs") || !ni_is_name(ni_span_of(name), NI_DEV_NAME)) {
                ni_copy(p->path, sizeof(p->path), dir);
                ni_note_odd(p, name);
                p->lost = true;
            }
            continue;
        }
        const enum ni_known its = ni_read_ibdev(p, NI_OPTIONAL, name, ibdev);
        const int err = its == NI_KNOWN ? ni_openable(p->root, "dev/infiniband/%s", name) : -EACCES;
        (void)ni_format(from, sizeof(from), "/%s/%s", dir, name);
        if (err == 0)
            ni_add_allocation_name(p, from, ibdev);
        if (err < 0 && err != -EACCES && err != -EPERM) {
            ni_copy(p->path, sizeof(p->path), from + 1);
            ni_note(p, NI_REQUIRED, err);
            p->lost = true;
        }
        p->lost = p->lost || (its != NI_KNOWN && its != NI_ABSENT);
    }
}

/* Adds SoftRoCE devices by the interface of their first GID, for they have no function. */
static void from_softroce(struct ni_probe *p)
{
    struct ni_names *hcas = &p->names;

    if (!list_source(p, hcas, "sys/devices/virtual/infiniband"))
        return;
    for (unsigned i = 0; i < hcas->n; i++) {
        const char *hca = hcas->name[i];
        char ndev[NI_DEV_NAME];

        if (!ni_is_name(ni_span_of(hca), NI_DEV_NAME) ||
            ni_read_file(p, p->root, NI_NOT_EINVAL, ndev, sizeof(ndev),
                         "sys/class/infiniband/%s/ports/1/gid_attrs/ndevs/0", hca) != NI_KNOWN)
            continue;
        if (!ni_is_name(ni_span_of(ndev), NI_IF_NAME))
            ni_note_odd(p, ndev);
        else if (ni_is_there(p, "sys/class/net/%s", ndev) == NI_KNOWN)
            ni_add_allocation_name(p, ndev, hca);
    }
}

void ni_source_netdevs(struct ni_probe *p)
{
    static const char dir[] = "sys/class/net";
    struct ni_names *ifs = &p->names;

    if (!list_source(p, ifs, dir))
        return;
    for (unsigned i = 0; i < ifs->n && p->inv->n_allocation < NI_MAX_ALLOCATION; i++) {
        const char *name = ifs->name[i];
        char below[NI_PATH];

        (void)ni_format(below, sizeof(below), "%s/%s/device/infiniband", dir, name);
        if (!ni_is_name(ni_span_of(name), NI_IF_NAME) || !list_source(p, &p->inner, below))
            continue;
        for (unsigned k = 0; k < p->inner.n; k++)
            ni_add_allocation_name(p, name, p->inner.name[k]);
    }
    from_softroce(p);
}

/* Adds all HCAs on a host network, the first network namespace, which alone has this sysctl
   (net/core/sysctl_net_core.c net_core_table). */
void ni_source_host(struct ni_probe *p)
{
    if (ni_is_there(p, "proc/sys/net/core/netdev_max_backlog") != NI_KNOWN ||
        !list_source(p, &p->names, "sys/class/infiniband"))
        return;
    for (unsigned i = 0; i < p->names.n; i++)
        ni_add_allocation_name(p, "host network", p->names.name[i]);
}
