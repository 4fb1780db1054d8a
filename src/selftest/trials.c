/* SPDX-License-Identifier: Apache-2.0 */
/* Trials: the ports that the job will use are tried as the job will use them; also ports that
   were allocated by name and cannot be used, so that the device itself shows the reason. Each
   failure becomes a finding, in the words of the job that would meet it. */
#include "selftest/trials.h"

#include <errno.h>
#include <string.h>

#include "findings/verbs.h"
#include "nccl_init/allocation.h"
#include "nccl_init/base.h"
#include "nccl_init/errno.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/ip.h"
#include "nccl_init/known.h"
#include "nccl_init/number.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "rail/describe.h"
#include "rail/step.h"
#include "rail/task.h"
#include "rules/chosen.h"
#include "rules/decide.h"
#include "rules/gid_pick.h"
#include "rules/hca_node.h"
#include "rules/ports.h"
#include "rules/privileges.h"
#include "rules/transport.h"

/* ---- the ports to try ---- */

bool ni_wants_trials(const struct ni_work *w)
{
    return w->plan->transport != NI_NET_OFF && w->plan->transport != NI_NET_OTHER &&
           !ni_tcp_cause(w);
}

/* Returns true if a source or the user names the port's HCA, and a rule left the port out because
   it does not work: no device node, no link, no GID. A port that was left out by choice (--hcas, NCCL_IB_HCA, link
   layer, number) is not at fault. */
static bool is_missed(const struct ni_work *w, int at)
{
    const struct ni_inventory *inv = w->inv;
    const struct ni_port *port = &inv->port[at];

    if (!ni_is_allocated(&inv->hca[port->hca]) || !ni_is_source_certain(inv->source) ||
        !ni_is_listed(w, at) ||
        ni_is_chosen(w, port->hca)) /* of two ports one may be without a cable */
        return false;
    return ni_lacks_uverbs(&inv->hca[port->hca].uverbs) || ni_is_down(port) ||
           (port->link == NI_LINK_ROCE && ni_best_gid(inv, port) < 0);
}

void ni_plan_trials(const struct ni_work *w, struct ni_trials *ret)
{
    if (!ni_wants_trials(w))
        return;
    for (unsigned i = 0; i < w->plan->n_chosen; i++)
        ret->at[ret->n++] = w->plan->chosen[i];
    for (int i = 0; i < (int)w->inv->n_port && ret->n < NI_MAX_RAILS; i++) {
        if (is_missed(w, i))
            ret->at[ret->n++] = i;
    }
    for (unsigned i = 0; i < ret->n; i++) {
        struct ni_rail *rail = &ret->task[i].rail;

        ni_describe_rail(w, ret->at[i], rail);
        if (rail->link == NI_LINK_ROCE && rail->index < 0) /* without a GID, it may be forced */
            rail->index = (int)ni_user_int(w, "NCCL_IB_GID_INDEX", -1);
    }
}

/* ---- the meaning of a result ---- */

/* The finding for each step that may fail. */
static const ni_finding_number steps[] = {
    [NI_PAIR_START] = NI_F_VERBS_PROCESS,      [NI_PAIR_FIND] = NI_F_VERBS_OPEN,
    [NI_PAIR_OPEN] = NI_F_VERBS_OPEN,          [NI_PAIR_DEVICE] = NI_F_VERBS_RESOURCES,
    [NI_PAIR_PORT] = NI_F_VERBS_PORT,          [NI_PAIR_ALLOCATE] = NI_F_VERBS_RESOURCES,
    [NI_PAIR_REGISTER] = NI_F_VERBS_RESOURCES, [NI_PAIR_GID] = NI_F_VERBS_GID,
    [NI_PAIR_QUEUES] = NI_F_VERBS_RESOURCES,   [NI_PAIR_CONNECT] = NI_F_VERBS_CONNECT,
    [NI_PAIR_SMALL] = NI_F_VERBS_TRANSFER,     [NI_PAIR_IDENTITY] = NI_F_VERBS_TRANSFER,
    [NI_PAIR_WRITE] = NI_F_VERBS_TRANSFER,     [NI_PAIR_READ] = NI_F_VERBS_TRANSFER,
    [NI_PAIR_COMPARE] = NI_F_VERBS_TRANSFER,   [NI_PAIR_DONE] = NI_F_VERBS_PROCESS,
};

/* Reasons, by the finding, because several steps share one, and by errno or status. Without either
   the data is wrong. */
static const struct {
    ni_finding_number id;
    int err, wc;
    const char *why;
} reasons[] = {
    {NI_F_VERBS_OPEN, EAGAIN, 0, "the limit of the RDMA cgroup (rdma.max)"},
    {NI_F_VERBS_PORT, ENETDOWN, 0, "the port is not ACTIVE: NCCL leaves it out"},
    {NI_F_VERBS_GID, ENODATA, 0, "it is empty"},
    {NI_F_VERBS_GID, ERANGE, 0,
     "-1 is not a RoCE GID of this pod; a queue pair can hold at most 255"},
    {NI_F_VERBS_RESOURCES, EAGAIN, 0,
     "the limit of the RDMA cgroup (rdma.max), or the device is full"},
    {NI_F_VERBS_RESOURCES, ENOMEM, 0, "the kernel or the device has no more memory"},
    {NI_F_VERBS_CONNECT, EINVAL, 0, "this GID cannot be used"},
    {NI_F_VERBS_CONNECT, ENODEV, 0, "the GID's interface is not in this network namespace"},
    {NI_F_VERBS_CONNECT, ENETUNREACH, 0, "there is no route to the GID"},
    {NI_F_VERBS_CONNECT, EHOSTUNREACH, 0, "there is no route to the GID"},
    {NI_F_VERBS_CONNECT, ETIMEDOUT, 0, "the GID's address does not resolve"},
    {NI_F_VERBS_TRANSFER, ETIMEDOUT, 0, "the device returns no completion"},
    {NI_F_VERBS_TRANSFER, 0, 0, "what was read back differs from what was written"},
    {NI_F_VERBS_TRANSFER, 0, NI_WC_LOC_QP_OP,
     "the device cannot send here, like SoftRoCE outside its network namespace"},
    {NI_F_VERBS_PROTECTION, 0, NI_WC_LOC_PROT,
     "the HCA cannot access memory that was just registered, as happens with IOMMU translation; "
     "see iommu.translated"},
    {NI_F_VERBS_TRANSFER, 0, NI_WC_WR_FLUSH, "the queue pair was already in error"},
    {NI_F_VERBS_TRANSFER, 0, NI_WC_REM_ACCESS, "the memory key was not accepted"},
    {NI_F_VERBS_TRANSFER, 0, NI_WC_RETRY_EXC,
     "nothing was acknowledged: there is no path from this GID to itself, or the packets are "
     "dropped"},
};

/* Pinned memory counts per process against RLIMIT_MEMLOCK, unless CAP_IPC_LOCK is there in the
   initial user namespace (drivers/infiniband/core/umem.c ib_umem_get); a limit of 0 is EPERM
   (mm/mlock.c can_do_mlock). mlx5 pins its queues too, beside the memory: a limit of 64 MiB, as
   some distributions have it, holds the default size and no more. */
static bool is_limited(const struct ni_work *w, const struct ni_trials *all,
                       const struct ni_pair_result *x)
{
    enum { QUEUES = 1 << 20 }; /* more than those of a trial take */

    return (x->step == NI_PAIR_REGISTER || x->step == NI_PAIR_QUEUES) &&
           (x->err == ENOMEM || (x->err == EPERM && all->memlock == 0)) && all->memlock >= 0 &&
           all->memlock < all->size + QUEUES && !ni_command_may_lock(w);
}

/* The test itself asked for more than may be locked, which says nothing about the port. */
static void mark_as_limited(const struct ni_trials *all, struct ni_rail_task *task)
{
    char *untried = task->rail.untried;
    struct ni_text t = ni_text_on(untried, sizeof(task->rail.untried));

    ni_put_bytes(&t, all->size);
    ni_put(&t, " to register, and only ");
    ni_put_bytes(&t, all->memlock);
    ni_put(&t, " can be locked");
}

static ni_finding_number finding_of_failure(const struct ni_pair_result *x)
{
    if (x->wc == NI_WC_LOC_PROT)
        return NI_F_VERBS_PROTECTION;
    return x->step <= NI_PAIR_DONE ? steps[x->step] : NI_F_VERBS_PROCESS;
}

/* Puts the name of the completion's status, and the reason that stands in the table. */
static void put_reason(struct ni_text *m, ni_finding_number id, const struct ni_pair_result *x)
{
    const char *status = ni_wc_name(x->wc), *text = "the device or its driver refuses";

    for (size_t i = 0; i < NI_COUNT(reasons); i++) {
        if (reasons[i].id == id && reasons[i].err == x->err && reasons[i].wc == x->wc)
            text = reasons[i].why;
    }
    if (status)
        ni_putf(m, "%s: ", status);
    ni_put(m, text);
}

/* Puts the step that failed, its errno or completion, and the meaning of that. Returns the finding.
   */
static ni_finding_number explain_trial(const struct ni_work *w, const struct ni_trials *all,
                                       struct ni_rail_task *task, const struct ni_hca *hca,
                                       struct ni_text *m)
{
    const struct ni_pair_result *x = &task->result[NI_ROLE_INITIATOR];
    const ni_finding_number id = finding_of_failure(x);
    const char *name = ni_errno_name(x->err);
    char ip[NI_IP_TEXT];

    ni_putf(m, "step `%s`: ", ni_pair_step_text(x->step));
    if (x->silent) {
        ni_put(m, "its process died, or hung until the time was over");
        return NI_F_VERBS_PROCESS;
    }
    if (x->step == NI_PAIR_FIND && ni_put_node(&hca->uverbs, m))
        return id;
    if (x->step == NI_PAIR_FIND && task->rail.untried[0]) {
        ni_put(m, task->rail.untried);
        return NI_F_VERBS_PROVIDER;
    }
    if (id == NI_F_VERBS_GID)
        ni_putf(m, "index %d: ", task->rail.index);
    if (x->wc != 0)
        ni_putf(m, "status %d, vendor_err %d: ", x->wc, task->vendor_err);
    else if (x->err != 0)
        ni_putf(m, "%s: ", name ? name : "an unknown error");
    if (is_limited(w, all, x)) {
        mark_as_limited(all, task);
        ni_putf(m, "%s: ", task->rail.untried);
        ni_memlock_why(w, m);
        return NI_F_VERBS_MEMLOCK;
    }
    put_reason(m, id, x);
    if (x->step == NI_PAIR_CONNECT && task->rail.link == NI_LINK_ROCE)
        ni_putf(m, "; index %d holds %s, RoCE %s", task->rail.index,
                ni_ip_text(task->own[NI_ROLE_INITIATOR].gid, ip), task->rail.v2 ? "v2" : "v1");
    return id;
}

void ni_judge_trials(const struct ni_work *w, struct ni_trials *all)
{
    const struct ni_inventory *inv = w->inv;

    for (unsigned i = 0; i < all->n; i++) {
        struct ni_rail_task *task = &all->task[i];
        const struct ni_hca *hca = &inv->hca[inv->port[all->at[i]].hca];
        const struct ni_port_name name = ni_port_name(inv, all->at[i]);
        const uint8_t *sysfs = task->rail.gid, *seen = task->own[NI_ROLE_INITIATOR].gid;
        struct ni_text m = NI_TEXT(NI_REASON);

        if (task->result[NI_ROLE_INITIATOR].step == NI_PAIR_DONE) {
            all->passed++;
        } else {
            const ni_finding_number id = explain_trial(w, all, task, hca, &m);

            /* the limit is the process's, so one finding for all ports */
            ni_report(w->f, id, id == NI_F_VERBS_MEMLOCK ? "RLIMIT_MEMLOCK" : name.text, "%s",
                      m.buf);
        }
        if (task->rail.link == NI_LINK_ROCE && !ni_ip_is_zero(sysfs) && !ni_ip_is_zero(seen) &&
            memcmp(sysfs, seen, NI_GID_BYTES) != 0) {
            char device_ip[NI_IP_TEXT], sysfs_ip[NI_IP_TEXT];

            ni_report(w->f, NI_F_VERBS_GID, name.text,
                      "index %d has %s on the device, but %s in sysfs", task->rail.index,
                      ni_ip_text(seen, device_ip), ni_ip_text(sysfs, sysfs_ip));
        }
        if (task->dmabuf == NI_ABSENT && inv->n_gpu > 0 && inv->gdr.peermem != NI_KNOWN &&
            ni_has_dmabuf(inv))
            ni_report(w->f, NI_F_VERBS_DMABUF, name.text,
                      "ibv_reg_dmabuf_mr is not supported, and nvidia-peermem is not loaded: no "
                      "GPUDirect RDMA through this HCA");
    }
}
