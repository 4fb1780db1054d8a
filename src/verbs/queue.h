/* SPDX-License-Identifier: Apache-2.0 */
/* What the trial of one port (try.c) and a rail between two pods (rail.c) do alike: a device is
   opened, a reliable queue pair is connected, data goes through it. */
#ifndef NCCL_INIT_QUEUE_H
#define NCCL_INIT_QUEUE_H

#include <infiniband/verbs.h>

#include "nccl_init/core.h"

enum {
    NI_QUEUE_DEPTH = 64, /* work requests in flight, at most */
    /* Bytes of one, at most: 64 of them fill 400 Gb/s for 300 us. */
    NI_QUEUE_CHUNK = 256 << 10,
    NI_QUEUE_SMALL = 8, /* bytes whose way is timed */
    NI_QUEUE_READS = 16 /* RDMA reads in flight, if the device can */
};

int64_t ni_now_ns(void);

/* The device in libibverbs' list. 0 or errno. */
int ni_find_device(const char *hca, struct ibv_device **ret);
/* Opens it. 0 or errno. */
int ni_open_device(struct ibv_device *device, struct ibv_context **ret);
/* A reliable queue pair whose requests all give a completion. 0 or errno. */
int ni_make_queue(struct ibv_pd *pd, struct ibv_cq *cq, struct ibv_qp **ret);
/* NI_QUEUE_READS, or what the device can. */
uint8_t ni_most_reads(int device);

/* The other end, and the way to it. */
struct ni_far_end {
    uint8_t port; /* own */
    uint16_t pkey_index;
    enum ibv_mtu mtu;
    bool global; /* by GID; else by LID */
    union ibv_gid gid;
    uint8_t gid_index; /* own */
    uint16_t lid;
    uint8_t service_level, traffic_class;
    uint32_t qpn, psn, own_psn;
    uint8_t answers, starts; /* RDMA reads in flight */
};

/* To INIT, RTR, RTS; *ret_state: how far it came. 0 or errno. */
int ni_connect_queue(struct ibv_qp *qp, const struct ni_far_end *to, enum ibv_qp_state *ret_state);

/* Moves data between own memory and the other end's. */
struct ni_mover {
    struct ibv_qp *qp;
    struct ibv_cq *cq;
    uint8_t *out, *back; /* what is written; where it is read to */
    uint64_t remote;
    uint32_t lkey, rkey;
    unsigned depth;       /* requests in flight, at most */
    size_t window, chunk; /* bytes: of all three; of one request at most */
    int64_t patience_ns;  /* without a completion; INT64_MAX: the queue pair's own retries end it */
    long nap_ns; /* between looks for one, below a second; 0: only other processes get a turn */
    int err;     /* of what failed; ETIMEDOUT: no completion */
    int wc_status, vendor; /* of a completion that failed */
};

/* One request, there and acknowledged. */
bool ni_move_once(struct ni_mover *m, enum ibv_wr_opcode opcode, size_t n);
/* Small writes, each from the request to its completion, for so long at most. */
bool ni_time_small(struct ni_mover *m, int64_t limit_ns, int64_t *ret_median, int64_t *ret_slowest);
/* Goes over the window again and again: `bytes` in all, and no longer than limit_ns. */
bool ni_stream(struct ni_mover *m, enum ibv_wr_opcode opcode, int64_t bytes, int64_t limit_ns,
               int64_t *ret_bytes, int64_t *ret_ns);
/* A pattern in whose every word stands where it is, and `key`. n: of whole words. */
void ni_fill_pattern(uint8_t *to, size_t n, uint64_t key);

#endif
