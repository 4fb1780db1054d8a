/* SPDX-License-Identifier: Apache-2.0 */
/* Facts that doctor asks for beyond those of the rules: the state of the pod's HCAs and GPUs,
   the drivers of the node, the container. */
#include "node/health.h"

#include <string.h>

#include "nccl_init/base.h"
#include "nccl_init/gpu.h"
#include "nccl_init/inventory.h"
#include "nccl_init/known.h"
#include "nccl_init/number.h"
#include "nccl_init/pci.h"
#include "nccl_init/process.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "node/read.h"
#include "node/self.h"
#include "sysroot/files.h"
#include "sysroot/root.h"

/* ---- HCAs: firmware, ports, counters, the traffic class that a driver forces, the RDMA cgroup ---- */

/* Reads a port's error counters. Those of the link count on the wire: a VF has its PF's, if sysfs
   shows the PF. A pod with a network of its own sees devices without counters, unless RDMA devices
   are separated by network namespace (drivers/infiniband/core/sysfs.c ib_setup_port_attrs). */
static void read_counters(struct ni_probe *p, struct ni_port *port)
{
    const struct ni_inventory *inv = p->inv;
    const struct ni_hca *h = &inv->hca[port->hca], *wire = h;
    enum ni_need need = NI_NOT_EINVAL; /* for a VF the firmware may have no counters of the wire */

    for (unsigned i = 0; h->is_vf && i < inv->n_hca; i++) {
        if (inv->hca[i].has_bdf && ni_bdf_cmp(inv->hca[i].bdf, h->pf) == 0)
            wire = &inv->hca[i];
    }
    for (unsigned i = 0; i < NI_N_COUNTER; i++) {
        port->counter[i] =
            ni_read_num(p, p->root, need, ni_parse_number, "%s/ports/%u/%s",
                        ni_counters[i].link ? wire->dir : h->dir, port->num, ni_counters[i].file);
        if (port->counter[i].known == NI_DENIED)
            need = NI_UNTOLD; /* one finding for all */
    }
}

/* Reads the traffic class that the driver forces, from "Global tclass=106", which stands before
   rules by address; without that line the driver forces none (MLNX_OFED and DOCA only, mlx5_ib
   traffic_class_show). */
static void read_traffic_class(struct ni_probe *p, const struct ni_dir *hca, struct ni_port *port)
{
    char buf[NI_PAGE];

    port->traffic_class.v = -1;
    port->traffic_class.known =
        ni_read_file(p, hca, NI_OPTIONAL, buf, sizeof(buf), "tc/%u/traffic_class", port->num);
    if (!ni_has_prefix(buf, ni_global_tclass))
        return;
    const char *digits = buf + strlen(ni_global_tclass);
    if (!ni_parse_int((struct ni_span){digits, strcspn(digits, "\n")}, UINT8_MAX,
                      &port->traffic_class.v))
        port->traffic_class.known = ni_note_odd(p, buf);
}

static void probe_hca(struct ni_probe *p, struct ni_hca *h)
{
    struct ni_dir dir = ni_dir_open(p->root, "%s", h->dir);

    ni_read_file(p, &dir, NI_OPTIONAL, h->fw, sizeof(h->fw), "fw_ver");       /* "28.37.1014" */
    ni_read_file(p, &dir, NI_OPTIONAL, h->type, sizeof(h->type), "hca_type"); /* "MT4126" */
    for (unsigned k = 0; k < h->n_port; k++) {
        struct ni_port *port = &p->inv->port[h->first_port + (int)k];

        port->phys_state =
            ni_read_num(p, &dir, NI_REQUIRED, ni_parse_state, "ports/%u/phys_state", port->num);
        read_counters(p, port);
        read_traffic_class(p, &dir, port);
    }
    ni_dir_close(&dir);
}

static void take_limit(struct ni_span word, const char *key, struct ni_num *ret)
{
    const size_t n = strlen(key);

    if (ni_has_prefix(word.p, key))
        *ret = ni_num_of((struct ni_span){word.p + n, word.n - n});
}

/* Takes a line of the RDMA cgroup, if it is the HCA's: "mlx5_0 hca_handle=2 hca_object=max"
   (kernel/cgroup/rdma.c rdmacg_resource_read). */
static void take_limits(struct ni_hca *h, const char *line)
{
    struct ni_span word;

    if (!ni_split(&line, ' ', &word) || !ni_span_is(word, h->name))
        return;
    while (ni_split(&line, ' ', &word)) {
        take_limit(word, ni_cgroup_limits[NI_CGROUP_HANDLES], &h->handles);
        take_limit(word, ni_cgroup_limits[NI_CGROUP_OBJECTS], &h->objects);
    }
}

static void probe_cgroup(struct ni_probe *p)
{
    if (ni_read_text(p, NI_OPTIONAL, "sys/fs/cgroup/rdma.max") == NI_ABSENT)
        ni_read_text(p, NI_OPTIONAL, "sys/fs/cgroup/rdma/rdma.max"); /* v1 */
    for (char *text = p->text, *line; ni_line(&text, &line);) {
        for (unsigned i = 0; i < p->inv->n_hca; i++)
            take_limits(&p->inv->hca[i], line);
    }
}

/* ---- the PCI functions of HCAs and GPUs ---- */

/* Reads the width and speed of a function's PCIe link: "16" lanes, "32.0 GT/s PCIe"
   (drivers/pci/pci-sysfs.c current_link_width_show and the like). The other end of the link is the
   bridge above; without it nobody knows what the slot can do. */
static void probe_link(struct ni_probe *p, struct ni_bdf at, const struct ni_pci *pci,
                       struct ni_pcie *ret)
{
    static const char *const what[NI_PCIE_N] = {"width", "speed"};
    static ni_parse_fn *const parse[NI_PCIE_N] = {
        [NI_PCIE_WIDTH] = ni_parse_number,
        [NI_PCIE_SPEED] = ni_parse_rate,
    };
    char bdf[NI_BDF_TEXT];

    if (pci->known != NI_KNOWN || pci->depth < 2)
        return;
    for (unsigned i = 0; i < NI_PCIE_N; i++) {
        const struct ni_num device =
            ni_read_num(p, p->root, NI_OPTIONAL, parse[i], "sys/bus/pci/devices/%s/max_link_%s",
                        ni_bdf_text(at, bdf), what[i]);

        ret->now[i] = ni_read_num(p, p->root, NI_OPTIONAL, parse[i],
                                  "sys/bus/pci/devices/%s/current_link_%s", bdf, what[i]);
        ret->most[i] =
            ni_read_num(p, p->root, NI_OPTIONAL, parse[i], "sys/bus/pci/devices/%s/max_link_%s",
                        ni_bdf_text(pci->at[pci->depth - 2], bdf), what[i]);
        if (ret->most[i].known == NI_KNOWN && ret->most[i].v >= device.v)
            ret->most[i] = device;
    }
}

/* Reads the type of the IOMMU group (drivers/iommu/iommu.c iommu_group_show_type, since Linux
   4.11). */
static void probe_iommu(struct ni_probe *p, struct ni_bdf at, struct ni_iommu *ret)
{
    char bdf[NI_BDF_TEXT];

    ret->known = ni_read_file(p, p->root, NI_OPTIONAL, ret->type, sizeof(ret->type),
                              "sys/bus/pci/devices/%s/iommu_group/type", ni_bdf_text(at, bdf));
    if (ret->known == NI_ABSENT &&
        ni_is_there(p, "sys/bus/pci/devices/%s/iommu_group", bdf) != NI_ABSENT)
        ret->known = NI_UNSET;
    if (ret->known == NI_KNOWN && !ni_is_one_of(ni_span_of(ret->type), ni_iommu_types)) {
        ret->known = ni_note_odd(p, ret->type);
        ret->type[0] = '\0';
    }
}

/* ---- drivers. Kernel symbols cannot be read from a pod; module directories can ---- */

/* Reads whether GPUs may write into other devices' registers, as IBGDA does: a word of the NVIDIA
   driver's parameters. */
static void probe_peer_mapping(struct ni_probe *p)
{
    struct ni_drivers *d = &p->inv->drivers;
    const enum ni_known known = ni_read_text(p, NI_OPTIONAL, "proc/driver/nvidia/params");

    if (known != NI_ABSENT)
        d->peer_mapping = known == NI_KNOWN ? NI_ABSENT : NI_DENIED;
    for (char *rest = p->text, *line; ni_line(&rest, &line);) {
        if (ni_maps_peers(ni_span_of(line)))
            d->peer_mapping = NI_KNOWN;
    }
}

/* Reads whether the pod has a channel for NVLink between nodes. */
static void probe_imex(struct ni_probe *p)
{
    struct ni_drivers *d = &p->inv->drivers;

    d->imex = ni_read_names(p, p->root, NI_OPTIONAL, &p->names, "dev/nvidia-caps-imex-channels");
    if (d->imex == NI_KNOWN && p->names.n == 0)
        d->imex = NI_ABSENT;
}

/* Reads which drivers and modules are there: of the GPUs, of GPUDirect, of the HCAs, of NVLink
   between nodes. */
static void probe_drivers(struct ni_probe *p)
{
    struct ni_drivers *d = &p->inv->drivers;
    const struct {
        enum ni_known *known; /* KNOWN if one of the paths exists */
        const char *path;
    } there[] = {
        {&d->nvidiactl, "dev/nvidiactl"},
        {&d->uvm, "dev/nvidia-uvm"},
        {&d->ofed, "sys/module/mlx_compat"},
        {&d->peermem, "sys/module/nvidia_peermem"},
        {&d->peermem, "sys/module/nv_peer_mem"},
        {&d->peer_api, "sys/kernel/mm/memory_peers"},
        {&d->peer_client, "sys/kernel/mm/memory_peers/nv_mem"},
        {&d->peer_client, "sys/kernel/mm/memory_peers/nv_mem_nc"},
    };

    for (unsigned i = 0; i < NI_COUNT(there); i++) {
        if (*there[i].known == NI_UNSET || *there[i].known == NI_ABSENT)
            *there[i].known = ni_is_there(p, "%s", there[i].path);
    }
    ni_read_file(p, p->root, NI_OPTIONAL, d->mlx5_version, sizeof(d->mlx5_version),
                 "sys/module/mlx5_core/version");
    ni_read_file(p, p->root, NI_OPTIONAL, d->nvidia_version, sizeof(d->nvidia_version),
                 "sys/module/nvidia/version");
    if (p->inv->n_gpu == 0 || p->inv->gpu[0].amd)
        return;
    d->gdrdrv = ni_known_of(ni_openable(p->root, "dev/gdrdrv"));
    probe_peer_mapping(p);
    if (p->inv->gdr.c2c)
        probe_imex(p);
}

/* ---- NUMA nodes ---- */

/* Lists the NUMA nodes that have processors and no memory. */
static void list_bare_nodes(struct ni_probe *p, const char *has_cpu, const char *has_memory)
{
    enum { NODES = 1024 }; /* the most that the kernel is built for: CONFIG_NODES_SHIFT */
    struct ni_text bare = ni_text_on(p->inv->numa_bare, sizeof(p->inv->numa_bare));

    for (int64_t node = 0; node < NODES; node++) {
        if (ni_find_in_list(ni_span_of(has_cpu), node) == NI_KNOWN &&
            ni_find_in_list(ni_span_of(has_memory), node) == NI_ABSENT)
            ni_putf(&bare, "%s%d", bare.len > 0 ? ", " : "", (int)node);
    }
}

/* Reads which NUMA nodes have memory or processors (drivers/base/node.c), and takes it for the GPUs.
   */
static void probe_numa_nodes(struct ni_probe *p)
{
    char lists[2][NI_PAGE] = {"", ""};

    for (unsigned memory = 0; memory < 2; memory++) {
        char *list = lists[memory];
        enum ni_known known =
            ni_read_file(p, p->root, NI_OPTIONAL, list, NI_PAGE, "sys/devices/system/node/%s",
                         memory ? "has_memory" : "has_cpu");

        if (known == NI_KNOWN && ni_find_in_list(ni_span_of(list), 0) == NI_BAD)
            known = ni_note_odd(p, list);
        if (known != NI_KNOWN)
            return;
        for (unsigned i = 0; i < p->inv->n_gpu; i++) {
            struct ni_gpu *g = &p->inv->gpu[i];
            const struct ni_num numa = g->pci.numa;
            enum ni_known *has = memory ? &g->numa_memory : &g->numa_cpus;

            if (numa.known == NI_KNOWN && numa.v >= 0)
                *has = ni_find_in_list(ni_span_of(list), numa.v);
        }
    }
    list_bare_nodes(p, lists[0], lists[1]);
}

/* ---- the container ---- */

/* Keeps the words of the kernel's command line that name an IOMMU: iommu=pt, intel_iommu=on,
   iommu.passthrough=1, arm-smmu-v3.disable_bypass=0. */
static void probe_cmdline(struct ni_probe *p)
{
    struct ni_self *self = &p->inv->self;
    struct ni_text t = ni_text_on(self->cmdline, sizeof(self->cmdline));
    char buf[NI_PAGE];
    const char *rest = buf;
    struct ni_span word;

    self->cmdline_known = ni_read_file(p, p->root, NI_OPTIONAL, buf, sizeof(buf), "proc/cmdline");
    while (ni_word(&rest, &word)) {
        if (ni_names_iommu(word)) {
            ni_put(&t, t.len > 0 ? " " : "");
            ni_put_quoted(&t, word.p, word.n, 40);
        }
    }
}

/* Returns the bytes of a tmpfs, whose mount options have its size; without one it is half of the
   memory (Documentation/filesystems/proc.rst). */
static struct ni_num tmpfs_size(const struct ni_mount *mount)
{
    struct ni_num bytes = {NI_UNLIMITED, mount->has_type ? NI_KNOWN : NI_BAD};

    if (!mount->tmpfs || mount->kib.known == NI_ABSENT)
        return bytes;
    bytes = mount->kib;
    bytes.v <<= 10;
    return bytes;
}

/* Reads the mounts of /dev/shm and of this program. Of several at one place the last is on top. */
static void probe_mounts(struct ni_probe *p)
{
    struct ni_self *self = &p->inv->self;
    size_t longest = 0; /* the length of the longest mount point above the program */
    char exe[NI_PATH];

    (void)ni_readlink(p->root, exe, sizeof(exe), "proc/self/exe"); /* "": not known */
    if (ni_read_text(p, NI_OPTIONAL, "proc/self/mountinfo") == NI_KNOWN)
        self->shm.known = NI_ABSENT;
    for (char *text = p->text, *line; ni_line(&text, &line);) {
        struct ni_mount mount;

        if (!ni_parse_mount(ni_span_of(line), &mount))
            continue;
        if (mount.point.n >= longest && ni_is_mount_of(mount.point, exe)) {
            longest = mount.point.n;
            self->nosuid = mount.nosuid ? NI_KNOWN : NI_ABSENT;
        }
        if (ni_span_is(mount.point, "/dev/shm"))
            self->shm = tmpfs_size(&mount);
    }
}

/* Reads the pod's own line of etc/hosts (hosts(5)). The first of two counts. */
static void probe_host(struct ni_probe *p)
{
    struct ni_self *self = &p->inv->self;
    char name[NI_DEV_NAME + 1]; /* __NEW_UTS_LEN, include/uapi/linux/utsname.h */

    if (ni_read_file(p, p->root, NI_OPTIONAL, name, sizeof(name), "proc/sys/kernel/hostname") !=
        NI_KNOWN)
        return;
    const enum ni_known known = ni_read_text(p, NI_OPTIONAL, "etc/hosts");
    if (known != NI_ABSENT)
        self->host_known = known == NI_KNOWN ? NI_ABSENT : known;
    for (char *text = p->text, *line; ni_line(&text, &line);) {
        struct ni_span ip;

        if (self->host_known != NI_KNOWN && ni_parse_host(ni_span_of(line), name, &ip) &&
            ni_copyn(self->host_ip, sizeof(self->host_ip), ip.p, ip.n))
            self->host_known = NI_KNOWN;
    }
}

void ni_probe_netns_mode(struct ni_probe *p)
{
    char mode[16];

    const enum ni_known known = ni_read_file(p, p->root, NI_OPTIONAL, mode, sizeof(mode),
                                             "sys/module/ib_core/parameters/netns_mode");

    p->inv->netns_mode = NI_NETNS_UNKNOWN;
    if (strcmp(mode, "Y") == 0)
        p->inv->netns_mode = NI_NETNS_SHARED;
    else if (strcmp(mode, "N") == 0)
        p->inv->netns_mode = NI_NETNS_EXCLUSIVE;
    else if (known == NI_KNOWN)
        (void)ni_note_odd(p, mode);
}

/* Reads the state of each HCA of the pod, and the PCIe links of HCAs and GPUs. */
static void probe_devices(struct ni_probe *p)
{
    struct ni_inventory *inv = p->inv;

    for (unsigned i = 0; i < inv->n_hca; i++) {
        struct ni_hca *h = &inv->hca[i];

        if (!ni_is_allocated(h))
            continue;
        probe_hca(p, h);
        if (h->has_bdf) {
            probe_link(p, h->is_vf ? h->pf : h->bdf, &h->pci, &h->link);
            probe_iommu(p, h->bdf, &h->iommu);
        }
    }
    for (unsigned i = 0; i < inv->n_gpu; i++)
        probe_link(p, inv->gpu[i].bdf, &inv->gpu[i].pci, &inv->gpu[i].link);
}

void ni_probe_health(struct ni_probe *p)
{
    struct ni_self *self = &p->inv->self;

    probe_devices(p);
    probe_cgroup(p);
    ni_probe_netns_mode(p);
    probe_drivers(p);
    probe_numa_nodes(p);
    if (!self->kernel[0])
        ni_probe_kernel(p);
    probe_cmdline(p);
    self->uptime = ni_read_num(p, p->root, NI_OPTIONAL, ni_parse_uptime, "proc/uptime");
    probe_mounts(p);
    probe_host(p);
    if (self->pid.known != NI_KNOWN || self->pid.v != 1) /* PID 1 is this process */
        self->init_known =
            ni_read_file(p, p->root, NI_OPTIONAL, self->init, sizeof(self->init), "proc/1/comm");
}
