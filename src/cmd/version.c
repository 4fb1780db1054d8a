/* SPDX-License-Identifier: Apache-2.0 */
/* --version: ours, and those of the libraries that are linked in. */
#include "nccl_init/cmd.h"

#include <errno.h>
#include <jansson.h>

#if NI_HAVE_VERBS
#include "nccl_init/verbs.h"

#define TEXT_OF(...) #__VA_ARGS__
#define TEXT(...)    TEXT_OF(__VA_ARGS__)

/* Calls the library, so that it stays linked and what a start costs is told honestly. */
static void put_verbs(struct ni_text *t)
{
    int n = ni_verbs_devices();

    ni_put(t, "libibverbs (rdma-core " NI_RDMA_CORE_VERSION "), ");
#ifdef RDMA_STATIC_PROVIDERS
    ni_put(t, "providers " TEXT(RDMA_STATIC_PROVIDERS) ", ");
#endif
    if (n >= 0)
        ni_putf(t, "devices here: %d\n", n);
    else
        ni_putf(t, "devices here: none (%s)\n",
                n == -ENOSYS ? "the kernel has no RDMA" : ni_errno_text(-n));
    ni_put(t, "libnl " NI_LIBNL_VERSION "\n");
}
#else
static void put_verbs(struct ni_text *t)
{
    ni_put(t, "libibverbs: not built in\n");
}
#endif

int ni_cmd_version(struct ni_context *ctx)
{
    char buf[512];
    struct ni_text t = ni_text_on(buf, sizeof(buf));

    ni_put(&t, "nccl-init " NCCL_INIT_VERSION "\n");
    put_verbs(&t);
    ni_putf(&t, "jansson %s\n", jansson_version_str());
    return ni_print(ctx, &t);
}
