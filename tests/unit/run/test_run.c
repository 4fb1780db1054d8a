/* SPDX-License-Identifier: Apache-2.0 */
/* `env`, like `run`, reads what the rules ask for, `plan` reads all: the decisions must be the same. All
   golden cases and some nodes that are made to tempt, each with variables that a user might set.
   What it protects: a rule that forgets to ask for a fact. */
#include "lib/node_tree.h"
#include "lib/trials.h"

#include "cli/context.h"
#include "cli/flow.h"
#include "cli/option.h"
#include "findings/device.h"
#include "findings/setting.h"
#include "main.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/number.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "sysroot/root.h"
#include <glob.h>

/* What the user sets beside what the case does; first, nothing. */
static char vars_text[] =
    "NCCL_IB_GID_INDEX=3 NCCL_IB_GID_INDEX=5 NCCL_IB_GID_INDEX=-1 NCCL_IB_ADDR_FAMILY=AF_INET6 "
    "NCCL_IB_ADDR_RANGE=10.0.0.0/8 NCCL_IB_ADDR_RANGE=10.20.0.0/16 NCCL_IB_ADDR_RANGE=fd00::/8 "
    "NCCL_IB_ROCE_VERSION_NUM=1 NCCL_IB_HCA=mlx5 NCCL_IB_HCA==mlx5_6 NCCL_IB_HCA=^mlx5_6 "
    "NCCL_IB_MERGE_VFS=0 NCCL_SOCKET_IFNAME=net NCCL_SOCKET_IFNAME==eth0 NCCL_SOCKET_IFNAME=^eth "
    "NCCL_SOCKET_FAMILY=AF_INET NCCL_SOCKET_FAMILY=AF_INET6 NCCL_DMABUF_ENABLE=0 "
    "NCCL_NET_GDR_LEVEL=SYS NCCL_NET_MERGE_LEVEL=PHB NCCL_IB_DISABLE=1 NCCL_NET=Socket "
    "NCCL_NET=IB NCCL_NET_PLUGIN=none";
static char nothing[] = "", *vars[32] = {nothing};
static unsigned n_vars = 1;

/* The default, and two that make more of the facts count. */
static const struct ni_policy policies[] = {
    {.memlock = NI_UNLIMITED},
    {.targets = NI_FOR_ALL - 1,
     .memlock = NI_UNLIMITED,
     .require = NI_REQUIRE_RDMA | NI_REQUIRE_MEMLOCK | NI_REQUIRE_ROCE_V2},
    {.memlock = NI_UNLIMITED, .require = NI_REQUIRE_RAILS, .rails = 2},
};

static struct ni_context context;
static char env_text[1 << 16];
static char *entry[512]; /* the first is the user's variable */
static unsigned differ;

/* All that the verb decides, a line for each thing. */
static void decide(unsigned verb, struct ni_text *t)
{
    static const char *const origin[] = {"rule", "user", "conf", "unset"};
    const struct ni_inventory *inv = &context.inventory;
    const struct ni_plan *plan = &context.plan;
    const struct ni_limit *m = &plan->memlock;
    ni_finding_number all[NI_MAX_KINDS];
    const unsigned n = ni_list_finding_kinds(all);
    memset(&context.inventory, 0, sizeof(context.inventory));
    memset(&context.plan, 0, sizeof(context.plan));
    memset(&context.findings, 0, sizeof(context.findings));
    context.verb = verb;
    context.opened = true;
    ni_flow_decide(&context);
    ni_putf(t, "transport %u\nrefuse %d\n", plan->transport, plan->refuse);
    for (unsigned i = 0; i < plan->n_chosen; i++) {
        const struct ni_port *port = &inv->port[plan->chosen[i]];
        ni_putf(t, "port %s/%u\n", inv->hca[port->hca].name, port->num);
    }
    for (unsigned i = 0; i < plan->n_setting; i++)
        ni_putf(t, "%s=%s by %s\n", plan->setting[i].name, plan->setting[i].value,
                origin[plan->setting[i].origin]);
    ni_putf(t, "sockets %s\nmemlock %lld %lld\n", plan->sockets, (long long)m->soft,
            (long long)m->hard);
    for (unsigned i = 0; i < n; i++) {
        const ni_finding_number id = all[i];

        if (id == NI_F_FACT_UNREADABLE || id == NI_F_ALLOC_INFO_INVALID ||
            id == NI_F_ALLOC_RDMA_DEV_DIFFERS || id == NI_F_GPU_HCA_PASSED_OVER ||
            id == NI_F_USER_NICS_FUSED)
            continue; /* of what only `plan` reads: rates and PCIe links, too */
        if (ni_finding_severity(id) >= NI_WARNING && ni_findings_has(&context.findings, id))
            ni_putf(t, "finding %s\n", ni_finding_id(id));
    }
    assert_false(t->cut);
}

/* Both verbs with that variable of the user's. */
static void compare(const char *name, char *var, unsigned policy)
{
    static char run[1 << 16], plan[1 << 16];
    struct ni_text r = ni_text_on(run, sizeof(run)), p = ni_text_on(plan, sizeof(plan));
    entry[0] = var;
    context.env.entry = entry + (*var ? 0 : 1);
    context.options.policy = policies[policy];
    decide(NI_VERB_ENV, &r);
    decide(NI_VERB_PLAN, &p);
    if (strcmp(run, plan) != 0) {
        print_error("%s, `%s`, policy %u\n--- env\n%s--- plan\n%s", name, var, policy, run, plan);
        differ++;
    }
}

/* A text file, which may be absent. */
static size_t slurp(const char *path, char *buf, size_t cap)
{
    FILE *file = fopen(path, "r");
    size_t n = file ? fread(buf, 1, cap, file) : 0;
    if (file)
        fclose(file);
    assert_true(n < cap);
    buf[n] = '\0';
    return n;
}

/* The lines of env_text. */
static void take_env(void)
{
    unsigned n = 1;
    for (char *p = strtok(env_text, "\n"); p; p = strtok(NULL, "\n")) {
        assert_true(n < NI_COUNT(entry) - 1);
        entry[n++] = p;
    }
    entry[n] = NULL;
}

static void open_case(const char *dir)
{
    char text[4096], path[512];
    unsigned bad = 0;
    snprintf(path, sizeof(path), "%s/env", dir);
    slurp(path, env_text, sizeof(env_text));
    take_env();
    snprintf(path, sizeof(path), "%s/case", dir);
    slurp(path, text, sizeof(text));
    const char *node = ni_has_prefix(text, "node ") ? text : strstr(text, "\nnode ") + 1;
    int n = (int)strcspn(node, "\n");
    snprintf(path, sizeof(path), "tests/nodes/%.*s.tree", n - 5, node + 5);
    assert_int_equal(ni_root_open(path, &context.root, &bad), 0);
}

/* Each case with one of the variables, to save time; the next takes the next ones. A tenth of the
   trials is a tenth of the cases. */
static void test_golden(void **state)
{
    enum { STEP = 10 / TRIALS(10) };
    (void)state;
    glob_t dirs;
    assert_int_equal(glob("tests/golden/*/", 0, NULL, &dirs), 0);
    for (size_t i = 0; i < dirs.gl_pathc; i += STEP) {
        open_case(dirs.gl_pathv[i]);
        compare(dirs.gl_pathv[i], nothing, 0);
        for (size_t v = 1 + i % 24; v < n_vars; v += 24)
            compare(dirs.gl_pathv[i], vars[v], (unsigned)((i + v) % NI_COUNT(policies)));
        ni_root_close(&context.root);
    }
    globfree(&dirs);
    assert_int_equal(differ, 0);
}

/* ---- nodes that tempt: golden ones, edited ---- */

/* Replaces each `old` of the tree; there must be one. */
static void edit(const char *old, const char *new)
{
    size_t from = strlen(old), to = strlen(new);
    char *at = strstr(pod.text, old);
    assert_non_null(at);
    for (; at; at = strstr(at + to, old)) {
        assert_true(pod.t.len + to < sizeof(pod.text));
        memmove(at + to, at + from, strlen(at + from) + 1);
        memcpy(at, new, to);
        pod.t.len = pod.t.len - from + to;
    }
}

#define VF1      "d sys/devices/pci0000:00/0000:00:01.1/0000:03:00.2/infiniband/mlx5_7/ports/1"
#define VF2      "d sys/devices/pci0000:20/0000:20:01.1/0000:23:00.2/infiniband/mlx5_6/ports/1"
#define LEAF(ip) "|-- " ip "\\n"

/* The VFs of roce-2vf have a second address each, with its GIDs at 4 (v1) and 5 (v2). */
static void second_gids(const char *gid1, const char *gid2)
{
    edit("s/{4..255}", "s/{6..255}");
    line(VF1);
    gid(4, gid1, "IB/RoCE v1", "net1");
    gid(5, gid1, "RoCE v2", "net1");
    line(VF2);
    gid(4, gid2, "IB/RoCE v1", "net2");
    gid(5, gid2, "RoCE v2", "net2");
}

static void second_v4(void)
{
    second_gids(V4("0a14:6706"), V4("0a14:6806"));
    edit(LEAF("10.0.103.6"), LEAF("10.0.103.6") " /32 host LOCAL\\n" LEAF("10.20.103.6"));
    edit(LEAF("10.0.104.6"), LEAF("10.0.104.6") " /32 host LOCAL\\n" LEAF("10.20.104.6"));
}

/* Each port has an address in the other's subnet too, behind the right one. */
static void crossed_v4(void)
{
    second_gids(V4("0a00:6807"), V4("0a00:6707"));
    edit(LEAF("10.0.103.6"), LEAF("10.0.103.6") " /32 host LOCAL\\n" LEAF("10.0.103.7"));
    edit(LEAF("10.0.104.6"), LEAF("10.0.104.6") " /32 host LOCAL\\n" LEAF("10.0.104.7"));
}

static void second_v6(void)
{
    second_gids("fd00:0103:0000:0000:0000:0000:0000:0006",
                "fd00:0104:0000:0000:0000:0000:0000:0006");
    edit("26 40 20 80     net1",
         "26 40 20 80     net1\\nfd000103000000000000000000000006 26 40 00 80     net1"
         "\\nfd000104000000000000000000000006 27 40 00 80     net2");
}

/* What is behind the first of our addresses counts when these may not be all. */
static void odd_addresses(void)
{
    second_v4();
    edit("f proc/net/fib_trie Main:", "f proc/net/fib_trie odd\\nMain:");
}

static void no_ndev(void)
{
    edit("f ./gid_attrs/ndevs/3 net2\n", "e ./gid_attrs/ndevs/3 EINVAL\n");
}

static void old_peermem(void)
{
    edit("osrelease 5.14.0-570.76.1.el9_6.x86_64",
         "osrelease 5.4.0-216-generic\nf sys/kernel/mm/memory_peers/nv_mem/version 1.3");
}

static void two_buses(void)
{
    edit("0000:3b:00.3", "0000:3c:00.3");
}

#define TWO_VFS "PCIDEVICE_X=0000:03:00.2,0000:23:00.2"

static const struct {
    const char *node, *env;
    void (*make)(void);
} tempting[] = {
    {"roce-2vf", TWO_VFS, second_v4},
    {"roce-2vf", TWO_VFS, crossed_v4},
    {"roce-2vf", TWO_VFS, second_v6},
    {"roce-2vf", TWO_VFS, odd_addresses},
    {"roce-2vf", TWO_VFS, no_ndev},
    {"gdr-sys", "PCIDEVICE_X=0000:03:00.2", old_peermem},
    {"two-vfs-one-pf", "PCIDEVICE_X=0000:3c:00.3,0000:3b:00.2", two_buses},
};

static void test_tempting(void **state)
{
    (void)state;
    for (unsigned i = 0; i < NI_COUNT(tempting); i++) {
        char path[128], name[32];
        snprintf(path, sizeof(path), "tests/nodes/%s.tree", tempting[i].node);
        snprintf(name, sizeof(name), "tempting node %u", i);
        pod_reset(NULL);
        pod.t.len = slurp(path, pod.text, sizeof(pod.text));
        tempting[i].make();
        assert_true(ni_copy(env_text, sizeof(env_text), tempting[i].env));
        take_env();
        open_tree(&context.root);
        for (unsigned v = 0; v < n_vars; v++)
            compare(name, vars[v], (i + v) % NI_COUNT(policies));
        ni_root_close(&context.root);
    }
    assert_int_equal(differ, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),
        cmocka_unit_test(test_tempting),
    };
    ni_context_init(&context, &ni_main_program, entry);
    for (char *p = strtok(vars_text, " "); p; p = strtok(NULL, " "))
        vars[n_vars++] = p;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
