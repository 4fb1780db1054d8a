/* SPDX-License-Identifier: Apache-2.0 */
/* What the helper says of the image's libibverbs, and what libibverbs itself says. Both are
   untrusted: the helper has run the image's code. */
#ifndef NCCL_INIT_TRIED_H
#define NCCL_INIT_TRIED_H

#include <stdbool.h>
#include <stdint.h>

#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"

enum { NI_MAX_TRIED = NI_MAX_CHOSEN, NI_TRIED_TEXT = 256 };

/* The steps of an HCA, in their order. */
enum ni_tried_step {
    NI_TRIED_FIND,   /* in the list of ibv_get_device_list */
    NI_TRIED_OPEN,   /* ibv_open_device */
    NI_TRIED_DEVICE, /* ibv_query_device */
    NI_TRIED_QUEUE,  /* ibv_alloc_pd, ibv_create_cq: memory is pinned */
    NI_TRIED_DONE,
    NI_TRIED_STEPS
};

struct ni_tried_hca {
    char name[NI_DEV_NAME];
    bool told; /* how it went is known; else the helper came no further than to begin */
    enum ni_tried_step step;
    int err; /* errno of the step; 0: NI_TRIED_DONE */
};

struct ni_tried {
    bool whole;                   /* it came to its end */
    bool listed;                  /* ibv_get_device_list returned a list */
    int list_err;                 /* its errno, if not */
    char version[32];             /* of the helper */
    char library[NI_TRIED_TEXT];  /* the file of libibverbs; "": it was not loaded */
    char unloaded[NI_TRIED_TEXT]; /* ... why not, in the loader's words */
    unsigned n_hca;
    struct ni_tried_hca hca[NI_MAX_TRIED];
};

/* Reads the helper's words: lines "version V", "library PATH", "unloaded WORDS", "list ERRNO",
   "at HCA", "hca HCA STEP ERRNO", "end". 0; or -EINVAL: they are none, and *ret is not to be used. A
   last line without its end is left out: the helper was killed. */
int ni_read_tried(const char *words, struct ni_tried *ret);
/* Copies the rest of a line of the helper's into a text of `cap` bytes that is still empty; of a longer
   one the beginning. 0; -EINVAL: there is no rest, or the text is not empty. */
int ni_take_tried_text(struct ni_span rest, char *to, size_t cap);
/* Returns the HCA of that name; NULL: the helper did not come to it. */
const struct ni_tried_hca *ni_find_tried(const struct ni_tried *tried, const char *name);

/* The versions of the kernel's interface for one driver: the kernel's, and those that a provider
   knows. */
struct ni_driver_abi {
    char provider[32];
    unsigned kernel, least, most;
};
/* Finds what libibverbs says on standard error of an HCA whose provider does not know the kernel's
   interface (rdma-core 56.1 libibverbs/init.c match_device). */
bool ni_find_driver_abi(const char *errors, const char *hca, struct ni_driver_abi *ret);
/* Finds the line by which libibverbs says that it knows no device, since the kernel's interface is not
   that of the library: a piece of `errors`, from "kernel ABI version" on (init.c check_abi_version).
   false: there is no such line. */
bool ni_find_library_abi(const char *errors, struct ni_span *ret);
/* Finds the line that says why a provider could not be loaded (dynamic_driver.c load_driver): a
   piece of `errors`, from the name of the file on. false: it says nothing of that provider. */
bool ni_find_unloaded_provider(const char *errors, const char *provider, struct ni_span *ret);

#endif
