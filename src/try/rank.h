/* SPDX-License-Identifier: Apache-2.0 */
/* One rank of a trial of NCCL, in a process of its own. */
#ifndef NCCL_INIT_TRY_RANK_H
#define NCCL_INIT_TRY_RANK_H

/* What a rank is told. */
struct ni_rank {
    const char *library; /* the path of NCCL; "-": the loader's */
    const char *bus;     /* the GPU's PCI address */
    unsigned pair;       /* number of the GPU in the trial */
    int number;          /* 0 makes the unique id, 1 gets it */
    int id;              /* the pipe for it */
};

/* Does the steps, and says of each how it went and how long it took. Returns the exit status. */
int ni_try_rank(const struct ni_rank *rank);

#endif
