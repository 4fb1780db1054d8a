/* SPDX-License-Identifier: Apache-2.0 */
/* The rule hca.list: NCCL_IB_HCA, the chosen ports by name. */
#include "rules/hca_list.h"

#include "nccl_init/findings.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "rules/chosen.h"
#include "rules/decide.h"
#include "rules/hca_node.h"

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
        struct ni_text node = NI_TEXT(96);

        ni_putf(&list, "%s%s:%u", i ? "," : "=", c.hca->name, c.port->num);
        /* doctor reports it as an error with its own reason (checks.c) */
        if (!w->inv->for_doctor && ni_put_node(&c.hca->uverbs, &node))
            ni_report(w->f, NI_F_HCA_NODE_LOST, c.hca->name,
                      "%s: NCCL leaves this HCA out, and uses sockets if it has no other",
                      node.buf);
    }
    ni_decide_value(w, variable, list.buf,
                    "%sthe pod's ACTIVE %s port%s in PCI order; the first `=` means exact names",
                    user && *user ? "of your list, " : "",
                    ni_chosen(w, 0).port->link == NI_LINK_IB ? "InfiniBand" : "RoCE",
                    n == 1 ? "" : "s");
}
