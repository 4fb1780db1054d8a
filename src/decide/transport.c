/* SPDX-License-Identifier: Apache-2.0 */
/* net.transport: whether NCCL's own InfiniBand transport is the one to set up at all.
   ib.disable: NCCL_IB_DISABLE, once it is known whether a port is left. */
#include <string.h>
#include <strings.h>

#include "rule.h"

static const char rule[] = "ib.disable", disable[] = "NCCL_IB_DISABLE";

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
        if (ni_is_given(&inv->hca[i]) && !inv->hca[i].efa)
            return NULL;
        if (ni_is_given(&inv->hca[i]))
            name = inv->hca[i].name;
    }
    return name;
}

/* NCCL_NET=IB, or a plugin of that family: NCCL then takes no other network and dies where that has no
   device (NCCL 2.30.7 plugin/net.cc ncclNetInit, ncclInvalidUsage). */
static bool only_ib(const struct ni_facts *facts)
{
    const char *net = ni_user_value(facts, "NCCL_NET");
    return net && *net && is_ib_family(net);
}

bool ni_wants_tcp(const struct ni_facts *facts)
{
    const char *net = ni_user_value(facts, "NCCL_NET");
    return !only_ib(facts) &&
           (facts->policy->mode == NI_MODE_TCP || ni_user_int(facts, "NCCL_IB_DISABLE", 0) != 0 ||
            (net && strcasecmp(net, "socket") == 0));
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

/* No port is left: was there none, or is none usable? then: what NCCL does. */
static void note_no_port(const struct ni_facts *facts, struct ni_findings *f, const char *then)
{
    unsigned given = ni_given_hcas(facts->inv);
    if (facts->inv->source_unread)
        ni_report(f, NI_F_HCA_NONE_USABLE, "NCCL_IB_HCA",
                  "which RDMA devices the pod was given cannot be read: %s", then);
    else if (given)
        ni_report(f, NI_F_HCA_NONE_USABLE, "NCCL_IB_HCA",
                  "%u RDMA device%s given, none usable: `NET/IB : No device found`, %s", given,
                  given == 1 ? "" : "s", then);
    else
        ni_report(f, NI_F_HCA_NONE, "NCCL_IB_HCA", "the pod was given no RDMA device");
}

/* Whether the user's NCCL_IB_HCA names devices: hca.ports has judged them, they are not ours to
   switch off. */
static bool users_own_devices(const struct ni_facts *facts)
{
    const char *list = ni_user_value(facts, "NCCL_IB_HCA");
    return list && *list;
}

/* Where no port is left, NCCL_IB_DISABLE makes sure of sockets, or where the user holds that at 0, a
   list that takes no device: an empty one is all. */
static void use_tcp(const struct ni_facts *facts, struct ni_plan *plan, struct ni_findings *f)
{
    bool held = ni_user_value(facts, disable) && ni_user_int(facts, disable, 0) == 0;
    bool all = held && ni_user_value(facts, "NCCL_IB_HCA");
    note_no_port(facts, f, all ? "NCCL tries each that it can open" : "TCP is used");
    if (!all)
        plan->transport = NI_NET_TCP;
    ni_decide_value(facts, plan, rule, disable, "1", f,
                    "no usable RDMA port; without this NCCL would try every HCA it sees");
    if (held)
        ni_decide_value(facts, plan, rule, "NCCL_IB_HCA", "^", f,
                        "no usable RDMA port, and your NCCL_IB_DISABLE keeps InfiniBand on: no "
                        "HCA at all");
}

/* NCCL_NET allows nothing but InfiniBand. */
static void check_only_ib(const struct ni_facts *facts, const struct ni_plan *plan,
                          struct ni_findings *f)
{
    const char *net = ni_user_value(facts, "NCCL_NET");
    bool off = ni_user_int(facts, disable, 0) != 0;
    if (off || plan->n_chosen == 0)
        ni_report(f, NI_F_USER_NET_NONE, "NCCL_NET", "%.40s allows no TCP, and %s: %s", net,
                  off ? "your NCCL_IB_DISABLE no InfiniBand" : "no RDMA port is usable",
                  "`Failed to initialize any NET plugin`");
    if (facts->policy->mode == NI_MODE_TCP)
        ni_report(f, NI_F_OPTION_INVALID, "--mode=tcp", "your NCCL_NET=%.40s allows no TCP", net);
}

void ni_rule_ib_disable(const struct ni_facts *facts, struct ni_plan *plan, struct ni_findings *f)
{
    if (plan->transport == NI_NET_OTHER)
        return;
    if (only_ib(facts))
        check_only_ib(facts, plan, f);
    if (plan->transport == NI_NET_TCP)
        ni_decide_value(facts, plan, rule, disable, "1", f,
                        facts->policy->mode == NI_MODE_TCP ? "--mode=tcp" : "TCP was chosen");
    else if (plan->n_chosen > 0)
        ni_decide_value(facts, plan, rule, disable, "0", f, "%u RDMA port%s in use", plan->n_chosen,
                        plan->n_chosen == 1 ? "" : "s");
    else if (only_ib(facts))
        ni_decide_value(facts, plan, rule, disable, NULL, f,
                        "no usable RDMA port, but your NCCL_NET allows nothing else");
    else if (!users_own_devices(facts))
        use_tcp(facts, plan, f);
}
