/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict on a pod: may its job start, and with how many of its rails. */
#include "print/readiness.h"

#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/plan.h"
#include "nccl_init/text.h"
#include "print/findings.h"
#include "print/layout.h"
#include "print/words.h"

const char *const ni_readiness_words[] = {
    [NI_NOT_READY] = "not ready",
    [NI_READY] = "ready",
    [NI_READY_FOR_TCP] = "tcp only",
    [NI_READY_WITH_FEWER] = "fewer rails",
};

/* Returns the number of rails that the pod was given and that are left out: ports for their state,
   and devices for their name, one each, whose ports are not known. */
static unsigned count_lost(const struct ni_view *view)
{
    unsigned n = view->inv->n_unnamed;

    for (unsigned i = 0; i < view->inv->n_port; i++)
        n += view->plan->port[i].lost;
    return n;
}

enum ni_readiness ni_readiness_of(const struct ni_view *view, bool ready)
{
    const struct ni_plan *plan = view->plan;
    const bool rdma = plan->transport == NI_NET_RDMA;

    if (!ready)
        return NI_NOT_READY;
    if (plan->transport == NI_NET_TCP || (rdma && plan->n_chosen == 0))
        return NI_READY_FOR_TCP;
    return rdma && count_lost(view) > 0 ? NI_READY_WITH_FEWER : NI_READY;
}

enum ni_tint ni_readiness_tint(const struct ni_view *view, bool ready)
{
    if (!ready)
        return NI_RED;
    return ni_findings_count(view->findings, NI_WARNING) > 0 ? NI_YELLOW : NI_GREEN;
}

void ni_put_counts(struct ni_text *out, const struct ni_findings *all)
{
    const char *comma = "";

    for (int severity = NI_ERROR; severity >= NI_INFO; severity--) {
        const unsigned n = ni_count_shown_findings(all, (enum ni_severity)severity);

        if (n == 0)
            continue;
        ni_putf(out, "%s%u %s%s", comma, n, ni_severity_text((enum ni_severity)severity),
                ni_plural(n));
        comma = ", ";
    }
    if (!*comma)
        ni_put(out, "no findings");
}

void ni_put_readiness(struct ni_text *out, const struct ni_view *view, bool ready, bool counted)
{
    const enum ni_readiness is = ni_readiness_of(view, ready);
    const bool rdma = view->plan->transport == NI_NET_RDMA;
    const unsigned n = view->plan->n_chosen, given = n + count_lost(view);

    if (is == NI_NOT_READY)
        ni_put(out, "NOT READY");
    else if (is == NI_READY_FOR_TCP)
        ni_put(out, "READY for TCP only");
    else if (is == NI_READY_WITH_FEWER || (counted && rdma))
        ni_putf(out, "READY with %u of %u rail%s", n, given, ni_plural(given));
    else
        ni_put(out, "READY");
    ni_put(out, ": ");
    ni_put_counts(out, view->findings);
}
