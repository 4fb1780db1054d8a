/* SPDX-License-Identifier: Apache-2.0 */
/* What the image brings for NCCL, as the names of its files show it. Nothing is loaded. */
#ifndef NCCL_INIT_IMAGE_H
#define NCCL_INIT_IMAGE_H

#include <stdbool.h>

#include "nccl_init/known.h"
#include "nccl_init/text.h"

enum {
    NI_MAX_IMAGE_FILE = 128,
    NI_IMAGE_PATH = 256, /* files at longer paths are not looked at */
    NI_IMAGE_NAME = 48
};

enum ni_image_kind {
    NI_IMAGE_VERBS,    /* a libibverbs */
    NI_IMAGE_PROVIDER, /* libNAME-rdmavN.so: what libibverbs loads to drive an HCA */
    NI_IMAGE_DRIVER,   /* a line `driver NAME` of /etc/libibverbs.d: what libibverbs loads */
    NI_IMAGE_NCCL,
    NI_IMAGE_RCCL,
    NI_IMAGE_PLUGIN, /* libnccl-net-NAME.so and the like */
    NI_IMAGE_COMPAT, /* a libcuda of cuda-compat, newer than the node's driver */
    NI_IMAGE_KINDS
};

struct ni_image_file {
    enum ni_image_kind kind;
    unsigned place; /* the number of its folder, in the order in which they were looked at */
    char name[NI_IMAGE_NAME]; /* of a provider or a driver: "mlx5"; of a plugin: "net", "net-ofi" */
    char version[NI_IMAGE_NAME]; /* "1.14.44.0"; "": the name does not show it */
    char path[NI_IMAGE_PATH];    /* below the root */
    /* Its place in a recording, whose reader does not know the variables that led here; and what the
       recording must have beside it: what shows the version, or that the folder is conda's; or "" */
    char recorded[NI_IMAGE_PATH], beside[NI_IMAGE_PATH];
};

struct ni_image {
    /* KNOWN: all places were looked at; DENIED: not all, for one cannot be read, there are more
       files than there is room for, or it took too long; UNSET: nobody asked */
    enum ni_known known;
    bool late; /* it took too long: nothing was found */
    unsigned n_file;
    struct ni_image_file file[NI_MAX_IMAGE_FILE];
};

/* Returns the provider for HCAs of that driver of the kernel: "bnxt_re" for "bnxt_en". NULL: the
   driver is not known. */
const char *ni_provider_of(const char *driver);
/* Returns true if there is a provider of that name in rdma-core. */
bool ni_is_provider(struct ni_span name);
/* Finds the first file of that kind, of that name unless it is NULL; NULL: none. image may be NULL. */
const struct ni_image_file *ni_find_in_image(const struct ni_image *image, enum ni_image_kind kind,
                                             const char *name);

#endif
