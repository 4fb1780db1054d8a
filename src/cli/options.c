/* SPDX-License-Identifier: Apache-2.0 */
/* The one table of options. From it come what the command line and the variables may say, the
   defaults, the help, and the completions, which read the help; tests/cli/docs.sh holds the manual
   to it. */
#include "cli/options.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "nccl_init/base.h"
#include "nccl_init/caps.h"
#include "nccl_init/env.h"
#include "nccl_init/findings.h"
#include "nccl_init/number.h"
#include "nccl_init/pci.h"
#include "nccl_init/plan.h"
#include "nccl_init/text.h"
#include "preflight/job.h"
#include "system/caps.h"

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

/* At most the option's bound; at: an unsigned not below the other. If that is -1, `auto` is -1. */
static int take_number(const struct ni_option *option, const char *text, void *at)
{
    const bool is_auto = option->least < 0 && strcmp(text, "auto") == 0;
    uint64_t n = (uint64_t)-1;

    if (!is_auto && (ni_parse_u64(ni_span_of(text), (uint64_t)option->most, &n) < 0 ||
                     (int64_t)n < option->least))
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
    const size_t whole = strcspn(text, "."), part = strlen(text + whole);
    char digits[16];

    if (whole == 0 || part == 1 || part > sizeof(".123") - 1 ||
        !ni_format(digits, sizeof(digits), "%.*s%s%s", (int)whole, text,
                   part ? text + whole + 1 : "", &"000"[part ? part - 1 : 0]))
        return -EINVAL;
    return take_number(option, digits, at);
}

/* at: an int64_t. Bytes are less than unlimited, which is called `max`. */
static int take_memlock(const struct ni_option *option, const char *text, void *at)
{
    const int i = value_of(option, ni_span_of(text));

    if (i != 0 && i != 1)
        return take_bytes(option, text, at);
    *(int64_t *)at = i == 0 ? NI_UNLIMITED : -1;
    return 0;
}

/* at: an enum ni_distance. */
static int take_gdr(const struct ni_option *option, const char *text, void *at)
{
    int i = value_of(option, ni_span_of(text));

    if (i < 0)
        return -EINVAL;
    *(enum ni_distance *)at = i == 0   ? NI_DIST_UNKNOWN
                              : i == 1 ? NI_DIST_LOC /* off */
                                       : ni_parse_level(text);
    return 0;
}

/* Names that NCCL's own lists can carry, shorter than the option's bound, with ports if the other is 1;
   or the option's first value, which becomes NULL. at: a const char *. */
static int take_names(const struct ni_option *option, const char *text, void *at)
{
    const char *rest = text;
    struct ni_span item;

    if (value_of(option, ni_span_of(text)) == 0) {
        *(const char **)at = NULL;
        return 0;
    }
    if (strlen(text) >= NI_VALUE)
        return -EINVAL;
    while (ni_split(&rest, ',', &item)) {
        const char *colon = option->least == 1 ? memchr(item.p, ':', item.n) : NULL;
        struct ni_span name = {item.p, colon ? (size_t)(colon - item.p) : item.n};
        uint64_t port = 1;

        if (colon &&
            ni_parse_u64((struct ni_span){colon + 1, item.n - name.n - 1}, UINT8_MAX, &port) < 0)
            return -EINVAL;
        if (port == 0 || !ni_is_name(name, (size_t)option->most))
            return -EINVAL;
    }
    *(const char **)at = text;
    return 0;
}

/* at: an unsigned whose bits are in the order of the words; the last word is all of them. */
static int take_targets(const struct ni_option *option, const char *text, void *at)
{
    struct ni_span item;
    unsigned bits = 0;

    while (ni_split(&text, ',', &item)) {
        int i = value_of(option, item);

        if (i < 0)
            return -EINVAL;
        bits |= 1U << i;
    }
    *(unsigned *)at = bits & NI_FOR_ALL ? NI_FOR_ALL - 1 : bits;
    return 0;
}

/* `none` is an empty list. */
static const char *list_of(const char *text)
{
    return strcmp(text, "none") == 0 ? NULL : text;
}

/* none, then words in the order of the bits, but for rails=N */
static int take_require(const struct ni_option *option, const char *text, void *at)
{
    struct ni_policy *policy = at;
    struct ni_span item;
    unsigned bits = 0;
    uint64_t most = 0, rails = 0;

    text = list_of(text);
    while (ni_split(&text, ',', &item)) {
        const bool is_rails = ni_has_prefix(item.p, "rails=");
        int i = value_of(option, is_rails ? ni_span_of("rails=N") : item);

        if (is_rails &&
            ni_parse_u64((struct ni_span){item.p + 6, item.n - 6}, NI_MAX_CHOSEN, &rails) < 0)
            return -EINVAL;
        if (i <= 0 || (is_rails && rails == 0))
            return -EINVAL;
        most = rails > most ? rails : most;
        bits |= 1U << (i - 1);
    }
    /* A demand is not dropped by a second one; only `none` takes them back. */
    policy->require = bits ? policy->require | bits : 0;
    policy->rails = bits ? policy->rails : 0;
    if (most > policy->rails)
        policy->rails = (unsigned)most;
    return 0;
}

/* Reads a list of capabilities into *ret. 0 or -errno. */
static int read_caps(const char *text, struct ni_policy *policy, uint64_t *ret)
{
    struct ni_span item;
    uint64_t set = 0;
    unsigned cap;

    text = list_of(text);
    while (ni_split(&text, ',', &item)) {
        const int r = ni_cap_by_name(item, &policy->cap_names, &cap);

        if (r < 0)
            return r;
        set |= ni_cap_bit(cap);
    }
    *ret = set;
    return 0;
}

static int take_keep_caps(const struct ni_option *option, const char *text, void *at)
{
    struct ni_policy *policy = at;

    (void)option;
    return read_caps(text, policy, &policy->keep_caps);
}

static int take_drop_caps(const struct ni_option *option, const char *text, void *at)
{
    struct ni_policy *policy = at;
    const bool unneeded = strcmp(text, "unneeded") == 0;
    uint64_t set;
    int r;

    (void)option;
    r = read_caps(unneeded ? "sys_resource" : text, policy, &set);
    if (r < 0)
        return r;
    policy->drop_caps = unneeded ? 0 : set;
    policy->drop_unneeded = unneeded;
    return 0;
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
    DEMAND = NI_OPTION_DEMAND,
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
    {"mode", POLICY | DEMAND | ALL, "auto|rdma|tcp|off", "auto", take_word, AT(policy.mode),
     "rdma: short for --require=rdma; tcp: sockets, no RDMA; off: only start the command"},
    {"for", POLICY | ALL, "nccl|nvshmem|ucx|gloo|nixl|vllm|mooncake|torchcomms|all,...", "nccl",
     take_targets, AT(policy.targets),
     "whose variables to write: any of them, separated by commas (see docs/libraries.md)"},
    {"hcas", POLICY | ALL, "auto|HCA[:PORT],...", "auto", take_names,
     BETWEEN(policy.hcas, 1, NI_DEV_NAME),
     "use these RDMA devices instead of those given to the pod"},
    {"sockets", POLICY | ALL, "auto|pod|rails|INTERFACE,...", "auto", take_names,
     BETWEEN(policy.sockets, 0, NI_IF_NAME),
     "interfaces for NCCL's sockets; pod: the interface of the default route; rails: those for "
     "data"},
    {"gdr", POLICY | ALL, "auto|off|PIX|PXB|PHB|SYS", "auto", take_gdr, AT(policy.gdr),
     "the longest distance between GPU and HCA at which GPUDirect RDMA is used"},
    {"memlock", POLICY | ALL, "max|keep|BYTES", "max", take_memlock,
     BETWEEN(policy.memlock, 0, NI_UNLIMITED - 1),
     "how far to raise the locked-memory limit; BYTES may end in K, M or G"},
    {"require", POLICY | DEMAND | ALL,
     "none|rdma|gdr|memlock|roce-v2|rails=N|gpus|selftest|preflight,...", "none", take_require,
     AT(policy), "start the command only if all of these hold; separated by commas"},
    {"keep-caps", POLICY | ALL, "none|CAPABILITY,...", "none", take_keep_caps, AT(policy),
     "capabilities, such as ipc_lock, that the command gets as ambient ones"},
    {"drop-caps", POLICY | ALL, "none|unneeded|CAPABILITY,...", "none", take_drop_caps, AT(policy),
     "capabilities to drop; unneeded: those that only raising the limit needs"},
    {"network-status", POLICY | A_FILE | ALL, "VARIABLE|/FILE", NULL, take_variable_or_path,
     AT(network_status),
     "the pod's network-status; by default NETWORK_STATUS, else /etc/podinfo/network-status"},
    {"wait", ALL, "SECONDS", "0", take_number, BETWEEN(wait, 0, 3600),
     "how long to wait for link, address and GID of the pod's HCAs, and for a DRA driver's "
     "metadata"},
    {"selftest", DEMAND | NI_VERB_RUN, "off|warn|require", "off", take_word, AT(selftest),
     "test each port first; require: short for --require=selftest"},
    {"size", TRYING, "BYTES", "64M", take_bytes,
     BETWEEN(size, INT64_C(16) << 10, INT64_C(64) << 30),
     "self-test: how much memory to register for each port"},
    {"bytes", TRYING | MEETING, "BYTES", NULL, take_bytes, BETWEEN(bytes, 1, INT64_C(1) << 40),
     "bytes that each port writes and reads back; default: selftest 16M, preflight by --seconds"},
    {"preflight", DEMAND | NI_VERB_RUN, "off|warn|require", "off", take_word, AT(preflight),
     "prove the job's fabric with the other pods first; require: short for --require=preflight"},
    {"peers", MEETING, "HOST[:PORT]", NULL, take_path, AT(party.peers),
     "preflight: name or address of pod 0; only if the launcher does not tell it, as the next "
     "three"},
    {"rank", MEETING, "auto|N", "auto", take_number, BETWEEN(party.rank, -1, NI_MAX_RANKS),
     "preflight: this pod's number, from 0"},
    {"ranks", MEETING, "auto|N", "auto", take_number, BETWEEN(party.ranks, -1, NI_MAX_RANKS),
     "preflight: how many pods take part"},
    {"job", MEETING, "KEY", NULL, take_path, AT(party.job),
     "preflight: a key that all pods of this attempt of the job have, and no other job has"},
    /* below the ephemeral ports, not perftest's 18515 */
    {"port", MEETING, "PORT", "18555", take_number, BETWEEN(party.port, 1, UINT16_MAX),
     "preflight: TCP port of pod 0"},
    {"within", MEETING, "SECONDS", "120", take_number, BETWEEN(within, 1, 86400),
     "preflight: how long to wait for all pods to come"},
    {"seconds", MEETING, "S", "0.2", take_milliseconds, BETWEEN(move_ms, 0, 60000),
     "preflight: seconds of writing, and of reading, to measure bandwidth; 0: not measured"},
    {"once", A_FILE | NI_OPTION_CAREFUL | MEETING, "FILE", NULL, take_path, AT(once),
     "preflight: keep the verdict in FILE; a container that starts again skips the preflight"},
    {"svg", A_FILE | MEETING, "FILE", NULL, take_path, AT(svg),
     "preflight: pod 0 writes a picture of pods by rails to FILE"},
    {"probe", NI_VERB_DOCTOR, NULL, NULL, take_switch, AT(probe),
     "also run the self-test: it finds faults that sysfs does not show"},
    {"ignore", NI_VERB_DOCTOR, "none|FINDING,...", "none", take_findings, AT(ignore),
     "ids of findings that do not count; the output says how many were left out"},
    {"brief", NI_VERB_DOCTOR, NULL, NULL, take_switch, AT(brief),
     "print one line, for monitors: the counts, and the ids of errors and warnings"},
    {"deadline", TRYING | NI_VERB_DOCTOR, "SECONDS", "10", take_number, BETWEEN(deadline, 1, 3600),
     "how long the self-test may take in all"},
    {"strict", DEMAND | TRYING | MEETING | NI_VERB_DOCTOR, NULL, NULL, take_switch, AT(strict),
     "a warning counts as an error: `run` does not start the command, others exit with 1"},
    {"root", A_FILE | ALL, "/|DIR|FILE.tree", "/", take_path, AT(root),
     "read another node, a directory or a snapshot; not with verbs that use devices"},
    {"format", NI_VERB_ENV, "sh|k8s|docker|nccl.conf|json", "sh", take_word, AT(format),
     "the form in which the settings are written"},
    {"output", A_FILE | NI_VERB_ENV | NI_VERB_SNAPSHOT, "FILE", NULL, take_path, AT(output),
     "write to FILE instead of standard output; the file is replaced as a whole"},
    {"json",
     NI_VERB_DOCTOR | NI_VERB_PLAN | NI_VERB_TOPO | NI_VERB_SELFTEST | NI_VERB_PREFLIGHT |
         NI_VERB_LOG,
     NULL, NULL, take_switch, AT(json), "print one JSON object, for programs"},
    {"expect", NI_VERB_LOG, "nothing|rdma|gdr", "nothing", take_word, AT(expect),
     "exit with 1 if the log does not show RDMA, or GPUDirect on all channels between nodes"},
    {"plan", A_FILE | NI_VERB_LOG, "FILE", NULL, take_path, AT(plan),
     "a file that `plan --json` wrote in the pod: shows its settings beside those that NCCL used"},
    {"dot", NI_VERB_TOPO, NULL, NULL, take_switch, AT(dot),
     "print the PCI tree as a picture for Graphviz"},
    {"rules", NI_VERB_PLAN, NULL, NULL, take_switch, AT(rules),
     "list the rules: the id of each, what it reads and what it may set"},
    {"gids", NI_VERB_PLAN, NULL, NULL, take_switch, AT(gids),
     "also list the GID tables of the pod's ports, as show_gids does, and whose each entry is"},
    {"mask", NI_VERB_SNAPSHOT, NULL, NULL, take_switch, AT(mask),
     "record only what is known to be no secret; hosts, users and ids get other names"},
    {"log-level", ANY, "error|warn|info|debug", "info", take_word, AT(log_level),
     "how much is said on standard error"},
    {"log-format", ANY, "text|json", "text", take_word, AT(log_format),
     "the form of what is said on standard error"},
    {"termination-log", A_FILE | DECIDING | NI_VERB_PREFLIGHT | NI_VERB_INSTALL, "FILE",
     "/dev/termination-log", take_path, AT(termination_log),
     "where the reason of a refusal, or a bad verdict, is also written, if the file exists"},
    {"snapshot-on-refusal", A_FILE | NI_VERB_RUN, "FILE", NULL, take_path, AT(refusal_snapshot),
     "if the command is not started, write to FILE what `snapshot --mask` would"},
};
const unsigned ni_options_count = NI_COUNT(ni_options_table);

_Static_assert(NI_COUNT(ni_options_table) <= 64, "a set of options is a uint64_t");

int ni_option_take(const struct ni_option *option, const char *value, struct ni_options *ret)
{
    return option->take(option, value, (char *)ret + option->at);
}

void ni_options_settle(struct ni_options *o, bool runs)
{
    struct ni_policy *policy = &o->policy;

    policy->short_forms = (policy->mode == NI_MODE_RDMA ? NI_REQUIRE_RDMA : 0U) |
                          (o->selftest == NI_DEMAND_REQUIRE ? NI_REQUIRE_SELFTEST : 0U) |
                          (o->preflight == NI_DEMAND_REQUIRE ? NI_REQUIRE_PREFLIGHT : 0U);
    policy->require |= policy->short_forms;
    if (runs && (policy->require & NI_REQUIRE_SELFTEST))
        o->selftest = NI_DEMAND_REQUIRE;
    if (runs && (policy->require & NI_REQUIRE_PREFLIGHT))
        o->preflight = NI_DEMAND_REQUIRE;
}

void ni_put_values(struct ni_text *t, const struct ni_option *option)
{
    const int64_t unit = option->take == take_milliseconds ? 1000 : 1;

    ni_put(t, option->arg ? option->arg : "0 or 1");
    if (unit > 1 || option->take == take_number || option->take == take_bytes)
        ni_putf(t, " from %lld to %lld", (long long)(option->least < 0 ? 0 : option->least / unit),
                (long long)(option->most / unit));
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
    /* capabilities of the file are not effective then: main.c */
    ret->own_rights = getuid() == geteuid() && getgid() == getegid();
}
