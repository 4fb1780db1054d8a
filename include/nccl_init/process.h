/* SPDX-License-Identifier: Apache-2.0 */
/* The process: limits, capabilities, kernel. */
#ifndef NCCL_INIT_PROCESS_H
#define NCCL_INIT_PROCESS_H

#include "nccl_init/core.h"

#define NI_UNLIMITED INT64_MAX

/* "unlimited", "64 KiB"; the largest unit that leaves no fraction. */
void ni_put_bytes(struct ni_text *t, int64_t bytes);

/* Whether capabilities count: the kernel asks for them in the initial user namespace. */
enum ni_userns { NI_USERNS_UNKNOWN, NI_USERNS_INITIAL, NI_USERNS_OWN };

struct ni_self {
    struct ni_num memlock_soft, memlock_hard; /* bytes, NI_UNLIMITED */
    struct ni_num nofile_soft, nofile_hard;   /* descriptors */
    enum ni_known caps_known;
    uint64_t cap_eff, cap_prm, cap_bnd, cap_inh, cap_amb;
    struct ni_num uid, real_uid;         /* effective, real */
    struct ni_num pid;                   /* in the process's own PID namespace */
    struct ni_num no_new_privs;          /* 0, 1 */
    struct ni_num seccomp;               /* 0 none, 1 strict, 2 filter */
    enum ni_userns user_namespace;       /* read only where the memlock limit is not unlimited */
    unsigned kernel_major, kernel_minor; /* 0.0: unknown */
};

#endif
