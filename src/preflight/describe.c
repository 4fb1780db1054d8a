/* SPDX-License-Identifier: Apache-2.0 */
/* Description of this pod for the others of the job: its rails, and its settings as NCCL will
   have them. */
#include "preflight/describe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nccl_init/inventory.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "preflight/job.h"
#include "rail/describe.h"
#include "rail/step.h"
#include "rules/decide.h"
#include "rules/job_settings.h"

/* ---- facts of the pod, and settings ---- */

void ni_add_setting(struct ni_pod *pod, const char *name, const char *value)
{
    struct ni_pod_setting *s = &pod->setting[pod->n_setting];

    (void)ni_copy(s->name, sizeof(s->name), name);
    (void)ni_copyn(s->value, sizeof(s->value), value, strnlen(value, sizeof(s->value) - 1));
    pod->n_setting += value[0] != '\0';
}

/* Describes the settings that NCCL will have: those of the user or a file, otherwise those of the
   plan. Equal values become equal texts: 0x10 is 16 (NCCL reads numbers by strtoll with base 0). */
static void describe_settings(const struct ni_work *w, struct ni_pod *pod)
{
    for (unsigned i = 0; i < NI_N_JOB_SETTING; i++) {
        const struct ni_job_setting *row = &ni_job_settings[i];
        char buf[24];
        const char *value = ni_user_value(w, row->name);
        const struct ni_setting *ours = value ? NULL : ni_plan_get(w->plan, row->name);
        char *end;

        if (ours && ours->origin == NI_FROM_RULE)
            value = ours->value;
        /* an empty number is NCCL's default (2.30.7 misc/param.cc); IB by name, or by default, is
           seen in the transport */
        if (!row->otherwise || !value || !*value ||
            (w->plan->transport != NI_NET_OTHER && strcmp(row->name, "NCCL_NET") == 0))
            continue;
        const long long number = strtoll(value, &end, 0);
        (void)ni_format(buf, sizeof(buf), "%lld", number);
        value = *end == '\0' ? buf : value;
        if (strcmp(value, row->otherwise) != 0)
            ni_add_setting(pod, row->name, value);
    }
}

/* ---- rails ---- */

/* Describes the ports of the pod's HCAs that the plan left out, as many as there is room for: so a
   pod that has a rail less than the others says why. */
static void describe_left_out(const struct ni_work *w, struct ni_pod *pod)
{
    struct ni_text all = ni_text_on(pod->left_out, sizeof(pod->left_out));

    for (unsigned i = 0; i < w->inv->n_port; i++) {
        const struct ni_port_plan *plan = &w->plan->port[i];
        struct ni_text one = NI_TEXT(NI_LEFT_OUT);

        if (plan->chosen || !ni_is_allocated(&w->inv->hca[w->inv->port[i].hca]))
            continue;
        ni_putf(&one, "%s%s: %s", all.len > 0 ? "; " : "", ni_port_name(w->inv, (int)i).text,
                plan->why);
        if (all.len + one.len < all.cap)
            ni_put(&all, one.buf);
    }
}

void ni_describe_pod(const struct ni_work *w, struct ni_pod *ret, struct ni_rail *rail,
                     struct ni_pod_setting *setting)
{
    const struct ni_inventory *inv = w->inv;
    static const char *const network[] = {[NI_NET_OFF] = "undecided (--mode=off)",
                                          [NI_NET_RDMA] = "RDMA",
                                          [NI_NET_TCP] = "sockets",
                                          [NI_NET_OTHER] = "another plugin"};
    char number[12];

    ret->here = true;
    ret->transport = w->plan->transport;
    ret->rail = rail;
    ret->setting = setting;
    ret->n_rail = ret->n_setting = 0;
    ret->left_out[0] = '\0';
    if (w->plan->transport == NI_NET_RDMA) {
        describe_left_out(w, ret);
        for (; ret->n_rail < w->plan->n_chosen; ret->n_rail++)
            ni_describe_rail(w, w->plan->chosen[ret->n_rail], &rail[ret->n_rail]);
        (void)ni_format(number, sizeof(number), "%u", ret->n_rail);
        ni_add_setting(ret, "rails", number);
    }
    (void)ni_format(number, sizeof(number), "%u", inv->n_gpu);
    ni_add_setting(ret, "GPUs", number);
    ni_add_setting(ret, "network", network[w->plan->transport]);
    ni_add_setting(ret, "GPU driver", inv->drivers.nvidia_version);
    describe_settings(w, ret);
}
