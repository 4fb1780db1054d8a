/* SPDX-License-Identifier: Apache-2.0 */
/* Locked memory: why a low limit stays low, and where it does no harm, as doctor tells it. */
#include "doctor/checks.h"
#include "findings/pod.h"
#include "lib/doctor_node.h"
#include "nccl_init/findings.h"
#include "nccl_init/known.h"
#include "nccl_init/number.h"
#include "nccl_init/process.h"

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
                 "8 MiB: `Call to ibv_create_qp failed with error Cannot allocate memory`");
    assert_int_equal(outcome("memlock.limit"), NI_CHECK_FOUND);
}

/* What the user does stands where fixes stand, not in the reason. */
static void assert_fix(const char *words)
{
    const struct ni_finding *f = finding(NI_F_MEMLOCK_TOO_LOW);

    if (!words) {
        assert_null(f->user);
        return;
    }
    assert_string_equal(f->user, words);
    assert_null(strstr(f->message, "securityContext"));
    assert_null(strstr(f->message, "setcap"));
    assert_null(strstr(f->message, "runAsUser"));
}

static void test_memlock_why(void **state)
{
    struct ni_self *s = &node.inv.self;
    (void)state;
    low_limit(0, 0, 0, 0);
    assert_why("CAP_SYS_RESOURCE is not in the bounding set");
    assert_fix("add SYS_RESOURCE or IPC_LOCK to securityContext.capabilities, and on OpenShift to "
               "the SCC's allowedCapabilities.");
    low_limit(0, 0, 0, 1000660000);
    assert_why("CAP_SYS_RESOURCE is not in the bounding set");
    assert_fix("add SYS_RESOURCE to securityContext.capabilities, and on OpenShift to the SCC's "
               "allowedCapabilities; without root nccl-init also needs its file capabilities.");
    low_limit(SYS_RESOURCE, 0, 0, 0);
    assert_why("dropped from the permitted set");
    assert_fix("start nccl-init before capabilities are dropped.");
    low_limit(SYS_RESOURCE, 0, 0, 1000660000);
    assert_why("CAP_SYS_RESOURCE is in the bounding set only");
    assert_fix("run setcap cap_sys_resource,cap_ipc_lock=p on nccl-init (not on a nosuid mount), "
               "or set runAsUser: 0.");
    s->nosuid = NI_KNOWN;
    diagnose();
    assert_why("nccl-init is on a nosuid mount, which disables file capabilities");
    assert_fix("put nccl-init into the image, or set runAsUser: 0.");
    s->no_new_privs = known(1);
    diagnose();
    assert_why("no_new_privs disables file capabilities");
    assert_fix("set allowPrivilegeEscalation: true, or runAsUser: 0.");
    s->caps_known = NI_DENIED;
    diagnose();
    assert_why("it is unknown whether CAP_SYS_RESOURCE is present (/proc/self/status)");
    assert_fix(NULL);
}

static void test_memlock_user_namespace(void **state)
{
    (void)state;
    node.inv.self.user_namespace = NI_USERNS_OWN;
    low_limit(UINT64_MAX, UINT64_MAX, UINT64_MAX, 0);
    assert_why("the pod has a user namespace of its own");
    assert_fix("take hostUsers: false out of the pod spec; then SYS_RESOURCE counts.");
    assert_int_equal(node.plan.memlock.hard, node.inv.self.memlock_hard.v); /* it would fail */
    node.inv.self.user_namespace = NI_USERNS_INITIAL;
    diagnose();
    assert_int_equal(node.findings.n, 0);
    assert_int_equal(node.plan.memlock.hard, NI_UNLIMITED);
}

static void test_memlock_asked(void **state)
{
    (void)state;
    node.policy.memlock = -1;
    low_limit(SYS_RESOURCE, SYS_RESOURCE, SYS_RESOURCE, 0);
    assert_why("--memlock does not ask for more");
    assert_fix("leave --memlock (NCCLINIT_MEMLOCK) out.");
    node.policy.memlock = 128 << 20;
    diagnose();
    assert_false(has(NI_F_MEMLOCK_TOO_LOW));
    assert_found(NI_F_MEMLOCK_LOW, "RLIMIT_MEMLOCK", "--memlock does not ask for more");
    node.policy.memlock = INT64_C(1) << 30;
    diagnose();
    assert_int_equal(node.findings.n, 0);
}

/* Without any right the soft limit could have gone up to the hard one. */
static void test_memlock_asked_below_hard(void **state)
{
    (void)state;
    node.policy.memlock = -1;
    low_limit(0, 0, 0, 1000);
    assert_why("CAP_SYS_RESOURCE is not in the bounding set");
    node.inv.self.memlock_hard.v = NI_UNLIMITED;
    diagnose();
    assert_why("--memlock does not ask for more");
    node.inv.self.user_namespace = NI_USERNS_OWN;
    diagnose();
    assert_why("--memlock does not ask for more");
    node.policy.memlock = 8 << 20;
    diagnose();
    assert_why("--memlock does not ask for more");
    node.policy.memlock = 32 << 20;
    node.inv.self.memlock_hard.v = 32 << 20; /* all that there is */
    diagnose();
    assert_found(NI_F_MEMLOCK_TOO_LOW, "RLIMIT_MEMLOCK", "capabilities do not count");
}

/* Permitted is enough: it can be made effective. */
static void test_memlock_permitted(void **state)
{
    (void)state;
    low_limit(SYS_RESOURCE, SYS_RESOURCE, 0, 0);
    assert_int_equal(node.plan.memlock.hard, NI_UNLIMITED);
    assert_int_equal(node.findings.n, 0);
}

static void test_memlock_harmless(void **state)
{
    (void)state;
    low_limit(IPC_LOCK, IPC_LOCK, IPC_LOCK, 0);
    assert_int_equal(node.findings.n, 0);
    low_limit(IPC_LOCK, IPC_LOCK, IPC_LOCK, 1000); /* of the file: gone at exec */
    assert_true(has(NI_F_MEMLOCK_TOO_LOW));
    node.inv.self.cap_amb = IPC_LOCK;
    diagnose();
    assert_int_equal(node.findings.n, 0);
    node.inv.self.user_namespace = NI_USERNS_OWN;
    diagnose();
    assert_true(has(NI_F_MEMLOCK_TOO_LOW));
}

/* The command of a file may run in another container, whose limit is not seen here. */
static void test_memlock_elsewhere(void **state)
{
    (void)state;
    node.policy.command_elsewhere = true;
    low_limit(0, 0, 0, 0);
    assert_found(NI_F_MEMLOCK_ELSEWHERE, "RLIMIT_MEMLOCK",
                 "8 MiB in this container, too low for RDMA");
    assert_int_equal(node.findings.n, 1);
    node.policy.command_elsewhere = false;
    diagnose();
    assert_false(has(NI_F_MEMLOCK_ELSEWHERE));
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup(f, set_up)
    const struct CMUnitTest tests[] = {
        CASE(test_memlock_why),       CASE(test_memlock_user_namespace),
        CASE(test_memlock_asked),     CASE(test_memlock_asked_below_hard),
        CASE(test_memlock_permitted), CASE(test_memlock_harmless),
        CASE(test_memlock_elsewhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
