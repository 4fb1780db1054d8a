/* SPDX-License-Identifier: Apache-2.0 */
/* The table of doctor's checks. Each is one function in the file of its subject, and none depends
   on another. */
#include "check.h"

#include <string.h>

static const struct {
    const char *id; /* permanent, dotted */
    ni_check_fn *run;
} checks[] = {
    {"rdma.netns", ni_check_netns},
    {"hca.node", ni_check_nodes},
    {"hca.port", ni_check_ports},
    {"hca.netdev", ni_check_netdevs},
    {"rdma.cm", ni_check_cm},
    {"rdma.cgroup", ni_check_cgroup},
    {"rail.rate", ni_check_rate},
    {"rail.given", ni_check_given},
    {"rail.mtu", ni_check_mtu},
    {"rail.firmware", ni_check_firmware},
    {"hca.counters", ni_check_counters},
    {"hca.qos", ni_check_traffic_class},
    {"pci.link", ni_check_links},
    {"iommu.type", ni_check_iommu},
    {"pci.acs", ni_check_acs},
    {"gpu.node", ni_check_gpu_nodes},
    {"gpu.place", ni_check_gpu_place},
    {"gdr.driver", ni_check_gdr_drivers},
    {"gpu.imex", ni_check_imex},
    {"nvshmem.ibgda", ni_check_ibgda},
    {"memlock.limit", ni_check_memlock},
    {"shm.size", ni_check_shm},
    {"host.name", ni_check_host_name},
    {"pid1.init", ni_check_init},
};

bool ni_saw(struct ni_checkup *c, bool known)
{
    c->judged += known;
    c->unknown += !known;
    return known;
}

static enum ni_outcome outcome_of(bool found, unsigned judged, unsigned unknown)
{
    return found         ? NI_CHECK_FOUND
           : judged > 0  ? NI_CHECK_OK
           : unknown > 0 ? NI_CHECK_UNKNOWN
                         : NI_CHECK_IDLE;
}

void ni_diagnose(const struct ni_facts *facts, const struct ni_plan *plan, struct ni_findings *f,
                 struct ni_diagnosis *ret)
{
    ret->n = 0;
    for (unsigned i = 0; i < NI_COUNT(checks); i++) {
        struct ni_checkup c = {.facts = facts, .inv = facts->inv, .plan = plan, .f = f};
        unsigned before = f->n + f->dropped;
        checks[i].run(&c);
        bool found = c.told || f->n + f->dropped > before;
        ret->at[ret->n++] =
            (struct ni_checked){checks[i].id, outcome_of(found, c.judged, c.unknown)};
    }
}

/* What `doctor --probe` adds: asked of the devices themselves, judged with the trials. */
void ni_diagnose_probes(const struct ni_trials *trials, const struct ni_findings *f,
                        struct ni_diagnosis *ret)
{
    const unsigned n = trials->n;
    const bool dmabuf = ni_findings_has(f, NI_F_VERBS_DMABUF);
    const bool gid = ni_findings_has(f, NI_F_VERBS_GID_DIFFERS);
    unsigned answers = 0, tables = 0;
    for (unsigned i = 0; i < n; i++) {
        const bool answered = trials->at[i].device.dmabuf != NI_UNSET;
        answers += answered;
        tables += answered && trials->at[i].gid_err == 0;
    }
    const struct ni_checked probes[] = {
        {"probe.device", outcome_of(ni_trials_passed(trials) < n, n, 0)},
        {"probe.dmabuf", outcome_of(dmabuf, answers, n - answers)},
        {"probe.gid", outcome_of(gid, tables, n - tables)},
    };
    _Static_assert(NI_COUNT(checks) + NI_COUNT(probes) <= NI_MAX_CHECK, "room for each");
    for (size_t i = 0; i < NI_COUNT(probes); i++)
        ret->at[ret->n++] = probes[i];
}

bool ni_is_chosen(const struct ni_inventory *inv, const struct ni_plan *plan, int hca)
{
    for (unsigned i = 0; i < plan->n_chosen; i++) {
        if (inv->port[plan->chosen[i]].hca == hca)
            return true;
    }
    return false;
}

void ni_list_begin(struct ni_list *list)
{
    list->text = ni_text_on(list->buf, sizeof(list->buf));
    list->n = list->left_out = 0;
}

void ni_list_add(struct ni_list *list, const char *name)
{
    enum { TAIL = 16 }; /* " and 4294967 more" is not to be expected */
    if (list->text.len + 2 + strlen(name) + TAIL >= list->text.cap) {
        list->left_out++;
        return;
    }
    ni_putf(&list->text, "%s%s", list->n > 0 ? ", " : "", name);
    list->n++;
}

const char *ni_list_end(struct ni_list *list)
{
    if (list->left_out > 0)
        ni_putf(&list->text, " and %u more", list->left_out);
    return list->buf;
}
