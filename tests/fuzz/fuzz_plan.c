/* SPDX-License-Identifier: Apache-2.0 */
/* A pod on a node, from text to the plan. It does not depend on the order of the environment or of
   listings, nor on what ran before. */
#include "lib/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pod *one = pod_new(POD_ONE), *other;

    if (pod_read(one, data, size)) {
        pod_decide(one);
        check_pod(one);
        other = pod_new(POD_OTHER);
        pod_share(other, one);
        if (size % 4 == 0) { /* else the next is this one as well */
            pod_decide(other);
            check_same(&one->ctx, &other->ctx, "decided again");
            other = pod_new(POD_OTHER);
            pod_share(other, one);
        }
        pod_reverse_env(other);
        pod_decide(other);
        check_same(&one->ctx, &other->ctx, "in the opposite order");
    }
    pod_free(one);
    return 0;
}
