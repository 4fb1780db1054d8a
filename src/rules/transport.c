/* SPDX-License-Identifier: Apache-2.0 */
/* The rule net.transport: whether NCCL's own InfiniBand transport is to be set up at all. */
#include "rules/transport.h"

#include <string.h>
#include <strings.h>

#include "findings/device.h"
#include "findings/setting.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "rules/decide.h"

static const char disable[] = "NCCL_IB_DISABLE";

/* HPC-X's and AMD's for its own NICs (NVIDIA/nccl#1357; ROCm/amd-anp net_ib.cc). ROCM-IB and IB-
   CAST are RCCL's own (2.28.3 and later, plugin/net.cc). */
bool ni_is_ib_plugin(const char *plugin)
{
    static const char *const parts[] = {"sharp", "SHARP", "hpcx", "spcx", "anp", "ANP"};

    for (unsigned i = 0; i < NI_COUNT(parts); i++) {
        if (strstr(plugin, parts[i]))
            return true;
    }
    return strncasecmp(plugin, "ib", 2) == 0 || strcasecmp(plugin, "rocm-ib") == 0;
}

/* Returns true if a value of NCCL_NET names no network. NCCL compares all of it, even an empty one,
   and knows `none` in NCCL_NET_PLUGIN alone (2.30.7 init.cc envConfigOverride, plugin/net.cc
   ncclNetInit; 2.20.5 net.cc ncclNetInit). */
static bool is_no_network(const char *net)
{
    static const char blanks[] = " \t\r\n";
    const size_t n = strlen(net);

    return n == 0 || strcasecmp(net, "none") == 0 || strchr(blanks, net[0]) ||
           strchr(blanks, net[n - 1]);
}

/* Returns the name of NCCL's own network that a word means which is not its name; NULL: none. */
static const char *meant_network(const char *net)
{
    static const struct {
        const char *word, *network;
    } meant[] = {
        {"infiniband", "IB"},  {"rdma", "IB"},    {"roce", "IB"},         {"verbs", "IB"},
        {"sockets", "Socket"}, {"tcp", "Socket"}, {"ethernet", "Socket"},
    };

    for (unsigned i = 0; i < NI_COUNT(meant); i++) {
        if (strcasecmp(net, meant[i].word) == 0)
            return meant[i].network;
    }
    return NULL;
}

/* Reports what the user's choice of a network comes to. A plugin may have any name, so that a word
   that NCCL does not know is a mistake only if no plugin is named. */
static void report_other(const struct ni_work *w, const char *other, const char *nothing)
{
    const char *net = ni_user_value(w, other);
    const char *meant = ni_user_value(w, "NCCL_NET_PLUGIN") ? NULL : meant_network(net);

    if (meant)
        ni_report(w->f, NI_F_USER_NET_NONE, other,
                  "NCCL has no network of the name `%.40s`; its own are called IB and Socket, and "
                  "here %s is meant. Unless a plugin has this name: "
                  "`Failed to initialize any NET plugin`",
                  net, meant);
    else
        ni_report(w->f, NI_F_USER_NET_OTHER, other, "%.64s is in use; %s", net, nothing);
}

/* Returns NCCL_NET or NCCL_NET_PLUGIN if it names a network that is neither InfiniBand nor
   sockets. */
static const char *other_network(const struct ni_work *w)
{
    static const char *const names[] = {"NCCL_NET", "NCCL_NET_PLUGIN"};

    for (unsigned i = 0; i < NI_COUNT(names); i++) {
        const char *v = ni_user_value(w, names[i]);

        if (v && !is_no_network(v) && strcasecmp(v, "socket") != 0 && !ni_is_ib_plugin(v))
            return names[i];
    }
    return NULL;
}

/* Returns the name of one of the pod's devices if all are Amazon's EFA, which the OFI plugin drives
   and NCCL's own transport cannot; otherwise NULL. */
static const char *only_efa(const struct ni_inventory *inv)
{
    const char *name = NULL;

    for (unsigned i = 0; i < inv->n_hca; i++) {
        if (ni_is_allocated(&inv->hca[i]) && !inv->hca[i].efa)
            return NULL;
        if (ni_is_allocated(&inv->hca[i]))
            name = inv->hca[i].name;
    }
    return name;
}

/* Returns true for NCCL_NET=IB, or a plugin of that family: then NCCL takes no other network, and
   ends if that one has no device (plugin/net.cc). */
bool ni_allows_only_ib(const struct ni_work *w)
{
    const char *net = ni_user_value(w, "NCCL_NET");

    return net && !is_no_network(net) && ni_is_ib_plugin(net);
}

/* Returns the variable by which the user chose sockets; NULL: there is none. */
static const char *tcp_variable(const struct ni_work *w)
{
    const char *net = ni_user_value(w, "NCCL_NET");

    if (ni_user_int(w, disable, 0) != 0)
        return disable;
    return net && strcasecmp(net, "socket") == 0 ? "NCCL_NET" : NULL;
}

const char *ni_tcp_cause(const struct ni_work *w)
{
    const char *variable = tcp_variable(w);

    if (ni_allows_only_ib(w))
        return NULL;
    if (w->policy->mode == NI_MODE_TCP)
        return "--mode=tcp";
    if (!variable)
        return NULL;
    return strcmp(variable, disable) == 0 ? "your NCCL_IB_DISABLE" : "your NCCL_NET";
}

/* Returns true if the user's NCCL_NET keeps NCCL from the plugin for EFA: NCCL then has its own IB
   transport alone, which cannot use an EFA, or sockets. */
static bool forbids_efa(const struct ni_work *w, const char *net)
{
    return ni_allows_only_ib(w) || (net && strcasecmp(net, "socket") == 0);
}

/* Reports that a variable of the user's, and not --mode=tcp, keeps NCCL from the HCAs that the pod
   was given. */
static void report_rdma_off(const struct ni_work *w)
{
    const char *variable = tcp_variable(w);
    const unsigned given = ni_allocated_hcas(w->inv);

    if (w->policy->mode == NI_MODE_TCP || !variable || given == 0)
        return;
    ni_report(w->f, NI_F_USER_RDMA_OFF, variable,
              "your value %.40s turns RDMA off; the pod was given %u %s, and NCCL will use none",
              ni_user_value(w, variable), given, given == 1 ? "HCA" : "HCAs");
}

void ni_rule_transport(const struct ni_work *w)
{
    static const char nothing[] = "no InfiniBand variable is set";
    const enum ni_mode mode = w->policy->mode;
    const char *other = other_network(w), *efa = only_efa(w->inv);
    const char *net = ni_user_value(w, "NCCL_NET");

    w->plan->transport = NI_NET_OTHER;
    if (mode != NI_MODE_OFF && net && is_no_network(net))
        ni_report(w->f, NI_F_USER_NET_NONE, "NCCL_NET",
                  "no network is called `%.40s`: `Failed to initialize any NET plugin`", net);
    if (mode == NI_MODE_OFF)
        w->plan->transport = NI_NET_OFF;
    else if (other)
        report_other(w, other, nothing);
    else if (efa && mode != NI_MODE_TCP && !forbids_efa(w, net))
        ni_report(w->f, NI_F_NET_EFA, efa, "the pod's devices are EFAs: %s", nothing);
    else if (!ni_tcp_cause(w))
        w->plan->transport = NI_NET_RDMA;
    else {
        w->plan->transport = NI_NET_TCP;
        report_rdma_off(w);
    }
}
