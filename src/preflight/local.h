/* SPDX-License-Identifier: Apache-2.0 */
/* The processes that a launcher starts in one pod: local rank 0 does the preflight, the others wait for
   its verdict. */
#ifndef NCCL_INIT_PREFLIGHT_LOCAL_H
#define NCCL_INIT_PREFLIGHT_LOCAL_H

#include <stdint.h>

#include "preflight/job.h"
#include "preflight/launcher.h"

/* Opens the socket to which the others of this pod come. It reads nothing of them. A descriptor that
   is closed on exec, or -errno; -EADDRINUSE: another process has that name. */
int ni_local_listen(const struct ni_party *party);
/* Tells the outcome, one of the first three, to the others, which are processes of the same user, and
   closes the socket. Waits until so many have been told, for a few seconds at most; others: 0: it is
   not known how many there are. A signal ends the waiting. */
void ni_local_tell(int fd, enum ni_outcome outcome, unsigned others);
/* Waits for the outcome that local rank 0 tells. It must be there within the first time, and have told
   within the second. 0; -ETIMEDOUT: it was not found or said nothing in time; -ECONNRESET: it ended
   without a verdict; -EPROTO: what it told is none. Then *ret stays. A signal ends the program. */
int ni_local_ask(const struct ni_party *party, int64_t within_ms, int64_t most_ms,
                 enum ni_outcome *ret);

#endif
