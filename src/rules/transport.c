/* SPDX-License-Identifier: Apache-2.0 */
/* net.transport: whether NCCL's own InfiniBand transport is to be set up at all.
   ib.disable: NCCL_IB_DISABLE, once it is known whether a port is left for it. */
#include "rules/transport.h"

#include <string.h>
#include <strings.h>

#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/nccl_list.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "rules/decide.h"

static const char disable[] = "NCCL_IB_DISABLE";

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

/* A value of NCCL_NET that is the name of no network: NCCL compares all of it, an empty one too, and
   knows `none` in NCCL_NET_PLUGIN alone (2.30.7 init.cc envConfigOverride, plugin/net.cc ncclNetInit;
   2.20.5 net.cc ncclNetInit). */
static bool is_no_network(const char *net)
{
    static const char blanks[] = " \t\r\n";
    const size_t n = strlen(net);
    return n == 0 || strcasecmp(net, "none") == 0 || strchr(blanks, net[0]) ||
           strchr(blanks, net[n - 1]);
}

/* NCCL_NET or NCCL_NET_PLUGIN, where it names a network that is neither InfiniBand nor sockets. */
static const char *other_network(const struct ni_work *w)
{
    static const char *const names[] = {"NCCL_NET", "NCCL_NET_PLUGIN"};
    for (unsigned i = 0; i < NI_COUNT(names); i++) {
        const char *v = ni_user_value(w, names[i]);
        if (v && !is_no_network(v) && strcasecmp(v, "socket") != 0 && !is_ib_family(v))
            return names[i];
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

/* NCCL_NET=IB, or a plugin of that family: NCCL takes no other network then, and dies where that has
   no device (plugin/net.cc). */
static bool only_ib(const struct ni_work *w)
{
    const char *net = ni_user_value(w, "NCCL_NET");
    return net && !is_no_network(net) && is_ib_family(net);
}

const char *ni_tcp_cause(const struct ni_work *w)
{
    const char *net = ni_user_value(w, "NCCL_NET");
    if (only_ib(w))
        return NULL;
    return w->policy->mode == NI_MODE_TCP          ? "--mode=tcp"
           : ni_user_int(w, disable, 0) != 0       ? "your NCCL_IB_DISABLE"
           : net && strcasecmp(net, "socket") == 0 ? "your NCCL_NET"
                                                   : NULL;
}

void ni_rule_transport(const struct ni_work *w)
{
    static const char nothing[] = "no InfiniBand setting is made";
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
        ni_report(w->f, NI_F_USER_NET_OTHER, other, "%.64s is in use; %s", ni_user_value(w, other),
                  nothing);
    else if (efa && mode != NI_MODE_TCP)
        ni_report(w->f, NI_F_NET_EFA, efa, "the pod's devices are EFAs; %s", nothing);
    else
        w->plan->transport = ni_tcp_cause(w) ? NI_NET_TCP : NI_NET_RDMA;
}

/* No port is left. NCCL_IB_DISABLE=1 makes sure of sockets; where the user holds that at 0, a list
   that takes no device does. Where the user's NCCL_IB_HCA names none it takes all: nothing helps. */
static void without_port(const struct ni_work *w)
{
    static const char variable[] = "NCCL_IB_HCA";
    const char *list = ni_user_value(w, variable), *hcas = w->policy->hcas;
    const bool held = ni_user_value(w, disable) && ni_user_int(w, disable, 0) == 0;
    const char *then = held && list ? "NCCL tries each that it can open" : "TCP is used";
    const unsigned given = ni_given_hcas(w->inv);
    if (list && ni_names_hcas(list))
        return; /* it names devices: hca.ports has judged them */
    if (!held || !list)
        w->plan->transport = NI_NET_TCP;
    if (w->inv->source_unread)
        ni_report(w->f, NI_F_HCA_NONE_USABLE, variable,
                  "which RDMA devices the pod was given cannot be read: %s", then);
    else if (given)
        ni_report(w->f, NI_F_HCA_NONE_USABLE, variable,
                  "%u RDMA device%s given, none usable%s%.80s: `NET/IB : No device found`, %s",
                  given, given == 1 ? "" : "s", hcas ? " of those in --hcas=" : "",
                  hcas ? hcas : "", then);
    else
        ni_report(w->f, NI_F_HCA_NONE, variable, "the pod was given no RDMA device");
    ni_decide_value(w, disable, "1",
                    "no usable RDMA port; without this NCCL would try every HCA it sees");
    if (held)
        ni_decide_value(w, variable, "^",
                        "no usable RDMA port, and your NCCL_IB_DISABLE keeps InfiniBand on: no "
                        "HCA at all");
}

void ni_rule_ib_disable(const struct ni_work *w)
{
    const unsigned n = w->plan->n_chosen;
    const char *net = ni_user_value(w, "NCCL_NET");
    const bool off = ni_user_int(w, disable, 0) != 0, ib = only_ib(w);
    if (w->plan->transport == NI_NET_OTHER)
        return;
    /* what forbids the only network that is allowed kills the job */
    if (ib && (off || n == 0))
        ni_report(w->f, NI_F_USER_NET_NONE, "NCCL_NET",
                  "%.40s allows no TCP, and %s: `Failed to initialize any NET plugin`", net,
                  off ? "your NCCL_IB_DISABLE no InfiniBand"
                      : "no RDMA port is usable; NCCL tries each that it can open, and with none");
    if (ib && w->policy->mode == NI_MODE_TCP)
        ni_report(w->f, NI_F_OPTION_INVALID, "--mode=tcp", "your NCCL_NET=%.40s allows no TCP",
                  net);
    if (w->plan->transport == NI_NET_TCP)
        ni_decide_value(w, disable, "1",
                        w->policy->mode == NI_MODE_TCP ? "--mode=tcp" : "TCP was chosen");
    else if (n > 0)
        ni_decide_value(w, disable, "0", "%u RDMA port%s in use", n, n == 1 ? "" : "s");
    else if (ib)
        ni_decide_value(w, disable, NULL,
                        "no usable RDMA port, but your NCCL_NET allows nothing else");
    else
        without_port(w);
}
