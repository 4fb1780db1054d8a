/* SPDX-License-Identifier: Apache-2.0 */
/* The meeting, which the coordinator in pod 0 leads: it waits for all pods, compares them, lets them
   try their rails round by round, and sends all of them the verdict. One loop, no thread. */
#include "preflight/meeting.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "findings/job.h"
#include "nccl_init/errno.h"
#include "nccl_init/findings.h"
#include "nccl_init/ip.h"
#include "nccl_init/text.h"
#include "preflight/align.h"
#include "preflight/compare.h"
#include "preflight/crowd.h"
#include "preflight/job.h"
#include "preflight/launcher.h"
#include "preflight/participant.h"
#include "preflight/paths.h"
#include "preflight/rounds.h"
#include "preflight/tally.h"
#include "preflight/verdict.h"
#include "preflight/wire.h"
#include "print/words.h"
#include "rail/step.h"
#include "rail/task.h"
#include "system/process.h"

enum {
    GRACE_MS = 3000, /* an answer may take so much longer than the work of the rails */
    LEAST_MS = 4000, /* a work may take so long, and its data, although the time is over */
    TOLD_MS = 3000,  /* from the verdict to the end of the connections */
    LAST_MS = 500,   /* pod 0 waits so much longer for a pod than that waits for the others */
    REFUSED = 16     /* refused pods that get a finding; so there is room for others */
};

/* A rail of a pod in one role, in this round. */
struct slot {
    /* the result of its pair; NULL: it has no pair, or the pair is over */
    struct ni_pair_result *pair;
    struct ni_rail_end end;
    /* the last answer of its pod: as in the result of a pair */
    enum ni_pair_step step;
    bool silent;
    int err, wc;
    uint64_t neighbour;
};

struct coordinator {
    const struct ni_rendezvous *m;
    enum { GATHERING, ROUNDS, OVER } phase; /* pods are welcome in the first phase */
    struct ni_crowd crowd;
    int64_t within_ms;             /* when the time is over in which all must come */
    int64_t step_ms;               /* the time for one work of all rails */
    int64_t end_ms;                /* no round begins later */
    int64_t told_ms;               /* when the pods were told the present work */
    int64_t took_ms[NI_MAX_RANKS]; /* by rank: from there to its answer, in all works */
    int64_t until_ms, looked_ms, alive_ms;
    int64_t limit_ms; /* until_ms, if no pod leaves before */
    unsigned pairs;   /* of the present round */
    /* by rank: when the pod stops waiting for others, and pod 0 must tell it; 0: not known */
    int64_t *last_ms;
    /* by rank: its facts, its answer, or the end of its connection must still come */
    bool owes[NI_MAX_RANKS];
    uint8_t missing[NI_MAX_RANKS], drop[NI_MAX_RANKS];
    struct ni_job job;
    struct ni_findings *f;
    struct slot *slot; /* by rank, rail and role */
};

/* Of this process, until its end. It is the heap's, so that what each `run` maps stays below the bound
   of docs/dev/performance.md. */
static struct coordinator *coordinator;

/* ---- what comes ---- */

/* Notes that the connection of a pod is over. */
static void note_leave(void *arg, unsigned rank)
{
    struct coordinator *h = arg;

    h->last_ms[rank] = 0;
    h->owes[rank] = h->phase == GATHERING;
    if (h->phase == ROUNDS)
        h->job.missing[rank] = NI_POD_WENT_AWAY;
    if (h->phase == GATHERING) {
        h->job.missing[rank] = NI_POD_NEVER_CAME;
        free(h->job.pod[rank].rail);
        h->job.pod[rank].here = false; /* its names stay, to tell who is awaited */
        h->job.pod[rank].rail = NULL;
        h->job.pod[rank].n_rail = h->job.pod[rank].n_setting = 0;
    }
}

/* Refuses a pod, ends its connection, and reports it: by its address, for its name is what it says
   itself; but by name where two pods of the job have one rank. */
static void refuse_pod(struct coordinator *h, unsigned at, ni_finding_number id, const char *host,
                       const char *why)
{
    char address[NI_IP_TEXT];

    ni_crowd_write_sender(&h->crowd, at, address);
    if (id != NI_F_JOB_REFUSED || h->f->n < REFUSED)
        ni_report(h->f, id, id == NI_F_JOB_REFUSED ? address : host, "%s", why);
    ni_crowd_refuse(&h->crowd, at, why);
}

/* Puts the reason why the pod that says hello at `at` cannot take part; nothing if it can. Returns
   the finding for the reason. */
static ni_finding_number judge_hello(const struct coordinator *h, unsigned at,
                                     const struct ni_message *m, struct ni_text *why)
{
    const struct ni_party *p = h->m->party, *its = &m->party;
    const unsigned rank = its->rank;

    if (m->protocol != NI_MEET_PROTOCOL) {
        ni_putf(why, "its nccl-init speaks protocol %u, and pod 0 (%s) speaks %d", m->protocol,
                NCCL_INIT_VERSION, NI_MEET_PROTOCOL);
    } else if (its->ranks != p->ranks || rank >= p->ranks || (rank == 0 && at != 0)) {
        ni_putf(why, "it is rank %u of %u pods, pod 0 is rank 0 of %u", rank, its->ranks, p->ranks);
    } else if (h->phase != GATHERING) {
        ni_put(why, "the others have started without it");
    } else if (rank != at && ni_crowd_has(&h->crowd, rank) &&
               strcmp(h->job.pod[rank].host, m->pod.host) != 0) {
        /* A pod of the same host is the same pod again. One of another host has to try later,
           because the first pod may be dead without anybody knowing it. */
        ni_putf(why, "rank %u is also that of %s", rank, h->job.pod[rank].host);
        return NI_F_JOB_RANK_TWICE;
    }
    return NI_F_JOB_REFUSED;
}

static void take_hello(struct coordinator *h, unsigned at, const struct ni_message *m)
{
    const struct ni_party *p = h->m->party, *its = &m->party;
    const unsigned rank = its->rank;
    char no[512] = "";
    struct ni_text why = ni_text_on(no, sizeof(no));

    if (h->m->secret && at != 0 && !h->crowd.conn[at].auth.secret) {
        ni_crowd_refuse_stranger(&h->crowd, at,
                                 "it has no secret (--job-secret), and pod 0 has one");
        return;
    }
    if (strcmp(p->key, its->key) != 0 || !p->key[0]) {
        ni_crowd_refuse_stranger(&h->crowd, at,
                                 "its key is not that of pod 0: another job, or attempt");
        return;
    }
    const ni_finding_number id = judge_hello(h, at, m, &why);
    if (why.len > 0) {
        refuse_pod(h, at, id, m->pod.host, no);
        return;
    }
    ni_crowd_seat(&h->crowd, at, rank);
    h->crowd.conn[rank].due_ms = ni_now_ms() + NI_HELLO_MS;
    (void)ni_copy(h->job.pod[rank].host, NI_POD_NAME, m->pod.host);
    if (m->within_ms > 0)
        h->last_ms[rank] = ni_now_ms() + m->within_ms + LAST_MS;
    ni_crowd_send(&h->crowd, rank, NI_MSG_WELCOME);
}

/* Withdraws the finding that refused the pod of that host while a dead one had its rank. */
static void withdraw_refusal(struct ni_findings *f, const char *host)
{
    unsigned i = 0;

    while (i < f->n) {
        if (f->at[i].id == NI_F_JOB_RANK_TWICE && strcmp(f->at[i].subject, host) == 0) {
            f->n--;
            f->at[i] = f->at[f->n];
        } else {
            i++;
        }
    }
}

/* Keeps a copy of the facts that a pod reports about itself. */
static void take_facts(struct coordinator *h, unsigned rank, const struct ni_message *m)
{
    struct ni_pod *pod = &h->job.pod[rank];
    const size_t rails = m->pod.n_rail * sizeof(*pod->rail);
    const size_t settings = m->pod.n_setting * sizeof(*pod->setting);

    *pod = m->pod;
    pod->here = true;
    pod->rail = malloc(rails + settings + 1);
    if (!pod->rail) {
        ni_crowd_drop(&h->crowd, rank);
        return;
    }
    pod->setting = (void *)(pod->rail + pod->n_rail);
    memcpy(pod->rail, m->rail, rails);
    for (unsigned i = 0; i < pod->n_rail; i++) {
        pod->rail[i].gap = pod->rail[i].crossed = false;
        pod->rail[i].own = i;
    }
    memcpy(pod->setting, m->setting, settings);
    h->job.missing[rank] = NI_POD_CAME;
    h->owes[rank] = false;
    h->crowd.conn[rank].due_ms = INT64_MAX;
    withdraw_refusal(h->f, pod->host);
}

/* Gives a pod room for more rails than it has. 0 or -errno. */
static int make_rail_room(struct ni_pod *pod, unsigned n_rail)
{
    const size_t rails = n_rail * sizeof(*pod->rail);
    const size_t settings = pod->n_setting * sizeof(*pod->setting);
    struct ni_rail *rail = malloc(rails + settings + 1);

    if (!rail)
        return -ENOMEM;
    memcpy(rail, pod->rail, pod->n_rail * sizeof(*rail));
    memcpy(rail + n_rail, pod->setting, settings);
    free(pod->rail);
    pod->rail = rail;
    pod->setting = (void *)(rail + n_rail);
    return 0;
}

/* Numbers the rails of all pods alike. 0 or -errno. */
static int number_rails(struct coordinator *h)
{
    struct ni_job *job = &h->job;
    int r = 0;

    for (unsigned rank = 0; rank < job->ranks; rank++)
        if (job->pod[rank].here && job->pod[rank].n_rail > job->n_rail)
            job->n_rail = job->pod[rank].n_rail;
    for (unsigned rank = 0; rank < job->ranks && r == 0; rank++)
        if (job->pod[rank].here && job->pod[rank].n_rail < job->n_rail)
            r = make_rail_room(&job->pod[rank], job->n_rail);
    if (r == 0)
        ni_align_rails(job, h->f);
    return r;
}

static struct slot *rail_slot(const struct coordinator *h, unsigned rank, unsigned rail,
                              unsigned role)
{
    return &h->slot[(rank * h->job.n_rail + rail) * NI_ROLES + role];
}

/* Takes what a pod measured of a pair. */
static void take_measured(struct ni_pair_result *to, const struct ni_pair_result *from)
{
    to->latency_ns = from->latency_ns;
    to->slowest_ns = from->slowest_ns;
    to->write_mbps = from->write_mbps;
    to->read_mbps = from->read_mbps;
    to->resent = from->resent;
    to->n_queue = from->n_queue;
    memcpy(to->queue, from->queue, sizeof(to->queue));
    for (unsigned q = 0; q < NI_MAX_QUEUES; q++)
        to->queue[q].verdict = NI_PATH_GOOD;
}

static void take_done(struct coordinator *h, unsigned rank, const struct ni_message *m)
{
    h->owes[rank] = false;
    h->took_ms[rank] += ni_now_ms() - h->told_ms;
    h->crowd.conn[rank].due_ms = INT64_MAX;
    for (unsigned i = 0; i < m->n_item; i++) {
        const struct ni_item *it = &m->item[i];

        if (it->rail >= h->job.n_rail)
            continue;
        struct slot *s = rail_slot(h, rank, it->rail, it->role);

        s->step = it->result.step;
        s->silent = it->result.silent;
        s->err = it->result.err;
        s->wc = it->result.wc;
        if (h->crowd.out.work < NI_WORK_CONNECT)
            s->end = it->end;
        if (h->crowd.out.work == NI_WORK_CONNECT)
            s->neighbour = it->result.neighbour;
        if (h->crowd.out.work == NI_WORK_MOVE && it->role == NI_ROLE_INITIATOR && s->pair)
            take_measured(s->pair, &it->result);
    }
}

/* Takes a message that comes. m is NULL: a pod sent something that is no message. */
static void take_message(void *arg, unsigned at, const struct ni_message *m)
{
    struct coordinator *h = arg;
    const bool pod = at < h->job.ranks, owes = m && pod && h->owes[at];

    if (m && (!pod || at == 0) && m->type == NI_MSG_HELLO)
        take_hello(h, at, m);
    else if (owes && h->phase == GATHERING && m->type == NI_MSG_FACTS)
        take_facts(h, at, m);
    else if (owes && h->phase == ROUNDS && m->type == NI_MSG_DONE)
        take_done(h, at, m);
    else if (pod)
        refuse_pod(h, at, NI_F_JOB_REFUSED, h->job.pod[at].host,
                   "it sent a message that is wrong at this point");
    else
        ni_crowd_drop(&h->crowd, at);
}

/* Puts the name of what is done now. */
static void put_phase(const struct coordinator *h, struct ni_text *t)
{
    if (h->phase == GATHERING)
        ni_put(t, "pods");
    else
        ni_putf(t, "round %u", h->job.rounds);
}

/* Puts who is awaited. */
static void put_awaited(const struct coordinator *h, struct ni_text *t)
{
    const int64_t left_ms = h->until_ms - ni_now_ms();
    const uint8_t *owes = (const uint8_t *)h->owes;
    unsigned here = 0;

    if (h->phase == GATHERING) {
        for (unsigned rank = 0; rank < h->job.ranks; rank++)
            here += !h->owes[rank];
        ni_putf(t, "%u of %u came; waiting for ", here, h->job.ranks);
        ni_put_missing(t, &h->job, NI_POD_NEVER_CAME);
    } else {
        ni_putf(t, "%u pair%s; waiting for ", h->pairs, ni_plural(h->pairs));
        ni_put_numbers(t, "rank", owes, h->job.ranks, true);
    }
    ni_putf(t, "; %lld s left", (long long)(left_ms > 0 ? left_ms : 0) / 1000);
}

static void show_awaited(const struct coordinator *h, enum ni_progress kind)
{
    struct ni_text what = NI_TEXT(NI_PROGRESS_WHAT), line = NI_TEXT(NI_PROGRESS_LINE);

    put_phase(h, &what);
    put_awaited(h, &line);
    h->m->progress(h->m->arg, what.buf, line.buf, kind);
}

/* Tells the pods that pod 0 is there, and for whom it waits. */
static void tell_alive(struct coordinator *h, int64_t now)
{
    char *line = h->crowd.out.verdict.line;
    struct ni_text t = ni_text_on(line, NI_PROGRESS_LINE / 2);

    h->alive_ms = now;
    put_phase(h, &t);
    ni_put(&t, ": ");
    put_awaited(h, &t);
    h->crowd.out.begun = h->phase != GATHERING;
    for (unsigned rank = 0; rank < h->job.ranks; rank++)
        if (ni_crowd_has(&h->crowd, rank))
            ni_crowd_send(&h->crowd, rank, NI_MSG_ALIVE);
}

/* Lets pod 0 wait as long as each pod that is there: a pod ends when its own time is over, and
   before that pod 0 must tell it who is missing. A pod that went away shortens nothing. */
static void wait_as_long(struct coordinator *h)
{
    h->until_ms = h->limit_ms;
    for (unsigned rank = 0; rank < h->job.ranks; rank++) {
        const int64_t last_ms = h->last_ms[rank];

        if (last_ms > 0 && last_ms < h->until_ms)
            h->until_ms = last_ms;
    }
}

static void watch_pods(struct coordinator *h, int64_t now)
{
    h->looked_ms = now;
    ni_crowd_drop_late(&h->crowd, now);
    if (h->phase != OVER && now - h->alive_ms >= NI_ALIVE_MS)
        tell_alive(h, now);
    if (h->phase == GATHERING)
        wait_as_long(h);
    if (h->phase != OVER)
        show_awaited(h, NI_SAME_PHASE);
}

/* Waits until no pod owes an answer, or the time is over; then drops the pods that still owe
   one. */
static void wait_for_pods(struct coordinator *h, int64_t limit_ms)
{
    int64_t now = ni_now_ms();

    h->limit_ms = now + limit_ms;
    h->until_ms = h->limit_ms;
    for (; memchr(h->owes, true, h->job.ranks) && now < h->until_ms; now = ni_now_ms()) {
        const int64_t left = h->until_ms - now;

        ni_crowd_wait(&h->crowd, left < NI_LOOK_MS ? (int)left : NI_LOOK_MS);
        if (now - h->looked_ms >= NI_LOOK_MS)
            watch_pods(h, now);
    }
    for (unsigned rank = 0; rank < h->job.ranks; rank++) {
        if (h->owes[rank] && ni_crowd_has(&h->crowd, rank))
            ni_crowd_drop(&h->crowd, rank);
        h->owes[rank] = false;
    }
}

/* ---- rounds ---- */

/* Tells each pod what its rails are to do. */
static void tell_work(struct coordinator *h, enum ni_rail_work work)
{
    struct ni_message *m = &h->crowd.out;

    m->work = work;
    m->move_ms = h->m->task.move_ms;
    if (h->job.kind != NI_ROUND_ALL && m->move_ms > NI_MOVE_MS)
        m->move_ms = NI_MOVE_MS; /* there may be many of the others */
    h->told_ms = ni_now_ms();
    m->small = h->job.kind == NI_ROUND_AGAIN ? NI_MAX_SMALL : 0;
    for (unsigned rank = 0; rank < h->job.ranks; rank++) {
        m->n_item = 0;
        for (unsigned i = 0; i < h->job.n_rail * NI_ROLES; i++) {
            const unsigned rail = i / NI_ROLES, role = i % NI_ROLES;
            struct slot *s = rail_slot(h, rank, rail, role);
            struct ni_item *it = &m->item[m->n_item];

            if (!s->pair || (work == NI_WORK_MOVE && role == NI_ROLE_TARGET))
                continue;
            s->silent = true; /* it counts as silent until it answers */
            *it = (struct ni_item){
                .rail = rail, .role = role, .own = h->job.pod[rank].rail[rail].own};
            it->partner = role == NI_ROLE_INITIATOR ? s->pair->pair.to : s->pair->pair.from;
            it->queues = s->pair->queues;
            it->batch = ni_batch(&h->job, s->pair);
            it->end = rail_slot(h, it->partner, rail, NI_ROLE_TARGET - role)->end;
            m->n_item++;
        }
        h->owes[rank] = m->n_item > 0 && ni_crowd_has(&h->crowd, rank);
        if (h->owes[rank])
            ni_crowd_send(&h->crowd, rank, NI_MSG_DO);
    }
}

/* Returns true if the failure certainly belongs to that end. */
static bool is_slot_own(const struct slot *s)
{
    return ni_is_own(&(struct ni_pair_result){.step = s->step, .err = s->err});
}

/* Notes where the neighbour that has the partner's address is another port than the partner's. */
static void note_neighbours(const struct coordinator *h, struct ni_pair_result *r)
{
    const struct ni_pair *p = &r->pair;
    const struct slot *from = rail_slot(h, p->from, p->rail, NI_ROLE_INITIATOR);
    const struct slot *to = rail_slot(h, p->to, p->rail, NI_ROLE_TARGET);
    const uint64_t mac = h->job.pod[p->from].rail[p->rail].mac;
    const uint64_t mac_to = h->job.pod[p->to].rail[p->rail].mac;

    r->misled = 0;
    if (to->neighbour != 0 && mac != 0 && to->neighbour != mac) {
        r->misled |= NI_AT_TO;
        r->neighbour_to = to->neighbour;
    }
    if (from->neighbour != 0 && mac_to != 0 && from->neighbour != mac_to) {
        r->misled |= NI_AT_FROM;
        r->neighbour = from->neighbour;
    }
}

/* Settles the result of a pair from the answers of its ends. The pair is over if one end did not
   come so `far`. If both did not, the end counts that is at fault itself, or else `from`: so each
   pod whose device fails is named, because it is `from` in another pair. */
static void settle(struct coordinator *h, struct ni_pair_result *r, enum ni_pair_step far)
{
    struct slot *from = rail_slot(h, r->pair.from, r->pair.rail, NI_ROLE_INITIATOR);
    struct slot *to = rail_slot(h, r->pair.to, r->pair.rail, NI_ROLE_TARGET);
    const bool bad = from->silent || from->step < far;
    const bool bad_to = to->silent || to->step < far;

    if (!from->pair)
        return;
    r->at_to = bad_to && (!bad || (is_slot_own(to) && !is_slot_own(from)));
    const struct slot *end = r->at_to ? to : from;
    r->step = end->step;
    r->silent = end->silent;
    r->err = end->err;
    r->wc = end->wc;
    if (bad || bad_to)
        from->pair = to->pair = NULL;
}

/* Gives each pair of the round its two slots. first: the first result of the round. */
static void fill_slots(struct coordinator *h, unsigned first)
{
    const struct ni_job *job = &h->job;

    for (unsigned i = 0; i < job->ranks * job->n_rail * NI_ROLES; i++) {
        h->slot[i].pair = NULL;   /* the ends stay, for pairs that are tried again */
        h->slot[i].neighbour = 0; /* of another partner; a pair may end before it is told */
    }
    for (struct ni_pair_result *r = job->result + first; r < job->result + job->n_result; r++) {
        rail_slot(h, r->pair.from, r->pair.rail, NI_ROLE_INITIATOR)->pair = r;
        rail_slot(h, r->pair.to, r->pair.rail, NI_ROLE_TARGET)->pair = r;
    }
}

/* Returns the time for a work. Where the rounds took nearly all of theirs it is less, so that a pod
   that answers late each time owes an answer at the end: not so little that another one does. */
static int64_t work_ms(const struct coordinator *h, enum ni_rail_work work)
{
    const int64_t data_ms = work == NI_WORK_MOVE ? 3 * (int64_t)h->crowd.out.move_ms : 0;
    const int64_t left = h->end_ms - ni_now_ms();

    if (left > h->step_ms)
        return h->step_ms;
    return left > LEAST_MS + data_ms ? left : LEAST_MS + data_ms;
}

/* Lets all pods try the pairs of the round: queue pairs, then small writes, then data. first: the
   first result of the round. */
static void run_round(struct coordinator *h, unsigned first)
{
    const struct ni_job *job = &h->job;

    for (enum ni_rail_work work = NI_WORK_QUEUES; work <= NI_WORK_MOVE; work++) {
        if (work == (ni_is_quiet(job) ? NI_WORK_QUEUES : NI_WORK_AGAIN))
            continue;
        tell_work(h, work);
        wait_for_pods(h, work_ms(h, work));
        for (unsigned i = first; i < job->n_result; i++)
            settle(h, &job->result[i], work < NI_WORK_CONNECT ? NI_PAIR_CONNECT : NI_PAIR_SMALL);
        for (unsigned i = first; i < job->n_result && work == NI_WORK_CONNECT; i++)
            note_neighbours(h, &job->result[i]);
    }
}

/* Drops the pod whose answers took longest, unless a pod is lost already: one that answers late
   each time takes the time of all. */
static void drop_slowest(struct coordinator *h)
{
    unsigned slowest = 0;

    for (unsigned rank = 0; rank < h->job.ranks; rank++) {
        if (h->job.missing[rank] == NI_POD_WENT_AWAY)
            return;
        if (h->took_ms[rank] > h->took_ms[slowest])
            slowest = rank;
    }
    if (ni_crowd_has(&h->crowd, slowest))
        ni_crowd_drop(&h->crowd, slowest);
}

/* Adds the pairs of the next round. false: enough is known, or the time is over. */
static bool plan_round(struct coordinator *h)
{
    const struct ni_job before = h->job;

    if (!ni_next_round(&h->job))
        return false;
    if (ni_now_ms() < h->end_ms)
        return true;
    h->job = before; /* the results of the rounds that were run count */
    drop_slowest(h);
    return false;
}

/* Shows a round when it begins, and when nobody is awaited any more. */
static void show_round(const struct coordinator *h, enum ni_progress kind)
{
    struct ni_text what = NI_TEXT(NI_PROGRESS_WHAT), line = NI_TEXT(64);

    put_phase(h, &what);
    ni_putf(&line, "%u pair%s", h->pairs, ni_plural(h->pairs));
    h->m->progress(h->m->arg, what.buf, line.buf, kind);
}

/* Runs rounds until the judge asks for no more. */
static void run_rounds(struct coordinator *h)
{
    struct ni_job *job = &h->job;
    const unsigned most = job->ranks * job->n_rail;

    h->slot = calloc((size_t)most * NI_ROLES, sizeof(*h->slot));
    while (h->slot) {
        struct ni_pair_result *r = realloc(job->result, (job->n_result + most) * sizeof(*r));
        const unsigned first = job->n_result;

        job->result = r ? r : job->result;
        if (!r || !plan_round(h))
            break;
        fill_slots(h, first);
        h->pairs = job->n_result - first;
        show_round(h, NI_NEW_PHASE);
        run_round(h, first);
        show_round(h, NI_SAME_PHASE);
    }
}

/* ---- the whole ---- */

/* Opens the port. Another process may have it that is about to end, as an earlier pod 0 that
   terminates on a host network: then tries again until the time is over. 0 or -errno. */
static int wait_for_port(struct coordinator *h)
{
    const uint16_t port = (uint16_t)h->m->party->port;
    char line[64];
    int r = ni_crowd_listen(&h->crowd, port);

    (void)ni_format(line, sizeof(line), "%u is in use: trying again", port);
    if (r == -EADDRINUSE)
        h->m->progress(h->m->arg, "port", line, NI_NEW_PHASE);
    while (r == -EADDRINUSE && ni_now_ms() < h->within_ms) {
        (void)poll(NULL, 0, NI_LOOK_MS);
        r = ni_crowd_listen(&h->crowd, port);
    }
    return r;
}

/* Opens the port and makes room for all pods. 0, -EMFILE: too few descriptors for them, or
   -errno. */
static int set_up(struct coordinator *h)
{
    const unsigned ranks = h->m->party->ranks;
    int r;

    h->crowd.ranks = ranks;
    h->crowd.secret = h->m->secret;
    h->crowd.take = take_message;
    h->crowd.leave = note_leave;
    h->crowd.arg = h;
    r = ni_crowd_begin(&h->crowd);
    if (r == 0)
        r = wait_for_port(h);
    if (r < 0)
        return r;
    h->job = (struct ni_job){.ranks = ranks,
                             .source = h->m->party->source,
                             .hosts = h->m->party->hosts,
                             .pod = calloc(ranks, sizeof(*h->job.pod)),
                             .missing = h->missing,
                             .need = h->m->need,
                             .drop = h->drop};
    h->last_ms = calloc(ranks, sizeof(*h->last_ms));
    if (!h->job.pod || !h->last_ms)
        return -ENOMEM;
    memset(h->owes, true, ranks);
    memset(h->missing, NI_POD_NEVER_CAME, ranks);
    (void)getrandom(&h->crowd.out.session, sizeof(h->crowd.out.session), 0);
    h->crowd.out.session &= INT64_MAX;
    h->crowd.out.bytes = h->m->task.bytes;
    h->step_ms = NI_RAIL_MS + 3 * (int64_t)h->m->task.move_ms + GRACE_MS;
    return 0;
}

/* Reports what went wrong in the meeting itself. */
static void report_rendezvous(struct coordinator *h)
{
    /* other jobs reach this pod 0, and nothing tells them apart */
    const bool mixes = h->m->host_network && !h->m->secret;
    const ni_finding_number key = mixes ? NI_F_JOB_KEY_HOST : NI_F_JOB_KEY_NAME;

    if (h->crowd.strangers > 0)
        ni_report(h->f, NI_F_JOB_REFUSED, "strangers",
                  "%u connection%s came without the key or secret of the job; the last one from %s",
                  h->crowd.strangers, ni_plural(h->crowd.strangers), h->crowd.stranger);
    if (h->m->party->named)
        ni_report(h->f, key, "key", "the job has no key but the name of pod 0%s",
                  mixes ? ", whose address all jobs of its node have" : "");
}

/* Reaches the verdict from what the pods are and did. */
static void reach_verdict(struct coordinator *h, struct ni_verdict *ret)
{
    struct ni_job *job = &h->job;
    struct ni_text line = ni_text_on(ret->line, sizeof(ret->line));
    unsigned came = 0;

    ni_judge_rails(job, h->f);
    ni_find_kept(job);
    ni_drop_kubectl(job, h->f);
    ret->outcome = ni_outcome_of(job, h->f, h->m->strict);
    ret->job = job;
    for (unsigned rank = 0; rank < job->ranks; rank++)
        came += job->pod[rank].here;
    ret->nobody = came == 1 && job->ranks > 1;
    ni_put_verdict(&line, job, h->f, ret->outcome);
}

/* Puts the verdict for one pod in the next message: if others are enough, one that is not kept is told
   so. */
static void address_verdict(struct coordinator *h, unsigned rank, const struct ni_verdict *verdict)
{
    struct ni_verdict *to = &h->crowd.out.verdict;

    *to = *verdict;
    if (h->job.need == 0 || verdict->outcome == NI_JOB_BAD || !h->job.drop[rank])
        return;
    to->outcome = NI_JOB_BAD;
    (void)ni_format(to->line, sizeof(to->line), "bad: the job goes on without this pod: %s",
                    verdict->line);
}

/* Tells all pods the verdict, and waits until they have ended their connections. */
static void tell_verdict(struct coordinator *h, const struct ni_verdict *verdict)
{
    h->phase = OVER;
    for (unsigned rank = 0; rank < h->job.ranks; rank++) {
        h->owes[rank] = ni_crowd_has(&h->crowd, rank);
        if (!h->owes[rank])
            continue;
        address_verdict(h, rank, verdict);
        ni_crowd_send(&h->crowd, rank, NI_MSG_VERDICT);
    }
    if (h->m->told)
        h->m->told(h->m->arg, verdict->outcome);
    wait_for_pods(h, TOLD_MS);
}

/* Shows how many pods are compared, and try their rails. */
static void show_who_came(const struct coordinator *h)
{
    struct ni_text line = NI_TEXT(64);
    unsigned came = 0, rails = 0;

    for (unsigned rank = 0; rank < h->job.ranks; rank++) {
        came += h->job.pod[rank].here;
        rails += h->job.pod[rank].n_rail;
    }
    ni_putf(&line, "%u of %u came", came, h->job.ranks);
    if (rails > 0)
        ni_putf(&line, ", with %u rail%s", rails, ni_plural(rails));
    h->m->progress(h->m->arg, "pods", line.buf, NI_SAME_PHASE);
}

/* Leads the meeting from the first pod to the verdict. 0 or -errno. */
static int run(struct coordinator *h, struct ni_verdict *ret)
{
    const struct ni_rendezvous *m = h->m;
    struct ni_job *job = &h->job;

    h->until_ms = h->within_ms;
    show_awaited(h, NI_NEW_PHASE);
    wait_for_pods(h, h->within_ms - ni_now_ms());
    show_who_came(h);
    h->phase = ROUNDS; /* a pod that goes away from now on is missing */
    h->end_ms =
        ni_now_ms() + (m->rounds_ms > 0 ? m->rounds_ms : ni_rounds_ms(m->task.move_ms) / 4 * 3);
    tell_alive(h, ni_now_ms());
    if (m->begun)
        m->begun(m->arg);
    report_rendezvous(h);
    if (number_rails(h) < 0)
        return -ENOMEM;
    ni_compare_pods(job, m->policy, h->f);
    job->tally = calloc((size_t)job->ranks * job->n_rail + 1, sizeof(*job->tally));
    job->circle = calloc(job->ranks, sizeof(*job->circle));
    if (!job->tally || !job->circle)
        return -ENOMEM;
    if (job->n_rail > 0)
        run_rounds(h);
    reach_verdict(h, ret);
    tell_verdict(h, ret);
    return 0;
}

/* Starts the participant of pod 0, a process of its own. *ret_fd: the connection to it. Its pid, or
   -errno. */
static int start_participant(const struct coordinator *h, struct ni_verdict *verdict, int *ret_fd)
{
    struct ni_rendezvous own = *h->m;
    int pair[2], err;
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return -errno;
    pid = ni_fork();
    if (pid < 0) {
        err = -errno;
        (void)close(pair[0]);
        (void)close(pair[1]);
        return err;
    }
    if (pid == 0) {
        own.within_ms = h->within_ms - ni_now_ms();
        own.begun = NULL; /* the coordinator says so itself */
        own.told = NULL;
        (void)close(h->crowd.listen);
        (void)close(pair[1]);
        _exit(ni_participate(&own, pair[0], verdict) == 0 ? 0 : 1);
    }
    (void)close(pair[0]);
    *ret_fd = pair[1];
    return pid;
}

/* Says why the meeting cannot begin. err: -errno. */
static void explain_no_meeting(const struct ni_party *party, int err, struct ni_verdict *ret)
{
    const char *advice = "";

    if (err == -EADDRINUSE)
        advice = "; does another preflight run there (--port)?";
    else if (err == -EMFILE)
        advice = ": it needs one for each pod (ulimit -Hn)";
    (void)ni_format(ret->line, sizeof(ret->line), "pod 0 cannot serve port %u: %s%s", party->port,
                    NI_ERRNO(err), advice);
}

int ni_meet(const struct ni_rendezvous *m, struct ni_verdict *ret, struct ni_findings *f)
{
    struct coordinator *h;
    int participant, fd, r;

    *ret = (struct ni_verdict){.outcome = NI_JOB_BAD};
    if (m->party->rank > 0)
        return ni_participate(m, -1, ret);
    coordinator = calloc(1, sizeof(*coordinator));
    if (!coordinator) {
        explain_no_meeting(m->party, -ENOMEM, ret);
        return -ENOMEM;
    }
    h = coordinator;
    h->m = m;
    h->f = f;
    h->within_ms = ni_now_ms() + m->within_ms;
    r = set_up(h);
    participant = r == 0 ? start_participant(h, ret, &fd) : r;
    if (participant < 0) {
        explain_no_meeting(m->party, participant, ret);
        return participant;
    }
    /* the participant of pod 0, which opens its rails first */
    ni_crowd_add(&h->crowd, 0,
                 &(struct ni_conn){.fd = fd, .due_ms = ni_now_ms() + NI_RAIL_MS + NI_HELLO_MS});
    r = run(h, ret);
    (void)close(h->crowd.listen);
    (void)kill(participant, SIGKILL); /* it had its time; one that is stopped would never end */
    while (waitpid(participant, NULL, 0) < 0 && errno == EINTR)
        ;
    return r;
}
