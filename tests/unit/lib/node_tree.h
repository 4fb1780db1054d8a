/* SPDX-License-Identifier: Apache-2.0 */
/* A small node as .tree text, and the inventory that is gathered from it. For the tests of the
   probers. */
#ifndef NCCL_INIT_TEST_FACTS_TREE_H
#define NCCL_INIT_TEST_FACTS_TREE_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "findings/device.h"
#include "nccl_init/base.h"
#include "nccl_init/env.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/plan.h"
#include "nccl_init/text.h"
#include "node/gather.h"
#include "node/read.h"
#include "rules/decide.h"
#include "rules/rules.h"
#include "sysroot/root.h"
#include <cmocka.h>

static struct {
    char text[1 << 21];
    struct ni_text t;
    char env_text[1 << 18];
    size_t env_used;
    char *entry[320];
    unsigned n_env;
    bool bare; /* without what every node has */
    struct ni_ask ask;
    unsigned needs; /* facts that are read beside those that a rule asks for */
    struct ni_inventory inv;
    struct ni_findings f;
} pod;

static inline int pod_reset(void **state)
{
    (void)state;
    memset(&pod, 0, sizeof(pod));
    pod.t = ni_text_on(pod.text, sizeof(pod.text));
    return 0;
}

/* One line of the tree. */
NI_PRINTF(1, 2)
static inline void line(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    ni_vputf(&pod.t, fmt, ap);
    va_end(ap);
    ni_put(&pod.t, "\n");
    assert_false(pod.t.cut);
}

static inline void set_env(const char *entry)
{
    char *copy = pod.env_text + pod.env_used;
    assert_true(pod.n_env < NI_COUNT(pod.entry) - 1);
    assert_true(ni_copy(copy, sizeof(pod.env_text) - pod.env_used, entry));
    pod.env_used += strlen(entry) + 1;
    pod.entry[pod.n_env++] = copy;
}

/* What every node has, where the test says nothing of it. */
static inline void complete_node(void)
{
    static const char *const every[][2] = {
        {" proc/self/limits",
         "Max locked memory         unlimited            unlimited            bytes"},
        {" proc/self/status", "CapInh:\\t0\\nCapPrm:\\t0\\nCapEff:\\t0\\nCapBnd:\\t0"},
        {" proc/net/fib_trie", "Main:\\nLocal:"},
        {" proc/net/route", "Iface\\tDestination\\tGateway\\tFlags\\tRefCnt\\tUse\\tMetric\\tMask\\"
                            "tMTU\\tWindow\\tIRTT"},
        {" dev/null", ""},
    };
    for (unsigned i = 0; i < NI_COUNT(every) && !pod.bare; i++) {
        if (!strstr(pod.text, every[i][0]))
            line("f%s %s", every[i][0], every[i][1]);
    }
}

/* What every pod needs, and what the rules ask for, as src/cli/flow.c does it. The findings are those
   of facts/ alone. */
static inline void gather_rounds(const struct ni_root *root, const struct ni_env *env)
{
    static const struct ni_policy policy;
    static struct ni_plan plan;
    static struct ni_findings decided;
    const struct ni_work work = {&pod.inv, env, &policy, &plan, &decided};
    unsigned needs = pod.needs;
    ni_gather(root, env, &pod.ask, &pod.inv, &pod.f);
    do {
        if (needs)
            ni_gather_more(root, env, &pod.ask, needs, &pod.inv, &pod.f);
        memset(&decided, 0, sizeof(decided));
        ni_decide(&work);
        needs = plan.needs & ~pod.inv.read;
    } while (needs);
}

/* pod.text as a file, which is gone then. */
static inline void open_tree(struct ni_root *ret)
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
        fail_msg("line %u of the tree: %d", bad, err);
}

static inline void gather(void)
{
    const struct ni_env env = {pod.entry};
    struct ni_root root;
    complete_node();
    open_tree(&root);
    memset(&pod.inv, 0, sizeof(pod.inv));
    memset(&pod.f, 0, sizeof(pod.f));
    gather_rounds(&root, &env);
    ni_root_close(&root);
}

/* ---- pieces of a node ---- */

/* The addresses of this namespace: ips separated by blanks, as both tables list them. */
static inline void fib(const char *ips)
{
    static const char lo[] = "     |-- 127.0.0.0\\n        /8 host LOCAL\\n     |-- 127.0.0.1\\n"
                             "        /32 host LOCAL\\n";
    ni_put(&pod.t, "f proc/net/fib_trie ");
    for (int table = 0; table < 2; table++) {
        const char *cursor = ips;
        struct ni_span ip;
        ni_putf(&pod.t, "%s:\\n  +-- 0.0.0.0/0 3 0 5\\n%s", table ? "Local" : "Main", lo);
        while (*ips && ni_split(&cursor, ' ', &ip)) {
            ni_put(&pod.t, "     |-- ");
            ni_putn(&pod.t, ip.p, ip.n);
            ni_put(&pod.t, "\\n        /32 host LOCAL\\n");
        }
    }
    ni_put(&pod.t, "\n");
}

#define ROUTES          \
    "f proc/net/route " \
    "Iface\\tDestination\\tGateway\\tFlags\\tRefCnt\\tUse\\tMetric\\tMask\\tMTU\\tWindow\\tIRTT"

/* A function below a root port of bus 0, with one RDMA device; its port 1 is then "./". */
static inline void rdma(const char *bdf, const char *name)
{
    line("l sys/bus/pci/devices/%s ../../../devices/pci0000:00/0000:00:01.0/%s", bdf, bdf);
    line("l sys/class/infiniband/%s ../../devices/pci0000:00/0000:00:01.0/%s/infiniband/%s", name,
         bdf, name);
    line("f sys/devices/pci0000:00/0000:00:01.0/%s/numa_node 0", bdf);
    line("d sys/devices/pci0000:00/0000:00:01.0/%s/infiniband/%s/ports/1", bdf, name);
}

static inline void active(const char *link, const char *rate)
{
    line("f ./state 4: ACTIVE");
    line("f ./link_layer %s", link);
    line("f ./rate %s", rate);
}

/* An active RoCE port of a function. */
static inline void roce(const char *bdf, const char *name)
{
    rdma(bdf, name);
    active("Ethernet", "400 Gb/sec (4X NDR)");
}

#define V4(hex)   "0000:0000:0000:0000:0000:ffff:" hex
#define LOCAL_GID "fe80:0000:0000:0000:0000:00ff:fe00:0001"
#define EMPTY_GID "0000:0000:0000:0000:0000:0000:0000:0000"

static inline void gid(unsigned index, const char *ip, const char *type, const char *ndev)
{
    line("f ./gids/%u %s", index, ip);
    line("f ./gid_attrs/types/%u %s", index, type);
    line("f ./gid_attrs/ndevs/%u %s", index, ndev);
}

/* The usual head of a table: link-local and one IPv4, v1 and v2 each; the right one is at 3. */
static inline void usual(const char *ip, const char *ndev)
{
    gid(0, LOCAL_GID, "IB/RoCE v1", ndev);
    gid(1, LOCAL_GID, "RoCE v2", ndev);
    gid(2, ip, "IB/RoCE v1", ndev);
    gid(3, ip, "RoCE v2", ndev);
}

static inline void netdev(const char *name, const char *operstate)
{
    line("f sys/class/net/%s/operstate %s", name, operstate);
}

static inline bool found(ni_finding_number id)
{
    return ni_findings_has(&pod.f, id);
}

/* The subject of the first finding of that kind, "". */
static inline const char *subject_of(ni_finding_number id)
{
    for (unsigned i = 0; i < pod.f.n; i++) {
        if (pod.f.at[i].id == id)
            return pod.f.at[i].subject;
    }
    return "";
}

/* Whether a file that could not be read is told by this path. */
static inline bool is_said(const char *path)
{
    for (unsigned i = 0; i < pod.f.n; i++) {
        if (pod.f.at[i].id == NI_F_FACT_UNREADABLE && strcmp(pod.f.at[i].subject, path) == 0)
            return true;
    }
    return false;
}

#endif
