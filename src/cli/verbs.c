/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the table of verbs. */
#include "cli/verbs.h"

#include "cli/dispatch.h"
#include "nccl_init/text.h"

const struct ni_verb *ni_verb_of(const struct ni_context *ctx)
{
    for (unsigned i = 0; i < ctx->verbs->n; i++) {
        if (ctx->verbs->at[i].bit == ctx->verb)
            return &ctx->verbs->at[i];
    }
    return NULL;
}

const struct ni_verb *ni_verb_named(const struct ni_verbs *verbs, struct ni_span name)
{
    for (unsigned i = 0; i < verbs->n; i++) {
        if (ni_span_is(name, verbs->at[i].name))
            return &verbs->at[i];
    }
    return NULL;
}
