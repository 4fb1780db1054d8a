/* SPDX-License-Identifier: Apache-2.0 */
/* The one table of options. From it come what the command line and the variables may say, the
   defaults, the help, and the completions, which read the help; tests/cli/docs.sh holds the manual
   to it. */
#include "nccl_init/cmd.h"
#include "nccl_init/job.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/auxv.h>

/* ---- readers of values: 0, or -EINVAL and what `at` points to is as it was ---- */

/* Which of the option's values `s` is: 0 for the first; -1: none. */
static int value_of(const struct ni_option *option, struct ni_span s)
{
    static const char more[] = ",...";
    const char *rest = option->arg;
    struct ni_span value;

    for (int i = 0; ni_split(&rest, '|', &value); i++) {
        if (!rest && option->arg[strlen(option->arg) - 1] == '.')
            value.n -= sizeof(more) - 1;
        if (value.n == s.n && memcmp(value.p, s.p, s.n) == 0)
            return i;
    }
    return -1;
}

/* at: an enum whose values are in the order of the words. */
static int take_word(const struct ni_option *option, const char *text, void *at)
{
    int i = value_of(option, ni_span_of(text));

    if (i < 0)
        return -EINVAL;
    *(unsigned *)at = (unsigned)i;
    return 0;
}

/* at: a bool. */
static int take_switch(const struct ni_option *option, const char *text, void *at)
{
    (void)option;
    if ((text[0] != '0' && text[0] != '1') || text[1] != '\0')
        return -EINVAL;
    *(bool *)at = text[0] == '1';
    return 0;
}

/* at: a const char *. */
static int take_path(const struct ni_option *option, const char *text, void *at)
{
    (void)option;
    if (*text == '\0')
        return -EINVAL;
    *(const char **)at = text;
    return 0;
}

/* A variable's name, or the path of a file. at: a const char *. */
static int take_variable_or_path(const struct ni_option *option, const char *text, void *at)
{
    if ((*text != '/' && strpbrk(text, "/=")) || strlen(text) >= NI_PATH)
        return -EINVAL;
    return take_path(option, text, at);
}

/* at: an unsigned within the option's bounds. */
static int take_number(const struct ni_option *option, const char *text, void *at)
{
    uint64_t n;

    if (ni_parse_u64(ni_span_of(text), (uint64_t)option->most, &n) < 0 ||
        n < (uint64_t)option->least)
        return -EINVAL;
    *(unsigned *)at = (unsigned)n;
    return 0;
}

/* Bytes, or with K, M, G for 1024, 1024^2, 1024^3. at: an int64_t within the option's bounds. */
static int take_bytes(const struct ni_option *option, const char *text, void *at)
{
    return ni_parse_bytes(text, option->least, option->most, at);
}

/* Seconds with up to three digits behind a point. at: an unsigned, milliseconds; so are the bounds. */
static int take_milliseconds(const struct ni_option *option, const char *text, void *at)
{
    const uint64_t most = (uint64_t)option->most;
    const char *point = strchr(text, '.');
    struct ni_span whole = {text, point ? (size_t)(point - text) : strlen(text)};
    uint64_t n, part = 0;

    if (ni_parse_u64(whole, most / 1000, &n) < 0)
        return -EINVAL;
    if (point) {
        char digits[] = "000";
        const size_t len = strlen(point + 1);

        if (len == 0 || len >= sizeof(digits))
            return -EINVAL;
        memcpy(digits, point + 1, len);
        if (ni_parse_u64(ni_span_of(digits), 999, &part) < 0)
            return -EINVAL;
    }
    if (n * 1000 + part > most)
        return -EINVAL;
    *(unsigned *)at = (unsigned)(n * 1000 + part);
    return 0;
}

/* auto, or a number up to the option's bound. at: an int, -1: auto. */
static int take_rank(const struct ni_option *option, const char *text, void *at)
{
    uint64_t n;

    if (value_of(option, ni_span_of(text)) == 0) {
        *(int *)at = -1;
        return 0;
    }
    if (ni_parse_u64(ni_span_of(text), (uint64_t)option->most, &n) < 0)
        return -EINVAL;
    *(int *)at = (int)n;
    return 0;
}

/* at: the policy, as for all that set more than one member of it. */
static int take_memlock(const struct ni_option *option, const char *text, void *at)
{
    struct ni_policy *policy = at;
    int i = value_of(option, ni_span_of(text));

    if (i == NI_MEMLOCK_MAX || i == NI_MEMLOCK_KEEP) {
        policy->memlock = (unsigned)i;
        return 0;
    }
    /* less than unlimited, which is called `max` */
    if (take_bytes(option, text, &policy->memlock_bytes) < 0)
        return -EINVAL;
    policy->memlock = NI_MEMLOCK_BYTES;
    return 0;
}

/* auto, off, or a level */
static int take_gdr(const struct ni_option *option, const char *text, void *at)
{
    struct ni_policy *policy = at;
    int i = value_of(option, ni_span_of(text));

    if (i < 0)
        return -EINVAL;
    policy->gdr = i < NI_GDR_LEVEL ? (unsigned)i : NI_GDR_LEVEL;
    if (i >= NI_GDR_LEVEL)
        policy->gdr_level = ni_parse_level(text);
    return 0;
}

/* Names that NCCL's own lists can carry, or the option's first value, which becomes NULL. */
static int names(const struct ni_option *option, const char *text, size_t longest, bool ports,
                 const char **ret)
{
    const char *rest = text;
    struct ni_span item;

    if (value_of(option, ni_span_of(text)) == 0) {
        *ret = NULL;
        return 0;
    }
    if (strlen(text) >= NI_VALUE)
        return -EINVAL;
    while (ni_split(&rest, ',', &item)) {
        const char *colon = ports ? memchr(item.p, ':', item.n) : NULL;
        struct ni_span name = {item.p, colon ? (size_t)(colon - item.p) : item.n};
        uint64_t port = 1;

        if (colon &&
            ni_parse_u64((struct ni_span){colon + 1, item.n - name.n - 1}, UINT8_MAX, &port) < 0)
            return -EINVAL;
        if (port == 0 || !ni_is_name(name, longest))
            return -EINVAL;
    }
    *ret = text;
    return 0;
}

/* at: a const char *, as for the next. */
static int take_hcas(const struct ni_option *option, const char *text, void *at)
{
    return names(option, text, NI_DEV_NAME, true, at);
}

static int take_sockets(const struct ni_option *option, const char *text, void *at)
{
    return names(option, text, NI_IF_NAME, false, at);
}

/* at: an unsigned whose bits are in the order of the words. */
static int take_bits(const struct ni_option *option, const char *text, void *at)
{
    struct ni_span item;
    unsigned bits = 0;

    while (ni_split(&text, ',', &item)) {
        int i = value_of(option, item);

        if (i < 0)
            return -EINVAL;
        bits |= 1U << i;
    }
    *(unsigned *)at = bits;
    return 0;
}

static int take_targets(const struct ni_option *option, const char *text, void *at)
{
    unsigned *targets = at;
    int r = take_bits(option, text, at);

    if (r == 0 && *targets & NI_FOR_ALL)
        *targets = NI_FOR_ALL - 1;
    return r;
}

/* `none` is an empty list. */
static const char *list_of(const char *text)
{
    return strcmp(text, "none") == 0 ? NULL : text;
}

/* none, then words in the order of the bits, but for rails=N */
static int take_require(const struct ni_option *option, const char *text, void *at)
{
    static const char prefix[] = "rails=";
    const size_t n = sizeof(prefix) - 1;
    struct ni_policy *policy = at;
    struct ni_span item;
    unsigned bits = 0;
    uint64_t rails = 0;

    text = list_of(text);
    while (ni_split(&text, ',', &item)) {
        int i = value_of(option, item);

        if (item.n > n && memcmp(item.p, prefix, n) == 0) {
            struct ni_span number = {item.p + n, item.n - n};

            if (ni_parse_u64(number, NI_MAX_CHOSEN, &rails) < 0 || rails == 0)
                return -EINVAL;
            bits |= NI_REQUIRE_RAILS;
        } else if (i > 0) {
            bits |= 1U << (i - 1);
        } else {
            return -EINVAL;
        }
    }
    policy->require = bits;
    policy->rails = (unsigned)rails;
    return 0;
}

/* at: a uint64_t. */
static int take_caps(const struct ni_option *option, const char *text, void *at)
{
    struct ni_span item;
    uint64_t set = 0;
    unsigned cap;

    (void)option;
    text = list_of(text);
    while (ni_split(&text, ',', &item)) {
        if (ni_parse_cap(item, &cap) < 0)
            return -EINVAL;
        set |= UINT64_C(1) << cap;
    }
    *(uint64_t *)at = set;
    return 0;
}

static int take_drop_caps(const struct ni_option *option, const char *text, void *at)
{
    struct ni_policy *policy = at;
    const bool unneeded = strcmp(text, "unneeded") == 0;
    int r = take_caps(option, unneeded ? "none" : text, &policy->drop_caps);

    if (r == 0)
        policy->drop_unneeded = unneeded;
    return r;
}

/* at: a bool for each kind of finding. */
static int take_findings(const struct ni_option *option, const char *text, void *at)
{
    bool set[NI_F_COUNT] = {false};
    struct ni_span item;

    (void)option;
    text = list_of(text);
    while (ni_split(&text, ',', &item)) {
        unsigned id = 0;

        while (id < NI_F_COUNT && !ni_span_is(item, ni_finding_kind(id)->id))
            id++;
        if (id == NI_F_COUNT)
            return -EINVAL;
        set[id] = true;
    }
    memcpy(at, set, sizeof(set));
    return 0;
}

/* ---- the table ---- */

enum {
    POLICY = NI_OPTION_POLICY,
    A_FILE = NI_OPTION_FILE,
    DECIDING = NI_VERB_RUN | NI_VERB_ENV | NI_VERB_PLAN,
    TRYING = NI_VERB_RUN | NI_VERB_SELFTEST,
    MEETING = NI_VERB_RUN | NI_VERB_PREFLIGHT,
    ALL = DECIDING | TRYING | MEETING | NI_VERB_DOCTOR | NI_VERB_TOPO | NI_VERB_SNAPSHOT,
    ANY = ALL | NI_VERB_INSTALL | NI_VERB_LOG,
};

#define AT(member)                   BETWEEN(member, 0, 0)
#define BETWEEN(member, least, most) offsetof(struct ni_options, member), least, most

/* In the order of the help. `run`, `selftest` and `preflight` know --root only to refuse it with a reason. */
const struct ni_option ni_options_table[] = {
    {"mode", 0, POLICY, ALL, "auto|rdma|tcp|off", "auto", take_word, AT(policy.mode),
     "rdma: do not start the command without a usable HCA; tcp: no RDMA, sockets over the pod's "
     "interface; off: decide nothing, only start the command"},
    {"for", 0, POLICY, ALL, "nccl|nvshmem|ucx|gloo|nixl|vllm|mooncake|all,...", "nccl",
     take_targets, AT(policy.targets),
     "whose variables to write: any of them, separated by commas (see docs/libraries.md)"},
    {"hcas", 0, POLICY, ALL, "auto|HCA[:PORT],...", "auto", take_hcas, AT(policy.hcas),
     "use these RDMA devices instead of those given to the pod"},
    {"sockets", 0, POLICY, ALL, "auto|pod|INTERFACE,...", "auto", take_sockets, AT(policy.sockets),
     "interfaces for NCCL's sockets; pod: the interface of the default route"},
    {"gdr", 0, POLICY, ALL, "auto|off|PIX|PXB|PHB|SYS", "auto", take_gdr, AT(policy),
     "the longest distance between GPU and HCA at which GPUDirect RDMA is used"},
    {"memlock", 0, POLICY, ALL, "max|keep|BYTES", "max", take_memlock,
     BETWEEN(policy, 0, NI_UNLIMITED - 1),
     "how far to raise the locked-memory limit; BYTES may end in K, M or G"},
    {"require", 0, POLICY, ALL, "none|rdma|gdr|memlock|roce-v2|rails=N|gpus,...", "none",
     take_require, AT(policy),
     "what must hold for the command to be started: any of them, separated by commas"},
    {"keep-caps", 0, POLICY, ALL, "none|CAPABILITY,...", "none", take_caps, AT(policy.keep_caps),
     "capabilities, such as ipc_lock, that the command gets as ambient ones, so also if it does "
     "not run as root"},
    {"drop-caps", 0, POLICY, ALL, "none|unneeded|CAPABILITY,...", "none", take_drop_caps,
     AT(policy),
     "capabilities to drop before the command starts; unneeded: those that only raising the limit "
     "needs"},
    {"network-status", 0, POLICY | A_FILE, ALL, "VARIABLE|/FILE", NULL, take_variable_or_path,
     AT(network_status),
     "where the pod's network-status annotation is; by default the variable NETWORK_STATUS, else "
     "/etc/podinfo/network-status"},
    {"wait", 0, 0, ALL, "SECONDS", "0", take_number, BETWEEN(wait, 0, NI_MAX_WAIT),
     "how long to wait for link, address and GID of the pod's HCAs"},
    {"selftest", 0, 0, NI_VERB_RUN, "off|warn|require", "off", take_word, AT(selftest),
     "test each port before the command starts (see `nccl-init selftest --help`); warn: report "
     "what fails; require: do not start the command if a port fails or there is none to test"},
    {"size", 0, 0, TRYING, "BYTES", "64M", take_bytes,
     BETWEEN(size, NI_TRIAL_SIZE_MIN, NI_TRIAL_SIZE_MAX),
     "self-test: how much memory to register for each port"},
    {"bytes", 0, 0, TRYING | MEETING, "BYTES", "16M", take_bytes,
     BETWEEN(bytes, 1, NI_TRIAL_BYTES_MAX),
     "self-test: how much to write and read back through each port; preflight: instead of by time, "
     "if it is given"},
    {"preflight", 0, 0, NI_VERB_RUN, "off|warn|require", "off", take_word, AT(preflight),
     "prove the job's fabric with the other pods before the command starts (see `nccl-init "
     "preflight --help`); warn: report what is bad; require: start the command only if all is "
     "good"},
    {"peers", 0, 0, MEETING, "HOST[:PORT]", NULL, take_path, AT(peers),
     "preflight: pod 0, by name or address; by default, as the next three, what the launcher's "
     "variables say"},
    {"rank", 0, 0, MEETING, "auto|N", "auto", take_rank, BETWEEN(rank, 0, NI_MAX_RANKS),
     "preflight: this pod's number, from 0"},
    {"ranks", 0, 0, MEETING, "auto|N", "auto", take_rank, BETWEEN(ranks, 0, NI_MAX_RANKS),
     "preflight: how many pods take part"},
    {"job", 0, 0, MEETING, "KEY", NULL, take_path, AT(job),
     "preflight: the same in all pods of one attempt of a job, and in no other"},
    {"port", 0, 0, MEETING, "PORT", NULL, take_number, BETWEEN(port, 1, UINT16_MAX),
     "preflight: TCP port of pod 0 (18555)"},
    {"within", 0, 0, MEETING, "SECONDS", "120", take_number, BETWEEN(within, 1, NI_MAX_WITHIN),
     "preflight: how long to wait for all pods to come"},
    {"seconds", 0, 0, MEETING, "S", "0.2", take_milliseconds, BETWEEN(move_ms, 0, NI_MAX_MOVE_MS),
     "preflight: how long each rail writes, and reads, for its bandwidth; 0: none is measured"},
    {"once", 0, A_FILE, MEETING, "FILE", NULL, take_path, AT(once),
     "preflight: keep the verdict in FILE, such as on an emptyDir; a container that starts again "
     "skips the preflight"},
    {"svg", 0, A_FILE, MEETING, "FILE", NULL, take_path, AT(svg),
     "preflight: pod 0 writes a picture of pods by rails to FILE"},
    {"probe", 0, 0, NI_VERB_DOCTOR, NULL, NULL, take_switch, AT(probe),
     "open the devices and ask them, through libibverbs, what sysfs cannot tell"},
    {"ignore", 0, 0, NI_VERB_DOCTOR, "none|FINDING,...", "none", take_findings, AT(ignore),
     "ids of findings that do not count; the output says how many were left out"},
    {"brief", 0, 0, NI_VERB_DOCTOR, NULL, NULL, take_switch, AT(brief),
     "print one line, for monitors: the counts, and the ids of errors and warnings"},
    {"deadline", 0, 0, TRYING | NI_VERB_DOCTOR, "SECONDS", "10", take_number,
     BETWEEN(deadline, 1, NI_TRIAL_SECONDS_MAX),
     "how long the self-test or --probe may take in all"},
    {"strict", 0, 0, TRYING | MEETING | NI_VERB_DOCTOR, NULL, NULL, take_switch, AT(strict),
     "a warning counts as an error: `run` does not start the command, `doctor`, `selftest` and "
     "`preflight` exit with 1"},
    {"root", 0, A_FILE, ALL, "/|DIR|FILE.tree", "/", take_path, AT(root),
     "read another node, a directory or a snapshot; `run`, `selftest` and `preflight` accept only "
     "/"},
    {"format", 0, 0, NI_VERB_ENV, "sh|k8s|docker|nccl.conf|json", "sh", take_word, AT(format),
     "the form in which the settings are written"},
    {"output", 'o', A_FILE, NI_VERB_ENV | NI_VERB_SNAPSHOT, "FILE", NULL, take_path, AT(output),
     "write to FILE instead of standard output; the file is replaced as a whole"},
    {"json", 0, 0,
     NI_VERB_DOCTOR | NI_VERB_PLAN | NI_VERB_TOPO | NI_VERB_SELFTEST | NI_VERB_PREFLIGHT |
         NI_VERB_LOG,
     NULL, NULL, take_switch, AT(json), "print one JSON object, for programs"},
    {"expect", 0, 0, NI_VERB_LOG, "nothing|rdma|gdr", "nothing", take_word, AT(expect),
     "what the job should have used: exit with 1 where the log does not show RDMA, or GPUDirect on "
     "all channels to other nodes"},
    {"plan", 0, A_FILE, NI_VERB_LOG, "FILE", NULL, take_path, AT(plan),
     "what `plan --json` wrote in the pod: shows what was decided beside what NCCL took"},
    {"dot", 0, 0, NI_VERB_TOPO, NULL, NULL, take_switch, AT(dot),
     "print the PCI tree as a picture for Graphviz"},
    {"rules", 0, 0, NI_VERB_PLAN, NULL, NULL, take_switch, AT(rules),
     "list the rules: the id of each, what it reads and what it may set"},
    {"gids", 0, 0, NI_VERB_PLAN, NULL, NULL, take_switch, AT(gids),
     "also list the GID tables of the pod's ports, as show_gids does, and whose each entry is"},
    {"mask", 0, 0, NI_VERB_SNAPSHOT, NULL, NULL, take_switch, AT(mask),
     "replace GUIDs, MAC addresses, UUIDs, container ids and host names, the same by the same"},
    {"log-level", 0, 0, ANY, "error|warn|info|debug", "info", take_word, AT(log_level),
     "how much is said on standard error"},
    {"log-format", 0, 0, ANY, "text|json", "text", take_word, AT(log_format),
     "the form of what is said on standard error"},
    {"termination-log", 0, A_FILE, DECIDING | NI_VERB_PREFLIGHT | NI_VERB_INSTALL, "FILE",
     "/dev/termination-log", take_path, AT(termination_log),
     "where the reason of a refusal, or a bad verdict, is also written, if the file exists"},
    {"snapshot-on-refusal", 0, A_FILE, NI_VERB_RUN, "FILE", NULL, take_path, AT(refusal_snapshot),
     "if the command is not started, write to FILE what `snapshot --mask` would"},
};
const unsigned ni_options_count = NI_COUNT(ni_options_table);

_Static_assert(NI_COUNT(ni_options_table) <= 64, "a set of options is a uint64_t");

int ni_option_take(const struct ni_option *option, const char *value, struct ni_options *ret)
{
    return option->take(option, value, (char *)ret + option->at);
}

void ni_put_variable(struct ni_text *t, const struct ni_option *option)
{
    ni_put(t, NI_OWN_PREFIX);
    for (const char *p = option->name; *p; p++) {
        char c = (char)(*p == '-' ? '_' : toupper((unsigned char)*p));

        ni_putn(t, &c, 1);
    }
}

void ni_options_init(struct ni_options *ret)
{
    memset(ret, 0, sizeof(*ret));
    for (unsigned i = 0; i < ni_options_count; i++)
        if (ni_options_table[i].initial)
            (void)ni_option_take(&ni_options_table[i], ni_options_table[i].initial, ret);
    ret->secure = getauxval(AT_SECURE) != 0;
}
