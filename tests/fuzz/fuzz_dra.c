/* SPDX-License-Identifier: Apache-2.0 */
/* Metadata files of DRA drivers: two of them, a form feed between. Which is listed first means
   nothing. A file is a stream of objects. */
#include "lib/sources.h"

#include "nccl_init/allocation.h"
#include "nccl_init/base.h"
#include "nccl_init/text.h"
#include "sysroot/root.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define BASE "var/run/kubernetes.io/dra-device-attributes/"

/* The first object of a known version, of those that are read; NULL. */
static json_t *first_known(struct ni_span file)
{
    enum { MOST = 16 };
    json_error_t err;

    for (unsigned i = 0; i < MOST; i++) {
        json_t *top =
            json_loadb(file.p, file.n, JSON_REJECT_DUPLICATES | JSON_DISABLE_EOF_CHECK, &err);
        const char *version = json_string_value(json_object_get(top, "apiVersion"));
        const char *kind = json_string_value(json_object_get(top, "kind"));
        const bool known = version && (strcmp(version, "metadata.resource.k8s.io/v1beta1") == 0 ||
                                       strcmp(version, "metadata.resource.k8s.io/v1alpha1") == 0);
        if (known && kind && strcmp(kind, "DeviceMetadata") == 0)
            return top;
        const bool other = version && !known;
        json_decref(top);
        if (!other)
            return NULL;
        file.p += err.position;
        file.n -= (size_t)err.position;
    }
    return NULL;
}

/* Each address that a file gives a device was found. */
static void check_file(const struct pod *pod, struct ni_span file)
{
    static const char *const keys[] = {"resource.kubernetes.io/pciBusID",
                                       "sriovnetwork.k8snetworkplumbingwg.io/pciAddress"};
    json_t *top, *request, *device;
    size_t i, k;

    if (!sources_flat(file.p, file.n) || memchr(file.p, '\0', file.n))
        return;
    json_set_alloc_funcs(malloc, free);
    top = first_known(file);
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
    slots_fill(node, BASE "resourceclaims/claim/request-1/driver-metadata.json", file.p, file.n);
    if (in.n > 0)
        slots_fill(node, BASE "resourceclaimtemplates/claim/request-2/driver-metadata.json", in.p,
                   in.n);
    sources_ask(one);
    if (!strstr(text, "interfaceName")) /* else an address may be that of an interface's function */
        sources_named(one, NI_SRC_DRA, text);
    check_file(one, file);
    check_file(one, (struct ni_span){in.n ? in.p : "", in.n});
    slots_reset(node);
    free(text);
    return 0;
}
