/* SPDX-License-Identifier: Apache-2.0 */
/* net.transport: whether NCCL's own InfiniBand transport is the one to set up at all.
   ib.disable: NCCL_IB_DISABLE, once it is known whether a port is left. */
#include <string.h>
#include <strings.h>

#include "rule.h"

/* HPC-X's plugins and AMD's for its own NICs carry a copy of NCCL's InfiniBand code and read the same
   variables (NVIDIA/nccl#1357; ROCm/amd-anp net_ib.cc). ROCM-IB and IB-CAST are RCCL's own (2.28.3
   and later, plugin/net.cc). */
static bool is_ib_family(const char *plugin)
{
    static const char *const parts[] = {"sharp", "SHARP", "hpcx", "spcx", "anp", "ANP"};
    for (unsigned i = 0; i < NI_COUNT(parts); i++) {
        if (strstr(plugin, parts[i]))
            return true;
    }
    return strncasecmp(plugin, "ib", 2) == 0 || strcasecmp(plugin, "rocm-ib") == 0;
}

static const char *other_network(const struct ni_facts *facts, const char **ret_var)
{
    static const char *const vars[] = {"NCCL_NET", "NCCL_NET_PLUGIN"};
    for (unsigned i = 0; i < NI_COUNT(vars); i++) {
        const char *v = ni_user_value(facts, vars[i]);
        if (!v || !*v || strcasecmp(v, "none") == 0 || strcasecmp(v, "socket") == 0 ||
            is_ib_family(v))
            continue;
        *ret_var = vars[i];
        return v;
    }
    return NULL;
}

/* The name of one of the pod's devices if they are all Amazon's EFA, which the OFI plugin drives
   and NCCL's own transport cannot; else NULL. */
static const char *only_efa(const struct ni_inventory *inv)
{
    const char *name = NULL;
    for (unsigned i = 0; i < inv->n_hca; i++) {
        if (inv->hca[i].claim >= 0 && !inv->hca[i].efa)
            return NULL;
        if (inv->hca[i].claim >= 0)
            name = inv->hca[i].name;
    }
    return name;
}

bool ni_wants_tcp(const struct ni_facts *facts)
{
    const char *net = ni_user_value(facts, "NCCL_NET");
    return facts->policy->mode == NI_MODE_TCP || ni_user_int(facts, "NCCL_IB_DISABLE", 0) != 0 ||
           (net && strcasecmp(net, "socket") == 0);
}

void ni_rule_transport(const struct ni_facts *facts, struct ni_plan *plan, struct ni_findings *f)
{
    if (facts->policy->mode == NI_MODE_OFF) {
        plan->transport = NI_NET_OFF;
        return;
    }
    const char *var, *other = other_network(facts, &var);
    plan->transport = NI_NET_RDMA;
    const char *efa = only_efa(facts->inv);
    if (efa && !other && facts->policy->mode != NI_MODE_TCP) {
        plan->transport = NI_NET_OTHER;
        ni_report(f, NI_F_NET_EFA, efa,
                  "the pod's devices are EFAs; no InfiniBand setting is made");
    } else if (other) {
        plan->transport = NI_NET_OTHER;
        ni_report(f, NI_F_USER_NET_OTHER, var, "%.64s is in use; no InfiniBand setting is made",
                  other);
    } else if (ni_wants_tcp(facts)) {
        plan->transport = NI_NET_TCP;
    }
}

/* No port is left: was there none, or is none usable? */
static void note_no_port(const struct ni_facts *facts, struct ni_findings *f)
{
    unsigned given = ni_given_hcas(facts->inv);
    if (facts->inv->source_unread)
        ni_report(f, NI_F_HCA_NONE_USABLE, "NCCL_IB_HCA",
                  "which RDMA devices the pod was given cannot be read: TCP is used");
    else if (given)
        ni_report(f, NI_F_HCA_NONE_USABLE, "NCCL_IB_HCA",
                  "%u RDMA device%s given, none usable: `NET/IB : No device found`, TCP is used",
                  given, given == 1 ? "" : "s");
    else
        ni_report(f, NI_F_HCA_NONE, "NCCL_IB_HCA", "the pod was given no RDMA device");
}

/* The user's NCCL_IB_HCA names devices that are not the pod's: said by hca.ports, not ours to
   switch off. */
static bool users_own_devices(const struct ni_facts *facts, const struct ni_plan *plan)
{
    const char *list = ni_user_value(facts, "NCCL_IB_HCA");
    return plan->transport == NI_NET_RDMA && plan->n_chosen == 0 && list && *list;
}

void ni_rule_ib_disable(const struct ni_facts *facts, struct ni_plan *plan, struct ni_findings *f)
{
    static const char rule[] = "ib.disable", name[] = "NCCL_IB_DISABLE";
    if (plan->transport == NI_NET_OTHER)
        return;
    if (plan->transport == NI_NET_TCP) {
        ni_decide_value(facts, plan, rule, name, "1", f,
                        facts->policy->mode == NI_MODE_TCP ? "--mode=tcp" : "TCP was chosen");
    } else if (plan->n_chosen > 0) {
        ni_decide_value(facts, plan, rule, name, "0", f, "%u RDMA port%s in use", plan->n_chosen,
                        plan->n_chosen == 1 ? "" : "s");
    } else if (!users_own_devices(facts, plan)) {
        note_no_port(facts, f);
        plan->transport = NI_NET_TCP;
        ni_decide_value(facts, plan, rule, name, "1", f,
                        "no usable RDMA port; without this NCCL would try every HCA it sees");
    }
}
