/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of capabilities as /proc/PID/status has them: bit N is the kernel's number N. The names
   and the running process's own sets are libcap's (system/caps.h). */
#ifndef NCCL_INIT_CAPS_H
#define NCCL_INIT_CAPS_H

#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>

#include "nccl_init/text.h"

enum { NI_CAPS = CAP_LAST_CAP + 1 };

static inline uint64_t ni_cap_bit(unsigned cap)
{
    return UINT64_C(1) << cap;
}

static inline bool ni_has_cap(uint64_t set, unsigned cap)
{
    return (set & ni_cap_bit(cap)) != 0;
}

/* The names of the capabilities that an option names, by number. */
struct ni_cap_names {
    char at[NI_CAPS][28]; /* the longest is CAP_CHECKPOINT_RESTORE; "": no option names it */
};

/* Puts the set as "CAP_IPC_LOCK, CAP_NET_RAW"; a capability that no option names is "capability
   13". */
void ni_put_caps(struct ni_text *t, uint64_t set, const struct ni_cap_names *names);

#endif
