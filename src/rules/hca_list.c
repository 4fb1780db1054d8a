/* SPDX-License-Identifier: Apache-2.0 */
/* The rule hca.list: NCCL_IB_HCA, the chosen ports by name. */
#include "rules/hca_list.h"

#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "rules/chosen.h"
#include "rules/decide.h"

static const char variable[] = "NCCL_IB_HCA";

void ni_rule_hca_list(const struct ni_work *w)
{
    const unsigned n = w->plan->n_chosen;
    const char *user = ni_user_value(w, variable);
    struct ni_text list = NI_TEXT(NI_VALUE);

    if (n == 0)
        return;
    for (unsigned i = 0; i < n; i++) {
        const struct ni_chosen c = ni_chosen(w, i);

        ni_putf(&list, "%s%s:%u", i ? "," : "=", c.hca->name, c.port->num);
    }
    const char *of = user && *user ? "of your list, " : "";
    const char *network = ni_chosen(w, 0).port->link == NI_LINK_IB ? "InfiniBand" : "RoCE";
    const char *ports = n == 1 ? "port" : "ports";
    ni_decide_value(w, variable, list.buf,
                    "%sthe pod's ACTIVE %s %s in PCI order; the first `=` means exact names", of,
                    network, ports);
}
