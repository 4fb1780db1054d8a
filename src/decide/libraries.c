/* SPDX-License-Identifier: Apache-2.0 */
/* for.libraries: the same choice in the words of the libraries beside NCCL, where --for asks for
   them. */
#include <string.h>

#include "rule.h"

/* The index of the right GIDs where it is one, whatever the user has told NCCL. */
static void decide_index(const struct ni_facts *facts, struct ni_plan *plan, struct ni_findings *f,
                         const char *name)
{
    char value[16];
    struct ni_text t = ni_text_on(value, sizeof(value));
    int index = -1;
    for (unsigned i = 0; i < plan->n_chosen; i++) {
        const int gid = plan->port[plan->chosen[i]].gid;
        if (gid < 0 || (index >= 0 && facts->inv->gid[gid].index != index)) {
            ni_decide_value(facts, plan, f, name, NULL,
                            "no one index for all ports: left to the library's own choice");
            return;
        }
        index = facts->inv->gid[gid].index;
    }
    ni_putf(&t, "%d", index);
    ni_decide_value(facts, plan, f, name, value, "the index that is right for every chosen port");
}

/* What of nvshmem.conf says otherwise than the environment will. The setting stays for NVSHMEM before
   3.6.5, which reads no such file. */
static void check_override(const struct ni_facts *facts, const struct ni_plan *plan,
                           const char *name, struct ni_findings *f)
{
    const struct ni_conf_entry *e = ni_find_override(facts->inv, name);
    const struct ni_setting *s = ni_plan_get(plan, name);
    if (e && s && strcmp(e->value, s->value) != 0)
        ni_report(
            f, NI_F_CONF_NVSHMEM, name,
            "%s sets it to `%.64s`, and NVSHMEM 3.6.5 and later takes that in place of `%.64s`",
            e->file, e->value, s->value);
}

/* The socket list is read by NCCL's code (NVSHMEM 3.4.5 bootstrap/uid/ncclSocket), where a name
   without `=` is a prefix. */
static void for_nvshmem(const struct ni_facts *facts, struct ni_plan *plan, struct ni_findings *f,
                        const char *ports)
{
    static const char *const names[] = {"NVSHMEM_HCA_LIST", "NVSHMEM_IB_GID_INDEX",
                                        "NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME"};
    char sockets[sizeof(plan->sockets) + 1];
    if (*ports) {
        ni_decide_value(facts, plan, f, names[0], ports, "the chosen ports");
        decide_index(facts, plan, f, names[1]);
    }
    if (*plan->sockets && ni_format(sockets, sizeof(sockets), "=%s", plan->sockets))
        ni_decide_value(facts, plan, f, names[2], sockets, "as NCCL_SOCKET_IFNAME");
    for (unsigned i = 0; i < NI_COUNT(names); i++)
        check_override(facts, plan, names[i], f);
}

static void for_ucx(const struct ni_facts *facts, struct ni_plan *plan, struct ni_findings *f,
                    const char *ports)
{
    if (*ports) {
        ni_decide_value(facts, plan, f, "UCX_NET_DEVICES", ports, "the chosen ports");
        decide_index(facts, plan, f, "UCX_IB_GID_INDEX");
    } else if (*plan->sockets) {
        ni_decide_value(facts, plan, f, "UCX_NET_DEVICES", plan->sockets,
                        "no RDMA port: the socket interface");
    }
}

/* One name: each opens one more full mesh, which must be routed and have the same place in each
   pod's list (torch ProcessGroupGloo.cpp). The pod's own network reaches all pods; what somebody
   named comes first. */
static void for_gloo(const struct ni_facts *facts, struct ni_plan *plan, struct ni_findings *f)
{
    const char *pod = ni_pod_interface(facts, plan), *list = plan->sockets;
    const bool named = facts->policy->sockets || ni_user_value(facts, "NCCL_SOCKET_IFNAME");
    char name[NI_IF_NAME];
    struct ni_span first;
    if (!*list || !ni_split(&list, ',', &first) || !ni_copyn(name, sizeof(name), first.p, first.n))
        return;
    if (pod && !named)
        ni_decide_value(facts, plan, f, "GLOO_SOCKET_IFNAME", pod,
                        "interface of the default route");
    else
        ni_decide_value(facts, plan, f, "GLOO_SOCKET_IFNAME", name,
                        "the first of NCCL_SOCKET_IFNAME");
}

static void libraries(const struct ni_facts *facts, struct ni_plan *plan, struct ni_findings *f)
{
    const unsigned targets = facts->policy->targets;
    char ports[NI_VALUE];
    struct ni_text t = ni_text_on(ports, sizeof(ports));
    for (unsigned i = 0; i < plan->n_chosen; i++)
        ni_putf(&t, "%s%s:%u", i ? "," : "", ni_chosen_hca(facts, plan, i)->name,
                ni_chosen_port(facts, plan, i)->num);
    if (targets & NI_FOR_UCX)
        for_ucx(facts, plan, f, ports);
    if (targets & NI_FOR_NVSHMEM)
        for_nvshmem(facts, plan, f, ports);
    if (targets & NI_FOR_GLOO)
        for_gloo(facts, plan, f);
}

const struct ni_rule ni_rule_libraries = {
    "for.libraries", "ports and interfaces chosen, --for",
    "UCX_NET_DEVICES, UCX_IB_GID_INDEX, NVSHMEM_HCA_LIST, NVSHMEM_IB_GID_INDEX, "
    "NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME, GLOO_SOCKET_IFNAME",
    libraries, false};
