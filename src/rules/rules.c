/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the rules, in their order. */
#include "rules/rules.h"

#include <string.h>

#include "nccl_init/base.h"
#include "nccl_init/plan.h"
#include "nccl_init/text.h"
#include "rules/decide.h"
#include "rules/gdr.h"
#include "rules/gid_index.h"
#include "rules/gid_pick.h"
#include "rules/gpu_hcas.h"
#include "rules/hca_list.h"
#include "rules/ib_disable.h"
#include "rules/ib_pkey.h"
#include "rules/left_unset.h"
#include "rules/libraries.h"
#include "rules/pci_quirks.h"
#include "rules/ports.h"
#include "rules/privileges.h"
#include "rules/rails.h"
#include "rules/require.h"
#include "rules/socket.h"
#include "rules/transport.h"
#include "rules/user.h"

/* One decision. A rule keeps nothing between its calls: it may run again on a new plan. */
static const struct {
    const char *id; /* permanent, dotted */
    const char *reads;
    const char *sets; /* NULL: the variables of the table of libraries.c */
    ni_rule_fn *eval;
    bool when_off; /* runs with --mode=off, too, which decides no setting */
} rules[] = {
    {"net.transport", "mode, NCCL_NET, NCCL_NET_PLUGIN, NCCL_IB_DISABLE, EFA devices",
     "which transport", ni_rule_transport, true},
    {"hca.ports", "allocations, port states, link layers, rates, --hcas, NCCL_IB_HCA",
     "which ports", ni_rule_ports, false},
    {"gid.pick", "GID tables, local addresses", "each port's best GID", ni_rule_gids, false},
    {"ib.disable", "chosen ports",
     "TCP if no port is left; NCCL_IB_DISABLE, or NCCL_IB_HCA if you hold that at 0",
     ni_rule_ib_disable, false},
    {"hca.list", "chosen ports", "NCCL_IB_HCA", ni_rule_hca_list, false},
    {"gid.index", "each port's best GID",
     "NCCL_IB_GID_INDEX, NCCL_IB_ADDR_FAMILY, NCCL_IB_ADDR_RANGE", ni_rule_gid_index, false},
    {"ib.pkey", "P_Key tables of InfiniBand ports, NCCL_IB_PKEY", "findings only", ni_rule_ib_pkey,
     false},
    {"socket.ifname", "interfaces, addresses, default route", "NCCL_SOCKET_IFNAME", ni_rule_sockets,
     false},
    {"rail.cross", "addresses, routes of all tables", "NCCL_CROSS_NIC", ni_rule_rails, false},
    {"vf.merge", "PCI addresses", "NCCL_IB_MERGE_VFS", ni_rule_vf_merge, false},
    {"nic.merge", "PCI addresses, physfn", "NCCL_IB_MERGE_NICS, NCCL_NET_MERGE_LEVEL",
     ni_rule_nic_merge, false},
    {"gdr.level", "GPUs, PCI tree, peermem, DMA-BUF", "NCCL_NET_GDR_LEVEL", ni_rule_gdr, false},
    {"gpu.hcas", "GPUs, PCI tree, chosen ports", "which of these each GPU is to use",
     ni_rule_gpu_hcas, false},
    {"for.libraries", "ports and interfaces chosen, those of each GPU, --for, the local rank", NULL,
     ni_rule_libraries, false},
    {"user.values", "NCCL_* of the environment and nccl.conf", "findings only", ni_rule_user,
     false},
    {"caps.command", "capabilities, --keep-caps, --drop-caps", "the command's capabilities",
     ni_rule_caps, true},
    {"memlock.raise", "limits, capabilities", "RLIMIT_MEMLOCK", ni_rule_memlock, false},
    {"require", "all of the above, --require", "whether the command may start", ni_rule_require,
     true},
};

const char *ni_rule_id(unsigned at)
{
    return at < NI_COUNT(rules) ? rules[at].id : NULL;
}

void ni_put_rule(struct ni_text *t, unsigned at)
{
    ni_putf(t, "%s\n    reads  %s\n    sets   ", rules[at].id, rules[at].reads);
    if (rules[at].sets)
        ni_put(t, rules[at].sets);
    else
        ni_put_library_variables(t);
    ni_put(t, "\n");
}

void ni_put_rules(struct ni_text *t)
{
    for (unsigned i = 0; i < NI_COUNT(rules); i++) {
        ni_put(t, i > 0 ? "\n" : "");
        ni_put_rule(t, i);
    }
}

void ni_decide(const struct ni_work *w)
{
    struct ni_plan *plan = w->plan;

    /* the members after it are cleared as far as they are in use */
    memset(plan, 0, offsetof(struct ni_plan, nearest_hca));
    for (unsigned i = 0; i < w->inv->n_port; i++)
        plan->port[i] = (struct ni_port_plan){.best = -1, .gid = -1, .nccl_index = -1};
    for (unsigned i = 0; i < w->inv->n_gpu; i++)
        plan->nearest_hca[i].index = plan->taken[i].hca = -1;
    for (unsigned i = 0; i < NI_COUNT(rules); i++) {
        if (plan->transport == NI_NET_OFF && !rules[i].when_off)
            continue;
        plan->rule = rules[i].id;
        rules[i].eval(w);
    }
    if (plan->transport != NI_NET_OFF)
        ni_say_left_unset(w);
}
