/* SPDX-License-Identifier: Apache-2.0 */
/* The verb snapshot: this node as a .tree file, with the part of the environment on which the
   plan depends. */
#include "snapshot/snapshot.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "cli/context.h"
#include "cli/flow.h"
#include "cli/option.h"
#include "cli/options.h"
#include "cli/say.h"
#include "nccl_init/base.h"
#include "nccl_init/env.h"
#include "nccl_init/errno.h"
#include "nccl_init/text.h"
#include "print/layout.h"
#include "snapshot/keep.h"
#include "snapshot/keep_env.h"
#include "snapshot/keep_forms.h"
#include "snapshot/masked.h"
#include "sysroot/files.h"
#include "sysroot/record.h"
#include "sysroot/root.h"
#include "system/replace.h"

/* ---- options ---- */

struct ni_snapshot_options ni_snapshot_options;

static const struct ni_option snapshot_options[] = {
    {
        .name = "mask",
        .verbs = NI_VERB_SNAPSHOT,
        .take = ni_take_switch,
        .at = offsetof(struct ni_snapshot_options, mask),
        .help = "record only what is known to be no secret; replace hosts, users and ids",
    },
};
const struct ni_option_rows ni_snapshot_rows = {
    snapshot_options,
    NI_COUNT(snapshot_options),
    &ni_snapshot_options,
    sizeof(ni_snapshot_options),
};

/* ---- the environment ---- */

/* Returns true if a prober or a rule reads the variable, or if it may be a misspelt variable of
   NCCL's or our own. Other variables may hold secrets. */
static bool is_relevant(const struct ni_keep_facts *k, const char *entry)
{
    const char *value;
    struct ni_span name;

    return ni_env_split(entry, &name, &value) &&
           (ni_has_prefix(entry, "NCCL_") || ni_has_prefix(entry, NI_OWN_PREFIX) ||
            ni_variable_form(k, name));
}

/* Records the environment, in the kernel's form. 0 or -errno. */
static int record_environ(struct ni_context *ctx, const struct ni_keep_facts *k)
{
    struct ni_text text = ni_long_text();
    int r = 0;

    for (char *const *e = ctx->env.entry; *e; e++)
        if (is_relevant(k, *e))
            ni_putn(&text, *e, strlen(*e) + 1);
    if (text.cut || text.len > NI_RECORDED_ENV)
        r = text.cut ? -ENOMEM : -EOVERFLOW;
    else
        r = ni_record_add(&ctx->root, "proc/self/environ", text.buf, text.len);
    ni_free_text(&text);
    return r;
}

/* Returns true if a variable of that name is set, and the name is like that of a variable. */
static bool is_variable(const struct ni_context *ctx, const char *name)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

    return name && name[strspn(name, letters)] == '\0' && ni_env_get(&ctx->env, name);
}

/* Reads the facts on which the forms of a masked recording depend. */
static void look_around(const struct ni_context *ctx, struct ni_keep_facts *ret)
{
    const struct ni_keep_facts usual = {.program = ctx->program};
    struct ni_dir root = ni_dir_top(&ctx->root);

    root.unrecorded = true;
    if (!ni_snapshot_options.mask || is_variable(ctx, ctx->options.network_status))
        ret->network_status = ctx->options.network_status;
    const char *named = ni_env_get(&ctx->env, NI_OWN_PREFIX "NETWORK_STATUS");
    ret->renames_status = named && ret->network_status && strcmp(named, ret->network_status) == 0 &&
                          !ni_variable_form(&usual, ni_span_of(named));
    (void)ni_readlink(&root, ret->exe, sizeof(ret->exe), "proc/self/exe");
    (void)ni_read(&root, ret->host, sizeof(ret->host), "proc/sys/kernel/hostname");
}

int ni_cmd_snapshot(struct ni_context *ctx)
{
    static const char header[] = "recorded by nccl-init " NCCL_INIT_VERSION;
    struct ni_keep_facts kept = {.program = ctx->program};
    const bool masked = ni_snapshot_options.mask;
    struct ni_text text;
    int r = ni_flow(ctx);

    if (r != 0)
        return r;
    text = ni_long_text();
    look_around(ctx, &kept);
    r = record_environ(ctx, &kept);
    if (!masked)
        ni_say(ctx, NI_LOG_WARN,
               "this recording may hold secrets: variables, settings and the kernel command line "
               "are in "
               "it as they are; --mask leaves them out");
    if (r == 0)
        r = masked ? ni_masked_text(ctx->root.record, header, ni_keep_file, &kept, &text)
                   : ni_record_text(ctx->root.record, header, &text);
    if (r < 0)
        ni_say(ctx, NI_LOG_ERROR, "cannot record: %s", NI_ERRNO(r));
    /* what may hold secrets is its owner's alone */
    const mode_t mode = masked ? ni_usual_mode() : 0600;
    r = r < 0 ? NI_EXIT_FAILED : ni_print_as(ctx, &text, mode);
    ni_free_text(&text);
    return r;
}

void ni_leave_snapshot(struct ni_context *ctx, const char *path)
{
    if (!path)
        return;
    memset(&ctx->inventory, 0, sizeof(ctx->inventory));
    memset(&ctx->plan, 0, sizeof(ctx->plan));
    memset(&ctx->findings, 0, sizeof(ctx->findings));
    ctx->verb = NI_VERB_SNAPSHOT;
    ctx->acts = false;
    ctx->options.output = path;
    ni_snapshot_options.mask = true;
    ctx->options.wait = 0;
    (void)ni_cmd_snapshot(ctx);
}
