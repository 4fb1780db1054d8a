/* SPDX-License-Identifier: Apache-2.0 */
/* What the user asked for by option or NCCLINIT_* variable. Values and bits are in the order of the
   words of their options (src/cmd/options.c). */
#ifndef NCCL_INIT_POLICY_H
#define NCCL_INIT_POLICY_H

#include "nccl_init/core.h"
#include "nccl_init/pci.h"

enum ni_mode { NI_MODE_AUTO, NI_MODE_RDMA, NI_MODE_TCP, NI_MODE_OFF };

enum ni_gdr_policy { NI_GDR_AUTO, NI_GDR_OFF, NI_GDR_LEVEL };

enum ni_memlock_policy { NI_MEMLOCK_MAX, NI_MEMLOCK_KEEP, NI_MEMLOCK_BYTES };

/* --for: whose variables to write; bits. */
enum {
    NI_FOR_NCCL = 1,
    NI_FOR_NVSHMEM = 2,
    NI_FOR_UCX = 4,
    NI_FOR_GLOO = 8,
    NI_FOR_NIXL = 16,
    NI_FOR_VLLM = 32,
    NI_FOR_MOONCAKE = 64,
    NI_FOR_ALL = 128 /* the word; stands for all bits below it */
};

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
    bool gpu_map;     /* ni_plan.gpu_ports is shown */
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

#endif
