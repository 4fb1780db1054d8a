/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot: this node as a .tree file, with what of the environment the plan depends on. */
#include "nccl_init/act.h"
#include "nccl_init/cmd.h"

#include <errno.h>
#include <string.h>

/* What probers and rules look at; the rest of an environment may hold secrets. */
static bool is_relevant(const struct ni_context *ctx, const char *entry)
{
    static const char beginnings[] =
        "PCIDEVICE_ SRIOVNETWORK_ NETWORK_STATUS= NCCL_ " NI_OWN_PREFIX
        " UCX_ NVSHMEM_ GLOO_ HOME= MV2_COMM_WORLD_LOCAL_ PALS_LOCAL_ "
        "TP_SOCKET_IFNAME= MC_TE_FILTERS= MC_IB_PORT= MC_GID_INDEX= VLLM_GPU_NIC_PCIE_MAPPING= "
        "VLLM_NIC_SELECTION_VARS= LOCAL_RANK= LOCAL_WORLD_SIZE= OMPI_COMM_WORLD_LOCAL_ MPI_LOCAL "
        "SLURM_LOCALID= SLURM_STEP_TASKS_PER_NODE= CUDA_VISIBLE_DEVICES= CUDA_DEVICE_ORDER= "
        "HIP_VISIBLE_DEVICES= ROCR_VISIBLE_DEVICES=";
    const char *named = ctx->options.network_status, *rest = beginnings;
    struct ni_span s;

    if (named && ni_has_prefix(entry, named) && entry[strlen(named)] == '=')
        return true;
    while (ni_word(&rest, &s))
        if (strncmp(entry, s.p, s.n) == 0)
            return true;
    return false;
}

/* The environment in the kernel's form. */
static int record_environ(struct ni_context *ctx)
{
    struct ni_text text = ni_long_text();
    int r = 0;

    for (char *const *e = ctx->env.entry; *e; e++)
        if (is_relevant(ctx, *e))
            ni_putn(&text, *e, strlen(*e) + 1);
    if (text.cut || text.len > NI_RECORDED_ENV)
        r = text.cut ? -ENOMEM : -EOVERFLOW;
    else
        r = ni_record_add(&ctx->root, "proc/self/environ", text.buf, text.len);
    ni_free_text(&text);
    return r;
}

int ni_cmd_snapshot(struct ni_context *ctx)
{
    struct ni_text text;
    int r = ni_flow(ctx);

    if (r != 0)
        return r;
    text = ni_long_text();
    r = record_environ(ctx);
    if (r == 0)
        r = ni_record_text(&ctx->root, "recorded by nccl-init " NCCL_INIT_VERSION,
                           ctx->options.mask, &text);
    if (r < 0)
        ni_say(ctx, NI_LOG_ERROR, "cannot record: %s", NI_ERRNO(r));
    r = r < 0 ? NI_EXIT_FAILED : ni_print(ctx, &text);
    ni_free_text(&text);
    return r;
}

void ni_leave_snapshot(struct ni_context *ctx)
{
    if (!ctx->options.refusal_snapshot)
        return;
    memset(&ctx->inventory, 0, sizeof(ctx->inventory));
    memset(&ctx->plan, 0, sizeof(ctx->plan));
    memset(&ctx->findings, 0, sizeof(ctx->findings));
    ctx->verb = NI_VERB_SNAPSHOT;
    ctx->options.output = ctx->options.refusal_snapshot;
    ctx->options.mask = true;
    ctx->options.wait = 0;
    (void)ni_cmd_snapshot(ctx);
}
