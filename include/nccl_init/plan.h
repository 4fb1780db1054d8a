/* SPDX-License-Identifier: Apache-2.0 */
/* What flows into decide/ (policy) and out of it (plan) to act/ and report/. Plain data. */
#ifndef NCCL_INIT_PLAN_H
#define NCCL_INIT_PLAN_H

#include "nccl_init/core.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"

/* ---- policy: what the user asked for by option or NCCLINIT_* variable ---- */

enum ni_mode { NI_MODE_AUTO, NI_MODE_RDMA, NI_MODE_TCP, NI_MODE_OFF };

/* NCCL's path types, near to far (NCCL 2.30.7 include/graph.h PATH_*). */
enum ni_distance { NI_DIST_UNKNOWN, NI_DIST_PIX, NI_DIST_PXB, NI_DIST_PHB, NI_DIST_SYS };

enum ni_gdr_policy { NI_GDR_AUTO, NI_GDR_OFF, NI_GDR_LEVEL };

enum ni_memlock_policy { NI_MEMLOCK_MAX, NI_MEMLOCK_KEEP, NI_MEMLOCK_BYTES };

/* --for: whose variables to write; bits. */
enum { NI_FOR_NCCL = 1, NI_FOR_NVSHMEM = 2, NI_FOR_UCX = 4, NI_FOR_GLOO = 8 };

/* --require: what must hold, else the command is not started; bits. */
enum {
    NI_REQUIRE_RDMA = 1,
    NI_REQUIRE_GDR = 2,
    NI_REQUIRE_MEMLOCK = 4,
    NI_REQUIRE_ROCE_V2 = 8,
    NI_REQUIRE_RAILS = 16,
    NI_REQUIRE_GPUS = 32
};

struct ni_policy {
    enum ni_mode mode;
    unsigned targets; /* NI_FOR_*; 0: NCCL */
    enum ni_gdr_policy gdr;
    enum ni_distance gdr_level; /* if NI_GDR_LEVEL */
    enum ni_memlock_policy memlock;
    int64_t memlock_bytes;         /* if NI_MEMLOCK_BYTES */
    unsigned require;              /* NI_REQUIRE_* */
    unsigned rails;                /* at least so many, if NI_REQUIRE_RAILS */
    uint64_t keep_caps, drop_caps; /* sets of capabilities (core.h) */
    bool drop_unneeded;            /* also what only raising the limit needs */
    const char *hcas;    /* name[:port],... or NULL for auto; checked: names NCCL can carry */
    const char *sockets; /* interface names, "pod" for the default route's, or NULL for auto */
};

/* ---- plan ---- */

enum {
    NI_MAX_CHOSEN = 32,  /* MAX_IB_DEVS, NCCL 2.30.7 transport/net_ib/common.h */
    NI_MAX_SETTING = 24, /* variables that rules may decide */
    NI_VALUE = NI_MAX_CHOSEN * (NI_DEV_NAME + 4),
    NI_REASON = 320
};

enum ni_origin {
    NI_FROM_RULE,  /* decided here: exported */
    NI_FROM_USER,  /* already in the environment: untouched */
    NI_FROM_CONF,  /* in an nccl.conf that NCCL reads: untouched */
    NI_LEFT_UNSET, /* the rule decided that NCCL does best without */
};

struct ni_setting {
    const char *name;
    const char *rule; /* rule id */
    enum ni_origin origin;
    /* the user's or the file's own for those origins, cut if longer; "" when left unset */
    char value[NI_VALUE];
    char reason[NI_REASON]; /* one sentence */
    char file[NI_DEV_NAME + 64];
};

/* What became of one port of the inventory. */
struct ni_pick {
    bool kept;
    const char *rule; /* the rule that dropped it, or the last that kept it; NULL: never judged */
    char why[160];
    int gid;        /* index into inventory.gid of the port's right GID, -1 */
    int nccl_index; /* on which NCCL will end in the port's GID table, -1 where that is not known */
};

/* The nearest of the pod's GPUs to one HCA. */
struct ni_near {
    int gpu; /* -1 */
    enum ni_distance distance;
};

enum ni_transport {
    NI_NET_OFF,   /* --mode=off: nothing is decided */
    NI_NET_RDMA,  /* at least one port is kept */
    NI_NET_TCP,   /* sockets */
    NI_NET_OTHER, /* the user chose another network plugin: left alone */
};

struct ni_limit {
    bool raise_soft; /* to `soft` */
    bool raise_hard; /* to `hard`, needs CAP_SYS_RESOURCE effective */
    int64_t soft, hard;
};

/* What becomes of the process's capabilities right before exec; sets (core.h). All empty: nothing
   is touched. */
struct ni_caps {
    uint64_t keep;  /* to be made ambient */
    uint64_t drop;  /* out of all five sets ... */
    uint64_t stuck; /* ... but these not out of the bounding set: CAP_SETPCAP is missing */
};

/* In the order of struct ni_inventory: what is small first. */
struct ni_plan {
    enum ni_transport transport;
    unsigned n_setting, n_chosen;
    int gid_index; /* the one index that NCCL will use for all, -1: it searches */
    struct ni_limit memlock;
    struct ni_caps caps;
    bool refuse; /* --mode=rdma or --require cannot be met: the command must not start */
    char refuse_why[NI_REASON];
    int chosen[NI_MAX_CHOSEN]; /* ports kept, PCI order */
    /* the interfaces in force, plain names: "net1,net2"; "" when unknown */
    char sockets[NI_MAX_IFS * (NI_IF_NAME + 1)];
    struct ni_near nearest[NI_MAX_GPU]; /* by GPU: .gpu is the index of its nearest kept HCA */
    struct ni_near near[NI_MAX_HCA];    /* by HCA of the inventory */
    uint8_t distance[NI_MAX_GPU][NI_MAX_HCA];  /* enum ni_distance of every pair */
    struct ni_pick pick[NI_MAX_PORT];          /* by port of the inventory */
    struct ni_setting setting[NI_MAX_SETTING]; /* in the order of the rules */
};

/* ---- what doctor looked at ---- */

enum ni_outcome {
    NI_CHECK_IDLE,    /* nothing of that kind here */
    NI_CHECK_UNKNOWN, /* the facts cannot be read from here: neither good nor bad */
    NI_CHECK_OK,
    NI_CHECK_FOUND /* there are findings */
};

struct ni_checked {
    const char *id; /* of the check */
    enum ni_outcome outcome;
};

enum { NI_MAX_CHECK = 32 };

struct ni_diagnosis {
    struct ni_checked at[NI_MAX_CHECK]; /* in the order of the table */
    unsigned n;
    struct {
        bool asked; /* --ignore */
        unsigned n; /* findings that do not count for that */
    } ignored[NI_F_COUNT];
};

/* The setting of that variable, or NULL when no rule spoke of it. */
const struct ni_setting *ni_plan_get(const struct ni_plan *plan, const char *name);
/* "PXB"; "-" for unknown. */
const char *ni_distance_text(enum ni_distance d);

#endif
