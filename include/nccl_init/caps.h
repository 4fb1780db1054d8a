/* SPDX-License-Identifier: Apache-2.0 */
/* Capabilities: bit N of a set is number N of include/uapi/linux/capability.h. */
#ifndef NCCL_INIT_CAPS_H
#define NCCL_INIT_CAPS_H

#include "nccl_init/text.h"

enum { NI_CAP_SETPCAP = 8, NI_CAP_IPC_LOCK = 14, NI_CAP_SYS_RESOURCE = 24, NI_CAPS = 41 };

static inline bool ni_has_cap(uint64_t set, unsigned cap)
{
    return set >> cap & 1;
}

/* "IPC_LOCK", in any case, without "CAP_". 0 or -EINVAL. */
int ni_parse_cap(struct ni_span s, unsigned *ret);
/* The set as "CAP_IPC_LOCK, CAP_NET_RAW". */
void ni_put_caps(struct ni_text *t, uint64_t set);

#endif
