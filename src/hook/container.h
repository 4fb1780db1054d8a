/* SPDX-License-Identifier: Apache-2.0 */
/* The container for which the runtime calls the hook: its state, and the config.json of its
   bundle. */
#ifndef NCCL_INIT_HOOK_CONTAINER_H
#define NCCL_INIT_HOOK_CONTAINER_H

#include <stdbool.h>
#include <stdint.h>

#include "nccl_init/base.h"
#include "nccl_init/text.h"
#include "sysroot/root.h"

/* Each step's answer; `why` has the reason in words, but for YES. */
enum ni_hook_answer {
    NI_HOOK_YES,  /* on with it */
    NI_HOOK_NO,   /* the container is left alone, as it should be */
    NI_HOOK_WRONG /* it is left alone because something is not as it has to be */
};

struct ni_hook_container {
    char id[128]; /* cut; for people */
    int pid;      /* above 1 */
    char bundle[NI_PATH];
    int major, minor; /* of its RDMA device */
    int64_t listed;   /* the soft RLIMIT_MEMLOCK that its config.json lists; -1: none */
    int64_t before;   /* its soft limit; -1: not known (a recorded node) */
};

/* The state that the runtime writes to standard input. dry: it may be of a running container. */
enum ni_hook_answer ni_hook_state(const char *text, bool dry, struct ni_hook_container *ret,
                                  struct ni_text *why);
/* The bundle's config.json: whether the container may use an RDMA device. Device numbers are looked
   up below the root. privileged: also one that may use every device. */
enum ni_hook_answer ni_hook_config(const struct ni_dir *top, const char *text, bool privileged,
                                   struct ni_hook_container *ret, struct ni_text *why);
/* Puts the reason, and gives the answer back. */
enum ni_hook_answer ni_hook_say(enum ni_hook_answer answer, struct ni_text *why, const char *fmt,
                                ...) NI_PRINTF(3, 4);

#endif
