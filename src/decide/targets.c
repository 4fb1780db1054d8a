/* SPDX-License-Identifier: Apache-2.0 */
/* for.libraries: the same choice in the words of the libraries beside NCCL, where --for asks for
   them. None of them knows NCCL's `=`. */
#include "rule.h"

static const char rule[] = "for.libraries";

/* name:port,... of the chosen ports */
static void put_ports(const struct ni_facts *facts, const struct ni_plan *plan, struct ni_text *t)
{
    for (unsigned i = 0; i < plan->n_chosen; i++) {
        const struct ni_port *port = &facts->inv->port[plan->chosen[i]];
        ni_putf(t, "%s%s:%u", i ? "," : "", facts->inv->hca[port->hca].name, port->num);
    }
}

static void set_index(const struct ni_facts *facts, struct ni_plan *plan, struct ni_findings *f,
                      const char *name)
{
    char value[16];
    struct ni_text t = ni_text_on(value, sizeof(value));
    ni_putf(&t, "%d", plan->gid_index);
    if (plan->gid_index >= 0)
        ni_decide_value(facts, plan, rule, name, value, f,
                        "the index that is right for every chosen port");
    else
        ni_decide_value(facts, plan, rule, name, NULL, f,
                        "no one index for all ports: left to the library's own choice");
}

static void for_nvshmem(const struct ni_facts *facts, struct ni_plan *plan, struct ni_findings *f,
                        const char *ports)
{
    const char *sockets = plan->sockets;
    if (*ports) {
        ni_decide_value(facts, plan, rule, "NVSHMEM_HCA_LIST", ports, f, "the chosen ports");
        set_index(facts, plan, f, "NVSHMEM_IB_GID_INDEX");
    }
    if (*sockets)
        ni_decide_value(facts, plan, rule, "NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME", sockets, f,
                        "as NCCL_SOCKET_IFNAME");
}

static void for_ucx(const struct ni_facts *facts, struct ni_plan *plan, struct ni_findings *f,
                    const char *ports)
{
    const char *sockets = plan->sockets;
    if (*ports) {
        ni_decide_value(facts, plan, rule, "UCX_NET_DEVICES", ports, f, "the chosen ports");
        set_index(facts, plan, f, "UCX_IB_GID_INDEX");
    } else if (*sockets) {
        ni_decide_value(facts, plan, rule, "UCX_NET_DEVICES", sockets, f,
                        "no RDMA port: the socket interface");
    }
}

void ni_rule_targets(const struct ni_facts *facts, struct ni_plan *plan, struct ni_findings *f)
{
    char ports[NI_VALUE];
    struct ni_text t = ni_text_on(ports, sizeof(ports));
    unsigned targets = facts->policy->targets;
    const char *sockets = plan->sockets;
    put_ports(facts, plan, &t);
    if (targets & NI_FOR_UCX)
        for_ucx(facts, plan, f, ports);
    if (targets & NI_FOR_NVSHMEM)
        for_nvshmem(facts, plan, f, ports);
    if ((targets & NI_FOR_GLOO) && *sockets)
        ni_decide_value(facts, plan, rule, "GLOO_SOCKET_IFNAME", sockets, f,
                        "as NCCL_SOCKET_IFNAME");
}
