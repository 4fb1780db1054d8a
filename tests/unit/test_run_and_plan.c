/* SPDX-License-Identifier: Apache-2.0 */
/* `run` and `env` read little, `plan` and `doctor` read everything: the decisions must be the same.
   All golden nodes and some that are made to tempt, each with variables that a user might set. */
#include "test_facts_tree.h"

#include <glob.h>

#include "nccl_init/decide.h"

/* What the user sets beside what the case does; first, nothing. */
static char vars_text[] =
    "NCCL_IB_GID_INDEX=3 NCCL_IB_GID_INDEX=5 NCCL_IB_GID_INDEX=-1 NCCL_IB_ADDR_FAMILY=AF_INET6 "
    "NCCL_IB_ADDR_RANGE=10.0.0.0/8 NCCL_IB_ADDR_RANGE=10.20.0.0/16 NCCL_IB_ADDR_RANGE=fd00::/8 "
    "NCCL_IB_ROCE_VERSION_NUM=1 NCCL_IB_HCA=mlx5 NCCL_IB_HCA==mlx5_6 NCCL_IB_HCA=^mlx5_6 "
    "NCCL_IB_MERGE_VFS=0 NCCL_SOCKET_IFNAME=net NCCL_SOCKET_IFNAME==eth0 NCCL_SOCKET_IFNAME=^eth "
    "NCCL_SOCKET_FAMILY=AF_INET NCCL_SOCKET_FAMILY=AF_INET6 NCCL_DMABUF_ENABLE=0 "
    "NCCL_NET_GDR_LEVEL=SYS NCCL_IB_DISABLE=1 NCCL_NET=Socket NCCL_NET=IB NCCL_NET_PLUGIN=none";
static char nothing[] = "", *vars[32] = {nothing};
static unsigned n_vars = 1;

/* The default, one that makes more of the facts count, and one that asks for more facts. */
enum { ALL_BUT_RAILS = 2 };
static const struct ni_policy policies[] = {
    {.mode = NI_MODE_AUTO},
    {.targets = NI_FOR_NCCL | NI_FOR_NVSHMEM | NI_FOR_UCX | NI_FOR_GLOO,
     .require = NI_REQUIRE_RDMA | NI_REQUIRE_MEMLOCK | NI_REQUIRE_ROCE_V2},
    {.require = NI_REQUIRE_RAILS, .rails = 2},
};

static const struct ni_ask little = {0}, as_demanded = {.pfs = true, .pod_interface = true};
static const struct ni_ask all = {
    .all_hcas = true,
    .all_gids = true,
};

struct look {
    struct ni_inventory inv;
    struct ni_findings gathered, f;
    struct ni_plan plan;
    char text[1 << 16];
};

static struct look lazily, fully;

static struct {
    const char *name;
    struct ni_env env;
    char env_text[1 << 16];
    char *entry[512]; /* the first is the user's variable */
    unsigned n_entry, wrong;
} job;

/* ---- the two looks ---- */

static void look(struct look *l, const struct ni_root *root, const struct ni_ask *ask)
{
    memset(&l->inv, 0, sizeof(l->inv));
    memset(&l->gathered, 0, sizeof(l->gathered));
    ni_gather(root, &job.env, ask, &l->inv, &l->gathered);
}

/* All that was decided, a line for each thing. */
static void decide(struct look *l, const struct ni_policy *policy)
{
    static const char *const origin[] = {"rule", "user", "conf", "unset"};
    const struct ni_facts facts = {&l->inv, &job.env, policy};
    const struct ni_plan *p = &l->plan;
    const struct ni_limit *m = &p->memlock;
    struct ni_text t = ni_text_on(l->text, sizeof(l->text));
    memset(&l->plan, 0, sizeof(l->plan));
    l->f = l->gathered;
    ni_decide(&facts, &l->plan, &l->f);
    ni_require_planned_memlock(&facts, &l->plan, &l->f);
    ni_putf(&t, "transport %u\nrefuse %d\ngid_index %d\n", p->transport, p->refuse, p->gid_index);
    for (unsigned i = 0; i < p->n_chosen; i++) {
        const struct ni_port *port = &l->inv.port[p->chosen[i]];
        ni_putf(&t, "port %s/%u\n", l->inv.hca[port->hca].name, port->num);
    }
    for (unsigned i = 0; i < p->n_setting; i++)
        ni_putf(&t, "%s=%s by %s\n", p->setting[i].name, p->setting[i].value,
                origin[p->setting[i].origin]);
    ni_putf(&t, "sockets %s\nmemlock %d %d %lld %lld\n", p->sockets, m->raise_soft, m->raise_hard,
            (long long)m->soft, (long long)m->hard);
    for (unsigned id = 0; id < NI_F_COUNT; id++) {
        const struct ni_finding_kind *kind = ni_finding_kind(id);
        if (kind->severity >= NI_WARNING && ni_findings_has(&l->f, id))
            ni_putf(&t, "finding %s\n", kind->id);
    }
    ni_put(&t, "end\n");
    assert_false(t.cut);
}

static void compare(unsigned policy)
{
    const char *a = lazily.text, *b = fully.text;
    struct ni_span run, plan;
    while (ni_split(&a, '\n', &run) && ni_split(&b, '\n', &plan)) {
        if (run.n != plan.n || memcmp(run.p, plan.p, run.n) != 0) {
            print_error("%s, `%s`, policy %u: run: %.*s | plan: %.*s\n", job.name, job.entry[0],
                        policy, (int)run.n, run.p, (int)plan.n, plan.p);
            job.wrong++;
            return;
        }
    }
}

static void both(const struct ni_root *root, char *var, unsigned n)
{
    job.entry[0] = var;
    job.env.entry = job.entry + (*var ? 0 : 1);
    look(&lazily, root, &little);
    look(&fully, root, &all);
    for (unsigned i = 0; i < n; i++) {
        if (policies[i].require & NI_REQUIRE_RAILS ||
            policies[i].targets & NI_FOR_GLOO) /* as src/cmd/flow.c does */
            look(&lazily, root, &as_demanded);
        decide(&lazily, &policies[i]);
        decide(&fully, &policies[i]);
        compare(i);
    }
}

static void assert_none_wrong(void)
{
    unsigned wrong = job.wrong;
    job.wrong = 0;
    if (wrong > 0)
        fail_msg("%u differ", wrong);
}

/* ---- the golden nodes ---- */

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

/* The lines of job.env_text. */
static void take_env(void)
{
    job.n_entry = 1;
    for (char *p = strtok(job.env_text, "\n"); p; p = strtok(NULL, "\n")) {
        assert_true(job.n_entry < NI_COUNT(job.entry) - 1);
        job.entry[job.n_entry++] = p;
    }
    job.entry[job.n_entry] = NULL;
}

static void open_case(const char *dir, struct ni_root *ret)
{
    char text[4096], path[512];
    unsigned bad = 0;
    snprintf(path, sizeof(path), "%s/env", dir);
    slurp(path, job.env_text, sizeof(job.env_text));
    take_env();
    snprintf(path, sizeof(path), "%s/case", dir);
    slurp(path, text, sizeof(text));
    const char *node = ni_has_prefix(text, "node ") ? text : strstr(text, "\nnode ") + 1;
    int n = (int)strcspn(node, "\n");
    snprintf(path, sizeof(path), "tests/nodes/%.*s.tree", n - 5, node + 5);
    assert_int_equal(ni_root_open(path, ret, &bad), 0);
}

/* Each case with every third variable, to save time; the next case takes the next ones. */
static void test_golden(void **state)
{
    (void)state;
    glob_t dirs;
    struct ni_root root;
    assert_int_equal(glob("tests/golden/*/", 0, NULL, &dirs), 0);
    for (size_t i = 0; i < dirs.gl_pathc; i++) {
        job.name = dirs.gl_pathv[i];
        open_case(job.name, &root);
        both(&root, nothing, ALL_BUT_RAILS);
        for (size_t v = 1 + i % 3; v < n_vars; v += 3)
            both(&root, vars[v], ALL_BUT_RAILS);
        ni_root_close(&root);
    }
    globfree(&dirs);
    assert_none_wrong();
}

/* ---- nodes that tempt ---- */

static void load(const char *node)
{
    char path[128];
    snprintf(path, sizeof(path), "tests/nodes/%s.tree", node);
    pod_reset(NULL);
    pod.t.len = slurp(path, pod.text, sizeof(pod.text));
    assert_true(pod.t.len > 0);
}

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
static void second(const char *gid1, const char *gid2)
{
    load("roce-2vf");
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
    second(V4("0a14:6706"), V4("0a14:6806"));
    edit(LEAF("10.0.103.6"), LEAF("10.0.103.6") " /32 host LOCAL\\n" LEAF("10.20.103.6"));
    edit(LEAF("10.0.104.6"), LEAF("10.0.104.6") " /32 host LOCAL\\n" LEAF("10.20.104.6"));
}

static void second_v6(void)
{
    second("fd00:0103:0000:0000:0000:0000:0000:0006", "fd00:0104:0000:0000:0000:0000:0000:0006");
    edit("26 40 20 80     net1",
         "26 40 20 80     net1\\nfd000103000000000000000000000006 26 40 00 80     net1"
         "\\nfd000104000000000000000000000006 27 40 00 80     net2");
}

/* eth0 and the rails net1 to netN with the addresses 10.0.N.6. */
static void net(unsigned n)
{
    char buf[512];
    struct ni_text ips = ni_text_on(buf, sizeof(buf));
    ni_put(&ips, "10.128.2.26");
    for (unsigned i = 1; i <= n; i++)
        ni_putf(&ips, " 10.0.%u.6", i);
    pod_reset(NULL);
    fib(buf);
    ni_put(&pod.t,
           ROUTES "\\neth0\\t00000000\\t0102800A\\t0003\\t0\\t0\\t0\\t00000000\\t0\\t0\\t0"
                  "\\neth0\\t0000800A\\t00000000\\t0001\\t0\\t0\\t0\\t0000FFFF\\t0\\t0\\t0");
    for (unsigned i = 1; i <= n; i++)
        ni_putf(&pod.t,
                "\\nnet%u\\t00%02X000A\\t00000000\\t0001\\t0\\t0\\t0\\t00FFFFFF\\t0\\t0\\t0", i, i);
    line(" ");
    netdev("eth0", "up");
}

/* Rail N behind `at`, 256 GIDs, all but one of them RoCE v1. */
static void rail(unsigned n, const char *at, unsigned right, const char *rate)
{
    char ndev[NI_IF_NAME];
    snprintf(ndev, sizeof(ndev), "net%u", n);
    line("l sys/bus/pci/devices/0000:%02x:00.0 ../../../devices/%s/0000:%02x:00.0", 16 + n, at,
         16 + n);
    line("l sys/class/infiniband/mlx5_%u ../../devices/%s/0000:%02x:00.0/infiniband/mlx5_%u", n, at,
         16 + n, n);
    line("f sys/devices/%s/0000:%02x:00.0/numa_node 0", at, 16 + n);
    line("d sys/devices/%s/0000:%02x:00.0/infiniband/mlx5_%u/ports/1", at, 16 + n, n);
    active("Ethernet", rate);
    line("f ./gids/{0..%u} " LOCAL_GID, right - 1);
    line("f ./gids/%u " V4("0a00:%02x06"), right, n);
    line("f ./gids/{%u..255} " LOCAL_GID, right + 1);
    line("f ./gid_attrs/types/{0..%u} IB/RoCE v1", right - 1);
    line("f ./gid_attrs/types/%u RoCE v2", right);
    line("f ./gid_attrs/types/{%u..255} IB/RoCE v1", right + 1);
    line("f ./gid_attrs/ndevs/{0..255} %s", ndev);
    netdev(ndev, "up");
    line("f sys/class/infiniband_verbs/uverbs%u/ibdev mlx5_%u", n, n);
    line("f dev/infiniband/uverbs%u", n);
}

/* The slow HCA is the one that shares a switch with the GPU; the device nodes are the source. */
static void slow(void)
{
    static const char top[] = "pci0000:00/0000:00:01.0/0000:01:00.0";
    net(2);
    rail(1, "pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:01.0", 3, "25 Gb/sec (1X EDR)");
    rail(2, "pci0000:00/0000:00:02.0", 3, "400 Gb/sec (4X NDR)");
    line("l sys/bus/pci/devices/0000:03:00.0 ../../../devices/%s/0000:02:00.0/0000:03:00.0", top);
    line("f sys/devices/%s/0000:02:00.0/0000:03:00.0/numa_node 0", top);
    line("f dev/nvidia0");
    line("f dev/nvidiactl");
    line("f proc/driver/nvidia/gpus/0000:03:00.0/information Device Minor: \\t 0");
    line("f sys/module/nvidia_peermem/version 570");
    line("f proc/sys/kernel/osrelease 5.14.0");
}

static void full_tables(void)
{
    net(12);
    for (unsigned i = 1; i <= 12; i++)
        rail(i, "pci0000:00/0000:00:01.0", 3 + i % 4, "400 Gb/sec (4X NDR)");
}

/* The first rail has a VLAN, whose address stands where the second rail has its only one. */
static void vlan(void)
{
    net(2);
    edit(LEAF("10.0.1.6"), LEAF("10.0.1.6") " /32 host LOCAL\\n" LEAF("10.20.1.6"));
    edit("\\nnet2\\t", "\\nnet1.100\\t0001140A\\t00000000\\t0001\\t0\\t0\\t0\\t00FFFFFF\\t0\\t0\\t0"
                       "\\nnet2\\t");
    rail(1, "pci0000:00/0000:00:01.0", 3, "400 Gb/sec (4X NDR)");
    edit("gids/{4..255} ",
         "gids/4 " LOCAL_GID "\nf ./gids/5 " V4("0a14:0106") "\nf ./gids/{6..255} ");
    edit("types/{4..255} ",
         "types/4 IB/RoCE v1\nf ./gid_attrs/types/5 RoCE v2\nf ./gid_attrs/types/{6..255} ");
    edit("ndevs/{0..255} ", "ndevs/{0..4} net1\nf ./gid_attrs/ndevs/5 net1.100"
                            "\nf ./gid_attrs/ndevs/{6..255} ");
    rail(2, "pci0000:00/0000:00:02.0", 5, "400 Gb/sec (4X NDR)");
    netdev("net1.100", "up");
    line("d sys/class/net/net1/device");
    line("d sys/class/net/net1/upper_net1.100");
    line("d sys/class/net/net2/device");
}

/* What is behind the first of our addresses counts when these may not be all. */
static void odd_addresses(void)
{
    second_v4();
    edit("f proc/net/fib_trie Main:", "f proc/net/fib_trie odd\\nMain:");
}

#define TWO_VFS "PCIDEVICE_X=0000:03:00.2,0000:23:00.2"

/* Made by a function, or by an edit. */
static const struct {
    const char *name, *env;
    void (*make)(void);
    const char *node, *old, *new;
} tempting[] = {
    {"second IPv4", TWO_VFS, second_v4, NULL, NULL, NULL},
    {"second address IPv6", TWO_VFS, second_v6, NULL, NULL, NULL},
    {"no DMA-BUF yet, but nv_peer_mem", "PCIDEVICE_X=0000:03:00.2", NULL, "gdr-sys",
     "osrelease 5.14.0-570.76.1.el9_6.x86_64",
     "osrelease 5.4.0-216-generic\nf sys/kernel/mm/memory_peers/nv_mem/version 1.3"},
    {"VFs of one PF on two buses", "PCIDEVICE_X=0000:3c:00.3,0000:3b:00.2", NULL, "two-vfs-one-pf",
     "0000:3b:00.3", "0000:3c:00.3"},
    {"ndevs unreadable", TWO_VFS, NULL, "roce-2vf", "f ./gid_attrs/ndevs/3 net2\n",
     "e ./gid_attrs/ndevs/3 EINVAL\n"},
    {"slow HCA beside the GPU", "", slow, NULL, NULL, NULL},
    {"a VLAN on a rail", "PCIDEVICE_X=0000:11:00.0,0000:12:00.0", vlan, NULL, NULL, NULL},
    {"an odd line among the addresses", TWO_VFS, odd_addresses, NULL, NULL, NULL},
    {"12 x 256 GIDs", "", full_tables, NULL, NULL, NULL},
};

/* pod.text as a file, which is gone then. */
static void open_text(struct ni_root *ret)
{
    const char *base = getenv("TMPDIR");
    char path[256];
    unsigned bad = 0;
    snprintf(path, sizeof(path), "%s/nccl-init.XXXXXX", base ? base : P_tmpdir);
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    ssize_t n = write(fd, pod.text, pod.t.len);
    close(fd);
    int err = ni_root_open(path, ret, &bad);
    unlink(path);
    assert_int_equal(n, pod.t.len);
    if (err < 0)
        fail_msg("%s: line %u of the tree: %d", job.name, bad, err);
}

/* The variable is the environment's or a line of /etc/nccl.conf. */
static void tempt(unsigned i, char *var, bool conf)
{
    struct ni_root root;
    if (tempting[i].make) {
        tempting[i].make();
    } else {
        load(tempting[i].node);
        edit(tempting[i].old, tempting[i].new);
    }
    if (conf)
        line("f etc/nccl.conf %s", var);
    assert_true(ni_copy(job.env_text, sizeof(job.env_text), tempting[i].env));
    take_env();
    job.name = conf ? var : tempting[i].name;
    open_text(&root);
    both(&root, conf ? nothing : var, NI_COUNT(policies));
    ni_root_close(&root);
}

static void test_tempting(void **state)
{
    (void)state;
    for (unsigned i = 0; i < NI_COUNT(tempting); i++) {
        for (unsigned v = 0; v < n_vars; v += tempting[i].make == full_tables ? 4 : 1)
            tempt(i, vars[v], false);
    }
    for (unsigned v = 1; v < n_vars; v++) {
        tempt(0, vars[v], true);
        tempt(1, vars[v], true);
    }
    assert_none_wrong();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),
        cmocka_unit_test(test_tempting),
    };
    for (char *p = strtok(vars_text, " "); p; p = strtok(NULL, " "))
        vars[n_vars++] = p;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
