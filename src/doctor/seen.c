/* SPDX-License-Identifier: Apache-2.0 */
/* Words for what doctor saw. */
#include "doctor/seen.h"

#include <stdint.h>

#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/known.h"
#include "nccl_init/plan.h"
#include "nccl_init/text.h"
#include "print/words.h"

/* ---- numbers of several things: "9000", or "1500 to 9000" ---- */

void ni_range_add(struct ni_range *range, struct ni_num num)
{
    if (num.known != NI_KNOWN)
        return;
    if (range->n == 0 || num.v < range->least)
        range->least = num.v;
    if (range->n == 0 || num.v > range->most)
        range->most = num.v;
    range->n++;
}

void ni_put_range(struct ni_text *t, const struct ni_range *range, double unit, const char *name)
{
    if (range->n == 0)
        return;
    if (range->least != range->most)
        ni_putf(t, "%g%s to ", (double)range->least / unit, name);
    ni_putf(t, "%g%s", (double)range->most / unit, name);
}

/* ---- words ---- */

const char *ni_netns_word(const struct ni_inventory *inv)
{
    static const char *const words[] = {[NI_NETNS_UNKNOWN] = NULL,
                                        [NI_NETNS_SHARED] = "shared",
                                        [NI_NETNS_EXCLUSIVE] = "exclusive"};

    return words[inv->netns_mode];
}

const char *ni_finding_title(const struct ni_view *view, const struct ni_finding *f)
{
    static const char *const titles[][2] = {
        {"alloc.", "allocation"},  {"caps.", "capabilities"}, {"conf.", "nccl.conf"},
        {"fact.", "facts"},        {"gdr.", "GPUDirect"},     {"gid.", "GIDs"},
        {"hca.", "HCAs"},          {"net.", "network"},       {"nics.", "NICs"},
        {"option.", "options"},    {"require.", "demands"},   {"socket.", "interfaces"},
        {"user.", "your setting"}, {"verbs.", "self-test"},
    };
    const struct ni_setting *setting = ni_plan_get(view->plan, f->subject);

    if (setting && setting->origin == NI_FROM_CONF)
        return "nccl.conf";
    for (unsigned i = 0; i < NI_COUNT(titles); i++) {
        if (ni_has_prefix(ni_finding_id(f->id), titles[i][0]))
            return titles[i][1];
    }
    return "node";
}
