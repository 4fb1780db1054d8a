/* SPDX-License-Identifier: Apache-2.0 */
/* The verb preflight, and `run --preflight` before the command: all pods of a job test its
   fabric together. A child without privileges reads what comes from the network; the process
   that becomes the command gets one byte from it. */
#include "preflight/preflight.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "cli/board.h"
#include "cli/context.h"
#include "cli/flow.h"
#include "cli/option.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/progress_table.h"
#include "cli/say.h"
#include "nccl_init/base.h"
#include "nccl_init/caps.h"
#include "nccl_init/env.h"
#include "nccl_init/errno.h"
#include "nccl_init/plan.h"
#include "nccl_init/text.h"
#include "preflight/describe.h"
#include "preflight/fingerprint.h"
#include "preflight/job.h"
#include "preflight/launcher.h"
#include "preflight/local.h"
#include "preflight/meeting.h"
#include "preflight/participant.h"
#include "preflight/report.h"
#include "preflight/report_json.h"
#include "preflight/report_svg.h"
#include "preflight/secret.h"
#include "print/layout.h"
#include "print/words.h"
#include "rail/rail.h"
#include "rail/step.h"
#include "rail/task.h"
#include "rules/decide.h"
#include "rules/require.h"
#include "selftest/selftest.h"
#include "selftest/trials.h"
#include "system/caps.h"
#include "system/exec.h"
#include "system/process.h"
#include "system/replace.h"

/* ---- options ---- */

enum { A_FILE = NI_OPTION_FILE, MEETING = NI_VERB_RUN | NI_VERB_PREFLIGHT };

struct ni_preflight_options ni_preflight_options;

static const struct ni_option preflight_options[] = {
    {
        .name = "peers",
        .group = NI_GROUP_PREFLIGHT,
        .verbs = MEETING,
        .arg = "HOST[:PORT]",
        .take = ni_take_path,
        .at = offsetof(struct ni_preflight_options, party.peers),
        .help = "name or address of pod 0; this and the next three are needed only if the "
                "launcher does not set them",
    },
    {
        .name = "rank",
        .group = NI_GROUP_PREFLIGHT,
        .verbs = MEETING,
        .arg = "auto|N",
        .initial = "auto",
        .take = ni_take_number,
        .at = offsetof(struct ni_preflight_options, party.rank),
        .least = -1,
        .most = NI_MAX_RANKS,
        .help = "this pod's number, from 0",
    },
    {
        .name = "ranks",
        .group = NI_GROUP_PREFLIGHT,
        .verbs = MEETING,
        .arg = "auto|N",
        .initial = "auto",
        .take = ni_take_number,
        .at = offsetof(struct ni_preflight_options, party.ranks),
        .least = -1,
        .most = NI_MAX_RANKS,
        .help = "how many pods take part",
    },
    {
        .name = "job",
        .group = NI_GROUP_PREFLIGHT,
        .verbs = MEETING,
        .arg = "KEY",
        .take = ni_take_path,
        .at = offsetof(struct ni_preflight_options, party.job),
        .help = "a key that all pods of this attempt of the job have, and no other pod has",
    },
    {
        .name = "job-secret",
        .group = NI_GROUP_PREFLIGHT,
        .verbs = MEETING,
        .traits = A_FILE | NI_OPTION_CAREFUL,
        .arg = "FILE",
        .take = ni_take_path,
        .at = offsetof(struct ni_preflight_options, secret),
        .help = "a file that all pods of the job have and no stranger can read, such as a mounted "
                "Secret; each message is authenticated with its bytes",
    },
    /* below the ephemeral ports, not perftest's 18515 */
    {
        .name = "port",
        .group = NI_GROUP_PREFLIGHT,
        .verbs = MEETING,
        .arg = "PORT",
        .initial = "18555",
        .take = ni_take_number,
        .at = offsetof(struct ni_preflight_options, party.port),
        .least = 1,
        .most = UINT16_MAX,
        .help = "TCP port of pod 0",
    },
    {
        .name = "within",
        .group = NI_GROUP_PREFLIGHT,
        .verbs = MEETING,
        .arg = "SECONDS",
        .initial = "300",
        .take = ni_take_seconds,
        .at = offsetof(struct ni_preflight_options, within),
        .least = 1,
        .most = 86400,
        .help = "how long to wait for all pods",
    },
    {
        .name = "late",
        .group = NI_GROUP_PREFLIGHT,
        .verbs = MEETING,
        .arg = "refuse|selftest",
        .initial = "refuse",
        .take = ni_take_word,
        .at = offsetof(struct ni_preflight_options, late),
        .help = "what a pod does that was replaced, and finds no other pod within --within, "
                "because they run already; refuse: its verdict is bad; selftest: it tests "
                "itself, and starts with a warning",
    },
    {
        .name = "seconds",
        .group = NI_GROUP_PREFLIGHT,
        .verbs = MEETING,
        .arg = "S",
        .initial = "0.2",
        .take = ni_take_milliseconds,
        .at = offsetof(struct ni_preflight_options, move_ms),
        .least = 0,
        .most = 60000,
        .help = "how long to write, and to read, to measure bandwidth; 0: do not measure",
    },
    {
        .name = "need",
        .group = NI_GROUP_PREFLIGHT,
        .verbs = MEETING,
        .arg = "N",
        .initial = "0",
        .take = ni_take_number,
        .at = offsetof(struct ni_preflight_options, need),
        .least = 0,
        .most = NI_MAX_RANKS,
        .help = "how many good pods are enough: then the verdict is good, and names who is to be "
                "dropped; 0: all must be good. What pod 0 says counts",
    },
    {
        .name = "once",
        .group = NI_GROUP_PREFLIGHT,
        .verbs = MEETING,
        .traits = A_FILE | NI_OPTION_CAREFUL,
        .arg = "FILE",
        .take = ni_take_path,
        .at = offsetof(struct ni_preflight_options, once),
        .help = "keep the verdict in FILE; a container that starts again skips the preflight",
    },
    {
        .name = "report",
        .group = NI_GROUP_PREFLIGHT,
        .verbs = MEETING,
        .traits = A_FILE,
        .arg = "FILE",
        .take = ni_take_path,
        .at = offsetof(struct ni_preflight_options, report),
        .help = "in pod 0, also write the result as JSON to FILE",
    },
};
const struct ni_option_rows ni_preflight_rows = {
    preflight_options,
    NI_COUNT(preflight_options),
    &ni_preflight_options,
    sizeof(ni_preflight_options),
};

enum {
    BYTES_MS = 3000, /* for --bytes, in each direction */
    SELF_MS = 60000, /* for a self-test, which may follow */
    LAST_MS = 30000, /* beyond the rounds, until the child has printed the verdict */
    SLACK_MS = 2000, /* beyond --within, until the child says that it waits no more */
    ENDED_MS = 1500  /* from a signal until the child has said for whom it waited */
};

/* Bytes of the child before that of the outcome: waiting for pods is over; or it was ended by a
   signal, after saying so; or the other pods know the outcome whose byte follows. */
enum { BEGUN = 'w', ENDED = 'e', TOLD = 't' };

/* Writes a text of ni_long_text in a file beside the output, and frees it. An exit status. */
static int print_beside(struct ni_context *ctx, struct ni_text *text, const char *file)
{
    const char *output = ctx->options.output;
    int status;

    ctx->options.output = file;
    status = ni_print_long(ctx, text);
    ctx->options.output = output;
    return status;
}

/* Writes the files that pod 0 leaves: the picture of --svg, the JSON of --report. An exit status. */
static int leave_files(struct ni_context *ctx, const struct ni_verdict *verdict)
{
    const struct ni_view view = ni_flow_view(ctx);
    int status = 0;

    if (ctx->options.svg) {
        struct ni_text text = ni_long_text();

        ni_put_preflight_svg(&text, verdict);
        status |= print_beside(ctx, &text, ctx->options.svg);
    }
    if (ni_preflight_options.report) {
        struct ni_text text = ni_long_text();

        ni_put_preflight_json(&text, &view, verdict);
        status |= print_beside(ctx, &text, ni_preflight_options.report);
    }
    return status;
}

static int print_preflight_report(struct ni_context *ctx, const struct ni_verdict *verdict)
{
    const struct ni_view view = ni_flow_view(ctx);
    struct ni_text text = ni_long_text();

    if (ctx->options.json)
        ni_put_preflight_json(&text, &view, verdict);
    else if (!ctx->options.all)
        ni_put_preflight_answer(&text, &view, verdict);
    else
        ni_put_preflight(&text, &view, verdict);
    return ni_print_long(ctx, &text);
}

/* Returns true for `run --preflight=require`. */
static bool must_pass(const struct ni_context *ctx)
{
    return ctx->verb == NI_VERB_RUN && (ctx->options.policy.require & NI_REQUIRE_PREFLIGHT) != 0;
}

/* Returns true if nothing was tested, and --mode=tcp says that there is nothing to test. */
static bool is_meant_untested(const struct ni_context *ctx, enum ni_outcome outcome)
{
    return outcome == NI_JOB_UNTESTED && ctx->options.policy.mode == NI_MODE_TCP;
}

/* Returns true if the verdict is enough for this pod: if it must pass, only a tested fabric. */
static bool is_enough(const struct ni_context *ctx, enum ni_outcome outcome)
{
    if (outcome == NI_JOB_UNTESTED)
        return !must_pass(ctx) || is_meant_untested(ctx, outcome);
    return outcome == NI_JOB_GOOD;
}

/* Prints the result: all of it at pod 0, only the sentence elsewhere. `run`, whose standard output
   is the command's, logs it. refused: the command is refused, which says the sentence. Returns
   false if a file or the report could not be printed; a file that `run` could not print does not
   matter. */
static bool print_verdict(struct ni_context *ctx, const struct ni_verdict *verdict, bool refused)
{
    const bool runs = ctx->verb == NI_VERB_RUN;
    const bool calm = !verdict->nobody &&
                      (verdict->outcome == NI_JOB_GOOD || is_meant_untested(ctx, verdict->outcome));
    bool printed = true;

    if (verdict->job)
        printed = leave_files(ctx, verdict) == 0 || runs;
    if (runs || !verdict->job)
        ni_say_findings(ctx);
    if (!runs)
        printed = print_preflight_report(ctx, verdict) == 0 && printed;
    else if (!refused)
        ni_say(ctx, calm ? NI_LOG_INFO : NI_LOG_WARN, "preflight: %s", verdict->line);
    return printed;
}

/* Prints the result, and if it is not enough refuses the command or leaves the reason. Returns the
   outcome: bad as well if it is not enough for this pod, or could not be printed. */
static enum ni_outcome conclude(struct ni_context *ctx, const struct ni_verdict *verdict)
{
    const bool enough = is_enough(ctx, verdict->outcome);
    const bool refused = must_pass(ctx) && !enough;
    struct ni_text why = NI_TEXT(1024);
    bool printed;

    ni_putf(&why, "%s%s", refused ? "the preflight is " : "preflight: ", verdict->line);
    if (refused)
        ni_refuse_demand(&ctx->work, NI_REQUIRE_PREFLIGHT, why.buf);
    printed = print_verdict(ctx, verdict, refused);
    if (refused)
        (void)ni_refuse(ctx, ctx->plan.refuse_why, NI_LEAVE_FINDINGS);
    else if (!enough && ctx->verb != NI_VERB_RUN)
        ni_leave_reason(ctx, why.buf, NI_LEAVE_FINDINGS);
    return enough && printed ? verdict->outcome : NI_JOB_BAD;
}

/* Returns true in the first network namespace, which alone has this sysctl
   (net/core/sysctl_net_core.c net_core_table). */
static bool is_host_network(void)
{
    return access("/proc/sys/net/core/netdev_max_backlog", F_OK) == 0;
}

/* ---- in the child ---- */

static int to_parent = -1; /* the pipe, in the child and its children */
static int to_others = -1; /* in the parent: where the other processes of this pod wait */

static void say_begun(void *arg)
{
    static const char byte = BEGUN;

    (void)arg;
    (void)!write(to_parent, &byte, 1);
}

/* Tells the parent what the other pods were told: it holds, even if this process is killed before it has
   printed it, for they start their commands by it. */
static void say_told(void *arg, enum ni_outcome outcome)
{
    const char bytes[2] = {TOLD, ni_outcome_forms[outcome].byte};

    (void)arg;
    (void)!write(to_parent, bytes, sizeof(bytes));
}

static volatile sig_atomic_t told_to_end; /* the parent was told to end, and told this child */

static void note_end(int signal)
{
    told_to_end = signal;
}

/* Says for whom this pod waited, and ends. */
static _Noreturn void end_waiting(struct ni_context *ctx, const char *what, const char *line)
{
    static const char byte = ENDED;
    struct ni_text why = NI_TEXT(512);

    ni_putf(&why, "preflight: ended by a signal while it waited: %s: %s", what, line);
    ni_progress_end(ctx);
    ni_say(ctx, NI_LOG_WARN, "%s", why.buf);
    ni_leave_reason(ctx, why.buf, NI_LEAVE_REASON);
    (void)!write(to_parent, &byte, 1);
    _exit(1);
}

static void say_progress(void *arg, const char *what, const char *line, enum ni_progress kind)
{
    struct ni_context *ctx = arg;

    if (told_to_end)
        end_waiting(ctx, what, line);
    ni_progress(ctx, "preflight", what, line, kind);
}

/* Adds the maker of the CPU to what pods compare, because NCCL chooses by it (2.30.7 graph/xml.cc
   ncclTopoGetXmlFromCpu). It is read as NCCL reads it, by the CPUID instruction: /proc/cpuinfo is
   long on a machine with many threads. */
static void add_cpu(struct ni_pod *pod)
{
#if defined(__x86_64__)
    unsigned most, maker[4] = {0}; /* the text is in EBX, EDX, ECX */

    if (__get_cpuid(0, &most, &maker[0], &maker[2], &maker[1]))
        ni_add_setting(pod, "CPU", (const char *)maker);
#elif defined(__aarch64__)
    ni_add_setting(pod, "CPU", "arm64");
#endif
}

/* Finds the switch above the node, which bad paths may have in common: what the user says, else the
   last switch of Slurm's address, whose parts are switches from the top down, and the node (Slurm
   25.05 srun.1 SLURM_TOPOLOGY_ADDR). */
static void add_leaf(struct ni_pod *pod, const struct ni_env *env)
{
    const char *told = ni_env_get(env, "NODE_LEAF"),
               *slurm = ni_env_get(env, "SLURM_TOPOLOGY_ADDR");
    const char *node = slurm ? strrchr(slurm, '.') : NULL;
    const char *leaf = node;

    if (told && told[0]) {
        (void)ni_copyn(pod->leaf, sizeof(pod->leaf), told, strnlen(told, sizeof(pod->leaf) - 1));
        return;
    }
    while (leaf && leaf > slurm && leaf[-1] != '.')
        leaf--;
    if (node && node - leaf < (ptrdiff_t)sizeof(pod->leaf))
        (void)ni_copyn(pod->leaf, sizeof(pod->leaf), leaf, (size_t)(node - leaf));
}

/* Describes this pod for the others: its rails and settings, and where it runs. */
static void describe_own_pod(const struct ni_context *ctx, struct ni_pod *pod, struct ni_rail *rail,
                             struct ni_pod_setting *setting)
{
    const char *node = ni_env_get(&ctx->own, "NODE_NAME");

    ni_describe_pod(&ctx->work, pod, rail, setting);
    (void)gethostname(pod->host, sizeof(pod->host) - 1);
    (void)ni_copy(pod->node, sizeof(pod->node), node ? node : "");
    add_leaf(pod, &ctx->own);
    add_cpu(pod);
}

/* Returns how long each rail may write, and read, in a round. */
static int own_move_ms(void)
{
    return ni_selftest_options.bytes > 0 ? BYTES_MS : (int)ni_preflight_options.move_ms;
}

/* Returns the members that the tasks of all rails share, by the options and the user's variables.
   */
static struct ni_rail_task shared_task(const struct ni_context *ctx, unsigned rank)
{
    return (struct ni_rail_task){
        .rank = rank,
        .bytes = ni_selftest_options.bytes,
        .move_ms = own_move_ms(),
        .traffic_class = (uint8_t)ni_user_int(&ctx->work, "NCCL_IB_TC", 0),
        .service_level = (uint8_t)ni_user_int(&ctx->work, "NCCL_IB_SL", 0),
        .pkey_index = (uint16_t)ni_user_int(&ctx->work, "NCCL_IB_PKEY", 0),
    };
}

/* Meets the other pods, in the child. CAP_IPC_LOCK counts as it will in the command: without it the
   rails' memory may be too much. */
static void meet_pods(struct ni_context *ctx, const struct ni_party *party, struct ni_verdict *ret)
{
    static struct ni_rail rail[NI_MAX_RAILS];
    static struct ni_pod_setting setting[NI_MAX_POD_SETTINGS];
    static struct ni_pod pod;
    static struct ni_secret secret;
    const char *file = ni_preflight_options.secret;
    struct ni_text why = NI_TEXT(512);
    const uint64_t lock = ni_cap_bit(CAP_IPC_LOCK);
    const struct ni_rendezvous meeting = {
        .party = party,
        .secret = file ? &secret : NULL,
        .policy = &ctx->options.policy,
        .strict = ctx->options.strict,
        .need = ni_preflight_options.need,
        .host_network = is_host_network(),
        .within_ms = (int64_t)ni_preflight_options.within * 1000,
        .pod = &pod,
        .fn = ni_work_rail,
        .task = shared_task(ctx, party->rank),
        .progress = say_progress,
        .begun = say_begun,
        .told = say_told,
        .arg = ctx,
    };
    const int r = ni_caps_forsake(ni_command_has_cap(CAP_IPC_LOCK) ? lock : 0);

    *ret = (struct ni_verdict){.outcome = NI_JOB_BAD};
    if (r < 0) {
        (void)ni_format(ret->line, sizeof(ret->line), "bad: capabilities cannot be dropped: %s",
                        NI_ERRNO(r));
        return;
    }
    if (file && ni_read_secret(file, &secret, &why) < 0) {
        (void)ni_format(ret->line, sizeof(ret->line), "bad: %s", why.buf);
        return;
    }
    describe_own_pod(ctx, &pod, rail, setting);
    /* the findings of this pod were printed before */
    memset(&ctx->findings, 0, sizeof(ctx->findings));
    ctx->n_said = ctx->dropped_said = 0;
    if (ni_meet(&meeting, ret, &ctx->findings) != 0) {
        const struct ni_verdict own = *ret;

        (void)ni_format(ret->line, sizeof(ret->line), "bad: %s", own.line);
    }
    explicit_bzero(&secret, sizeof(secret));
    ni_progress_end(ctx);
}

/* ---- in the parent ---- */

/* Waits for the verdict of local rank 0 of this pod, which meets the other pods. */
static enum ni_outcome ask_first(struct ni_context *ctx, const struct ni_party *party)
{
    const int64_t within_ms = (int64_t)ni_preflight_options.within * 1000;
    const int64_t most_ms = within_ms + SLACK_MS + ni_rounds_ms(own_move_ms()) + LAST_MS + SELF_MS;
    struct ni_verdict verdict = {.outcome = NI_JOB_BAD};
    int r;

    ni_say(ctx, NI_LOG_INFO, "preflight: waiting for the verdict of local rank 0 of this pod");
    r = ni_local_ask(party, within_ms, most_ms, &verdict.outcome);
    if (r == 0)
        (void)ni_format(verdict.line, sizeof(verdict.line),
                        "%s: as local rank 0 of this pod says%s",
                        ni_outcome_forms[verdict.outcome].word,
                        verdict.outcome == NI_JOB_GOOD ? "" : ", whose log has the reason");
    else if (r == -ECONNRESET)
        (void)ni_copy(verdict.line, sizeof(verdict.line),
                      "bad: local rank 0 of this pod ended without a verdict");
    else if (r == -EPROTO)
        (void)ni_copy(
            verdict.line, sizeof(verdict.line),
            "bad: what answers in the place of local rank 0 of this pod tells no verdict");
    else
        (void)ni_format(verdict.line, sizeof(verdict.line),
                        "bad: local rank 0 of this pod, which meets the other pods, said nothing "
                        "within %u s: was it started with --preflight, too?",
                        ni_preflight_options.within);
    return conclude(ctx, &verdict);
}

/* Opens the way on which the other processes of this pod hear the verdict, if there are any. */
static void expect_others(struct ni_context *ctx, const struct ni_party *party)
{
    const int fd = party->first ? ni_local_listen(party) : -1;

    to_others = fd >= 0 ? fd : -1;
    if (party->first && fd < 0)
        ni_say(ctx, NI_LOG_WARN,
               "preflight: the other processes of this pod will not hear the verdict: %s",
               NI_ERRNO(fd));
}

static void tell_others(const struct ni_party *party, enum ni_outcome outcome)
{
    if (to_others >= 0)
        ni_local_tell(to_others, outcome, party->others);
    to_others = -1;
}

/* Lets the child say for whom it waited, because a signal ends the program. One that waits for a name
   server or a device does not hear it. */
static void let_end(struct ni_context *ctx, pid_t child, int fd)
{
    static const char why[] = "preflight: ended by a signal before it had a verdict";
    const int64_t until_ms = ni_now_ms() + ENDED_MS;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    char byte = 0;

    (void)kill(child, SIGTERM);
    for (;;) {
        const int64_t left = until_ms - ni_now_ms();

        if (left <= 0 || poll(&p, 1, (int)left) != 1)
            break;
        if (read(fd, &byte, 1) != 1 || byte == ENDED)
            return;
    }
    ni_say(ctx, NI_LOG_WARN, "%s", why);
    ni_leave_reason(ctx, why, NI_LEAVE_REASON);
}

/* What the child has said. */
struct heard {
    bool begun;
    bool late;               /* the time was over, and nothing was said */
    bool told;               /* the next byte is what the others know */
    bool whole;              /* its last byte came */
    enum ni_outcome outcome; /* that, until the child's own is there */
};

static void take_byte(struct heard *h, char byte)
{
    const enum ni_outcome outcome = ni_outcome_of_byte(byte);

    if (byte != BEGUN && byte != TOLD) {
        h->outcome = outcome != NI_JOB_UNTOLD ? outcome : NI_JOB_BAD;
        h->whole = !h->told;
    }
    h->begun = h->begun || byte == BEGUN;
    h->told = byte == TOLD;
}

/* Waits until the child has written its byte or is gone, a signal came, or the time is over.
   It sleeps: thousands of pods that look again and again would
   leave no time for the meeting. A byte, because there is no exit status if SIGCHLD is ignored. */
static void listen_to(struct ni_context *ctx, pid_t pid, int child, int signals, int64_t within_ms,
                      struct heard *h)
{
    struct pollfd p[2] = {{.fd = child, .events = POLLIN}, {.fd = signals, .events = POLLIN}};
    int64_t until_ms = ni_now_ms() + within_ms + SLACK_MS;

    while (p[1].revents == 0) {
        const int64_t left = until_ms - ni_now_ms();
        /* what the child has said counts, also if this process was stopped until now */
        const int n = poll(p, NI_COUNT(p), left > 0 ? (int)left : 0);
        const bool began = h->begun;
        char byte;

        if (n == 0)
            h->late = !h->begun;
        if (n == 0 || (n > 0 && p[0].revents && read(child, &byte, 1) != 1))
            break;
        if (n < 0 || !p[0].revents)
            continue;
        take_byte(h, byte);
        if (h->whole)
            return;
        if (h->begun && !began)
            until_ms = ni_now_ms() + ni_rounds_ms(own_move_ms()) + LAST_MS;
    }
    if (p[1].revents != 0)
        let_end(ctx, pid, child);
}

/* Returns true if this pod found nobody and is to judge itself. */
static bool is_late(const struct ni_verdict *verdict)
{
    return verdict->nobody && ni_preflight_options.late == NI_LATE_SELFTEST;
}

/* Is the child: meets the other pods, writes the outcome to the parent as one byte, and ends. */
static _Noreturn void be_child(struct ni_context *ctx, const struct ni_party *party,
                               struct ni_wait *wait, struct ni_verdict *verdict)
{
    enum ni_outcome outcome;

    (void)sigaction(SIGTERM, &(struct sigaction){.sa_handler = note_end}, NULL);
    if (to_others >= 0)
        (void)close(to_others); /* it is the parent that tells them */
    ni_wait_unblock(wait);
    ni_ignore_sigxfsz();
    meet_pods(ctx, party, verdict);
    say_begun(NULL);
    /* of a late pod the parent judges, for a self-test needs what was given up here */
    outcome = is_late(verdict) ? NI_JOB_LATE : conclude(ctx, verdict);
    _exit(write(to_parent, &ni_outcome_forms[outcome].byte, 1) == 1 ? 0 : 1);
}

/* Says why there is no verdict of a child that is late. */
static void explain_lateness(const struct ni_party *party, struct ni_verdict *ret)
{
    const unsigned within = ni_preflight_options.within;

    if (party->rank == 0)
        (void)ni_format(ret->line, sizeof(ret->line),
                        "bad: its process did not answer within %u s; was it stopped?", within);
    else
        (void)ni_format(ret->line, sizeof(ret->line),
                        "bad: pod 0 was not found within %u s: the name server does not answer, "
                        "or this pod's process was stopped",
                        within);
}

/* Lets a child process do the preflight, so that no memory, descriptor or capability of it stays
   in the command. */
static enum ni_outcome ask_child(struct ni_context *ctx, const struct ni_party *party)
{
    struct ni_verdict verdict = {.line = "bad: the process of preflight was killed, or crashed"};
    const int64_t within_ms = (int64_t)ni_preflight_options.within * 1000;
    struct heard heard = {.outcome = NI_JOB_UNTOLD};
    struct ni_children children;
    struct ni_wait wait;
    int fd[2] = {-1, -1};
    int signals;
    pid_t pid;

    ni_progress_begin(ctx);
    ni_wait_begin(&wait);
    ni_children_begin(&children);
    signals = signalfd(-1, &wait.blocked, SFD_CLOEXEC);
    pid = signals < 0 || pipe2(fd, O_CLOEXEC | O_NONBLOCK) < 0 ? -1 : ni_fork_group();
    if (pid < 0)
        (void)ni_format(verdict.line, sizeof(verdict.line),
                        "bad: its process could not be started: %s", NI_ERRNO(errno));
    if (pid == 0) {
        to_parent = fd[1];
        be_child(ctx, party, &wait, &verdict);
    }
    (void)close(fd[1]);
    if (pid > 0)
        listen_to(ctx, pid, fd[0], signals, within_ms, &heard);
    (void)close(fd[0]);
    (void)close(signals);
    ni_children_end(&children, pid); /* the child has nothing more to do */
    ni_wait_end(&wait);              /* a signal that came meanwhile may end the program here */
    if (heard.whole)
        return heard.outcome;
    if (heard.late && ni_preflight_options.late == NI_LATE_SELFTEST)
        return NI_JOB_LATE;
    if (heard.late)
        explain_lateness(party, &verdict);
    if (heard.outcome != NI_JOB_UNTOLD && is_enough(ctx, heard.outcome)) {
        ni_say(ctx, NI_LOG_WARN,
               "preflight: %s: the others were told so; then its process was killed, or crashed",
               ni_outcome_forms[heard.outcome].word);
        return heard.outcome;
    }
    return conclude(ctx, &verdict);
}

/* Why a pod meets no others. */
enum loner { ONLY_POD, LATE_POD };

/* Judges a pod that meets no others by its self-test. */
static enum ni_outcome judge_loner(struct ni_context *ctx, const struct ni_trials *trials,
                                   enum loner loner)
{
    const bool late = loner == LATE_POD;
    struct ni_text why = NI_TEXT(NI_REASON);
    struct ni_verdict verdict = {.outcome = NI_JOB_UNTESTED, .nobody = late};
    char what[96] = "one pod takes part";

    if (ni_wants_trials(&ctx->work)) {
        const struct ni_trials *all = trials ? trials : ni_try_ports(ctx);

        if (ni_selftest_passes(all, &why))
            verdict.outcome = NI_JOB_GOOD;
        else if (!all || all->n > 0 || ctx->options.strict) /* having no port is a warning */
            verdict.outcome = NI_JOB_BAD;
    }
    if (late)
        (void)ni_format(what, sizeof(what),
                        "no other pod was found within %u s; this pod starts late",
                        ni_preflight_options.within);
    (void)ni_format(verdict.line, sizeof(verdict.line), "%s: %s: %s",
                    ni_outcome_forms[verdict.outcome].word, what,
                    why.len > 0 ? why.buf : "there is no other pod");
    return conclude(ctx, &verdict);
}

/* ---- --once: manifests name the file in a variable, so that it is used with care ---- */

enum { KEPT = 256 };

static const char kept_by[] = ": nccl-init preflight: ";

/* Puts the line that the file of --once has for this attempt. print: its fingerprint. */
static void put_kept(struct ni_text *t, enum ni_outcome outcome, const struct ni_party *party,
                     const char *print)
{
    ni_putf(t, "%s%s%u/%u %s %s\n", ni_outcome_forms[outcome].word, kept_by, party->rank,
            party->ranks, party->key, print);
}

/* Puts the fingerprint of this attempt, for --once; "": it is not asked for, or not known. */
static void take_fingerprint(const struct ni_context *ctx, const struct ni_party *party,
                             char ret[NI_FINGERPRINT])
{
    static struct ni_rail rail[NI_MAX_RAILS];
    static struct ni_pod_setting setting[NI_MAX_POD_SETTINGS];
    static struct ni_pod pod;

    ret[0] = '\0';
    if (!ni_preflight_options.once)
        return;
    ni_describe_pod(&ctx->work, &pod, rail, setting);
    ni_fingerprint(party, &pod, ni_preflight_options.secret, ret);
}

/* Reads the beginning of the file of --once. Only a regular file of this user or of root counts,
   and no link: nobody else may say that a verdict was good. The number of bytes, or -errno;
   -EEXIST: it is another kind of file. */
static ssize_t read_kept(const char *path, char ret[KEPT])
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
    struct stat st;
    ssize_t n = -EEXIST;

    if (fd < 0)
        return errno == ELOOP ? -EEXIST : -errno;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (st.st_uid == geteuid() || st.st_uid == 0)) {
        n = read(fd, ret, KEPT);
        if (n < 0)
            n = -errno;
    }
    (void)close(fd);
    return n;
}

/* Returns true if the command starts with a good verdict only. With --strict a bad one is an error.
   */
static bool stops_command(const struct ni_options *o)
{
    return o->policy.preflight == NI_DEMAND_REQUIRE ||
           (o->policy.preflight == NI_DEMAND_WARN && o->strict);
}

/* Finds the outcome that --once has kept. One that is not good does not count if the command needs
   a good one. */
static enum ni_outcome find_kept(const struct ni_options *o, const struct ni_party *party,
                                 const char *print)
{
    char seen[KEPT + 1] = "";
    const ssize_t n = print[0] ? read_kept(ni_preflight_options.once, seen) : -ENOENT;
    const enum ni_outcome outcome = ni_outcome_of_word(seen);
    const bool tcp = outcome == NI_JOB_UNTESTED && o->policy.mode == NI_MODE_TCP;
    struct ni_text kept = NI_TEXT(KEPT);

    if (outcome == NI_JOB_UNTOLD)
        return outcome;
    put_kept(&kept, outcome, party, print);
    if (n != (ssize_t)kept.len || memcmp(seen, kept.buf, kept.len) != 0)
        return NI_JOB_UNTOLD;
    if (outcome != NI_JOB_GOOD && !tcp && stops_command(o))
        return NI_JOB_UNTOLD;
    return outcome;
}

/* Writes the outcome into the file of --once, if that is new, empty or an earlier verdict. */
static void keep(struct ni_context *ctx, enum ni_outcome outcome, const struct ni_party *party,
                 const char *print)
{
    const char *path = ni_preflight_options.once;
    struct ni_text text = NI_TEXT(KEPT);
    char seen[KEPT + 1] = "";
    const ssize_t n = read_kept(path, seen);
    struct rlimit limit;
    int r = n == -ENOENT ? 0 : (int)n;

    if (n == -EEXIST || (n > 0 && !ni_has_prefix(seen + strcspn(seen, ":"), kept_by))) {
        ni_say(ctx, NI_LOG_WARN,
               "preflight: %.256s: it is not a verdict that this user kept, and stays as it is",
               path);
        return;
    }
    put_kept(&text, outcome, party, print);
    /* a write beyond the limit would raise SIGXFSZ, whose disposition is the command's */
    if (r >= 0 && getrlimit(RLIMIT_FSIZE, &limit) == 0 && text.len > limit.rlim_cur)
        r = -EFBIG;
    if (r >= 0)
        /* mode 0600, for the line has the key */
        r = ni_replace_file(path, 0600, ni_write_text, &text);
    if (r < 0)
        ni_say(ctx, NI_LOG_WARN, "preflight: %.256s: %s", path, NI_ERRNO(r));
}

/* ---- both verbs ---- */

/* Gives the verdict, if it is known without a meeting. */
static void judge_without_meeting(const struct ni_options *o, const struct ni_party *party,
                                  const char *print, struct ni_verdict *ret)
{
    const enum ni_outcome kept = find_kept(o, party, print);

    if (kept != NI_JOB_UNTOLD) {
        ret->outcome = kept;
        (void)ni_format(ret->line, sizeof(ret->line), "%s: from an earlier start, kept in %.256s",
                        ni_outcome_forms[kept].word, ni_preflight_options.once);
    } else if (party->named && party->ranks > 1 && !ni_preflight_options.secret &&
               o->policy.preflight == NI_DEMAND_REQUIRE && is_host_network()) {
        (void)ni_copy(
            ret->line, sizeof(ret->line),
            "bad: the job has no key but the name of pod 0, and on a host network all jobs of a "
            "node have its address: give all pods of the job one key that no other job has "
            "(--job=KEY), or one secret (--job-secret=FILE)");
    }
}

/* Finds the pods of the job. false: why says what is wrong or missing. */
static bool find_own_party(const struct ni_context *ctx, struct ni_party *ret, struct ni_text *why)
{
    struct ni_party_options told = ni_preflight_options.party;
    char self[NI_MEET_PEERS] = "";

    (void)gethostname(self, sizeof(self) - 1);
    told.self = self;
    return ni_find_party(&ctx->own, &told, ret, why);
}

/* Does the preflight, unless --once has kept a verdict. */
static enum ni_outcome prove_pod(struct ni_context *ctx, const struct ni_party *party,
                                 const struct ni_trials *trials)
{
    const struct ni_options *o = &ctx->options;
    struct ni_verdict verdict = {.outcome = NI_JOB_BAD};
    char print[NI_FINGERPRINT];
    enum ni_outcome outcome;

    take_fingerprint(ctx, party, print);
    judge_without_meeting(o, party, print, &verdict);
    if (verdict.line[0])
        return conclude(ctx, &verdict);
    outcome = party->ranks == 1 ? judge_loner(ctx, trials, ONLY_POD) : ask_child(ctx, party);
    if (outcome == NI_JOB_LATE)
        return judge_loner(ctx, trials, LATE_POD);
    /* a pod that has started its command does not come to another meeting */
    if (print[0] &&
        (outcome != NI_JOB_BAD || (o->policy.preflight == NI_DEMAND_WARN && !stops_command(o))))
        keep(ctx, outcome, party, print);
    return outcome;
}

/* The same, with what the other processes of this pod do and hear. */
static enum ni_outcome prove(struct ni_context *ctx, const struct ni_party *party,
                             const struct ni_trials *trials)
{
    enum ni_outcome outcome;

    if (party->stand_aside)
        return ask_first(ctx, party);
    expect_others(ctx, party);
    outcome = prove_pod(ctx, party, trials);
    tell_others(party, outcome);
    return outcome;
}

/* Lets the other processes of this pod end, too, for it is not known who takes part. */
static void give_up(struct ni_context *ctx, const struct ni_party *party)
{
    expect_others(ctx, party);
    tell_others(party, NI_JOB_BAD);
}

int ni_cmd_preflight(struct ni_context *ctx)
{
    struct ni_text why = NI_TEXT(512);
    struct ni_party party;
    int r;

    ctx->acts = true;
    r = ni_flow(ctx);
    if (r != 0)
        return r;
    if (!find_own_party(ctx, &party, &why)) {
        r = ni_usage(ctx, "%s", why.buf);
        give_up(ctx, &party);
        return r;
    }
    return ni_outcome_forms[prove(ctx, &party, NULL)].status;
}

enum ni_outcome ni_preflight_first(struct ni_context *ctx, const struct ni_trials *trials)
{
    struct ni_verdict verdict = {.outcome = NI_JOB_BAD};
    struct ni_text why = NI_TEXT(512);
    struct ni_party party;

    if (find_own_party(ctx, &party, &why))
        return prove(ctx, &party, trials);
    (void)ni_format(verdict.line, sizeof(verdict.line), "bad: %s", why.buf);
    const enum ni_outcome outcome = conclude(ctx, &verdict);

    give_up(ctx, &party);
    return outcome;
}
