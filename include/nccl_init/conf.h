/* SPDX-License-Identifier: Apache-2.0 */
/* nccl.conf, rccl.conf, nvshmem.conf. */
#ifndef NCCL_INIT_CONF_H
#define NCCL_INIT_CONF_H

#include "nccl_init/core.h"

enum {
    NI_MAX_CONF = 256,   /* settings of nccl.conf, rccl.conf and nvshmem.conf files */
    NI_CONF_VALUE = 1024 /* NCCL 2.30.7 misc/param.cc: name and value 1023 bytes */
};

struct ni_conf_entry {
    char name[NI_DEV_NAME];
    char value[NI_CONF_VALUE];
    char file[NI_DEV_NAME + 64];
    bool overrides; /* of nvshmem.conf: it wins over the environment, and the last one counts */
};

#endif
