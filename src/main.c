/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs of the program. */
#include "main.h"

#include <unistd.h>

#include "about/completion.h"
#include "about/schema.h"
#include "cli/context.h"
#include "cli/dispatch.h"
#include "cli/help.h"
#include "cli/option.h"
#include "cli/options.h"
#include "cli/program.h"
#include "cli/start.h"
#include "doctor/doctor.h"
#include "doctor/explain.h"
#include "log/log.h"
#include "nccl_init/base.h"
#include "plan/plan.h"
#include "preflight/preflight.h"
#include "run/env.h"
#include "run/install.h"
#include "run/run.h"
#include "selftest/selftest.h"
#include "snapshot/snapshot.h"
#include "watch/watch.h"

/* The table of verbs. The first is the default. */
static const struct ni_verb verbs[] = {
    {"run", NI_VERB_RUN, NI_EFFECT_STARTS, ni_cmd_run, 0, "[--] COMMAND [ARG...]",
     "Decides the settings, raises the locked-memory limit and becomes the command. Findings stop "
     "it only with --require, its short forms (--mode=rdma, --selftest=require, "
     "--preflight=require) or --strict.",
     "  # start a job with the settings that fit this pod\n"
     "  nccl-init -- torchrun train.py\n"
     "  # start it only with four rails and GPUDirect RDMA\n"
     "  nccl-init --require=rails=4,gdr -- torchrun train.py\n",
     "plan, doctor, selftest, preflight; docs/reference/usage.md", "Start a job"},
    {"env", NI_VERB_ENV, NI_EFFECT_FILE, ni_cmd_env, 0, NULL,
     "Writes the settings as a file for a shell, Kubernetes, docker or NCCL to read.",
     "  # write the settings for a shell, and read them\n"
     "  nccl-init env -o /run/nccl-init/env.sh && . /run/nccl-init/env.sh\n"
     "  # write them for fileKeyRef of Kubernetes\n"
     "  nccl-init env --format=k8s -o /run/nccl-init/env\n",
     "run, plan; docs/reference/usage.md", NULL},
    {"plan", NI_VERB_PLAN, NI_EFFECT_READS, ni_cmd_plan, NI_GATHER_ALL | NI_GATHER_IMAGE, NULL,
     "Shows each device found, whether it is chosen, each setting, and why.",
     "  # what would be set in this pod, and why\n"
     "  nccl-init plan\n"
     "  # the same for a recorded node\n"
     "  nccl-init plan --root=node.tree\n",
     "topo, doctor, explain; docs/reference/rules.md", "Look at this pod and node"},
    {"doctor", NI_VERB_DOCTOR, NI_EFFECT_READS, ni_cmd_doctor,
     NI_GATHER_ALL | NI_GATHER_HEALTH | NI_GATHER_OFF | NI_GATHER_IMAGE, NULL,
     "Checks what no variable can fix: devices, links, IOMMU, limits, drivers, PID 1. Exit status "
     "1 if there is an error.",
     "  # what is wrong in this pod, worst first, and who can fix it\n"
     "  nccl-init doctor\n"
     "  # also move data through each port\n"
     "  nccl-init doctor --probe\n",
     "explain, selftest, plan; docs/reference/findings.md", NULL},
    {"topo", NI_VERB_TOPO, NI_EFFECT_FILE, ni_cmd_topo, NI_GATHER_ALL, NULL,
     "Shows how far each GPU is from each HCA, as `nvidia-smi topo -m` does.",
     "  # which HCA is near which GPU\n"
     "  nccl-init topo\n"
     "  # a picture\n"
     "  nccl-init topo --svg=topo.svg\n",
     "plan, doctor; docs/guides/gpudirect.md", NULL},
    {"selftest", NI_VERB_SELFTEST, NI_EFFECT_USES, ni_cmd_selftest,
     NI_GATHER_ALL | NI_GATHER_HEALTH, NULL,
     "Tests each port against itself as the job will use it: registers memory, connects two queue "
     "pairs over the port's own GID, writes, reads back, compares. Exit status 1 if a port fails.",
     "  # does each port carry RDMA\n"
     "  nccl-init selftest\n"
     "  # with as much memory as the job registers\n"
     "  nccl-init selftest --size=1G\n",
     "doctor, preflight; docs/reference/selftest.md", "Test RDMA"},
    {"preflight", NI_VERB_PREFLIGHT, NI_EFFECT_USES, ni_cmd_preflight,
     NI_GATHER_ALL | NI_GATHER_HEALTH, NULL,
     "Run it in all pods of a job: it compares what each pod was given, and tests "
     "each rail between the pods. Exit status 1 if the verdict is bad.",
     "  # where the launcher's variables say which pods take part\n"
     "  nccl-init preflight\n"
     "  # where they do not\n"
     "  nccl-init preflight --peers=trainer-0.job --rank=$RANK --ranks=8\n",
     "selftest, log; docs/reference/preflight.md", NULL},
    {"watch", NI_VERB_WATCH, NI_EFFECT_READS, ni_cmd_watch, 0, NULL,
     "Shows while a job runs whether rails or sockets carry its data: bytes a second, "
     "retransmissions, errors, changed GIDs. Exit status 0 if rails carry data, 1 if they do not, "
     "2 "
     "if it cannot be told.",
     "  # look for ten seconds, then say it in one sentence\n"
     "  nccl-init watch --for=10s\n"
     "  # a line each second until Ctrl-C\n"
     "  nccl-init watch\n",
     "preflight, log, doctor; docs/guides/watch.md", "Watch a job"},
    {"snapshot", NI_VERB_SNAPSHOT, NI_EFFECT_FILE, ni_cmd_snapshot,
     NI_GATHER_ALL | NI_GATHER_HEALTH | NI_GATHER_OFF | NI_GATHER_IMAGE, NULL,
     "Records this node and pod in a file. `plan --root=FILE.tree` shows the same on "
     "any machine.",
     "  # record this node without secrets\n"
     "  nccl-init snapshot --mask -o node.tree\n"
     "  # look at it elsewhere\n"
     "  nccl-init plan --root=node.tree\n",
     "plan, doctor; docs/reference/tree.md", "Look at it elsewhere, or later"},
    {"log", NI_VERB_LOG, NI_EFFECT_READS, ni_cmd_log, 0, "[FILE...]",
     "Reads the log of a job with NCCL_DEBUG=INFO, and shows what NCCL did and what "
     "went wrong. Exit status 1 if there is an error, if RDMA was meant and sockets "
     "were used, or if it is NOT KNOWN how the job fared: the log shows no collective, "
     "or no line of NCCL.",
     "  # what NCCL did, by rank\n"
     "  nccl-init log job.log\n"
     "  # fail unless GPUDirect RDMA was used between nodes\n"
     "  kubectl logs trainer-0 | nccl-init log --expect=gdr\n",
     "explain, doctor; docs/guides/troubleshooting.md", NULL},
    {"install", NI_VERB_INSTALL, NI_EFFECT_FILE, ni_cmd_install, 0, "DIR|FILE",
     "Copies this program into a directory, such as a volume that containers share; "
     "to FILE if one is there, or with --file. An existing file is replaced as a "
     "whole.",
     "  # into a volume that the containers of the pod mount at /nccl-init\n"
     "  nccl-init install /run/nccl-init\n"
     "  # as a file of another name\n"
     "  nccl-init install --file /run/nccl-init/start\n",
     "run; docs/reference/usage.md", "Other verbs"},
    {"explain", NI_VERB_EXPLAIN, NI_EFFECT_READS, ni_cmd_explain, 0, "[TEXT...]",
     "Shows what is known of a text: a finding or its id, a line of a log, an error, a variable, a "
     "rule; and what of it holds in this pod, or with --root on that node. What is not sure has "
     "`perhaps` in front. Without a text it lists all findings. Exit status 1 if nothing is known.",
     "  # what a finding of doctor means\n"
     "  nccl-init explain iommu.translated\n"
     "  # an error, and a variable\n"
     "  nccl-init explain ibv_reg_mr_iova2 failed with error Cannot allocate memory\n"
     "  nccl-init explain NCCL_IB_HCA\n",
     "doctor, log; docs/reference/findings.md", NULL},
    {"completion", NI_VERB_COMPLETION, NI_EFFECT_READS, ni_cmd_completion, 0, "bash|zsh|fish",
     "Prints the script by which a shell completes verbs, options and values.",
     "  # what completes in bash; `. <(nccl-init completion bash)` takes it into this shell\n"
     "  nccl-init completion bash\n"
     "  # in each fish from now on\n"
     "  nccl-init completion fish >~/.config/fish/completions/nccl-init.fish\n",
     "schema; docs/start/install.md", NULL},
    {"schema", NI_VERB_SCHEMA, NI_EFFECT_READS, ni_cmd_schema, 0, NULL,
     "Prints verbs, options, findings, rules and variables as one JSON object, for programs.",
     "  # the options of plan\n"
     "  nccl-init schema | jq '.options[] | select(.verbs | index(\"plan\")) | .name'\n"
     "  # what the user can do about a finding\n"
     "  nccl-init schema | jq -r '.findings[] | select(.id == \"memlock.low\") | .user'\n",
     "completion, explain; docs/reference/automation.md", NULL},
    {"help", NI_VERB_HELP, NI_EFFECT_READS, ni_cmd_help, 0, "[VERB]",
     "Lists the verbs, or the options of one.",
     "  # the options of plan\n"
     "  nccl-init help plan\n"
     "  # all verbs\n"
     "  nccl-init help\n",
     "version; nccl-init(8)", NULL},
    {"version", NI_VERB_VERSION, NI_EFFECT_READS, ni_cmd_version, 0, NULL,
     "Shows the version, and those of the libraries linked in.",
     "  # this version\n"
     "  nccl-init version\n"
     "  # the same\n"
     "  nccl-init -V\n",
     "help; CHANGELOG.md", NULL},
};
/* The table of options, in the order of the help. */
static const struct ni_option_rows *const options[] = {
    &ni_policy_rows,    &ni_demand_rows, &ni_run_rows,      &ni_try_rows,   &ni_selftest_rows,
    &ni_preflight_rows, &ni_doctor_rows, &ni_common_rows,   &ni_env_rows,   &ni_install_rows,
    &ni_log_rows,       &ni_plan_rows,   &ni_snapshot_rows, &ni_watch_rows,
};
const struct ni_program ni_main_program = {verbs, NI_COUNT(verbs), options, NI_COUNT(options)};

#ifdef main /* tests that link the tables have a main of their own, and rename this one */
int main(int argc, char *argv[]);
#endif

int main(int argc, char *argv[])
{
    static struct ni_context context; /* the program's only state */
    const int status = ni_start(&context);

    return status != 0 ? status : ni_main(&context, &ni_main_program, argc, argv, environ);
}
