/* SPDX-License-Identifier: Apache-2.0 */
/* Installation of the hook: its program, and the file by which runtimes start it. */
#ifndef NCCL_INIT_HOOK_INSTALL_H
#define NCCL_INIT_HOOK_INSTALL_H

#include "nccl_init/text.h"

/* The name of the file by which runtimes start the program. */
#define NI_HOOK_FILE "50-nccl-init.json"
/* Copies this program to `program`, then writes that file into the folder of hooks. The paths are
   absolute, and have no character that JSON escapes; `options` is a piece of JSON. 0, or -errno
   after putting the path at which it failed. */
int ni_hook_install(const char *folder, const char *program, const char *options,
                    struct ni_text *path);
/* Removes the file, then the program. A file that is not there is not an error. */
int ni_hook_remove(const char *folder, const char *program, struct ni_text *path);

#endif
