/* SPDX-License-Identifier: Apache-2.0 */
/* Verbs, and which one it is. */
#include "nccl_init/act.h"
#include "nccl_init/cmd.h"

#include <string.h>

/* The first is the one that a command line without a verb means. */
const struct ni_verb ni_verbs_table[] = {
    {"run", NI_VERB_RUN, true, "[OPTION...] [--] COMMAND [ARG...]",
     "Finds out, decides, sets, and becomes the command. What is found stops it only where you ask "
     "for that: --mode=rdma, --require, --selftest=require, --strict.",
     ni_cmd_run},
    {"env", NI_VERB_ENV, false, "[OPTION...]",
     "Writes the settings as a file that a shell, Kubernetes, docker or NCCL reads.", ni_cmd_env},
    {"plan", NI_VERB_PLAN, false, "[OPTION...]",
     "Shows each device found, kept or dropped, each setting, and why.", ni_cmd_plan},
    {"doctor", NI_VERB_DOCTOR, false, "[OPTION...]",
     "Looks for what no variable can mend: devices, links, IOMMU, limits, drivers, PID 1. Exit "
     "status 1 when there is an error.",
     ni_cmd_doctor},
    {"topo", NI_VERB_TOPO, false, "[OPTION...]",
     "Shows how far each GPU is from each HCA, as `nvidia-smi topo -m` does.", ni_cmd_topo},
    {"selftest", NI_VERB_SELFTEST, false, "[OPTION...]",
     "Tries each port with itself, as the job will use it: registers memory, connects two queue "
     "pairs over the port's own GID, writes, reads back, compares. Exit status 1 when one fails.",
     ni_cmd_selftest},
    {"snapshot", NI_VERB_SNAPSHOT, false, "[OPTION...]",
     "Records what was read, so that `plan --root=FILE.tree` says elsewhere what it says here.",
     ni_cmd_snapshot},
    {"install", NI_VERB_INSTALL, true, "[OPTION...] DIR|FILE",
     "Copies this program into a directory, or as FILE, such as a volume that an init container "
     "shares. A file of that name is replaced as a whole.",
     ni_cmd_install},
};
const unsigned ni_verbs_count = NI_COUNT(ni_verbs_table);

static const struct ni_verb *find_verb(const char *name)
{
    for (unsigned i = 0; i < ni_verbs_count; i++)
        if (strcmp(ni_verbs_table[i].name, name) == 0)
            return &ni_verbs_table[i];
    return NULL;
}

static int run_verb(struct ni_context *ctx, const struct ni_verb *verb, int first, int argc,
                    char *argv[])
{
    const bool named = first > 1;
    /* `run` starts the command whatever a ConfigMap says; elsewhere a wrong value is an error. */
    struct ni_findings *tolerant = verb->bit == NI_VERB_RUN ? &ctx->findings : NULL;
    struct ni_given given;
    char buf[512];
    struct ni_text err = ni_text_on(buf, sizeof(buf));

    ctx->verb = verb->bit;
    if (ni_args_parse(verb->bit, first, argc, argv, &ctx->options, &given, &err) < 0)
        return ni_usage(ctx, "%s", buf);
    if (given.help)
        return ni_cmd_help(ctx, verb);
    ctx->taken = given.options;
    if (ni_args_env(verb->bit, &ctx->own, false, &ctx->taken, &ctx->options, tolerant, &err) < 0)
        return ni_usage(ctx, "%s", buf);
    if (given.operand < argc && !verb->operands)
        return ni_usage(ctx,
                        "`%s` takes no operand; to run a program of that name: nccl-init -- %s",
                        verb->name, verb->name);
    if (given.operand < argc && !named && !given.separator)
        return ni_usage(ctx, "put `--` before the command: nccl-init [OPTION...] -- %s",
                        argv[given.operand]);
    return verb->run(ctx, argv + given.operand);
}

int ni_main(struct ni_context *ctx, int argc, char *argv[], char *envp[])
{
    const struct ni_verb *verb = &ni_verbs_table[0];
    int first = 1;

    ni_options_init(&ctx->options);
    ctx->own.entry = ctx->env.entry = envp;
    if (argc < 2)
        return ni_usage(ctx, "no command; see `nccl-init --help`");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return ni_cmd_help(ctx, NULL);
    if (strcmp(argv[1], "--version") == 0)
        return ni_cmd_version(ctx);
    if (argv[1][0] != '-') {
        verb = find_verb(argv[1]);
        first = 2;
    }
    if (!verb)
        return ni_usage(ctx, "`%s` is no verb; to run it as a command: nccl-init -- %s", argv[1],
                        argv[1]);
    return run_verb(ctx, verb, first, argc, argv);
}
