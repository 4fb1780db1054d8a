/* SPDX-License-Identifier: Apache-2.0 */
/* The table of decisions. Each is one function in the file of its subject; the order here is the
   order of evaluation. */
#include "rule.h"

static const struct ni_rule rules[] = {
    {"net.transport", "mode, NCCL_NET, NCCL_NET_PLUGIN, NCCL_IB_DISABLE, EFA devices",
     "which transport", ni_rule_transport},
    {"hca.ports", "claims, port states, link layers, rates, --hcas, NCCL_IB_HCA", "which ports",
     ni_rule_ports},
    {"gid.pick", "GID tables, local addresses", "each port's GID", ni_rule_gids},
    {"ib.disable", "ports kept", "NCCL_IB_DISABLE, or NCCL_IB_HCA where you hold that at 0",
     ni_rule_ib_disable},
    {"hca.list", "ports kept", "NCCL_IB_HCA", ni_rule_hca_list},
    {"gid.index", "each port's GID", "NCCL_IB_GID_INDEX, NCCL_IB_ADDR_FAMILY, NCCL_IB_ADDR_RANGE",
     ni_rule_gid_index},
    {"socket.ifname", "interfaces, addresses, default route", "NCCL_SOCKET_IFNAME",
     ni_rule_sockets},
    {"rail.cross", "addresses, IPv4 routes", "NCCL_CROSS_NIC", ni_rule_rails},
    {"vf.merge", "PCI addresses", "NCCL_IB_MERGE_VFS", ni_rule_vf_merge},
    {"nic.merge", "PCI addresses, physfn", "NCCL_IB_MERGE_NICS, NCCL_NET_MERGE_LEVEL",
     ni_rule_nic_merge},
    {"gdr.level", "GPUs, PCI tree, peermem, DMA-BUF", "NCCL_NET_GDR_LEVEL", ni_rule_gdr},
    {"for.libraries", "ports and interfaces chosen, --for",
     "UCX_NET_DEVICES, UCX_IB_GID_INDEX, NVSHMEM_HCA_LIST, NVSHMEM_IB_GID_INDEX, "
     "NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME, GLOO_SOCKET_IFNAME",
     ni_rule_targets},
    {"user.values", "NCCL_* of the environment and nccl.conf", "findings only", ni_rule_user},
    {"memlock.raise", "limits, capabilities", "RLIMIT_MEMLOCK", ni_rule_memlock},
    {"caps.command", "capabilities, --keep-caps, --drop-caps", "the command's capabilities",
     ni_rule_caps},
    {"require", "all of the above, --mode=rdma, --require", "whether the command may start",
     ni_rule_require},
};

const struct ni_rule *ni_rules(unsigned *ret_n)
{
    *ret_n = NI_COUNT(rules);
    return rules;
}

void ni_decide(const struct ni_facts *facts, struct ni_plan *plan, struct ni_findings *f)
{
    plan->gid_index = -1;
    for (unsigned i = 0; i < facts->inv->n_port; i++)
        plan->port[i].gid = plan->port[i].nccl_index = -1;
    for (unsigned i = 0; i < facts->inv->n_hca; i++)
        plan->nearest_gpu[i].index = -1;
    for (unsigned i = 0; i < facts->inv->n_gpu; i++)
        plan->nearest_hca[i].index = -1;
    for (unsigned i = 0; i < NI_COUNT(rules); i++) {
        /* --mode=off decides no setting; what was asked of the process, and demands, stand. */
        bool always = i == 0 || rules[i].eval == ni_rule_caps || rules[i].eval == ni_rule_require;
        if (always || plan->transport != NI_NET_OFF)
            rules[i].eval(facts, plan, f);
    }
}
