/* SPDX-License-Identifier: Apache-2.0 */
/* hook: nccl-init-hook, an OCI createRuntime hook that raises the limit of locked memory of a
   container that was given an RDMA device. Root starts it at each container's start. */
#ifndef NCCL_INIT_HOOK_H
#define NCCL_INIT_HOOK_H

#include <sys/resource.h>

#include "nccl_init/base.h"
#include "nccl_init/text.h"
#include "sysroot/sysroot.h"

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
/* Whether the process is this container's and has less than `want`, RLIM_INFINITY or bytes. Raises
   its limits, unless the node is a recorded one. dry: raises nothing, and asks not whether the
   container's runtime started this program. */
enum ni_hook_answer ni_hook_raise(const struct ni_dir *top, rlim_t want, bool dry,
                                  struct ni_hook_container *c, struct ni_text *why);
/* Puts the reason, and gives the answer back. */
enum ni_hook_answer ni_hook_say(enum ni_hook_answer answer, struct ni_text *why, const char *fmt,
                                ...) NI_PRINTF(3, 4);

/* The file of a folder of hooks by which runtimes start the program. */
#define NI_HOOK_FILE "50-nccl-init.json"
/* Puts this program at `program`, then that file into the folder. The paths are absolute, and have
   nothing that JSON escapes; `options` is a piece of JSON. 0, or -errno after putting the path that it is about. */
int ni_hook_install(const char *folder, const char *program, const char *options,
                    struct ni_text *path);
/* Takes both away, in the other order. What is not there is no error. */
int ni_hook_remove(const char *folder, const char *program, struct ni_text *path);

#endif
