/* SPDX-License-Identifier: Apache-2.0 */
/* The rule ib.disable: NCCL_IB_DISABLE, and TCP if no port is left. */
#include "rules/ib_disable.h"

#include "findings/device.h"
#include "findings/setting.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/nccl_list.h"
#include "nccl_init/plan.h"
#include "rules/decide.h"
#include "rules/transport.h"

static const char disable[] = "NCCL_IB_DISABLE";

/* Reports that no HCA is left. then: what NCCL does. */
static void report_none(const struct ni_work *w, const char *then)
{
    static const char variable[] = "NCCL_IB_HCA";
    const unsigned given = ni_allocated_hcas(w->inv);
    struct ni_text devices = NI_TEXT(160);

    if (w->inv->source_unread) {
        ni_report(w->f, NI_F_HCA_NONE_USABLE, variable,
                  "it cannot be read which RDMA devices the pod was given: %s", then);
        return;
    }
    if (given == 0) {
        ni_report(w->f, NI_F_HCA_NONE, variable, "the pod was given no RDMA device");
        return;
    }
    ni_putf(&devices, "%u RDMA %s, and none", given, given == 1 ? "device" : "devices");
    if (w->policy->hcas)
        ni_putf(&devices, " of those in --hcas=%.80s", w->policy->hcas);
    ni_report(w->f, NI_F_HCA_NONE_USABLE, variable,
              "the pod was given %s is usable: `NET/IB : No device found`, %s", devices.buf, then);
}

/* Turns RDMA off where no port is left. NCCL_IB_DISABLE=1 does that. If the user has set it to 0,
   NCCL_IB_HCA=^ does: it selects no HCA. If the user has set both, RDMA stays on: the user's list is
   empty here, and an empty list takes all. */
static void turn_rdma_off(const struct ni_work *w)
{
    static const char variable[] = "NCCL_IB_HCA";
    const char *list = ni_user_value(w, variable);
    const bool user_enables = ni_user_value(w, disable) && ni_user_int(w, disable, 0) == 0;
    const bool stays_on = user_enables && list;

    if (list && ni_names_hcas(list))
        return; /* it is not empty, and hca.ports has judged it */
    if (!stays_on)
        w->plan->transport = NI_NET_TCP;
    report_none(w, stays_on ? "NCCL tries each that it can open" : "TCP is used");
    ni_decide_value(
        w, disable, "1",
        "no RDMA port is usable; without this value NCCL would try every HCA that it sees");
    if (user_enables)
        ni_decide_value(w, variable, "^",
                        "no RDMA port is usable, and your NCCL_IB_DISABLE keeps InfiniBand on; "
                        "this list selects no HCA");
}

void ni_rule_ib_disable(const struct ni_work *w)
{
    const unsigned n = w->plan->n_chosen;
    const char *net = ni_user_value(w, "NCCL_NET");
    const bool off = ni_user_int(w, disable, 0) != 0, ib = ni_allows_only_ib(w);

    if (w->plan->transport == NI_NET_OTHER)
        return;
    /* what forbids the only network that is allowed kills the job */
    if (ib && (off || n == 0))
        ni_report(w->f, NI_F_USER_NET_NONE, "NCCL_NET",
                  "%.40s allows no TCP, and %s: `Failed to initialize any NET plugin`", net,
                  off ? "your NCCL_IB_DISABLE allows no InfiniBand"
                      : "no RDMA port is usable; NCCL tries each that it can open, and fails if it "
                        "finds none");
    if (ib && w->policy->mode == NI_MODE_TCP)
        ni_report(w->f, NI_F_OPTION_INVALID, "--mode=tcp", "your NCCL_NET=%.40s allows no TCP",
                  net);
    if (w->plan->transport == NI_NET_TCP)
        ni_decide_value(w, disable, "1",
                        w->policy->mode == NI_MODE_TCP ? "--mode=tcp" : "TCP was chosen");
    else if (n > 0)
        ni_decide_value(w, disable, "0", "%u RDMA %s in use", n, n == 1 ? "port" : "ports");
    else if (ib)
        ni_decide_value(w, disable, NULL,
                        "no RDMA port is usable, but your NCCL_NET allows nothing else");
    else
        turn_rdma_off(w);
}
