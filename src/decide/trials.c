/* SPDX-License-Identifier: Apache-2.0 */
/* What a self-test tries: the ports that the job will use, as it will use them, and those that were
   given to the pod by name and cannot be used, so that the device itself says why. What the trials
   then mean: each failure as a finding, in the words of the job that would run into it. */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "rule.h"

/* ---- what to try ---- */

static void add(const struct ni_work *w, struct ni_trials *to, int at)
{
    const struct ni_inventory *inv = w->inv;
    const struct ni_port *port = &inv->port[at];
    const struct ni_port_plan *pick = &w->plan->port[at];
    struct ni_trial *t = &to->at[to->n++];
    ni_copy(t->hca, sizeof(t->hca), inv->hca[port->hca].name);
    t->at = at;
    t->port = port->num;
    t->roce = port->link == NI_LINK_ROCE;
    t->index = -1;
    if (t->roce && pick->gid >= 0)
        t->index = pick->nccl_index >= 0 ? pick->nccl_index : inv->gid[pick->gid].index;
    else if (t->roce && !to->probe) /* a port without a GID of the pod's: the index may be forced */
        t->index = (int)ni_user_int(w, "NCCL_IB_GID_INDEX", -1);
    const struct ni_gid *g = t->index < 0 ? NULL : ni_gid_at(inv, port, (unsigned)t->index);
    if (g)
        memcpy(t->gid, g->ip, sizeof(t->gid));
}

/* Named by somebody, and left out because it does not work: no link, no GID. What was left out by
   choice (--hcas, NCCL_IB_HCA, link layer, number) is nobody's fault. */
static bool is_missed(const struct ni_work *w, int at)
{
    const struct ni_inventory *inv = w->inv;
    const struct ni_port *port = &inv->port[at];
    if (!ni_is_given(&inv->hca[port->hca]) || !ni_is_told(inv->source) || !ni_is_listed(w, at) ||
        ni_is_chosen(w, port->hca)) /* of two ports one may be without a cable */
        return false;
    return (port->state.known == NI_KNOWN && port->state.v != NI_PORT_ACTIVE) ||
           (port->link == NI_LINK_ROCE && ni_best_gid(inv, port, false) < 0);
}

bool ni_wants_trials(const struct ni_work *w)
{
    return w->plan->transport != NI_NET_OFF && w->plan->transport != NI_NET_OTHER &&
           !ni_wants_tcp(w);
}

void ni_plan_trials(const struct ni_work *w, struct ni_trials *ret)
{
    if (!ni_wants_trials(w))
        return;
    for (unsigned i = 0; i < w->plan->n_chosen; i++)
        add(w, ret, w->plan->chosen[i]);
    for (int i = 0; i < (int)w->inv->n_port; i++) {
        if (is_missed(w, i))
            add(w, ret, i);
    }
}

void ni_plan_probes(const struct ni_work *w, struct ni_trials *ret)
{
    const struct ni_inventory *inv = w->inv;
    ret->probe = true;
    for (unsigned i = 0; i < inv->n_hca; i++) {
        if (ni_is_given(&inv->hca[i]) && inv->hca[i].n_port > 0)
            add(w, ret, inv->hca[i].first_port);
    }
}

/* ---- what they mean ---- */

/* An ended trial. */
struct judge {
    const struct ni_work *w;
    const struct ni_trials *all;
    const struct ni_trial *t;
    const struct ni_hca *hca;
    struct ni_text *m; /* the message */
};

static const char *name_of(int err)
{
    const char *name = ni_errno_name(err);
    return name ? name : "an unknown error";
}

/* ---- a step that failed: the call, the errno, what that means ---- */

static const struct {
    enum ni_finding_id id;
    const char *call;
} steps[NI_STEP_N] = {
    [NI_STEP_START] = {NI_F_VERBS_PROCESS, "no process could be started"},
    [NI_STEP_OPEN] = {NI_F_VERBS_OPEN, "opening /dev/infiniband/"},
    [NI_STEP_DEVICE] = {NI_F_VERBS_RESOURCES, "querying the device"},
    [NI_STEP_PORT] = {NI_F_VERBS_PORT, "ibv_query_port"},
    [NI_STEP_GID] = {NI_F_VERBS_GID, "GID index "},
    [NI_STEP_ALLOCATE] = {NI_F_VERBS_RESOURCES, "mmap of "},
    [NI_STEP_REGISTER] = {NI_F_VERBS_RESOURCES, "ibv_reg_mr of "},
    [NI_STEP_QUEUES] = {NI_F_VERBS_RESOURCES, "creating queues beside "},
    [NI_STEP_CONNECT] = {NI_F_VERBS_CONNECT, "`ibv_modify_qp failed with "},
    [NI_STEP_WRITE] = {NI_F_VERBS_TRANSFER, "RDMA write"},
    [NI_STEP_READ] = {NI_F_VERBS_TRANSFER, "RDMA read"},
};

/* By finding, for several steps share one. */
static const struct {
    enum ni_finding_id id;
    int err;
    const char *why;
} reasons[] = {
    {NI_F_VERBS_OPEN, EPERM,
     "the device cgroup forbids it, or the device belongs to another network namespace"},
    {NI_F_VERBS_OPEN, EACCES, "the permissions of the node forbid it"},
    {NI_F_VERBS_OPEN, ENOENT, "the node is not in the container"},
    {NI_F_VERBS_OPEN, EAGAIN, "the limit of the RDMA cgroup (rdma.max)"},
    {NI_F_VERBS_OPEN, ENOMEM, "the kernel has no memory for a context"},
    {NI_F_VERBS_GID, ENODATA, "it is empty"},
    {NI_F_VERBS_GID, ERANGE, "a queue pair carries 255 at most"},
    {NI_F_VERBS_RESOURCES, EAGAIN,
     "the limit of the RDMA cgroup (rdma.max), or the device is full"},
    {NI_F_VERBS_RESOURCES, ENOMEM, "the kernel or the device has no more memory"},
    {NI_F_VERBS_CONNECT, EINVAL, "this GID cannot be used"},
    {NI_F_VERBS_CONNECT, ENODEV, "the GID's interface is not in this network namespace"},
    {NI_F_VERBS_CONNECT, ENETUNREACH, "there is no route to the GID"},
    {NI_F_VERBS_CONNECT, EHOSTUNREACH, "there is no route to the GID"},
    {NI_F_VERBS_CONNECT, ETIMEDOUT, "the GID's address does not resolve"},
};

static void put_call(const struct judge *j)
{
    static const char *const next[] = {"INIT", "RTR", "RTS"}; /* by enum ibv_qp_state */
    const struct ni_trial *t = j->t;
    ni_put(j->m, steps[t->step].call);
    if (t->step == NI_STEP_OPEN)
        ni_put(j->m, j->hca->uverbs.name[0] ? j->hca->uverbs.name : "uverbsN");
    else if (t->step == NI_STEP_GID)
        ni_putf(j->m, "%d", t->roce ? t->index : 0);
    else if (t->step >= NI_STEP_ALLOCATE && t->step <= NI_STEP_QUEUES)
        ni_put_bytes(j->m, j->all->size);
    else if (t->step == NI_STEP_CONNECT)
        ni_putf(j->m, "%d`, to %s", t->err,
                t->qp_state >= 0 && t->qp_state < (int)NI_COUNT(next) ? next[t->qp_state] : "?");
}

/* Pinned memory counts per process against RLIMIT_MEMLOCK, unless CAP_IPC_LOCK is there in the
   initial user namespace (drivers/infiniband/core/umem.c ib_umem_get); a limit of 0 is EPERM
   (mm/mlock.c can_do_mlock). mlx5 pins its queues too, beside the memory: a limit of 64 MiB, as some
   distributions have it, holds the default size and no more. */
static bool is_limited(const struct judge *j)
{
    enum { QUEUES = 1 << 20 }; /* more than those of a trial take */
    const struct ni_trial *t = j->t;
    return (t->step == NI_STEP_REGISTER || t->step == NI_STEP_QUEUES) &&
           (t->err == ENOMEM || (t->err == EPERM && t->memlock == 0)) && t->memlock >= 0 &&
           t->memlock < j->all->size + QUEUES && !ni_command_may_lock(j->w);
}

static enum ni_finding_id explain_errno(const struct judge *j)
{
    const struct ni_trial *t = j->t;
    struct ni_text *m = j->m;
    const enum ni_finding_id id = steps[t->step].id;
    const char *why = id == NI_F_VERBS_CONNECT ? "the driver refuses" : NULL;
    char ip[NI_IP_TEXT];
    ni_putf(m, ": %s", name_of(t->err));
    if (is_limited(j)) {
        ni_put(m, "; the limit is ");
        ni_put_bytes(m, t->memlock);
        ni_put(m, ": ");
        ni_memlock_why(j->w, m);
        return NI_F_VERBS_MEMLOCK;
    }
    for (size_t i = 0; i < NI_COUNT(reasons); i++) {
        if (reasons[i].id == id && reasons[i].err == t->err)
            why = reasons[i].why;
    }
    if (why)
        ni_putf(m, ": %s", why);
    if (t->step == NI_STEP_CONNECT && t->roce)
        ni_putf(m, "; index %d holds %s, RoCE %s", t->index, ni_ip_text(t->seen, ip),
                t->seen_v2 ? "v2" : "v1");
    return id;
}

/* enum ibv_wc_status (rdma-core 56.1 libibverbs/verbs.h); of the kernel's interface, so they stay. */
enum { LOC_PROT_ERR = 4 };
static const struct {
    int status;
    const char *name, *meaning;
} completions[] = {
    {2, "IBV_WC_LOC_QP_OP_ERR",
     "the device cannot send here, as SoftRoCE outside its network namespace"},
    {5, "IBV_WC_WR_FLUSH_ERR", "the queue pair was in error before"},
    {10, "IBV_WC_REM_ACCESS_ERR", "the memory key was not accepted"},
    {12, "IBV_WC_RETRY_EXC_ERR",
     "nothing was acknowledged: there is no way from this GID to itself, or the packets are "
     "dropped"},
    {13, "IBV_WC_RNR_RETRY_EXC_ERR", "the receiver was never ready"},
};

/* What stands between HCA and memory, if it can be told. */
static void put_iommu(const struct ni_iommu *iommu, struct ni_text *m)
{
    const bool known = iommu->group.known == NI_KNOWN && iommu->type_known == NI_KNOWN;
    const bool identity = known && strcmp(iommu->type, "identity") == 0;
    if (known)
        ni_putf(m, "%sIOMMU group %lld is of type %s%s", identity ? "although " : "",
                (long long)iommu->group.v, iommu->type,
                identity ? ", which translates nothing" : "");
    else if (iommu->group.known == NI_ABSENT)
        ni_put(m, "although no IOMMU is seen from here");
    else
        ni_put(m, "the IOMMU group cannot be read from here");
}

static enum ni_finding_id explain_completion(const struct judge *j)
{
    const struct ni_trial *t = j->t;
    struct ni_text *m = j->m;
    const char *name = "completion error", *meaning = "the device or its driver failed";
    if (t->wc_status == LOC_PROT_ERR) {
        ni_putf(m,
                ": IBV_WC_LOC_PROT_ERR (vendor_err %d): the HCA may not reach memory that was "
                "registered a moment ago, as under IOMMU translation; ",
                t->vendor_err);
        put_iommu(&j->hca->iommu, m);
        ni_put(m, " (see iommu.translated)");
        return NI_F_VERBS_PROTECTION;
    }
    for (size_t i = 0; i < NI_COUNT(completions); i++) {
        if (completions[i].status == t->wc_status) {
            name = completions[i].name;
            meaning = completions[i].meaning;
        }
    }
    ni_putf(m, ": %s (status %d, vendor_err %d): %s", name, t->wc_status, t->vendor_err, meaning);
    return NI_F_VERBS_TRANSFER;
}

static enum ni_finding_id explain_find(const struct judge *j)
{
    const struct ni_uverbs *node = &j->hca->uverbs;
    struct ni_text *m = j->m;
    if (j->t->untried) {
        ni_putf(m,
                "not tried: nccl-init has no provider for its driver (it has mlx5, rxe, siw), "
                "although /dev/infiniband/%s opens",
                node->name);
        return NI_F_VERBS_PROVIDER;
    }
    ni_put(m, "libibverbs does not list the device: ");
    if (!ni_put_node(node, m))
        ni_put(m, name_of(j->t->err));
    return NI_F_VERBS_OPEN;
}

static enum ni_finding_id explain_step(const struct judge *j)
{
    const struct ni_trial *t = j->t;
    const char *state = ni_port_state_text(t->port_state);
    if (t->step == NI_STEP_FIND)
        return explain_find(j);
    if (t->step == NI_STEP_PORT && t->err == 0) {
        ni_putf(j->m, "the port is %s (physical state %d): NCCL leaves it out",
                state ? state : "in an unknown state", t->phys_state);
        return NI_F_VERBS_PORT;
    }
    if (t->step == NI_STEP_GID && t->roce && t->index < 0) {
        ni_put(j->m, "the port has no RoCE GID of this pod");
        return NI_F_VERBS_GID;
    }
    if (t->step == NI_STEP_COMPARE) {
        ni_putf(j->m, "what was read back differs from what was written, from byte %lld on",
                (long long)t->bad_at);
        return NI_F_VERBS_DATA;
    }
    put_call(j);
    return t->wc_status != 0 ? explain_completion(j) : explain_errno(j);
}

/* ---- a process that did not end by itself ---- */

static enum ni_finding_id explain_end(const struct judge *j)
{
    const struct ni_trial *t = j->t;
    const char *step = ni_step_text(t->step);
    const long long ms = (long long)j->all->limit_ms;
    if (t->end == NI_TRIAL_DIED) {
        ni_putf(j->m, "its process died in step `%s`", step);
        if (t->signal == SIGKILL)
            ni_put(j->m, ", killed from outside: the container's memory limit, perhaps");
        else if (t->signal == SIGSEGV)
            ni_put(j->m, " of a segmentation fault");
        else if (t->signal != 0)
            ni_putf(j->m, " of signal %d", t->signal);
        else
            ni_put(j->m, " before it said how it went");
        return NI_F_VERBS_CRASH;
    }
    if (t->end == NI_TRIAL_KILLED)
        ni_putf(j->m, "no answer in step `%s` after %lld.%lld s", step, ms / 1000, ms % 1000 / 100);
    else if (t->step == NI_STEP_DONE)
        ni_putf(j->m,
                "passed, but its process %d hangs while the kernel takes back what was "
                "registered, and is left",
                t->pid);
    else
        ni_putf(j->m,
                "hangs in the kernel in step `%s`: its process %d survives SIGKILL and is left",
                step, t->pid);
    return NI_F_VERBS_HANG;
}

/* ---- what the device says, against what sysfs says and the plan counts on ---- */

static const struct ni_trial_gid *told(const struct ni_trial *t, unsigned port, unsigned index)
{
    for (unsigned i = 0; i < t->n_gid; i++) {
        if (t->table[i].port == port && t->table[i].index == index)
            return &t->table[i];
    }
    return NULL;
}

/* Entries that one of the two lacks, or that differ. sysfs is whole only where it was read to the
   end. InfiniBand's are not read. */
static void compare_gids(const struct judge *j, int at)
{
    const struct ni_inventory *inv = j->w->inv;
    const struct ni_port *port = &inv->port[at];
    unsigned differ = 0, same = 0, total = 0;
    char where[40] = "";
    if (port->link != NI_LINK_ROCE)
        return;
    for (unsigned i = 0; i < port->n_gid; i++) {
        const struct ni_gid *g = ni_port_gid(inv, port, i);
        const struct ni_trial_gid *its = told(j->t, port->num, g->index);
        if (its && memcmp(its->ip, g->ip, NI_GID_BYTES) == 0 &&
            (g->type == NI_GID_UNREAD || its->v2 == (g->type == NI_GID_V2)))
            same++;
        else if (differ++ == 0)
            (void)ni_format(where, sizeof(where), ", first at index %d", g->index);
    }
    for (unsigned i = 0; i < j->t->n_gid; i++)
        total += j->t->table[i].port == port->num;
    if (port->gids_complete && total > same + differ)
        differ = total - same;
    if (differ > 0)
        ni_report(j->w->f, NI_F_VERBS_GID_DIFFERS, ni_port_name(inv, at).text,
                  "%u GID entr%s between sysfs and the device%s", differ,
                  differ == 1 ? "y differs" : "ies differ", where);
}

/* ---- all of them ---- */

void ni_judge_trials(const struct ni_work *w, struct ni_trials *trials)
{
    const struct ni_inventory *inv = w->inv;
    for (unsigned i = 0; i < trials->n; i++) {
        struct ni_trial *t = &trials->at[i];
        const struct ni_hca *hca = &inv->hca[inv->port[t->at].hca];
        const struct ni_port_name name = ni_port_name(inv, t->at);
        const char *subject = trials->probe ? t->hca : name.text;
        struct ni_text m = NI_TEXT(NI_REASON);
        const struct judge j = {w, trials, t, hca, &m};
        /* libibverbs lists no device for whose driver it has no provider, whose node opens */
        t->untried = t->end == NI_TRIAL_ENDED && t->step == NI_STEP_FIND && t->err == ENODEV &&
                     hca->uverbs.known == NI_KNOWN && hca->uverbs.err == 0;
        if (!ni_trial_passed(t)) {
            enum ni_finding_id id = t->end == NI_TRIAL_ENDED ? explain_step(&j) : explain_end(&j);
            /* the limit is the process's, so one finding for all ports */
            ni_report(w->f, id, id == NI_F_VERBS_MEMLOCK ? "RLIMIT_MEMLOCK" : subject, "%s", m.buf);
        }
        const bool answered = t->device.dmabuf != NI_UNSET && t->gid_err == 0;
        for (unsigned k = 0; answered && k < hca->n_port; k++)
            compare_gids(&j, hca->first_port + (int)k);
        if (t->device.dmabuf == NI_ABSENT && inv->n_gpu > 0 && inv->gdr.peermem != NI_KNOWN &&
            ni_has_dmabuf(inv))
            ni_report(w->f, NI_F_VERBS_DMABUF, subject,
                      "ibv_reg_dmabuf_mr is not supported, and nvidia-peermem is not loaded: no "
                      "GPUDirect RDMA through this HCA");
    }
}
