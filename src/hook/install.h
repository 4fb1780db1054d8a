/* SPDX-License-Identifier: Apache-2.0 */
/* Installation of the hook: its program, and the file by which runtimes start it. */
#ifndef NCCL_INIT_HOOK_INSTALL_H
#define NCCL_INIT_HOOK_INSTALL_H

#include "nccl_init/text.h"

/* The file of a folder of hooks by which runtimes start the program. */
#define NI_HOOK_FILE "50-nccl-init.json"
/* Puts this program at `program`, then that file into the folder. The paths are absolute, and have
   nothing that JSON escapes; `options` is a piece of JSON. 0, or -errno after putting the path that
   it is about. */
int ni_hook_install(const char *folder, const char *program, const char *options,
                    struct ni_text *path);
/* Takes both away, in the other order. What is not there is no error. */
int ni_hook_remove(const char *folder, const char *program, struct ni_text *path);

#endif
