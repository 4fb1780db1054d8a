/* SPDX-License-Identifier: Apache-2.0 */
/* What the checks of doctor share. A fact that is not known is no finding: the check says UNKNOWN,
   or leaves that device out. */
#ifndef NCCL_INIT_DECIDE_CHECK_H
#define NCCL_INIT_DECIDE_CHECK_H

#include "nccl_init/decide.h"
#include "rule.h"

typedef enum ni_outcome ni_check_fn(const struct ni_facts *, const struct ni_plan *,
                                    struct ni_findings *);

/* What a check saw of several devices: OK when it could judge one, UNKNOWN when there were some but
   none could be judged. */
struct ni_seen {
    unsigned judged, unknown;
};
enum ni_outcome ni_seen_outcome(const struct ni_seen *seen);

/* Names for a subject: as many as fit, then "and N more". */
struct ni_list {
    char buf[80];
    struct ni_text text;
    unsigned n, left_out;
};
void ni_list_begin(struct ni_list *list);
void ni_list_add(struct ni_list *list, const char *name);
const char *ni_list_end(struct ni_list *list);

/* Whether one of its ports is kept. */
bool ni_is_kept(const struct ni_inventory *inv, const struct ni_plan *plan, unsigned hca);

/* Why RLIMIT_MEMLOCK cannot be raised, from the process's own state, and what of the pod to change:
   a clause. */
void ni_memlock_why(const struct ni_facts *facts, struct ni_text *t);
/* The hard limit may be raised: CAP_SYS_RESOURCE is effective, or permitted, and counts. */
bool ni_may_raise_memlock(const struct ni_self *s);
/* CAP_IPC_LOCK will be effective in the command, and counts: locked memory is not limited
   (mm/mlock.c can_do_mlock, drivers/infiniband/core/umem.c ib_umem_get). */
bool ni_command_may_lock(const struct ni_facts *facts);
/* What act is to do about capabilities, without findings; those that the command will have
   effective (caps.c). */
struct ni_caps ni_caps_of(const struct ni_facts *facts);
uint64_t ni_command_caps(const struct ni_facts *facts);
/* Locked memory in bytes below which NCCL gets into trouble, and below which it cannot even begin.
   */
extern const int64_t ni_memlock_enough, ni_memlock_hopeless;

/* The checks, in the files of their subjects. */
ni_check_fn ni_check_visible, ni_check_nodes, ni_check_ports, ni_check_netdevs, ni_check_cm,
    ni_check_cgroup;                                                        /* check_rdma.c */
ni_check_fn ni_check_rate, ni_check_given, ni_check_mtu, ni_check_firmware; /* check_rails.c */
ni_check_fn ni_check_pcie, ni_check_counters, ni_check_traffic_class;       /* check_links.c */
ni_check_fn ni_check_iommu, ni_check_acs;                                   /* check_iommu.c */
ni_check_fn ni_check_gpu_nodes, ni_check_gpu_place, ni_check_peermem, ni_check_imex,
    ni_check_nvshmem;                          /* check_gpu.c */
ni_check_fn ni_check_memlock, ni_check_shm;    /* check_memory.c */
ni_check_fn ni_check_init, ni_check_host_name; /* check_process.c */

#endif
