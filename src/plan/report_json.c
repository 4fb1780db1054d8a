/* SPDX-License-Identifier: Apache-2.0 */
/* The report of plan, in JSON. An unknown fact is null, and indexes become names, so that an
   object can be read alone. A member is never renamed or given another meaning without a new
   NI_JSON_SCHEMA; new ones may come. */
#include "plan/report_json.h"

#include "nccl_init/allocation.h"
#include "nccl_init/inventory.h"
#include "nccl_init/plan.h"
#include "nccl_init/process.h"
#include "nccl_init/text.h"
#include "plan/answer.h"
#include "plan/report.h"
#include "print/devices.h"
#include "print/findings.h"
#include "print/image.h"
#include "print/json_write.h"
#include "print/readiness.h"
#include "print/words.h"

static void put_allocation_json(struct ni_json *j, const struct ni_view *view, unsigned i)
{
    const struct ni_allocation *c = &view->inv->allocation[i];

    ni_json_text(j, "id", c->id);
    ni_json_text(j, "from", c->from);
    ni_json_text(j, "source", ni_source_words[c->source].json);
    ni_json_text(j, "hca", c->hca < 0 ? NULL : view->inv->hca[c->hca].name);
}

static void setting_json(struct ni_json *j, const struct ni_view *view, unsigned i)
{
    const struct ni_setting *s = &view->plan->setting[i];

    ni_json_text(j, "name", s->name);
    ni_json_text(j, "value", s->origin == NI_LEFT_UNSET ? NULL : s->value);
    ni_json_text(j, "origin", ni_origin_words[s->origin].json);
    ni_json_text_or_null(j, "rule", s->rule);
    ni_json_text_or_null(j, "file", s->origin == NI_FROM_CONF ? s->file : NULL);
    ni_json_text_or_null(j, "reason", s->reason);
    ni_json_text_or_null(j, "by_itself", s->by_itself);
}

/* Writes what NCCL's configuration files set and no rule decides; nothing if there is none. */
static void conf_json(struct ni_json *j, const struct ni_view *view)
{
    bool any = false;

    for (unsigned i = 0; i < view->inv->n_conf; i++) {
        const struct ni_conf_entry *e = &view->inv->conf[i];

        if (!ni_is_of_conf_alone(view, i))
            continue;
        if (!any)
            ni_json_array(j, "conf");
        any = true;
        ni_json_object(j, NULL);
        ni_json_text(j, "name", e->name);
        ni_json_text(j, "value", e->value);
        ni_json_text(j, "file", e->file);
        ni_json_end(j);
    }
    if (any)
        ni_json_end(j);
}

/* Writes the present limits, and those that `run` raises them to. */
static void memlock_json(struct ni_json *j, const struct ni_view *view)
{
    const struct ni_limit *to = &view->plan->memlock;
    const struct ni_self *self = &view->inv->self;

    ni_json_object(j, "memlock");
    ni_json_bytes(j, "soft", self->memlock_soft);
    ni_json_bytes(j, "hard", self->memlock_hard);
    ni_json_bytes(j, "soft_raised_to", ni_raised_limit(self->memlock_soft, to->soft));
    ni_json_bytes(j, "hard_raised_to", ni_raised_limit(self->memlock_hard, to->hard));
    ni_json_bool(j, "harmless", to->harmless);
    ni_json_end(j);
}

void ni_put_plan_json(struct ni_text *out, const struct ni_view *view)
{
    const struct ni_inventory *inv = view->inv;
    const struct ni_plan *plan = view->plan;
    struct ni_json json = ni_json_report(out), *j = &json;

    ni_json_text(j, "root", view->root);
    ni_json_text(j, "verdict", ni_readiness_words[ni_readiness_of(view, ni_plan_is_ready(view))]);
    ni_json_text(j, "transport", ni_transport_words[plan->transport].json);
    ni_json_text(j, "link", ni_link_words[ni_plan_link(view)].json);
    ni_json_text(j, "source", ni_source_words[inv->source].json);
    ni_json_text(j, "refuse", plan->refuse ? plan->refuse_why : NULL);
    ni_json_list(j, "claims", view, 0, inv->n_allocation, put_allocation_json);
    ni_json_devices(j, view, inv->n_hca);
    ni_json_list(j, "settings", view, 0, plan->n_setting, setting_json);
    conf_json(j, view);
    memlock_json(j, view);
    ni_json_image(j, view);
    ni_json_findings(j, view->findings);
    ni_json_end(j);
}
