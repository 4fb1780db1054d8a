/* SPDX-License-Identifier: Apache-2.0 */
/* What the checks of doctor share. A fact that is not known is no finding: ni_saw counts it. */
#ifndef NCCL_INIT_DECIDE_CHECK_H
#define NCCL_INIT_DECIDE_CHECK_H

#include "nccl_init/decide.h"
#include "rule.h"

/* One check at work. */
struct ni_checkup {
    const struct ni_facts *facts;
    const struct ni_inventory *inv;
    const struct ni_plan *plan;
    struct ni_findings *f;
    /* Of the things it looked at: those that it could judge, and those that it could not. None of
       either: there is nothing of that kind here. */
    unsigned judged, unknown;
    bool told; /* a rule has told what is wrong */
};

typedef void ni_check_fn(struct ni_checkup *c);

/* Counts one thing. Returns known. */
bool ni_saw(struct ni_checkup *c, bool known);

/* Whether one of the HCA's ports is chosen. */
bool ni_is_chosen(const struct ni_inventory *inv, const struct ni_plan *plan, int hca);

/* Names for a subject: as many as fit, then "and N more". */
struct ni_list {
    char buf[80];
    struct ni_text text;
    unsigned n, left_out;
};
void ni_list_begin(struct ni_list *list);
void ni_list_add(struct ni_list *list, const char *name);
const char *ni_list_end(struct ni_list *list);

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
ni_check_fn ni_check_netns, ni_check_nodes, ni_check_ports, ni_check_netdevs, ni_check_cm,
    ni_check_cgroup, ni_check_counters, ni_check_traffic_class;             /* check_rdma.c */
ni_check_fn ni_check_rate, ni_check_given, ni_check_mtu, ni_check_firmware; /* check_rails.c */
ni_check_fn ni_check_links, ni_check_iommu, ni_check_acs;                   /* check_pci.c */
ni_check_fn ni_check_gpu_nodes, ni_check_gpu_place, ni_check_gdr_drivers, ni_check_imex,
    ni_check_ibgda;                                                            /* check_gpu.c */
ni_check_fn ni_check_memlock, ni_check_shm, ni_check_host_name, ni_check_init; /* check_process.c */

#endif
