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

/* "64 MiB"; what is no whole number of them as KiB. */
static const char *size_text(int64_t bytes, char buf[32])
{
    const bool mib = bytes % (1 << 20) == 0;
    if (bytes == NI_UNLIMITED)
        (void)ni_format(buf, 32, "unlimited");
    else
        (void)ni_format(buf, 32, "%lld %s", (long long)(bytes / (mib ? 1 << 20 : 1024)),
                        mib ? "MiB" : "KiB");
    return buf;
}

/* ---- steps before anything is sent ---- */

/* A device whose node opens and which libibverbs does not list has a driver of which this program
   has no provider. */
static void judge_find(struct judge *j)
{
    const struct ni_health_hca *h = health_of(j);
    if (j->t->err == ENODEV && h->uverbs_known == NI_KNOWN && h->uverbs_err == 0)
        ni_report(j->f, NI_F_VERBS_PROVIDER, j->subject,
                  "/dev/infiniband/%s opens, but none of the providers in nccl-init (mlx5, rxe, "
                  "siw) drives it: not tried",
                  h->uverbs);
    else if (j->t->err == ENODEV && h->uverbs_known == NI_KNOWN)
        ni_report(j->f, NI_F_VERBS_OPEN, j->subject,
                  "libibverbs does not list it: opening /dev/infiniband/%s gives %s", h->uverbs,
                  errno_text(-h->uverbs_err));
    else
        ni_report(j->f, NI_F_VERBS_OPEN, j->subject, "libibverbs does not list it (%s)%s",
                  errno_text(j->t->err),
                  h->uverbs_known == NI_ABSENT ? ": it has no uverbs device in this pod" : "");
}

static void judge_open(struct judge *j)
{
    static const struct {
        int err;
        const char *why;
    } reasons[] = {
        {EPERM, ": the device cgroup forbids it, or the device is another network namespace's"},
        {EACCES, ": the node's permissions forbid it"},
        {ENOENT, ": the node is not in the container"},
        {ENOMEM, ": the kernel has no memory for a context"},
    };
    const char *why = "";
    for (unsigned i = 0; i < NI_COUNT(reasons); i++) {
        if (reasons[i].err == j->t->err)
            why = reasons[i].why;
    }
    ni_report(j->f, NI_F_VERBS_OPEN, j->subject, "opening /dev/infiniband/%s: %s%s",
              health_of(j)->uverbs[0] ? health_of(j)->uverbs : "uverbsN", errno_text(j->t->err),
              why);
}

static void judge_port(struct judge *j)
{
    static const char *const state[] = {"NOP", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER"};
    const struct ni_trial *t = j->t;
    if (t->err != 0)
        ni_report(j->f, NI_F_VERBS_PORT, j->subject, "ibv_query_port: %s", errno_text(t->err));
    else
        ni_report(j->f, NI_F_VERBS_PORT, j->subject,
                  "the port is %s (physical state %d): NCCL leaves it out",
                  t->port_state >= 0 && t->port_state < (int)NI_COUNT(state)
                      ? state[t->port_state]
                      : "in an unknown state",
                  t->phys_state);
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
    return j->t->err == ENOMEM && j->t->memlock >= 0 && j->t->memlock < j->all->size + QUEUES &&
           !ni_command_may_lock(j->facts);
}

static void judge_memory(struct judge *j)
{
    const struct ni_trial *t = j->t;
    char size[32], limit[32], buf[240];
    struct ni_text why = ni_text_on(buf, sizeof(buf));
    size_text(j->all->size, size);
    if (is_limited(j) && (t->step == NI_STEP_REGISTER || t->step == NI_STEP_QUEUES)) {
        ni_memlock_why(j->facts, &why);
        /* of the process, so one for all ports */
        ni_report(j->f, NI_F_VERBS_MEMLOCK, "RLIMIT_MEMLOCK", "%s %s: ENOMEM; the limit is %s: %s",
                  t->step == NI_STEP_QUEUES ? "creating queues beside" : "ibv_reg_mr of", size,
                  size_text(t->memlock, limit), buf);
    } else if (t->step == NI_STEP_QUEUES) {
        ni_report(j->f, NI_F_VERBS_RESOURCES, j->subject, "creating queues: %s%s",
                  errno_text(t->err),
                  t->err == ENOMEM ? ": RDMA cgroup, or the device is full" : "");
    } else if (t->step == NI_STEP_DEVICE) {
        ni_report(j->f, NI_F_VERBS_RESOURCES, j->subject, "querying the device: %s",
                  errno_text(t->err));
    } else {
        ni_report(j->f, NI_F_VERBS_RESOURCES, j->subject, "%s of %s: %s",
                  t->step == NI_STEP_ALLOCATE ? "mmap" : "ibv_reg_mr", size, errno_text(t->err));
    }
}

/* ---- connecting, and data ---- */

static void judge_connect(struct judge *j)
{
    static const char *const next[] = {"INIT", "RTR", "RTS"};
    static const struct {
        int err;
        const char *why;
    } reasons[] = {
        {EINVAL, "the GID at that index cannot be used so"},
        {ENODEV, "the GID's interface is not in this network namespace"},
        {ENETUNREACH, "there is no route to the GID"},
        {EHOSTUNREACH, "there is no route to the GID"},
        {ETIMEDOUT, "the GID's address does not resolve"},
    };
    const struct ni_trial *t = j->t;
    const char *why = "the driver refuses";
    char ip[NI_IP_TEXT], where[96] = "";
    for (unsigned i = 0; i < NI_COUNT(reasons); i++) {
        if (reasons[i].err == t->err)
            why = reasons[i].why;
    }
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
    if (t->end == NI_TRIAL_STUCK)
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

/* ---- what the device says, against what sysfs says ---- */

static const struct ni_trial_gid *told(const struct ni_trial *t, unsigned port, unsigned index)
{
    for (unsigned i = 0; i < t->n_gid; i++) {
        if (t->table[i].port == port && t->table[i].index == index)
            return &t->table[i];
    }
    return NULL;
}

/* Entries of the port that one of the two lacks, or that differ. sysfs is whole only where it was
   read to the end. *ret_first: of the first such index, -1. */
static unsigned count_different(const struct ni_inventory *inv, const struct ni_port *port,
                                const struct ni_trial *t, int *ret_first)
{
    unsigned n = 0, same = 0, total = 0;
    *ret_first = -1;
    for (unsigned i = 0; i < port->n_gid; i++) {
        const struct ni_gid *g = ni_port_gid(inv, port, i);
        const struct ni_trial_gid *its = told(t, port->num, g->index);
        const bool type = !its || g->type == NI_GID_UNREAD || port->link != NI_LINK_ROCE ||
                          its->v2 == (g->type == NI_GID_V2);
        if (its && type && memcmp(its->ip, g->ip, NI_GID_BYTES) == 0) {
            same++;
            continue;
        }
        if (n++ == 0)
            *ret_first = g->index;
    }
    for (unsigned i = 0; i < t->n_gid; i++)
        total += t->table[i].port == port->num;
    return port->gids_complete && total > same + n ? total - same : n;
}

static void compare_gids(struct judge *j)
{
    const struct ni_inventory *inv = j->facts->inv;
    const struct ni_hca *hca = &inv->hca[inv->port[j->t->at].hca];
    if (j->t->gid_err != 0 || j->t->device.dmabuf == NI_UNSET)
        return;
    for (unsigned i = 0; i < hca->n_port; i++) {
        const struct ni_port *port = &inv->port[hca->first_port + (int)i];
        int first;
        unsigned n = count_different(inv, port, j->t, &first);
        char name[NI_DEV_NAME + 8], where[40] = "";
        if (n == 0 || port->link != NI_LINK_ROCE) /* InfiniBand's are not read */
            continue;
        if (first >= 0)
            (void)ni_format(where, sizeof(where), ", first at index %d", first);
        ni_report(j->f, NI_F_VERBS_GID_DIFFERS, ni_port_text(inv, hca->first_port + (int)i, name),
                  "%u GID entr%s between sysfs and the device%s", n,
                  n == 1 ? "y differs" : "ies differ", where);
    }
}

/* The plan counted on DMA-BUF, and the device's driver has none. */
static void compare_dmabuf(struct judge *j)
{
    const struct ni_inventory *inv = j->facts->inv;
    if (j->t->device.dmabuf == NI_ABSENT && inv->n_gpu > 0 && inv->gdr.peermem != NI_KNOWN &&
        ni_has_dmabuf(inv))
        ni_report(j->f, NI_F_VERBS_DMABUF, j->subject,
                  "ibv_reg_dmabuf_mr is not supported, and nvidia-peermem is not loaded: no "
                  "GPUDirect RDMA through this HCA");
}

void ni_judge_trials(const struct ni_facts *facts, const struct ni_trials *trials,
                     struct ni_findings *f)
{
    for (unsigned i = 0; i < trials->n; i++) {
        struct judge j = {.facts = facts, .all = trials, .t = &trials->at[i], .f = f};
        if (trials->probe)
            ni_copy(j.subject, sizeof(j.subject), j.t->hca);
        else
            ni_port_text(facts->inv, j.t->at, j.subject);
        if (j.t->end != NI_TRIAL_ENDED)
            judge_end(&j);
        else if (!ni_trial_passed(j.t))
            judge_step(&j);
        compare_gids(&j);
        compare_dmabuf(&j);
    }
}
