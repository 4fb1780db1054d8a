/* SPDX-License-Identifier: Apache-2.0 */
/* What the trials mean: each failure as a finding, in the words of the job that would run into it. */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "check.h"

struct judge {
    const struct ni_facts *facts;
    const struct ni_trials *all;
    const struct ni_trial *t;
    struct ni_findings *f;
    char subject[NI_DEV_NAME + 8];
};

static const char *name_of(int err)
{
    const char *name = ni_errno_name(err);
    return name ? name : "an unknown error";
}

static int hca_of(const struct judge *j)
{
    return j->facts->inv->port[j->t->at].hca;
}

static const char *size_text(int64_t bytes, char buf[32])
{
    struct ni_text t = ni_text_on(buf, 32);
    ni_put_bytes(&t, bytes);
    return buf;
}

/* ---- steps ---- */

/* The steps whose failure is told by call and errno alone. */
static const struct {
    enum ni_finding_id id;
    const char *what;
    bool sized; /* what, of the memory asked for */
} steps[NI_STEP_N] = {
    [NI_STEP_START] = {NI_F_VERBS_PROCESS, "no process could be started", false},
    [NI_STEP_DEVICE] = {NI_F_VERBS_RESOURCES, "querying the device", false},
    [NI_STEP_PORT] = {NI_F_VERBS_PORT, "ibv_query_port", false},
    [NI_STEP_ALLOCATE] = {NI_F_VERBS_RESOURCES, "mmap", true},
    [NI_STEP_REGISTER] = {NI_F_VERBS_RESOURCES, "ibv_reg_mr", true},
    [NI_STEP_QUEUES] = {NI_F_VERBS_RESOURCES, "creating queues", false},
    [NI_STEP_WRITE] = {NI_F_VERBS_TRANSFER, "RDMA write", false},
    [NI_STEP_READ] = {NI_F_VERBS_TRANSFER, "RDMA read", false},
};

/* What an errno means in a step; NI_STEP_REGISTER: in all with verbs.resources. */
static const struct {
    enum ni_step step;
    int err;
    const char *why;
} reasons[] = {
    {NI_STEP_OPEN, EPERM,
     ": the device cgroup forbids it, or the device belongs to another network namespace"},
    {NI_STEP_OPEN, EACCES, ": the permissions of the node forbid it"},
    {NI_STEP_OPEN, ENOENT, ": the node is not in the container"},
    {NI_STEP_OPEN, EAGAIN, ": the limit of the RDMA cgroup (rdma.max)"},
    {NI_STEP_OPEN, ENOMEM, ": the kernel has no memory for a context"},
    {NI_STEP_REGISTER, EAGAIN, ": the limit of the RDMA cgroup (rdma.max), or the device is full"},
    {NI_STEP_REGISTER, ENOMEM, ": the kernel or the device has no more memory"},
    {NI_STEP_CONNECT, EINVAL, ": this GID cannot be used"},
    {NI_STEP_CONNECT, ENODEV, ": the GID's interface is not in this network namespace"},
    {NI_STEP_CONNECT, ENETUNREACH, ": there is no route to the GID"},
    {NI_STEP_CONNECT, EHOSTUNREACH, ": there is no route to the GID"},
    {NI_STEP_CONNECT, ETIMEDOUT, ": the GID's address does not resolve"},
};

static const char *why_of(enum ni_step step, int err)
{
    const bool resources = steps[step].id == NI_F_VERBS_RESOURCES;
    for (size_t i = 0; i < NI_COUNT(reasons); i++) {
        if (reasons[i].step == (resources ? NI_STEP_REGISTER : step) && reasons[i].err == err)
            return reasons[i].why;
    }
    return step == NI_STEP_CONNECT ? ": the driver refuses" : "";
}

static void judge_find(const struct judge *j)
{
    const struct ni_uverbs *node = &j->facts->inv->hca[hca_of(j)].uverbs;
    const int err = j->t->err;
    if (j->t->untried)
        ni_report(j->f, NI_F_VERBS_PROVIDER, j->subject,
                  "not tried: nccl-init has no provider for its driver (it has mlx5, rxe, siw), "
                  "although /dev/infiniband/%s opens",
                  node->name);
    else if (err == ENODEV && node->known == NI_KNOWN)
        ni_report(j->f, NI_F_VERBS_OPEN, j->subject,
                  "libibverbs does not list the device: opening /dev/infiniband/%s gives %s",
                  node->name, name_of(-node->err));
    else
        ni_report(j->f, NI_F_VERBS_OPEN, j->subject, "libibverbs does not list the device (%s)%s",
                  name_of(err),
                  node->known == NI_ABSENT ? ": it has no uverbs device in this pod" : "");
}

static void judge_gid(const struct judge *j)
{
    const struct ni_trial *t = j->t;
    if (t->roce && t->index < 0)
        ni_report(j->f, NI_F_VERBS_GID, j->subject, "the port has no RoCE GID of this pod");
    else if (t->err == ERANGE)
        ni_report(j->f, NI_F_VERBS_GID, j->subject,
                  "GID index %d: a queue pair carries 255 at most", t->index);
    else
        ni_report(j->f, NI_F_VERBS_GID, j->subject, "GID index %d %s (%s)", t->roce ? t->index : 0,
                  t->err == ENODATA ? "is empty" : "cannot be read", name_of(t->err));
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
           t->memlock < j->all->size + QUEUES && !ni_command_may_lock(j->facts);
}

static void judge_limit(const struct judge *j)
{
    char size[32], limit[32], buf[240];
    struct ni_text why = ni_text_on(buf, sizeof(buf));
    ni_memlock_why(j->facts, &why);
    /* of the process, so one for all ports */
    ni_report(j->f, NI_F_VERBS_MEMLOCK, "RLIMIT_MEMLOCK", "%s %s: %s; the limit is %s: %s",
              j->t->step == NI_STEP_QUEUES ? "creating queues beside" : "ibv_reg_mr of",
              size_text(j->all->size, size), name_of(j->t->err), size_text(j->t->memlock, limit),
              buf);
}

static void judge_connect(const struct judge *j)
{
    static const char *const next[] = {"INIT", "RTR", "RTS"}; /* by enum ibv_qp_state */
    const struct ni_trial *t = j->t;
    char ip[NI_IP_TEXT], where[96] = "";
    if (t->roce)
        (void)ni_format(where, sizeof(where), "; index %d holds %s, RoCE %s", t->index,
                        ni_ip_text(t->seen, ip), t->seen_v2 ? "v2" : "v1");
    ni_report(j->f, NI_F_VERBS_CONNECT, j->subject, "`ibv_modify_qp failed with %d`, to %s: %s%s%s",
              t->err,
              t->qp_state >= 0 && t->qp_state < (int)NI_COUNT(next) ? next[t->qp_state] : "?",
              name_of(t->err), why_of(t->step, t->err), where);
}

/* What stands between HCA and memory, if it can be told. */
static void put_iommu(const struct judge *j, struct ni_text *t)
{
    const struct ni_iommu *iommu = &j->facts->inv->health.hca[hca_of(j)].iommu;
    const bool known = iommu->group.known == NI_KNOWN && iommu->type_known == NI_KNOWN;
    const bool identity = known && strcmp(iommu->type, "identity") == 0;
    if (known)
        ni_putf(t, "%sIOMMU group %lld is of type %s%s", identity ? "although " : "",
                (long long)iommu->group.v, iommu->type,
                identity ? ", which translates nothing" : "");
    else if (iommu->group.known == NI_ABSENT)
        ni_put(t, "although no IOMMU is seen from here");
    else
        ni_put(t, "the IOMMU group cannot be read from here");
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

static void judge_completion(const struct judge *j)
{
    const struct ni_trial *t = j->t;
    const char *name = "completion error", *meaning = "the device or its driver failed";
    char buf[120];
    struct ni_text iommu = ni_text_on(buf, sizeof(buf));
    put_iommu(j, &iommu);
    for (size_t i = 0; i < NI_COUNT(completions); i++) {
        if (completions[i].status == t->wc_status) {
            name = completions[i].name;
            meaning = completions[i].meaning;
        }
    }
    if (t->wc_status == LOC_PROT_ERR)
        ni_report(j->f, NI_F_VERBS_PROTECTION, j->subject,
                  "%s: IBV_WC_LOC_PROT_ERR (vendor_err %d): the HCA may not reach memory that was "
                  "registered a moment ago, as under IOMMU translation; %s (see iommu.translated)",
                  steps[t->step].what, t->vendor_err, buf);
    else
        ni_report(j->f, NI_F_VERBS_TRANSFER, j->subject, "%s: %s (status %d, vendor_err %d): %s",
                  steps[t->step].what, name, t->wc_status, t->vendor_err, meaning);
}

static void judge_step(const struct judge *j)
{
    const struct ni_trial *t = j->t;
    const char *state = ni_port_state_text(t->port_state);
    const struct ni_uverbs *node = &j->facts->inv->hca[hca_of(j)].uverbs;
    char size[32];
    if (t->step == NI_STEP_FIND)
        judge_find(j);
    else if (t->step == NI_STEP_OPEN)
        ni_report(j->f, NI_F_VERBS_OPEN, j->subject, "opening /dev/infiniband/%s: %s%s",
                  node->name[0] ? node->name : "uverbsN", name_of(t->err), why_of(t->step, t->err));
    else if (t->step == NI_STEP_PORT && t->err == 0)
        ni_report(j->f, NI_F_VERBS_PORT, j->subject,
                  "the port is %s (physical state %d): NCCL leaves it out",
                  state ? state : "in an unknown state", t->phys_state);
    else if (t->step == NI_STEP_GID)
        judge_gid(j);
    else if (is_limited(j))
        judge_limit(j);
    else if (t->step == NI_STEP_CONNECT)
        judge_connect(j);
    else if (t->wc_status != 0)
        judge_completion(j);
    else if (t->step == NI_STEP_COMPARE)
        ni_report(j->f, NI_F_VERBS_DATA, j->subject,
                  "what was read back differs from what was written, from byte %lld on",
                  (long long)t->bad_at);
    else
        ni_report(j->f, steps[t->step].id, j->subject, "%s%s%s: %s%s", steps[t->step].what,
                  steps[t->step].sized ? " of " : "",
                  steps[t->step].sized ? size_text(j->all->size, size) : "", name_of(t->err),
                  why_of(t->step, t->err));
}

/* ---- processes ---- */

static void judge_end(const struct judge *j)
{
    const struct ni_trial *t = j->t;
    const char *step = ni_step_text(t->step);
    const long long ms = (long long)j->all->limit_ms;
    char how[80] = " before it said how it went";
    if (t->end == NI_TRIAL_STUCK && t->step == NI_STEP_DONE)
        ni_report(
            j->f, NI_F_VERBS_HANG, j->subject,
            "passed, but its process %d hangs while the kernel takes back what was registered, "
            "and is left",
            t->pid);
    else if (t->end == NI_TRIAL_STUCK)
        ni_report(j->f, NI_F_VERBS_HANG, j->subject,
                  "hangs in the kernel in step `%s`: its process %d survives SIGKILL and is left",
                  step, t->pid);
    else if (t->end == NI_TRIAL_KILLED)
        ni_report(j->f, NI_F_VERBS_HANG, j->subject, "no answer in step `%s` after %lld.%lld s",
                  step, ms / 1000, ms % 1000 / 100);
    else {
        if (t->signal == SIGKILL)
            ni_copy(how, sizeof(how),
                    ", killed from outside: the container's memory limit, perhaps");
        else if (t->signal == SIGSEGV)
            ni_copy(how, sizeof(how), " of a segmentation fault");
        else if (t->signal != 0)
            (void)ni_format(how, sizeof(how), " of signal %d", t->signal);
        ni_report(j->f, NI_F_VERBS_CRASH, j->subject, "its process died in step `%s`%s", step, how);
    }
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
    const struct ni_inventory *inv = j->facts->inv;
    const struct ni_port *port = &inv->port[at];
    unsigned differ = 0, same = 0, total = 0;
    char name[NI_DEV_NAME + 8], where[40] = "";
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
        ni_report(j->f, NI_F_VERBS_GID_DIFFERS, ni_port_text(inv, at, name),
                  "%u GID entr%s between sysfs and the device%s", differ,
                  differ == 1 ? "y differs" : "ies differ", where);
}

static void compare(const struct judge *j)
{
    const struct ni_inventory *inv = j->facts->inv;
    const struct ni_hca *hca = &inv->hca[hca_of(j)];
    const enum ni_known dmabuf = j->t->device.dmabuf;
    for (unsigned i = 0; dmabuf != NI_UNSET && j->t->gid_err == 0 && i < hca->n_port; i++)
        compare_gids(j, hca->first_port + (int)i);
    if (dmabuf == NI_ABSENT && inv->n_gpu > 0 && inv->gdr.peermem != NI_KNOWN && ni_has_dmabuf(inv))
        ni_report(j->f, NI_F_VERBS_DMABUF, j->subject,
                  "ibv_reg_dmabuf_mr is not supported, and nvidia-peermem is not loaded: no "
                  "GPUDirect RDMA through this HCA");
}

/* ---- all of them ---- */

void ni_judge_trials(const struct ni_facts *facts, struct ni_trials *trials, struct ni_findings *f)
{
    for (unsigned i = 0; i < trials->n; i++) {
        struct ni_trial *t = &trials->at[i];
        struct judge j = {.facts = facts, .all = trials, .t = t, .f = f};
        const struct ni_uverbs *node = &facts->inv->hca[hca_of(&j)].uverbs;
        if (trials->probe)
            ni_copy(j.subject, sizeof(j.subject), t->hca);
        else
            ni_port_text(facts->inv, t->at, j.subject);
        /* libibverbs lists no device for whose driver it has no provider, whose node opens */
        t->untried = t->end == NI_TRIAL_ENDED && t->step == NI_STEP_FIND && t->err == ENODEV &&
                     node->known == NI_KNOWN && node->err == 0;
        if (t->end != NI_TRIAL_ENDED)
            judge_end(&j);
        else if (!ni_trial_passed(t))
            judge_step(&j);
        compare(&j);
    }
}
