/* SPDX-License-Identifier: Apache-2.0 */
/* Many jobs on a model of a two-tier fabric, healthy ones and some with one bad cable: how often does the
   judge refuse a healthy one, and how often does it find the cable? The judge is the real one. */
#include <fcntl.h>
#include <getopt.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "nccl_init/findings.h"
#include "nccl_init/ip.h"
#include "nccl_init/known.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "preflight/compare.h"
#include "preflight/job.h"
#include "preflight/paths.h"
#include "preflight/rounds.h"
#include "rail/step.h"
#include "rail/task.h"
#include "two_tier.h"

enum { SIZES = 16, ORDERS = 2, MOST_JOBS = 64, RESULTS = 16 * NET_PODS, RAILS = 8 };
enum { MBPS = 100000, TIMED_OUT = 12 };
enum { SMALL = 64, SMALL_QUIET = 1024 }; /* writes whose acknowledgements are timed */
#define MOVE_S  0.2                      /* how long data moves, each way */
#define PAYLOAD 0.96                     /* of the rate, without headers */

#define ROUTER 0x525400000001 /* the MAC address of a router that answers for all */

static const char *const fault_words[FAULT_KINDS] = {
    "healthy", "dead", "lossy", "slow", "port", "cable", "starved", "broken", "leaf", "rail"};
static const char *const order_words[ORDERS] = {"ordered", "random"};

static struct {
    unsigned size[SIZES], sizes;
    bool fault[FAULT_KINDS], order[ORDERS];
    struct shape shape;
    unsigned ways, count, healthy, jobs, rails;
    uint64_t seed;
    enum recovery recovery;
    double noise, loss, slow, half, others, starved, pauses, drops; /* parts */
    double rtt_us; /* between two sites; 0: there is one */
    bool labels, verbose, check, varies, router, sum;
} how = {
    .size = {64, 128, 256, 1000},
    .sizes = 4,
    .fault = {[HEALTHY] = true, [DEAD] = true, [LOSSY] = true, [SLOW] = true},
    .order = {true, true},
    .shape = {.leaf_pods = 32, .uplinks = 32},
    .ways = WAY_UP,
    .count = 100,
    .jobs = 2,
    .rails = 1,
    .seed = 1,
    .noise = 0.1,
    .loss = 0.01,
    .slow = 0.1,
    .half = 0.5,
    .starved = 0.3,
    .labels = true,
};

/* What became of the jobs of one kind. */
struct counts {
    uint64_t jobs, bad, named; /* named: bad, and rightly so */
    uint64_t innocent;         /* a port, pod or leaf is blamed that is good */
    uint64_t rounds;
};

/* Large: not on the stack. The present rail's, and all of them. */
static struct net net, nets[RAILS];
static unsigned bad_rail;
static struct flow flows[NET_FLOWS];
static unsigned owner[NET_FLOWS]; /* the number of the result that a flow is of */
static struct dice dice;
static unsigned leaves[NET_PODS], n_leaf; /* that have pods of the job */

static double noise(void)
{
    return PAYLOAD * (1 - how.noise * roll_part(&dice));
}

/* ---- the real judge ---- */

static struct real {
    struct ni_job job;
    struct ni_pod pod[NET_PODS];
    struct ni_rail rail[NET_PODS][RAILS];
    uint8_t missing[NET_PODS];
    unsigned circle[NET_PODS];
    struct ni_rail_tally tally[NET_PODS * RAILS];
    struct ni_findings f;
    struct ni_pair_result result[RESULTS]; /* at the end: the others begin as zeros */
} real;

static void add_rails(unsigned p)
{
    for (unsigned r = 0; r < how.rails; r++) {
        struct ni_rail *rail = &real.rail[p][r];

        *rail = (struct ni_rail){.port = 1, .link = NI_LINK_ROCE, .v2 = true};
        snprintf(rail->hca, sizeof(rail->hca), "mlx5_%u", r);
        rail->mbps = (struct ni_num){(int64_t)(MBPS * port_rate(&net, net.place[p])), NI_KNOWN};
        ni_ip_from_v4(0x0a000000U + (r << 16) + net.place[p], rail->gid);
    }
}

static void add_pods(void)
{
    memset(&real, 0, offsetof(struct real, result));
    real.job = (struct ni_job){.ranks = net.shape.pods,
                               .source = "peers",
                               .pod = real.pod,
                               .missing = real.missing,
                               .n_rail = how.rails,
                               .result = real.result,
                               .circle = real.circle,
                               .tally = real.tally};
    for (unsigned p = 0; p < net.shape.pods; p++) {
        real.pod[p] = (struct ni_pod){
            .here = true, .transport = NI_NET_RDMA, .n_rail = how.rails, .rail = real.rail[p]};
        snprintf(real.pod[p].host, NI_POD_NAME, "pod-%u", p);
        snprintf(real.pod[p].node, NI_POD_NAME, "node-%u", net.place[p]);
        if (how.labels)
            snprintf(real.pod[p].leaf, NI_POD_NAME, "leaf-%u", leaf_of(&net, p));
        add_rails(p);
    }
}

/* Whether the queue pair takes part. */
static bool takes_part(const struct ni_pair_result *x, unsigned q)
{
    return x->queues == 0 || (x->queues & 1U << q);
}

static bool is_starved(unsigned rank)
{
    return net.fault.kind == STARVED && net.place[rank] == net.fault.place;
}

/* What the pod makes where it begins, in parts of the rate; 0: all. */
static double own_of(unsigned rank)
{
    return is_starved(rank) ? how.starved * port_rate(&net, net.place[rank]) : 0;
}

/* The queue pairs of a round that move at the same time, one way: of each pair the first `batch`, the next
   ones, ... */
static unsigned gather(const struct ni_pair_result *first, unsigned n, unsigned rail, unsigned step,
                       unsigned way)
{
    unsigned count = 0;

    for (const struct ni_pair_result *x = first; x < first + n; x++) {
        if (x->pair.rail != rail)
            continue;
        const unsigned batch = ni_batch(&real.job, x);
        /* those that are tried again keep their numbers */
        const unsigned number = x->again > 0 ? x->again - 1 : (unsigned)(x - real.result);

        for (unsigned q = 0, turn = 0; q < NI_MAX_QUEUES; q++) {
            const struct flow f = {.from = way == 0 ? x->pair.from : x->pair.to,
                                   .to = way == 0 ? x->pair.to : x->pair.from,
                                   .queue = (uint64_t)number * NET_QUEUES + q,
                                   .flight = (way == 0 ? NI_WRITES_IN_FLIGHT : NI_READS_IN_FLIGHT) /
                                             (MBPS * 1e6 / 8),
                                   .own = own_of(x->pair.from) / batch};

            if (!takes_part(x, q) || turn++ / batch != step)
                continue;
            must_hold(count < NET_FLOWS, "too many flows");
            owner[count] = (unsigned)(x - real.result);
            flows[count++] = f;
        }
    }
    return count;
}

/* As the pod of `from` reports it: it writes and then reads. */
static void report_queue(struct ni_queue_result *queue, const struct flow *f, unsigned way)
{
    const unsigned small = real.job.kind == NI_ROUND_AGAIN ? SMALL_QUIET : SMALL;

    if (f->dead) {
        queue->step = NI_PAIR_SMALL;
        queue->wc = TIMED_OUT;
    }
    if (queue->wc)
        return;
    queue->step = NI_PAIR_DONE;
    if (way == 0)
        queue->late = (uint16_t)late_acks(&net, f, small, &dice);
    if (net.recovery == ADAPTIVE || net.drops > 0)
        queue->resent += resent_packets(&net, f, MOVE_S / (NI_MAX_QUEUES / NI_PATH_BATCH), &dice);
    *(way == 0 ? &queue->write_mbps : &queue->read_mbps) = (int64_t)(f->rate * MBPS * noise());
}

/* As src/rail/rail.c sums up the queue pairs. */
static void sum_up(struct ni_pair_result *x)
{
    const unsigned batch = ni_batch(&real.job, x);
    unsigned n = 0;

    x->step = NI_PAIR_SMALL;
    x->wc = TIMED_OUT;
    x->latency_ns = 5000;
    if (how.router) {
        x->misled = NI_AT_FROM | NI_AT_TO;
        x->neighbour = x->neighbour_to = ROUTER;
    }
    if (in_second_site(&net, x->pair.from) != in_second_site(&net, x->pair.to))
        x->latency_ns += (int64_t)(how.rtt_us * 1000);
    for (unsigned q = 0; q < NI_MAX_QUEUES; q++) {
        const struct ni_queue_result *queue = &x->queue[q];

        if (!takes_part(x, q))
            continue;
        n++;
        x->write_mbps += queue->write_mbps;
        x->read_mbps += queue->read_mbps;
        if (queue->step != NI_PAIR_DONE)
            continue;
        x->step = NI_PAIR_DONE;
        x->wc = 0;
    }
    x->write_mbps /= (n + batch - 1) / batch;
    x->read_mbps /= (n + batch - 1) / batch;
}

static void move_rail(const struct ni_pair_result *x, unsigned n, unsigned rail)
{
    net = nets[rail];
    for (unsigned step = 0; step < NI_MAX_QUEUES; step++)
        for (unsigned way = 0; way < 2; way++) {
            const unsigned count = gather(x, n, rail, step, way);

            if (count == 0)
                continue;
            move_flows(&net, flows, count);
            for (unsigned i = 0; i < count; i++)
                report_queue(&real.result[owner[i]].queue[flows[i].queue % NET_QUEUES], &flows[i],
                             way);
        }
    nets[rail] = net;
}

static void try_pairs(struct ni_pair_result *x, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        x[i].n_queue = NI_MAX_QUEUES;
    for (unsigned r = 0; r < how.rails; r++)
        move_rail(x, n, r);
    for (unsigned i = 0; i < n; i++)
        sum_up(&x[i]);
}

/* Whether the sentence has that word. */
static bool has_word(const char *text, const char *word)
{
    const size_t n = strlen(word);

    for (const char *at = text; (at = strstr(at, word)) != NULL; at += n)
        if ((at == text || strchr(" ,:(", at[-1])) && strchr(" ,:;)", at[n]))
            return true;
    return false;
}

/* The id of the finding that a fault is to have. A leaf that is cut off shows as pairs or as ports. */
static bool is_right_kind(const char *id)
{
    static const char *const ids[FAULT_KINDS] = {
        [PORT] = "job.rail.slow",     [CABLE] = "job.rail.lossy", [STARVED] = "job.pod.slow",
        [BROKEN] = "job.rail.failed", [RAIL] = "job.rail.slow",
    };
    const char *right = ids[net.fault.kind];

    if (right)
        return strcmp(id, right) == 0;
    return ni_has_prefix(id, "job.path.") ||
           (net.fault.kind == LEAF && strcmp(id, "job.rail.failed") == 0);
}

/* Whether what the fault is about stands in the finding, and nobody else. A job of two leaves cannot tell
   them apart. */
static bool names_culprit(const struct ni_finding *f)
{
    char leaf[32], pod[32], all[32];

    snprintf(leaf, sizeof(leaf), "leaf-%u", net.fault.leaf);
    snprintf(pod, sizeof(pod), "(node-%u)", net.fault.place);
    snprintf(all, sizeof(all), "%u of %u pods", net.shape.pods, net.shape.pods);
    switch (net.fault.kind) {
    case PORT:
    case BROKEN:
    case CABLE:
    case STARVED:
        if (strstr(f->subject, pod))
            return true;
        return strstr(f->message, pod) && strstr(f->message, "(node-") == strstr(f->message, pod);
    case RAIL:
        return strstr(f->message, all) != NULL;
    case DEAD:
    case LOSSY:
    case SLOW:
    case LEAF:
        return !how.labels ||
               (has_word(f->message, leaf) && (n_leaf == 2 || !strstr(f->message, " or ")));
    case HEALTHY:
    case FAULT_KINDS:
        break;
    }
    return false;
}

/* Whether somebody is blamed who is good: another port, pod or rail; or a leaf alone that is good. */
static bool blames_innocent(const struct ni_finding *f, const char *id)
{
    char leaf[32];

    snprintf(leaf, sizeof(leaf), " touch leaf-%u", net.fault.leaf);
    if (ni_has_prefix(id, "job.path."))
        return how.labels && strstr(f->message, " touch ") && !strstr(f->message, " or ") &&
               !has_word(f->message, leaf + strlen(" touch "));
    return !(is_right_kind(id) && names_culprit(f));
}

/* How the job was judged. */
struct judged {
    bool bad, named, innocent;
};

static struct judged look(void)
{
    struct judged is = {.bad = ni_findings_count(&real.f, NI_ERROR) > 0};
    bool wrong = false;

    for (unsigned i = 0; i < real.f.n; i++) {
        const struct ni_finding *f = &real.f.at[i];
        const struct ni_finding_kind *kind = ni_finding_kind(f->id);

        if (ni_finding_severity(kind->number) != NI_ERROR)
            continue;
        if (is_right_kind(kind->id) && names_culprit(f))
            is.named = true;
        else if (!(ni_has_prefix(kind->id, "job.path.") && is_right_kind(kind->id)))
            wrong = true;
        is.innocent = is.innocent || blames_innocent(f, kind->id);
    }
    is.named = is.named && !wrong;
    return is;
}

static void judge_real(struct counts *c)
{
    struct ni_job *job = &real.job;

    add_pods();
    for (unsigned first = 0; ni_next_round(job); first = job->n_result) {
        must_hold(job->n_result + job->ranks <= RESULTS, "too many pairs");
        try_pairs(&real.result[first], job->n_result - first);
    }
    ni_judge_rails(job, &real.f);
    c->rounds += job->rounds;
    net = nets[bad_rail];
    const struct judged is = look();

    c->bad += is.bad;
    c->named += is.named;
    c->innocent += is.innocent;
}

/* ---- jobs ---- */

static uint64_t seed_of(unsigned pods, unsigned order, enum fault_kind kind, unsigned index)
{
    return mix(mix(mix(mix(how.seed) ^ pods) ^ (order << 8 | kind)) ^ index);
}

/* Each rail has a fabric of its own, of the same shape. */
static void build_rail(unsigned rail, unsigned order, uint64_t seed)
{
    build_net(&net, &how.shape, order == 1, seed);
    net.seed = mix(net.seed ^ rail);
    net.recovery = how.recovery;
    net.others = how.others;
    net.varies = how.varies;
    net.pauses = how.pauses;
    net.drops = how.drops;
    net.rtt_s = how.rtt_us / 1e6;
    net.packets = MBPS * 1e6 / 8 / 4096;
    nets[rail] = net;
}

/* Draws the leaf that has the fault. One that is cut off has two pods of the job or more: else it cannot be
   told from the port of its pod. */
static unsigned draw_leaf(enum fault_kind kind)
{
    unsigned leaf = 0, pods = 0;

    for (unsigned tries = 0; tries < 1000 && pods < (kind == LEAF ? 2 : 1); tries++) {
        leaf = leaves[roll_below(&dice, n_leaf)];
        pods = 0;
        for (unsigned p = 0; p < net.shape.pods; p++)
            pods += leaf_of(&net, p) == leaf;
    }
    return leaf;
}

static double part_of(enum fault_kind kind)
{
    if (kind == LOSSY || kind == CABLE)
        return how.loss;
    return kind == PORT || kind == RAIL ? how.half : how.slow;
}

static void play(unsigned pods, unsigned order, enum fault_kind kind, unsigned index,
                 struct counts *c)
{
    const uint64_t seed = seed_of(pods, order, kind, index);
    const struct counts was = *c;

    how.shape.pods = pods;
    dice.state = mix(seed ^ 1);
    bad_rail = roll_below(&dice, how.rails);
    for (unsigned r = 0; r < how.rails; r++)
        build_rail(r, order, seed);
    net = nets[bad_rail];
    net.fault = (struct fault){.kind = kind, .ways = how.ways};
    n_leaf = list_leaves(&net, leaves);
    net.fault.leaf = draw_leaf(kind);
    net.fault.uplink = roll_below(&dice, how.shape.uplinks);
    net.fault.place = net.place[roll_below(&dice, pods)];
    net.fault.part = part_of(kind);
    for (unsigned r = 0; r < how.rails; r++)
        if (r == bad_rail || kind == STARVED) /* the processes are those of the pod */
            nets[r].fault = net.fault;
    judge_real(c);
    c->jobs++;
    if (how.verbose && (kind == HEALTHY ? c->bad > was.bad : c->named == was.named))
        printf("%s, %u pods, %s, job %u: %s\n", fault_words[kind], pods, order_words[order], index,
               c->bad == was.bad ? "good"
               : kind == HEALTHY ? "refused"
                                 : "found, not named");
    for (unsigned i = 0; how.verbose && (kind == HEALTHY || c->named == was.named) && i < real.f.n;
         i++)
        if (ni_finding_severity(real.f.at[i].id) == NI_ERROR)
            printf("    %s: %s: %s\n", ni_finding_kind(real.f.at[i].id)->id, real.f.at[i].subject,
                   real.f.at[i].message);
}

static struct counts table[SIZES][ORDERS][FAULT_KINDS];

static unsigned count_of(enum fault_kind kind)
{
    return kind == HEALTHY && how.healthy > 0 ? how.healthy : how.count;
}

/* Each process has each so many-th job. */
static void play_part(unsigned part)
{
    unsigned number = 0;

    for (unsigned s = 0; s < how.sizes; s++)
        for (unsigned o = 0; o < ORDERS; o++)
            for (unsigned k = 0; k < FAULT_KINDS; k++)
                for (unsigned i = 0; i < count_of(k) && how.order[o] && how.fault[k]; i++)
                    if (number++ % how.jobs == part)
                        play(how.size[s], o, k, i, &table[s][o][k]);
}

/* Adds what a process has written. */
static void add_part(int fd)
{
    static struct counts part[SIZES][ORDERS][FAULT_KINDS];
    struct counts *to = &table[0][0][0];
    const struct counts *from = &part[0][0][0];
    size_t got = 0;
    ssize_t n;

    while ((n = read(fd, (char *)part + got, sizeof(part) - got)) > 0)
        got += (size_t)n;
    must_hold(got == sizeof(part), "a process ended early");
    for (size_t i = 0; i < sizeof(part) / sizeof(*from); i++) {
        to[i].jobs += from[i].jobs;
        to[i].bad += from[i].bad;
        to[i].named += from[i].named;
        to[i].innocent += from[i].innocent;
        to[i].rounds += from[i].rounds;
    }
}

static void play_all(void)
{
    int fd[MOST_JOBS][2];

    fflush(stdout);
    for (unsigned i = 0; i < how.jobs; i++) {
        pid_t child;

        must_hold(pipe2(fd[i], O_CLOEXEC) == 0, "no pipe");
        child = fork();
        must_hold(child >= 0, "no process");
        if (child == 0) {
            play_part(i);
            fflush(stdout);
            _exit(write(fd[i][1], table, sizeof(table)) == sizeof(table) ? 0 : 1);
        }
        close(fd[i][1]);
    }
    for (unsigned i = 0; i < how.jobs; i++)
        add_part(fd[i][0]);
    while (wait(NULL) > 0)
        ;
}

static double per(uint64_t n, uint64_t of, unsigned base)
{
    return of > 0 ? (double)n * base / (double)of : 0;
}

static void put_table(double seconds)
{
    printf("pods  ranks    fault    jobs   bad  of 1000  named  of 100  rounds\n");
    for (unsigned s = 0; s < how.sizes; s++)
        for (unsigned o = 0; o < ORDERS; o++)
            for (unsigned k = 0; k < FAULT_KINDS; k++) {
                const struct counts *c = &table[s][o][k];

                if (c->jobs == 0)
                    continue;
                printf("%4u  %-7s  %-7s  %4llu  %4llu  %7.1f", how.size[s], order_words[o],
                       fault_words[k], (unsigned long long)c->jobs, (unsigned long long)c->bad,
                       per(c->bad, c->jobs, 1000));
                if (k == HEALTHY)
                    printf("      -       -");
                else
                    printf("  %5llu  %6.1f", (unsigned long long)c->named,
                           per(c->named, c->jobs, 100));
                printf("  %6.1f\n", per(c->rounds, c->jobs, 1));
            }
    fprintf(stderr, "%.1f s\n", seconds);
}

/* One row of the table of kinds: of the healthy jobs those that are refused; of those with a fault those that
   are found, and of these those whose culprit is named; of all jobs those in which an innocent is blamed. */
static void put_sum(void)
{
    struct counts healthy = {0}, fault = {0};

    for (unsigned i = 0; i < how.sizes * ORDERS * FAULT_KINDS; i++) {
        const struct counts *c =
            &table[i / FAULT_KINDS / ORDERS][i / FAULT_KINDS % ORDERS][i % FAULT_KINDS];
        struct counts *to = i % FAULT_KINDS == HEALTHY ? &healthy : &fault;

        to->jobs += c->jobs;
        to->bad += c->bad;
        to->named += c->named;
        to->innocent += c->innocent;
    }
    printf("%.1f %% of %llu | %.1f %% of %llu | %.1f %% | %.1f %%\n",
           per(healthy.bad, healthy.jobs, 100), (unsigned long long)healthy.jobs,
           per(fault.bad, fault.jobs, 100), (unsigned long long)fault.jobs,
           per(fault.named, fault.bad, 100),
           per(healthy.innocent + fault.innocent, healthy.jobs + fault.jobs, 100));
}

/* Whether the judge is as good as it has to be: of healthy jobs one of 1,000 may be refused; of those with a
   fault so many of 100 must be named. */
static bool is_good_enough(void)
{
    static const unsigned least[FAULT_KINDS] = {
        [DEAD] = 99,    [LOSSY] = 99,  [SLOW] = 95, [PORT] = 99, [CABLE] = 95,
        [STARVED] = 95, [BROKEN] = 99, [LEAF] = 95, [RAIL] = 95};
    bool good = true;

    for (unsigned k = 0; k < FAULT_KINDS; k++) {
        uint64_t jobs = 0, bad = 0, named = 0;

        for (unsigned i = 0; i < how.sizes * ORDERS; i++) {
            jobs += table[i / ORDERS][i % ORDERS][k].jobs;
            bad += table[i / ORDERS][i % ORDERS][k].bad;
            named += table[i / ORDERS][i % ORDERS][k].named;
        }
        if (k == HEALTHY ? bad * 1000 <= jobs : named * 100 >= jobs * least[k])
            continue;
        fprintf(stderr, "fabric: %s: %llu of %llu jobs are bad, %llu of them named\n",
                fault_words[k], (unsigned long long)bad, (unsigned long long)jobs,
                (unsigned long long)named);
        good = false;
    }
    return good;
}

/* ---- options ---- */

static const char usage[] =
    "usage: fabric [OPTION...]\n"
    "  --pods=N,...         sizes of the jobs (64,128,256,1000)\n"
    "  --faults=WORD,...    of healthy, dead, lossy, slow; port: a slow port of a pod; cable: its "
    "lossy cable;\n"
    "                       starved: a pod whose processes have too little time; broken: a port "
    "that reaches nobody;\n"
    "                       leaf: one that is cut off; rail: slow ports of all pods\n"
    "  --rails=N            each with a fabric of its own; one has the fault (1)\n"
    "  --planes=N           of a port, over which its queue pairs are hashed (1)\n"
    "  --adaptive           packets take any uplink\n"
    "  --slower=PERCENT     of the pods, whose ports have half the rate, and say so (0)\n"
    "  --router             a router answers for the addresses of all\n"
    "  --ranks=WORD,...     of ordered, random\n"
    "  --places=N           for pods, of which the job has any (as many as pods)\n"
    "  --per-leaf=N         pods of a leaf (32)\n"
    "  --uplinks=N          of a leaf (32)\n"
    "  --spines=N           (as many as uplinks)\n"
    "  --way=WORD           of the bad cable: up, down or both (up)\n"
    "  --recovery=WORD      of the devices: goback, selective or adaptive (goback)\n"
    "  --loss=PERCENT       of the packets on a lossy cable (1)\n"
    "  --slow=PERCENT       of its rate, of a slow cable (10)\n"
    "  --half=PERCENT       of its rate, of a slow port or rail (50)\n"
    "  --others=PERCENT     flows of other jobs on each uplink and downlink, in the mean (0)\n"
    "  --vary               they come and go with each step\n"
    "  --pauses=PERCENT     of leaves and steps, in which flow control stops what goes to the "
    "leaf's pods (0)\n"
    "  --drops=PERCENT      of the packets of flows that share a full link: no flow control (0)\n"
    "  --rtt=US             round trip between two sites, which have half of the leaves each (0: "
    "one site)\n"
    "  --starved=PERCENT    of the rate, that a starved pod makes (30)\n"
    "  --noise=PERCENT      of each rate, at most (10)\n"
    "  --count=N            jobs of each kind (100)\n"
    "  --healthy=N          healthy jobs (as the others)\n"
    "  --seed=N             (1)\n"
    "  --jobs=N             processes (2)\n"
    "  --no-labels          no node tells its leaf\n"
    "  --sum                one line for all jobs\n"
    "  --check              status 1 if the judge is not as good as it has to be\n"
    "  --verbose            a line for each job that is judged wrongly\n";

static _Noreturn void refuse(const char *what)
{
    fprintf(stderr, "fabric: %s\n%s", what, usage);
    exit(2);
}

static unsigned number(const char *text, unsigned least, unsigned most)
{
    char *end;
    const unsigned long n = strtoul(text, &end, 10);

    if (*end || end == text || n < least || n > most)
        refuse(text);
    return (unsigned)n;
}

static double part(const char *text)
{
    char *end;
    const double percent = strtod(text, &end);

    if (*end || end == text || !(percent >= 0 && percent <= 1000))
        refuse(text);
    return percent / 100;
}

static unsigned word_of(const char *text, const char *const *words, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (strcmp(text, words[i]) == 0)
            return i;
    refuse(text);
}

static void take_words(char *list, const char *const *words, unsigned n, bool *is)
{
    memset(is, 0, n);
    for (char *at = strtok(list, ","); at; at = strtok(NULL, ","))
        is[word_of(at, words, n)] = true;
}

static void take_sizes(char *list)
{
    how.sizes = 0;
    for (char *at = strtok(list, ","); at; at = strtok(NULL, ",")) {
        if (how.sizes == SIZES)
            refuse("too many sizes");
        how.size[how.sizes++] = number(at, 4, NET_PODS);
    }
}

static void take_options(int argc, char **argv)
{
    static const char *const ways[] = {"up", "down", "both"};
    static const char *const recoveries[] = {"goback", "selective", "adaptive"};
    static const struct option options[] = {
        {"places", 1, NULL, 'x'},   {"pods", 1, NULL, 'p'},      {"faults", 1, NULL, 'f'},
        {"ranks", 1, NULL, 'o'},    {"per-leaf", 1, NULL, 'l'},  {"uplinks", 1, NULL, 'u'},
        {"spines", 1, NULL, 's'},   {"way", 1, NULL, 'w'},       {"recovery", 1, NULL, 'r'},
        {"loss", 1, NULL, 'L'},     {"slow", 1, NULL, 'S'},      {"half", 1, NULL, 'h'},
        {"noise", 1, NULL, 'n'},    {"count", 1, NULL, 'c'},     {"seed", 1, NULL, 'e'},
        {"jobs", 1, NULL, 'j'},     {"no-labels", 0, NULL, 'N'}, {"check", 0, NULL, 'k'},
        {"verbose", 0, NULL, 'v'},  {"others", 1, NULL, 'T'},    {"vary", 0, NULL, 'V'},
        {"pauses", 1, NULL, 'P'},   {"rails", 1, NULL, 'R'},     {"planes", 1, NULL, 'Q'},
        {"adaptive", 0, NULL, 'A'}, {"slower", 1, NULL, 'g'},    {"router", 0, NULL, 'a'},
        {"sum", 0, NULL, 'm'},      {"healthy", 1, NULL, 'y'},   {"rtt", 1, NULL, 't'},
        {"starved", 1, NULL, 'H'},  {"drops", 1, NULL, 'd'},     {NULL, 0, NULL, 0},
    };
    int c;

    while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (c) {
        case 'p':
            take_sizes(optarg);
            break;
        case 'f':
            take_words(optarg, fault_words, FAULT_KINDS, how.fault);
            break;
        case 'o':
            take_words(optarg, order_words, ORDERS, how.order);
            break;
        case 'x':
            how.shape.places = number(optarg, 1, NET_PODS);
            break;
        case 'l':
            how.shape.leaf_pods = number(optarg, 1, NET_PODS);
            break;
        case 'u':
            how.shape.uplinks = number(optarg, 1, NET_TIER);
            break;
        case 's':
            how.shape.spines = number(optarg, 1, NET_TIER);
            break;
        case 'w':
            how.ways = word_of(optarg, ways, 3) + 1;
            break;
        case 'r':
            how.recovery = (enum recovery)word_of(optarg, recoveries, 3);
            break;
        case 'L':
            how.loss = part(optarg);
            break;
        case 'h':
            how.half = part(optarg);
            break;
        case 'S':
            how.slow = part(optarg);
            break;
        case 'n':
            how.noise = part(optarg);
            break;
        case 'c':
            how.count = number(optarg, 1, 1000000);
            break;
        case 'e':
            how.seed = number(optarg, 0, UINT32_MAX);
            break;
        case 'j':
            how.jobs = number(optarg, 1, MOST_JOBS);
            break;
        case 'N':
            how.labels = false;
            break;
        case 'k':
            how.check = true;
            break;
        case 'v':
            how.verbose = true;
            break;
        case 'V':
            how.varies = true;
            break;
        case 'R':
            how.rails = number(optarg, 1, RAILS);
            break;
        case 'Q':
            how.shape.planes = number(optarg, 1, 8);
            break;
        case 'A':
            how.shape.adaptive = true;
            break;
        case 'g':
            how.shape.slower = part(optarg);
            break;
        case 'a':
            how.router = true;
            break;
        case 'y':
            how.healthy = number(optarg, 1, 1000000);
            break;
        case 'm':
            how.sum = true;
            break;
        case 'P':
            how.pauses = part(optarg);
            break;
        case 't':
            how.rtt_us = number(optarg, 0, 1000000);
            break;
        case 'd':
            how.drops = part(optarg);
            break;
        case 'H':
            how.starved = part(optarg);
            break;
        case 'T':
            how.others = part(optarg);
            break;
        default:
            refuse("no such option");
        }
    }
    if (optind < argc)
        refuse(argv[optind]);
    if (how.loss >= 1 || how.noise >= 1 || how.slow <= 0 || how.half <= 0)
        refuse("such a loss, noise or rate is not possible");
    for (unsigned i = 0; i < how.sizes && how.shape.places > 0; i++)
        if (how.size[i] > how.shape.places)
            refuse("more pods than places");
    if (how.shape.spines == 0)
        how.shape.spines = how.shape.uplinks;
}

int main(int argc, char **argv)
{
    struct timespec begin = {0}, end = {0};

    take_options(argc, argv);
    (void)clock_gettime(CLOCK_MONOTONIC, &begin);
    play_all();
    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    if (how.sum)
        put_sum();
    else
        put_table((double)(end.tv_sec - begin.tv_sec) +
                  (double)(end.tv_nsec - begin.tv_nsec) / 1e9);
    return how.check && !is_good_enough();
}
