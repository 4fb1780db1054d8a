/* SPDX-License-Identifier: Apache-2.0 */
/* Trials of ports: what decide/ asks for, and how far libibverbs got with each. Plain data; the one
   table lies in memory that the trials' processes share with their parent. */
#ifndef NCCL_INIT_TRIAL_H
#define NCCL_INIT_TRIAL_H

#include "nccl_init/core.h"
#include "nccl_init/inventory.h"

/* In the order in which they are taken. A trial that ends elsewhere than at NI_STEP_DONE failed in
   the step it names. */
enum ni_step {
    NI_STEP_START,    /* the process that tries the port */
    NI_STEP_FIND,     /* in libibverbs' list of devices */
    NI_STEP_OPEN,     /* ibv_open_device: /dev/infiniband/uverbsN */
    NI_STEP_DEVICE,   /* ibv_query_device, GID table, protection domain, DMA-BUF */
    NI_STEP_PORT,     /* ibv_query_port: ACTIVE */
    NI_STEP_GID,      /* ibv_query_gid_ex of the index */
    NI_STEP_ALLOCATE, /* memory of the size asked for, from the kernel */
    NI_STEP_REGISTER, /* ibv_reg_mr of it */
    NI_STEP_QUEUES,   /* ibv_create_cq, ibv_create_qp */
    NI_STEP_CONNECT,  /* ibv_modify_qp: to INIT, RTR, RTS */
    NI_STEP_WRITE,    /* RDMA write from one queue pair to the other, over the port's own GID */
    NI_STEP_READ,     /* RDMA read of what was written */
    NI_STEP_COMPARE,  /* what came back is what was sent */
    NI_STEP_DONE,
    NI_STEP_N
};

/* How a trial's process ended. */
enum ni_trial_end {
    NI_TRIAL_RUNNING,
    NI_TRIAL_ENDED,  /* it said how it went */
    NI_TRIAL_DIED,   /* by a signal, or before it said how it went */
    NI_TRIAL_KILLED, /* by us, when the time was over */
    NI_TRIAL_STUCK   /* it does not die of SIGKILL: it hangs in the kernel */
};

/* Valid GIDs of one device: an answer of uverbs has 64 KiB at most (include/uapi/rdma/
   rdma_user_ioctl_cmds.h struct ib_uverbs_attr), an entry 32 bytes. */
enum { NI_TRIAL_GIDS = 2047 };

/* One entry of the GID table as libibverbs tells it. */
struct ni_trial_gid {
    uint8_t ip[NI_GID_BYTES];
    uint16_t index;
    uint8_t port;
    bool v2; /* RoCE v2; else RoCE v1 or InfiniBand */
};

/* What the device says it can do; known when the trial got beyond NI_STEP_DEVICE. */
struct ni_trial_device {
    char firmware[64];
    uint64_t max_mr_size; /* bytes */
    int max_qp, max_cq, max_mr;
    enum ni_known dmabuf; /* KNOWN: ibv_reg_dmabuf_mr is there; ABSENT: it is not */
};

struct ni_trial {
    /* What is to be tried, filled by decide/. */
    char hca[NI_DEV_NAME];
    unsigned port;
    int at;                    /* the port in the inventory */
    bool roce;                 /* addressed by GID; else by LID */
    int index;                 /* of the GID; -1: RoCE without a usable GID */
    uint8_t gid[NI_GID_BYTES]; /* what sysfs says of that index; zero: nothing */

    /* How it went, filled by the trial's process. */
    enum ni_step step;
    enum ni_trial_end end;
    bool untried;               /* by decide/: nccl-init has no provider for the device */
    int err;                    /* errno of that step; 0: none */
    int signal;                 /* that ended the process; 0: none */
    int pid;                    /* of a process that is stuck; else 0 */
    int qp_state;               /* of a queue pair when connecting failed: enum ibv_qp_state */
    int wc_status, vendor_err;  /* of the completion that failed: enum ibv_wc_status; 0: none */
    int port_state, phys_state; /* enum ni_port_state, enum ib_port_phys_state */
    uint8_t seen[NI_GID_BYTES]; /* the GID at that index, as libibverbs tells it */
    bool seen_v2;
    int64_t memlock; /* soft RLIMIT_MEMLOCK of the trial's process; -1: unknown */
    int64_t bad_at;  /* first byte that came back wrong; -1: none */
    struct ni_trial_device device;
    int64_t register_us;       /* how long ibv_reg_mr took */
    int64_t latency_ns;        /* median of small writes, there and acknowledged */
    int64_t write_us, read_us; /* for `bytes` each */
    int gid_err;               /* errno of reading the table; 0: none */
    unsigned n_gid;            /* valid entries of all ports of the device */
    struct ni_trial_gid table[NI_TRIAL_GIDS];
};

/* Sizes within which a trial moves, and what they are unless asked for otherwise. */
#define NI_TRIAL_SIZE      (INT64_C(64) << 20)
#define NI_TRIAL_SIZE_MIN  (INT64_C(12) << 10)
#define NI_TRIAL_SIZE_MAX  (INT64_C(64) << 30)
#define NI_TRIAL_BYTES     (INT64_C(16) << 20)
#define NI_TRIAL_BYTES_MAX (INT64_C(1) << 40)
enum { NI_TRIAL_SECONDS = 10, NI_TRIAL_SECONDS_MAX = 3600, NI_MAX_TRIAL = NI_MAX_PORT };

/* All trials of one run. */
struct ni_trials {
    struct ni_trial at[NI_MAX_TRIAL];
    unsigned n;
    int64_t size;     /* bytes of memory registered by each */
    int64_t bytes;    /* written, and read back, by each */
    int64_t limit_ms; /* for all */
    int64_t took_ms;
    bool probe; /* doctor --probe: NI_STEP_DONE follows NI_STEP_DEVICE; nothing is sent */
};

/* Whether the port did all that was asked. */
bool ni_trial_passed(const struct ni_trial *trial);
/* How many could be tried at all, and how many of them passed. */
unsigned ni_trials_tried(const struct ni_trials *trials);
unsigned ni_trials_passed(const struct ni_trials *trials);
/* "register", "connect"; one word for each step. */
const char *ni_step_text(enum ni_step step);

#endif
