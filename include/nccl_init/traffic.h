/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of rails and interfaces at one moment. node/traffic.h reads them. Plain data. */
#ifndef NCCL_INIT_TRAFFIC_H
#define NCCL_INIT_TRAFFIC_H

#include <stdbool.h>
#include <stdint.h>

#include "nccl_init/base.h"
#include "nccl_init/known.h"
#include "nccl_init/rdma.h"

enum {
    NI_MAX_WATCHED_IF = 64, /* interfaces; of more, those without a device are left out first */
    NI_WATCHED_GIDS = 32,   /* non-empty GID entries of a port; the rest is left out */
    NI_N_TRAFFIC_COUNTER = 27
};

/* The kind of a counter that should stand still. */
enum ni_trouble { NI_TROUBLE_RESENT, NI_TROUBLE_ERROR, NI_N_TROUBLE };
struct ni_traffic_counter {
    const char *file; /* below ports/P */
    enum ni_trouble kind;
    int64_t most; /* it stops there; 0: at a bound of its driver's, of 32 bits or more */
};
extern const struct ni_traffic_counter ni_traffic_counters[NI_N_TRAFFIC_COUNTER];
/* Returns true if counter i, which has this value, stands at its most and counts no more. */
bool ni_is_full_counter(unsigned i, struct ni_num value);

/* The files that count a port's bytes. */
enum ni_byte_source {
    NI_BYTES_NONE,      /* no file counts them */
    NI_BYTES_PORT_DATA, /* counters/port_xmit_data and port_rcv_data, in units of 4 bytes */
    NI_BYTES_UCAST,     /* hw_counters/tx_rdma_ucast_bytes: ionic */
    NI_BYTES_HW,        /* hw_counters/tx_bytes: bnxt_re, efa */
    NI_BYTES_IP,        /* hw_counters/ip4OutOctets and ip6OutOctets: irdma */
    NI_N_BYTE_SOURCE
};

struct ni_watched_gid {
    uint16_t index;
    uint8_t ip[NI_GID_BYTES];
};

/* A port at one moment. */
struct ni_rail_traffic {
    int port; /* in the inventory */
    struct ni_num state;
    enum ni_byte_source source;
    struct ni_num out, in; /* bytes */
    bool full;             /* a 32 bit counter stands at its most, and counts no more */
    bool has_counters;     /* the port shows counters/ or hw_counters/ */
    struct ni_num counter[NI_N_TRAFFIC_COUNTER];
    enum ni_known gids_known;
    bool gids_cut;
    unsigned n_gid;
    struct ni_watched_gid gid[NI_WATCHED_GIDS]; /* ascending index */
};

/* An interface of this network namespace at one moment. */
struct ni_if_traffic {
    char name[NI_IF_NAME];
    bool ipoib;            /* its packets go through an InfiniBand port */
    struct ni_num out, in; /* bytes */
    struct ni_num errors;  /* errors and drops, in both directions */
};

struct ni_traffic {
    int64_t at_ms; /* CLOCK_MONOTONIC */
    unsigned n_rail, n_if;
    unsigned n_hca;          /* all HCAs that sysfs shows here, whoever they belong to */
    bool ifs_cut;            /* there are more interfaces */
    enum ni_known ifs_known; /* of their list */
    struct ni_rail_traffic rail[NI_MAX_PORT];
    struct ni_if_traffic netif[NI_MAX_WATCHED_IF];
};

#endif
