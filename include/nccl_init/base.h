/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds and sizes that all rooms share. */
#ifndef NCCL_INIT_BASE_H
#define NCCL_INIT_BASE_H

#define NI_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

#define NI_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Bounds, most of them the kernel's own. A size of text includes the NUL. */
enum {
    NI_DEV_NAME = 64, /* IB_DEVICE_NAME_MAX, include/uapi/rdma/rdma_netlink.h */
    NI_IF_NAME = 16,  /* IFNAMSIZ, include/uapi/linux/if.h */
    NI_BDF_TEXT = 17, /* "ffffffff:ff:1f.7": a domain has up to 32 bits (VMD, Hyper-V) */
    NI_IP_TEXT = 46,  /* INET6_ADDRSTRLEN */
    NI_GID_BYTES = 16,
    NI_PATH = 512, /* longest path below the root that the program builds */
    NI_PAGE = 4096 /* a sysfs attribute is at most one page (fs/sysfs/file.c) */
};

#endif
