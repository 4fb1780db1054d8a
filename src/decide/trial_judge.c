/* SPDX-License-Identifier: Apache-2.0 */
/* What the trials mean: each failure as a finding, in the words of the job that would run into it. */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "check.h"
#include "nccl_init/trial.h"

struct judge {
    const struct ni_facts *facts;
    const struct ni_trials *all;
    const struct ni_trial *t;
    struct ni_findings *f;
    char subject[NI_DEV_NAME + 8];
};

static const char *errno_text(int err)
{
    const char *name = ni_errno_name(err);
    return name ? name : "an unknown error";
}

static const struct ni_health_hca *health_of(const struct judge *j)
{
    const struct ni_inventory *inv = j->facts->inv;
    return &inv->health.hca[inv->port[j->t->at].hca];
}

static const struct ni_uverbs *node_of(const struct judge *j)
{
    const struct ni_inventory *inv = j->facts->inv;
    return &inv->hca[inv->port[j->t->at].hca].uverbs;
}

static const char *size_text(int64_t bytes, char buf[32])
{
    struct ni_text t = ni_text_on(buf, 32);
    ni_put_bytes(&t, bytes);
    return buf;
}

/* ---- steps before anything is sent ---- */

/* A device whose node opens and which libibverbs does not list has a driver of which this program
   has no provider. */
static bool has_no_provider(const struct judge *j)
{
    const struct ni_uverbs *node = node_of(j);
    return j->t->end == NI_TRIAL_ENDED && j->t->step == NI_STEP_FIND && j->t->err == ENODEV &&
           node->known == NI_KNOWN && node->err == 0;
}

static void judge_find(struct judge *j)
{
    const struct ni_uverbs *node = node_of(j);
    if (j->t->untried)
        ni_report(j->f, NI_F_VERBS_PROVIDER, j->subject,
                  "/dev/infiniband/%s opens, but none of the providers in nccl-init (mlx5, rxe, "
                  "siw) drives it: not tried",
                  node->name);
    else if (j->t->err == ENODEV && node->known == NI_KNOWN)
        ni_report(j->f, NI_F_VERBS_OPEN, j->subject,
                  "libibverbs does not list it: opening /dev/infiniband/%s gives %s", node->name,
                  errno_text(-node->err));
    else
        ni_report(j->f, NI_F_VERBS_OPEN, j->subject, "libibverbs does not list it (%s)%s",
                  errno_text(j->t->err),
                  node->known == NI_ABSENT ? ": it has no uverbs device in this pod" : "");
}

/* What an errno means in one place. */
struct reason {
    int err;
    const char *why;
};

static const char *why_of(const struct reason *reasons, size_t n, int err, const char *otherwise)
{
    for (size_t i = 0; i < n; i++) {
        if (reasons[i].err == err)
            return reasons[i].why;
    }
    return otherwise;
}

static void judge_open(struct judge *j)
{
    static const struct reason reasons[] = {
        {EPERM, ": the device cgroup forbids it, or the device is another network namespace's"},
        {EACCES, ": the node's permissions forbid it"},
        {ENOENT, ": the node is not in the container"},
        {EAGAIN, ": the RDMA cgroup's limit (rdma.max)"},
        {ENOMEM, ": the kernel has no memory for a context"},
    };
    const char *why = why_of(reasons, NI_COUNT(reasons), j->t->err, "");
    ni_report(j->f, NI_F_VERBS_OPEN, j->subject, "opening /dev/infiniband/%s: %s%s",
              node_of(j)->name[0] ? node_of(j)->name : "uverbsN", errno_text(j->t->err), why);
}

static void judge_port(struct judge *j)
{
    const struct ni_trial *t = j->t;
    const char *state = ni_port_state_text(t->port_state);
    if (t->err != 0)
        ni_report(j->f, NI_F_VERBS_PORT, j->subject, "ibv_query_port: %s", errno_text(t->err));
    else
        ni_report(j->f, NI_F_VERBS_PORT, j->subject,
                  "the port is %s (physical state %d): NCCL leaves it out",
                  state ? state : "in an unknown state", t->phys_state);
}

static void judge_gid(struct judge *j)
{
    const struct ni_trial *t = j->t;
    if (t->roce && t->index < 0)
        ni_report(j->f, NI_F_VERBS_GID, j->subject, "the port has no RoCE GID of this pod");
    else if (t->err == ERANGE)
        ni_report(j->f, NI_F_VERBS_GID, j->subject,
                  "GID index %d: a queue pair carries 255 at most", t->index);
    else
        ni_report(j->f, NI_F_VERBS_GID, j->subject, "GID index %d %s (%s)", t->roce ? t->index : 0,
                  t->err == ENODATA ? "is empty" : "cannot be read", errno_text(t->err));
}

/* Pinned memory counts per process against RLIMIT_MEMLOCK, unless CAP_IPC_LOCK is there in the
   initial user namespace (drivers/infiniband/core/umem.c ib_umem_get). mlx5 pins its queues too,
   beside the memory: a limit of 64 MiB, as some distributions have it, holds the default size and
   no more. */
static bool is_limited(const struct judge *j)
{
    enum { QUEUES = 1 << 20 }; /* more than those of a trial take */
    /* a limit of 0 is EPERM (mm/mlock.c can_do_mlock) */
    return (j->t->err == ENOMEM || (j->t->err == EPERM && j->t->memlock == 0)) &&
           j->t->memlock >= 0 && j->t->memlock < j->all->size + QUEUES &&
           !ni_command_may_lock(j->facts);
}

static void judge_memory(struct judge *j)
{
    const struct ni_trial *t = j->t;
    char size[32], limit[32], buf[240];
    static const char *const what[NI_STEP_N] = {
        [NI_STEP_DEVICE] = "querying the device",
        [NI_STEP_ALLOCATE] = "mmap",
        [NI_STEP_REGISTER] = "ibv_reg_mr",
        [NI_STEP_QUEUES] = "creating queues",
    };
    const bool sized = t->step == NI_STEP_ALLOCATE || t->step == NI_STEP_REGISTER;
    struct ni_text why = ni_text_on(buf, sizeof(buf));
    size_text(j->all->size, size);
    if (is_limited(j) && (t->step == NI_STEP_REGISTER || t->step == NI_STEP_QUEUES)) {
        ni_memlock_why(j->facts, &why);
        /* of the process, so one for all ports */
        ni_report(j->f, NI_F_VERBS_MEMLOCK, "RLIMIT_MEMLOCK", "%s %s: %s; the limit is %s: %s",
                  t->step == NI_STEP_QUEUES ? "creating queues beside" : "ibv_reg_mr of", size,
                  errno_text(t->err), size_text(t->memlock, limit), buf);
    } else {
        ni_report(j->f, NI_F_VERBS_RESOURCES, j->subject, "%s%s%s: %s%s", what[t->step],
                  sized ? " of " : "", sized ? size : "", errno_text(t->err),
                  t->err == EAGAIN   ? ": the RDMA cgroup's limit (rdma.max), or the device is full"
                  : t->err == ENOMEM ? ": the kernel or the device has no more memory"
                                     : "");
    }
}

/* ---- connecting, and data ---- */

static void judge_connect(struct judge *j)
{
    static const char *const next[] = {"INIT", "RTR", "RTS"};
    static const struct reason reasons[] = {
        {EINVAL, "the GID at that index cannot be used so"},
        {ENODEV, "the GID's interface is not in this network namespace"},
        {ENETUNREACH, "there is no route to the GID"},
        {EHOSTUNREACH, "there is no route to the GID"},
        {ETIMEDOUT, "the GID's address does not resolve"},
    };
    const struct ni_trial *t = j->t;
    const char *why = why_of(reasons, NI_COUNT(reasons), t->err, "the driver refuses");
    char ip[NI_IP_TEXT], where[96] = "";
    if (t->roce)
        (void)ni_format(where, sizeof(where), "; index %d holds %s, RoCE %s", t->index,
                        ni_ip_text(t->seen, ip), t->seen_v2 ? "v2" : "v1");
    ni_report(j->f, NI_F_VERBS_CONNECT, j->subject,
              "`ibv_modify_qp failed with %d`, to %s: %s: %s%s", t->err,
              t->qp_state >= 0 && t->qp_state < (int)NI_COUNT(next) ? next[t->qp_state] : "?",
              errno_text(t->err), why, where);
}

/* What stands between HCA and memory, if it can be told. */
static void put_iommu(const struct judge *j, struct ni_text *t)
{
    const struct ni_iommu *iommu = &health_of(j)->iommu;
    if (iommu->group.known == NI_KNOWN && iommu->type_known == NI_KNOWN &&
        strcmp(iommu->type, "identity") == 0)
        ni_putf(t, "although IOMMU group %lld is of type identity, which translates nothing",
                (long long)iommu->group.v);
    else if (iommu->group.known == NI_KNOWN && iommu->type_known == NI_KNOWN)
        ni_putf(t, "IOMMU group %lld is of type %s", (long long)iommu->group.v, iommu->type);
    else if (iommu->group.known == NI_ABSENT)
        ni_put(t, "although no IOMMU is seen from here");
    else
        ni_put(t, "the IOMMU group cannot be read from here");
}

static const char *meaning_of(int status)
{
    switch (status) {
    case NI_WC_RETRY_EXC_ERR:
        return "nothing was acknowledged: no way from this GID to itself, or the packets are "
               "dropped";
    case NI_WC_RNR_RETRY_EXC_ERR:
        return "the receiver was never ready";
    case NI_WC_LOC_QP_OP_ERR:
        return "the device cannot send so: SoftRoCE outside its network namespace, for one";
    case NI_WC_WR_FLUSH_ERR:
        return "the queue pair was in error before";
    case NI_WC_REM_ACCESS_ERR:
        return "the memory key was not accepted";
    default:
        return "the device or its driver failed";
    }
}

static void judge_transfer(struct judge *j)
{
    const struct ni_trial *t = j->t;
    const char *what = t->step == NI_STEP_READ ? "RDMA read" : "RDMA write";
    const char *name = ni_wc_name(t->wc_status);
    if (t->wc_status == 0) {
        ni_report(j->f, NI_F_VERBS_TRANSFER, j->subject, "%s: %s", what, errno_text(t->err));
    } else if (t->wc_status == NI_WC_LOC_PROT_ERR) {
        char buf[120];
        struct ni_text iommu = ni_text_on(buf, sizeof(buf));
        put_iommu(j, &iommu);
        ni_report(j->f, NI_F_VERBS_PROTECTION, j->subject,
                  "%s: IBV_WC_LOC_PROT_ERR (vendor_err %d): the HCA may not reach memory that was "
                  "registered a moment ago, as under IOMMU translation; %s (see iommu.translated)",
                  what, t->vendor_err, buf);
    } else {
        ni_report(j->f, NI_F_VERBS_TRANSFER, j->subject, "%s: %s (status %d, vendor_err %d): %s",
                  what, name ? name : "unknown", t->wc_status, t->vendor_err,
                  meaning_of(t->wc_status));
    }
}

/* ---- processes ---- */

static void put_signal(const struct ni_trial *t, struct ni_text *to)
{
    if (t->signal == SIGKILL)
        ni_put(to, ", killed from outside: the memory limit of the container, perhaps");
    else if (t->signal == SIGSEGV)
        ni_put(to, " of a segmentation fault");
    else if (t->signal != 0)
        ni_putf(to, " of signal %d", t->signal);
    else
        ni_put(to, " without a word");
}

static void judge_end(struct judge *j)
{
    const struct ni_trial *t = j->t;
    const long long ms = (long long)j->all->limit_ms;
    if (t->end == NI_TRIAL_STUCK && t->step == NI_STEP_DONE)
        ni_report(
            j->f, NI_F_VERBS_HANG, j->subject,
            "passed, but hangs while the kernel takes back what was registered: its process %d "
            "is left",
            t->pid);
    else if (t->end == NI_TRIAL_STUCK)
        ni_report(j->f, NI_F_VERBS_HANG, j->subject,
                  "hangs in the kernel in step `%s`: its process %d does not die of SIGKILL and is "
                  "left",
                  ni_step_text(t->step), t->pid);
    else if (t->end == NI_TRIAL_KILLED)
        ni_report(j->f, NI_F_VERBS_HANG, j->subject, "no answer in step `%s` after %lld.%lld s",
                  ni_step_text(t->step), ms / 1000, ms % 1000 / 100);
    else {
        char buf[80];
        struct ni_text why = ni_text_on(buf, sizeof(buf));
        put_signal(t, &why);
        ni_report(j->f, NI_F_VERBS_CRASH, j->subject, "its process died in step `%s`%s",
                  ni_step_text(t->step), buf);
    }
}

static void judge_step(struct judge *j)
{
    switch (j->t->step) {
    case NI_STEP_START:
        if (j->t->err == EXDEV)
            ni_report(j->f, NI_F_VERBS_PROCESS, j->subject,
                      "not tried: a process of its own would be PID 1 of a new PID namespace and "
                      "end it (unshare or nsenter without --fork)");
        else
            ni_report(j->f, NI_F_VERBS_PROCESS, j->subject, "no process could be started: %s",
                      errno_text(j->t->err));
        break;
    case NI_STEP_FIND:
        judge_find(j);
        break;
    case NI_STEP_OPEN:
        judge_open(j);
        break;
    case NI_STEP_PORT:
        judge_port(j);
        break;
    case NI_STEP_GID:
        judge_gid(j);
        break;
    case NI_STEP_DEVICE:
    case NI_STEP_ALLOCATE:
    case NI_STEP_REGISTER:
    case NI_STEP_QUEUES:
        judge_memory(j);
        break;
    case NI_STEP_CONNECT:
        judge_connect(j);
        break;
    case NI_STEP_WRITE:
    case NI_STEP_READ:
        judge_transfer(j);
        break;
    case NI_STEP_COMPARE:
        ni_report(j->f, NI_F_VERBS_DATA, j->subject,
                  "what was written and read back differs from byte %lld on",
                  (long long)j->t->bad_at);
        break;
    case NI_STEP_DONE:
    case NI_STEP_N:
        break;
    }
}

void ni_judge_trials(const struct ni_facts *facts, struct ni_trials *trials, struct ni_findings *f)
{
    for (unsigned i = 0; i < trials->n; i++) {
        struct judge j = {.facts = facts, .all = trials, .t = &trials->at[i], .f = f};
        if (trials->probe)
            ni_copy(j.subject, sizeof(j.subject), j.t->hca);
        else
            ni_port_text(facts->inv, j.t->at, j.subject);
        trials->at[i].untried = has_no_provider(&j);
        if (j.t->end != NI_TRIAL_ENDED)
            judge_end(&j);
        else if (!ni_trial_passed(j.t))
            judge_step(&j);
        ni_compare_trial(facts, j.t, j.subject, f);
    }
}
