/* SPDX-License-Identifier: Apache-2.0 */
/* The rule require: --require and its short forms are demands. A demand that does not hold stops
   the command before it starts, with a reason; a demand that cannot be judged does not hold. The
   reasons of all demands stand here, also of those that are judged later: after the limit was
   raised, the ports were tried, the pods have met. */
#include "rules/require.h"

#include <string.h>

#include "findings/device.h"
#include "findings/setting.h"
#include "nccl_init/base.h"
#include "nccl_init/caps.h"
#include "nccl_init/errno.h"
#include "nccl_init/findings.h"
#include "nccl_init/gpu.h"
#include "nccl_init/inventory.h"
#include "nccl_init/known.h"
#include "nccl_init/number.h"
#include "nccl_init/pci.h"
#include "nccl_init/plan.h"
#include "nccl_init/process.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "rules/chosen.h"
#include "rules/decide.h"
#include "rules/gdr.h"
#include "rules/hca_node.h"
#include "rules/nccl_nics.h"
#include "rules/pci_quirks.h"
#include "rules/privileges.h"
#include "rules/transport.h"

/* ---- each demand holds, or says on `why` what is missing; those after rdma hold only if it does ---- */

/* Puts the first finding of a rule that says that NCCL will not use RDMA as planned. false: there is
   none. */
static bool put_finding_against(const struct ni_work *w, struct ni_text *why)
{
    static const ni_finding_number against[] = {
        NI_F_USER_NET_OTHER,  NI_F_NET_EFA,          NI_F_USER_NET_NONE,     NI_F_HCA_NONE,
        NI_F_HCA_NONE_USABLE, NI_F_USER_HCA_NONE,    NI_F_USER_HCA_LEFT_OUT, NI_F_GID_OWNER_UNKNOWN,
        NI_F_USER_GID_WRONG,  NI_F_GID_SEARCH_WRONG, NI_F_USER_SOCKET_NONE,  NI_F_USER_NICS_APART,
    };

    for (unsigned i = 0; i < w->f->n; i++) {
        const struct ni_finding *f = &w->f->at[i];

        for (unsigned k = 0; k < NI_COUNT(against); k++) {
            if (f->id != against[k])
                continue;
            ni_put(why, f->message);
            if (f->id != NI_F_HCA_NONE && f->id != NI_F_HCA_NONE_USABLE)
                ni_putf(why, " (%s)", f->subject);
            return true;
        }
    }
    return false;
}

/* Puts the first chosen HCA whose device node does not open, or may not. false: there is none. */
static bool put_closed_node(const struct ni_work *w, struct ni_text *why)
{
    for (unsigned i = 0; i < w->plan->n_chosen; i++) {
        const struct ni_chosen c = ni_chosen(w, i);
        const enum ni_known known = c.hca->uverbs.known;
        struct ni_text node = NI_TEXT(96);

        if (known == NI_DENIED || known == NI_BAD)
            ni_put(&node, "its device node cannot be seen");
        if (node.len == 0 && !ni_put_node(&c.hca->uverbs, &node))
            continue;
        ni_putf(why, "%s: %s", c.hca->name, node.buf);
        return true;
    }
    return false;
}

/* Returns true if NCCL will use RDMA. *why: the reason why not. */
static bool has_rdma(const struct ni_work *w, struct ni_text *why)
{
    const char *tcp = ni_tcp_cause(w);

    if (put_finding_against(w, why) || put_closed_node(w, why))
        return false;
    if (tcp)
        ni_putf(why, "%s chooses sockets", tcp);
    else if ((w->plan->needs & NI_NEED_UVERBS) && w->inv->uverbs_unread)
        ni_put(why, "your NCCL_IB_HCA may take more ports: it is not known which nodes in "
                    "/dev/infiniband open");
    else if (w->plan->n_chosen > 0)
        return true;
    else
        ni_put(why, "no RDMA port is usable");
    return false;
}

static bool has_roce_v2(const struct ni_work *w, struct ni_text *why)
{
    for (unsigned i = 0; i < w->plan->n_chosen; i++) {
        const struct ni_chosen c = ni_chosen(w, i);

        if (c.gid && c.gid->type == NI_GID_V2)
            continue;
        ni_putf(why, "%s %s", ni_port_name(w->inv, c.at).text,
                c.port->link == NI_LINK_ROCE ? "has no RoCE v2 GID of this pod"
                                             : "is an InfiniBand port");
        return false;
    }
    return true;
}

/* Returns true if a chosen port before this one is of the same rail. */
static bool shares_rail(const struct ni_work *w, unsigned i)
{
    const struct ni_chosen c = ni_chosen(w, i);

    for (unsigned k = 0; k < i; k++) {
        const struct ni_chosen other = ni_chosen(w, k);

        if (c.port->num == other.port->num && ni_share_port(c.hca, other.hca))
            return true;
    }
    return false;
}

/* Returns true if the pod has as many rails as are demanded. HCAs that share a port of a NIC share
   its cable, so they are one rail. An HCA whose place is not known does not count. */
static bool has_rails(const struct ni_work *w, struct ni_text *why)
{
    const unsigned given = ni_allocated_hcas(w->inv);
    unsigned rails = 0;

    for (unsigned i = 0; i < w->plan->n_chosen; i++) {
        const struct ni_hca *h = ni_chosen(w, i).hca;
        const bool has_place = h->has_bdf || h->pci.none;

        if (has_place && !shares_rail(w, i))
            rails++;
    }
    if (rails >= w->policy->rails)
        return true;
    ni_putf(why, "only %u usable %s ", rails, rails == 1 ? "rail" : "rails");
    ni_putf(why, "from %u %s of the pod", given, given == 1 ? "HCA" : "HCAs");
    return false;
}

/* ---- gpus, gdr ---- */

static bool has_gpus(const struct ni_work *w, struct ni_text *why)
{
    const struct ni_inventory *inv = w->inv;

    if (inv->n_gpu == 0)
        ni_put(why, "the pod has no GPU: no /dev/nvidiaN, no /dev/kfd");
    else if (inv->gpu_node[0])
        ni_putf(why, "opening /dev/%s gives %s", inv->gpu_node, NI_ERRNO(inv->gpu_node_err));
    return inv->n_gpu > 0 && !inv->gpu_node[0];
}

/* Puts why a GPU does not reach the NIC that NCCL takes for it. */
static void put_too_far(const struct ni_work *w, unsigned gpu, enum ni_distance distance,
                        const char *name, struct ni_text *why)
{
    const struct ni_near *near = &w->plan->nearest_hca[gpu];
    const bool users =
        ni_user_value(w, "NCCL_NET_GDR_LEVEL") || ni_user_value(w, "NCCL_NET_GDR_C2C");
    const char *level = users ? "your NCCL_NET_GDR_LEVEL or NCCL_NET_GDR_C2C"
                              : "the level in force; --gdr raises it";
    char bdf[NI_BDF_TEXT];

    ni_bdf_text(w->inv->gpu[gpu].bdf, bdf);
    if (distance <= near->distance)
        ni_putf(why, "the distance from GPU %s to its nearest HCA is %s (%s), beyond %s", bdf,
                ni_distance_text(distance), name, level);
    else
        ni_putf(why,
                "NCCL takes %s for GPU %s, at distance %s, beyond %s; %s is nearer (%s), but NCCL "
                "ranks bandwidth before distance",
                name, bdf, ni_distance_text(distance), level, w->inv->hca[near->index].name,
                ni_distance_text(near->distance));
    if (w->plan->taken[gpu].fused)
        ni_put(why,
               " (deduced, as NCCL 2.30 and later fuse NICs; older ones may place it elsewhere)");
    else if (ni_may_use_pxn(w) && !ni_has_nvlink(w))
        ni_put(why, " (deduced from the PCI tree; over NVLink NCCL may use another GPU's HCA)");
}

/* Returns true if each GPU reaches the NIC that NCCL takes for it within the level. With NVLink-C2C
   that is the nearest. */
static bool is_near_enough(const struct ni_work *w, struct ni_text *why)
{
    const enum ni_distance level = ni_gdr_level(w);
    const char *topo = ni_topo_file(w->inv);

    if (topo && level != NI_DIST_SYS) {
        ni_putf(why,
                "nccl-init does not read %s, which says how far GPUs and HCAs are from each other; "
                "--gdr=SYS allows any distance",
                topo);
        return false;
    }
    for (unsigned g = 0; g < w->inv->n_gpu && level != NI_DIST_SYS; g++) {
        const struct ni_near *near = &w->plan->nearest_hca[g];
        const struct ni_taken *taken = ni_plan_taken(w->plan, w->inv, g);
        const enum ni_distance distance = taken ? taken->distance : near->distance;
        const enum ni_distance gdr = taken ? taken->gdr : near->distance;
        struct ni_text name = NI_TEXT(160);
        char bdf[NI_BDF_TEXT];

        if (near->index >= 0 && gdr <= level)
            continue;
        if (near->index < 0) {
            ni_putf(why, "the place of GPU %s on the PCI tree is %s",
                    ni_bdf_text(w->inv->gpu[g].bdf, bdf), ni_known_text(w->inv->gpu[g].pci.known));
            return false;
        }
        if (!taken || distance <= near->distance)
            ni_put(&name, w->inv->hca[near->index].name);
        else
            ni_put_taken(w, g, &name);
        put_too_far(w, g, distance, name.buf, why);
        return false;
    }
    return true;
}

static bool is_of_device(const char *path)
{
    return ni_has_prefix(path, "sys/bus/pci/devices/") ||
           ni_has_prefix(path, "sys/class/infiniband/");
}

/* Returns the file of a PCI device or an HCA that could not be read, or NULL. */
static const char *unreadable_device_file(const struct ni_work *w)
{
    for (unsigned i = 0; i < w->f->n; i++) {
        const struct ni_finding *it = &w->f->at[i];

        if (it->id == NI_F_FACT_UNREADABLE && is_of_device(it->subject))
            return it->subject;
    }
    return NULL;
}

/* Which HCA NCCL takes for a GPU depends on the rates, links and places of all: a demand that cannot
   be judged does not hold. */
static bool is_each_device_read(const struct ni_work *w, struct ni_text *why)
{
    const char *path = unreadable_device_file(w);

    if (!path)
        return true;
    ni_putf(why, "%s cannot be read, and NCCL's choice of an HCA for each GPU may depend on it",
            path);
    return false;
}

static bool has_gdr(const struct ni_work *w, struct ni_text *why)
{
    static const char read[] = "NCCL_NET_GDR_READ";
    const char *no = NULL;

    if (!has_gpus(w, why))
        return false;
    if (w->policy->gdr == NI_DIST_LOC)
        no = "--gdr=off switches it off";
    else if (ni_user_int(w, read, 1) == 0)
        no = ni_is_no_number(ni_user_value(w, read))
                 ? "your NCCL_NET_GDR_READ is a word: NCCL up to 2.31.2 reads 0, and does not send "
                   "by it"
                 : "NCCL_NET_GDR_READ=0 switches it off for sending";
    else if (ni_can_gdr(w, &no) && ni_findings_has(w->f, NI_F_GDR_DMABUF_RCCL))
        no = "RCCL before ROCm 7.12 needs NCCL_DMABUF_ENABLE=1 if there is no peer memory module";
    if (no)
        ni_put(why, no);
    return !no && is_near_enough(w, why) && is_each_device_read(w, why);
}

/* ---- the demands ---- */

static const struct demand {
    unsigned bit;
    ni_finding_number id;
    const char *word;
    const char *short_form; /* NULL: it has none */
    /* Judges by the plan; all but gpus also need RDMA. NULL: the same as rdma, or judged later. */
    bool (*holds)(const struct ni_work *w, struct ni_text *why);
} demands[] = {
    {NI_REQUIRE_RDMA, NI_F_REQUIRE_RDMA, "rdma", "--mode=rdma", NULL},
    {NI_REQUIRE_GPUS, NI_F_REQUIRE_GPUS, "gpus", NULL, has_gpus},
    {NI_REQUIRE_RAILS, NI_F_REQUIRE_RAILS, "rails", NULL, has_rails},
    {NI_REQUIRE_ROCE_V2, NI_F_REQUIRE_ROCE_V2, "roce-v2", NULL, has_roce_v2},
    {NI_REQUIRE_GDR, NI_F_REQUIRE_GDR, "gdr", NULL, has_gdr},
    {NI_REQUIRE_MEMLOCK, NI_F_REQUIRE_MEMLOCK, "memlock", NULL, NULL},
    {NI_REQUIRE_SELFTEST, NI_F_REQUIRE_SELFTEST, "selftest", "--selftest=require", NULL},
    {NI_REQUIRE_PREFLIGHT, NI_F_REQUIRE_PREFLIGHT, "preflight", "--preflight=require", NULL},
    /* what was tried must also be what NCCL uses */
    {NI_REQUIRE_GDR_TRIED, NI_F_REQUIRE_GDR_TRIED, "gdr-tried", NULL, has_gdr},
};

/* Demands that need RDMA, and demands that the plan alone decides. */
enum {
    BY_GDR = NI_REQUIRE_GDR | NI_REQUIRE_GDR_TRIED,
    BY_RDMA = NI_REQUIRE_RDMA | NI_REQUIRE_RAILS | NI_REQUIRE_ROCE_V2 | BY_GDR,
    BY_PLAN = BY_RDMA | NI_REQUIRE_GPUS
};

/* Returns the demand of the first of these bits. */
static const struct demand *demand_of(unsigned bits)
{
    for (size_t i = 0; i < NI_COUNT(demands); i++) {
        if (demands[i].bit & bits)
            return &demands[i];
    }
    return NULL;
}

/* Puts the demand as the user wrote it. */
static void put_demand(struct ni_text *t, const struct ni_policy *policy, const struct demand *d)
{
    if (d->short_form && (policy->short_forms & d->bit))
        ni_put(t, d->short_form);
    else
        ni_putf(t, "--require=%s", d->word);
    if (d->bit == NI_REQUIRE_RAILS)
        ni_putf(t, "=%u", policy->rails);
}

/* Reports a demand that does not hold, and adds it to the reason as long as there is room. */
static void refuse_demand(const struct ni_work *w, const struct demand *d, ni_finding_number id,
                          const char *why)
{
    struct ni_plan *plan = w->plan;
    struct ni_text demand = NI_TEXT(48);
    char all[sizeof(plan->refuse_why)], option[24];

    put_demand(&demand, w->policy, d);
    const bool fits = ni_format(all, sizeof(all), "%s%s%s, but %s", plan->refuse_why,
                                plan->refuse ? "; " : "", demand.buf, why);
    const bool told = !plan->refuse || fits;
    if (told)
        (void)ni_copy(plan->refuse_why, sizeof(plan->refuse_why), all);
    plan->refuse = true;
    (void)ni_copyn(option, sizeof(option), demand.buf, strcspn(demand.buf, "="));
    struct ni_finding *finding = ni_report(w->f, id, option, "%s, but %s", demand.buf, why);
    if (finding && told)
        finding->in_refusal = true;
}

void ni_refuse_demand(const struct ni_work *w, unsigned bits, const char *why)
{
    const struct demand *d = demand_of(w->policy->require & bits);

    if (d)
        refuse_demand(w, d, d->id, why);
}

/* ---- the rule ---- */

/* Refuses demands that cannot be understood. Their findings were reported when they were read. */
static void refuse_unclear(const struct ni_work *w)
{
    if (!w->policy->unclear[0])
        return;
    w->plan->refuse = true;
    (void)ni_copy(w->plan->refuse_why, sizeof(w->plan->refuse_why), w->policy->unclear);
}

void ni_rule_require(const struct ni_work *w)
{
    const unsigned require = w->policy->require;
    const unsigned tried = NI_REQUIRE_SELFTEST | NI_REQUIRE_PREFLIGHT;
    const bool off = w->plan->transport == NI_NET_OFF;
    struct ni_text no_rdma = NI_TEXT(NI_REASON);

    refuse_unclear(w);
    if (require & NI_REQUIRE_RAILS)
        w->plan->needs |= NI_NEED_PFS;
    if (require & BY_GDR) {
        w->plan->needs |= NI_NEED_ALL_GDR;
        ni_want_numa(w);
        ni_want_bandwidth(w);
    }
    const bool rdma = (require & BY_PLAN) == 0 || has_rdma(w, &no_rdma);
    for (const struct demand *d = demands; d < demands + NI_COUNT(demands); d++) {
        struct ni_text why = NI_TEXT(NI_REASON);

        if ((require & d->bit & (off ? BY_PLAN | tried : BY_PLAN)) == 0)
            continue;
        if (off)
            ni_put(&why, "--mode=off looks at nothing");
        else if (!rdma && (d->bit & BY_RDMA))
            ni_put(&why, no_rdma.buf);
        else if (!d->holds || d->holds(w, &why))
            continue;
        refuse_demand(w, d, d->id, why.buf);
    }
}

/* ---- memlock, which is judged when the limit was raised ---- */

/* This program has the capability from its file, and a command of a user other than root only by
   --keep-caps. */
static bool may_keep_lock(const struct ni_work *w)
{
    const struct ni_self *s = &w->inv->self;

    return ni_has_cap(s->cap_prm, CAP_IPC_LOCK) && s->user_namespace != NI_USERNS_OWN &&
           !ni_has_cap(w->plan->caps.drop, CAP_IPC_LOCK);
}

void ni_require_memlock(const struct ni_work *w, int64_t soft, bool may_lock)
{
    const unsigned require = w->policy->require;
    const bool demanded = (require & NI_REQUIRE_MEMLOCK) != 0;
    /* a demand for RDMA includes the memory of its first connection */
    const bool hopeless =
        w->plan->n_chosen > 0 && soft <= ni_memlock_hopeless && !w->policy->command_elsewhere;
    const struct demand *d = demand_of(demanded ? NI_REQUIRE_MEMLOCK : require & BY_RDMA);
    struct ni_text why = NI_TEXT(300);

    if (!d || (!demanded && !hopeless))
        return;
    if (w->plan->transport == NI_NET_OFF) {
        ni_put(&why, "--mode=off raises nothing");
    } else if (soft >= ni_memlock_enough ||
               (may_lock && w->inv->self.user_namespace != NI_USERNS_OWN)) {
        return;
    } else if (soft < 0) {
        ni_put(&why, "the limit is not known (/proc/self/limits)");
    } else {
        ni_put(&why, "only ");
        ni_put_bytes(&why, soft / 1024 * 1024);
        ni_put(&why, " can be locked: ");
        /* the plan has a higher limit, and it may be raised, so raising it failed */
        if (w->plan->memlock.soft > soft && ni_may_raise_memlock(&w->inv->self))
            ni_put(&why, "raising it failed");
        else if (may_keep_lock(w))
            ni_put(&why, "CAP_IPC_LOCK is permitted: add --keep-caps=ipc_lock");
        else
            ni_memlock_why(w, &why);
    }
    refuse_demand(w, d, NI_F_REQUIRE_MEMLOCK, why.buf);
}

void ni_require_planned_memlock(const struct ni_work *w)
{
    const struct ni_self *s = &w->inv->self;
    const bool known = s->memlock_soft.known == NI_KNOWN && s->memlock_hard.known == NI_KNOWN;

    ni_require_memlock(w, known ? w->plan->memlock.soft : -1, ni_command_may_lock(w));
}
