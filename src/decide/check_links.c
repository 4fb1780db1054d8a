/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of links that work, but not as well as they can: PCIe, error counters, traffic class. */
#include <string.h>

#include "check.h"

/* A GPU that idles lowers its speed (nvidia-smi: "may be reduced when the GPU is not in use"). */
static void judge_pcie(const struct ni_pcie *link, const char *name, bool gpu, struct ni_seen *seen,
                       struct ni_findings *f)
{
    const struct ni_num *now = link->now, *most = link->most;
    bool slow = false, known = true;
    for (unsigned i = 0; i < NI_PCIE_N; i++) {
        bool both = now[i].known == NI_KNOWN && most[i].known == NI_KNOWN && now[i].v > 0;
        known = known && both;
        slow = slow || (now[i].v < most[i].v && !(gpu && i == NI_PCIE_SPEED));
    }
    seen->judged += known;
    seen->unknown += !known;
    if (known && slow)
        ni_report(
            f, NI_F_PCI_LINK_SLOW, name,
            "the PCIe link is x%lld at %lld.%lld GT/s; device and slot can do x%lld at %lld.%lld "
            "GT/s",
            (long long)now[NI_PCIE_WIDTH].v, (long long)now[NI_PCIE_SPEED].v / 1000,
            (long long)now[NI_PCIE_SPEED].v % 1000 / 100, (long long)most[NI_PCIE_WIDTH].v,
            (long long)most[NI_PCIE_SPEED].v / 1000, (long long)most[NI_PCIE_SPEED].v % 1000 / 100);
}

enum ni_outcome ni_check_pcie(const struct ni_facts *facts, const struct ni_plan *plan,
                              struct ni_findings *f)
{
    const struct ni_inventory *inv = facts->inv;
    struct ni_seen seen = {0};
    char bdf[NI_BDF_TEXT];
    (void)plan;
    for (unsigned i = 0; i < inv->n_hca; i++) {
        if (ni_is_given(&inv->hca[i]) && inv->hca[i].has_bdf)
            judge_pcie(&inv->health.hca[i].link, inv->hca[i].name, false, &seen, f);
    }
    for (unsigned i = 0; i < inv->n_gpu; i++)
        judge_pcie(&inv->health.gpu_link[i], ni_bdf_text(inv->gpu[i].bdf, bdf), true, &seen, f);
    return ni_seen_outcome(&seen);
}

/* "since the driver was loaded, 62 days at most: symbol_error 3412, link_downed 14" */
static bool list_counters(const struct ni_health *h, unsigned port, bool link, struct ni_text *t)
{
    bool any = false;
    ni_put(t, "since the driver was loaded");
    if (h->uptime.known == NI_KNOWN)
        ni_putf(t, ", %lld days at most", (long long)(h->uptime.v / 86400) + 1);
    for (unsigned i = 0; i < NI_N_COUNTER; i++) {
        const struct ni_num *n = &h->counter[port][i];
        if (ni_counters[i].link != link || n->known != NI_KNOWN || n->v < ni_counters[i].least)
            continue;
        ni_putf(t, "%s%s %lld", any ? ", " : ": ", strchr(ni_counters[i].file, '/') + 1,
                (long long)n->v);
        any = true;
    }
    return any;
}

enum ni_outcome ni_check_counters(const struct ni_facts *facts, const struct ni_plan *plan,
                                  struct ni_findings *f)
{
    const struct ni_inventory *inv = facts->inv;
    struct ni_seen seen = {0};
    (void)plan;
    for (unsigned i = 0; i < inv->n_port; i++) {
        if (!ni_is_given(&inv->hca[inv->port[i].hca]))
            continue;
        bool known = false;
        for (unsigned k = 0; k < NI_N_COUNTER; k++)
            known = known || inv->health.counter[i][k].known == NI_KNOWN;
        seen.judged += known;
        seen.unknown += !known;
        for (unsigned link = 0; link < 2; link++) {
            char name[NI_DEV_NAME + 8], list[280];
            struct ni_text t = ni_text_on(list, sizeof(list));
            if (list_counters(&inv->health, i, link, &t))
                ni_report(f, link ? NI_F_HCA_ERRORS_LINK : NI_F_HCA_ERRORS_TRANSPORT,
                          ni_port_text(inv, (int)i, name), "%s", list);
        }
    }
    return ni_seen_outcome(&seen);
}

/* mlx5_ib of MLNX_OFED and DOCA puts it into each queue pair that the kernel modifies. */
enum ni_outcome ni_check_traffic_class(const struct ni_facts *facts, const struct ni_plan *plan,
                                       struct ni_findings *f)
{
    const struct ni_inventory *inv = facts->inv;
    struct ni_seen seen = {0};
    (void)plan;
    for (unsigned i = 0; i < inv->n_port; i++) {
        const struct ni_num *class = &inv->health.traffic_class[i];
        char name[NI_DEV_NAME + 8];
        if (!ni_is_given(&inv->hca[inv->port[i].hca]) || inv->port[i].link != NI_LINK_ROCE)
            continue;
        seen.judged += class->known == NI_KNOWN;
        seen.unknown += class->known != NI_KNOWN;
        if (class->known == NI_KNOWN && class->v >= 0)
            ni_report(f, NI_F_HCA_TRAFFIC_CLASS, ni_port_text(inv, (int)i, name),
                      "the driver gives each queue pair traffic class %lld (DSCP %lld), whatever "
                      "NCCL_IB_TC says; those made through DevX (GIN, IBGDA) keep their own",
                      (long long)class->v, (long long)class->v >> 2);
    }
    return ni_seen_outcome(&seen);
}
