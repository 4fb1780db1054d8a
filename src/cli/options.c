/* SPDX-License-Identifier: Apache-2.0 */
/* Options that several verbs take. Options of a single tool stand in its room; main.c has the
   list of all. The rows give what the command line and the variables accept, the defaults, the
   help, and the completions, which read the help. tests/cli/docs.sh compares the manual with the
   help. */
#include "cli/options.h"

#include "cli/option.h"
#include "nccl_init/base.h"
#include "nccl_init/number.h"
#include "nccl_init/plan.h"

enum {
    POLICY = NI_OPTION_POLICY,
    A_FILE = NI_OPTION_FILE,
    DEMAND = NI_OPTION_DEMAND,
    DECIDING = NI_VERB_RUN | NI_VERB_ENV | NI_VERB_PLAN,
    TESTING = NI_VERB_RUN | NI_VERB_SELFTEST | NI_VERB_PREFLIGHT | NI_VERB_DOCTOR | NI_VERB_WATCH,
    ALL = NI_VERBS_OF_NODE,
    LOOKING = ALL | NI_VERB_EXPLAIN, /* explain tells what holds here */
    PLANNING = ALL & ~NI_VERB_WATCH, /* the settings are shown, written or used */
    ANY = NI_VERBS,
};

/* The rows are in the order of the help. `run`, `selftest`, `preflight` and `watch` take --root only
   to refuse it with a reason. */
static const struct ni_option policy_options[] = {
    {
        .name = "mode",
        .group = NI_GROUP_DECISION,
        .verbs = PLANNING,
        .traits = POLICY | DEMAND,
        .arg = "auto|rdma|tcp|off",
        .initial = "auto",
        .take = ni_take_word,
        .at = offsetof(struct ni_options, policy.mode),
        .help = "auto: RDMA if the pod has it; rdma: short for --require=rdma; tcp: no RDMA; "
                "off: set and raise nothing",
    },
    {
        .name = "for",
        .group = NI_GROUP_DECISION,
        .verbs = PLANNING,
        .traits = POLICY,
        .arg = "nccl|nvshmem|ucx|gloo|nixl|vllm|mooncake|torchcomms|all,...",
        .initial = "nccl",
        .take = ni_take_targets,
        .at = offsetof(struct ni_options, policy.targets),
        .most = NI_FOR_ALL,
        .help = "the libraries whose variables to set, separated by commas "
                "(docs/reference/libraries.md)",
    },
    {
        .name = "hcas",
        .group = NI_GROUP_DECISION,
        .verbs = ALL,
        .traits = POLICY,
        .arg = "auto|HCA[:PORT],...",
        .initial = "auto",
        .take = ni_take_names,
        .at = offsetof(struct ni_options, policy.hcas),
        .least = 1,
        .most = NI_DEV_NAME,
        .help = "use these RDMA devices instead of those given to the pod",
    },
    {
        .name = "nccl",
        .group = NI_GROUP_DECISION,
        .verbs = PLANNING,
        .traits = POLICY | A_FILE,
        .arg = "FILE",
        .take = ni_take_path,
        .at = offsetof(struct ni_options, policy.nccl),
        .help =
            "the command's libnccl.so.2: rules that depend on its version then hold for that one; "
            "--try=nccl loads it",
    },
    {
        .name = "sockets",
        .group = NI_GROUP_DECISION,
        .verbs = PLANNING,
        .traits = POLICY,
        .arg = "auto|pod|rails|INTERFACE,...",
        .initial = "auto",
        .take = ni_take_names,
        .at = offsetof(struct ni_options, policy.sockets),
        .least = 0,
        .most = NI_IF_NAME,
        .help = "interfaces for NCCL's sockets; pod: that of the default route; rails: those "
                "that carry data",
    },
    {
        .name = "gdr",
        .group = NI_GROUP_DECISION,
        .verbs = PLANNING,
        .traits = POLICY,
        .arg = "auto|off|PIX|PXB|PHB|SYS",
        .initial = "auto",
        .take = ni_take_gdr,
        .at = offsetof(struct ni_options, policy.gdr),
        .help = "the longest distance between GPU and HCA at which GPUDirect RDMA is used",
    },
    {
        .name = "memlock",
        .group = NI_GROUP_LIMITS,
        .verbs = PLANNING,
        .traits = POLICY,
        .arg = "max|keep|BYTES",
        .also = "unlimited=max",
        .initial = "max",
        .take = ni_take_memlock,
        .at = offsetof(struct ni_options, policy.memlock),
        .least = 0,
        .most = NI_UNLIMITED - 1,
        .help = "how far to raise the locked-memory limit; BYTES may end in K, M or G",
    },
    {
        .name = "require",
        .group = NI_GROUP_DEMANDS,
        .verbs = PLANNING,
        .traits = POLICY | DEMAND,
        .arg = "none|rdma|gdr|memlock|roce-v2|rails=N|gpus|selftest|preflight|gdr-tried,...",
        .initial = "none",
        .take = ni_take_require,
        .at = offsetof(struct ni_options, policy),
        .help = "start the command only if all of these hold; separated by commas",
    },
    {
        .name = "keep-caps",
        .group = NI_GROUP_LIMITS,
        .verbs = PLANNING,
        .traits = POLICY,
        .arg = "none|CAPABILITY,...",
        .initial = "none",
        .take = ni_take_keep_caps,
        .at = offsetof(struct ni_options, policy),
        .help = "capabilities, such as ipc_lock, to give to the command (as ambient ones)",
    },
    {
        .name = "drop-caps",
        .group = NI_GROUP_LIMITS,
        .verbs = PLANNING,
        .traits = POLICY,
        .arg = "none|unneeded|CAPABILITY,...",
        .initial = "none",
        .take = ni_take_drop_caps,
        .at = offsetof(struct ni_options, policy),
        .help = "capabilities to take from the command; unneeded: those needed only to raise the "
                "limit",
    },
    {
        .name = "network-status",
        .group = NI_GROUP_FACTS,
        .verbs = ALL,
        .traits = POLICY | A_FILE,
        .arg = "VARIABLE|/FILE",
        .take = ni_take_variable_or_path,
        .at = offsetof(struct ni_options, network_status),
        .help = "where the pod's network-status is; by default in NETWORK_STATUS, then in "
                "/etc/podinfo/network-status",
    },
    {
        .name = "wait",
        .group = NI_GROUP_FACTS,
        .verbs = PLANNING,
        .arg = "SECONDS",
        .initial = "0",
        .take = ni_take_seconds,
        .at = offsetof(struct ni_options, wait),
        .least = 0,
        .most = 3600,
        .help =
            "how long to wait for link, address and GID of the pod's HCAs, and for a DRA driver's "
            "metadata",
    },
};

const struct ni_option_rows ni_policy_rows = {policy_options, NI_COUNT(policy_options), NULL, 0};

static const struct ni_option common_options[] = {
    {
        .name = "strict",
        .group = NI_GROUP_DEMANDS,
        .verbs = TESTING,
        .traits = DEMAND,
        .take = ni_take_switch,
        .at = offsetof(struct ni_options, strict),
        .help =
            "a warning counts as an error: `run` does not start the command, others exit with 1",
    },
    {
        .name = "root",
        .group = NI_GROUP_FACTS,
        .verbs = LOOKING,
        .traits = A_FILE,
        .arg = "/|DIR|FILE.tree",
        .initial = "/",
        .take = ni_take_path,
        .at = offsetof(struct ni_options, root),
        .help = "read a directory or a snapshot instead of this node; not with verbs that use "
                "devices",
    },
    {
        .name = "output",
        .group = NI_GROUP_OUTPUT,
        .verbs = NI_VERB_ENV | NI_VERB_SNAPSHOT,
        .traits = A_FILE,
        .arg = "FILE",
        .take = ni_take_path,
        .at = offsetof(struct ni_options, output),
        .help = "write to FILE instead of standard output; the file is replaced as a whole",
    },
    {
        .name = "json",
        .group = NI_GROUP_OUTPUT,
        .verbs = NI_VERB_DOCTOR | NI_VERB_PLAN | NI_VERB_TOPO | NI_VERB_SELFTEST |
                 NI_VERB_PREFLIGHT | NI_VERB_LOG | NI_VERB_WATCH,
        .take = ni_take_switch,
        .at = offsetof(struct ni_options, json),
        .help = "print one JSON object, for programs",
    },
    {
        .name = "color",
        .group = NI_GROUP_OUTPUT,
        .verbs = NI_VERB_DOCTOR | NI_VERB_PLAN | NI_VERB_TOPO | NI_VERB_SELFTEST |
                 NI_VERB_PREFLIGHT | NI_VERB_LOG | NI_VERB_WATCH,
        .arg = "auto|always|never",
        .initial = "auto",
        .take = ni_take_word,
        .at = offsetof(struct ni_options, color),
        .help = "colour in the text; auto: on a terminal, unless NO_COLOR is set",
    },
    {
        .name = "all",
        .group = NI_GROUP_OUTPUT,
        .verbs = NI_VERB_PLAN | NI_VERB_DOCTOR | NI_VERB_TOPO | NI_VERB_SELFTEST |
                 NI_VERB_PREFLIGHT | NI_VERB_LOG,
        .take = ni_take_switch,
        .at = offsetof(struct ni_options, all),
        .help = "show all that is known, not one screen; plan and topo: also the HCAs that are not "
                "the pod's",
    },
    {
        .name = "svg",
        .group = NI_GROUP_OUTPUT,
        .verbs = NI_VERB_RUN | NI_VERB_TOPO | NI_VERB_SELFTEST | NI_VERB_PREFLIGHT,
        .traits = A_FILE,
        .arg = "FILE",
        .take = ni_take_path,
        .at = offsetof(struct ni_options, svg),
        .help = "also draw a picture in FILE: the PCI tree (topo), GPUs by HCAs (selftest "
                "--try=gpu), or all pods and rails (preflight, in pod 0)",
    },
    {
        .name = "log-level",
        .group = NI_GROUP_OUTPUT,
        .verbs = ANY,
        .arg = "error|warn|info|debug",
        .also = "warning=warn",
        .initial = "info",
        .take = ni_take_word,
        .at = offsetof(struct ni_options, log_level),
        .help = "log verbosity on standard error",
    },
    {
        .name = "log-format",
        .group = NI_GROUP_OUTPUT,
        .verbs = ANY,
        .arg = "text|json",
        .initial = "text",
        .take = ni_take_word,
        .at = offsetof(struct ni_options, log_format),
        .help = "log format on standard error",
    },
    {
        .name = "termination-log",
        .group = NI_GROUP_OUTPUT,
        .verbs = DECIDING | NI_VERB_PREFLIGHT | NI_VERB_INSTALL,
        .traits = A_FILE,
        .arg = "FILE",
        .initial = "/dev/termination-log",
        .take = ni_take_path,
        .at = offsetof(struct ni_options, termination_log),
        .help = "if this file exists, write to it why the command was not started, or the "
                "verdict is bad",
    },
};

const struct ni_option_rows ni_common_rows = {common_options, NI_COUNT(common_options), NULL, 0};

bool ni_tries(const struct ni_options *o, unsigned what)
{
    const unsigned tries = o->tries != 0 ? o->tries : NI_TRY_PORTS;

    return (tries & what) != 0;
}

void ni_options_settle(struct ni_options *o, bool runs, bool selftest_given)
{
    struct ni_policy *policy = &o->policy;

    if (runs && (policy->require & NI_REQUIRE_GDR_TRIED)) {
        o->tries |= NI_TRY_GPU;
        selftest_given = selftest_given && policy->selftest != NI_DEMAND_OFF;
    }
    if (runs && o->tries != 0 && !selftest_given)
        policy->selftest = NI_DEMAND_WARN;
    policy->short_forms = 0;
    if (policy->mode == NI_MODE_RDMA)
        policy->short_forms |= NI_REQUIRE_RDMA;
    if (policy->selftest == NI_DEMAND_REQUIRE)
        policy->short_forms |= NI_REQUIRE_SELFTEST;
    if (policy->preflight == NI_DEMAND_REQUIRE)
        policy->short_forms |= NI_REQUIRE_PREFLIGHT;
    policy->require |= policy->short_forms;
    if (runs && (policy->require & NI_REQUIRE_SELFTEST))
        policy->selftest = NI_DEMAND_REQUIRE;
    if (runs && (policy->require & NI_REQUIRE_PREFLIGHT))
        policy->preflight = NI_DEMAND_REQUIRE;
}
