/* SPDX-License-Identifier: Apache-2.0 */
/* Data Direct: a ConnectX-8 may have a second PCI function, beside the GPU, through which it reads
   and writes the GPU's memory. NCCL 2.27.3 and later take that function's place on the PCI tree for
   the HCA's, and call it mlx5_0_dma (2.30.7 transport/net_ib/init.cc ncclIbInitDevices). The kernel
   binds it to mlx5_ib (drivers/infiniband/hw/mlx5/data_direct.c), and keeps for itself whose it is.
   The vital product data of both have one UUID, V3, by which rdma-core pairs them too
   (kernel-boot/rdma_topo). */
#include "node/data_direct.h"

#include <string.h>

#include "findings/device.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/known.h"
#include "nccl_init/pci.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "node/pci.h"
#include "node/read.h"
#include "sysroot/root.h"

/* Reads the UUID of a function. ABSENT: it has none. */
static enum ni_known read_uuid(struct ni_probe *p, struct ni_bdf at, char uuid[NI_VPD_UUID])
{
    char bdf[NI_BDF_TEXT], path[NI_PATH];
    struct ni_dir dir = *p->root;

    dir.binary = true;
    (void)ni_format(path, sizeof(path), "sys/bus/pci/devices/%s/vpd", ni_bdf_text(at, bdf));
    const ssize_t n = ni_read_whole(p, &dir, path);
    if (n < 0)
        return ni_known_of(n);
    return ni_vpd_uuid((struct ni_span){p->text, (size_t)n}, uuid) ? NI_KNOWN : NI_ABSENT;
}

/* Returns true if the card may have such a function: it is a ConnectX-8 or -9. All VFs have one
   device id, so the PF of a VF decides; if that is not known, the card may be one. */
static bool may_have_one(struct ni_probe *p, struct ni_bdf at)
{
    enum { VIRTUAL_FUNCTION = 0x101e, CONNECTX_8 = 0x1023, CONNECTX_9 = 0x1025 };
    char bdf[NI_BDF_TEXT];
    const struct ni_num id = ni_read_num(p, p->root, NI_OPTIONAL, ni_parse_0x,
                                         "sys/bus/pci/devices/%s/device", ni_bdf_text(at, bdf));

    return id.known != NI_KNOWN || id.v == VIRTUAL_FUNCTION || id.v == CONNECTX_8 ||
           id.v == CONNECTX_9;
}

struct function {
    struct ni_bdf at;
    char uuid[NI_VPD_UUID]; /* "" where it is not known */
};

/* Reports that a UUID cannot be read. file: the file below the function that has it. */
static void report_unread_uuid(struct ni_probe *p, const struct ni_hca *h, struct ni_bdf at,
                               const char *file)
{
    char bdf[NI_BDF_TEXT], path[NI_PATH];

    (void)ni_format(path, sizeof(path), "sys/bus/pci/devices/%s/%s", ni_bdf_text(at, bdf), file);
    ni_report(p->f, NI_F_FACT_UNREADABLE, path,
              "its UUID cannot be read; it is unknown which Data Direct function belongs to %s",
              h->name);
}

/* Finds the HCA's Data Direct function among those that were listed: it has the same UUID. */
static void find_function(struct ni_probe *p, struct ni_hca *h, const struct function *f,
                          unsigned n)
{
    const struct ni_bdf port = h->is_vf ? h->pf : h->bdf;
    char uuid[NI_VPD_UUID], bdf[NI_BDF_TEXT], path[NI_PATH];
    const struct function *unread = NULL;

    h->data_direct.known = NI_ABSENT;
    if (!h->has_bdf || !may_have_one(p, port))
        return;
    const enum ni_known known = read_uuid(p, port, uuid);
    for (unsigned i = 0; i < n; i++) {
        unread = f[i].uuid[0] ? unread : &f[i];
        if (known != NI_KNOWN || strcmp(f[i].uuid, uuid) != 0)
            continue;
        (void)ni_format(path, sizeof(path), "sys/bus/pci/devices/%s", ni_bdf_text(f[i].at, bdf));
        ni_probe_chain(p, &h->data_direct, path);
        return;
    }
    if (known == NI_KNOWN && !unread)
        return;
    h->data_direct.known = NI_DENIED;
    if (known == NI_KNOWN)
        report_unread_uuid(p, h, unread->at, "vpd");
    else
        report_unread_uuid(p, h, port, h->is_vf ? "vpd" : "vpd, or physfn");
}

void ni_probe_data_direct(struct ni_probe *p)
{
    static struct function function[NI_MAX_HCA];
    struct ni_inventory *inv = p->inv;
    unsigned n = 0;

    (void)ni_read_names(p, p->root, NI_OPTIONAL, &p->names, "sys/bus/pci/drivers/mlx5_ib");
    for (unsigned i = 0; i < p->names.n && n < NI_COUNT(function); i++)
        n += ni_parse_bdf(ni_span_of(p->names.name[i]), &function[n].at) == 0;
    for (unsigned i = 0; i < n; i++) {
        if (read_uuid(p, function[i].at, function[i].uuid) != NI_KNOWN)
            function[i].uuid[0] = '\0';
    }
    for (unsigned i = 0; i < inv->n_hca && n > 0; i++) {
        if (ni_is_allocated(&inv->hca[i]))
            find_function(p, &inv->hca[i], function, n);
    }
}
