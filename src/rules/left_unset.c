/* SPDX-License-Identifier: Apache-2.0 */
/* NCCL's variables that a rule may set, and what NCCL does by itself while one of them is unset.
   Each sentence holds for 2.18 to 2.32, or names the versions. Where no version stands it is
   2.30.7. */
#include "rules/left_unset.h"

#include <string.h>

#include "nccl_init/base.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "rules/chosen.h"
#include "rules/decide.h"

static const struct ni_variable variables[] = {
    /* transport/net_ib/init.cc ncclIbInit, plugin/net.cc ncclNetInit */
    {"NCCL_IB_DISABLE", "ib.disable", false, "tries InfiniBand and RoCE before sockets"},
    /* transport/net_ib/init.cc ncclIbInitDevices, common.h MAX_IB_DEVS */
    {"NCCL_IB_HCA", "hca.list", true,
     "uses each ACTIVE port of each HCA that it can open, at most 32 (16 before 2.18.5)"},
    /* transport/net_ib/connect.cc ncclIbGetGidIndex */
    {"NCCL_IB_GID_INDEX", "gid.index", true,
     "searches the table of each port; before 2.21.5 it takes index 0"},
    /* transport/net_ib/connect.cc envIbAddrFamily, envIbAddrRange */
    {"NCCL_IB_ADDR_FAMILY", "gid.index", true, "searches for an IPv4 GID (2.21.5 and later)"},
    {"NCCL_IB_ADDR_RANGE", "gid.index", true,
     "searches all addresses of a port (2.21.5 and later)"},
    /* misc/socket.cc ncclFindInterfaces */
    {"NCCL_SOCKET_IFNAME", "socket.ifname", false,
     "uses interfaces whose names begin with `ib`, otherwise all but `lo`, `docker*` and (2.28.3 "
     "and later) `virbr*`; its bootstrap uses the first of them"},
    /* graph/search.cc ncclTopoCompute */
    {"NCCL_CROSS_NIC", "rail.cross", false,
     "uses 2: a ring may leave on one rail and arrive on another if that is faster"},
    /* transport/net_ib/init.cc ncclIbGetPciPath */
    {"NCCL_IB_MERGE_VFS", "vf.merge", true,
     "looks for a VF at function 00.0 of its bus (2.24.3 to 2.26.6: at its own "
     "address)"},
    /* transport/net_ib.cc ncclIbInit (2.20.3), graph/topo.cc ncclTopoGetFusionEnv (2.24.3) */
    {"NCCL_IB_MERGE_NICS", "nic.merge", true,
     "fuses NICs that share a place on its PCI tree, as the ports of one card do (2.20.3 and "
     "later)"},
    {"NCCL_NET_MERGE_LEVEL", "nic.merge", true,
     "fuses NICs that share a place on its PCI tree, as the ports of one card do (2.20.3 and "
     "later)"},
    /* graph/paths.cc ncclTopoCheckGdr */
    {"NCCL_NET_GDR_LEVEL", "gdr.level", true,
     "allows GPUDirect RDMA up to PXB, and over NVLink-C2C (2.27.3 and later)"},
};

/* Says what NCCL does by itself where the variable is unset; NULL: nothing that is worth a line. */
static const char *by_itself_of(const struct ni_work *w, const char *name)
{
    const struct ni_plan *plan = w->plan;
    const bool addr = ni_has_prefix(name, "NCCL_IB_ADDR_");
    const bool gid = addr || strcmp(name, "NCCL_IB_GID_INDEX") == 0;
    const char *by_itself = NULL;
    bool rdma = false;

    for (unsigned i = 0; i < NI_COUNT(variables); i++) {
        if (strcmp(variables[i].name, name) == 0) {
            by_itself = variables[i].by_itself;
            rdma = variables[i].rdma;
        }
    }
    if (rdma && plan->transport == NI_NET_TCP)
        return "reads no RDMA variables";
    if (plan->transport == NI_NET_OTHER && ni_has_prefix(name, "NCCL_IB_"))
        return "leaves the network to the plugin, which may read such variables";
    if (gid && plan->n_chosen > 0 && ni_chosen(w, 0).port->link == NI_LINK_IB)
        return "addresses ports by LID, or by GID 0";
    if (addr && plan->n_chosen > 0 && plan->gid_selection.index >= 0)
        return "uses that GID on each port, and does not search";
    if (plan->n_chosen == 1 && strcmp(name, "NCCL_CROSS_NIC") == 0)
        return "uses that one";
    if (strcmp(name, "NCCL_NET_GDR_LEVEL") == 0 && w->inv->n_gpu > 0 && w->inv->gpu[0].amd)
        return "allows GPUDirect RDMA up to PXB; RCCL on an EPYC (Zen 2 to Zen 4) up to PHB";
    return by_itself;
}

/* Says why a rule that decided nothing leaves its variables unset. */
static const char *why_no_rule(const struct ni_plan *plan)
{
    if (plan->transport == NI_NET_OTHER)
        return "the network is left to another plugin";
    return "no RDMA port was chosen";
}

void ni_say_left_unset(const struct ni_work *w)
{
    struct ni_plan *plan = w->plan;

    for (unsigned i = 0; i < NI_COUNT(variables); i++) {
        plan->rule = variables[i].rule;
        if (!ni_plan_get(plan, variables[i].name))
            ni_decide_value(w, variables[i].name, NULL, "%s", why_no_rule(plan));
    }
    for (unsigned i = 0; i < plan->n_setting; i++) {
        struct ni_setting *s = &plan->setting[i];

        if (s->origin == NI_LEFT_UNSET)
            s->by_itself = by_itself_of(w, s->name);
    }
}

const struct ni_variable *ni_variable_at(unsigned at)
{
    return at < NI_COUNT(variables) ? &variables[at] : NULL;
}

const char *ni_rule_of_variable(struct ni_span name, const char **by_itself)
{
    for (unsigned i = 0; i < NI_COUNT(variables); i++) {
        if (!ni_span_is(name, variables[i].name))
            continue;
        *by_itself = variables[i].by_itself;
        return variables[i].rule;
    }
    return NULL;
}
