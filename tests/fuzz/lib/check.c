/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "../../unit/lib/rules_properties.h"
#include "cli/context.h"
#include "nccl_init/allocation.h"
#include "nccl_init/base.h"
#include "nccl_init/env.h"
#include "nccl_init/findings.h"
#include "nccl_init/gpu.h"
#include "nccl_init/inventory.h"
#include "nccl_init/ip.h"
#include "nccl_init/net.h"
#include "nccl_init/pci.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "rules/decide.h"
#include "system/exec.h"

/* cmocka's checks end the harness, as others do. */
__attribute__((constructor)) static void abort_at_once(void)
{
    setenv("CMOCKA_TEST_ABORT", "1", 1);
}

static void check_line(const char *s, size_t cap, const char *what)
{
    FUZZ_CHECK(memchr(s, '\0', cap), "%s is not ended", what);
    for (; *s; s++)
        FUZZ_CHECK(*s >= ' ' && *s <= '~', "%s holds byte %02x", what, (unsigned char)*s);
}

void check_findings(const struct ni_findings *f)
{
    FUZZ_CHECK(f->n <= NI_MAX_FINDINGS, "%u findings", f->n);
    for (unsigned i = 0; i < f->n; i++) {
        const struct ni_finding *it = &f->at[i];
        FUZZ_CHECK(it->id != NI_F_NONE && ni_finding_kind(it->id)->number == it->id,
                   "finding %u has id %u", i, it->id);
        check_line(it->subject, sizeof(it->subject), "a finding's subject");
        check_line(it->message, sizeof(it->message), "a finding's message");
        FUZZ_CHECK(it->message[0], "%s: no message", ni_finding_id(it->id));
    }
}

/* ---- inventory ---- */

static bool in(int index, unsigned n)
{
    return index >= -1 && index < (int)n;
}

static void check_hcas(const struct ni_inventory *inv)
{
    bool others = false;
    for (unsigned i = 0; i < inv->n_hca; i++) {
        const struct ni_hca *h = &inv->hca[i];
        FUZZ_CHECK(ni_is_name(ni_span_of(h->name), NI_DEV_NAME), "HCA `%s`", h->name);
        FUZZ_CHECK(in(h->allocation, inv->n_allocation) && in(h->netdev, inv->n_netdev), "%s",
                   h->name);
        FUZZ_CHECK(h->n_port == 0 ||
                       (h->first_port >= 0 && (unsigned)h->first_port + h->n_port <= inv->n_port),
                   "ports of %s", h->name);
        FUZZ_CHECK(h->pci.depth <= NI_MAX_DEPTH, "depth of %s", h->name);
        FUZZ_CHECK(!(others && h->allocation >= 0), "the pod's %s behind others", h->name);
        others = others || h->allocation < 0;
        for (unsigned k = 0; k < i; k++)
            FUZZ_CHECK(strcmp(inv->hca[k].name, h->name) != 0, "%s twice", h->name);
        for (unsigned k = 0; k < h->n_port; k++)
            FUZZ_CHECK(inv->port[(unsigned)h->first_port + k].hca == (int)i, "ports of %s",
                       h->name);
    }
}

static void check_ports_of(const struct ni_inventory *inv)
{
    for (unsigned i = 0; i < inv->n_port; i++) {
        const struct ni_port *p = &inv->port[i];
        FUZZ_CHECK(p->hca >= 0 && p->hca < (int)inv->n_hca, "HCA %d of port %u", p->hca, i);
        FUZZ_CHECK(p->num >= 1 && p->num <= UINT8_MAX, "port number %u", p->num);
        if (p->n_gid == 0)
            continue;
        FUZZ_CHECK(p->first_gid >= 0 && (unsigned)p->first_gid + p->n_gid <= inv->n_gid,
                   "GIDs of port %u", i);
        for (unsigned k = 0; k < p->n_gid; k++) {
            const struct ni_gid *g = &inv->gid[(unsigned)p->first_gid + k];
            FUZZ_CHECK(!ni_ip_is_zero(g->ip) && g->index < NI_GID_TABLE, "GID %u", g->index);
            FUZZ_CHECK(k == 0 || g[-1].index < g->index, "GIDs of port %u do not ascend", i);
            FUZZ_CHECK(!g->ndev[0] || ni_is_name(ni_span_of(g->ndev), NI_IF_NAME), "netdev `%s`",
                       g->ndev);
        }
    }
}

void check_inventory(const struct ni_inventory *inv)
{
    FUZZ_CHECK(inv->n_allocation <= NI_MAX_ALLOCATION && inv->n_hca <= NI_MAX_HCA &&
                   inv->n_port <= NI_MAX_PORT && inv->n_gid <= NI_MAX_GID &&
                   inv->n_netdev <= NI_MAX_NETDEV && inv->n_gpu <= NI_MAX_GPU &&
                   inv->n_conf <= NI_MAX_CONF && inv->net.n_addr <= NI_MAX_ADDR &&
                   inv->net.n_route <= NI_MAX_ROUTE,
               "a table is more than full");
    for (unsigned i = 0; i < inv->n_allocation; i++) {
        FUZZ_CHECK(in(inv->allocation[i].hca, inv->n_hca), "HCA of claim %u", i);
        check_line(inv->allocation[i].id, sizeof(inv->allocation[i].id), "a claim's id");
        check_line(inv->allocation[i].from, sizeof(inv->allocation[i].from), "a claim's source");
    }
    check_hcas(inv);
    check_ports_of(inv);
    for (unsigned i = 0; i < inv->n_netdev; i++)
        FUZZ_CHECK(ni_is_name(ni_span_of(inv->netdev[i].name), NI_IF_NAME), "interface `%s`",
                   inv->netdev[i].name);
    for (unsigned i = 0; i < inv->net.n_route; i++)
        FUZZ_CHECK(inv->net.route[i].bits <= 32, "a route of %u bits", inv->net.route[i].bits);
    for (unsigned i = 1; i < inv->n_gpu; i++)
        FUZZ_CHECK(ni_bdf_cmp(inv->gpu[i - 1].bdf, inv->gpu[i].bdf) < 0, "GPUs out of order");
}

/* ---- plan ---- */

/* The names of an exact list, each the pod's HCA. */
static void check_hca_list(const struct ni_inventory *inv, const char *value)
{
    struct ni_span e;
    FUZZ_CHECK(value[0] == '=' && value[1], "NCCL_IB_HCA=%s", value);
    value++;
    while (ni_split(&value, ',', &e)) {
        const char *colon = memchr(e.p, ':', e.n);
        bool given = false;
        size_t n = colon ? (size_t)(colon - e.p) : e.n;
        for (unsigned i = 0; i < inv->n_hca; i++)
            given = given || (inv->hca[i].allocation >= 0 &&
                              ni_span_is((struct ni_span){e.p, n}, inv->hca[i].name));
        FUZZ_CHECK(given && colon, "NCCL_IB_HCA names `%.*s`", (int)e.n, e.p);
    }
}

/* What a rule exports: a list of names has one at least, and each is a name. */
static void check_list(const struct ni_setting *s)
{
    static const char *const lists[] = {"NCCL_IB_HCA",        "NCCL_SOCKET_IFNAME",
                                        "GLOO_SOCKET_IFNAME", "UCX_NET_DEVICES",
                                        "NVSHMEM_HCA_LIST",   "NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME",
                                        "MC_TE_FILTERS",      "TP_SOCKET_IFNAME"};
    const char *list = s->value + strspn(s->value, "^=");
    struct ni_span e;
    bool is_list = false;
    for (unsigned i = 0; i < NI_COUNT(lists); i++)
        is_list = is_list || strcmp(s->name, lists[i]) == 0;
    while (is_list && ni_split(&list, ',', &e)) {
        const char *colon = memchr(e.p, ':', e.n);
        size_t n = colon ? (size_t)(colon - e.p) : e.n;
        FUZZ_CHECK(ni_is_name((struct ni_span){e.p, n}, NI_DEV_NAME), "%s=%s", s->name, s->value);
    }
}

void check_decided(const struct ni_work *w)
{
    const struct ni_plan *plan = w->plan;
    FUZZ_CHECK(plan->n_setting <= NI_MAX_SETTING, "%u settings", plan->n_setting);
    for (unsigned i = 0; i < plan->n_setting; i++) {
        const struct ni_setting *s = &plan->setting[i];
        check_line(s->reason, sizeof(s->reason), "a reason");
        if (s->origin != NI_FROM_RULE)
            continue;
        check_line(s->value, sizeof(s->value), s->name);
        FUZZ_CHECK(s->value[0], "%s is exported empty", s->name);
        if (strcmp(s->value, "^") == 0) /* no device, to NCCL */
            continue;
        check_list(s);
        if (strcmp(s->name, "NCCL_IB_HCA") == 0)
            check_hca_list(w->inv, s->value);
    }
    check_line(plan->refuse_why, sizeof(plan->refuse_why), "a refusal");
    FUZZ_CHECK(!plan->refuse || plan->refuse_why[0], "refused without a reason");
    check_plan(w);
}

void check_command_env(const struct ni_env *env, const struct ni_plan *plan)
{
    char *const *made = ni_command_env(env, plan);
    FUZZ_CHECK(made, "no environment for the command");
    for (char *const *e = env->entry; *e; e++) {
        bool ours = ni_has_prefix(*e, "NCCLINIT_") && strchr(*e, '=');
        FUZZ_CHECK(ours || *made++ == *e, "`%.80s` does not reach the command as it is", *e);
    }
    for (; *made; made++) {
        struct ni_span name;
        const char *value;
        char buf[NI_DEV_NAME];
        FUZZ_CHECK(ni_env_split(*made, &name, &value) && ni_copyn(buf, sizeof(buf), name.p, name.n),
                   "`%.80s` is no variable", *made);
        FUZZ_CHECK(!ni_env_get(env, buf), "%s was set already", buf);
        FUZZ_CHECK(*value, "%s is exported empty", buf);
    }
}

void check_pod(struct pod *pod)
{
    struct ni_context *ctx = &pod->ctx;

    check_findings(&ctx->findings);
    check_inventory(&ctx->inventory);
    check_decided(&ctx->work);
    check_command_env(&ctx->env, &ctx->plan);
}

/* ---- the same ---- */

static void check_same_settings(const struct ni_plan *a, const struct ni_plan *b, const char *what)
{
    FUZZ_CHECK(a->n_setting == b->n_setting, "%s: %u settings, and %u", what, a->n_setting,
               b->n_setting);
    for (unsigned i = 0; i < a->n_setting; i++) {
        const struct ni_setting *s = &a->setting[i], *t = &b->setting[i];
        FUZZ_CHECK(strcmp(s->name, t->name) == 0 && strcmp(s->rule, t->rule) == 0 &&
                       s->origin == t->origin && strcmp(s->value, t->value) == 0 &&
                       strcmp(s->reason, t->reason) == 0 && strcmp(s->file, t->file) == 0,
                   "%s: %s=%s (%s), and %s=%s (%s)", what, s->name, s->value, s->reason, t->name,
                   t->value, t->reason);
    }
}

static void check_same_ports(const struct ni_context *a, const struct ni_context *b,
                             const char *what)
{
    FUZZ_CHECK(
        a->inventory.n_port == b->inventory.n_port && a->inventory.n_hca == b->inventory.n_hca &&
            a->inventory.n_gpu == b->inventory.n_gpu && a->inventory.source == b->inventory.source,
        "%s: %u and %u HCAs", what, a->inventory.n_hca, b->inventory.n_hca);
    for (unsigned i = 0; i < a->inventory.n_hca; i++)
        FUZZ_CHECK(strcmp(a->inventory.hca[i].name, b->inventory.hca[i].name) == 0,
                   "%s: HCA %s, and %s", what, a->inventory.hca[i].name, b->inventory.hca[i].name);
    for (unsigned i = 0; i < a->inventory.n_port; i++) {
        const struct ni_port_plan *p = &a->plan.port[i], *q = &b->plan.port[i];
        FUZZ_CHECK(p->chosen == q->chosen && p->gid == q->gid && strcmp(p->why, q->why) == 0,
                   "%s: port %u %s, and %s", what, i, p->why, q->why);
    }
}

void check_same(const struct ni_context *a, const struct ni_context *b, const char *what)
{
    const struct ni_plan *p = &a->plan, *q = &b->plan;

    check_same_ports(a, b, what);
    check_same_settings(p, q, what);
    FUZZ_CHECK(p->transport == q->transport && p->n_chosen == q->n_chosen &&
                   p->refuse == q->refuse && memcmp(p->chosen, q->chosen, sizeof(p->chosen)) == 0 &&
                   memcmp(p->distance, q->distance, sizeof(p->distance)) == 0 &&
                   memcmp(p->nearest_hca, q->nearest_hca, sizeof(p->nearest_hca)) == 0 &&
                   memcmp(&p->caps, &q->caps, sizeof(p->caps)) == 0 &&
                   p->memlock.soft == q->memlock.soft && p->memlock.hard == q->memlock.hard &&
                   strcmp(p->sockets, q->sockets) == 0 && strcmp(p->refuse_why, q->refuse_why) == 0,
               "%s: the plans differ", what);
    FUZZ_CHECK(a->findings.n == b->findings.n && a->findings.dropped == b->findings.dropped,
               "%s: %u findings, and %u", what, a->findings.n, b->findings.n);
    /* Which ones are left off of too many follows the order in which they were found. */
    for (unsigned i = 0; i < a->findings.n && a->findings.dropped == 0; i++) {
        const struct ni_finding *f = &a->findings.at[i], *g = &b->findings.at[i];
        FUZZ_CHECK(f->id == g->id && strcmp(f->subject, g->subject) == 0 &&
                       strcmp(f->message, g->message) == 0,
                   "%s: %s: %s, and %s: %s", what, f->subject, f->message, g->subject, g->message);
    }
}
