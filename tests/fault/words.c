/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a finding is about the file that failed. */
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "inject.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/pci.h"
#include "nccl_init/rdma.h"

/* A finding that names what the file is about without its path: which files, which findings, and
   whether the finding must name the device of the path as well. */
static const struct {
    const char *path, *id;
    bool device;
    const char *subject;
} allowed[] = {
    /* a port that cannot be used, or has no GID, says so by name */
    {"*/infiniband/*/ports/*", "hca.port.*", true, NULL},
    {"*/infiniband/*/ports/*", "gid.*", true, NULL},
    {"*/infiniband/*", "hca.none-usable", false, NULL},
    {"*/gid_attrs/ndevs/*", "fact.unreadable", false, "sys/class/net/*/operstate"},
    {"*/gid_attrs/ndevs/*", "socket.*", false, NULL},
    /* a name that is no name, and a name of nothing */
    {"sys/*/infiniband*", "hca.name.invalid", false, NULL},
    {"sys/class/infiniband_verbs/*", "fact.unreadable", false, "sys/class/infiniband/*"},
    {"sys/class/infiniband_verbs/*", "hca.none", false, NULL},
    /* a device that is not there, or has no RDMA side */
    {"sys/bus/*/devices/*", "alloc.*", true, NULL},
    {"sys/class/infiniband/*", "alloc.no-device", true, NULL},
    /* device nodes */
    {"dev/infiniband*", "alloc.no-uverbs", false, NULL},
    {"dev/infiniband*", "hca.node.*", false, NULL},
    {"sys/class/infiniband_verbs*", "hca.node.*", false, NULL},
    {"sys/class/infiniband_verbs/*", "alloc.no-uverbs", false, NULL},
    /* what is ours is told by the addresses and routes */
    {"proc/net/*", "gid.*", false, NULL},
    {"proc/net/*", "socket.*", false, NULL},
    {"sys/class/net/*", "socket.unusable", true, NULL},
    {"sys/class/net/*", "user.socket-ifname.none", false, NULL},
    /* ways to GPUDirect RDMA */
    {"sys/module/*peermem*", "gdr.*", false, NULL},
    {"sys/kernel/mm/memory_peers*", "gdr.*", false, NULL},
    {"proc/driver/nvidia/version", "gdr.*", false, NULL},
    {"proc/sys/kernel/osrelease", "gdr.*", false, NULL},
    {"dev/nvidia*", "gpu.*", false, NULL},
    /* the process */
    {"proc/self/status", "memlock.*", false, NULL},
    {"proc/self/status", "caps.*", false, NULL},
    {"proc/self/limits", "memlock.*", false, NULL},
    {"proc/self/mountinfo", "shm.*", false, NULL},
    /* what the user named */
    {"*", "user.topo-file.unreadable", false, NULL},
};

/* What is not on every node: without it the node is another one, and sound. */
static const char *const optional[] = {
    /* a DRA driver's, as released */
    "var/run/*/dra-device-attributes",
    "var/run/*/dra-device-attributes/resourceclaims",
    "var/run/*/dra-device-attributes/resourceclaimtemplates",
    "dev/infiniband*",                                  /* no RDMA resource was requested */
    "dev/kfd",                                          /* no AMD GPU */
    "dev/nvidia*",                                      /* no NVIDIA GPU */
    "*.conf",                                           /* an administrator's */
    "etc/passwd",                                       /* nor is the user in it */
    "etc/podinfo/*",                                    /* a downward-API volume */
    "var/run/dra-device-attributes",                    /* a DRA driver's */
    "var/run/nvidia-topologyd/virtualTopology.xml",     /* of some clouds' machines */
    "proc/driver/nvidia/*",                             /* the driver, or its /proc in the pod */
    "proc/net/if_inet6",                                /* IPv6 in the kernel */
    "proc/self/ns/user",                                /* a kernel without user namespaces */
    "proc/net/ipv6_route",                              /* the same */
    "proc/sys/net/core/netdev_max_backlog",             /* in the first network namespace only */
    "sys/bus/pci/drivers/*",                            /* a driver */
    "sys/bus/*/devices/*/infiniband",                   /* no RDMA side */
    "sys/bus/*/devices/*/infiniband_verbs",             /* ib_uverbs is not loaded */
    "sys/bus/*/devices/*/net",                          /* no interface in this namespace */
    "sys/bus/pci/devices/*/iommu_group*",               /* no IOMMU */
    "sys/bus/pci/devices/*/numa_node",                  /* a kernel without NUMA */
    "sys/bus/pci/devices/*/physfn",                     /* no VF */
    "sys/devices/system/node/has_*",                    /* a kernel without NUMA */
    "sys/class/infiniband",                             /* no RDMA drivers */
    "sys/class/infiniband/*/pkeys/*",                   /* the table ends before */
    "sys/class/infiniband_verbs/*/ibdev",               /* not of this RDMA namespace */
    "sys/class/net",                                    /* sysfs without network */
    "sys/class/net/*",                                  /* of another network namespace */
    "sys/devices/virtual/infiniband",                   /* no SoftRoCE */
    "sys/devices/system/cpu/*/midr_el1",                /* not arm64 */
    "sys/module/*",                                     /* not loaded */
    "sys/kernel/mm/memory_peers*",                      /* no peer memory API */
    "sys/*/ports/[2-9]*/state",                         /* as many ports as there are */
    "sys/*/ports/*/gids/*",                             /* the end of the table */
    "sys/class/infiniband/*/ports/1/gid_attrs/ndevs/0", /* a device of no interface */
    "sys/*/fw_ver",
    "sys/*/hca_type",                      /* a driver's own */
    "sys/bus/pci/devices/*/device",        /* a recording from before it was read */
    "sys/bus/pci/devices/*/*_link_*",      /* no PCI Express */
    "sys/*/counters*",                     /* a network namespace of its own */
    "sys/*/hw_counters*",                  /* the same, and each driver has its own */
    "sys/*/traffic_class",                 /* neither MLNX_OFED nor DOCA */
    "sys/bus/pci/devices/*/local_cpulist", /* the same */
    "proc/uptime",                         /* lxcfs, or a recording from before */
    "proc/sys/kernel/hostname",
    "etc/hosts", /* the same */
};

bool may_be_so(const struct passed *at, enum fault fault)
{
    /* A directory may have fewer names; a name that is odd and left alone is not the rest. */
    if (at->call == CALL_LIST && fault >= FAULT_HALF && fault != FAULT_EXTRA)
        return fault <= FAULT_EMPTY || fnmatch("*/infiniband_verbs", at->path, 0) != 0;
    if ((fault == FAULT_HALF || fault == FAULT_NUMBER) &&
        (fnmatch("*/ibdev", at->path, 0) == 0 || fnmatch("*/ndevs/*", at->path, 0) == 0))
        return true; /* any name is a name */
    if (fault == FAULT_NUMBER && fnmatch("sys/class/net/*/ifindex", at->path, 0) == 0)
        return true; /* any number is a place in the kernel's order of interfaces */
    if (fault == FAULT_NUMBER && (fnmatch("sys/devices/system/node/has_*", at->path, 0) == 0 ||
                                  strcmp(at->path, "sys/module/nvidia/version") == 0))
        return true; /* of one node; of a driver */
    if (fault >= FAULT_HALF &&
        (fnmatch("*/fw_ver", at->path, 0) == 0 || fnmatch("*/hca_type", at->path, 0) == 0))
        return true; /* a driver's own words, or none */
    if (fault == FAULT_EMPTY && (strcmp(at->path, "proc/net/if_inet6") == 0 ||
                                 strcmp(at->path, "proc/net/ipv6_route") == 0))
        return true; /* no address, no route, and no header either */
    if (at->call == CALL_OPEN && fault == FAULT_EACCES)
        return true; /* the device cgroup: not the pod's */
    if (at->call == CALL_EXISTS && fault == FAULT_EACCES &&
        fnmatch("*/.*ccl.conf", at->path, 0) == 0)
        return true; /* a home that is closed to this user, and so to the library */
    if (fault == FAULT_EINVAL)
        return fnmatch("*/ports/*/gids/*", at->path, 0) == 0 ||
               fnmatch("*/ports/*/gid_attrs/*", at->path, 0) == 0; /* a hole in the table */
    for (unsigned i = 0; fault == FAULT_ENOENT && i < NI_COUNT(optional); i++)
        if (fnmatch(optional[i], at->path, 0) == 0)
            return true;
    return false;
}

/* A word of the text, delimited by anything that no name has in it. */
static bool has_word(const char *text, const char *word)
{
    static const char in_names[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                   "_.:";
    size_t n = strlen(word);

    for (const char *p = text; n > 0 && (p = strstr(p, word)); p++) {
        bool begins = p == text || !strchr(in_names, p[-1]);
        if (begins && (p[n] == '\0' || p[n] == ':' || !strchr(in_names, p[n])))
            return true;
    }
    return false;
}

static bool says(const struct ni_finding *f, const char *word)
{
    return has_word(f->subject, word) || has_word(f->message, word);
}

/* The subject is the path, or its beginning, where it is longer than a subject; or the message has
   it. */
static bool has_path(const struct ni_finding *f, const char *path)
{
    static const char dra[] = "var/run/kubernetes.io/dra-device-attributes/";
    const char *subject = f->subject + (f->subject[0] == '/');
    size_t n = strlen(subject);

    size_t len = strlen(path);

    /* below the folder that all DRA metadata is in */
    if (strncmp(path, dra, sizeof(dra) - 1) == 0 && strcmp(subject, path + sizeof(dra) - 1) == 0)
        return true;
    if (strcmp(subject, path) == 0 || strstr(f->message, path))
        return true;
    if (strncmp(subject, path, len) == 0 && subject[len] == '/')
        return true; /* what is below it */
    return n > sizeof(f->subject) - 8 && strncmp(subject, path, n - 4) == 0;
}

/* The device that the path is about, by one of its names. */
static bool has_device(const struct truth *truth, const struct ni_finding *f, const char *path)
{
    const struct ni_inventory *inv = &truth->inv;
    char bdf[NI_BDF_TEXT];

    for (unsigned i = 0; i < inv->n_hca; i++) {
        const struct ni_hca *h = &inv->hca[i];
        const char *address = h->has_bdf ? ni_bdf_text(h->bdf, bdf) : "";
        bool about = has_word(path, h->name) || has_word(path, address) || has_word(path, h->aux);
        if (about && (says(f, h->name) || says(f, address) || says(f, h->aux)))
            return true;
    }
    for (unsigned i = 0; i < inv->n_allocation; i++)
        if (has_word(path, inv->allocation[i].id) && says(f, inv->allocation[i].id))
            return true;
    for (unsigned i = 0; i < inv->n_netdev; i++)
        if (has_word(path, inv->netdev[i].name) && says(f, inv->netdev[i].name))
            return true;
    return false;
}

bool names_fault(const struct truth *truth, const struct ni_finding *finding,
                 const struct passed *at)
{
    const char *id = ni_finding_id(finding->id);

    if (has_path(finding, at->path))
        return true;
    for (unsigned i = 0; i < NI_COUNT(allowed); i++)
        if (fnmatch(allowed[i].path, at->path, 0) == 0 && fnmatch(allowed[i].id, id, 0) == 0 &&
            (!allowed[i].subject || fnmatch(allowed[i].subject, finding->subject, 0) == 0) &&
            (!allowed[i].device || has_device(truth, finding, at->path)))
            return true;
    return false;
}
