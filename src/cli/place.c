/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the place where this process runs, for commands that people paste. */
#include "cli/place.h"

#include <string.h>

#include "cli/context.h"
#include "cli/option.h"
#include "nccl_init/env.h"
#include "nccl_init/text.h"
#include "print/words.h"
#include "sysroot/files.h"
#include "sysroot/root.h"

/* Reads the namespace that the kubelet writes beside the token of the pod's account (kubernetes
   1.37.2 plugin/pkg/admission/serviceaccount/admission.go); "": there is no such file. */
static void read_namespace(char *ret, size_t cap)
{
    struct ni_root root;
    unsigned line;

    ret[0] = '\0';
    if (ni_root_open("/", &root, &line) != 0)
        return;
    const struct ni_dir top = ni_dir_top(&root);

    (void)ni_read(&top, ret, cap, "var/run/secrets/kubernetes.io/serviceaccount/namespace");
    ni_root_close(&root);
}

void ni_name_place(const struct ni_context *ctx, struct ni_view *view)
{
    const char *node = ni_env_get(&ctx->own, "NODE_NAME");
    const char *space = ni_env_get(&ctx->own, "POD_NAMESPACE");

    view->node = NULL;
    view->space[0] = '\0';
    if (strcmp(ctx->options.root, "/") != 0)
        return;
    view->node = node && *node ? node : NULL;
    if (space && *space)
        (void)ni_copy(view->space, sizeof(view->space), space);
    else if (ctx->verb != NI_VERB_LOG) /* a log may be of pods elsewhere */
        read_namespace(view->space, sizeof(view->space));
}
