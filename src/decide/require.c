/* SPDX-License-Identifier: Apache-2.0 */
/* require: --mode=rdma and --require are demands. What does not hold stops the command before it
   starts, with a reason; what cannot be judged does not hold. */
#include <string.h>

#include "rule.h"

/* ---- each demand holds, or says on `why` what is missing; those behind rdma hold only if it does ---- */

/* Against RDMA speaks what a rule has found; the first is told. */
static bool has_rdma(const struct ni_work *w, struct ni_text *why)
{
    static const enum ni_finding_id against[] = {
        NI_F_USER_NET_OTHER,  NI_F_NET_EFA,          NI_F_USER_NET_NONE,     NI_F_HCA_NONE,
        NI_F_HCA_NONE_USABLE, NI_F_USER_HCA_NONE,    NI_F_USER_HCA_LEFT_OUT, NI_F_GID_OWNER_UNKNOWN,
        NI_F_USER_GID_WRONG,  NI_F_GID_SEARCH_WRONG, NI_F_USER_SOCKET_NONE,
    };
    const char *tcp = ni_tcp_cause(w);
    for (unsigned i = 0; i < w->f->n; i++) {
        const struct ni_finding *f = &w->f->at[i];
        for (unsigned k = 0; k < NI_COUNT(against); k++) {
            if (f->id != against[k])
                continue;
            ni_put(why, f->message);
            if (f->id != NI_F_HCA_NONE && f->id != NI_F_HCA_NONE_USABLE)
                ni_putf(why, " (%s)", f->subject);
            return false;
        }
    }
    for (unsigned i = 0; i < w->plan->n_chosen; i++) {
        const struct ni_chosen c = ni_chosen(w, i);
        const enum ni_known known = c.hca->uverbs.known;
        struct ni_text node = NI_TEXT(96);
        if (known == NI_DENIED || known == NI_BAD)
            ni_put(&node, "its device node is not known");
        if (node.len == 0 && !ni_put_node(&c.hca->uverbs, &node))
            continue;
        ni_putf(why, "%s: %s", c.hca->name, node.buf);
        return false;
    }
    if (tcp)
        ni_putf(why, "%s chooses sockets", tcp);
    else if ((w->plan->wants & NI_WANT_UVERBS) && w->inv->uverbs_unread)
        ni_put(why, "your NCCL_IB_HCA may take more: what opens in /dev/infiniband is not known");
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

/* HCAs that share a port of a NIC share its cable: one rail. Where one sits must be known for that. */
static bool has_rails(const struct ni_work *w, struct ni_text *why)
{
    const unsigned given = ni_given_hcas(w->inv);
    unsigned rails = 0;
    for (unsigned i = 0; i < w->plan->n_chosen; i++) {
        const struct ni_chosen c = ni_chosen(w, i);
        bool own = c.hca->has_bdf || c.hca->pci.none;
        for (unsigned k = 0; k < i; k++) {
            const struct ni_chosen other = ni_chosen(w, k);
            own = own && (c.port->num != other.port->num || !ni_share_port(c.hca, other.hca));
        }
        rails += own;
    }
    if (rails < w->policy->rails)
        ni_putf(why, "only %u usable rail%s of %u given HCA%s", rails, rails == 1 ? "" : "s", given,
                given == 1 ? "" : "s");
    return rails >= w->policy->rails;
}

/* ---- gpus, gdr ---- */

static bool has_gpus(const struct ni_work *w, struct ni_text *why)
{
    const struct ni_inventory *inv = w->inv;
    if (inv->n_gpu == 0)
        ni_put(why, "the pod has no GPU: no /dev/nvidiaN, no /dev/kfd");
    else if (inv->gpu_node[0])
        ni_putf(why, "opening /dev/%s gives %s", inv->gpu_node, ni_errno_name(-inv->gpu_node_err));
    return inv->n_gpu > 0 && !inv->gpu_node[0];
}

/* NCCL_NET_GDR_LEVEL in force. What NCCL does not know it ignores, and goes up to PXB. P2C is over
   NVLink-C2C and what lies at the same CPU, which is PHB on the PCI tree, and NCCL's default with C2C
   (NCCL 2.30.7 graph/paths.cc ncclTopoCheckGdr). */
static enum ni_distance level_in_force(const struct ni_work *w)
{
    static const char name[] = "NCCL_NET_GDR_LEVEL";
    const bool c2c = w->inv->gdr.c2c && ni_user_int(w, "NCCL_NET_GDR_C2C", 1) != 0;
    const struct ni_setting *s = ni_plan_get(w->plan, name);
    /* with --for of other libraries only, NCCL's settings are in no plan */
    const char *value = s ? s->value : ni_user_value(w, name);
    const enum ni_distance level = value ? ni_parse_level(value) : NI_DIST_UNKNOWN;
    if (level == NI_DIST_UNKNOWN || level == NI_DIST_P2C || level == NI_DIST_PXN)
        return c2c ? NI_DIST_PHB : NI_DIST_PXB;
    return level;
}

/* Each GPU reaches its nearest HCA. */
static bool is_near_enough(const struct ni_work *w, struct ni_text *why)
{
    const enum ni_distance level = level_in_force(w);
    for (unsigned g = 0; g < w->inv->n_gpu && level != NI_DIST_SYS; g++) {
        const struct ni_near *near = &w->plan->nearest_hca[g];
        const struct ni_gpu *gpu = &w->inv->gpu[g];
        char bdf[NI_BDF_TEXT];
        if (near->index >= 0 && near->distance <= level)
            continue;
        ni_bdf_text(gpu->bdf, bdf);
        if (near->index < 0)
            ni_putf(why, "where GPU %s sits on the PCI tree is %s", bdf,
                    ni_known_text(gpu->pci.known));
        else
            ni_putf(why,
                    "GPU %s is as far as %s from its nearest HCA, %s, beyond NCCL_NET_GDR_LEVEL",
                    bdf, ni_distance_text(near->distance), w->inv->hca[near->index].name);
        return false;
    }
    return true;
}

static bool has_gdr(const struct ni_work *w, struct ni_text *why)
{
    const char *no = NULL;
    if (!has_gpus(w, why))
        return false;
    if (w->policy->gdr == NI_DIST_LOC)
        no = "--gdr=off switches it off";
    else if (w->inv->gdr.gb10)
        no = "a GB10 has no GPUDirect RDMA";
    else if (ni_user_int(w, "NCCL_NET_GDR_READ", 1) == 0)
        no = "NCCL_NET_GDR_READ=0 switches it off for what is sent";
    else if (ni_can_gdr(w, &no) && ni_findings_has(w->f, NI_F_GDR_DMABUF_RCCL))
        no = "RCCL before ROCm 7.12 needs NCCL_DMABUF_ENABLE=1 where no peer memory module is "
             "there";
    if (no)
        ni_put(why, no);
    return !no && is_near_enough(w, why);
}

/* ---- the rule ---- */

/* One demand that does not hold: a finding, and part of the reason as long as there is room. */
static void refuse(const struct ni_work *w, enum ni_finding_id id, const char *option,
                   const char *value, const char *why)
{
    struct ni_plan *plan = w->plan;
    char all[sizeof(plan->refuse_why)];
    const bool fits = ni_format(all, sizeof(all), "%s%s%s=%s, but %s", plan->refuse_why,
                                plan->refuse ? "; " : "", option, value, why);
    if (!plan->refuse || fits)
        (void)ni_copy(plan->refuse_why, sizeof(plan->refuse_why), all);
    plan->refuse = true;
    ni_report(w->f, id, option, "%s=%s, but %s", option, value, why);
}

static const struct demand {
    unsigned bit;
    enum ni_finding_id id;
    const char *word;
    bool (*holds)(const struct ni_work *w, struct ni_text *why); /* NULL: as rdma */
} demands[] = {
    {NI_REQUIRE_RDMA, NI_F_REQUIRE_RDMA, "rdma", NULL},
    {NI_REQUIRE_GPUS, NI_F_REQUIRE_GPUS, "gpus", has_gpus},
    {NI_REQUIRE_RAILS, NI_F_REQUIRE_RAILS, "rails", has_rails},
    {NI_REQUIRE_ROCE_V2, NI_F_REQUIRE_ROCE_V2, "roce-v2", has_roce_v2},
    {NI_REQUIRE_GDR, NI_F_REQUIRE_GDR, "gdr", has_gdr},
};

void ni_rule_require(const struct ni_work *w)
{
    const struct ni_policy *p = w->policy;
    const bool off = w->plan->transport == NI_NET_OFF, mode = p->mode == NI_MODE_RDMA;
    struct ni_text no_rdma = NI_TEXT(NI_REASON);
    char rails[24];
    (void)ni_format(rails, sizeof(rails), "rails=%u", p->rails);
    if (!p->require && !mode)
        return;
    if (p->require & NI_REQUIRE_RAILS)
        w->plan->wants |= NI_WANT_PFS;
    if (p->require & NI_REQUIRE_GDR) {
        w->plan->wants |= NI_WANT_ALL_GDR;
        ni_want_numa(w);
    }
    const bool rdma = has_rdma(w, &no_rdma);
    if (mode && !rdma)
        refuse(w, NI_F_REQUIRE_RDMA, "--mode", "rdma", no_rdma.buf);
    for (const struct demand *d = demands; d < demands + NI_COUNT(demands); d++) {
        struct ni_text why = NI_TEXT(200);
        if ((p->require & d->bit) == 0)
            continue;
        if (off)
            ni_put(&why, "--mode=off looks at nothing");
        else if (!rdma && d->holds != has_gpus)
            ni_put(&why, no_rdma.buf);
        else if (!d->holds || d->holds(w, &why))
            continue;
        refuse(w, d->id, "--require", d->holds == has_rails ? rails : d->word, why.buf);
    }
}

/* ---- memlock, which is judged when the limit was raised ---- */

void ni_require_memlock(const struct ni_work *w, int64_t soft, bool may_lock)
{
    const unsigned require = w->policy->require & ~(unsigned)NI_REQUIRE_GPUS;
    const bool mode = w->policy->mode == NI_MODE_RDMA;
    const bool demanded = (require & NI_REQUIRE_MEMLOCK) != 0;
    /* who demands RDMA demands what its first connection needs */
    const bool hopeless = w->plan->n_chosen > 0 && soft <= ni_memlock_hopeless;
    const char *word = demanded ? "memlock" : "rdma";
    struct ni_text why = NI_TEXT(300);
    if (!demanded && !((mode || require) && hopeless))
        return;
    if (w->plan->transport == NI_NET_OFF) {
        ni_put(&why, "--mode=off raises nothing");
    } else if (soft >= ni_memlock_enough ||
               (may_lock && w->inv->self.user_namespace != NI_USERNS_OWN)) {
        return;
    } else if (soft < 0) {
        ni_put(&why, "the limit is not known (/proc/self/limits)");
    } else {
        ni_putf(&why, "only %lld KiB can be locked: ", (long long)(soft / 1024));
        /* the plan meant it to be higher, and it could be raised: so raising failed */
        if (w->plan->memlock.soft > soft && ni_may_raise_memlock(&w->inv->self))
            ni_put(&why, "raising it failed");
        else
            ni_memlock_why(w, &why);
    }
    for (unsigned i = NI_COUNT(demands); i-- > 0 && !demanded && !mode;)
        word = require & demands[i].bit ? demands[i].word : word;
    refuse(w, NI_F_REQUIRE_MEMLOCK, demanded || !mode ? "--require" : "--mode", word, why.buf);
}

void ni_require_planned_memlock(const struct ni_work *w)
{
    const struct ni_self *s = &w->inv->self;
    const bool known = s->memlock_soft.known == NI_KNOWN && s->memlock_hard.known == NI_KNOWN;
    ni_require_memlock(w, known ? w->plan->memlock.soft : -1, ni_command_may_lock(w));
}
