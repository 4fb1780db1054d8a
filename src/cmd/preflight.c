/* SPDX-License-Identifier: Apache-2.0 */
/* preflight: all pods of a job prove its fabric together. Also before the command, for `run
   --preflight`. What comes from the network is read by a child that has nothing to lose; what
   becomes the command gets one byte of it. */
#include "nccl_init/act.h"
#include "nccl_init/cmd.h"
#include "nccl_init/decide.h"
#include "nccl_init/meet.h"
#if NI_HAVE_VERBS
#include "nccl_init/verbs.h"
#endif

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    LOOK_MS = 10,      /* between looks at the child */
    END_MS = 5000,     /* from its verdict to its end */
    ROUNDS_MS = 600000 /* for what comes when all are there, at most */
};

/* What the child says, and what --once keeps. UNTOLD: it said nothing. LOST, before the others: what
   pod 0 printed did not get there, so that the verb fails as every verb does. */
enum verdict { UNTOLD, GOOD = 'g', BAD = 'b', LOST = 'l' };

/* ---- in the child ---- */

/* What it has. */
static struct child {
    struct ni_context *ctx;
    struct ni_pod pod;
    struct ni_rail rail[NI_MAX_RAILS];
    struct ni_pod_setting setting[NI_MAX_POD_SETTINGS];
    struct ni_rails rails;
    struct ni_findings findings;
    int fd; /* to the parent */
} child;

static bool tell_parent(enum verdict verdict)
{
    const char byte = (char)verdict;

    return write(child.fd, &byte, 1) == 1;
}

static void say_progress(void *arg, const char *line, bool phase)
{
    struct child *c = arg;

    if (phase && !isatty(STDERR_FILENO))
        ni_say(c->ctx, NI_LOG_INFO, "preflight: %s", line);
    else
        ni_say_progress(c->ctx, line);
}

#if NI_HAVE_VERBS
/* What a queue pair carries of it; beyond `most` or below nothing: 0. */
static int carried(const struct ni_work *w, const char *name, int most)
{
    const int64_t n = ni_user_int(w, name, 0);

    return n < 0 || n > most ? 0 : (int)n;
}

static int start_rails(struct ni_rails *rails, void *arg)
{
    const struct child *c = arg;
    const struct ni_work work = ni_flow_work(c->ctx);
    int r = ni_rails_start(rails, c->pod.n_rail, c->pod.rail, ni_work_rail);

    for (unsigned i = 0; r == 0 && i < rails->n; i++) {
        rails->task[i].traffic_class = carried(&work, "NCCL_IB_TC", UINT8_MAX);
        rails->task[i].service_level = carried(&work, "NCCL_IB_SL", 15);
        rails->task[i].pkey_index = carried(&work, "NCCL_IB_PKEY", INT16_MAX);
    }
    return r;
}
#endif

static void print_job(struct ni_context *ctx, const struct ni_job_view *view, ni_job_report_fn *put)
{
    struct ni_text text = ni_long_text();

    put(&text, view);
    if (ni_print(ctx, &text) != 0 && ctx->verb != NI_VERB_RUN)
        (void)tell_parent(LOST);
    ni_free_text(&text);
}

/* At pod 0. For `run`, whose standard output is the command's, the findings alone. */
static void tell_result(void *arg, const struct ni_job *job, const uint8_t *verdicts,
                        const struct ni_findings *f, bool bad)
{
    struct child *c = arg;
    struct ni_context *ctx = c->ctx;
    struct ni_job_view view = {job, verdicts, f, bad, ni_flow_view(ctx).colour};

    ni_say_progress(ctx, "");
    ctx->options.output = NULL;
    if (ctx->verb == NI_VERB_RUN) {
        ctx->findings = *f;
        ni_say_findings(ctx);
    } else {
        print_job(ctx, &view, ctx->options.json ? ni_put_preflight_json : ni_put_preflight);
    }
    ctx->options.output = ctx->options.svg;
    if (ctx->options.svg)
        print_job(ctx, &view, ni_put_preflight_svg);
}

/* In the other pods: the sentence alone. 0, or NI_EXIT_FAILED: it did not get there. */
static int tell_verdict(struct ni_context *ctx, const struct ni_party *party,
                        const struct ni_verdict *verdict)
{
    char buf[1024];
    struct ni_text t = ni_text_on(buf, sizeof(buf));

    if (ctx->verb == NI_VERB_RUN) {
        ni_say(ctx, verdict->good ? NI_LOG_INFO : NI_LOG_WARN, "preflight: %s", verdict->line);
        return 0;
    }
    if (ctx->options.json) {
        struct ni_json j = ni_json_on(&t, true);

        ni_json_object(&j, NULL);
        ni_json_int(&j, "schema", NI_JSON_SCHEMA);
        ni_json_text(&j, "verdict", verdict->good ? "good" : "bad");
        ni_json_int(&j, "rank", party->rank);
        ni_json_int(&j, "ranks", party->ranks);
        ni_json_text(&j, "line", verdict->line);
        ni_json_end(&j);
    } else {
        ni_put(&t, "preflight: ");
        ni_quote(&t, verdict->line);
        ni_put(&t, "\n");
    }
    return ni_print(ctx, &t);
}

/* Its maker, by which NCCL chooses too (2.30.7 graph/xml.cc ncclTopoGetXmlFromCpu, which asks the
   CPU as well, for /proc/cpuinfo has a paragraph for each thread). */
static void put_cpu(char *ret, size_t cap)
{
#if defined(__x86_64__)
    struct {
        unsigned b, d, c;
        char end;
    } maker = {.end = '\0'};
    unsigned most;

    if (__get_cpuid(0, &most, &maker.b, &maker.c, &maker.d))
        (void)ni_copyn(ret, cap, (const char *)&maker, 12);
#elif defined(__aarch64__)
    (void)ni_copy(ret, cap, "arm64");
#endif
}

static void describe(struct child *c)
{
    struct ni_context *ctx = c->ctx;
    const struct ni_work work = ni_flow_work(ctx);
    const char *node = ni_env_get(&ctx->own, "NODE_NAME");

    ni_describe_pod(&work, &c->pod, c->rail, c->setting);
    if (gethostname(c->pod.host, sizeof(c->pod.host) - 1) != 0)
        c->pod.host[0] = '\0';
    (void)ni_copy(c->pod.node, sizeof(c->pod.node), node ? node : "");
    put_cpu(c->pod.cpu, sizeof(c->pod.cpu));
    (void)ni_copy(c->pod.version, sizeof(c->pod.version), NCCL_INIT_VERSION);
}

/* The meeting, and what is said of it. */
static enum verdict meet(struct ni_context *ctx, const struct ni_party *party)
{
    struct child *c = &child;
    const struct ni_meeting meeting = {
        .party = party,
        .policy = &ctx->options.policy,
        .strict = ctx->options.strict,
        .within_ms = (int64_t)ctx->options.within * 1000,
        .bytes = ni_option_given(ctx, "bytes") ? ctx->options.bytes : 0,
        .move_ms = (int)ctx->options.move_ms,
        .pod = &c->pod,
#if NI_HAVE_VERBS
        .start = start_rails,
#endif
        .rails = &c->rails,
        .progress = say_progress,
        .result = tell_result,
        .arg = c,
    };
    const bool must = ctx->options.preflight == NI_PREFLIGHT_REQUIRE;
    struct ni_verdict verdict = {.good = false};
    bool told = true;
    int r;

    c->ctx = ctx;
    describe(c);
    r = ni_meet(&meeting, &verdict, &c->findings);
    verdict.good = verdict.good && r == 0;
    if (r != 0) { /* this pod's own words */
        struct ni_verdict own = verdict;

        (void)ni_format(verdict.line, sizeof(verdict.line), "bad: %s", own.line);
    }
    ni_say_progress(ctx, "");
    if (party->rank > 0 || r != 0 || ctx->verb == NI_VERB_RUN)
        told = tell_verdict(ctx, party, &verdict) == 0;
    if (!verdict.good && (ctx->verb != NI_VERB_RUN || must)) {
        char buf[640];

        (void)ni_format(buf, sizeof(buf), "%s%s",
                        must ? "not started: --preflight=require, and the preflight is "
                             : "preflight: ",
                        verdict.line);
        ctx->findings = c->findings;
        (must ? ni_last_words : ni_leave_reason)(ctx, buf, true);
    }
    return verdict.good && told ? GOOD : BAD;
}

/* CAP_IPC_LOCK counts as it will in the command: without it the rails' memory may be too much. */
static _Noreturn void run_child(struct ni_context *ctx, const struct ni_party *party, int fd,
                                const struct ni_wait *wait)
{
    const uint64_t lock = UINT64_C(1) << NI_CAP_IPC_LOCK;
    int r;

    child.fd = fd;
    ni_wait_unblock(wait);
    ni_no_command();
    r = ni_caps_forsake(ni_command_has_cap(NI_CAP_IPC_LOCK) ? lock : 0);
    if (r < 0) {
        ni_say(ctx, NI_LOG_ERROR, "preflight: capabilities cannot be dropped: %s",
               ni_errno_text(r));
        _exit(1);
    }
    _exit(tell_parent(meet(ctx, party)) ? 0 : 1);
}

/* ---- in the parent ---- */

/* Until the child has told, or is gone, or a signal came, or the time is over. It sleeps: thousands
   that look again and again would leave no time to the meeting. */
static enum verdict await(int fd, int64_t deadline, struct ni_wait *wait)
{
    const int signals = signalfd(-1, &wait->blocked, SFD_CLOEXEC | SFD_NONBLOCK);
    struct pollfd p[] = {{.fd = fd, .events = POLLIN}, {.fd = signals, .events = POLLIN}};
    enum verdict verdict = UNTOLD;
    bool lost = false;

    for (int64_t left; (left = deadline - ni_now_ms()) > 0 && !ni_wait_ms(wait, 0);) {
        char byte;
        ssize_t n;

        (void)poll(p, 2, signals < 0 ? LOOK_MS : left < INT32_MAX ? (int)left : INT32_MAX);
        n = read(fd, &byte, 1);
        if (n == 1 && byte == LOST) {
            lost = true;
            continue;
        }
        if (n == 1)
            verdict = byte == GOOD ? GOOD : BAD;
        if (n >= 0 || (errno != EAGAIN && errno != EINTR))
            break;
    }
    if (signals >= 0)
        (void)close(signals);
    return lost && verdict == GOOD ? BAD : verdict;
}

static void end_child(pid_t pid, bool told)
{
    const int64_t deadline = ni_now_ms() + (told ? END_MS : 0);
    struct ni_wait none = {.signal = 0};

    (void)sigemptyset(&none.blocked);
    while (waitpid(pid, NULL, WNOHANG) == 0) {
        if (ni_now_ms() >= deadline)
            (void)kill(pid, SIGKILL);
        (void)ni_wait_ms(&none, LOOK_MS);
    }
}

static enum verdict ask_child(struct ni_context *ctx, const struct ni_party *party)
{
    const int64_t limit = (int64_t)ctx->options.within * 1000 + ROUNDS_MS;
    const bool was_pending = ni_child_pending();
    enum verdict verdict = UNTOLD;
    struct ni_wait wait;
    int fd[2];
    pid_t pid;

    if (pipe2(fd, O_CLOEXEC | O_NONBLOCK) < 0) {
        ni_say(ctx, NI_LOG_ERROR, "preflight: pipe: %s", ni_errno_text(errno));
        return UNTOLD;
    }
    ni_wait_begin(&wait);
    pid = ni_fork();
    if (pid == 0)
        run_child(ctx, party, fd[1], &wait);
    (void)close(fd[1]);
    if (pid > 0) {
        verdict = await(fd[0], ni_now_ms() + limit, &wait);
        end_child(pid, wait.signal == 0);
    } else {
        ni_say(ctx, NI_LOG_ERROR, "preflight: fork: %s", ni_errno_text(errno));
    }
    (void)close(fd[0]);
    ni_child_forget(was_pending);
    ni_wait_end(&wait); /* which may end the program */
    return verdict;
}

/* ---- --once ---- */

enum { KEPT = 256 };

/* What FILE has of this attempt: "nccl-init preflight: good: 3/8 KEY". */
static void put_kept(struct ni_text *t, enum verdict verdict, const struct ni_party *party)
{
    ni_putf(t, "nccl-init preflight: %s: %u/%u %s\n", verdict == GOOD ? "good" : "bad", party->rank,
            party->ranks, party->key);
}

/* false: nothing is kept of this attempt. */
static bool find_kept(const struct ni_context *ctx, const struct ni_party *party, enum verdict *ret)
{
    static const enum verdict both[] = {GOOD, BAD};
    /* a bad one does not hold where a good one is demanded */
    const size_t n_both = ctx->options.preflight == NI_PREFLIGHT_REQUIRE ? 1 : NI_COUNT(both);
    char seen[KEPT];
    int fd = open(ctx->options.once, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd < 0 ? -1 : read(fd, seen, sizeof(seen));

    if (fd >= 0)
        (void)close(fd);
    for (size_t i = 0; n > 0 && i < n_both; i++) {
        struct ni_text k = NI_TEXT(KEPT);
        put_kept(&k, both[i], party);
        if (k.len == (size_t)n && memcmp(k.buf, seen, k.len) == 0) {
            *ret = both[i];
            return true;
        }
    }
    return false;
}

static void keep(struct ni_context *ctx, const struct ni_party *party, enum verdict verdict)
{
    struct ni_text k = NI_TEXT(KEPT);
    int r;

    put_kept(&k, verdict, party);
    r = ni_replace_file(ctx->options.once, 0644, ni_write_text, &k);
    if (r < 0)
        ni_say(ctx, NI_LOG_WARN, "preflight: %.256s: %s", ctx->options.once, ni_errno_text(r));
}

/* ---- both verbs ---- */

/* One pod has nobody to meet: its self-test decides. */
static enum verdict alone(struct ni_context *ctx, const struct ni_party *party)
{
    const struct ni_work work = ni_flow_work(ctx);
    char buf[NI_REASON] = "";
    struct ni_text why = ni_text_on(buf, sizeof(buf));
    struct ni_verdict verdict = {.good = true};

    if (ni_wants_trials(&work) && !ni_selftest_passes(ctx, &why))
        /* as for the self-test, having no port is a warning */
        verdict.good = ctx->trials && ctx->trials->n == 0 && !ctx->options.strict;
    (void)ni_format(verdict.line, sizeof(verdict.line), "%s: one pod takes part: %s",
                    verdict.good ? "good" : "bad",
                    why.len > 0 ? buf : "nobody to meet, and the self-test found nothing");
    ni_report(&ctx->findings, NI_F_JOB_ALONE, "preflight", "one pod takes part");
    ni_say_findings(ctx);
    return tell_verdict(ctx, party, &verdict) == 0 && verdict.good ? GOOD : BAD;
}

/* Not for what --once has kept, or another process of this pod does. */
static enum verdict meet_once(struct ni_context *ctx, const struct ni_party *party)
{
    const struct ni_options *o = &ctx->options;
    enum verdict verdict;

    if (party->stand_aside) {
        ni_say(ctx, NI_LOG_INFO, "preflight: left to local rank 0 of this pod");
        return GOOD;
    }
    if (o->once && find_kept(ctx, party, &verdict)) {
        ni_say(ctx, NI_LOG_INFO, "preflight: made before, and %s, as %.256s tells",
               verdict == GOOD ? "good" : "bad", o->once);
        return verdict;
    }
    verdict = party->ranks == 1 ? alone(ctx, party) : ask_child(ctx, party);
    /* who has started its command does not come to another meeting */
    if (o->once && (verdict == GOOD || (verdict == BAD && o->preflight == NI_PREFLIGHT_WARN)))
        keep(ctx, party, verdict);
    return verdict;
}

static int find_party(struct ni_context *ctx, struct ni_party *ret, struct ni_text *why)
{
    const struct ni_options *o = &ctx->options;
    const struct ni_party_options given = {o->peers, o->job, o->rank, o->ranks, o->port};

    memset(ret, 0, sizeof(*ret));
    return ni_find_party(&ctx->own, &given, ret, why);
}

int ni_cmd_preflight(struct ni_context *ctx, char *const operands[])
{
    char buf[512];
    struct ni_text why = ni_text_on(buf, sizeof(buf));
    struct ni_party party;
    enum verdict verdict;
    int r;

    (void)operands;
    if (find_party(ctx, &party, &why) != 0 && strcmp(ctx->options.root, "/") == 0)
        return ni_usage(ctx, "%s", buf);
    r = ni_flow_as_command(ctx);
    if (r != 0)
        return r;
    verdict = meet_once(ctx, &party);
    if (verdict == UNTOLD)
        ni_say(ctx, NI_LOG_ERROR, "preflight: its process ended without a verdict");
    return verdict == GOOD ? 0 : NI_EXIT_FAILED;
}

bool ni_preflight_allows(struct ni_context *ctx)
{
    const bool must = ctx->options.preflight == NI_PREFLIGHT_REQUIRE;
    static const char demand[] = "not started: --preflight=require, and ";
    char buf[640];
    struct ni_text why = ni_text_on(buf, sizeof(buf));
    struct ni_party party;
    enum verdict verdict = UNTOLD;

    ni_put(&why, demand);
    if (find_party(ctx, &party, &why) == 0) {
        verdict = meet_once(ctx, &party);
        ni_put(&why, verdict == BAD ? "the preflight is bad" : "it ended without a verdict");
    }
    if (verdict == GOOD)
        return true;
    if (must && (verdict == UNTOLD || party.ranks == 1))
        ni_last_words(ctx, buf, false);
    else if (verdict == UNTOLD)
        ni_say(ctx, NI_LOG_WARN, "preflight: not made: %s", buf + sizeof(demand) - 1);
    return !must;
}
