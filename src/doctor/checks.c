/* SPDX-License-Identifier: Apache-2.0 */
/* The checks of doctor, and how they are made. None depends on another. */
#include "doctor/checks.h"

#include "doctor/check.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/gpu.h"
#include "nccl_init/inventory.h"
#include "nccl_init/known.h"
#include "nccl_init/rdma.h"
#include "rules/decide.h"

static const struct ni_check *const checks[] = {
    &ni_check_netns,    &ni_check_node,     &ni_check_port, &ni_check_cgroup, &ni_check_rate,
    &ni_check_mtu,      &ni_check_counters, &ni_check_qos,  &ni_check_link,   &ni_check_iommu,
    &ni_check_gpu_node, &ni_check_place,    &ni_check_gdr,  &ni_check_imex,   &ni_check_ibgda,
    &ni_check_memlock,  &ni_check_shm,      &ni_check_host, &ni_check_init,   &ni_check_image,
};

_Static_assert(NI_COUNT(checks) <= NI_MAX_CHECK, "room for each");

bool ni_saw(struct ni_judging *c, bool known)
{
    c->judged += known;
    c->unknown += !known;
    return known;
}

bool ni_is_decided(enum ni_known fact)
{
    return fact == NI_KNOWN || fact == NI_ABSENT;
}

bool ni_has_nvidia(const struct ni_judging *c)
{
    return c->inv->n_gpu > 0 && !c->inv->gpu[0].amd;
}

static bool is_listed(const ni_finding_number list[NI_MAX_CHECK_FINDINGS],
                      ni_finding_number finding)
{
    for (unsigned i = 0; i < NI_MAX_CHECK_FINDINGS; i++) {
        if (list[i] == finding)
            return true;
    }
    return false;
}

const struct ni_check *ni_check_of(ni_finding_number finding)
{
    for (unsigned i = 0; i < NI_COUNT(checks); i++) {
        if (is_listed(checks[i]->findings, finding) || is_listed(checks[i]->beside, finding))
            return checks[i];
    }
    return NULL;
}

static bool has_finding(const struct ni_findings *f, const struct ni_check *check)
{
    for (unsigned i = 0; i < f->n; i++) {
        if (is_listed(check->findings, f->at[i].id))
            return true;
    }
    return false;
}

static enum ni_check_outcome outcome_of(const struct ni_check *check, const struct ni_judging *c)
{
    if (has_finding(c->f, check))
        return NI_CHECK_FOUND;
    if (c->judged > 0)
        return NI_CHECK_OK;
    return c->unknown > 0 ? NI_CHECK_UNKNOWN : NI_CHECK_IDLE;
}

/* Judges all that the check looks at. */
static void judge(const struct ni_check *check, struct ni_judging *c)
{
    const struct ni_inventory *inv = c->inv;

    if (check->whole)
        check->whole(c);
    for (unsigned i = 0; check->hca && i < inv->n_hca; i++) {
        if (ni_is_allocated(&inv->hca[i]))
            check->hca(c, &inv->hca[i]);
    }
    for (unsigned i = 0; check->port && i < inv->n_port; i++) {
        if (ni_is_allocated(&inv->hca[inv->port[i].hca]))
            check->port(c, &inv->port[i], ni_port_name(inv, (int)i).text);
    }
}

void ni_diagnose(const struct ni_work *w, struct ni_diagnosis *ret)
{
    ret->n = 0;
    for (unsigned i = 0; i < NI_COUNT(checks); i++) {
        struct ni_judging c = {.w = w, .inv = w->inv, .plan = w->plan, .f = w->f};

        judge(checks[i], &c);
        ret->at[ret->n].check = checks[i];
        ret->at[ret->n].outcome = outcome_of(checks[i], &c);
        ret->n++;
    }
}
