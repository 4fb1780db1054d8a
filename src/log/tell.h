/* SPDX-License-Identifier: Apache-2.0 */
/* What a piece of NCCL's output tells, for other tools. */
#ifndef NCCL_INIT_LOG_TELL_H
#define NCCL_INIT_LOG_TELL_H

#include <stdbool.h>

#include "nccl_init/findings.h"
#include "nccl_init/text.h"

struct ni_log_told {
    struct ni_findings findings;
    const struct ni_finding
        *cause;         /* the one of which the job died; NULL: it did not, or not known */
    char network[64];   /* "IB", "Socket", a plugin's; "": not told */
    unsigned ends, gdr; /* ends of channels to other nodes, and those with GPUDirect RDMA */
};

/* Gives the next line. false: there is none. */
typedef bool ni_log_line_fn(void *ctx, struct ni_span *ret);
/* Reads and judges all lines, as the verb does. rdma: it is to be RDMA. NULL: no memory; to be freed. */
struct ni_log_told *ni_log_tell(ni_log_line_fn *next, void *ctx, bool rdma);

#endif
