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

/* The answer of a step. `why` has the reason in words, unless the answer is YES. */
enum ni_hook_answer {
    NI_HOOK_YES,  /* the hook goes on */
    NI_HOOK_NO,   /* the hook rightly leaves the container alone */
    NI_HOOK_WRONG /* the hook leaves the container alone because something is wrong */
};

struct ni_hook_container {
    char id[128]; /* cut; for people */
    int pid;      /* above 1 */
    char bundle[NI_PATH];
    int major, minor; /* of its RDMA device */
    int64_t listed;   /* the soft RLIMIT_MEMLOCK that its config.json lists; -1: none */
    int64_t before;   /* its soft limit; -1: not known (a recorded node) */
};

/* Reads the state that the runtime writes to standard input. dry: the container may already run. */
enum ni_hook_answer ni_hook_state(const char *text, bool dry, struct ni_hook_container *ret,
                                  struct ni_text *why);
/* Finds in the bundle's config.json an RDMA device that the container may use. Looks device numbers
   up below the root. privileged: a container that may use every device counts, too. */
enum ni_hook_answer ni_hook_config(const struct ni_dir *top, const char *text, bool privileged,
                                   struct ni_hook_container *ret, struct ni_text *why);
/* Puts the reason. Returns the answer that it was given. */
enum ni_hook_answer ni_hook_say(enum ni_hook_answer answer, struct ni_text *why, const char *fmt,
                                ...) NI_PRINTF(3, 4);

#endif
