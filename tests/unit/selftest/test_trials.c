/* SPDX-License-Identifier: Apache-2.0 */
/* Which ports a self-test tries, by which index, and what each way to fail is said to mean. */
#include "lib/doctor_node.h"

#include "findings/device.h"
#include "findings/verbs.h"
#include "nccl_init/allocation.h"
#include "nccl_init/base.h"
#include "nccl_init/env.h"
#include "nccl_init/findings.h"
#include "nccl_init/ip.h"
#include "nccl_init/known.h"
#include "nccl_init/number.h"
#include "nccl_init/plan.h"
#include "nccl_init/process.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "rail/step.h"
#include "rail/task.h"
#include "rules/decide.h"
#include "selftest/trials.h"
#include <errno.h>

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
        const struct ni_rail *it = &trials.task[i].rail;
        const struct ni_port *port = &node.inv.port[trials.at[i]];
        ni_putf(&t, "%s%s/%u:%d", i ? " " : "", it->hca, it->port, it->index);
        assert_string_equal(it->hca, node.inv.hca[port->hca].name);
        assert_int_equal(it->link, port->link);
    }
    assert_string_equal(buf, want);
}

static void test_chosen(void **state)
{
    (void)state;
    assert_tried("mlx5_6/1:3 mlx5_7/1:3");
    assert_memory_equal(trials.task[1].rail.gid, node.inv.gid[3].ip, NI_GID_BYTES);
    node.inv.gid[1].index = 5; /* the one entry of mlx5_6 that fits */
    node.inv.port[0].gids_read = 6;
    assert_tried("mlx5_6/1:5 mlx5_7/1:3");
    node.inv.port[0].link = node.inv.port[1].link = NI_LINK_IB;
    assert_tried("mlx5_6/1:-1 mlx5_7/1:-1");
    assert_true(ni_ip_is_zero(trials.task[0].rail.gid));
}

/* On which index NCCL ends is the plan's (goldens user-gid-*). */
static void test_index_of_plan(void **state)
{
    (void)state;
    node_env("NCCL_IB_GID_INDEX=2");
    assert_tried("mlx5_6/1:2 mlx5_7/1:2");
    assert_memory_equal(trials.task[0].rail.gid, node.inv.gid[0].ip, NI_GID_BYTES);
    node.entry[0] = (char[]){"NCCL_IB_GID_INDEX=9999"}; /* empty */
    assert_tried("mlx5_6/1:9999 mlx5_7/1:9999");
    assert_true(ni_ip_is_zero(trials.task[0].rail.gid));
    node.entry[0] = (char[]){"NCCL_IB_ADDR_FAMILY=AF_INET6"};
    node_gid(4, "fd00::5", NI_GID_V2, NI_OWNER_POD, "net2"); /* of mlx5_7 */
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
    node.inv.hca[0].allocation = -1;
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
        char name[24];
        snprintf(name, sizeof(name), "mlx5_%d", 10 + i);
        node_hca(name);
        node.inv.port[i].state.v = NI_PORT_DOWN;
        node_port(i, 2)->state.v = NI_PORT_DOWN;
        if (node.inv.n_port > NI_MAX_PORT - 2)
            break;
    }
    plan();
    assert_int_equal(trials.n, NI_MAX_RAILS); /* more NCCL does not use */
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

/* ---- what it means ---- */

enum { SIZE = 64 << 20 };

/* How the first went, which is to be spoilt. */
#define RESULT trials.task[0].result[NI_ROLE_INITIATOR]

/* All passed. */
static struct ni_rail_task *tried(void)
{
    plan();
    assert_int_equal(trials.n, 2);
    trials.size = SIZE;
    trials.memlock = NI_UNLIMITED;
    for (unsigned i = 0; i < trials.n; i++) {
        struct ni_rail_task *task = &trials.task[i];
        task->result[NI_ROLE_INITIATOR].step = NI_PAIR_DONE;
        task->dmabuf = NI_KNOWN;
        memcpy(task->own[NI_ROLE_INITIATOR].gid, task->rail.gid, NI_GID_BYTES);
    }
    return &trials.task[0];
}

static struct ni_rail_task *failed(enum ni_pair_step step, int err)
{
    struct ni_rail_task *task = tried();
    RESULT.step = step;
    RESULT.err = err;
    return task;
}

static void judge(void)
{
    const struct ni_work all = facts();
    memset(&node.findings, 0, sizeof(node.findings));
    trials.passed = 0;
    ni_judge_trials(&all, &trials);
}

/* Judged, it is exactly this finding. */
static void assert_means(ni_finding_number id, const char *words)
{
    judge();
    /* the limit is the process's, so one finding for all ports */
    assert_found(id, id == NI_F_VERBS_MEMLOCK ? "RLIMIT_MEMLOCK" : "mlx5_6/1", words);
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

/* Step and errno, and what the errno means there; EAGAIN: kernel/cgroup/rdma.c rdmacg_try_charge. */
static void test_errnos(void **state)
{
    static const struct {
        enum ni_pair_step step;
        int err;
        ni_finding_number id;
        const char *words;
    } cases[] = {
        {NI_PAIR_FIND, ENOSYS, NI_F_VERBS_OPEN, "step `find`: ENOSYS: the device or its driver"},
        {NI_PAIR_OPEN, EAGAIN, NI_F_VERBS_OPEN, "EAGAIN: the limit of the RDMA cgroup"},
        {NI_PAIR_DEVICE, 12345, NI_F_VERBS_RESOURCES, "step `device`: an unknown error"},
        {NI_PAIR_DEVICE, ENOMEM, NI_F_VERBS_RESOURCES, "step `device`: ENOMEM"},
        {NI_PAIR_PORT, ENETDOWN, NI_F_VERBS_PORT, "the port is not ACTIVE: NCCL leaves it out"},
        {NI_PAIR_GID, ENODATA, NI_F_VERBS_GID, "step `gid`: index 3: ENODATA: it is empty"},
        {NI_PAIR_GID, ERANGE, NI_F_VERBS_GID,
         "ERANGE: -1 is not a RoCE GID of this pod; a queue pair"},
        {NI_PAIR_ALLOCATE, ENOMEM, NI_F_VERBS_RESOURCES, "step `allocate`: ENOMEM: the kernel or"},
        {NI_PAIR_REGISTER, EAGAIN, NI_F_VERBS_RESOURCES, "EAGAIN: the limit of the RDMA cgroup"},
        {NI_PAIR_QUEUES, EFAULT, NI_F_VERBS_RESOURCES, "EFAULT: the device or its driver refuses"},
        {NI_PAIR_CONNECT, EINVAL, NI_F_VERBS_CONNECT,
         "step `connect`: EINVAL: this GID cannot be used; index 3 holds 10.0.1.5, RoCE v2"},
        {NI_PAIR_CONNECT, ENODEV, NI_F_VERBS_CONNECT,
         "ENODEV: the GID's interface is not in this network namespace"},
        {NI_PAIR_CONNECT, EHOSTUNREACH, NI_F_VERBS_CONNECT, "there is no route to the GID"},
        {NI_PAIR_CONNECT, ETIMEDOUT, NI_F_VERBS_CONNECT, "the GID's address does not resolve"},
        {NI_PAIR_WRITE, ETIMEDOUT, NI_F_VERBS_TRANSFER, "the device returns no completion"},
        {NI_PAIR_IDENTITY, 0, NI_F_VERBS_TRANSFER, "step `identity`: what was read back differs"},
        {NI_PAIR_COMPARE, 0, NI_F_VERBS_TRANSFER, "step `compare`: what was read back differs"},
        {(enum ni_pair_step)77, 0, NI_F_VERBS_PROCESS, "step `?`"}, /* scribbled */
    };
    struct ni_rail_task *task;
    (void)state;
    for (unsigned i = 0; i < NI_COUNT(cases); i++) {
        failed(cases[i].step, cases[i].err);
        assert_means(cases[i].id, cases[i].words);
        assert_int_equal(trials.passed, 1);
    }
    task = failed(NI_PAIR_CONNECT, EIO);
    task->rail.link = NI_LINK_IB;
    assert_means(NI_F_VERBS_CONNECT, "EIO");
    assert_lacks("index");
}

/* What libibverbs does not list: said apart where that says nothing about the port. */
static void test_find(void **state)
{
    struct ni_uverbs *h = &node.inv.hca[0].uverbs;
    struct ni_rail_task *task = failed(NI_PAIR_FIND, ENODEV);
    (void)state;
    ni_copy(task->rail.untried, sizeof(task->rail.untried), "no provider");
    h->known = NI_KNOWN;
    assert_means(NI_F_VERBS_PROVIDER, "step `find`: no provider");
    assert_int_equal(task->rail.node_err, 0);
    h->err = -ENOENT;
    node.inv.hca[1].uverbs.known = NI_ABSENT; /* if none opens, all are tried in their order */
    task = failed(NI_PAIR_FIND, ENODEV);
    assert_int_equal(task->rail.node_err, ENOENT);
    assert_means(NI_F_VERBS_OPEN, "step `find`: /dev/infiniband/uverbs0 is not in the container");
}

/* ---- memory ---- */

static void test_memlock(void **state)
{
    struct ni_self *s = &node.inv.self;
    (void)state;
    failed(NI_PAIR_REGISTER, ENOMEM);
    trials.memlock = 8 << 20;
    s->caps_known = NI_KNOWN;
    assert_means(NI_F_VERBS_MEMLOCK,
                 "step `register`: ENOMEM: 64 MiB to register, and only 8 MiB can be locked: "
                 "CAP_SYS_RESOURCE is not in the bounding set: add SYS_RESOURCE");
    trials.memlock = 65536;
    assert_means(NI_F_VERBS_MEMLOCK, "only 64 KiB can be locked: ");
    assert_string_equal(trials.task[0].rail.untried,
                        "64 MiB to register, and only 64 KiB can be locked");
    s->cap_bnd = UINT64_MAX; /* the longest clause */
    s->uid = known(1000660000);
    trials.size = (INT64_C(64) << 30) - 1024;
    trials.memlock = INT64_C(67108863) * 1024;
    assert_means(NI_F_VERBS_MEMLOCK, "ENOMEM: 67108863 KiB to register, and only 67108863 KiB can "
                                     "be locked: CAP_SYS_RESOURCE is in the bounding set only");
    s->caps_known = NI_DENIED;
    assert_means(NI_F_VERBS_MEMLOCK, "it is unknown whether CAP_SYS_RESOURCE is present");
}

/* The limit holds the memory, and no queue beside it. */
static void test_memlock_of_queues(void **state)
{
    (void)state;
    failed(NI_PAIR_QUEUES, ENOMEM);
    trials.memlock = SIZE;
    assert_means(NI_F_VERBS_MEMLOCK,
                 "step `queue pairs`: ENOMEM: 64 MiB to register, and only 64 MiB can be locked: ");
    trials.memlock = 2 * SIZE;
    trials.task[0].rail.untried[0] = '\0';
    assert_means(NI_F_VERBS_RESOURCES,
                 "step `queue pairs`: ENOMEM: the kernel or the device has no more memory");
    assert_string_equal(trials.task[0].rail.untried,
                        ""); /* the device refused: the port is at fault */
    trials.memlock = -1;
    assert_means(NI_F_VERBS_RESOURCES,
                 "step `queue pairs`: ENOMEM: the kernel or the device has no more memory");
    RESULT.err = EINVAL;
    assert_means(NI_F_VERBS_RESOURCES, "step `queue pairs`: EINVAL");
    assert_lacks("cgroup");
}

/* mm/mlock.c can_do_mlock: nothing at all may be locked. */
static void test_memlock_of_nothing(void **state)
{
    (void)state;
    failed(NI_PAIR_REGISTER, EPERM);
    trials.memlock = 0;
    assert_means(NI_F_VERBS_MEMLOCK, "EPERM: 64 MiB to register, and only 0 B can be locked: ");
    trials.memlock = 65536;
    assert_means(NI_F_VERBS_RESOURCES, "step `register`: EPERM");
}

/* Low, but not what is in the way. */
static void test_memlock_does_not_count(void **state)
{
    struct ni_self *s = &node.inv.self;
    (void)state;
    failed(NI_PAIR_REGISTER, ENOMEM);
    assert_means(NI_F_VERBS_RESOURCES, "step `register`: ENOMEM");
    trials.memlock = 8 << 20;
    s->caps_known = NI_KNOWN;
    s->cap_eff = s->cap_prm = s->cap_bnd = 1 << CAP_IPC_LOCK;
    s->uid = known(0);
    assert_means(NI_F_VERBS_RESOURCES, "step `register`: ENOMEM");
    s->cap_eff = 0;
    RESULT.err = EFAULT;
    assert_means(NI_F_VERBS_RESOURCES, "step `register`: EFAULT");
    failed(NI_PAIR_ALLOCATE, ENOMEM);
    trials.memlock = 8 << 20; /* nothing is pinned yet */
    trials.size = 16 << 10;
    assert_means(NI_F_VERBS_RESOURCES, "step `allocate`: ENOMEM");
}

/* ---- data and processes ---- */

static void test_completion(void **state)
{
    struct ni_rail_task *task = failed(NI_PAIR_WRITE, 0);
    (void)state;
    task->vendor_err = 81;
    RESULT.wc = 4;
    assert_means(
        NI_F_VERBS_PROTECTION,
        "step `bulk writes`: status 4, vendor_err 81: IBV_WC_LOC_PROT_ERR: the HCA cannot access "
        "memory that was just registered, as happens with IOMMU translation; see iommu.translated");
    /* the finding named is one that doctor gives */
    assert_string_equal(ni_finding_id(NI_F_IOMMU_TRANSLATED), "iommu.translated");
    RESULT.wc = 2;
    assert_means(NI_F_VERBS_TRANSFER, "IBV_WC_LOC_QP_OP_ERR: the device cannot send here");
    RESULT.wc = 5;
    assert_means(NI_F_VERBS_TRANSFER, "IBV_WC_WR_FLUSH_ERR: the queue pair was already in error");
    RESULT.wc = 10;
    assert_means(NI_F_VERBS_TRANSFER, "status 10, vendor_err 81: IBV_WC_REM_ACCESS_ERR: ");
    RESULT.wc = 12;
    assert_means(NI_F_VERBS_TRANSFER, "IBV_WC_RETRY_EXC_ERR: nothing was acknowledged");
    RESULT.wc = 21;
    assert_means(NI_F_VERBS_TRANSFER, "status 21, vendor_err 81: the device or its driver refuses");
}

static void test_silent(void **state)
{
    (void)state;
    failed(NI_PAIR_REGISTER, 0);
    RESULT.silent = true;
    assert_means(NI_F_VERBS_PROCESS, "step `register`: its process died, or hung");
}

/* Each in its turn; one that fails hides no other. */
static void test_several(void **state)
{
    (void)state;
    failed(NI_PAIR_OPEN, EPERM);
    trials.task[1].result[NI_ROLE_INITIATOR].step = NI_PAIR_QUEUES;
    trials.task[1].result[NI_ROLE_INITIATOR].err = ENOMEM;
    judge();
    assert_int_equal(node.findings.n, 2);
    assert_string_equal(node.findings.at[1].subject, "mlx5_7/1");
}

/* ---- what the device says otherwise ---- */

static void test_gid_differs(void **state)
{
    struct ni_rail_task *task = tried();
    (void)state;
    task->own[NI_ROLE_INITIATOR].gid[15] ^= 1;
    assert_means(NI_F_VERBS_GID, "index 3 has 10.0.1.4 on the device, but 10.0.1.5 in sysfs");
    memset(task->own[NI_ROLE_INITIATOR].gid, 0, NI_GID_BYTES); /* it did not come so far */
    judge();
    assert_int_equal(node.findings.n, 0);
}

static void test_dmabuf(void **state)
{
    (void)state;
    tried()->dmabuf = NI_ABSENT;
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
        CASE(test_passed),
        CASE(test_errnos),
        CASE(test_find),
        CASE(test_memlock),
        CASE(test_memlock_of_queues),
        CASE(test_memlock_of_nothing),
        CASE(test_memlock_does_not_count),
        CASE(test_completion),
        CASE(test_silent),
        CASE(test_several),
        CASE(test_gid_differs),
        CASE(test_dmabuf),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
