/* SPDX-License-Identifier: Apache-2.0 */
/* The first screens of plan and topo: may the job start, and with which settings; how near are the
   rails to the GPUs. */
#include "plan/answer.h"

#include "nccl_init/findings.h"
#include "nccl_init/gpu.h"
#include "nccl_init/inventory.h"
#include "nccl_init/pci.h"
#include "nccl_init/plan.h"
#include "nccl_init/text.h"
#include "plan/report.h"
#include "plan/topo.h"
#include "print/answer.h"
#include "print/command.h"
#include "print/layout.h"
#include "print/readiness.h"
#include "print/words.h"

bool ni_plan_is_ready(const struct ni_view *view)
{
    return !view->plan->refuse && ni_findings_count(view->findings, NI_ERROR) == 0;
}

/* Puts the lines to export, and the names of what is set already. */
static void put_settings(struct ni_text *out, const struct ni_view *view)
{
    const struct ni_plan *plan = view->plan;
    struct ni_text kept = NI_TEXT(NI_MAX_SETTING * 2 * NI_DEV_NAME);
    const char *before = "\n";

    for (unsigned i = 0; i < plan->n_setting; i++) {
        const struct ni_setting *s = &plan->setting[i];

        if (s->origin == NI_FROM_RULE) {
            ni_put(out, before);
            ni_put_export(out, s->name, s->value);
            before = "";
        } else if (s->origin != NI_LEFT_UNSET) {
            ni_putf(&kept, "%s%s", kept.len > 0 ? ", " : "", s->name);
        }
    }
    ni_put_item(out, "set already, and kept", kept.buf);
}

/* Puts that the command would not be started; and why, unless the errors below say it. */
static void put_refusal(struct ni_text *out, const struct ni_view *view)
{
    const struct ni_findings *all = view->findings;
    bool said = false;

    if (!view->plan->refuse)
        return;
    for (unsigned i = 0; i < all->n; i++)
        said = said || all->at[i].in_refusal;
    if (said)
        ni_put(out, "  The command would not be started.\n");
    else
        ni_put_item(out, "The command would not be started", view->plan->refuse_why);
}

/* Puts what carries the job's data, and where the facts are from, below the verdict. */
static void put_about(struct ni_text *above, const struct ni_view *view)
{
    struct ni_text about = NI_TEXT(1024);

    ni_put_transport(&about, view);
    ni_put(&about, "; ");
    ni_put_origin(&about, view);
    ni_put(above, "  ");
    ni_put_paragraph(above, 2, about.buf);
}

void ni_put_plan_answer(struct ni_text *out, const struct ni_view *view)
{
    const bool ready = ni_plan_is_ready(view);
    struct ni_text verdict = NI_TEXT(128), above = ni_long_text();

    ni_put_readiness(&verdict, view, ready, true);
    put_about(&above, view);
    put_refusal(&above, view);
    put_settings(&above, view);
    ni_put_answer(out, view,
                  &(struct ni_answer){
                      .verdict = verdict.buf,
                      .tint = ni_readiness_tint(view, ready),
                      .above = above.buf,
                      .below = "",
                      .node = "nccl-init doctor",
                      .all = "nccl-init plan --all",
                  });
    ni_free_text(&above);
}

/* ---- topo ---- */

/* Returns how far the NIC is that NCCL takes for the GPU. */
static enum ni_distance distance_of(const struct ni_view *view, unsigned gpu)
{
    const struct ni_taken *taken = ni_plan_taken(view->plan, view->inv, gpu);

    return taken ? taken->distance : view->plan->nearest_hca[gpu].distance;
}

/* Puts "4 GPUs, 4 rails: PIX for 2, PXB for 2". */
static void put_distances(struct ni_text *out, const struct ni_view *view)
{
    const unsigned gpus = view->inv->n_gpu, rails = view->plan->n_chosen;
    const char *comma = ": ";

    ni_putf(out, "%u GPU%s, %u rail%s", gpus, ni_plural(gpus), rails, ni_plural(rails));
    if (gpus == 0 || rails == 0)
        return;
    if (ni_flat_gpu(view->inv) >= 0) {
        ni_put(out, ": distances are not known, the PCI tree is flattened");
        return;
    }
    for (int d = NI_DIST_UNKNOWN; d <= NI_DIST_SYS; d++) {
        unsigned n = 0;

        for (unsigned i = 0; i < gpus; i++)
            n += (int)distance_of(view, i) == d;
        if (n == 0)
            continue;
        ni_putf(out, "%s%s for %u", comma,
                d == NI_DIST_UNKNOWN ? "not known" : ni_distance_text((enum ni_distance)d), n);
        comma = ", ";
    }
}

void ni_put_topo_answer(struct ni_text *out, const struct ni_view *view)
{
    const bool ready = ni_plan_is_ready(view);
    struct ni_text verdict = NI_TEXT(512), above = ni_long_text();

    put_distances(&verdict, view);
    ni_put(&verdict, ": ");
    ni_put_counts(&verdict, view->findings);
    put_about(&above, view);
    ni_put_gpu_table(&above, view);
    ni_put_answer(out, view,
                  &(struct ni_answer){
                      .verdict = verdict.buf,
                      .tint = ni_readiness_tint(view, ready),
                      .above = above.buf,
                      .below = "",
                      .all = "nccl-init topo --all",
                  });
    ni_free_text(&above);
}
