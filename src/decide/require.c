/* SPDX-License-Identifier: Apache-2.0 */
/* require: --mode=rdma and --require are demands. What does not hold stops the command before it
   starts, with a reason; what cannot be judged does not hold. */
#include <string.h>

#include "check.h"

/* Each demand holds, or says on `why` what is missing. */
typedef bool demand_fn(const struct ni_facts *, const struct ni_plan *, struct ni_findings *,
                       struct ni_text *why);

/* ---- rdma ---- */

/* The user's NCCL_IB_HCA takes a port beside the chosen ones that cannot connect. */
static bool takes_useless_port(const struct ni_facts *facts, const struct ni_plan *plan,
                               struct ni_text *why)
{
    const struct ni_inventory *inv = facts->inv;
    const enum ni_link link = ni_chosen_port(facts, plan, 0)->link;
    char foreign[160];
    struct ni_text t = ni_text_on(foreign, sizeof(foreign));
    if (ni_put_foreign(facts, plan, &t)) {
        ni_putf(why, "your NCCL_IB_HCA takes what was not given to the pod: %s", foreign);
        return true;
    }
    if ((plan->wants & NI_WANT_UVERBS) && inv->uverbs_unread) {
        ni_put(why, "your NCCL_IB_HCA may take more: what opens in /dev/infiniband is not known");
        return true;
    }
    for (unsigned i = 0; i < inv->n_port; i++) {
        char name[NI_DEV_NAME + 8];
        const bool useless = strcmp(plan->port[i].rule, ni_rule_gids.id) == 0 ||
                             inv->port[i].link != link || inv->port[i].state.known != NI_KNOWN;
        if (!useless || !ni_takes_left_out(facts, plan, (int)i))
            continue;
        ni_putf(why, "your NCCL_IB_HCA takes %s: %s", ni_port_text(inv, (int)i, name),
                plan->port[i].why);
        return true;
    }
    return false;
}

/* The HCA opens, and NCCL will use a GID that is known to be this pod's. */
static bool is_usable(const struct ni_facts *facts, const struct ni_plan *plan, unsigned i,
                      struct ni_findings *f, struct ni_text *why)
{
    const struct ni_inventory *inv = facts->inv;
    const struct ni_port_plan *p = &plan->port[plan->chosen[i]];
    const struct ni_hca *h = ni_chosen_hca(facts, plan, i);
    const bool roce = ni_chosen_port(facts, plan, i)->link == NI_LINK_ROCE;
    char name[NI_DEV_NAME + 8], node[96];
    struct ni_text t = ni_text_on(node, sizeof(node));
    ni_port_text(inv, plan->chosen[i], name);
    if (ni_put_node(&h->uverbs, &t))
        ni_putf(why, "%s cannot be used: %s", h->name, node);
    else if (h->uverbs.known == NI_DENIED || h->uverbs.known == NI_BAD)
        ni_putf(why, "the device node of %s is not known", h->name);
    else if (roce && (p->gid < 0 || inv->gid[p->gid].own != NI_OWN_OURS ||
                      ni_findings_has(f, NI_F_GID_OWNER_UNKNOWN)))
        ni_putf(why, "whether the GID of %s is this pod's is not known", name);
    else if (roce && p->nccl_index != (int)inv->gid[p->gid].index)
        ni_putf(why, "NCCL %s another GID of %s than the right one",
                p->nccl_index < 0 ? "may use" : "would use", name);
    else
        return true;
    return false;
}

static bool has_rdma(const struct ni_facts *facts, const struct ni_plan *plan,
                     struct ni_findings *f, struct ni_text *why)
{
    const unsigned given = ni_given_hcas(facts->inv);
    if (ni_findings_has(f, NI_F_USER_NET_NONE))
        ni_put(why, "your NCCL_NET leaves NCCL no network");
    else if (ni_findings_has(f, NI_F_USER_SOCKET_NONE))
        ni_put(why, "your NCCL_SOCKET_IFNAME leaves NCCL no interface to start with");
    else if (plan->n_chosen > 0) {
        bool usable = !takes_useless_port(facts, plan, why);
        for (unsigned i = 0; usable && i < plan->n_chosen; i++)
            usable = is_usable(facts, plan, i, f, why);
        return usable;
    } else if (plan->transport == NI_NET_OTHER)
        ni_put(why, "NCCL_NET or NCCL_NET_PLUGIN chooses another network, which cannot be judged");
    else if (facts->policy->mode == NI_MODE_TCP)
        ni_put(why, "--mode=tcp switches it off");
    else if (ni_user_int(facts, "NCCL_IB_DISABLE", 0) != 0)
        ni_put(why, "NCCL_IB_DISABLE is set");
    else if (plan->transport == NI_NET_TCP && given && ni_user_value(facts, "NCCL_NET"))
        ni_put(why, "NCCL_NET chooses sockets");
    else if (ni_findings_has(f, NI_F_USER_HCA_NONE))
        ni_put(why, "your NCCL_IB_HCA names no usable port of this pod");
    else if (facts->inv->source_unread)
        ni_put(why, "which RDMA devices the pod was given cannot be read");
    else if (given)
        ni_putf(why, "none of the %u RDMA device%s given is usable", given, given == 1 ? "" : "s");
    else
        ni_put(why, "the pod was given no RDMA device");
    return false;
}

static bool has_roce_v2(const struct ni_facts *facts, const struct ni_plan *plan,
                        struct ni_findings *f, struct ni_text *why)
{
    const struct ni_inventory *inv = facts->inv;
    if (!has_rdma(facts, plan, f, why))
        return false;
    for (unsigned i = 0; i < plan->n_chosen; i++) {
        const int at = plan->chosen[i], gid = plan->port[at].gid;
        const bool ib = inv->port[at].link != NI_LINK_ROCE;
        char name[NI_DEV_NAME + 8];
        if (!ib && gid >= 0 && inv->gid[gid].type == NI_GID_V2)
            continue;
        ni_putf(why, "%s %s", ni_port_text(inv, at, name),
                ib ? "is an InfiniBand port" : "has no RoCE v2 GID of this pod");
        return false;
    }
    return true;
}

/* HCAs that share a port of a NIC share its cable: one rail. Where one sits must be known for that. */
static bool has_rails(const struct ni_facts *facts, const struct ni_plan *plan,
                      struct ni_findings *f, struct ni_text *why)
{
    const unsigned given = ni_given_hcas(facts->inv);
    unsigned rails = 0;
    if (!has_rdma(facts, plan, f, why))
        return false;
    for (unsigned i = 0; i < plan->n_chosen; i++) {
        const struct ni_hca *h = ni_chosen_hca(facts, plan, i);
        bool own = h->has_bdf || h->pci.none;
        for (unsigned k = 0; k < i; k++)
            own = own &&
                  !(ni_chosen_port(facts, plan, i)->num == ni_chosen_port(facts, plan, k)->num &&
                    ni_share_port(h, ni_chosen_hca(facts, plan, k)));
        rails += own;
    }
    if (rails < facts->policy->rails)
        ni_putf(why, "only %u usable rail%s of %u given HCA%s", rails, rails == 1 ? "" : "s", given,
                given == 1 ? "" : "s");
    return rails >= facts->policy->rails;
}

/* ---- gpus, gdr ---- */

static bool has_gpus(const struct ni_facts *facts, const struct ni_plan *plan,
                     struct ni_findings *f, struct ni_text *why)
{
    const struct ni_inventory *inv = facts->inv;
    (void)plan;
    (void)f;
    if (inv->n_gpu == 0)
        ni_put(why, "the pod has no GPU: no /dev/nvidiaN, no /dev/kfd");
    else if (inv->gpu_node[0])
        ni_putf(why, "opening /dev/%s gives %s", inv->gpu_node, ni_errno_name(-inv->gpu_node_err));
    return inv->n_gpu > 0 && !inv->gpu_node[0];
}

/* NCCL_NET_GDR_LEVEL in force. What NCCL does not know it ignores, and goes up to PXB. P2C is over
   NVLink-C2C and what lies at the same CPU, which is PHB on the PCI tree, and NCCL's default with C2C
   (NCCL 2.30.7 graph/paths.cc ncclTopoCheckGdr). */
static enum ni_distance level_in_force(const struct ni_facts *facts, const struct ni_plan *plan)
{
    static const char name[] = "NCCL_NET_GDR_LEVEL";
    const bool c2c = facts->inv->gdr.c2c && ni_user_int(facts, "NCCL_NET_GDR_C2C", 1) != 0;
    const struct ni_setting *s = ni_plan_get(plan, name);
    /* with --for of other libraries only, NCCL's settings are in no plan */
    const char *value = s ? s->value : ni_user_value(facts, name);
    const enum ni_distance level = value ? ni_parse_level(value) : NI_DIST_UNKNOWN;
    if (level == NI_DIST_UNKNOWN || level == NI_DIST_P2C || level == NI_DIST_PXN)
        return c2c ? NI_DIST_PHB : NI_DIST_PXB;
    return level;
}

/* Each GPU reaches its nearest HCA. */
static bool is_near_enough(const struct ni_facts *facts, const struct ni_plan *plan,
                           struct ni_text *why)
{
    const struct ni_inventory *inv = facts->inv;
    const enum ni_distance level = level_in_force(facts, plan);
    for (unsigned g = 0; g < inv->n_gpu && level != NI_DIST_SYS; g++) {
        const struct ni_near *near = &plan->nearest_hca[g];
        char bdf[NI_BDF_TEXT];
        (void)ni_bdf_text(inv->gpu[g].bdf, bdf);
        if (near->index >= 0 && near->distance <= level)
            continue;
        if (near->index < 0)
            ni_putf(why, "where GPU %s sits on the PCI tree is %s", bdf,
                    ni_known_text(inv->gpu[g].pci.known));
        else
            ni_putf(why,
                    "GPU %s is as far as %s from its nearest HCA, %s, beyond NCCL_NET_GDR_LEVEL",
                    bdf, ni_distance_text(near->distance), inv->hca[near->index].name);
        return false;
    }
    return true;
}

static bool has_gdr(const struct ni_facts *facts, const struct ni_plan *plan, struct ni_findings *f,
                    struct ni_text *why)
{
    const char *no = NULL;
    if (!has_rdma(facts, plan, f, why) || !has_gpus(facts, plan, f, why))
        return false;
    if (facts->policy->gdr == NI_GDR_OFF)
        no = "--gdr=off switches it off";
    else if (facts->inv->gdr.gb10)
        no = "a GB10 has no GPUDirect RDMA";
    else if (ni_user_int(facts, "NCCL_NET_GDR_READ", 1) == 0)
        no = "NCCL_NET_GDR_READ=0 switches it off for what is sent";
    else if (ni_can_gdr(facts, f, &no) && ni_findings_has(f, NI_F_GDR_DMABUF_RCCL))
        no = "RCCL before ROCm 7.12 needs NCCL_DMABUF_ENABLE=1 where no peer memory module is "
             "there";
    if (no)
        ni_put(why, no);
    return !no && is_near_enough(facts, plan, why);
}

/* ---- the rule ---- */

/* One demand that does not hold: a finding, and part of the reason as long as there is room. */
static void refuse(struct ni_plan *plan, struct ni_findings *f, enum ni_finding_id id,
                   const char *option, const char *value, const char *why)
{
    char all[sizeof(plan->refuse_why)];
    const bool fits = ni_format(all, sizeof(all), "%s%s%s=%s, but %s", plan->refuse_why,
                                plan->refuse ? "; " : "", option, value, why);
    if (!plan->refuse || fits)
        (void)ni_copy(plan->refuse_why, sizeof(plan->refuse_why), all);
    plan->refuse = true;
    ni_report(f, id, option, "%s=%s, but %s", option, value, why);
}

static void require(const struct ni_facts *facts, struct ni_plan *plan, struct ni_findings *f)
{
    static const struct {
        unsigned bit;
        enum ni_finding_id id;
        const char *word;
        demand_fn *holds;
    } demands[] = {
        {NI_REQUIRE_RDMA, NI_F_REQUIRE_RDMA, "rdma", has_rdma},
        {NI_REQUIRE_GPUS, NI_F_REQUIRE_GPUS, "gpus", has_gpus},
        {NI_REQUIRE_RAILS, NI_F_REQUIRE_RAILS, "rails", has_rails},
        {NI_REQUIRE_ROCE_V2, NI_F_REQUIRE_ROCE_V2, "roce-v2", has_roce_v2},
        {NI_REQUIRE_GDR, NI_F_REQUIRE_GDR, "gdr", has_gdr},
    };
    const struct ni_policy *p = facts->policy;
    char buf[200], word[24];
    struct ni_text why = ni_text_on(buf, sizeof(buf));
    if (p->require & NI_REQUIRE_RAILS)
        plan->wants |= NI_WANT_PFS;
    if (p->require & NI_REQUIRE_GDR) {
        plan->wants |= NI_WANT_ALL_GDR;
        ni_want_numa(facts, plan);
    }
    if (p->mode == NI_MODE_RDMA && !has_rdma(facts, plan, f, &why))
        refuse(plan, f, NI_F_REQUIRE_RDMA, "--mode", "rdma", buf);
    for (unsigned i = 0; i < NI_COUNT(demands); i++) {
        struct ni_text t = ni_text_on(word, sizeof(word));
        why = ni_text_on(buf, sizeof(buf));
        if ((p->require & demands[i].bit) == 0)
            continue;
        ni_put(&t, demands[i].word);
        if (demands[i].bit == NI_REQUIRE_RAILS)
            ni_putf(&t, "=%u", p->rails);
        if (plan->transport == NI_NET_OFF)
            ni_put(&why, "--mode=off looks at nothing");
        else if (demands[i].holds(facts, plan, f, &why))
            continue;
        refuse(plan, f, demands[i].id, "--require", word, buf);
    }
}

const struct ni_rule ni_rule_require = {"require", "all of the above, --mode=rdma, --require",
                                        "whether the command may start", require, true};

/* ---- memlock, which is judged when the limit was raised ---- */

void ni_require_memlock(const struct ni_facts *facts, struct ni_plan *plan, int64_t soft,
                        bool may_lock, struct ni_findings *f)
{
    const unsigned require = facts->policy->require & ~(unsigned)NI_REQUIRE_GPUS;
    const bool mode = facts->policy->mode == NI_MODE_RDMA;
    const bool demanded = (require & NI_REQUIRE_MEMLOCK) != 0;
    /* who demands RDMA demands what its first connection needs */
    const bool hopeless = plan->n_chosen > 0 && soft <= ni_memlock_hopeless;
    char buf[300];
    struct ni_text why = ni_text_on(buf, sizeof(buf));
    if (!demanded && !((mode || require) && hopeless))
        return;
    if (plan->transport == NI_NET_OFF) {
        ni_put(&why, "--mode=off raises nothing");
    } else if (soft >= ni_memlock_enough ||
               (may_lock && facts->inv->self.user_namespace != NI_USERNS_OWN)) {
        return;
    } else if (soft < 0) {
        ni_put(&why, "the limit is not known (/proc/self/limits)");
    } else {
        ni_putf(&why, "only %lld KiB can be locked: ", (long long)(soft / 1024));
        /* the plan meant it to be higher, and it could be raised: so raising failed */
        if (plan->memlock.soft > soft && ni_may_raise_memlock(&facts->inv->self))
            ni_put(&why, "raising it failed");
        else
            ni_memlock_why(facts, &why);
    }
    refuse(plan, f, NI_F_REQUIRE_MEMLOCK, demanded || !mode ? "--require" : "--mode",
           demanded                            ? "memlock"
           : mode || require & NI_REQUIRE_RDMA ? "rdma"
           : require & NI_REQUIRE_GDR          ? "gdr"
           : require & NI_REQUIRE_RAILS        ? "rails"
                                               : "roce-v2",
           buf);
}

void ni_require_planned_memlock(const struct ni_facts *facts, struct ni_plan *plan,
                                struct ni_findings *f)
{
    const struct ni_self *s = &facts->inv->self;
    const bool known = s->memlock_soft.known == NI_KNOWN && s->memlock_hard.known == NI_KNOWN;
    ni_require_memlock(facts, plan, known ? plan->memlock.soft : -1, ni_command_may_lock(facts), f);
}
