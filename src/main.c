/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs of the program. */
#include "main.h"

#include <unistd.h>

#include "cli/context.h"
#include "cli/dispatch.h"
#include "cli/option.h"
#include "cli/options.h"
#include "cli/program.h"
#include "cli/start.h"
#include "doctor/doctor.h"
#include "log/log.h"
#include "nccl_init/base.h"
#include "plan/plan.h"
#include "plan/snapshot.h"
#include "preflight/preflight.h"
#include "run/env.h"
#include "run/install.h"
#include "run/run.h"
#include "selftest/selftest.h"

/* The table of verbs. The first is the default. */
static const struct ni_verb verbs[] = {
    {"run", NI_VERB_RUN, ni_cmd_run, 0, "[--] COMMAND [ARG...]",
     "Decides the settings, raises the locked-memory limit and becomes the command. Findings stop "
     "it only with --require, its short forms (--mode=rdma, --selftest=require, "
     "--preflight=require) or --strict."},
    {"env", NI_VERB_ENV, ni_cmd_env, 0, NULL,
     "Writes the settings as a file for a shell, Kubernetes, docker or NCCL to read."},
    {"plan", NI_VERB_PLAN, ni_cmd_plan, NI_GATHER_ALL, NULL,
     "Shows each device found, whether it is chosen, each setting, and why."},
    {"doctor", NI_VERB_DOCTOR, ni_cmd_doctor, NI_GATHER_ALL | NI_GATHER_HEALTH | NI_GATHER_OFF,
     NULL,
     "Checks what no variable can fix: devices, links, IOMMU, limits, drivers, PID 1. Exit status "
     "1 if there is an error."},
    {"topo", NI_VERB_TOPO, ni_cmd_topo, NI_GATHER_ALL, NULL,
     "Shows how far each GPU is from each HCA, as `nvidia-smi topo -m` does."},
    {"selftest", NI_VERB_SELFTEST, ni_cmd_selftest, NI_GATHER_ALL | NI_GATHER_HEALTH, NULL,
     "Tests each port against itself as the job will use it: registers memory, connects two queue "
     "pairs over the port's own GID, writes, reads back, compares. Exit status 1 if a port fails."},
    {"preflight", NI_VERB_PREFLIGHT, ni_cmd_preflight, NI_GATHER_ALL | NI_GATHER_HEALTH, NULL,
     "Meets the other pods of the job, compares what each was given, and tries each rail between "
     "them. Run it in all pods. Exit status 1 if the verdict is bad."},
    {"snapshot", NI_VERB_SNAPSHOT, ni_cmd_snapshot,
     NI_GATHER_ALL | NI_GATHER_HEALTH | NI_GATHER_OFF, NULL,
     "Records what was read, so that `plan --root=FILE.tree` shows elsewhere what it shows here."},
    {"log", NI_VERB_LOG, ni_cmd_log, 0, "[FILE...]",
     "Shows what NCCL did, from what it printed with NCCL_DEBUG=INFO, and what went wrong. Exit "
     "status 1 if there is an error, or RDMA was meant and sockets were used."},
    {"install", NI_VERB_INSTALL, ni_cmd_install, 0, "DIR|FILE",
     "Copies this program into a directory, or as FILE, such as a volume that an init container "
     "shares. An existing file is replaced as a whole."},
};
/* The table of options, in the order of the help. */
static const struct ni_option_rows *const options[] = {
    &ni_policy_rows, &ni_demand_rows, &ni_run_rows, &ni_selftest_rows, &ni_preflight_rows,
    &ni_doctor_rows, &ni_common_rows, &ni_env_rows, &ni_log_rows,      &ni_plan_rows,
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
