/* SPDX-License-Identifier: Apache-2.0 */
/* --version: ours, and those of the libraries that are linked in. */
#include "nccl_init/cmd.h"

#include <errno.h>
#include <jansson.h>

#define TEXT_OF(...) #__VA_ARGS__
#define TEXT(...)    TEXT_OF(__VA_ARGS__)

int ni_cmd_version(struct ni_context *ctx)
{
    char buf[512];
    struct ni_text t = ni_text_on(buf, sizeof(buf));

    ni_put(&t, "nccl-init " NCCL_INIT_VERSION "\n");
#if NI_HAVE_VERBS
    ni_put(&t, "libibverbs (rdma-core " NI_RDMA_CORE_VERSION ")");
#ifdef RDMA_STATIC_PROVIDERS
    ni_put(&t, ", providers " TEXT(RDMA_STATIC_PROVIDERS));
#endif
    ni_put(&t, "\nlibnl " NI_LIBNL_VERSION "\n");
#else
    ni_put(&t, "libibverbs: not built in\n");
#endif
    ni_putf(&t, "jansson %s\n", jansson_version_str());
    return ni_print(ctx, &t);
}
