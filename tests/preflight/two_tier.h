/* SPDX-License-Identifier: Apache-2.0 */
/* A two-tier fabric that is not there: leaves with pods, uplinks to spines. A queue pair hashes to one
   uplink of its source's leaf and one downlink of its destination's leaf, once for each direction.
   All flows of a round share the links max-min fair. Rates are in parts of a pod's rate. */
#ifndef NCCL_INIT_TEST_TWO_TIER_H
#define NCCL_INIT_TEST_TWO_TIER_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NET_PODS = 2048,
    NET_QUEUES = 16, /* queue pairs of a pair of pods, at most */
    NET_FLOWS = NET_PODS * NET_QUEUES,
    NET_HOPS = 4,                            /* out of the pod, up, down, into the pod */
    NET_TIER = 2 * NET_PODS,                 /* uplinks of all leaves, at most */
    NET_LINKS = 2 * NET_PODS + 2 * NET_TIER, /* each in one direction */
    NET_HOLDERS = NET_LINKS + NET_FLOWS      /* links, and what limits one flow alone */
};

static inline void must_hold(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "fabric: %s\n", what);
    abort();
}

/* ---- numbers that a seed gives ---- */

/* splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014). */
static inline uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

struct dice {
    uint64_t state;
};

static inline uint64_t roll(struct dice *d)
{
    d->state += UINT64_C(0x9e3779b97f4a7c15);
    return mix(d->state);
}

/* 0 .. below - 1. */
static inline unsigned roll_below(struct dice *d, unsigned below)
{
    return (unsigned)((roll(d) >> 32) * below >> 32);
}

/* 0 .. 1, without 1. */
static inline double roll_part(struct dice *d)
{
    return (double)(roll(d) >> 11) * 0x1p-53;
}

/* ---- the fabric ---- */

struct shape {
    unsigned pods, leaf_pods;
    unsigned uplinks; /* of a leaf, each of a pod's rate */
    unsigned spines; /* as many as uplinks: the uplink decides the downlink. Fewer: the spine hashes
                         once more, to one of the links that it has to the leaf */
    unsigned places; /* for pods: the job has any of them. 0: as many as pods */
    unsigned planes; /* of a port, each with its part of the rate and of the uplinks; 0: one */
    bool adaptive;   /* the packets of each flow take all uplinks, but for one that is dead */
    double slower;   /* the part of pods whose port has half the rate of the others, and says so */
};

enum fault_kind {
    HEALTHY,
    DEAD,
    LOSSY,
    SLOW,
    PORT,
    CABLE,
    STARVED,
    BROKEN,
    LEAF,
    RAIL,
    FAULT_KINDS
};
enum { WAY_UP = 1, WAY_DOWN = 2 };

/* Of one cable between a leaf and a spine; PORT: of a pod, which is slow both ways; CABLE: of a pod, lossy both
   ways; STARVED: a pod whose processes get a part of the time, so that it moves less where it is asked to move, and
   answers as fast as ever; BROKEN: a pod's port that reaches nobody; LEAF: its pods reach each other, and nobody else;
   RAIL: all ports are slow. */
struct fault {
    enum fault_kind kind;
    unsigned leaf, uplink;
    unsigned place; /* PORT, CABLE, STARVED, BROKEN */
    unsigned ways;  /* WAY_UP: what leaves the leaf; WAY_DOWN: what enters it */
    double part;    /* LOSSY, CABLE: of the packets; else of the rate that is left */
};

/* How a device repairs a loss. ADAPTIVE: as SELECTIVE, and it waits microseconds, not a time-out, so that
   only its counters tell it. */
enum recovery { GO_BACK_N, SELECTIVE, ADAPTIVE };

struct net {
    struct shape shape;
    unsigned leaves;
    uint64_t seed;      /* of the hash */
    uint64_t port_seed; /* of the ports' rates, the same on all rails */
    struct fault fault;
    enum recovery recovery;
    double packets; /* a second, at a pod's rate */
    double others;  /* flows of other jobs on each link between leaf and spine, in the mean */
    bool varies;    /* they are others in each step */
    double drops;   /* what flows lose that share a full link between leaf and spine, in parts */
    double pauses;  /* the part of leaves that flow control stops, nearly, anew in each step */
    double rtt_s;   /* between the two sites that the leaves are in; 0: there is one */
    uint64_t step;  /* the number of the present one */
    unsigned place[NET_PODS]; /* by rank: place / leaf_pods is its leaf */
};

static inline unsigned leaf_of(const struct net *n, unsigned rank)
{
    return n->place[rank] / n->shape.leaf_pods;
}

static inline unsigned planes_of(const struct net *n)
{
    return n->shape.planes > 0 ? n->shape.planes : 1;
}

/* Links of ports stand plane by plane. */
static inline unsigned link_out(const struct net *n, unsigned place, unsigned plane)
{
    return plane * (NET_PODS / planes_of(n)) + place;
}

static inline unsigned link_in(const struct net *n, unsigned place, unsigned plane)
{
    return NET_PODS + link_out(n, place, plane);
}

/* The place whose port the link is of. */
static inline unsigned place_of(const struct net *n, unsigned link)
{
    return link % NET_PODS % (NET_PODS / planes_of(n));
}

static inline bool is_of_port(unsigned link)
{
    return link < 2 * NET_PODS;
}

/* The rate of a place's port. */
static inline double port_rate(const struct net *n, unsigned place)
{
    struct dice d = {mix(n->port_seed ^ place)};

    return roll_part(&d) < n->shape.slower ? 0.5 : 1;
}

static inline unsigned link_up(const struct net *n, unsigned leaf, unsigned uplink)
{
    return 2 * NET_PODS + leaf * n->shape.uplinks + uplink;
}

static inline unsigned link_down(const struct net *n, unsigned leaf, unsigned uplink)
{
    return 2 * NET_PODS + NET_TIER + leaf * n->shape.uplinks + uplink;
}

static inline int earlier_place(const void *a, const void *b)
{
    const unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

    return (x > y) - (x < y);
}

/* random: the launcher places the ranks without regard to leaves. */
static inline void build_net(struct net *n, const struct shape *shape, bool random, uint64_t seed)
{
    const unsigned places = shape->places > 0 ? shape->places : shape->pods;
    struct dice d = {mix(seed)};

    memset(n, 0, sizeof(*n));
    n->shape = *shape;
    must_hold(shape->pods <= places && places <= NET_PODS / planes_of(n), "too many pods");
    must_hold(shape->uplinks % planes_of(n) == 0, "uplinks are not shared by the planes");
    must_hold(shape->leaf_pods > 0, "no pods of a leaf");
    must_hold(shape->spines > 0 && shape->uplinks % shape->spines == 0, "no such spines");
    n->leaves = (places + shape->leaf_pods - 1) / shape->leaf_pods;
    must_hold(n->leaves * shape->uplinks <= NET_TIER, "too many uplinks");
    n->seed = roll(&d);
    n->port_seed = mix(n->seed);
    for (unsigned i = 0; i < places; i++)
        n->place[i] = i;
    for (unsigned i = places; (random || places > shape->pods) && i > 1; i--) {
        const unsigned k = roll_below(&d, i), was = n->place[i - 1];

        n->place[i - 1] = n->place[k];
        n->place[k] = was;
    }
    if (!random)
        qsort(n->place, shape->pods, sizeof(n->place[0]), earlier_place);
}

/* Leaves that have pods of the job, by number; how many. */
static inline unsigned list_leaves(const struct net *n, unsigned leaf[NET_PODS])
{
    static bool is[NET_PODS];
    unsigned count = 0;

    memset(is, 0, sizeof(is));
    for (unsigned p = 0; p < n->shape.pods; p++)
        is[leaf_of(n, p)] = true;
    for (unsigned i = 0; i < n->leaves; i++)
        if (is[i])
            leaf[count++] = i;
    return count;
}

/* The links from one rank to another, for the packets of that queue pair; how many. */
static inline unsigned route(const struct net *n, unsigned from, unsigned to, uint64_t queue,
                             unsigned link[NET_HOPS])
{
    const unsigned a = n->place[from], b = n->place[to];
    const unsigned up_leaf = leaf_of(n, from), down_leaf = leaf_of(n, to);
    const unsigned width = n->shape.uplinks / n->shape.spines; /* links of a leaf to one spine */
    const uint64_t h = mix(mix(n->seed ^ queue) ^ ((uint64_t)a << 32 | b));
    const unsigned own = n->shape.uplinks / planes_of(n);                   /* uplinks of a plane */
    const unsigned plane = (unsigned)(mix(n->seed ^ queue) % planes_of(n)); /* both ways the same */
    const unsigned up = plane * own + (unsigned)((h >> 32) * own >> 32);
    const unsigned down = up / width * width + (unsigned)(h & UINT32_MAX) % width;
    const bool adaptive = n->shape.adaptive;
    unsigned hops = 0;

    link[hops++] = link_out(n, a, plane);
    if (up_leaf != down_leaf) {
        link[hops++] = link_up(n, up_leaf, adaptive ? 0 : up);
        link[hops++] = link_down(n, down_leaf, adaptive ? 0 : down);
    }
    link[hops++] = link_in(n, b, plane);
    return hops;
}

static inline bool is_faulty(const struct net *n, unsigned link)
{
    const struct fault *f = &n->fault;
    const unsigned uplink = n->shape.adaptive ? 0 : f->uplink;

    switch (f->kind) {
    case PORT:
    case CABLE:
    case BROKEN:
        return is_of_port(link) && place_of(n, link) == f->place;
    case RAIL:
        return is_of_port(link);
    case DEAD:
    case LOSSY:
    case SLOW:
        return ((f->ways & WAY_UP) && link == link_up(n, f->leaf, uplink)) ||
               ((f->ways & WAY_DOWN) && link == link_down(n, f->leaf, uplink));
    case HEALTHY:
    case STARVED:
    case LEAF:
    case FAULT_KINDS:
        break;
    }
    return false;
}

#define PAUSED 0.1 /* of the rate: what a leaf takes that flow control stops again and again */

/* Whether flow control stops what goes to the pods of that link's leaf. */
static inline bool is_paused(const struct net *n, unsigned link)
{
    struct dice d = {mix(n->seed ^ n->step << 20 ^ place_of(n, link) / n->shape.leaf_pods)};

    return n->pauses > 0 && link >= NET_PODS && is_of_port(link) && roll_part(&d) < n->pauses;
}

static inline bool in_second_site(const struct net *n, unsigned rank)
{
    return n->rtt_s > 0 && leaf_of(n, rank) >= n->leaves / 2;
}

/* What all uplinks of a leaf carry, or all downlinks, where packets take any of them. */
static inline double adaptive_capacity(const struct net *n, unsigned link)
{
    const struct fault *f = &n->fault;
    const bool less = (f->kind == SLOW || f->kind == DEAD) && is_faulty(n, link);

    return n->shape.uplinks - (less ? 1 - (f->kind == SLOW ? f->part : 0) : 0);
}

static inline double capacity_of(const struct net *n, unsigned link)
{
    const enum fault_kind kind = n->fault.kind;
    const bool less = (kind == SLOW || kind == PORT || kind == RAIL) && is_faulty(n, link);

    if (!is_of_port(link) && n->shape.adaptive)
        return adaptive_capacity(n, link);
    const double whole = is_of_port(link) ? port_rate(n, place_of(n, link)) / planes_of(n) : 1.0;
    return whole * (less ? n->fault.part : 1.0) * (is_paused(n, link) ? PAUSED : 1.0);
}

/* ---- flows ---- */

/* What one queue pair moves one way. */
struct flow {
    unsigned from, to; /* ranks: data goes from the first to the second */
    uint64_t queue;    /* a number that keeps its hash */
    unsigned hops, link[NET_HOPS];
    double flight; /* parts of a pod's rate that are on the way at once, in seconds */
    double own;    /* what the pod that asks for it makes of it, in parts of the rate; 0: all */
    double limit;  /* of this flow alone; 0: none */
    bool dead;     /* its packets, or what acknowledges them, never arrive */
    double lost;   /* part of its packets */
    double lost_back;
    double dropped; /* part of the packets of bulk, by full links; small writes go before it */
    double rate;
};

/* One that has not been frozen yet gets so much of it. */
struct holder {
    double left;
    unsigned active, first, n; /* its flows: net_members[first ...] */
};

static struct holder net_holder[NET_HOLDERS];
static unsigned net_member[NET_FLOWS * (NET_HOPS + 1)];
static struct {
    double share;
    unsigned holder;
} net_heap[NET_HOLDERS];
static unsigned net_heap_n;

static inline void heap_swap(unsigned i, unsigned k)
{
    const double share = net_heap[i].share;
    const unsigned holder = net_heap[i].holder;

    net_heap[i] = net_heap[k];
    net_heap[k].share = share;
    net_heap[k].holder = holder;
}

static inline void heap_sink(unsigned i)
{
    for (;;) {
        unsigned least = i;

        for (unsigned k = 2 * i + 1; k <= 2 * i + 2 && k < net_heap_n; k++)
            if (net_heap[k].share < net_heap[least].share)
                least = k;
        if (least == i)
            return;
        heap_swap(i, least);
        i = least;
    }
}

static inline double share_left(unsigned holder)
{
    const struct holder *h = &net_holder[holder];

    return h->left > 0 ? h->left / h->active : 0;
}

/* The holders of a flow: its links, and its own limit. */
static inline unsigned holders_of(const struct flow *f, unsigned at, unsigned holder[NET_HOPS + 1])
{
    unsigned n = f->hops;

    memcpy(holder, f->link, f->hops * sizeof(holder[0]));
    if (f->limit > 0)
        holder[n++] = NET_LINKS + at;
    return n;
}

/* Who holds a flow that is not dead, and the heap of them, not in order yet. */
static inline void list_members(const struct net *n, const struct flow *flow, unsigned flows)
{
    unsigned holder[NET_HOPS + 1], first = 0;

    net_heap_n = 0;
    for (unsigned i = 0; i < flows; i++)
        for (unsigned k = holders_of(&flow[i], i, holder); k-- > 0;)
            net_holder[holder[k]] = (struct holder){.left = 0};
    for (unsigned i = 0; i < flows; i++)
        for (unsigned k = holders_of(&flow[i], i, holder); k-- > 0 && !flow[i].dead;)
            if (net_holder[holder[k]].active++ == 0)
                net_heap[net_heap_n++].holder = holder[k];
    for (unsigned i = 0; i < net_heap_n; i++) {
        const unsigned at = net_heap[i].holder;
        struct holder *h = &net_holder[at];

        h->first = first;
        first += h->active;
        h->left = at < NET_LINKS ? capacity_of(n, at) : flow[at - NET_LINKS].limit;
        net_heap[i].share = share_left(at);
    }
    for (unsigned i = 0; i < flows; i++)
        for (unsigned k = holders_of(&flow[i], i, holder); k-- > 0 && !flow[i].dead;) {
            struct holder *h = &net_holder[holder[k]];

            net_member[h->first + h->n++] = i;
        }
}

/* All flows of that holder that have no rate yet get this one. */
static inline void freeze(struct flow *flow, const struct holder *h, double share)
{
    unsigned holder[NET_HOPS + 1];

    for (unsigned i = h->first; i < h->first + h->n; i++) {
        struct flow *f = &flow[net_member[i]];

        if (f->rate >= 0)
            continue;
        f->rate = share;
        for (unsigned k = holders_of(f, net_member[i], holder); k-- > 0;) {
            net_holder[holder[k]].left -= share;
            net_holder[holder[k]].active--;
        }
    }
}

/* Max-min fair rates, by filling (Bertsekas, Gallager: Data Networks, 6.5.2): of all links the one that
   gives each of its flows the least decides these; then the next. What a link gives never sinks, so that
   an old share in the heap is never too large. */
static inline void share_links(const struct net *n, struct flow *flow, unsigned flows)
{
    for (unsigned i = 0; i < flows; i++)
        flow[i].rate = flow[i].dead ? 0 : -1;
    list_members(n, flow, flows);
    for (unsigned i = net_heap_n / 2; i-- > 0;)
        heap_sink(i);
    while (net_heap_n > 0) {
        const unsigned at = net_heap[0].holder;
        const double share = net_holder[at].active > 0 ? share_left(at) : 0;

        if (share > net_heap[0].share) { /* it has more by now */
            net_heap[0].share = share;
        } else {
            freeze(flow, &net_holder[at], share);
            heap_swap(0, --net_heap_n);
        }
        heap_sink(0);
    }
}

/* ---- loss ---- */

#define ACK_TIMEOUT_S 0.067 /* 4.096 us * 2^14, what src/rail/rail.c asks for */
#define ROUND_TRIP_S  12e-6 /* of a loaded fabric of two tiers */

/* What is left of a flow that loses such a part of its packets, in packets a second.

   RC of most devices goes back to the packet that is missing: each loss costs what was in flight, a round
   trip (the throughput of go-back-N: Bertsekas, Gallager: Data Networks, 2.4). Where the packet that is
   sent again is lost as well there is no second NAK (the InfiniBand specification: one for each gap), and only the time-out
   of the acknowledgement helps. That is the collapse that is seen: nearly nothing is left at 1 % (Wang and
   others: Error Recovery of RDMA Packets in Data Center Networks, ICCCN 2019); in the lab 1 % by netem takes
   half and more of what SoftRoCE can do, with a slowest acknowledgement of 70 ms.

   Newer devices send only again what is missing: then the rate hardly tells it. */
static inline double packets_left(enum recovery recovery, double packets, double lost)
{
    if (recovery != GO_BACK_N)
        return packets * (1 - lost);
    return 1 / (1 / packets + lost / (1 - lost) * ROUND_TRIP_S + lost * lost * ACK_TIMEOUT_S);
}

/* ---- one step of a round ---- */

/* Poisson (Knuth: The Art of Computer Programming, 3.4.1). */
static inline unsigned roll_count(struct dice *d, double mean)
{
    double left = roll_part(d);
    unsigned n = 0;

    while (left > exp(-mean)) {
        left *= roll_part(d);
        n++;
    }
    return n;
}

/* What other jobs move all the time, after the flows of the job: on each link between leaf and spine as
   many flows as its number draws. How many flows there are then. */
static inline unsigned add_others(const struct net *n, struct flow *flow, unsigned flows)
{
    const unsigned links = n->leaves * n->shape.uplinks;

    for (unsigned i = 0; i < 2 * links && n->others > 0; i++) {
        const unsigned one = n->shape.adaptive ? n->shape.uplinks : 1; /* link of so many */
        const unsigned at = i % links / one * one;
        const unsigned link = i < links ? link_up(n, 0, at) : link_down(n, 0, at);
        struct dice d = {mix(n->seed ^ i ^ (n->varies ? n->step << 32 : 0))};

        for (unsigned k = roll_count(&d, n->others); k > 0; k--) {
            must_hold(flows < NET_FLOWS, "too many flows");
            flow[flows++] = (struct flow){.hops = 1, .link = {link}};
        }
    }
    return flows;
}

/* What limits a flow alone: who asks for it, and what is on the way in a round trip. */
static inline double limit_of(const struct net *n, const struct flow *f)
{
    const bool far = in_second_site(n, f->from) != in_second_site(n, f->to);
    const double most = far ? f->flight / n->rtt_s : 0;

    return f->own > 0 && (most == 0 || f->own < most) ? f->own : most;
}

/* Where no flow control holds what a full link cannot carry, it drops some of it. */
static inline void drop_what_is_too_much(const struct net *n, struct flow *flow, unsigned flows)
{
    static unsigned users[NET_LINKS];

    memset(users, 0, sizeof(users));
    for (unsigned i = 0; i < flows; i++)
        for (unsigned k = 0; k < flow[i].hops; k++)
            users[flow[i].link[k]]++;
    for (unsigned i = 0; i < flows; i++)
        for (unsigned k = 0; k < flow[i].hops; k++)
            if (flow[i].link[k] >= link_up(n, 0, 0) && users[flow[i].link[k]] > 1 &&
                flow[i].rate * users[flow[i].link[k]] > capacity_of(n, flow[i].link[k]) * 0.99)
                flow[i].dropped = 1 - (1 - flow[i].dropped) * (1 - n->drops);
}

/* The rates of all flows that move at once. from, to, queue, flight and own are given. */
static inline void move_flows(struct net *n, struct flow *flow, unsigned flows)
{
    const enum fault_kind kind = n->fault.kind;
    const bool lossy = kind == LOSSY || kind == CABLE;
    /* of packets that take all uplinks, one of so many takes the bad one */
    const double share = n->shape.adaptive && kind == LOSSY ? n->shape.uplinks : 1;
    unsigned back[NET_HOPS], all;
    bool any = false;

    n->step++;

    must_hold(flows <= NET_FLOWS, "too many flows");
    for (unsigned i = 0; i < flows; i++) {
        struct flow *f = &flow[i];
        const unsigned hops = route(n, f->to, f->from, f->queue, back);
        bool hit = false, hit_back = false;

        f->hops = route(n, f->from, f->to, f->queue, f->link);
        for (unsigned k = 0; k < f->hops; k++)
            hit = hit || is_faulty(n, f->link[k]);
        for (unsigned k = 0; k < hops; k++)
            hit_back = hit_back || is_faulty(n, back[k]);
        f->dead = ((kind == DEAD && !n->shape.adaptive) || kind == BROKEN) && (hit || hit_back);
        f->dead = f->dead || (kind == LEAF && (leaf_of(n, f->from) == n->fault.leaf) !=
                                                  (leaf_of(n, f->to) == n->fault.leaf));
        f->lost = lossy && hit ? n->fault.part / share : 0;
        f->lost_back = lossy && hit_back ? n->fault.part / share : 0;
        f->limit = limit_of(n, f);
        any = any || f->lost > 0;
    }
    all = add_others(n, flow, flows);
    share_links(n, flow, all);
    for (unsigned i = 0; i < flows && any; i++)
        if (flow[i].lost > 0)
            flow[i].limit =
                packets_left(n->recovery, flow[i].rate * n->packets, flow[i].lost) / n->packets;
    if (any) /* what they leave is the others' */
        share_links(n, flow, all);
    if (n->drops > 0)
        drop_what_is_too_much(n, flow, all);
}

/* How often a flow that moves for so long was sent again. */
static inline unsigned resent_packets(const struct net *n, const struct flow *f, double seconds,
                                      struct dice *d)
{
    const double mean = f->rate * n->packets * seconds * (f->lost + f->lost_back + f->dropped);

    return mean > 100 ? (unsigned)mean : roll_count(d, mean);
}

/* How many of `small` writes of a queue pair, one after another for a second at most, are acknowledged only
   after they were sent again. */
static inline unsigned late_acks(const struct net *n, const struct flow *f, unsigned small,
                                 struct dice *d)
{
    const double arrives = (1 - f->lost) * (1 - f->lost_back);
    const unsigned most = (unsigned)(1 / ACK_TIMEOUT_S);
    unsigned late = 0;

    if (n->recovery == ADAPTIVE)
        return 0;
    for (unsigned i = 0; i < small && late < most && arrives < 1; i++)
        late += roll_part(d) > arrives;
    return late;
}

#endif
