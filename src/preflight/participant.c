/* SPDX-License-Identifier: Apache-2.0 */
/* A participant: it finds pod 0, describes its pod, and does with its rails what pod 0 asks. */
#include "preflight/participant.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "nccl_init/base.h"
#include "nccl_init/errno.h"
#include "nccl_init/text.h"
#include "preflight/job.h"
#include "preflight/launcher.h"
#include "preflight/secret.h"
#include "preflight/wire.h"
#include "rail/processes.h"
#include "rail/task.h"
#include "system/process.h"

enum {
    WELCOME_MS = 3000, /* from a hello to the welcome; then the hello is repeated */
    SILENT_MS = 10000, /* without a message of pod 0, which sends one every second */
    SLACK_MS = 1500,   /* beyond --within, for the last word of a pod 0 that waited as long */
    STEPS = 8,         /* for the rounds: as many works that each take their whole time */
    GRACE_MS = 3000,   /* pod 0 waits so much longer than the rails may take (meeting.c) */
    CONNECT_MS = 4000, /* for the last address: time for three SYN */
    OTHERS_MS = 500,   /* for each address before it */
    FIRST_PAUSE_MS = 50,
    LAST_PAUSE_MS = 1000,
    LOOK_MS = 250,    /* between two looks at the rails that work */
    ABSENT_MS = 5000, /* between two look-ups of a name that is absent: 1,000 pods ask one DNS */
    JITTER_MS = 200
};

static struct participant {
    const struct ni_rendezvous *m;
    struct ni_rails rails;          /* .n is 0: no processes */
    const struct ni_secret *secret; /* NULL: messages carry no code */
    struct ni_auth auth;            /* of the connection */
    int fd;
    int64_t within_ms; /* how long it waits for pod 0 and the others */
    int64_t until_ms;  /* when it stops listening to pod 0, whatever that says */
    bool absent;       /* the name of pod 0 could not be found */
    char refused[256]; /* what pod 0 last refused this pod for; "": it did not */
    /* the last try connected to pod 0's address, and nothing shows that another program listens
       there */
    bool reached;
    bool begun;            /* waiting for pods is over, so the participant cannot connect anew */
    struct ni_message msg; /* the last message, sent or received */
    struct ni_wire_room room;
    struct ni_text why;
} participant; /* of this process */

/* Notes the fault; it replaces the one noted before. Returns err. */
static int fail_to_take_part(struct participant *l, int err, const char *fmt, ...) NI_PRINTF(3, 4);
static int fail_to_take_part(struct participant *l, int err, const char *fmt, ...)
{
    va_list ap;

    l->why = ni_text_on(l->why.buf, l->why.cap);
    va_start(ap, fmt);
    ni_vputf(&l->why, fmt, ap);
    va_end(ap);
    return err;
}

/* ---- messages ---- */

/* Returns the time for data that pod 0 may ask for. */
static int move_ms(const struct participant *l, int asked)
{
    const int own = l->m->task.move_ms;
    const int most = own > NI_MOVE_MS ? own : NI_MOVE_MS;

    return asked < most ? asked : most;
}

int64_t ni_rounds_ms(int move_ms)
{
    const int most = move_ms > NI_MOVE_MS ? move_ms : NI_MOVE_MS;

    return STEPS * (NI_RAIL_MS + 3 * (int64_t)most + GRACE_MS);
}

/* Begins the rounds, for all pods are there. From here on this pod's own limits hold. */
static void begin_work(struct participant *l)
{
    if (l->begun)
        return;
    l->begun = true;
    l->until_ms = ni_now_ms() + ni_rounds_ms(l->m->task.move_ms);
    if (l->m->begun)
        l->m->begun(l->m->arg);
}

/* Shows what pod 0, which is there, waits for. The participant of pod 0 shows nothing, for pod 0 does. */
static void show_pod_0(const struct participant *l)
{
    struct ni_text line = NI_TEXT(NI_PROGRESS_LINE);

    if (l->m->party->rank == 0)
        return;
    ni_put(&line, "it is there, and waits");
    if (l->msg.verdict.line[0])
        ni_putf(&line, ": %s", l->msg.verdict.line);
    l->m->progress(l->m->arg, "pod 0", line.buf, NI_SAME_PHASE);
}

/* Reads pod 0's answer to a message of that type into l->msg: its next message other than that it
   is alive. 0 or -errno. */
static int await_answer(struct participant *l, enum ni_message_type type, int64_t limit_ms)
{
    for (;;) {
        const int64_t silent_ms = ni_now_ms() + limit_ms;
        const int64_t until_ms = silent_ms < l->until_ms ? silent_ms : l->until_ms;
        const int r = ni_message_await(l->fd, until_ms, &l->room, &l->auth, &l->msg);

        /* a message that comes instead of the nonce is not proven: it does not extend the wait */
        if (r < 0 || l->msg.type != NI_MSG_ALIVE || type == NI_MSG_NONCE)
            return r;
        if (l->msg.begun)
            begin_work(l);
        show_pod_0(l);
        if (ni_now_ms() >= l->until_ms)
            return -ETIMEDOUT;
    }
}

/* Notes why there is no answer. Returns -errno. */
static int fail_without_answer(struct participant *l, int err)
{
    if (err == -ETIMEDOUT)
        return fail_to_take_part(l, err, "pod 0 no longer answers");
    if (err == -EBADMSG)
        return fail_to_take_part(l, err, "pod 0 has another secret than this pod (--job-secret)");
    if (err == -EPROTO)
        return fail_to_take_part(l, err, "pod 0 sent something that cannot be understood");
    return fail_to_take_part(
        l, -ECONNRESET, "pod 0 hung up: it went away, or another process of this pod has its rank");
}

/* Sends l->msg, and reads pod 0's answer into it. 0, or -errno with the reason noted. Two messages
   of pod 0 may be limit_ms apart. */
static int talk(struct participant *l, enum ni_message_type type, int64_t limit_ms)
{
    int r = -ECONNRESET;

    l->msg.type = type;
    if (ni_message_send(l->fd, &l->room, &l->auth, &l->msg))
        r = await_answer(l, type, limit_ms);
    if (r < 0)
        return fail_without_answer(l, r);
    if (type == NI_MSG_NONCE && l->msg.type != NI_MSG_NONCE)
        return fail_to_take_part(
            l, -EACCES, "pod 0 has no secret, and this pod has one: --job-secret is for all pods");
    if (l->msg.type == NI_MSG_NO)
        return fail_to_take_part(l, -EACCES, "pod 0 refused this pod: %s", l->msg.verdict.line);
    return 0;
}

/* ---- the rails ---- */

/* Lets all rails do the work at once. */
static void let_work(struct participant *l, enum ni_rail_work what, int64_t limit_ms)
{
    ni_rails_ask(&l->rails, what, limit_ms);
    while (!ni_rails_done(&l->rails, LOOK_MS)) {
        struct ni_text line = NI_TEXT(NI_PROGRESS_LINE);

        ni_put_awaited_rails(&line, &l->rails);
        if (l->m->party->rank > 0)
            l->m->progress(l->m->arg, "own rails", line.buf, NI_SAME_PHASE);
    }
}

/* Gives each rail its part of what pod 0 asks for: nothing, or the roles of its items. Each rail
   number that wire.c lets through has a task. */
static void assign_work(struct participant *l)
{
    const struct ni_message *m = &l->msg;

    for (unsigned i = 0; i < l->rails.n; i++) {
        struct ni_rail_task *task = &l->rails.task[i];

        memset(task->has, 0, sizeof(task->has));
        task->session = m->session;
        task->bytes = m->bytes;
        task->move_ms = move_ms(l, m->move_ms);
        task->n_queue = NI_MAX_QUEUES;
        task->small = m->small;
    }
    for (unsigned i = 0; i < m->n_item; i++) {
        const struct ni_item *it = &m->item[i];
        struct ni_rail_task *task = &l->rails.task[it->own];

        task->number = it->rail;
        task->has[it->role] = true;
        task->partner[it->role] = it->partner;
        task->queues[it->role] = it->queues;
        if (it->role == NI_ROLE_INITIATOR)
            task->batch = it->batch;
        task->peer[it->role] = it->end;
    }
}

/* Makes pod 0's message the answer to it: its items get the results, and the ends of new queue pairs. */
static void collect_work(struct participant *l)
{
    static const struct ni_rail_end none;
    struct ni_message *m = &l->msg;

    for (unsigned i = 0; i < m->n_item; i++) {
        struct ni_item *it = &m->item[i];
        const struct ni_rail_task *task = &l->rails.task[it->own];

        it->result = task->result[it->role];
        it->end = m->work < NI_WORK_CONNECT ? task->own[it->role] : none;
    }
}

/* Does what pod 0's message tells the rails to do. The message then becomes the answer. */
static void do_work(struct participant *l)
{
    const struct ni_message *m = &l->msg;

    if (l->rails.n == 0) /* this pod has no processes for them */
        return;
    assign_work(l);
    let_work(l, m->work, NI_RAIL_MS + 3 * (int64_t)move_ms(l, m->move_ms));
    collect_work(l);
}

/* Starts a process for each rail and lets it open its device; a rail that cannot be tried says
   why. */
static void open_rails(struct participant *l)
{
    const struct ni_rendezvous *m = l->m;
    struct ni_pod *pod = m->pod;
    const int64_t limit_ms = NI_RAIL_MS < m->within_ms ? NI_RAIL_MS : m->within_ms;
    int r = m->fn && pod->n_rail > 0 ? ni_rails_start(&l->rails, pod->n_rail, m->fn) : 0;

    for (unsigned i = 0; r != 0 && i < pod->n_rail; i++)
        (void)ni_format(pod->rail[i].untried, sizeof(pod->rail[i].untried),
                        "its process could not be started: %s", NI_ERRNO(r));
    for (unsigned i = 0; i < l->rails.n; i++) {
        struct ni_rail_task *task = &l->rails.task[i];

        *task = m->task;
        task->rail = pod->rail[i];
        task->number = i;
    }
    let_work(l, NI_WORK_OPEN, limit_ms);
    for (unsigned i = 0; i < l->rails.n; i++) {
        pod->rail[i] = l->rails.task[i].rail;
        if (l->rails.task[i].result[NI_ROLE_INITIATOR].silent)
            (void)ni_copy(pod->rail[i].untried, sizeof(pod->rail[i].untried),
                          "its device does not open in time");
    }
}

/* ---- the whole ---- */

/* Begins the connection: if the job has a secret, each side sends a nonce. So messages that were
   recorded in another connection have the wrong code in this one. */
static int exchange_nonces(struct participant *l)
{
    struct ni_auth auth;
    int r;

    l->auth = (struct ni_auth){.secret = NULL};
    if (!l->secret)
        return 0;
    r = ni_auth_begin(&auth, NI_PARTICIPANT);
    if (r < 0)
        return fail_to_take_part(l, r, "getrandom: %s", NI_ERRNO(r));
    memcpy(l->msg.nonce, auth.nonce[NI_PARTICIPANT], NI_NONCE_BYTES);
    r = talk(l, NI_MSG_NONCE, WELCOME_MS);
    memcpy(auth.nonce[NI_COORDINATOR], l->msg.nonce, NI_NONCE_BYTES);
    auth.secret = l->secret;
    l->auth = auth;
    return r;
}

/* Takes part, from the hello to the verdict. If the other side ends the connection without a
   welcome, it may be a proxy in front of a pod 0 that is not there yet. */
static int take_part(struct participant *l)
{
    int r = exchange_nonces(l);
    const int64_t left = l->within_ms - ni_now_ms();
    struct ni_message *m = &l->msg;

    if (r < 0)
        return r;
    m->protocol = NI_MEET_PROTOCOL;
    m->within_ms = left > 1 ? left : 1;
    (void)ni_copy(m->version, sizeof(m->version), NCCL_INIT_VERSION);
    m->party = *l->m->party;
    m->pod = *l->m->pod;
    for (unsigned i = 0; i < m->pod.n_rail; i++)
        m->rail[i] = m->pod.rail[i];
    for (unsigned i = 0; i < m->pod.n_setting; i++)
        m->setting[i] = m->pod.setting[i];
    r = talk(l, NI_MSG_HELLO, WELCOME_MS);
    if (r == 0 && m->type != NI_MSG_WELCOME) {
        l->reached = false;
        return fail_to_take_part(l, -EPROTO, "something other than pod 0 answers there");
    }
    if (r == 0)
        r = talk(l, NI_MSG_FACTS, SILENT_MS);
    while (r == 0 && m->type == NI_MSG_DO) {
        begin_work(l);
        do_work(l);
        r = talk(l, NI_MSG_DONE, SILENT_MS);
    }
    return r == 0 && m->type != NI_MSG_VERDICT
               ? fail_to_take_part(l, -EPROTO, "pod 0 sent a message that is wrong at this point")
               : r;
}

/* Sets the time that the next connect(2) may take (socket(7), SO_SNDTIMEO). */
static void set_limit(const struct participant *l, int64_t ms)
{
    const struct timeval t = {.tv_sec = (time_t)(ms / 1000), .tv_usec = ms % 1000 * 1000 + 1};

    (void)setsockopt(l->fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t));
}

/* Puts the name of pod 0, the address that it has, and the port. */
static void put_place(struct ni_text *t, const struct ni_party *p, const struct addrinfo *at)
{
    char address[NI_MEET_PEERS] = "";

    ni_put(t, p->host);
    if (getnameinfo(at->ai_addr, at->ai_addrlen, address, sizeof(address), NULL, 0,
                    NI_NUMERICHOST) == 0 &&
        strcmp(address, p->host) != 0)
        ni_putf(t, " (%s)", address);
    ni_putf(t, " port %u", p->port);
}

/* Connects to one address of pod 0 and takes part there. 0, or -errno with the reason noted. */
static int try_address(struct participant *l, const struct addrinfo *at, int64_t limit_ms)
{
    struct ni_text place = NI_TEXT(2 * NI_MEET_PEERS + 16);
    int r;

    l->fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (l->fd >= 0)
        set_limit(l, limit_ms);
    if (l->fd >= 0 && connect(l->fd, at->ai_addr, at->ai_addrlen) == 0) {
        ni_socket_set_up(l->fd);
        l->reached = true;
        r = take_part(l);
        if (r == -EACCES || r == -EBADMSG)
            (void)ni_format(l->refused, sizeof(l->refused), "%s", l->why.buf);
    } else {
        l->reached = false;
        r = errno == EINPROGRESS ? -ETIMEDOUT : -errno;
        put_place(&place, l->m->party, at);
        (void)fail_to_take_part(l, r, "%s: %s", place.buf, NI_ERRNO(r));
    }
    (void)close(l->fd);
    return r;
}

/* Looks up the name of pod 0 and tries its addresses in turn. 0, or -errno with the reason noted.
   */
static int try_name(struct participant *l, const char *port)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    const char *host = l->m->party->host;
    struct addrinfo *all = NULL;
    int64_t left = l->within_ms - ni_now_ms();
    int r = getaddrinfo(host, port, &hints, &all);

    l->absent = r != 0;
    l->reached = l->reached && r == 0;
    if (r != 0)
        (void)fail_to_take_part(l, -EAGAIN, "%s: %s", host, gai_strerror(r));
    r = -EAGAIN;
    for (const struct addrinfo *at = all; at && r != 0 && !l->begun && left > 0; at = at->ai_next) {
        const int64_t limit = at->ai_next ? OTHERS_MS : CONNECT_MS;

        r = try_address(l, at, left < limit ? left : limit);
        left = l->within_ms - ni_now_ms();
    }
    if (all)
        freeaddrinfo(all);
    return r;
}

/* Tries to reach pod 0 until it answers or the time is over. 0, or -errno with the reason noted. */
static int find_coordinator(struct participant *l)
{
    const struct ni_party *p = l->m->party;
    int64_t pause = FIRST_PAUSE_MS + p->rank % JITTER_MS;
    int64_t left = l->within_ms - ni_now_ms();
    char port[8];

    (void)ni_format(port, sizeof(port), "%u", p->port);
    while (left > 0) {
        const int r = try_name(l, port);

        if (r == 0 || l->begun)
            return r;
        l->m->progress(l->m->arg, "pod 0", l->why.buf, NI_SAME_PHASE);
        left = l->within_ms - ni_now_ms();
        const int64_t rest = l->absent ? ABSENT_MS + p->rank % JITTER_MS : pause;
        if (left > 0)
            (void)poll(NULL, 0, (int)(left < rest ? left : rest));
        pause = pause < LAST_PAUSE_MS / 2 ? 2 * pause : LAST_PAUSE_MS;
        left = l->within_ms - ni_now_ms();
    }
    if (!l->reached && l->refused[0])
        ni_putf(&l->why, "; before that, %s", l->refused);
    else if (!l->reached)
        ni_put(&l->why, "; the others have started, or never came");
    return -ETIMEDOUT;
}

int ni_participate(const struct ni_rendezvous *m, int fd, struct ni_verdict *ret)
{
    struct participant *l = &participant;
    int r;

    l->m = m;
    l->within_ms = ni_now_ms() + m->within_ms;
    l->until_ms = l->within_ms + SLACK_MS;
    l->fd = fd;
    l->reached = fd >= 0;
    l->secret = fd >= 0 ? NULL : m->secret;
    l->why = ni_text_on(ret->line, sizeof(ret->line));
    open_rails(l);
    r = fd >= 0 ? take_part(l) : find_coordinator(l);
    ret->nobody = r == -ETIMEDOUT && !l->begun && !l->reached;
    begin_work(l);
    ni_rails_end(&l->rails);
    if (r != 0)
        return r;
    ret->outcome = l->msg.verdict.outcome;
    (void)ni_copy(ret->line, sizeof(ret->line), l->msg.verdict.line);
    return 0;
}
