/* SPDX-License-Identifier: Apache-2.0 */
/* for.libraries: the same choice in the words of the libraries beside NCCL, where --for asks for
   them. */
#include <string.h>

#include "rule.h"

/* The index of the right GIDs where it is one, whatever the user has told NCCL. */
static void decide_index(const struct ni_work *w, const char *name)
{
    char value[16];
    bool same = true;
    for (unsigned i = 0; i < w->plan->n_chosen; i++) {
        const struct ni_gid *first = ni_chosen(w, 0).gid, *g = ni_chosen(w, i).gid;
        same = same && first && g && g->index == first->index;
    }
    if (same && ni_format(value, sizeof(value), "%d", ni_chosen(w, 0).gid->index))
        ni_decide_value(w, name, value, "the index that is right for every chosen port");
    else
        ni_decide_value(w, name, NULL,
                        "no one index for all ports: left to the library's own choice");
}

/* What of nvshmem.conf says otherwise than the environment will. The setting stays for NVSHMEM before
   3.6.5, which reads no such file. */
static void check_override(const struct ni_work *w, const char *name)
{
    const struct ni_conf_entry *e = ni_find_override(w->inv, name);
    const struct ni_setting *s = ni_plan_get(w->plan, name);
    if (e && s && strcmp(e->value, s->value) != 0)
        ni_report(
            w->f, NI_F_CONF_NVSHMEM, name,
            "%s sets it to `%.64s`, and NVSHMEM 3.6.5 and later takes that in place of `%.64s`",
            e->file, e->value, s->value);
}

/* The socket list is read by NCCL's code (NVSHMEM 3.4.5 bootstrap/uid/ncclSocket), where a name
   without `=` is a prefix. */
static void for_nvshmem(const struct ni_work *w, const char *ports)
{
    static const char *const names[] = {"NVSHMEM_HCA_LIST", "NVSHMEM_IB_GID_INDEX",
                                        "NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME"};
    char sockets[sizeof(w->plan->sockets) + 1];
    if (*ports) {
        ni_decide_value(w, names[0], ports, "the chosen ports");
        decide_index(w, names[1]);
    }
    if (*w->plan->sockets && ni_format(sockets, sizeof(sockets), "=%s", w->plan->sockets))
        ni_decide_value(w, names[2], sockets, "as NCCL_SOCKET_IFNAME");
    for (unsigned i = 0; i < NI_COUNT(names); i++)
        check_override(w, names[i]);
}

static void for_ucx(const struct ni_work *w, const char *ports)
{
    static const char devices[] = "UCX_NET_DEVICES";
    if (*ports) {
        ni_decide_value(w, devices, ports, "the chosen ports");
        decide_index(w, "UCX_IB_GID_INDEX");
    } else if (*w->plan->sockets) {
        ni_decide_value(w, devices, w->plan->sockets, "no RDMA port: the socket interface");
    }
}

/* One name: each opens one more full mesh, which must be routed and have the same place in each
   pod's list (torch ProcessGroupGloo.cpp). The pod's own network reaches all pods; what somebody
   named comes first. */
static void for_gloo(const struct ni_work *w)
{
    static const char variable[] = "GLOO_SOCKET_IFNAME";
    const char *pod = ni_pod_interface(w), *list = w->plan->sockets;
    const bool named = w->policy->sockets || ni_user_value(w, "NCCL_SOCKET_IFNAME");
    char name[NI_IF_NAME];
    struct ni_span first;
    if (!*list || !ni_split(&list, ',', &first) || !ni_copyn(name, sizeof(name), first.p, first.n))
        return;
    if (pod && !named)
        ni_decide_value(w, variable, pod, "interface of the default route");
    else
        ni_decide_value(w, variable, name, "the first of NCCL_SOCKET_IFNAME");
}

void ni_rule_libraries(const struct ni_work *w)
{
    const unsigned targets = w->policy->targets;
    struct ni_text ports = NI_TEXT(NI_VALUE);
    for (unsigned i = 0; i < w->plan->n_chosen; i++) {
        const struct ni_chosen c = ni_chosen(w, i);
        ni_putf(&ports, "%s%s:%u", i ? "," : "", c.hca->name, c.port->num);
    }
    if (targets & NI_FOR_UCX)
        for_ucx(w, ports.buf);
    if (targets & NI_FOR_NVSHMEM)
        for_nvshmem(w, ports.buf);
    if (targets & NI_FOR_GLOO)
        for_gloo(w);
}
