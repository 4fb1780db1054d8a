/* SPDX-License-Identifier: Apache-2.0 */
/* PCI addresses, and the place of a function on the tree as NCCL will see it. */
#ifndef NCCL_INIT_PCI_H
#define NCCL_INIT_PCI_H

#include <stdbool.h>
#include <stdint.h>

#include "nccl_init/base.h"
#include "nccl_init/known.h"
#include "nccl_init/text.h"

/* Domain, bus, device, function, as in `0000:3b:00.2`. */
struct ni_bdf {
    uint32_t domain;
    uint8_t bus, dev, fn;
};

/* The highest address that exists. It stands for no address, and sorts last. */
#define NI_LAST_BDF ((struct ni_bdf){UINT32_MAX, 0xff, 0xff, 0xff})

enum { NI_VPD_UUID = 64 };  /* room for the UUID of vital product data */
enum { NI_MAX_DEPTH = 24 }; /* PCI functions from the root to a device */

/* The lanes of a PCIe link, and the speed of each in 100 Mb/s: the most that both ends can do. n is 0
   if it is not known. */
struct ni_lanes {
    uint16_t n, each;
};

/* The functions from the host bridge down to the device, as the target of sys/bus/pci/devices/BDF
   lists them. */
struct ni_pci {
    enum ni_known known;
    uint32_t root_domain; /* "pci0000:00" */
    uint8_t root_bus;
    uint8_t depth;                  /* at[depth - 1] is the device itself */
    struct ni_bdf at[NI_MAX_DEPTH]; /* at[0] lies on the root bus */
    bool none;                      /* SoftRoCE: a device of no bus */
    char aux[NI_DEV_NAME]; /* below the function: a sub-function, "mlx5_core.sf.4"; else "" */
    struct ni_num numa;    /* -1 if the firmware names none */
    struct ni_lanes link[NI_MAX_DEPTH]; /* of at[i] to the function above it; if asked for */
};

/* The IOMMU group of a function; read for doctor. */
struct ni_iommu {
    enum ni_known known; /* ABSENT: there is no group, so no IOMMU translates */
    char type[16]; /* "identity", "DMA", "DMA-FQ" (drivers/iommu/iommu.c iommu_group_show_type) */
};

/* A PCIe link: its lanes, and its speed in thousandths of GT/s; now, and the most that both ends
   can do. Read for doctor. */
enum { NI_PCIE_WIDTH, NI_PCIE_SPEED, NI_PCIE_N };
struct ni_pcie {
    struct ni_num now[NI_PCIE_N], most[NI_PCIE_N];
};

/* NCCL's path types, near to far (NCCL 2.30.7 include/graph.h PATH_*). A GPU and an HCA are PIX,
   PXB, PHB or SYS apart; the others are only names of levels. */
enum ni_distance {
    NI_DIST_UNKNOWN,
    NI_DIST_LOC,
    NI_DIST_NVL,
    NI_DIST_NVB,
    NI_DIST_C2C,
    NI_DIST_PIX, /* the same PCIe switch */
    NI_DIST_PXB, /* several switches */
    NI_DIST_P2C,
    NI_DIST_PXN,
    NI_DIST_PHB, /* the same CPU, that is, NUMA node */
    NI_DIST_SYS  /* another CPU */
};

/* Parses an address: 4 to 8 hex digits of domain, then 2, 2 and 1. 0 or -EINVAL. */
int ni_parse_bdf(struct ni_span s, struct ni_bdf *ret);
/* Writes an address as the kernel does, %04x:%02x:%02x.%x (drivers/pci/probe.c pci_setup_device).
   Returns buf. */
const char *ni_bdf_text(struct ni_bdf bdf, char buf[NI_BDF_TEXT]);
/* Compares two addresses. Returns a number below, at or above 0. */
int ni_bdf_cmp(struct ni_bdf a, struct ni_bdf b);
/* Compares two devices in the order in which NCCL sorts them, by PCI address (2.29.7
   NCCL_IB_DEVICE_PCI_ORDER); devices without one, NI_LAST_BDF, come last, by name. Returns a number
   below, at or above 0. */
int ni_pci_order(struct ni_bdf a, const char *a_name, struct ni_bdf b, const char *b_name);
/* Finds the keyword V3, a UUID, in a function's vital product data, as its file `vpd` has them (PCI
   Local Bus Specification 3.0, appendix I). false: there is none, or it is too long. */
bool ni_vpd_uuid(struct ni_span vpd, char ret[NI_VPD_UUID]);

/* Returns true for the name of a device on the auxiliary bus, `mlx5_core.sf.4`: module.name.number
   (drivers/base/auxiliary.c). */
bool ni_is_aux_id(struct ni_span s);

/* Returns the distance that NCCL sees between two functions; UNKNOWN if a fact for that is not
   known. */
enum ni_distance ni_pci_distance(const struct ni_pci *a, const struct ni_pci *b);

/* Returns true if the domain has more than four digits: NCCL cuts such an address, and finds no
   device (NCCL 2.30.7 os/linux.cc ncclOsGetPciPath). */
static inline bool ni_is_cut_by_nccl(struct ni_bdf bdf)
{
    return bdf.domain > 0xffff;
}

/* Returns the name of a distance, "PXB"; "-" for unknown. */
const char *ni_distance_text(enum ni_distance d);
/* Reads a level as NCCL reads NCCL_NET_GDR_LEVEL: an exact name, or an old digit (NCCL 2.30.7
   graph/paths.cc ncclGetLevel). UNKNOWN: NCCL ignores it, or reads outside of its table. */
enum ni_distance ni_parse_level(const char *text);

#endif
