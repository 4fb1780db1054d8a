/* SPDX-License-Identifier: Apache-2.0 */
/* The table of decisions; how a rule writes into the plan, and who wins: the environment, then
   nccl.conf, then the rule. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rules/rule.h"

/* One decision. A rule keeps nothing between its calls: it may run again on a new plan. */
static const struct {
    const char *id; /* permanent, dotted */
    const char *reads, *sets;
    ni_rule_fn *eval;
    bool when_off; /* with --mode=off, too, which decides no setting */
} rules[] = {
    {"net.transport", "mode, NCCL_NET, NCCL_NET_PLUGIN, NCCL_IB_DISABLE, EFA devices",
     "which transport", ni_rule_transport, true},
    {"hca.ports", "claims, port states, link layers, rates, --hcas, NCCL_IB_HCA", "which ports",
     ni_rule_ports, false},
    {"gid.pick", "GID tables, local addresses", "each port's best GID", ni_rule_gids, false},
    {"ib.disable", "chosen ports",
     "TCP where no port is left; NCCL_IB_DISABLE, or NCCL_IB_HCA where you hold that at 0",
     ni_rule_ib_disable, false},
    {"hca.list", "chosen ports", "NCCL_IB_HCA", ni_rule_hca_list, false},
    {"gid.index", "each port's best GID",
     "NCCL_IB_GID_INDEX, NCCL_IB_ADDR_FAMILY, NCCL_IB_ADDR_RANGE", ni_rule_gid_index, false},
    {"socket.ifname", "interfaces, addresses, default route", "NCCL_SOCKET_IFNAME", ni_rule_sockets,
     false},
    {"rail.cross", "addresses, routes of all tables", "NCCL_CROSS_NIC", ni_rule_rails, false},
    {"vf.merge", "PCI addresses", "NCCL_IB_MERGE_VFS", ni_rule_vf_merge, false},
    {"nic.merge", "PCI addresses, physfn", "NCCL_IB_MERGE_NICS, NCCL_NET_MERGE_LEVEL",
     ni_rule_nic_merge, false},
    {"gdr.level", "GPUs, PCI tree, peermem, DMA-BUF", "NCCL_NET_GDR_LEVEL", ni_rule_gdr, false},
    {"gpu.hcas", "GPUs, PCI tree, chosen ports", "which of these each GPU is to use",
     ni_rule_gpu_hcas, false},
    {"for.libraries", "ports and interfaces chosen, those of each GPU, --for, the local rank",
     "VLLM_GPU_NIC_PCIE_MAPPING, VLLM_NIC_SELECTION_VARS, UCX_NET_DEVICES, UCX_IB_GID_INDEX, "
     "UCX_MAX_HCA_PER_GPU, NVSHMEM_HCA_LIST, NVSHMEM_HCA_PREFIX, NVSHMEM_IB_GID_INDEX, "
     "NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME, NVSHMEM_BOOTSTRAP_UID_SOCK_FAMILY, MC_TE_FILTERS, "
     "MC_IB_PORT, MC_GID_INDEX, GLOO_SOCKET_IFNAME, TP_SOCKET_IFNAME",
     ni_rule_libraries, false},
    {"user.values", "NCCL_* of the environment and nccl.conf", "findings only", ni_rule_user,
     false},
    {"caps.command", "capabilities, --keep-caps, --drop-caps", "the command's capabilities",
     ni_rule_caps, true},
    {"memlock.raise", "limits, capabilities", "RLIMIT_MEMLOCK", ni_rule_memlock, false},
    {"require", "all of the above, --require", "whether the command may start", ni_rule_require,
     true},
};

void ni_put_rules(struct ni_text *t)
{
    for (unsigned i = 0; i < NI_COUNT(rules); i++)
        ni_putf(t, "%s%s\n    reads  %s\n    sets   %s\n", i ? "\n" : "", rules[i].id,
                rules[i].reads, rules[i].sets);
}

void ni_decide(const struct ni_work *w)
{
    struct ni_plan *plan = w->plan;
    memset(plan, 0, offsetof(struct ni_plan, nearest_hca)); /* behind it: only what is in use */
    for (unsigned i = 0; i < w->inv->n_port; i++)
        plan->port[i] = (struct ni_port_plan){.best = -1, .gid = -1, .nccl_index = -1};
    for (unsigned i = 0; i < w->inv->n_gpu; i++)
        plan->nearest_hca[i].index = -1;
    for (unsigned i = 0; i < NI_COUNT(rules); i++) {
        if (plan->transport == NI_NET_OFF && !rules[i].when_off)
            continue;
        plan->rule = rules[i].id;
        rules[i].eval(w);
    }
    if (plan->transport != NI_NET_OFF)
        ni_say_left_unset(w);
}

/* ---- the user's values, and the rule's ---- */

const char *ni_user_value(const struct ni_work *w, const char *name)
{
    return ni_find_user_value(w->env, w->inv, name, NULL);
}

int64_t ni_user_int(const struct ni_work *w, const char *name, int64_t otherwise)
{
    const char *value = ni_user_value(w, name);
    if (!value || !*value)
        return otherwise;
    errno = 0;
    int64_t v = strtoll(value, NULL, 0);
    return errno == ERANGE ? otherwise : v; /* musl says EINVAL of what is no number */
}

void ni_decide_value(const struct ni_work *w, const char *name, const char *value, const char *fmt,
                     ...)
{
    struct ni_plan *plan = w->plan;
    const unsigned targets = w->policy->targets;
    if (ni_has_prefix(name, "NCCL_") && targets && !(targets & (NI_FOR_NCCL | NI_FOR_TORCHCOMMS)))
        return;
    if (plan->n_setting == NI_MAX_SETTING)
        return; /* cannot be: the rules name fewer */
    const char *file;
    const char *user = ni_find_user_value(w->env, w->inv, name, &file);
    struct ni_setting *s = &plan->setting[plan->n_setting++];
    s->name = name;
    s->rule = plan->rule;
    s->origin = user ? (file ? NI_FROM_CONF : NI_FROM_USER) : value ? NI_FROM_RULE : NI_LEFT_UNSET;
    struct ni_text t = ni_text_on(s->value, sizeof(s->value));
    ni_put(&t, user ? user : value ? value : "");
    s->by_itself = NULL;
    (void)ni_copy(s->file, sizeof(s->file), file ? file : "");
    t = ni_text_on(s->reason, sizeof(s->reason));
    if (user && value)
        ni_putf(&t,
                "yours stays; the rule says %s: ", strcmp(user, value) == 0 ? "the same" : value);
    else if (user)
        ni_put(&t, "yours stays; the rule would leave it unset: ");
    va_list ap;
    va_start(ap, fmt);
    ni_vputf(&t, fmt, ap);
    va_end(ap);
    if (user && !*user)
        ni_report(w->f, NI_F_USER_VALUE_EMPTY, name, "set but empty%s%s, and left so",
                  file ? " in " : "", file ? file : "");
}

/* ---- ports ---- */

void ni_leave_out(const struct ni_work *w, unsigned port, enum ni_finding_id id, const char *fmt,
                  ...)
{
    struct ni_port_plan *p = &w->plan->port[port];
    struct ni_text t = ni_text_on(p->why, sizeof(p->why));
    va_list ap;
    p->chosen = false;
    p->rule = w->plan->rule;
    va_start(ap, fmt);
    ni_vputf(&t, fmt, ap);
    va_end(ap);
    if (id != NI_F_COUNT)
        ni_report(w->f, id, ni_port_name(w->inv, (int)port).text, "%s; left out", p->why);
}

struct ni_port_name ni_port_name(const struct ni_inventory *inv, int port)
{
    const struct ni_port *p = &inv->port[port];
    struct ni_port_name name;
    (void)ni_format(name.text, sizeof(name.text), "%s/%u", inv->hca[p->hca].name, p->num);
    return name;
}

bool ni_is_active(const struct ni_port *port)
{
    return port->state.known == NI_KNOWN && port->state.v == NI_PORT_ACTIVE;
}

const struct ni_gid *ni_port_gid(const struct ni_inventory *inv, const struct ni_port *port,
                                 unsigned i)
{
    return &inv->gid[port->first_gid + (int)i];
}

const struct ni_gid *ni_gid_at(const struct ni_inventory *inv, const struct ni_port *port,
                               unsigned index)
{
    unsigned from = 0, to = port->n_gid;
    while (from < to) {
        const unsigned middle = (from + to) / 2;
        const struct ni_gid *g = ni_port_gid(inv, port, middle);
        if (g->index == index)
            return g;
        if (g->index < index)
            from = middle + 1;
        else
            to = middle;
    }
    return NULL;
}

struct ni_chosen ni_chosen(const struct ni_work *w, unsigned i)
{
    const int at = w->plan->chosen[i];
    const struct ni_port *port = &w->inv->port[at];
    struct ni_port_plan *plan = &w->plan->port[at];
    return (struct ni_chosen){at,
                              port,
                              &w->inv->hca[port->hca],
                              plan,
                              plan->best < 0 ? NULL : &w->inv->gid[plan->best],
                              plan->gid < 0 ? NULL : &w->inv->gid[plan->gid]};
}

bool ni_is_chosen(const struct ni_work *w, int hca)
{
    for (unsigned i = 0; i < w->plan->n_chosen; i++) {
        if (ni_chosen(w, i).port->hca == hca)
            return true;
    }
    return false;
}
