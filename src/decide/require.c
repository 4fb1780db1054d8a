/* SPDX-License-Identifier: Apache-2.0 */
/* require: --mode=rdma and --require are demands. What does not hold stops the command before it
   starts, with a reason; what cannot be judged does not hold. */
#include <string.h>

#include "check.h"

/* Each holds, or says on `why` what is missing. */
typedef bool demand_fn(const struct ni_facts *, const struct ni_plan *, struct ni_findings *,
                       struct ni_text *why);

/* NCCL takes no port beside those kept that cannot connect, each HCA kept opens, and NCCL will use a
   GID that is known to be this pod's. */
static bool has_ports(const struct ni_facts *facts, const struct ni_plan *plan,
                      struct ni_findings *f, struct ni_text *why)
{
    const struct ni_inventory *inv = facts->inv;
    char name[NI_DEV_NAME + 8];
    const enum ni_link link = inv->port[plan->chosen[0]].link;
    const struct ni_text before_foreign = *why;
    ni_put(why, "your NCCL_IB_HCA takes what was not given to the pod: ");
    if (ni_put_foreign(facts, plan, why))
        return false;
    *why = before_foreign;
    for (unsigned i = 0; i < inv->n_port; i++) {
        bool bad = strcmp(plan->port[i].rule, "gid.pick") == 0 || inv->port[i].link != link ||
                   inv->port[i].state.known != NI_KNOWN;
        if (!bad || !ni_takes_left_out(facts, plan, (int)i))
            continue;
        ni_putf(why, "your NCCL_IB_HCA takes %s: %s", ni_port_text(inv, (int)i, name),
                plan->port[i].why);
        return false;
    }
    for (unsigned i = 0; i < plan->n_chosen; i++) {
        const struct ni_port *port = &inv->port[plan->chosen[i]];
        const struct ni_port_plan *pick = &plan->port[plan->chosen[i]];
        const struct ni_hca *h = &inv->hca[port->hca];
        struct ni_text before = *why;
        ni_putf(why, "%s cannot be used: ", h->name);
        if (ni_put_node(&h->uverbs, why))
            return false;
        *why = before;
        ni_port_text(inv, plan->chosen[i], name);
        const bool roce = port->link == NI_LINK_ROCE;
        if (h->uverbs.known == NI_DENIED || h->uverbs.known == NI_BAD)
            ni_putf(why, "the device node of %s cannot be told", h->name);
        else if (roce && (pick->gid < 0 || inv->gid[pick->gid].own != NI_OWN_OURS ||
                          ni_findings_has(f, NI_F_GID_OWNER_UNKNOWN)))
            ni_putf(why, "whether the GID of %s is this pod's is not known", name);
        else if (roce && pick->nccl_index != (int)inv->gid[pick->gid].index)
            ni_putf(why, "NCCL %s another GID of %s than the right one",
                    pick->nccl_index < 0 ? "may use" : "would use", name);
        else
            continue;
        return false;
    }
    return true;
}

static bool has_rdma(const struct ni_facts *facts, const struct ni_plan *plan,
                     struct ni_findings *f, struct ni_text *why)
{
    unsigned given = ni_given_hcas(facts->inv);
    if (ni_findings_has(f, NI_F_USER_NET_NONE)) {
        ni_put(why, "your NCCL_NET leaves NCCL no network");
        return false;
    }
    if (ni_findings_has(f, NI_F_USER_SOCKET_NONE)) {
        ni_put(why, "your NCCL_SOCKET_IFNAME leaves NCCL no interface to start with");
        return false;
    }
    if (plan->n_chosen > 0)
        return has_ports(facts, plan, f, why);
    if (plan->transport == NI_NET_OTHER)
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

/* NCCL's level in force, as the farthest of our distances that it lets through. Names between two
   of ours count as the nearer one; digits are older NCCL's (2.30.7 graph/paths.cc ncclGetLevel).
   What NCCL does not know it ignores, and goes up to PXB, or to P2C: over NVLink-C2C and what lies
   at the same CPU, which is PHB on the PCI tree (ncclTopoCheckGdr). */
static enum ni_distance level_in_force(const struct ni_facts *facts, const struct ni_plan *plan)
{
    const bool c2c = facts->inv->gdr.c2c && ni_user_int(facts, "NCCL_NET_GDR_C2C", 1) != 0;
    const enum ni_distance p2c = c2c ? NI_DIST_PHB : NI_DIST_PXB;
    const struct {
        const char *name;
        enum ni_distance reach;
    } levels[] = {
        {"LOC", NI_DIST_UNKNOWN},
        {"NVL", NI_DIST_UNKNOWN},
        {"NVB", NI_DIST_UNKNOWN},
        {"C2C", NI_DIST_UNKNOWN},
        {"PIX", NI_DIST_PIX},
        {"PXB", NI_DIST_PXB},
        {"P2C", p2c},
        {"PXN", p2c},
        {"PHB", NI_DIST_PHB},
        {"SYS", NI_DIST_SYS},
        {"0", NI_DIST_UNKNOWN},
        {"1", NI_DIST_PIX},
        {"2", NI_DIST_PXB},
        {"3", NI_DIST_PHB},
        {"4", NI_DIST_SYS},
        {"5", NI_DIST_SYS},
    };
    const struct ni_setting *s = ni_plan_get(plan, "NCCL_NET_GDR_LEVEL");
    /* with --for of other libraries only, NCCL's settings are in no plan */
    const char *value = s ? s->value : ni_user_value(facts, "NCCL_NET_GDR_LEVEL");
    for (unsigned i = 0; value && i < NI_COUNT(levels); i++) {
        if (strcmp(value, levels[i].name) == 0)
            return levels[i].reach;
    }
    return p2c;
}

/* Some GPU does not reach its nearest HCA. */
static bool is_too_far(const struct ni_facts *facts, const struct ni_plan *plan,
                       struct ni_text *why)
{
    const struct ni_inventory *inv = facts->inv;
    const enum ni_distance level = level_in_force(facts, plan);
    char bdf[NI_BDF_TEXT];
    if (level == NI_DIST_SYS) /* distances do not count */
        return false;
    for (unsigned g = 0; g < inv->n_gpu; g++) {
        const struct ni_near *near = &plan->nearest_hca[g];
        (void)ni_bdf_text(inv->gpu[g].bdf, bdf);
        if (near->index < 0) {
            ni_putf(why, "where GPU %s sits on the PCI tree is %s", bdf,
                    ni_known_text(inv->gpu[g].pci.known));
            return true;
        }
        if (near->distance > level) {
            ni_putf(why,
                    "GPU %s is as far as %s from its nearest HCA, %s, beyond NCCL_NET_GDR_LEVEL",
                    bdf, ni_distance_text(near->distance), inv->hca[near->index].name);
            return true;
        }
    }
    return false;
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
    else if (ni_can_gdr(facts, f, &no) && !ni_findings_has(f, NI_F_GDR_DMABUF_RCCL))
        return !is_too_far(facts, plan, why);
    else if (!no)
        no =
            "RCCL before ROCm 7.12 needs NCCL_DMABUF_ENABLE=1 where no peer memory module is there";
    ni_put(why, no);
    return false;
}

static bool has_roce_v2(const struct ni_facts *facts, const struct ni_plan *plan,
                        struct ni_findings *f, struct ni_text *why)
{
    const struct ni_inventory *inv = facts->inv;
    char name[NI_DEV_NAME + 8];
    if (!has_rdma(facts, plan, f, why))
        return false;
    for (unsigned i = 0; i < plan->n_chosen; i++) {
        int port = plan->chosen[i], gid = plan->port[port].gid;
        if (inv->port[port].link != NI_LINK_ROCE) {
            ni_putf(why, "%s is an InfiniBand port", ni_port_text(inv, port, name));
            return false;
        }
        if (gid < 0 || inv->gid[gid].type != NI_GID_V2) {
            ni_putf(why, "%s has no RoCE v2 GID of this pod", ni_port_text(inv, port, name));
            return false;
        }
    }
    return true;
}

/* HCAs that share a port of a NIC share its cable: one rail. Where one sits must be known for that. */
static unsigned rails(const struct ni_inventory *inv, const struct ni_plan *plan)
{
    unsigned n = 0;
    for (unsigned i = 0; i < plan->n_chosen; i++) {
        const struct ni_port *a = &inv->port[plan->chosen[i]];
        bool again = !inv->hca[a->hca].has_bdf && !inv->hca[a->hca].pci.none;
        for (unsigned k = 0; k < i; k++) {
            const struct ni_port *b = &inv->port[plan->chosen[k]];
            again =
                again || (a->num == b->num && ni_share_port(&inv->hca[a->hca], &inv->hca[b->hca]));
        }
        n += !again;
    }
    return n;
}

static bool has_rails(const struct ni_facts *facts, const struct ni_plan *plan,
                      struct ni_findings *f, struct ni_text *why)
{
    unsigned n = rails(facts->inv, plan);
    if (!has_rdma(facts, plan, f, why))
        return false;
    if (n < facts->policy->rails)
        ni_putf(why, "only %u usable rail%s of %u given HCA%s", n, n == 1 ? "" : "s",
                ni_given_hcas(facts->inv), ni_given_hcas(facts->inv) == 1 ? "" : "s");
    return n >= facts->policy->rails;
}

/* One demand that does not hold: a finding, and part of the reason as long as there is room. */
static void refuse(struct ni_plan *plan, struct ni_findings *f, enum ni_finding_id id,
                   const char *option, const char *value, const char *why)
{
    char all[sizeof(plan->refuse_why)];
    struct ni_text t = ni_text_on(all, sizeof(all));
    if (plan->refuse)
        ni_putf(&t, "%s; ", plan->refuse_why);
    ni_putf(&t, "%s=%s, but %s", option, value, why);
    if (!plan->refuse || !t.cut)
        (void)ni_copy(plan->refuse_why, sizeof(plan->refuse_why), all);
    plan->refuse = true;
    ni_report(f, id, option, "%s=%s, but %s", option, value, why);
}

void ni_rule_require(const struct ni_facts *facts, struct ni_plan *plan, struct ni_findings *f)
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
    if (p->mode == NI_MODE_RDMA && !has_rdma(facts, plan, f, &why))
        refuse(plan, f, NI_F_REQUIRE_RDMA, "--mode", "rdma", buf);
    for (unsigned i = 0; i < NI_COUNT(demands); i++) {
        why = ni_text_on(buf, sizeof(buf));
        struct ni_text t = ni_text_on(word, sizeof(word));
        ni_put(&t, demands[i].word);
        if (demands[i].bit == NI_REQUIRE_RAILS)
            ni_putf(&t, "=%u", p->rails);
        if ((p->require & demands[i].bit) == 0)
            continue;
        if (plan->transport == NI_NET_OFF)
            ni_put(&why, "--mode=off looks at nothing");
        else if (demands[i].holds(facts, plan, f, &why))
            continue;
        refuse(plan, f, demands[i].id, "--require", word, buf);
    }
}

void ni_require_memlock(const struct ni_facts *facts, struct ni_plan *plan, int64_t soft,
                        bool may_lock, struct ni_findings *f)
{
    char buf[300];
    struct ni_text why = ni_text_on(buf, sizeof(buf));
    const unsigned require = facts->policy->require & ~(unsigned)NI_REQUIRE_GPUS;
    const bool mode = facts->policy->mode == NI_MODE_RDMA;
    const bool demanded = (require & NI_REQUIRE_MEMLOCK) != 0;
    /* who demands RDMA demands what its first connection needs */
    bool hopeless = plan->n_chosen > 0 && soft <= ni_memlock_hopeless;
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
    bool known = s->memlock_soft.known == NI_KNOWN && s->memlock_hard.known == NI_KNOWN;
    ni_require_memlock(facts, plan, known ? plan->memlock.soft : -1, ni_command_may_lock(facts), f);
}
