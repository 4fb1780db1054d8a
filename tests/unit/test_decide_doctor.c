/* SPDX-License-Identifier: Apache-2.0 */
/* doctor's checks of GPUs, drivers, memory limits and PID 1. */
#include "test_doctor_node.h"

/* ---- GPUs ---- */

static void test_gpu_nodes(void **state)
{
    (void)state;
    node.inv.health.uvm = NI_ABSENT;
    diagnose();
    assert_found(NI_F_GPU_NODE_MISSING, "/dev/nvidia-uvm", "CUDA");
    node.inv.gpu[0].amd = node.inv.gpu[1].amd = true;
    diagnose();
    assert_false(has(NI_F_GPU_NODE_MISSING));
}

static void test_gpu_place(void **state)
{
    (void)state;
    node_chain(&node.inv.gpu[0].pci, "0000:80:01.0 0000:81:00.0 0000:82:00.0 0000:83:00.0", 3);
    diagnose();
    assert_found(NI_F_GPU_HCA_FAR, "0000:04:00.0", "another NUMA node (SYS)");
    node_chain(&node.inv.gpu[0].pci, "0000:00:05.0", 3); /* flattened by a hypervisor */
    diagnose();
    assert_false(has(NI_F_GPU_HCA_FAR));
}

static void test_peermem(void **state)
{
    struct ni_health *h = &node.inv.health;
    (void)state;
    node.inv.gdr.peermem = h->peermem_module = h->peer_api = h->peer_client = NI_KNOWN;
    diagnose();
    assert_true(has(NI_F_GDR_PEERMEM_BOTH));
    node.inv.gdr.open_driver = NI_ABSENT;
    diagnose();
    assert_int_equal(node.findings.n, 0);
    h->peer_client = NI_ABSENT;
    diagnose();
    assert_found(NI_F_GDR_DRIVER_ORDER, "nvidia_peermem", "has no nv_mem");
    h->peer_api = node.inv.gdr.listed = NI_ABSENT;
    diagnose();
    assert_false(has(NI_F_GDR_DRIVER_ORDER));
    assert_found(NI_F_GDR_PEERMEM_HIDDEN, "nvidia_peermem", "NCCL before 2.23.4");
}

static void test_driver_order(void **state)
{
    (void)state;
    node.inv.gdr.open_driver = NI_ABSENT;
    diagnose();
    assert_true(has(NI_F_GDR_UNAVAILABLE));
    assert_false(has(NI_F_GDR_DRIVER_ORDER));
    assert_int_equal(outcome("gdr.driver"), NI_CHECK_FOUND); /* by the rule */
    node.inv.health.ofed = NI_KNOWN;
    diagnose();
    assert_found(NI_F_GDR_DRIVER_ORDER, "nvidia_peermem", "Invalid argument");
}

/* ---- memory ---- */

static void test_shm(void **state)
{
    (void)state;
    node.inv.health.shm = known(INT64_C(64) << 20);
    diagnose();
    assert_found(NI_F_SHM_DEFAULT, "/dev/shm", "No space left on device");
    assert_found(NI_F_SHM_DEFAULT, "/dev/shm", "unhandled system error");
    node.inv.health.shm = known((INT64_C(1) << 30) - 1);
    diagnose();
    assert_false(has(NI_F_SHM_DEFAULT));
    assert_found(NI_F_SHM_SMALL, "/dev/shm", "1023 MiB");
    node.inv.health.shm = known(INT64_C(1) << 30);
    diagnose();
    assert_false(has(NI_F_SHM_SMALL));
    node.inv.health.shm = known(INT64_C(64) << 20);
    node.inv.n_gpu = 1;
    diagnose();
    assert_false(has(NI_F_SHM_DEFAULT));
    assert_true(has(NI_F_SHM_SMALL));
    node.inv.n_gpu = 0; /* nobody uses NCCL here */
    diagnose();
    assert_false(has(NI_F_SHM_SMALL));
}

enum { IPC_LOCK = 1 << 14, SYS_RESOURCE = 1 << 24 };

static void low_limit(uint64_t bnd, uint64_t prm, uint64_t eff, int64_t uid)
{
    struct ni_self *s = &node.inv.self;
    s->memlock_soft = s->memlock_hard = known(8 << 20);
    s->caps_known = NI_KNOWN;
    s->cap_bnd = bnd;
    s->cap_prm = prm;
    s->cap_eff = eff;
    s->uid = known(uid);
    s->no_new_privs = known(0);
    diagnose();
}

static void assert_why(const char *words)
{
    assert_found(NI_F_MEMLOCK_TOO_LOW, "RLIMIT_MEMLOCK", words);
    assert_found(NI_F_MEMLOCK_TOO_LOW, "RLIMIT_MEMLOCK",
                 "8192 KiB: `Call to ibv_create_qp failed with error Cannot allocate memory`");
    assert_int_equal(outcome("memlock.limit"), NI_CHECK_FOUND);
}

static void test_memlock_why(void **state)
{
    struct ni_self *s = &node.inv.self;
    (void)state;
    low_limit(0, 0, 0, 0);
    assert_why("not in the bounding set: add it in securityContext.capabilities; OpenShift: the "
               "SCC's allowedCapabilities");
    low_limit(SYS_RESOURCE, 0, 0, 0);
    assert_why("dropped from the permitted set");
    low_limit(SYS_RESOURCE, 0, 0, 1000660000);
    assert_why("uid 1000660000 has CAP_SYS_RESOURCE in the bounding set only: setcap");
    node.inv.health.nosuid = NI_KNOWN;
    low_limit(SYS_RESOURCE, 0, 0, 1000660000);
    assert_why("nosuid bars file capabilities");
    s->no_new_privs = known(1);
    diagnose();
    assert_why("no_new_privs bars file capabilities: allowPrivilegeEscalation: true");
    s->caps_known = NI_DENIED;
    diagnose();
    assert_why("unknown (/proc/self/status)");
}

static void test_memlock_user_namespace(void **state)
{
    (void)state;
    node.inv.self.user_namespace = NI_USERNS_OWN;
    low_limit(UINT64_MAX, UINT64_MAX, UINT64_MAX, 0);
    assert_why("the pod has a user namespace of its own");
    assert_false(node.plan.memlock.raise_hard); /* it would fail */
    node.inv.self.user_namespace = NI_USERNS_INITIAL;
    diagnose();
    assert_int_equal(node.findings.n, 0);
    assert_true(node.plan.memlock.raise_hard);
}

static void test_memlock_asked(void **state)
{
    (void)state;
    node.policy.memlock = NI_MEMLOCK_KEEP;
    low_limit(SYS_RESOURCE, SYS_RESOURCE, SYS_RESOURCE, 0);
    assert_why("--memlock=keep leaves it so");
    node.policy.memlock = NI_MEMLOCK_BYTES;
    node.policy.memlock_bytes = 128 << 20;
    diagnose();
    assert_false(has(NI_F_MEMLOCK_TOO_LOW));
    assert_found(NI_F_MEMLOCK_LOW, "RLIMIT_MEMLOCK", "--memlock asks for no more");
    node.policy.memlock_bytes = INT64_C(1) << 30;
    diagnose();
    assert_int_equal(node.findings.n, 0);
}

/* Without any right the soft limit could have gone up to the hard one. */
static void test_memlock_asked_below_hard(void **state)
{
    (void)state;
    node.policy.memlock = NI_MEMLOCK_KEEP;
    low_limit(0, 0, 0, 1000);
    assert_why("CAP_SYS_RESOURCE is not in the bounding set");
    node.inv.self.memlock_hard.v = NI_UNLIMITED;
    diagnose();
    assert_why("--memlock=keep leaves it so");
    node.inv.self.user_namespace = NI_USERNS_OWN;
    diagnose();
    assert_why("--memlock=keep leaves it so");
    node.policy.memlock = NI_MEMLOCK_BYTES;
    node.policy.memlock_bytes = 8 << 20;
    diagnose();
    assert_why("--memlock asks for no more");
    node.policy.memlock_bytes = 32 << 20;
    node.inv.self.memlock_hard.v = 32 << 20; /* all that there is */
    diagnose();
    assert_found(NI_F_MEMLOCK_TOO_LOW, "RLIMIT_MEMLOCK", "capabilities do not count");
}

/* Permitted is enough: it can be made effective. */
static void test_memlock_permitted(void **state)
{
    (void)state;
    low_limit(SYS_RESOURCE, SYS_RESOURCE, 0, 0);
    assert_true(node.plan.memlock.raise_hard);
    assert_int_equal(node.findings.n, 0);
}

static void test_memlock_harmless(void **state)
{
    (void)state;
    low_limit(IPC_LOCK, IPC_LOCK, IPC_LOCK, 0);
    assert_found(NI_F_MEMLOCK_HARMLESS, "RLIMIT_MEMLOCK", "CAP_IPC_LOCK is effective");
    assert_false(has(NI_F_MEMLOCK_TOO_LOW));
    low_limit(IPC_LOCK, IPC_LOCK, IPC_LOCK, 1000); /* of the file: gone at exec */
    assert_true(has(NI_F_MEMLOCK_TOO_LOW));
    node.inv.self.cap_amb = IPC_LOCK;
    diagnose();
    assert_true(has(NI_F_MEMLOCK_HARMLESS));
    node.inv.self.user_namespace = NI_USERNS_OWN;
    diagnose();
    assert_true(has(NI_F_MEMLOCK_TOO_LOW));
}

/* ---- PID 1 ---- */

static void pid1_is(const char *comm)
{
    node.inv.self.pid = known(7);
    ni_copy(node.inv.health.init, sizeof(node.inv.health.init), comm);
    diagnose();
}

static void test_init(void **state)
{
    static const char *const inits[] = {"tini",      "docker-init", "dumb-init", "catatonit",
                                        "s6-svscan", "systemd",     "pause"};
    (void)state;
    for (unsigned i = 0; i < NI_COUNT(inits); i++) {
        pid1_is(inits[i]);
        assert_int_equal(outcome("pid1.init"), NI_CHECK_OK);
    }
    pid1_is("torchrun");
    assert_found(NI_F_EXEC_PID1_NO_INIT, "PID 1", "`torchrun`, no init");
    pid1_is("tini");
    node.inv.self.pid = known(1);
    diagnose();
    assert_found(NI_F_EXEC_PID1_NO_INIT, "PID 1", "the command itself");
}

static void test_note_pid1(void **state)
{
    const struct ni_env env = {node.entry};
    const struct ni_facts facts = {&node.inv, &env, &node.policy};
    (void)state;
    ni_copy(node.inv.health.init, sizeof(node.inv.health.init), "bash"); /* for doctor to tell */
    ni_note_pid1(&facts, &node.findings);
    assert_int_equal(node.findings.n, 0);
    node.inv.self.pid = known(1);
    ni_note_pid1(&facts, &node.findings);
    assert_true(has(NI_F_EXEC_PID1_NO_INIT));
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup(f, set_up)
    const struct CMUnitTest tests[] = {
        CASE(test_gpu_nodes),
        CASE(test_gpu_place),
        CASE(test_peermem),
        CASE(test_driver_order),
        CASE(test_shm),
        CASE(test_memlock_why),
        CASE(test_memlock_user_namespace),
        CASE(test_memlock_asked),
        CASE(test_memlock_asked_below_hard),
        CASE(test_memlock_permitted),
        CASE(test_memlock_harmless),
        CASE(test_init),
        CASE(test_note_pid1),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
