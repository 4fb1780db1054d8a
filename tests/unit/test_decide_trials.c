/* SPDX-License-Identifier: Apache-2.0 */
/* Which ports a self-test tries, by which index, and what each way to fail is said to mean. */
#include "test_doctor_node.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>

static struct ni_trials trials;

static struct ni_work facts(void)
{
    static struct ni_env env;
    env = (struct ni_env){node.entry};
    return (struct ni_work){&node.inv, &env, &node.policy, &node.plan, &node.findings};
}

/* ---- what is tried ---- */

static void plan(void)
{
    const struct ni_work all = facts();
    memset(&trials, 0, sizeof(trials));
    node_decide();
    ni_plan_trials(&all, &trials);
}

/* "mlx5_6/1:3 mlx5_7/1:-1": ports and indices. */
static void assert_tried(const char *want)
{
    char buf[512];
    struct ni_text t = ni_text_on(buf, sizeof(buf));
    plan();
    for (unsigned i = 0; i < trials.n; i++) {
        const struct ni_trial *it = &trials.at[i];
        ni_putf(&t, "%s%s/%u:%d", i ? " " : "", it->hca, it->port, it->index);
        assert_string_equal(it->hca, node.inv.hca[node.inv.port[it->at].hca].name);
        assert_int_equal(it->roce, node.inv.port[it->at].link == NI_LINK_ROCE);
    }
    assert_string_equal(buf, want);
}

static void test_chosen(void **state)
{
    (void)state;
    assert_tried("mlx5_6/1:3 mlx5_7/1:3");
    assert_memory_equal(trials.at[1].gid, node.inv.gid[3].ip, NI_GID_BYTES);
    assert_false(trials.probe);
    node.inv.gid[1].index = 5; /* the one entry of mlx5_6 that fits */
    node.inv.port[0].gids_read = 6;
    assert_tried("mlx5_6/1:5 mlx5_7/1:3");
    node.inv.port[0].link = node.inv.port[1].link = NI_LINK_IB;
    assert_tried("mlx5_6/1:-1 mlx5_7/1:-1");
    assert_true(ni_ip_is_zero(trials.at[0].gid));
}

/* On which index NCCL ends is the plan's (goldens user-gid-*). */
static void test_index_of_plan(void **state)
{
    (void)state;
    node_env("NCCL_IB_GID_INDEX=2");
    assert_tried("mlx5_6/1:2 mlx5_7/1:2");
    assert_memory_equal(trials.at[0].gid, node.inv.gid[0].ip, NI_GID_BYTES);
    node.entry[0] = (char[]){"NCCL_IB_GID_INDEX=9999"}; /* empty */
    assert_tried("mlx5_6/1:9999 mlx5_7/1:9999");
    assert_true(ni_ip_is_zero(trials.at[0].gid));
    node.entry[0] = (char[]){"NCCL_IB_ADDR_FAMILY=AF_INET6"};
    node_gid(4, "fd00::5", NI_GID_V2, NI_OWN_OURS, "net2"); /* of mlx5_7 */
    assert_tried("mlx5_6/1:0 mlx5_7/1:4"); /* 0: where its search ends without a fit */
}

static void down(unsigned port)
{
    node.inv.port[port].state.v = NI_PORT_DOWN;
}

static void test_missed(void **state)
{
    (void)state;
    down(0);
    assert_tried("mlx5_7/1:3 mlx5_6/1:-1");
    down(1);
    assert_tried("mlx5_6/1:-1 mlx5_7/1:-1");
    node.inv.source = NI_SRC_UVERBS; /* nobody named them */
    assert_tried("");
}

static void test_missed_without_gid(void **state)
{
    (void)state;
    node.inv.port[0].n_gid = 0;
    assert_tried("mlx5_7/1:3 mlx5_6/1:-1");
    node_env("NCCL_IB_GID_INDEX=2"); /* forced: NCCL would use it there, too */
    assert_tried("mlx5_7/1:2 mlx5_6/1:2");
    node.entry[0] = NULL;
    node.inv.source = NI_SRC_NETDEV;
    assert_tried("mlx5_7/1:3");
}

static void test_left_out_by_choice(void **state)
{
    (void)state;
    node_env("NCCL_IB_HCA==mlx5_7:1");
    assert_tried("mlx5_7/1:3");
    down(0);
    assert_tried("mlx5_7/1:3");
    node.n_env = 0;
    node.entry[0] = NULL;
    node.policy.hcas = "mlx5_7:1";
    node.inv.source = NI_SRC_OPTION;
    assert_tried("mlx5_7/1:3");
    node.policy.hcas = "mlx5_7:1,mlx5_6:2";
    assert_tried("mlx5_7/1:3");
    node.policy.hcas = "mlx5_7:1,mlx5_6";
    assert_tried("mlx5_7/1:3 mlx5_6/1:-1");
    node.inv.hca[0].claim = -1;
    assert_tried("mlx5_7/1:3");
}

/* Two link layers: the slower one stays out, whatever its state. */
static void test_left_out_by_link(void **state)
{
    (void)state;
    node.inv.port[0].link = NI_LINK_IB;
    node.inv.port[0].mbps.v = 100000;
    assert_tried("mlx5_7/1:3");
}

static void assert_not_wanted(void)
{
    const struct ni_work all = facts();
    assert_tried("");
    assert_false(ni_wants_trials(&all));
    down(0);
    assert_tried("");
    node.inv.port[0].state.v = NI_PORT_ACTIVE;
}

static void test_not_wanted(void **state)
{
    const struct ni_work all = facts();
    (void)state;
    plan();
    assert_true(ni_wants_trials(&all));
    node.policy.mode = NI_MODE_TCP;
    assert_not_wanted();
    node.policy.mode = NI_MODE_OFF;
    plan();
    assert_false(ni_wants_trials(&all));
    node.policy.mode = NI_MODE_AUTO;
    node_env("NCCL_NET=AWS Libfabric");
    assert_not_wanted();
    node.entry[0] = (char[]){"NCCL_NET=Socket"};
    assert_not_wanted();
    node.entry[0] = (char[]){"NCCL_IB_DISABLE=1"};
    assert_not_wanted();
    node.entry[0] = (char[]){"NCCL_IB_DISABLE=0"};
    assert_tried("mlx5_6/1:3 mlx5_7/1:3");
    node.entry[0] = (char[]){"NCCL_NET=IB"};
    assert_tried("mlx5_6/1:3 mlx5_7/1:3");
    down(0);
    down(1);
    plan(); /* no port is usable: that is no choice */
    assert_true(ni_wants_trials(&all));
}

static void test_many(void **state)
{
    (void)state;
    for (int i = 2; i < NI_MAX_HCA; i++) {
        char name[16];
        snprintf(name, sizeof(name), "mlx5_%d", 10 + i);
        node_hca(name);
        node.inv.port[i].state.v = NI_PORT_DOWN;
        node_port(i, 2)->state.v = NI_PORT_DOWN;
        if (node.inv.n_port > NI_MAX_PORT - 2)
            break;
    }
    plan();
    assert_int_equal(trials.n, node.inv.n_port); /* none is left out */
}

/* Of a card with two ports one may be without a cable. */
static void test_second_port(void **state)
{
    int last = (int)node.inv.n_hca - 1; /* its ports lie together */
    (void)state;
    node_port(last, 2)->state.v = NI_PORT_DOWN;
    plan();
    assert_int_equal(trials.n, 2);
    node.inv.port[node.inv.hca[last].first_port].state.v = NI_PORT_DOWN;
    plan();
    assert_int_equal(trials.n, 3);
}

static void test_probes(void **state)
{
    const struct ni_work all = facts();
    (void)state;
    down(0);
    node_port(1, 2);
    node_hca("mlx5_8");
    node.inv.hca[2].claim = -1;
    node_hca("mlx5_9");
    node.inv.hca[3].n_port = 0;
    memset(&trials, 0, sizeof(trials));
    node_decide();
    ni_plan_probes(&all, &trials);
    assert_true(trials.probe);
    assert_int_equal(trials.n, 2);
    assert_string_equal(trials.at[0].hca, "mlx5_6");
    assert_string_equal(trials.at[1].hca, "mlx5_7");
}

/* ---- what it means ---- */

/* All passed; the first is to be spoilt. */
static struct ni_trial *tried(void)
{
    plan();
    assert_int_equal(trials.n, 2);
    trials.size = NI_TRIAL_SIZE;
    trials.bytes = NI_TRIAL_BYTES;
    trials.limit_ms = 10500;
    for (unsigned i = 0; i < trials.n; i++) {
        struct ni_trial *t = &trials.at[i];
        const struct ni_port *port = &node.inv.port[t->at];
        t->step = NI_STEP_DONE;
        t->end = NI_TRIAL_ENDED;
        t->memlock = NI_UNLIMITED;
        t->port_state = NI_PORT_ACTIVE;
        t->device.dmabuf = NI_KNOWN;
        memcpy(t->seen, t->gid, NI_GID_BYTES);
        t->seen_v2 = true;
        for (unsigned k = 0; k < port->n_gid; k++) {
            const struct ni_gid *g = ni_port_gid(&node.inv, port, k);
            struct ni_trial_gid *to = &t->table[t->n_gid++];
            memcpy(to->ip, g->ip, NI_GID_BYTES);
            to->index = g->index;
            to->port = 1;
            to->v2 = g->type == NI_GID_V2;
        }
    }
    return &trials.at[0];
}

static struct ni_trial *failed(enum ni_step step, int err)
{
    struct ni_trial *t = tried();
    t->step = step;
    t->err = err;
    return t;
}

static void judge(void)
{
    const struct ni_work all = facts();
    memset(&node.findings, 0, sizeof(node.findings));
    ni_judge_trials(&all, &trials);
}

/* Judged, it is exactly this finding. */
static void assert_means(enum ni_finding_id id, const char *words)
{
    judge();
    /* the limit is the process's, so one finding for all ports */
    assert_found(id,
                 id == NI_F_VERBS_MEMLOCK ? "RLIMIT_MEMLOCK"
                 : trials.probe           ? "mlx5_6"
                                          : "mlx5_6/1",
                 words);
    assert_int_equal(node.findings.n, 1);
}

static void assert_lacks(const char *words)
{
    assert_null(strstr(node.findings.at[0].message, words));
}

static void test_passed(void **state)
{
    (void)state;
    tried();
    judge();
    assert_int_equal(node.findings.n, 0);
}

/* Call and errno, and what the errno means there; EAGAIN: kernel/cgroup/rdma.c rdmacg_try_charge. */
static void test_errnos(void **state)
{
    static const struct {
        enum ni_step step;
        int err;
        enum ni_finding_id id;
        const char *words;
    } cases[] = {
        {NI_STEP_START, EAGAIN, NI_F_VERBS_PROCESS, "no process could be started: EAGAIN"},
        {NI_STEP_START, 12345, NI_F_VERBS_PROCESS, "no process could be started: an unknown error"},
        {NI_STEP_OPEN, EPERM, NI_F_VERBS_OPEN,
         "opening /dev/infiniband/uverbs0: EPERM: the device cgroup"},
        {NI_STEP_OPEN, EACCES, NI_F_VERBS_OPEN, "EACCES: the permissions of the node forbid it"},
        {NI_STEP_OPEN, ENOENT, NI_F_VERBS_OPEN, "ENOENT: the node is not in the container"},
        {NI_STEP_OPEN, ENOMEM, NI_F_VERBS_OPEN, "no memory for a context"},
        {NI_STEP_OPEN, EAGAIN, NI_F_VERBS_OPEN, "EAGAIN: the limit of the RDMA cgroup"},
        {NI_STEP_DEVICE, ENOMEM, NI_F_VERBS_RESOURCES, "querying the device: ENOMEM"},
        {NI_STEP_PORT, EINVAL, NI_F_VERBS_PORT, "ibv_query_port: EINVAL"},
        {NI_STEP_GID, EIO, NI_F_VERBS_GID, "GID index 3: EIO"},
        {NI_STEP_ALLOCATE, ENOMEM, NI_F_VERBS_RESOURCES, "mmap of 64 MiB: ENOMEM"},
        {NI_STEP_REGISTER, EAGAIN, NI_F_VERBS_RESOURCES,
         "ibv_reg_mr of 64 MiB: EAGAIN: the limit of the RDMA cgroup"},
        {NI_STEP_REGISTER, EFAULT, NI_F_VERBS_RESOURCES, "ibv_reg_mr of 64 MiB: EFAULT"},
        {NI_STEP_QUEUES, EAGAIN, NI_F_VERBS_RESOURCES,
         "creating queues beside 64 MiB: EAGAIN: the limit of the RDMA cgroup"},
        {NI_STEP_WRITE, EIO, NI_F_VERBS_TRANSFER, "RDMA write: EIO"},
        {NI_STEP_READ, ENOMEM, NI_F_VERBS_TRANSFER, "RDMA read: ENOMEM"},
    };
    (void)state;
    for (unsigned i = 0; i < NI_COUNT(cases); i++) {
        failed(cases[i].step, cases[i].err);
        assert_means(cases[i].id, cases[i].words);
    }
    node.inv.hca[0].uverbs.name[0] = '\0';
    failed(NI_STEP_OPEN, EIO);
    assert_means(NI_F_VERBS_OPEN, "opening /dev/infiniband/uverbsN: EIO");
}

static void test_find(void **state)
{
    struct ni_uverbs *h = &node.inv.hca[0].uverbs;
    (void)state;
    failed(NI_STEP_FIND, ENODEV);
    assert_means(NI_F_VERBS_PROVIDER,
                 "nccl-init has no provider for its driver (it has mlx5, rxe, siw), although "
                 "/dev/infiniband/uverbs0 opens");
    h->err = -ENOENT;
    assert_means(NI_F_VERBS_OPEN, "/dev/infiniband/uverbs0 is not in the container");
    h->known = NI_ABSENT;
    assert_means(NI_F_VERBS_OPEN,
                 "does not list the device: the kernel has no uverbs device of it");
    h->known = NI_DENIED;
    assert_means(NI_F_VERBS_OPEN, "libibverbs does not list the device: ENODEV");
    failed(NI_STEP_FIND, ENOSYS);
    assert_means(NI_F_VERBS_OPEN, "libibverbs does not list the device: ENOSYS");
}

static void test_port(void **state)
{
    struct ni_trial *t = failed(NI_STEP_PORT, 0);
    (void)state;
    t->port_state = NI_PORT_DOWN;
    t->phys_state = 3;
    assert_means(NI_F_VERBS_PORT, "the port is DOWN (physical state 3): NCCL leaves it out");
    t->port_state = 77;
    assert_means(NI_F_VERBS_PORT, "the port is in an unknown state");
}

static void test_gid(void **state)
{
    struct ni_trial *t = failed(NI_STEP_GID, ENODATA);
    (void)state;
    t->index = 9;
    assert_means(NI_F_VERBS_GID, "GID index 9: ENODATA: it is empty");
    t->err = EIO;
    assert_means(NI_F_VERBS_GID, "GID index 9: EIO");
    t->err = ERANGE;
    t->index = 9999;
    assert_means(NI_F_VERBS_GID, "GID index 9999: ERANGE: a queue pair carries 255 at most");
    t->err = 0;
    t->index = -1;
    assert_means(NI_F_VERBS_GID, "the port has no RoCE GID of this pod");
    t->roce = false; /* InfiniBand has index 0 and no RoCE */
    t->err = EIO;
    assert_means(NI_F_VERBS_GID, "GID index 0: EIO");
}

/* ---- memory ---- */

static void test_memlock(void **state)
{
    struct ni_self *s = &node.inv.self;
    struct ni_trial *t = failed(NI_STEP_REGISTER, ENOMEM);
    (void)state;
    t->memlock = 8 << 20;
    s->caps_known = NI_KNOWN;
    assert_means(NI_F_VERBS_MEMLOCK, "ibv_reg_mr of 64 MiB: ENOMEM; the limit is 8 MiB: "
                                     "CAP_SYS_RESOURCE is not in the bounding set: add it in");
    t->memlock = 65536;
    assert_means(NI_F_VERBS_MEMLOCK, "the limit is 64 KiB: ");
    s->cap_bnd = UINT64_MAX; /* the longest clause */
    s->uid = known(1000660000);
    node.inv.self.nosuid = NI_UNSET;
    trials.size = NI_TRIAL_SIZE_MAX - 1024;
    t->memlock = INT64_C(67108863) * 1024;
    assert_means(NI_F_VERBS_MEMLOCK, "67108863 KiB: ENOMEM; the limit is 67108863 KiB: uid "
                                     "1000660000 has CAP_SYS_RESOURCE in the bounding set only");
    s->caps_known = NI_DENIED;
    assert_means(NI_F_VERBS_MEMLOCK, "whether CAP_SYS_RESOURCE is there is unknown");
}

/* The limit holds the memory, and no queue beside it. */
static void test_memlock_of_queues(void **state)
{
    struct ni_trial *t = failed(NI_STEP_QUEUES, ENOMEM);
    (void)state;
    t->memlock = NI_TRIAL_SIZE;
    assert_means(NI_F_VERBS_MEMLOCK,
                 "creating queues beside 64 MiB: ENOMEM; the limit is 64 MiB: ");
    t->memlock = NI_TRIAL_SIZE * 2;
    assert_means(
        NI_F_VERBS_RESOURCES,
        "creating queues beside 64 MiB: ENOMEM: the kernel or the device has no more memory");
    t->memlock = -1;
    assert_means(
        NI_F_VERBS_RESOURCES,
        "creating queues beside 64 MiB: ENOMEM: the kernel or the device has no more memory");
    t->err = EINVAL;
    assert_means(NI_F_VERBS_RESOURCES, "creating queues beside 64 MiB: EINVAL");
    assert_lacks("cgroup");
}

/* mm/mlock.c can_do_mlock: nothing at all may be locked. */
static void test_memlock_of_nothing(void **state)
{
    struct ni_trial *t = failed(NI_STEP_REGISTER, EPERM);
    (void)state;
    t->memlock = 0;
    assert_means(NI_F_VERBS_MEMLOCK, "ibv_reg_mr of 64 MiB: EPERM; the limit is 0 B: ");
    t->memlock = 65536;
    assert_means(NI_F_VERBS_RESOURCES, "ibv_reg_mr of 64 MiB: EPERM");
}

/* Counted apart: that it was not tried says nothing about it. */
static void test_untried(void **state)
{
    (void)state;
    failed(NI_STEP_FIND, ENODEV);
    node.inv.hca[0].uverbs.known = NI_KNOWN;
    assert_means(NI_F_VERBS_PROVIDER, "not tried");
    assert_int_equal(ni_trials_tried(&trials), 1); /* the other one */
    node.inv.hca[0].uverbs.err = -ENOENT;
    assert_means(NI_F_VERBS_OPEN, "libibverbs does not list the device");
    assert_int_equal(ni_trials_tried(&trials), 2);
}

/* Low, but not what is in the way. */
static void test_memlock_does_not_count(void **state)
{
    struct ni_self *s = &node.inv.self;
    struct ni_trial *t = failed(NI_STEP_REGISTER, ENOMEM);
    (void)state;
    assert_means(NI_F_VERBS_RESOURCES, "ibv_reg_mr of 64 MiB: ENOMEM");
    t->memlock = 8 << 20;
    s->caps_known = NI_KNOWN;
    s->cap_eff = s->cap_prm = s->cap_bnd = 1 << NI_CAP_IPC_LOCK;
    s->uid = known(0);
    assert_means(NI_F_VERBS_RESOURCES, "ibv_reg_mr of 64 MiB: ENOMEM");
    s->cap_eff = 0;
    t->err = EFAULT;
    assert_means(NI_F_VERBS_RESOURCES, "ibv_reg_mr of 64 MiB: EFAULT");
    failed(NI_STEP_ALLOCATE, ENOMEM)->memlock = 8 << 20; /* nothing is pinned yet */
    trials.size = NI_TRIAL_SIZE_MIN;
    assert_means(NI_F_VERBS_RESOURCES, "mmap of 12 KiB: ENOMEM");
}

/* ---- connection and data ---- */

static void test_connect(void **state)
{
    static const struct {
        int err, state;
        const char *words;
    } cases[] = {
        {EINVAL, 1,
         "failed with 22`, to RTR: EINVAL: this GID cannot be used; "
         "index 3 holds 10.0.1.5, RoCE v2"},
        {ENODEV, 1, "to RTR: ENODEV: the GID's interface is not in this network namespace"},
        {ENETUNREACH, 1, "to RTR: ENETUNREACH: there is no route to the GID"},
        {EHOSTUNREACH, 1, "EHOSTUNREACH: there is no route to the GID"},
        {ETIMEDOUT, 1, "`ibv_modify_qp failed with 110`, to RTR: ETIMEDOUT: the GID's address"},
        {EIO, 0, "to INIT: EIO: the driver refuses"},
        {EIO, 2, "to RTS: EIO: the driver refuses"},
        {EIO, 9, "to ?: EIO"},
    };
    (void)state;
    for (unsigned i = 0; i < NI_COUNT(cases); i++) {
        failed(NI_STEP_CONNECT, cases[i].err)->qp_state = cases[i].state;
        assert_means(NI_F_VERBS_CONNECT, cases[i].words);
    }
    trials.at[0].seen_v2 = false;
    node_ip("fe80:1111:2222:3333:4444:5555:6666:7777", trials.at[0].seen);
    assert_means(NI_F_VERBS_CONNECT, "holds fe80:1111:2222:3333:4444:5555:6666:7777, RoCE v1");
    trials.at[0].roce = false;
    assert_means(NI_F_VERBS_CONNECT, "EIO");
    assert_lacks("index");
}

static void test_protection(void **state)
{
    struct ni_iommu *iommu = &node.inv.hca[0].iommu;
    struct ni_trial *t = failed(NI_STEP_WRITE, 0);
    (void)state;
    t->wc_status = 4;
    t->vendor_err = 81;
    ni_copy(iommu->type, sizeof(iommu->type), "DMA-FQ");
    assert_means(NI_F_VERBS_PROTECTION,
                 "RDMA write: IBV_WC_LOC_PROT_ERR (vendor_err 81): the HCA may not reach memory "
                 "that was registered a moment ago, as under IOMMU translation; IOMMU group 31 is "
                 "of type DMA-FQ (see iommu.translated)");
    ni_copy(iommu->type, sizeof(iommu->type), "identity");
    assert_means(NI_F_VERBS_PROTECTION, "although IOMMU group 31 is of type identity, which "
                                        "translates nothing");
    iommu->group.known = NI_ABSENT;
    assert_means(NI_F_VERBS_PROTECTION, "although no IOMMU is seen from here");
    iommu->group.known = NI_DENIED;
    t->step = NI_STEP_READ;
    assert_means(NI_F_VERBS_PROTECTION, "RDMA read: ");
    assert_means(NI_F_VERBS_PROTECTION, "the IOMMU group cannot be read from here");
    /* the finding named is one that doctor gives */
    assert_string_equal(ni_finding_kind(NI_F_IOMMU_TRANSLATED)->id, "iommu.translated");
}

static void test_transfer(void **state)
{
    static const struct {
        int status;
        const char *words;
    } cases[] = {
        {12, "RDMA write: IBV_WC_RETRY_EXC_ERR (status 12, vendor_err 129): "
             "nothing was acknowledged"},
        {13, "IBV_WC_RNR_RETRY_EXC_ERR (status 13, vendor_err 129): the "
             "receiver was never ready"},
        {2, "IBV_WC_LOC_QP_OP_ERR (status 2, vendor_err 129): the device cannot "
            "send here"},
        {5, "IBV_WC_WR_FLUSH_ERR (status 5, vendor_err 129): the queue pair was"},
        {10, "IBV_WC_REM_ACCESS_ERR (status 10, vendor_err 129): the memory key"},
        {21, "RDMA write: completion error (status 21, vendor_err 129): the device or its"},
    };
    struct ni_trial *t = failed(NI_STEP_WRITE, 0);
    (void)state;
    t->vendor_err = 129;
    for (unsigned i = 0; i < NI_COUNT(cases); i++) {
        t->wc_status = cases[i].status;
        assert_means(NI_F_VERBS_TRANSFER, cases[i].words);
    }
    failed(NI_STEP_COMPARE, 0)->bad_at = 0;
    assert_means(NI_F_VERBS_DATA, "differs from what was written, from byte 0 on");
    trials.at[0].bad_at = INT64_C(1) << 35;
    assert_means(NI_F_VERBS_DATA, "from byte 34359738368 on");
}

/* ---- processes ---- */

static void test_end(void **state)
{
    struct ni_trial *t = failed(NI_STEP_REGISTER, 0);
    (void)state;
    t->end = NI_TRIAL_KILLED;
    t->signal = SIGKILL;
    assert_means(NI_F_VERBS_HANG, "no answer in step `register` after 10.5 s");
    t->end = NI_TRIAL_STUCK;
    t->pid = 4711;
    assert_means(NI_F_VERBS_HANG,
                 "hangs in the kernel in step `register`: its process 4711 survives "
                 "SIGKILL and is left");
    t->end = NI_TRIAL_DIED;
    assert_means(NI_F_VERBS_CRASH, "died in step `register`, killed from outside: the "
                                   "container's memory limit");
    t->signal = SIGSEGV;
    assert_means(NI_F_VERBS_CRASH, "died in step `register` of a segmentation fault");
    t->signal = SIGBUS;
    assert_means(NI_F_VERBS_CRASH, "died in step `register` of signal 7");
    t->signal = 0;
    assert_means(NI_F_VERBS_CRASH, "died in step `register` before it said how it went");
    t->step = NI_STEP_DONE; /* and yet it did not end */
    t->end = NI_TRIAL_KILLED;
    assert_means(NI_F_VERBS_HANG, "no answer in step `done`");
}

/* Each in its turn; one that fails hides no other. */
static void test_several(void **state)
{
    (void)state;
    failed(NI_STEP_OPEN, EPERM);
    trials.at[1].step = NI_STEP_QUEUES;
    trials.at[1].err = ENOMEM;
    judge();
    assert_int_equal(node.findings.n, 2);
    assert_string_equal(node.findings.at[1].subject, "mlx5_7/1");
}

/* ---- what the device says otherwise ---- */

static void test_gid_table(void **state)
{
    struct ni_trial *t = tried();
    (void)state;
    t->table[1].ip[15] ^= 1;
    assert_means(NI_F_VERBS_GID_DIFFERS,
                 "1 GID entry differs between sysfs and the device, first at index 3");
    tried()->table[0].v2 = true;
    assert_means(NI_F_VERBS_GID_DIFFERS, "1 GID entry differs between sysfs and the device, "
                                         "first at index 2");
    node.inv.gid[0].type = NI_GID_UNREAD;
    judge();
    assert_int_equal(node.findings.n, 0);
    node.inv.gid[0].type = NI_GID_V1;
    tried()->n_gid = 0; /* sysfs has more */
    assert_means(NI_F_VERBS_GID_DIFFERS, "2 GID entries differ");
    t = tried(); /* the device has more */
    t->table[t->n_gid] = t->table[1];
    t->table[t->n_gid++].index = 7;
    assert_means(NI_F_VERBS_GID_DIFFERS, "1 GID entry differs");
    assert_lacks("first");
    node.inv.port[0].gids_complete = false; /* which sysfs was not asked for */
    judge();
    assert_int_equal(node.findings.n, 0);
}

static void test_gid_table_unknown(void **state)
{
    struct ni_trial *t = tried();
    (void)state;
    t->n_gid = 0;
    t->gid_err = EOPNOTSUPP;
    judge();
    assert_int_equal(node.findings.n, 0);
    t->gid_err = 0;
    t->device.dmabuf = NI_UNSET; /* it did not come so far */
    judge();
    assert_int_equal(node.findings.n, 0);
    t->device.dmabuf = NI_KNOWN;
    node.inv.port[0].link = NI_LINK_IB;
    judge();
    assert_int_equal(node.findings.n, 0);
}

/* Another port's entries are its own. */
static void test_gid_table_ports(void **state)
{
    struct ni_trial *t = tried();
    (void)state;
    for (unsigned i = 0; i < 5; i++) {
        t->table[t->n_gid] = t->table[0];
        t->table[t->n_gid++].port = 2;
    }
    judge();
    assert_int_equal(node.findings.n, 0);
}

static void test_dmabuf(void **state)
{
    struct ni_trial *t = tried();
    (void)state;
    t->device.dmabuf = NI_ABSENT;
    assert_means(NI_F_VERBS_DMABUF, "ibv_reg_dmabuf_mr is not supported");
    node.inv.gdr.peermem = NI_KNOWN; /* another way */
    judge();
    assert_int_equal(node.findings.n, 0);
    node.inv.gdr.peermem = NI_ABSENT;
    node.inv.gdr.open_driver = NI_ABSENT; /* the GPU side lacks it, and gdr.* says so */
    judge();
    assert_int_equal(node.findings.n, 0);
    node.inv.gdr.open_driver = NI_KNOWN;
    node.inv.n_gpu = 0;
    judge();
    assert_int_equal(node.findings.n, 0);
}

/* ---- doctor --probe ---- */

static void probed(void)
{
    tried();
    trials.probe = true;
}

static void assert_outcomes(enum ni_outcome device, enum ni_outcome dmabuf, enum ni_outcome gid)
{
    judge();
    memset(&diagnosis, 0, sizeof(diagnosis));
    ni_diagnose_probes(&trials, &node.findings, &diagnosis);
    assert_int_equal(diagnosis.n, 3);
    assert_int_equal(outcome("probe.device"), device);
    assert_int_equal(outcome("probe.dmabuf"), dmabuf);
    assert_int_equal(outcome("probe.gid"), gid);
}

static void test_outcomes(void **state)
{
    (void)state;
    probed();
    assert_outcomes(NI_CHECK_OK, NI_CHECK_OK, NI_CHECK_OK);
    trials.at[0].device.dmabuf = NI_ABSENT;
    assert_outcomes(NI_CHECK_OK, NI_CHECK_FOUND, NI_CHECK_OK);
    assert_means(NI_F_VERBS_DMABUF, "ibv_reg_dmabuf_mr"); /* of the HCA, not of a port */
    probed();
    trials.at[0].table[0].ip[0] ^= 1;
    assert_outcomes(NI_CHECK_OK, NI_CHECK_OK, NI_CHECK_FOUND);
    probed();
    trials.at[0].gid_err = trials.at[1].gid_err = EOPNOTSUPP;
    assert_outcomes(NI_CHECK_OK, NI_CHECK_OK, NI_CHECK_UNKNOWN);
    /* What could not be opened could not be asked either. */
    probed();
    for (unsigned i = 0; i < 2; i++) {
        trials.at[i].step = NI_STEP_OPEN;
        trials.at[i].err = EPERM;
        trials.at[i].device.dmabuf = NI_UNSET;
    }
    assert_outcomes(NI_CHECK_FOUND, NI_CHECK_UNKNOWN, NI_CHECK_UNKNOWN);
    trials.n = 0;
    assert_outcomes(NI_CHECK_IDLE, NI_CHECK_IDLE, NI_CHECK_IDLE);
    /* behind all checks there is room for them */
    diagnose();
    ni_diagnose_probes(&trials, &node.findings, &diagnosis);
    assert_in_range(diagnosis.n, 4, NI_MAX_CHECK);
    assert_string_equal(diagnosis.at[diagnosis.n - 1].id, "probe.gid");
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup(f, set_up)
    const struct CMUnitTest tests[] = {
        CASE(test_chosen),
        CASE(test_index_of_plan),
        CASE(test_missed),
        CASE(test_missed_without_gid),
        CASE(test_left_out_by_choice),
        CASE(test_left_out_by_link),
        CASE(test_not_wanted),
        CASE(test_many),
        CASE(test_second_port),
        CASE(test_probes),
        CASE(test_passed),
        CASE(test_errnos),
        CASE(test_find),
        CASE(test_port),
        CASE(test_gid),
        CASE(test_memlock),
        CASE(test_memlock_of_queues),
        CASE(test_memlock_of_nothing),
        CASE(test_untried),
        CASE(test_memlock_does_not_count),
        CASE(test_connect),
        CASE(test_protection),
        CASE(test_transfer),
        CASE(test_end),
        CASE(test_several),
        CASE(test_gid_table),
        CASE(test_gid_table_unknown),
        CASE(test_gid_table_ports),
        CASE(test_dmabuf),
        CASE(test_outcomes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
