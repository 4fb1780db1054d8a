/* SPDX-License-Identifier: Apache-2.0 */
/* The table of options, and how each reads its value. */
#include "lists.h"

#include <errno.h>
#include <string.h>
#include <sys/auxv.h>

/* Index of value in words. */
static int word(const char *value, const char *const words[], unsigned n, unsigned *ret)
{
    for (unsigned i = 0; i < n; i++) {
        if (strcmp(value, words[i]) == 0) {
            *ret = i;
            return 0;
        }
    }
    return -EINVAL;
}

static int parse_mode(const char *value, struct ni_options *ret)
{
    static const char *const words[] = {"auto", "rdma", "tcp", "off"};
    static const enum ni_mode modes[] = {NI_MODE_AUTO, NI_MODE_RDMA, NI_MODE_TCP, NI_MODE_OFF};
    unsigned i;

    if (word(value, words, NI_COUNT(words), &i) < 0)
        return -EINVAL;
    ret->policy.mode = modes[i];
    return 0;
}

/* A list of names that NCCL's own lists can carry, each with `:PORT` where ports is set. */
static bool is_list(const char *value, size_t name_max, bool ports)
{
    struct ni_span item;

    while (ni_split(&value, ',', &item)) {
        const char *colon = ports ? memchr(item.p, ':', item.n) : NULL;
        struct ni_span name = {item.p, colon ? (size_t)(colon - item.p) : item.n};
        uint64_t port = 1;

        if (colon) {
            struct ni_span text = {colon + 1, item.n - name.n - 1};

            if (ni_parse_u64(text, UINT8_MAX, &port) < 0)
                return false;
        }
        if (port == 0 || !ni_is_name(name, name_max))
            return false;
    }
    return true;
}

static int parse_hcas(const char *value, struct ni_options *ret)
{
    if (strcmp(value, "auto") == 0) {
        ret->policy.hcas = NULL;
        return 0;
    }
    if (!is_list(value, NI_DEV_NAME, true) || strlen(value) >= sizeof(ret->hcas))
        return -EINVAL;
    (void)ni_copy(ret->hcas, sizeof(ret->hcas), value);
    ret->policy.hcas = ret->hcas;
    return 0;
}

static int parse_sockets(const char *value, struct ni_options *ret)
{
    if (strcmp(value, "auto") == 0) {
        ret->policy.sockets = NULL;
        return 0;
    }
    if (!is_list(value, NI_IF_NAME, false) || strlen(value) >= sizeof(ret->sockets))
        return -EINVAL;
    (void)ni_copy(ret->sockets, sizeof(ret->sockets), value);
    ret->policy.sockets = ret->sockets;
    return 0;
}

static int parse_gdr(const char *value, struct ni_options *ret)
{
    static const char *const words[] = {"PIX", "PXB", "PHB", "SYS"};
    static const enum ni_distance levels[] = {NI_DIST_PIX, NI_DIST_PXB, NI_DIST_PHB, NI_DIST_SYS};
    unsigned i;

    if (strcmp(value, "auto") == 0) {
        ret->policy.gdr = NI_GDR_AUTO;
    } else if (strcmp(value, "off") == 0) {
        ret->policy.gdr = NI_GDR_OFF;
    } else if (word(value, words, NI_COUNT(words), &i) == 0) {
        ret->policy.gdr = NI_GDR_LEVEL;
        ret->policy.gdr_level = levels[i];
    } else {
        return -EINVAL;
    }
    return 0;
}

/* Bytes, or with K, M, G for 1024, 1024^2, 1024^3. */
static int parse_bytes(const char *value, int64_t *ret)
{
    static const char units[] = "KMG";
    struct ni_span digits = ni_span_of(value);
    const char *unit = digits.n > 0 ? strchr(units, value[digits.n - 1]) : NULL;
    unsigned shift = 0;
    uint64_t n;

    if (unit) {
        shift = 10 * (unsigned)(unit - units + 1);
        digits.n--;
    }
    /* Less than unlimited, which is called `max`. */
    if (ni_parse_u64(digits, ((uint64_t)NI_UNLIMITED - 1) >> shift, &n) < 0)
        return -EINVAL;
    *ret = (int64_t)(n << shift);
    return 0;
}

static int parse_memlock(const char *value, struct ni_options *ret)
{
    int64_t bytes;

    if (strcmp(value, "max") == 0) {
        ret->policy.memlock = NI_MEMLOCK_MAX;
    } else if (strcmp(value, "keep") == 0) {
        ret->policy.memlock = NI_MEMLOCK_KEEP;
    } else if (parse_bytes(value, &bytes) == 0) {
        ret->policy.memlock = NI_MEMLOCK_BYTES;
        ret->policy.memlock_bytes = bytes;
    } else {
        return -EINVAL;
    }
    return 0;
}

static int parse_size(const char *value, struct ni_options *ret)
{
    int64_t bytes;

    if (parse_bytes(value, &bytes) < 0 || bytes < NI_TRIAL_SIZE_MIN || bytes > NI_TRIAL_SIZE_MAX)
        return -EINVAL;
    ret->size = bytes;
    return 0;
}

static int parse_moved(const char *value, struct ni_options *ret)
{
    int64_t bytes;

    if (parse_bytes(value, &bytes) < 0 || bytes < 1 || bytes > NI_TRIAL_BYTES_MAX)
        return -EINVAL;
    ret->bytes = bytes;
    return 0;
}

static int parse_deadline(const char *value, struct ni_options *ret)
{
    uint64_t seconds;

    if (ni_parse_u64(ni_span_of(value), NI_TRIAL_SECONDS_MAX, &seconds) < 0 || seconds == 0)
        return -EINVAL;
    ret->deadline = (unsigned)seconds;
    return 0;
}

static int parse_selftest(const char *value, struct ni_options *ret)
{
    static const char *const words[] = {"off", "warn", "require"};
    static const enum ni_selftest_policy policies[] = {NI_SELFTEST_OFF, NI_SELFTEST_WARN,
                                                       NI_SELFTEST_REQUIRE};
    unsigned i;

    if (word(value, words, NI_COUNT(words), &i) < 0)
        return -EINVAL;
    ret->selftest = policies[i];
    return 0;
}

static int parse_format(const char *value, struct ni_options *ret)
{
    static const char *const words[] = {"sh", "k8s", "docker", "nccl.conf", "json"};
    static const enum ni_format formats[] = {NI_FMT_SH, NI_FMT_K8S, NI_FMT_DOCKER, NI_FMT_CONF,
                                             NI_FMT_JSON};
    unsigned i;

    if (word(value, words, NI_COUNT(words), &i) < 0)
        return -EINVAL;
    ret->format = formats[i];
    return 0;
}

static int parse_log_level(const char *value, struct ni_options *ret)
{
    static const char *const words[] = {"error", "warn", "info", "debug"};
    static const enum ni_log_level levels[] = {NI_LOG_ERROR, NI_LOG_WARN, NI_LOG_INFO,
                                               NI_LOG_DEBUG};
    unsigned i;

    if (word(value, words, NI_COUNT(words), &i) < 0)
        return -EINVAL;
    ret->log_level = levels[i];
    return 0;
}

static int parse_log_format(const char *value, struct ni_options *ret)
{
    static const char *const words[] = {"text", "json"};
    unsigned i;

    if (word(value, words, NI_COUNT(words), &i) < 0)
        return -EINVAL;
    ret->log_json = i == 1;
    return 0;
}

static int parse_wait(const char *value, struct ni_options *ret)
{
    uint64_t seconds;

    if (ni_parse_u64(ni_span_of(value), NI_MAX_WAIT, &seconds) < 0)
        return -EINVAL;
    ret->wait = (unsigned)seconds;
    return 0;
}

/* A variable's name, or the path of a file. */
static int parse_network_status(const char *value, struct ni_options *ret)
{
    if (*value == '\0' || (*value != '/' && strpbrk(value, "/=")) ||
        strlen(value) >= sizeof(ret->network_status))
        return -EINVAL;
    (void)ni_copy(ret->network_status, sizeof(ret->network_status), value);
    return 0;
}

static int parse_path(const char *value, const char **ret)
{
    if (*value == '\0')
        return -EINVAL;
    *ret = value;
    return 0;
}

static int parse_root(const char *value, struct ni_options *ret)
{
    return parse_path(value, &ret->root);
}

static int parse_output(const char *value, struct ni_options *ret)
{
    return parse_path(value, &ret->output);
}

static int parse_termination_log(const char *value, struct ni_options *ret)
{
    return parse_path(value, &ret->termination_log);
}

static int parse_refusal_snapshot(const char *value, struct ni_options *ret)
{
    return strcmp(value, "-") == 0 ? -EINVAL : parse_path(value, &ret->refusal_snapshot);
}

static int parse_switch(const char *value, bool *ret)
{
    static const char *const words[] = {"0", "1"};
    unsigned i;

    if (word(value, words, NI_COUNT(words), &i) < 0)
        return -EINVAL;
    *ret = i == 1;
    return 0;
}

static int parse_json(const char *value, struct ni_options *ret)
{
    return parse_switch(value, &ret->json);
}

static int parse_dot(const char *value, struct ni_options *ret)
{
    return parse_switch(value, &ret->dot);
}

static int parse_rules(const char *value, struct ni_options *ret)
{
    return parse_switch(value, &ret->rules);
}

static int parse_gids(const char *value, struct ni_options *ret)
{
    return parse_switch(value, &ret->gids);
}

static int parse_mask(const char *value, struct ni_options *ret)
{
    return parse_switch(value, &ret->mask);
}

static int parse_probe(const char *value, struct ni_options *ret)
{
    return parse_switch(value, &ret->probe);
}

static int parse_strict(const char *value, struct ni_options *ret)
{
    return parse_switch(value, &ret->strict);
}

enum {
    ALL = NI_VERB_DOCTOR | NI_VERB_TOPO | NI_VERB_RUN | NI_VERB_ENV | NI_VERB_PLAN |
          NI_VERB_SNAPSHOT | NI_VERB_SELFTEST,
    DECIDING = NI_VERB_RUN | NI_VERB_ENV | NI_VERB_PLAN,
    TRYING = NI_VERB_RUN | NI_VERB_SELFTEST,
    ANY = ALL | NI_VERB_INSTALL
};

/* In the order of the help. `run` and `selftest` know --root only to refuse it with a reason. */
const struct ni_option ni_options_table[] = {
    {"mode", "NCCLINIT_MODE", 0, true, false, ALL, "auto|rdma|tcp|off", parse_mode,
     "rdma: refuse to start without a usable HCA; tcp: no RDMA, sockets over the pod's interface; "
     "off: decide nothing, only start the command"},
    {"for", "NCCLINIT_FOR", 0, true, false, ALL, "nccl|nvshmem|ucx|gloo,...", ni_parse_for,
     "whose variables are written; any of them, separated by commas"},
    {"hcas", "NCCLINIT_HCAS", 0, true, false, ALL, "auto|HCA[:PORT],...", parse_hcas,
     "these RDMA devices instead of the ones given to the pod"},
    {"sockets", "NCCLINIT_SOCKETS", 0, true, false, ALL, "auto|pod|INTERFACE,...", parse_sockets,
     "interfaces for NCCL's sockets; pod: that of the default route"},
    {"gdr", "NCCLINIT_GDR", 0, true, false, ALL, "auto|off|PIX|PXB|PHB|SYS", parse_gdr,
     "up to which distance of GPU and HCA GPUDirect RDMA is used"},
    {"memlock", "NCCLINIT_MEMLOCK", 0, true, false, ALL, "max|keep|BYTES", parse_memlock,
     "how far the locked-memory limit is raised; BYTES may end in K, M or G"},
    {"require", "NCCLINIT_REQUIRE", 0, true, false, ALL,
     "none|rdma|gdr|memlock|roce-v2|rails=N|gpus,...", ni_parse_require,
     "what must hold, else the command is not started; any of them, separated by commas"},
    {"keep-caps", "NCCLINIT_KEEP_CAPS", 0, true, false, ALL, "none|CAPABILITY,...",
     ni_parse_keep_caps,
     "capabilities, such as ipc_lock, that the command gets as ambient ones; also if it does not "
     "run as root"},
    {"drop-caps", "NCCLINIT_DROP_CAPS", 0, true, false, ALL, "none|unneeded|CAPABILITY,...",
     ni_parse_drop_caps,
     "capabilities that are gone when the command starts; unneeded: those that only raising the "
     "limit needs"},
    {"network-status", "NCCLINIT_NETWORK_STATUS", 0, true, true, ALL, "VARIABLE|/FILE",
     parse_network_status,
     "where the pod's network-status annotation is; default NETWORK_STATUS, else "
     "/etc/podinfo/network-status"},
    {"wait", "NCCLINIT_WAIT", 0, false, false, ALL, "SECONDS", parse_wait,
     "how long to wait for link, address and GID of the pod's HCAs; default 0"},
    {"selftest", "NCCLINIT_SELFTEST", 0, false, false, NI_VERB_RUN, "off|warn|require",
     parse_selftest,
     "try each port before the command starts (see `nccl-init selftest --help`); warn: say what "
     "fails; require: do not start the command then, nor when there is no port to try"},
    {"size", "NCCLINIT_SIZE", 0, false, false, TRYING, "BYTES", parse_size,
     "of the self-test: memory registered for each port, default 64M"},
    {"bytes", "NCCLINIT_BYTES", 0, false, false, TRYING, "BYTES", parse_moved,
     "of the self-test: how much is written and read back, default 16M"},
    {"probe", "NCCLINIT_PROBE", 0, false, false, NI_VERB_DOCTOR, NULL, parse_probe,
     "open the devices and ask them, through libibverbs, what sysfs cannot tell"},
    {"ignore", "NCCLINIT_IGNORE", 0, false, false, NI_VERB_DOCTOR, "none|FINDING,...",
     ni_parse_ignore, "findings, by their ids, that do not count; how many there were is told"},
    {"deadline", "NCCLINIT_DEADLINE", 0, false, false, TRYING | NI_VERB_DOCTOR, "SECONDS",
     parse_deadline, "how long the self-test or --probe may take in all, default 10"},
    {"strict", "NCCLINIT_STRICT", 0, false, false, TRYING | NI_VERB_DOCTOR, NULL, parse_strict,
     "a warning counts as an error: `run` does not start the command, `doctor` and `selftest` exit "
     "with 1"},
    {"root", "NCCLINIT_ROOT", 0, false, true, ALL, "/|DIR|FILE.tree", parse_root,
     "read another node: a directory or a snapshot; `run` and `selftest` take only /"},
    {"format", "NCCLINIT_FORMAT", 0, false, false, NI_VERB_ENV, "sh|k8s|docker|nccl.conf|json",
     parse_format, "the form in which the settings are written"},
    {"output", "NCCLINIT_OUTPUT", 'o', false, true, NI_VERB_ENV | NI_VERB_SNAPSHOT, "FILE",
     parse_output, "write to FILE, replaced as a whole, instead of standard output"},
    {"json", "NCCLINIT_JSON", 0, false, false,
     NI_VERB_DOCTOR | NI_VERB_PLAN | NI_VERB_TOPO | NI_VERB_SELFTEST, NULL, parse_json,
     "for programs: one JSON object"},
    {"dot", "NCCLINIT_DOT", 0, false, false, NI_VERB_TOPO, NULL, parse_dot,
     "the PCI tree as a picture for Graphviz"},
    {"rules", "NCCLINIT_RULES", 0, false, false, NI_VERB_PLAN, NULL, parse_rules,
     "list the rules: id, what each reads and what it may set"},
    {"gids", "NCCLINIT_GIDS", 0, false, false, NI_VERB_PLAN, NULL, parse_gids,
     "the GID tables of the pod's ports too, as show_gids lists them, and whose each entry is"},
    {"mask", "NCCLINIT_MASK", 0, false, false, NI_VERB_SNAPSHOT, NULL, parse_mask,
     "replace GUIDs, MAC addresses, UUIDs, ids of containers and host names, the same by the same"},
    {"log-level", "NCCLINIT_LOG_LEVEL", 0, false, false, ANY, "info|error|warn|debug",
     parse_log_level, "what is said on standard error"},
    {"log-format", "NCCLINIT_LOG_FORMAT", 0, false, false, ANY, "text|json", parse_log_format,
     "how it is said"},
    {"termination-log", "NCCLINIT_TERMINATION_LOG", 0, false, true, DECIDING | NI_VERB_INSTALL,
     "FILE", parse_termination_log,
     "where a refusal is also written, if the file exists; default /dev/termination-log"},
    {"snapshot-on-refusal", "NCCLINIT_SNAPSHOT_ON_REFUSAL", 0, false, true, NI_VERB_RUN, "FILE",
     parse_refusal_snapshot,
     "where the command is not started, write there what `snapshot --mask` would"},
};
const unsigned ni_options_count = NI_COUNT(ni_options_table);

_Static_assert(NI_COUNT(ni_options_table) <= 32, "struct ni_given has a bit for each");

void ni_options_init(struct ni_options *ret)
{
    *ret = (struct ni_options){.policy = {.targets = NI_FOR_NCCL},
                               .root = "/",
                               .termination_log = "/dev/termination-log",
                               .format = NI_FMT_SH,
                               .log_level = NI_LOG_INFO,
                               .size = NI_TRIAL_SIZE,
                               .bytes = NI_TRIAL_BYTES,
                               .deadline = NI_TRIAL_SECONDS,
                               .secure = getauxval(AT_SECURE) != 0};
}
