/* SPDX-License-Identifier: Apache-2.0 */
/* verbs: the only code that uses libibverbs. Never on the way of `run`: sysfs decides. */
#ifndef NCCL_INIT_VERBS_H
#define NCCL_INIT_VERBS_H

/* How many RDMA devices libibverbs and its providers see on this machine, or -errno (-ENOSYS: the
   kernel has no RDMA). */
int ni_verbs_devices(void);

#endif
