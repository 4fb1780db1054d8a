/* SPDX-License-Identifier: Apache-2.0 */
/* The helper, nccl-init-try: a dynamic program that loads the image's libraries for a trial. This
   finds it, starts it with no rights, and takes its words. */
#ifndef NCCL_INIT_SYSTEM_HELPER_H
#define NCCL_INIT_SYSTEM_HELPER_H

#include <stdbool.h>
#include <stdint.h>

#include "nccl_init/text.h"

#define NI_HELPER "nccl-init-try"

enum {
    NI_SHA256_BYTES = 32,
    NI_HELPER_WORDS = 64 << 10,   /* bytes on its standard output, at most */
    NI_HELPER_ERRORS = 512 << 10, /* ... on its standard error, which are kept; the rest is not */
    NI_HELPER_FILE_MAX = 64 << 20 /* bytes of its file, at most */
};

/* The SHA-256 of the helper that was built with this program. */
extern const uint8_t ni_try_sha256[NI_SHA256_BYTES];

enum ni_helper_state {
    NI_HELPER_MISSING, /* it is not beside the program */
    NI_HELPER_UNREAD,  /* it is, but cannot be read: err */
    NI_HELPER_OTHER,   /* it is not the one that was built with this program: version */
    NI_HELPER_DENIED,  /* no process, or it cannot be executed: err */
    NI_HELPER_LATE,    /* it was killed at the deadline, or when a signal came */
    NI_HELPER_BABBLES, /* it was killed because it said too much */
    NI_HELPER_DIED,    /* by a signal: err is its number */
    NI_HELPER_ENDED    /* err: its exit status */
};

/* What is to be run. */
struct ni_helper_task {
    const char *folder;    /* where it is; NULL: beside this program */
    const uint8_t *sha256; /* of its file */
    char *const *argv, *const *envp;
    int64_t limit_ms;
};

/* How it went. */
struct ni_helper_result {
    enum ni_helper_state state;
    int err;
    bool left;                     /* a process of it hangs in the kernel, and did not die */
    bool cut;                      /* errors has not all of what was said there */
    char version[32];              /* NI_HELPER_OTHER: that of the file; "": it is no helper */
    char words[NI_HELPER_WORDS];   /* what it said, also if it was killed; untrusted */
    char errors[NI_HELPER_ERRORS]; /* what its libraries said on standard error; untrusted */
};

/* Runs the helper, and waits until it has ended, for limit_ms and a second at most, and 5 seconds more
   while a driver keeps one of its processes. It has no capability and can get none, no descriptor but
   /dev/null and the two pipes. It dies with this program. At the end its process group is killed; a
   child of it that has left the group, as by setsid(2), is not. */
void ni_run_helper(const struct ni_helper_task *task, struct ni_helper_result *ret);
/* Opens the helper beside this program, if it is the one that was built with it. -1: *state says why
   not. */
int ni_open_helper(enum ni_helper_state *state);

#endif
