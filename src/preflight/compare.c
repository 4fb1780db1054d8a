/* SPDX-License-Identifier: Apache-2.0 */
/* Comparison of the pods. Each question is asked of all pods. Pods with the same answer are a
   group; a difference is one finding, which names the smallest group first. */
#include "preflight/compare.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "findings/job.h"
#include "findings/setting.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/ip.h"
#include "nccl_init/known.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "preflight/align.h"
#include "preflight/job.h"
#include "preflight/neighbours.h"
#include "preflight/path_findings.h"
#include "preflight/paths.h"
#include "preflight/same_gid.h"
#include "preflight/tally.h"
#include "print/words.h"
#include "rail/step.h"
#include "rules/job_settings.h"

enum { GROUPS = 8, NAMED = 3, VALUE = 320, SUBJECT = 96 };
#define PAIRS "; %u pairs in all, counted each way"

/* ---- facts that should be equal ---- */

enum fact { SETTING, HOSTID, FAULT, LINK, SUBNET, MTU, PATH_MTU, RATE, PKEY, LIMITED, FIRMWARE };

/* Puts the rail's subnet: its own, or that of `most` if routes lead there and back. */
static void put_subnet(struct ni_text *t, const struct ni_rail *r, const struct ni_rail *most)
{
    const bool routed = most && ni_routed_subnet(r, most) && ni_routed_subnet(most, r);
    const struct ni_subnet *its = routed ? ni_routed_subnet(most, most) : ni_routed_subnet(r, r);
    struct ni_subnet prefix = {.bits = 64}; /* the upper half of the GID (IBTA 4.1.1) */
    char ip[NI_IP_TEXT];

    /* the question about the link reports that */
    if (most && (r->link != most->link || ni_ip_is_v4(r->gid) != ni_ip_is_v4(most->gid)))
        return;
    if (r->crossed) /* ni_align_rails reports that */
        return;
    memcpy(prefix.ip, r->gid, NI_GID_BYTES / 2);
    if (r->link == NI_LINK_IB && !ni_ip_is_zero(r->gid))
        its = &prefix;
    if (its)
        ni_putf(t, "%s/%d", ni_ip_text(its->ip, ip), its->bits - (ni_ip_is_v4(its->ip) ? 96 : 0));
}

/* Puts the value of a fact as people read it; nothing where the fact does not apply to such a
   link. */
static void put_rail_fact(struct ni_text *t, enum fact fact, const struct ni_rail *r)
{
    if (fact == LINK && r->link == NI_LINK_IB)
        ni_put(t, "InfiniBand");
    if (fact == LINK && r->link == NI_LINK_ROCE && !ni_ip_is_zero(r->gid)) {
        ni_put(t, r->v2 ? "RoCE v2 " : "RoCE v1 ");
        ni_put(t, ni_ip_is_v4(r->gid) ? "IPv4" : "IPv6");
    }
    if (fact == PATH_MTU && r->link == NI_LINK_IB && r->path_mtu > 0)
        ni_putf(t, "%u", r->path_mtu);
    if (fact == MTU && r->link != NI_LINK_IB && r->netdev_mtu.known == NI_KNOWN)
        ni_putf(t, "%lld", (long long)r->netdev_mtu.v);
    if (fact == RATE && r->mbps.known == NI_KNOWN && r->mbps.v > 0) {
        ni_put_speed(t, r->mbps.v);
        ni_put(t, " Gb/s");
    }
    if (fact == PKEY && r->pkey != 0)
        ni_putf(t, "0x%04x", r->pkey & 0x7fffU); /* without the membership (IBTA 10.9.1) */
    if (fact == LIMITED && r->pkey != 0 && !(r->pkey & 0x8000U))
        ni_put(t, "limited membership");
    if (fact == FIRMWARE)
        ni_put(t, r->firmware);
}

static const char *setting_of(const struct ni_pod *pod, const struct ni_job_setting *row)
{
    for (unsigned i = 0; pod->here && i < pod->n_setting; i++) {
        if (strcmp(pod->setting[i].name, row->name) == 0)
            return pod->setting[i].value;
    }
    return NULL;
}

/* Puts the pod's value; nothing if it is not known, for then it is not compared. */
static void put_job_setting(struct ni_text *t, const struct ni_job_setting *row,
                            const struct ni_pod *pod)
{
    const char *value = setting_of(pod, row);

    if (value)
        ni_put(t, value);
    else if (row->otherwise)
        ni_putf(t, row->otherwise[0] ? "unset (which is %s)" : "unset%s", row->otherwise);
}

/* ---- faults ---- */

/* Puts the NCCL_HOSTID of a pod that shares it with a pod of another node. */
static void put_hostid(struct ni_text *t, const struct ni_job_setting *row,
                       const struct ni_job *job, unsigned rank)
{
    enum { MOST = 4096 }; /* more pods than these take too long */
    const struct ni_pod *pod = &job->pod[rank];
    const char *id = setting_of(pod, row);

    for (unsigned k = 0; id && k < rank && rank < MOST; k++) {
        const struct ni_pod *other = &job->pod[k];
        const char *same = setting_of(other, row);

        if (!same || strcmp(id, same) != 0 || (pod->node[0] && strcmp(pod->node, other->node) == 0))
            continue;
        ni_putf(t, "%s, as on ", id);
        ni_put_pod(t, job, k);
        return;
    }
}

/* Puts "receives at most 35 Gb/s (9 % of the median)". */
static void put_flow(struct ni_text *t, const char *verb, struct ni_flow flow)
{
    ni_putf(t, "%s at most ", verb);
    ni_put_speed(t, flow.mbps);
    ni_putf(t, " Gb/s (%lld %% of the median)", (long long)flow.percent);
}

/* Puts what the rail does in the direction that is slow, or in both. */
static void put_flows(struct ni_text *t, const struct ni_rail_tally *y)
{
    enum { NORMAL = 90 }; /* percent of the median */
    const bool sends = y->send.percent < NORMAL, receives = y->receive.percent < NORMAL;

    if (sends || !receives)
        put_flow(t, "sends", y->send);
    ni_put(t, sends == receives ? " and " : "");
    if (receives || !sends)
        put_flow(t, "receives", y->receive);
    if (sends != receives)
        ni_putf(t, "; %s is normal", sends ? "receiving" : "sending");
}

/* Puts how slow the rail is. A pod that is slow on several rails answers for the slowest, the first
   of equal ones. */
static void put_slow(struct ni_text *t, const struct ni_job *job, unsigned rank, unsigned rail)
{
    const struct ni_rail_tally *y = ni_tally_of(job, rank, rail);
    uint8_t slow[NI_MAX_RAILS];

    for (unsigned r = 0; r < job->n_rail; r++) {
        const struct ni_rail_tally *other = ni_tally_of(job, rank, r);

        slow[r] = r != rail && other->verdict == NI_RAIL_SLOW;
        if (slow[r] && ni_least_percent(other) < ni_least_percent(y) + (r < rail))
            return;
    }
    put_flows(t, y);
    if (memchr(slow, 1, job->n_rail)) {
        ni_put(t, "; slow, too: ");
        ni_put_numbers(t, "rail", slow, job->n_rail, 1);
    }
}

/* Returns true if the question about a verdict is for that rail; that about a pair that passed
   again is also for slow ones. */
static bool is_asked(const struct ni_rail_tally *t, enum ni_rail_verdict verdict)
{
    return t->verdict == verdict || (verdict == NI_RAIL_GOOD && t->verdict == NI_RAIL_SLOW);
}

/* Puts the pair that failed; with GOOD it passed the second time. Only one of its ends answers. */
static void put_pair_path(struct ni_text *t, const struct ni_job *job, unsigned rank,
                          const struct ni_pair_result *x, enum ni_rail_verdict verdict, bool two)
{
    const struct ni_pair *pair = &x->pair;
    const struct ni_rail_tally *from = ni_tally_of(job, pair->from, pair->rail);

    if (pair->to == rank && from->failure == x && is_asked(from, verdict))
        return;
    ni_put(t, verdict == NI_RAIL_GOOD ? "failed once with " : "fails with ");
    ni_put_pod(t, job, pair->to == rank ? pair->from : pair->to);
    ni_put(t, two ? "; " : ", both reach others; ");
    ni_put(t, verdict == NI_RAIL_GOOD ? "passed with new queue pairs; " : "");
    ni_put_failure(t, x);
}

/* Puts why the rail has that verdict; nothing if it has another one. two: only two pods have the
   rail. */
static void put_fault(struct ni_text *t, const struct ni_job *job, unsigned rank, unsigned rail,
                      enum ni_rail_verdict verdict, bool two)
{
    const struct ni_rail_tally *y = ni_tally_of(job, rank, rail);
    const char *untried = job->pod[rank].rail[rail].untried;

    if (!is_asked(y, verdict))
        return;
    if (verdict == NI_RAIL_FAILED) {
        ni_put(t, ni_is_own(y->failure) ? "cannot be used in its pod; " : "reaches nobody; ");
        ni_put_failure(t, y->failure);
    } else if (verdict == NI_RAIL_SLOW) {
        put_slow(t, job, rank, rail);
    } else if (verdict == NI_RAIL_LOSSY) {
        ni_put(t, "loses packets with several partners, on all paths");
    } else if (verdict == NI_RAIL_UNTRIED && (job->pod[rank].rail[rail].crossed || y->misled > 0)) {
        return; /* ni_align_rails or ni_report_neighbours tells it */
    } else if (verdict == NI_RAIL_UNTRIED && (untried[0] || job->rounds > 0)) {
        ni_putf(t, "was not tried: %s", untried[0] ? untried : "it had no partner");
    } else if (verdict != NI_RAIL_UNTRIED && y->failure && y->failure->path) {
        put_pair_path(t, job, rank, y->failure, verdict, two);
    }
}

/* ---- a census: which answers there are, and who gives them ---- */

struct question {
    ni_finding_number id;
    enum fact fact;
    const char *name;             /* the text before the first answer */
    enum ni_rail_verdict verdict; /* the verdict that FAULT asks for */
    /* the setting of a pod; NULL: the question is about rails */
    const struct ni_job_setting *setting;
};

static const struct question facts[] = {
    {NI_F_JOB_LINK_DIFFERS, LINK, "", 0, NULL},
    {NI_F_JOB_SUBNET_DIFFERS, SUBNET, "", 0, NULL},
    {NI_F_JOB_MTU_DIFFERS, MTU, "MTU ", 0, NULL},
    {NI_F_JOB_MTU_DIFFERS, PATH_MTU, "MTU ", 0, NULL},
    {NI_F_JOB_RATE_DIFFERS, RATE, "", 0, NULL},
    {NI_F_JOB_PKEY_DIFFERS, PKEY, "P_Key ", 0, NULL},
    {NI_F_JOB_PKEY_DIFFERS, LIMITED, "P_Key: ", 0, NULL},
    {NI_F_JOB_SOFTWARE_DIFFERS, FIRMWARE, "firmware ", 0, NULL},
};

static const struct question faults[] = {
    {NI_F_JOB_RAIL_FAILED, FAULT, "", NI_RAIL_FAILED, NULL},
    {NI_F_JOB_RAIL_LOSSY, FAULT, "", NI_RAIL_LOSSY, NULL},
    {NI_F_JOB_RAIL_SLOW, FAULT, "", NI_RAIL_SLOW, NULL},
    {NI_F_JOB_RAIL_UNTRIED, FAULT, "", NI_RAIL_UNTRIED, NULL},
    {NI_F_JOB_PATH_FAILED, FAULT, "", NI_RAIL_PATH, NULL},
    {NI_F_JOB_PATH_UNSTEADY, FAULT, "", NI_RAIL_GOOD, NULL},
};

struct group {
    char value[VALUE];
    unsigned n, who[NAMED]; /* the number of its pods, and the first of them */
    int64_t worst;          /* the rate of the slowest of its rails, in percent */
};

struct census {
    const struct ni_job *job;
    const struct question *q;
    unsigned rail;
    const struct ni_rail *most; /* of SUBNET, the second time: a rail of the largest group */
    unsigned pods;              /* the number of pods that take part with the rail */
    /* a pod that answers is at fault; otherwise one whose answer differs */
    bool fault;
    unsigned n, known; /* the number of groups, and of pods that answered */
    const char *hca;   /* the HCA that all of them have on the rail; "": they differ */
    struct group group[GROUPS];
};

/* Orders the groups: the slowest first, then the smallest, then the one whose first pod has the
   higher number. */
static int fewest_first(const void *x, const void *y)
{
    const struct group *a = x, *b = y;
    int order = (a->worst > b->worst) - (a->worst < b->worst);

    if (order == 0)
        order = (a->n > b->n) - (a->n < b->n);
    return order ? order : (a->who[0] < b->who[0]) - (a->who[0] > b->who[0]);
}

/* Counts the pod's answer. If there is no more room, the mildest group of slow rails goes. */
static void count_value(struct census *c, unsigned rank, const char *value)
{
    const bool slow = c->q->verdict == NI_RAIL_SLOW;
    const int64_t worst = slow ? ni_least_percent(ni_tally_of(c->job, rank, c->rail)) : 0;
    struct group *g = c->group;

    c->known++;
    while (g < c->group + c->n && strcasecmp(g->value, value) != 0)
        g++;
    if (g == c->group + GROUPS) {
        qsort(c->group, GROUPS, sizeof(*g), fewest_first);
        g--; /* the mildest group */
        if (worst >= g->worst)
            return;
        c->n--;
    }
    if (g == c->group + c->n) {
        c->n++;
        *g = (struct group){.worst = worst};
        (void)ni_copy(g->value, sizeof(g->value), value);
    }
    if (g->n < NAMED)
        g->who[g->n] = rank;
    g->n++;
}

/* Groups the pods by what they answer to the question: by the value of a setting, a fact or a
   fault. */
static void ask_all(struct census *c)
{
    const struct question *q = c->q;

    for (unsigned p = 0; p < c->job->ranks; p++) {
        const struct ni_pod *pod = &c->job->pod[p];
        const bool has = !q->setting && ni_has_rail(c->job, p, c->rail);
        const char *hca = has ? pod->rail[c->rail].hca : "";
        char buf[VALUE];
        struct ni_text t = ni_text_on(buf, sizeof(buf));

        if (pod->here && q->setting && q->fact == HOSTID)
            put_hostid(&t, q->setting, c->job, p);
        else if (pod->here && q->setting)
            put_job_setting(&t, q->setting, pod);
        else if (has && q->fact == FAULT)
            put_fault(&t, c->job, p, c->rail, q->verdict, c->pods == 2);
        else if (has && q->fact == SUBNET)
            put_subnet(&t, &pod->rail[c->rail], c->most);
        else if (has)
            put_rail_fact(&t, q->fact, &pod->rail[c->rail]);
        if (t.len == 0)
            continue;
        c->hca = c->known == 0 || strcmp(hca, c->hca) == 0 ? hca : "";
        count_value(c, p, buf);
    }
    qsort(c->group, c->n, sizeof(c->group[0]), fewest_first);
}

/* Puts a group: "1500 on trainer-17 (node-b3)", "9000 on 127 others"; of a fault "trainer-40,
   trainer-41 and 3 more: was not tried". named: how many pods are named; 0: they are the others. */
static void put_pod_group(const struct census *c, const struct group *g, unsigned named,
                          struct ni_text *t)
{
    if (!c->fault)
        ni_putf(t, "%s on ", g->value);
    for (unsigned k = 0; k < named; k++) {
        ni_put(t, k ? ", " : "");
        ni_put_pod(t, c->job, g->who[k]);
    }
    if (named == 0)
        ni_putf(t, "%u others", g->n);
    else if (named < g->n)
        ni_putf(t, " and %u more", g->n - named);
    if (c->fault)
        ni_putf(t, ": %s", g->value);
}

/* Puts the groups: "1500 on trainer-17 (node-b3), 9000 on 127 others". Of values it puts the first
   ones and the last; of faults, which only some pods have, as many as there is room for. */
static void put_groups(const struct census *c, struct ni_text *t)
{
    enum { TOLD = 3 };
    const size_t room = NI_FINDING_MESSAGE - sizeof(", and 16384 more") -
                        (c->q->verdict == NI_RAIL_PATH ? sizeof(PAIRS "65536") : 0);
    unsigned told = 0;

    for (unsigned i = 0; i < c->n; i++) {
        const struct group *g = &c->group[i];
        const bool most = i > 0 && i + 1 == c->n && !c->fault;
        unsigned named = g->n <= NAMED ? g->n : NAMED - 1;
        char buf[2 * NI_FINDING_MESSAGE];
        struct ni_text one;

        if (i >= TOLD - 1 && !most && !c->fault)
            continue;
        if (most && g->n > 1)
            named = 0;
        for (;;) {
            one = ni_text_on(buf, sizeof(buf));
            ni_put(&one, i ? ", " : "");
            put_pod_group(c, g, named, &one);
            if (t->len + one.len <= room || named <= 1)
                break;
            named--;
        }
        if (t->len + one.len > room)
            continue;
        told += g->n;
        ni_put(t, buf);
    }
    if (told < c->known)
        ni_putf(t, ", and %u more", c->known - told);
}

/* ---- what is told ---- */

struct told {
    char message[NI_FINDING_MESSAGE]; /* "": there is no finding */
    uint8_t rail[NI_MAX_RAILS];       /* the rails that the finding is about */
    /* the HCA; "": there are several rails, or pods whose HCAs have other names */
    char hca[NI_DEV_NAME];
    ni_finding_number id;
    int64_t worst;
};

static int worst_first(const void *x, const void *y)
{
    const struct told *a = x, *b = y;
    const int order = (a->worst > b->worst) - (a->worst < b->worst);

    return order ? order : memcmp(b->rail, a->rail, sizeof(a->rail)); /* the first rail */
}

/* Returns true if the rail failed on the way, not by its own device. */
static bool fails_outside(const struct ni_job *job, unsigned rank, unsigned rail)
{
    const struct ni_rail_tally *t = ni_tally_of(job, rank, rail);

    return t->verdict == NI_RAIL_FAILED && !ni_is_own(t->failure);
}

/* Counts the pairs that failed for good: a pod names one of them only. */
static unsigned count_paths(const struct ni_job *job, unsigned rail)
{
    unsigned n = 0;

    for (const struct ni_pair_result *x = job->result; x < job->result + job->n_result; x++) {
        n += x->pair.rail == rail && ni_is_failed_path(job, x);
    }
    return n;
}

/* Asks for the subnets again, where those that are reached from this pod's rail count as its own. Returns
   true if most pods then answer alike. */
static bool is_main_subnet(struct census *c, unsigned rank)
{
    c->most = &c->job->pod[rank].rail[c->rail];
    c->n = 0;
    c->known = 0;
    ask_all(c);
    return c->n < 2 || c->group[c->n - 1].n * 2 > c->known;
}

/* Finds the subnet that most pods reach, and leaves the answers that it gives. The first pod of each
   group says what it reaches, beginning with the largest group, which is the last one; if none is the
   main one, the answers by the smallest group stay. */
static void find_main_subnet(struct census *c)
{
    const unsigned groups = c->n;
    unsigned first[GROUPS];

    for (unsigned i = 0; i < groups; i++)
        first[i] = c->group[i].who[0];
    if (groups < 2) /* all reach each other already */
        return;
    for (unsigned i = groups; i > 0; i--)
        if (is_main_subnet(c, first[i - 1]))
            return;
}

/* Counts the rails that the pod has: a gap stands for a rail that only others have. */
static unsigned count_own_rails(const struct ni_pod *pod)
{
    unsigned n = 0;

    for (unsigned r = 0; pod->here && r < pod->n_rail; r++)
        n += !pod->rail[r].gap;
    return n;
}

/* Puts which ports the first pod with fewer rails than others left out, and why, if one said so. */
static void put_left_out(const struct ni_job *job, struct ni_text *t)
{
    struct ni_text one = NI_TEXT(NI_FINDING_MESSAGE);
    unsigned rank = 0, most = 0;

    for (unsigned p = 0; p < job->ranks; p++) {
        const unsigned n = count_own_rails(&job->pod[p]);

        most = n > most ? n : most;
    }
    while (rank < job->ranks &&
           (!job->pod[rank].left_out[0] || count_own_rails(&job->pod[rank]) == most))
        rank++;
    if (rank == job->ranks)
        return;
    ni_put(&one, "; ");
    ni_put_pod(&one, job, rank);
    ni_putf(&one, " left out %s", job->pod[rank].left_out);
    if (t->len + one.len < t->cap)
        ni_put(t, one.buf);
}

/* Returns true if the answers differ in a way that harms the job. */
static bool is_difference(const struct census *c)
{
    const bool limited = c->q->fact == LIMITED;

    if (c->fault)
        return c->n > 0;
    /* one limited member reaches the full ones, two do not reach each other (IBTA 10.9.3) */
    if (limited ? c->known < 2 : c->n < 2)
        return false;
    /* each pod has a subnet of its own: such fabrics are routed, by tables that no pod can read */
    return !(c->q->fact == SUBNET && c->known > 2 && c->group[c->n - 1].n * 2 <= c->known);
}

/* Returns true if the rail fails in most pods: then the fabric is at fault, not a pod. */
static bool fails_in_most(const struct census *c)
{
    const unsigned failed =
        c->q->verdict == NI_RAIL_FAILED ? ni_count_rails(c->job, c->rail, fails_outside) : 0;

    return failed > 2 && failed * 2 > c->pods;
}

/* What the pods have in common whose rail has that verdict. */
struct shared {
    unsigned n, at_leaf; /* these pods; and those that take part at the leaf of the first of them */
    const char *leaf;    /* "": they are at several, or it is not known */
    bool others;         /* pods take part that are at other leaves */
};

static struct shared find_shared(const struct census *c)
{
    struct shared s = {.leaf = ""};

    for (unsigned p = 0; p < c->job->ranks; p++) {
        const char *leaf = c->job->pod[p].leaf;

        if (!ni_takes_part(c->job, p, c->rail) ||
            ni_tally_of(c->job, p, c->rail)->verdict != c->q->verdict)
            continue;
        if (s.n == 0)
            s.leaf = leaf;
        if (strcmp(leaf, s.leaf) != 0)
            s.leaf = "";
        s.n++;
    }
    for (unsigned p = 0; p < c->job->ranks && s.leaf[0]; p++) {
        const bool there = strcmp(c->job->pod[p].leaf, s.leaf) == 0;
        const bool takes_part = ni_takes_part(c->job, p, c->rail);

        s.at_leaf += takes_part && there;
        s.others = s.others || (takes_part && !there);
    }
    return s;
}

/* Puts what the pods at fault have in common: "4 of 4 pods of leaf-c: ", "16 of 16 pods: ". A fault
   of one pod has nothing in common with another. */
static void put_shared(const struct census *c, struct ni_text *t)
{
    const enum ni_rail_verdict verdict = c->q->verdict;
    const struct shared s = find_shared(c);

    if (verdict == NI_RAIL_PATH)
        ni_put_leaf_of_pairs(t, c->job, c->rail, ni_is_failed_path);
    if (s.n < 2 || (verdict != NI_RAIL_FAILED && verdict != NI_RAIL_SLOW))
        return;
    if (s.leaf[0] && s.others) {
        ni_putf(t, "%u of %u pods of ", s.n, s.at_leaf);
        ni_quote(t, s.leaf);
        ni_put(t, ": ");
    } else if (s.n > 2 && s.n * 2 > c->pods) {
        ni_putf(t, "%u of %u pods: ", s.n, c->pods);
    }
}

/* Returns true for verdicts that two pods have together, so that they do not show which one is at
   fault. */
static bool needs_a_third(enum ni_rail_verdict verdict)
{
    return verdict >= NI_RAIL_GOOD && verdict <= NI_RAIL_PATH;
}

/* Puts how many pairs failed, if these are more than the pods that are named have: a pair counts once
   for each direction. */
static void put_more_pairs(const struct census *c, struct ni_text *t)
{
    const unsigned pairs = count_paths(c->job, c->rail);

    if (pairs > 2 * c->known)
        ni_putf(t, PAIRS, pairs);
}

/* Puts the difference in words: what it is about, who differs how, and what explains it. */
static void put_difference(const struct census *c, struct ni_text *t)
{
    if (c->pods == 2 && needs_a_third(c->q->verdict))
        ni_put(t, "between two pods (either may be at fault): ");
    ni_put(t, c->q->name);
    if (c->q->fact == FAULT)
        put_shared(c, t);
    put_groups(c, t);
    if (c->q->id == NI_F_JOB_RAILS_DIFFER)
        put_left_out(c->job, t);
    if (c->q->verdict == NI_RAIL_PATH)
        put_more_pairs(c, t);
}

/* Asks one question about one rail; *to: the finding, if the pods differ in a way that matters. */
static void ask_about_rail(const struct ni_job *job, const struct question *q, unsigned rail,
                           struct told *to)
{
    struct census c = {.job = job, .q = q, .rail = rail};
    struct ni_text t = ni_text_on(to->message, sizeof(to->message));

    c.pods = ni_count_rails(job, rail, ni_takes_part);
    c.fault = q->fact == FAULT || q->fact == HOSTID;
    *to = (struct told){.id = q->id};
    to->rail[rail] = 1;
    ask_all(&c);
    if (q->fact == SUBNET)
        find_main_subnet(&c);
    if (!is_difference(&c))
        return;
    (void)ni_copy(to->hca, sizeof(to->hca), c.fault ? c.hca : "");
    to->worst = c.group[0].worst;
    if (fails_in_most(&c)) {
        to->id = NI_F_JOB_RAIL_ALL;
        to->worst = -1;
    }
    put_difference(&c, &t);
}

/* Reports the difference, one finding for all rails with the same sentence, the worst first. */
static void report_difference(const struct ni_job *job, const struct question *q,
                              struct ni_findings *f)
{
    struct told all[NI_MAX_RAILS];
    unsigned n = 0;

    for (unsigned r = 0; r < (q->setting ? 1 : job->n_rail); r++) {
        struct told *same = all;

        ask_about_rail(job, q, r, &all[n]);
        while (same->id != all[n].id || strcmp(same->message, all[n].message) != 0)
            same++;
        if (same == &all[n]) {
            n += same->message[0] != '\0';
        } else {
            same->rail[r] = 1;
            same->hca[0] = '\0';
        }
    }
    qsort(all, n, sizeof(all[0]), worst_first);
    for (unsigned i = 0; i < n; i++) {
        struct ni_text s = NI_TEXT(SUBJECT);

        if (q->setting)
            ni_put(&s, q->setting->name);
        else
            ni_put_numbers(&s, "rail", all[i].rail, job->n_rail, 1);
        if (all[i].hca[0])
            ni_putf(&s, " (%s)", all[i].hca);
        ni_report(f, all[i].id, s.buf, "%s", all[i].message);
    }
}

/* Reports the pods that are missing in that way, as one finding. */
static void tell_missing(const struct ni_job *job, enum ni_missing how, struct ni_findings *f)
{
    const bool lost = how == NI_POD_WENT_AWAY;
    struct ni_text s = NI_TEXT(SUBJECT), t = NI_TEXT(NI_FINDING_MESSAGE);
    unsigned n = 0;

    for (unsigned p = 0; p < job->ranks; p++) {
        if (job->missing[p] != how)
            continue;
        if (n == 0 && lost)
            ni_put_pod(&s, job, p);
        n++;
    }
    ni_putf(&t, "%u of %u pods %s: ", n, job->ranks,
            lost ? "went away before the end, or stopped answering" : "never came");
    if (lost)
        ni_put_numbers(&t, "rank", job->missing, job->ranks, (uint8_t)how);
    else
        ni_put_missing(&t, job, how);
    if (n > 0)
        ni_report(f, lost ? NI_F_JOB_POD_LOST : NI_F_JOB_MISSING, s.buf, "%s", t.buf);
}

void ni_compare_pods(const struct ni_job *job, const struct ni_policy *policy,
                     struct ni_findings *f)
{
    const bool must = (policy->require & NI_REQUIRE_RDMA) != 0;
    bool any = job->n_rail > 0; /* the job has rails, or devices of another plugin */

    for (unsigned p = 0; p < job->ranks; p++)
        any = any || (job->pod[p].here && job->pod[p].transport == NI_NET_OTHER);
    tell_missing(job, NI_POD_NEVER_CAME, f);
    if (!any && (must || policy->mode != NI_MODE_TCP))
        ni_report(f, must ? NI_F_REQUIRE_RDMA : NI_F_JOB_RDMA_NONE, "",
                  "no pod of the job has a rail");
    for (unsigned i = 0; i < NI_N_JOB_SETTING; i++) {
        const struct ni_job_setting *row = &ni_job_settings[i];
        const enum fact fact = row->id == NI_F_JOB_HOSTID_SAME ? HOSTID : SETTING;

        report_difference(job, &(struct question){row->id, fact, "", 0, row}, f);
    }
    for (size_t i = 0; i < NI_COUNT(facts); i++)
        report_difference(job, &facts[i], f);
    ni_find_same_gids(job, f);
}

/* Reports the pods that cannot begin as fast as they answer. */
static void report_starved(const struct ni_job *job, struct ni_findings *f)
{
    for (unsigned p = 0; p < job->ranks && job->n_rail > 0; p++) {
        struct ni_text s = NI_TEXT(SUBJECT);

        if (!ni_tally_of(job, p, 0)->starved)
            continue;
        ni_put_pod(&s, job, p);
        ni_report(f, NI_F_JOB_POD_SLOW, s.buf,
                  "what it begins is slow with every partner, on all paths; what others begin with "
                  "it is not: its processes get too little time");
    }
}

void ni_judge_rails(struct ni_job *job, struct ni_findings *f)
{
    /* percent of the rate: 0.8 of the data rate that packets of 1024 bytes leave */
    enum { LOW = 74 };
    const struct ni_pair_result *first = job->result;

    ni_tally(job);
    ni_mark_path_ends(job);
    const int64_t percent = job->median * 100 / NI_JOB_PARTS;
    tell_missing(job, NI_POD_WENT_AWAY, f);
    ni_report_neighbours(job, f);
    for (size_t i = 0; i < NI_COUNT(faults); i++)
        report_difference(job, &faults[i], f);
    report_starved(job, f);
    ni_report_paths(job, f);
    /* no rail differs from the others, but all are far from what they could do */
    if (job->n_result > 0 && !job->pod[first->pair.from].rail[first->pair.rail].software &&
        percent < LOW)
        ni_report(f, NI_F_JOB_RATE_LOW, "all rails", "the median is %lld %% of their rate",
                  (long long)percent);
}
