/* SPDX-License-Identifier: Apache-2.0 */
/* require: --mode=rdma and --require are demands. What does not hold stops the command before it
   starts, with a reason; what cannot be judged does not hold. */
#include <string.h>

#include "rule.h"

/* ---- rdma; each demand holds, or says on `why` what is missing ---- */

/* The user's NCCL_IB_HCA takes a port beside the chosen ones that cannot connect. */
static bool takes_useless_port(const struct ni_work *w, struct ni_text *why)
{
    const struct ni_inventory *inv = w->inv;
    const enum ni_link link = ni_chosen(w, 0).port->link;
    struct ni_text foreign = NI_TEXT(160);
    if (ni_put_foreign(w, &foreign)) {
        ni_putf(why, "your NCCL_IB_HCA takes what was not given to the pod: %s", foreign.buf);
        return true;
    }
    if ((w->plan->wants & NI_WANT_UVERBS) && inv->uverbs_unread) {
        ni_put(why, "your NCCL_IB_HCA may take more: what opens in /dev/infiniband is not known");
        return true;
    }
    for (int i = 0; i < (int)inv->n_port; i++) {
        const struct ni_port_plan *p = &w->plan->port[i];
        const bool useless = strcmp(p->rule, "gid.pick") == 0 || inv->port[i].link != link ||
                             inv->port[i].state.known != NI_KNOWN;
        if (!useless || !ni_takes_left_out(w, i))
            continue;
        ni_putf(why, "your NCCL_IB_HCA takes %s: %s", ni_port_name(inv, i).text, p->why);
        return true;
    }
    return false;
}

/* The HCA opens, and NCCL will use a GID that is known to be this pod's. */
static bool is_usable(const struct ni_work *w, unsigned i, struct ni_text *why)
{
    const struct ni_chosen c = ni_chosen(w, i);
    const struct ni_port_name name = ni_port_name(w->inv, c.at);
    const bool roce = c.port->link == NI_LINK_ROCE;
    struct ni_text node = NI_TEXT(96);
    if (ni_put_node(&c.hca->uverbs, &node))
        ni_putf(why, "%s cannot be used: %s", c.hca->name, node.buf);
    else if (c.hca->uverbs.known == NI_DENIED || c.hca->uverbs.known == NI_BAD)
        ni_putf(why, "the device node of %s is not known", c.hca->name);
    else if (roce &&
             (!c.gid || c.gid->own != NI_OWN_OURS || ni_findings_has(w->f, NI_F_GID_OWNER_UNKNOWN)))
        ni_putf(why, "whether the GID of %s is this pod's is not known", name.text);
    else if (roce && c.plan->nccl_index != (int)c.gid->index)
        ni_putf(why, "NCCL %s another GID of %s than the right one",
                c.plan->nccl_index < 0 ? "may use" : "would use", name.text);
    else
        return true;
    return false;
}

static bool has_rdma(const struct ni_work *w, struct ni_text *why)
{
    const struct ni_plan *plan = w->plan;
    const unsigned given = ni_given_hcas(w->inv);
    bool usable = false;
    if (ni_findings_has(w->f, NI_F_USER_NET_NONE))
        ni_put(why, "your NCCL_NET leaves NCCL no network");
    else if (ni_findings_has(w->f, NI_F_USER_SOCKET_NONE))
        ni_put(why, "your NCCL_SOCKET_IFNAME leaves NCCL no interface to start with");
    else if (plan->n_chosen > 0)
        usable = !takes_useless_port(w, why);
    else if (plan->transport == NI_NET_OTHER)
        ni_put(why, "NCCL_NET or NCCL_NET_PLUGIN chooses another network, which cannot be judged");
    else if (w->policy->mode == NI_MODE_TCP)
        ni_put(why, "--mode=tcp switches it off");
    else if (ni_user_int(w, "NCCL_IB_DISABLE", 0) != 0)
        ni_put(why, "NCCL_IB_DISABLE is set");
    else if (plan->transport == NI_NET_TCP && given && ni_user_value(w, "NCCL_NET"))
        ni_put(why, "NCCL_NET chooses sockets");
    else if (ni_findings_has(w->f, NI_F_USER_HCA_NONE))
        ni_put(why, "your NCCL_IB_HCA names no usable port of this pod");
    else if (w->inv->source_unread)
        ni_put(why, "which RDMA devices the pod was given cannot be read");
    else if (given)
        ni_putf(why, "none of the %u RDMA device%s given is usable", given, given == 1 ? "" : "s");
    else
        ni_put(why, "the pod was given no RDMA device");
    for (unsigned i = 0; usable && i < plan->n_chosen; i++)
        usable = is_usable(w, i, why);
    return usable;
}

static bool has_roce_v2(const struct ni_work *w, struct ni_text *why)
{
    bool holds = has_rdma(w, why);
    for (unsigned i = 0; holds && i < w->plan->n_chosen; i++) {
        const struct ni_chosen c = ni_chosen(w, i);
        const bool roce = c.port->link == NI_LINK_ROCE;
        holds = roce && c.gid && c.gid->type == NI_GID_V2;
        if (!holds)
            ni_putf(why, "%s %s", ni_port_name(w->inv, c.at).text,
                    roce ? "has no RoCE v2 GID of this pod" : "is an InfiniBand port");
    }
    return holds;
}

/* HCAs that share a port of a NIC share its cable: one rail. Where one sits must be known for that. */
static bool has_rails(const struct ni_work *w, struct ni_text *why)
{
    const unsigned given = ni_given_hcas(w->inv);
    unsigned rails = 0;
    if (!has_rdma(w, why))
        return false;
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
    if (!has_rdma(w, why) || !has_gpus(w, why))
        return false;
    if (w->policy->gdr == NI_GDR_OFF)
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

void ni_rule_require(const struct ni_work *w)
{
    static const struct {
        unsigned bit;
        enum ni_finding_id id;
        const char *word;
        bool (*holds)(const struct ni_work *w, struct ni_text *why);
    } demands[] = {
        {NI_REQUIRE_RDMA, NI_F_REQUIRE_RDMA, "rdma", has_rdma},
        {NI_REQUIRE_GPUS, NI_F_REQUIRE_GPUS, "gpus", has_gpus},
        {NI_REQUIRE_RAILS, NI_F_REQUIRE_RAILS, "rails", has_rails},
        {NI_REQUIRE_ROCE_V2, NI_F_REQUIRE_ROCE_V2, "roce-v2", has_roce_v2},
        {NI_REQUIRE_GDR, NI_F_REQUIRE_GDR, "gdr", has_gdr},
    };
    const struct ni_policy *p = w->policy;
    char rails[24];
    struct ni_text no_rdma = NI_TEXT(200);
    (void)ni_format(rails, sizeof(rails), "rails=%u", p->rails);
    if (p->require & NI_REQUIRE_RAILS)
        w->plan->wants |= NI_WANT_PFS;
    if (p->require & NI_REQUIRE_GDR) {
        w->plan->wants |= NI_WANT_ALL_GDR;
        ni_want_numa(w);
    }
    if (p->mode == NI_MODE_RDMA && !has_rdma(w, &no_rdma))
        refuse(w, NI_F_REQUIRE_RDMA, "--mode", "rdma", no_rdma.buf);
    for (unsigned i = 0; i < NI_COUNT(demands); i++) {
        struct ni_text why = NI_TEXT(200);
        if ((p->require & demands[i].bit) == 0)
            continue;
        if (w->plan->transport == NI_NET_OFF)
            ni_put(&why, "--mode=off looks at nothing");
        else if (demands[i].holds(w, &why))
            continue;
        refuse(w, demands[i].id, "--require",
               demands[i].bit == NI_REQUIRE_RAILS ? rails : demands[i].word, why.buf);
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
    refuse(w, NI_F_REQUIRE_MEMLOCK, demanded || !mode ? "--require" : "--mode",
           demanded                            ? "memlock"
           : mode || require & NI_REQUIRE_RDMA ? "rdma"
           : require & NI_REQUIRE_GDR          ? "gdr"
           : require & NI_REQUIRE_RAILS        ? "rails"
                                               : "roce-v2",
           why.buf);
}

void ni_require_planned_memlock(const struct ni_work *w)
{
    const struct ni_self *s = &w->inv->self;
    const bool known = s->memlock_soft.known == NI_KNOWN && s->memlock_hard.known == NI_KNOWN;
    ni_require_memlock(w, known ? w->plan->memlock.soft : -1, ni_command_may_lock(w));
}
