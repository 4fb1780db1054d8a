/* SPDX-License-Identifier: Apache-2.0 */
/* A set of capabilities, in words. */
#include "nccl_init/caps.h"
#include "nccl_init/text.h"

void ni_put_caps(struct ni_text *t, uint64_t set, const struct ni_cap_names *names)
{
    const char *before = "";

    for (unsigned cap = 0; cap < NI_CAPS; cap++) {
        if (!ni_has_cap(set, cap))
            continue;
        ni_put(t, before);
        before = ", ";
        if (names->at[cap][0] != '\0')
            ni_put(t, names->at[cap]);
        else
            ni_putf(t, "capability %u", cap);
    }
}
