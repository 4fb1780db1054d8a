/* SPDX-License-Identifier: Apache-2.0 */
/* Metadata files of DRA drivers: two of them, a form feed between. Which is listed first means
   nothing. */
#include "lib/sources.h"

#include <stdlib.h>
#include <string.h>

#define CLAIM "var/run/dra-device-attributes/claim/"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {(const char *)data, size};
    struct pod *one = sources_pod(POD_ONE), *other = sources_pod(POD_OTHER);
    struct ni_root *node = sources_node();
    struct ni_span file = {"", 0};
    char *text = fuzz_text((const char *)data, size);

    (void)fuzz_piece(&in, '\f', &file);
    slots_fill(node, CLAIM "request-1/driver-metadata.json", file.p, file.n);
    if (in.n > 0)
        slots_fill(node, CLAIM "request-2/driver-metadata.json", in.p, in.n);
    sources_ask(one);
    sources_named(one, NI_SRC_DRA, text);
    pod_reverse_listings(node->tree);
    sources_ask(other);
    pod_reverse_listings(node->tree);
    check_same(&one->ctx, &other->ctx, "listed in the opposite order");
    slots_reset(node);
    free(text);
    return 0;
}
