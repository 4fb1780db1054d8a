/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of hosts, as launchers write them: of Slurm like `trainer[08-11,20]-x,other`
   (src/common/hostlist.c), or with blanks between them. */
#ifndef NCCL_INIT_PREFLIGHT_HOSTS_H
#define NCCL_INIT_PREFLIGHT_HOSTS_H

#include "nccl_init/text.h"

/* Puts the first host: of each bracket the lower bound of the first range. */
void ni_put_first_host(struct ni_text *t, const char *list);
/* Puts the host of that rank, from 0; nothing if the list does not say it. */
void ni_put_host_of(struct ni_text *t, const char *list, unsigned rank);

#endif
