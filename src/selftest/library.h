/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the image's NCCLs the command will load. */
#ifndef NCCL_INIT_SELFTEST_LIBRARY_H
#define NCCL_INIT_SELFTEST_LIBRARY_H

#include "nccl_init/env.h"
#include "nccl_init/image.h"

/* Chooses what dlopen(3) is to load, "-" for the loader's libnccl.so.2: one that LD_PRELOAD names; the one
   that the command's Python brings; the loader's. env: the command's. command: its first word, or NULL.
   image: what was found in the image, or NULL. */
void ni_choose_nccl(const struct ni_env *env, const char *command, const struct ni_image *image,
                    char ret[NI_IMAGE_PATH]);

#endif
