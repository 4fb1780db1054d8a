/* SPDX-License-Identifier: Apache-2.0 */
/* facts: masking, between mask.c (what stands for what), mask_host.c (host names) and mask_scan.c
   (finding it in text). */
#ifndef NCCL_INIT_FACTS_MASK_H
#define NCCL_INIT_FACTS_MASK_H

#include "door.h"

/* What a thing is decides the form of what stands for it. Each kind counts for itself. */
enum ni_mask_kind { NI_MASK_MAC, NI_MASK_GUID, NI_MASK_UUID, NI_MASK_HEX, NI_MASK_OPAQUE };

/* Where a text comes from. */
struct ni_mask_place {
    bool kernel; /* sysfs, proc/net: words of the kernel, not of people */
    bool net;    /* 32 hex digits are an IPv6 address */
    bool gid_ib; /* the low half of a GID is a GUID: the port is InfiniBand */
    bool opaque; /* all of it is a serial number or the like */
};

/* A number from 1 for the thing, the same one each time. Numbers: a and b; texts: key, which must
   stay. 0: no room. */
uint32_t ni_mask_number(struct ni_mask *m, enum ni_mask_kind kind, uint64_t a, uint64_t b,
                        struct ni_span key);

uint64_t ni_mask_mac(struct ni_mask *m, uint64_t mac);
/* A GUID, or the low half of an address. `add`: it is a GUID for certain; else only if it was seen
   as one. */
uint64_t ni_mask_guid(struct ni_mask *m, uint64_t guid, bool add);
/* The low half of a GID or an IPv6 address, in place. */
void ni_mask_ip(struct ni_mask *m, uint8_t ip[NI_GID_BYTES], bool is_guid);

/* ---- mask_host.c ---- */

enum { NI_MASK_HOSTS = 32 };

struct ni_mask_host {
    struct ni_span name;
    uint32_t number;
    bool distinctive; /* no word of the kernel, no name of a device */
};

struct ni_mask_hosts {
    struct ni_mask_host host[NI_MASK_HOSTS]; /* longest first */
    unsigned n, n_numbers;
    bool full;
};

void ni_mask_find_hosts(const struct ni_tree *t, struct ni_mask_hosts *hosts);
const struct ni_mask_hosts *ni_mask_hosts_of(const struct ni_mask *m);

/* ---- mask_scan.c ---- */

/* Hands `s` on to the sink with everything replaced that says which machine it is. */
void ni_mask_scan(struct ni_mask *m, const struct ni_mask_place *place, struct ni_span s,
                  ni_sink_fn *sink, void *ctx);

#endif
