/* SPDX-License-Identifier: Apache-2.0 */
/* Device nodes of HCAs, /dev/infiniband/uverbsN. */
#include "rules/hca_node.h"

#include "nccl_init/errno.h"
#include "nccl_init/known.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"

/* libibverbs opens /dev/infiniband/uverbsN; if it cannot, NCCL does not use the device, whatever
   NCCL_IB_HCA says (NCCL 2.30.7 transport/net_ib/init.cc ncclIbInitDevices). */
bool ni_lacks_uverbs(const struct ni_uverbs *node)
{
    return node->known == NI_ABSENT || (node->known == NI_KNOWN && node->err != 0);
}

bool ni_put_node(const struct ni_uverbs *node, struct ni_text *t)
{
    if (!ni_lacks_uverbs(node))
        return false;
    if (node->known == NI_ABSENT)
        ni_put(t, "the kernel has no uverbs device for it");
    else if (ni_known_of(node->err) == NI_ABSENT)
        ni_putf(t, "/dev/infiniband/%s is not in the container", node->name);
    else
        ni_putf(t, "opening /dev/infiniband/%s gives %s", node->name, NI_ERRNO(node->err));
    return true;
}
