/* SPDX-License-Identifier: Apache-2.0 */
/* This process: limits, capabilities, its kernel and its container. */
#ifndef NCCL_INIT_PROCESS_H
#define NCCL_INIT_PROCESS_H

#include <stdint.h>

#include "nccl_init/base.h"
#include "nccl_init/known.h"

/* The user namespace. For a higher memlock limit the kernel asks for a capability in the initial
   one. */
enum ni_userns { NI_USERNS_UNKNOWN, NI_USERNS_INITIAL, NI_USERNS_OWN };

struct ni_self {
    struct ni_num memlock_soft, memlock_hard; /* bytes, NI_UNLIMITED */
    enum ni_known caps_known;
    uint64_t cap_eff, cap_prm, cap_bnd, cap_inh, cap_amb;
    struct ni_num uid, real_uid;         /* effective, real */
    struct ni_num pid;                   /* in the process's own PID namespace */
    struct ni_num no_new_privs;          /* 0, 1 */
    struct ni_num seccomp;               /* 0 none, 1 strict, 2 filter */
    enum ni_userns user_namespace;       /* read only if the memlock limit is not unlimited */
    unsigned kernel_major, kernel_minor; /* 0.0: unknown */
    /* For doctor. */
    char kernel[72];      /* "5.14.0-570.el9"; "": unknown */
    struct ni_num uptime; /* of the node, seconds */
    enum ni_known cmdline_known;
    char cmdline[160]; /* the words of the kernel command line about the IOMMU; "": none */
    /* bytes of /dev/shm; NI_UNLIMITED: mounted without a size; ABSENT: no mount; UNSET: unknown */
    struct ni_num shm;
    enum ni_known nosuid;     /* KNOWN: this program lies on a nosuid mount; ABSENT: it does not */
    enum ni_known host_known; /* KNOWN: /etc/hosts has this host's name; ABSENT: it does not */
    char host_ip[NI_IP_TEXT]; /* the address of that name */
    enum ni_known init_known;
    char init[16]; /* the command name of PID 1; "": it is this process */
};

#endif
