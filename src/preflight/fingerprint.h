/* SPDX-License-Identifier: Apache-2.0 */
/* The fingerprint of a preflight: what its verdict is about, in a few letters. */
#ifndef NCCL_INIT_PREFLIGHT_FINGERPRINT_H
#define NCCL_INIT_PREFLIGHT_FINGERPRINT_H

#include "preflight/job.h"
#include "preflight/launcher.h"

enum { NI_FINGERPRINT = 17 }; /* bytes, with NUL */

/* Puts the fingerprint of pod 0's address and port, of this pod's rails and settings, and of the
   secret in that file (NULL: none). A child process reads the secret, so that nothing of it stays
   in this one. "": the secret cannot be read. */
void ni_fingerprint(const struct ni_party *party, const struct ni_pod *pod, const char *secret,
                    char ret[NI_FINGERPRINT]);

#endif
