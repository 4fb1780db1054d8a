/* SPDX-License-Identifier: Apache-2.0 */
/* The plan: ports, settings and limits that the rules decide. It flows from rules/ to system/
   and the reports. Plain data. */
#ifndef NCCL_INIT_PLAN_H
#define NCCL_INIT_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "nccl_init/base.h"
#include "nccl_init/caps.h"
#include "nccl_init/gpu.h"
#include "nccl_init/nccl_list.h"
#include "nccl_init/pci.h"
#include "nccl_init/rdma.h"

struct ni_inventory;

enum ni_mode { NI_MODE_AUTO, NI_MODE_RDMA, NI_MODE_TCP, NI_MODE_OFF };

/* --for: whose variables to write; bits. */
enum {
    NI_FOR_NCCL = 1,
    NI_FOR_NVSHMEM = 2,
    NI_FOR_UCX = 4,
    NI_FOR_GLOO = 8,
    NI_FOR_NIXL = 16,
    NI_FOR_VLLM = 32,
    NI_FOR_MOONCAKE = 64,
    NI_FOR_TORCHCOMMS = 128,
    /* libraries that go through UCX, and so read its variables */
    NI_FOR_OVER_UCX = NI_FOR_UCX | NI_FOR_NIXL | NI_FOR_VLLM,
    /* libraries that take their own list of ports for each GPU */
    NI_FOR_BY_GPU = NI_FOR_OVER_UCX,
    NI_FOR_ALL = 256 /* the word `all`, which sets all bits below it */
};

/* --require: what must hold, else the command is not started; bits. */
enum {
    NI_REQUIRE_RDMA = 1,
    NI_REQUIRE_GDR = 2,
    NI_REQUIRE_MEMLOCK = 4,
    NI_REQUIRE_ROCE_V2 = 8,
    NI_REQUIRE_RAILS = 16,
    NI_REQUIRE_GPUS = 32,
    NI_REQUIRE_SELFTEST = 64,
    NI_REQUIRE_PREFLIGHT = 128,
    NI_REQUIRE_GDR_TRIED = 256
};

/* The effect of a port that fails, or of a bad verdict, on `run`. */
enum ni_demand { NI_DEMAND_OFF, NI_DEMAND_WARN, NI_DEMAND_REQUIRE };

/* The options on which the plan depends. */
struct ni_policy {
    enum ni_mode mode;
    enum ni_demand selftest, preflight;
    unsigned targets;              /* NI_FOR_*; 0: NCCL */
    bool gpu_map;                  /* ni_plan.gpu_ports is shown */
    const char *nccl;              /* the file of NCCL's library, as the user names it; NULL */
    enum ni_distance gdr;          /* the level; UNKNOWN: the rule decides; LOC: off */
    int64_t memlock;               /* the limit to raise to, in bytes, NI_UNLIMITED; -1: keep it */
    unsigned require;              /* NI_REQUIRE_*, by --require or a short form of it */
    unsigned short_forms;          /* those that --mode=rdma, --selftest=require, ... demand */
    unsigned rails;                /* the least number of rails, if NI_REQUIRE_RAILS */
    uint64_t keep_caps, drop_caps; /* sets of capabilities (caps.h) */
    bool drop_unneeded;            /* also drop the capability that raises the limit */
    bool command_elsewhere;        /* another container may run the command, under its own limits */
    char unclear[512];             /* demands that cannot be understood; "": none */
    const char *hcas; /* name[:port],... or NULL for auto; all are names that NCCL can carry */
    /* names of interfaces; "pod": that of the default route; "rails": those for data; NULL: auto */
    const char *sockets;
    struct ni_cap_names cap_names; /* the names of all capabilities in these options */
};

enum {
    NI_MAX_CHOSEN = 32,  /* MAX_IB_DEVS, NCCL 2.30.7 transport/net_ib/common.h */
    NI_MAX_SETTING = 28, /* variables that rules may decide */
    NI_VALUE = NI_MAX_CHOSEN * (NI_DEV_NAME + 4),
    NI_REASON = 320
};

enum ni_origin {
    NI_FROM_RULE,  /* decided here: exported */
    NI_FROM_USER,  /* already in the environment: untouched */
    NI_FROM_CONF,  /* in an nccl.conf that NCCL reads: untouched */
    NI_LEFT_UNSET, /* the rule decided that NCCL's own choice is best */
};

struct ni_setting {
    const char *name;
    const char *rule; /* rule id */
    enum ni_origin origin;
    /* the value in force, also if the user or a file set it, cut if longer; "" if left unset */
    char value[NI_VALUE];
    char reason[NI_REASON]; /* one sentence */
    /* NCCL's own choice while it is unset, to stand after "NCCL then "; NULL: another library's
       variable, or it is set */
    const char *by_itself;
    char file[NI_DEV_NAME + 64]; /* the nccl.conf that set it; "" */
};

/* The decision about a port of the inventory. */
struct ni_port_plan {
    bool chosen;
    bool lost; /* left out for its state: it cannot be opened, is not ACTIVE, has no good GID */
    const char *rule; /* the rule that judged it last; NULL: never judged */
    char why[160];
    int best;       /* the port's best GID, an index into inventory.gid (rule gid.pick); -1 */
    int gid;        /* a chosen port's: NCCL's if as good as the best, else that (gid.index); -1 */
    int nccl_index; /* the entry of the port's GID table on which NCCL will end; -1: not known */
};

/* The settings by which NCCL selects an entry of a port's GID table. */
struct ni_gid_selection {
    int index;      /* NCCL_IB_GID_INDEX, for all ports; -1: NCCL searches, by the other members */
    bool v6;        /* NCCL_IB_ADDR_FAMILY=AF_INET6 */
    bool ranged;    /* NCCL_IB_ADDR_RANGE is set */
    bool bad_range; /* ... but NCCL ignores it */
    bool no_range;  /* ... but its mask is negative: no address is in it */
    uint8_t range[NI_GID_BYTES];
    unsigned bits;   /* of the range's 128 that count */
    int64_t version; /* NCCL_IB_ROCE_VERSION_NUM */
};

/* The nearest GPU of an HCA, or the nearest chosen HCA of a GPU. */
struct ni_near {
    int index; /* of the GPU or HCA in the inventory, -1 */
    enum ni_distance distance;
};

/* What NCCL takes for a GPU: those of the NICs with the fastest path that are nearest. */
struct ni_taken {
    int hca; /* the first of them, in the inventory; -1: not known */
    enum ni_distance distance;
    enum ni_distance gdr; /* the one that decides on GPUDirect RDMA: by PXN, of the other GPU */
    int64_t speed;        /* of the path, in 100 Mb/s; what is not known does not limit it */
    uint32_t ports;       /* bits of plan.chosen */
    uint32_t as_fast;     /* ports whose path is as fast, near or far */
    bool fused;           /* NCCL makes one NIC of several ports */
};

enum ni_transport {
    NI_NET_OFF,   /* --mode=off: nothing is decided */
    NI_NET_RDMA,  /* at least one port is chosen */
    NI_NET_TCP,   /* sockets */
    NI_NET_OTHER, /* the user chose another network plugin: left alone */
};

/* The values to which the limits are raised, in bytes, if they are lower. */
struct ni_limit {
    int64_t soft;
    int64_t hard;  /* needs CAP_SYS_RESOURCE effective */
    bool harmless; /* low, but the command will have CAP_IPC_LOCK */
};

/* The change of the process's capabilities right before exec; sets (caps.h). All empty: nothing
   is touched. */
struct ni_caps {
    uint64_t keep;  /* to be made ambient */
    uint64_t drop;  /* to be taken out of all five sets */
    uint64_t stuck; /* those that stay in the bounding set, because CAP_SETPCAP is missing */
};

/* Small members come first, as in struct ni_inventory. */
struct ni_plan {
    enum ni_transport transport;
    const char *rule; /* the id of the running rule */
    unsigned needs;   /* NI_NEED_*: facts on which this plan depends, read or not */
    unsigned n_setting, n_chosen;
    struct ni_limit memlock;
    struct ni_caps caps;
    bool refuse; /* a demand does not hold: the command must not start */
    char refuse_why[3 * NI_REASON];
    int chosen[NI_MAX_CHOSEN];             /* chosen ports, PCI order */
    struct ni_gid_selection gid_selection; /* in force, if the chosen ports are RoCE */
    /* the interfaces in force, plain names: "net1,net2"; "" when unknown */
    char sockets[NI_MAX_IFS * (NI_IF_NAME + 1)];
    /* HCAs that NCCL does not find on the PCI tree, and places below the first CPU */
    bool no_place[NI_MAX_HCA];
    /* by GPU: the ports that it is to use, as bits of `chosen`; the lowest is its own. 0: unknown
       */
    uint32_t gpu_ports[NI_MAX_GPU];
    struct ni_near nearest_hca[NI_MAX_GPU];    /* by GPU */
    struct ni_taken taken[NI_MAX_GPU];         /* by GPU */
    uint8_t distance[NI_MAX_GPU][NI_MAX_HCA];  /* enum ni_distance of every pair */
    struct ni_port_plan port[NI_MAX_PORT];     /* by port of the inventory */
    struct ni_setting setting[NI_MAX_SETTING]; /* in the order of the rules */
};

/* Returns the setting of that variable; NULL: no rule decided about it. */
const struct ni_setting *ni_plan_get(const struct ni_plan *plan, const char *name);
/* Returns what NCCL takes for a GPU; NULL where the nearest HCA counts: with NVLink-C2C, or if it is
   not known. */
const struct ni_taken *ni_plan_taken(const struct ni_plan *plan, const struct ni_inventory *inv,
                                     unsigned gpu);

#endif
