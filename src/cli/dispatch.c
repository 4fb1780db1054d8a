/* SPDX-License-Identifier: Apache-2.0 */
/* Verbs, and which one it is. */
#include "cli/cli.h"
#include "system/system.h"

#include <string.h>

/* The first is the one that a command line without a verb means. */
const struct ni_verb ni_verbs_table[] = {
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
     "Looks for what no variable can mend: devices, links, IOMMU, limits, drivers, PID 1. Exit "
     "status 1 if there is an error."},
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
     "Tells what NCCL did, from what it printed with NCCL_DEBUG=INFO, and what went wrong. Exit "
     "status 1 if there is an error, or RDMA was meant and sockets were used."},
    {"install", NI_VERB_INSTALL, ni_cmd_install, 0, "DIR|FILE",
     "Copies this program into a directory, or as FILE, such as a volume that an init container "
     "shares. An existing file is replaced as a whole."},
};
const unsigned ni_verbs_count = NI_COUNT(ni_verbs_table);

const struct ni_verb *ni_verb_of(unsigned bit)
{
    for (unsigned i = 0; i < ni_verbs_count; i++)
        if (ni_verbs_table[i].bit == bit)
            return &ni_verbs_table[i];
    return NULL;
}

const struct ni_verb *ni_verb_named(struct ni_span name)
{
    for (unsigned i = 0; i < ni_verbs_count; i++)
        if (ni_span_is(name, ni_verbs_table[i].name))
            return &ni_verbs_table[i];
    return NULL;
}

void ni_context_init(struct ni_context *ctx, char *const envp[])
{
    ni_options_init(&ctx->options);
    ctx->own.entry = ctx->env.entry = envp;
    ctx->work = (struct ni_work){&ctx->inventory, &ctx->env, &ctx->options.policy, &ctx->plan,
                                 &ctx->findings};
}

int ni_main(struct ni_context *ctx, int argc, char *argv[], char *envp[])
{
    const struct ni_verb *verb = &ni_verbs_table[0];

    ni_context_init(ctx, envp);
    if (argc < 2)
        return ni_usage(ctx, "no command; see `nccl-init --help`");
    if (strcmp(argv[1], "--version") == 0)
        return ni_cmd_version(ctx);
    const bool named = argv[1][0] != '-';
    if (named)
        verb = ni_verb_named(ni_span_of(argv[1]));
    if (!verb)
        return ni_usage(ctx,
                        "`%s` is not a verb; see `nccl-init --help`; to run it: nccl-init -- %s",
                        argv[1], argv[1]);
    ctx->verb = verb->bit;
    int r = ni_args_parse(ctx, argv + (named ? 2 : 1));
    if (r == 0 && ctx->help)
        return ni_cmd_help(ctx, named ? verb : NULL);
    if (r == 0)
        r = ni_args_env(ctx, &ctx->own, false);
    if (r != 0)
        return r;
    if (*ctx->operands && !verb->operands)
        return ni_usage(ctx,
                        "`%s` takes no operands; to run a program of that name: nccl-init -- %s",
                        verb->name, verb->name);
    if (*ctx->operands && !named && !ctx->separator)
        return ni_usage(ctx, "put `--` before the command: nccl-init [OPTION...] -- %s",
                        *ctx->operands);
    return verb->run(ctx);
}
