/* SPDX-License-Identifier: Apache-2.0 */
/* Metadata files of DRA drivers: two of them, a form feed between. Which is listed first means
   nothing. */
#include "lib/sources.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define CLAIM "var/run/dra-device-attributes/claim/"

/* Each address that a file gives a device was found. */
static void check_file(const struct pod *pod, struct ni_span file)
{
    static const char *const keys[] = {"resource.kubernetes.io/pciBusID",
                                       "sriovnetwork.k8snetworkplumbingwg.io/pciAddress"};
    json_t *top, *request, *device;
    size_t i, k;

    if (!sources_flat(file.p, file.n))
        return;
    json_set_alloc_funcs(malloc, free);
    top = json_loadb(file.p, file.n, JSON_REJECT_DUPLICATES, NULL);
    json_array_foreach(json_object_get(top, "requests"), i, request)
    {
        json_array_foreach(json_object_get(request, "devices"), k, device)
        {
            json_t *attributes = json_object_get(device, "attributes");
            const char *id = NULL;
            for (unsigned a = 0; a < NI_COUNT(keys) && !id; a++)
                id = json_string_value(
                    json_object_get(json_object_get(attributes, keys[a]), "string"));
            sources_found(pod, id);
        }
    }
    json_decref(top);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {(const char *)data, size};
    struct pod *one = sources_pod(POD_ONE);
    struct ni_root *node = sources_node();
    struct ni_span file = {"", 0};
    char *text = fuzz_text((const char *)data, size);

    (void)fuzz_piece(&in, '\f', &file);
    slots_fill(node, CLAIM "request-1/driver-metadata.json", file.p, file.n);
    if (in.n > 0)
        slots_fill(node, CLAIM "request-2/driver-metadata.json", in.p, in.n);
    sources_ask(one);
    sources_named(one, NI_SRC_DRA, text);
    check_file(one, file);
    check_file(one, (struct ni_span){in.n ? in.p : "", in.n});
    slots_reset(node);
    free(text);
    return 0;
}
