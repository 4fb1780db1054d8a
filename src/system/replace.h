/* SPDX-License-Identifier: Apache-2.0 */
/* The one writer of files: a file is replaced as a whole or not at all. */
#ifndef NCCL_INIT_SYSTEM_REPLACE_H
#define NCCL_INIT_SYSTEM_REPLACE_H

#include <stddef.h>
#include <sys/types.h>

#define NI_SELF "/proc/self/exe"

/* What Kubelet shows of a termination log (pkg/kubelet/container/runtime.go
   MaxContainerTerminationMessageLength). */
enum { NI_TERMINATION_MAX = 4096 };

/* Writes all n bytes. 0 or -errno; after an error a part may be written. */
int ni_write_all(int fd, const char *p, size_t n);
/* Write a struct ni_text (-ENOMEM: it was cut); this program's file. They are for `write` of
   ni_replace_file. */
int ni_write_text(int fd, void *text);
int ni_write_self(int fd, void *nothing);
/* Makes the directories that lead to the file at the path, which is not "". 0 or -errno. */
int ni_make_folders(const char *path);
/* Replaces the file at path by the bytes of `write`. The new file becomes visible as a whole, with
   that mode, flushed to the disk. A symbolic link there is replaced itself. On an error the old
   file stays, nothing is left beside it, and the result is -errno of the step that failed;
   -ENOTBLK: the path has neither a file nor a link. Only a kill leaves a file .nccl-init.XXXXXX. A
   path to a descriptor of this process (/dev/stdout, /dev/fd/3) is written to; NULL is standard
   output, which is closed then. */
int ni_replace_file(const char *path, mode_t mode, int (*write)(int fd, void *ctx), void *ctx);
/* Returns the mode that a new file gets from the umask. */
mode_t ni_usual_mode(void);
/* Appends the text to the pod's termination log (terminationMessagePath) if that file exists, cut to
   NI_TERMINATION_MAX. 0 or -errno. */
int ni_termination_log(const char *path, const char *text);

#endif
