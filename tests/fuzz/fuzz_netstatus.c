/* SPDX-License-Identifier: Apache-2.0 */
/* The network-status annotation of Multus: the same from the variable and from the file. */
#include "lib/sources.h"

#include "nccl_init/allocation.h"
#include "nccl_init/inventory.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* Each address that a network has was found. */
static void check_status(const struct pod *pod, const char *text)
{
    json_t *top, *network;
    size_t i;

    json_set_alloc_funcs(malloc, free);
    top = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    json_array_foreach(top, i, network)
    {
        json_t *pci = json_object_get(json_object_get(network, "device-info"), "pci");
        sources_found(pod, json_string_value(json_object_get(pci, "pci-address")));
    }
    json_decref(top);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char head[] = "NETWORK_STATUS=";
    struct pod *env = sources_pod(POD_ONE), *file = sources_pod(POD_OTHER);
    const struct ni_inventory *a = &env->ctx.inventory, *b = &file->ctx.inventory;
    char *text = fuzz_text((const char *)data, size);
    char *entry = malloc(sizeof(head) + strlen(text));

    FUZZ_CHECK(entry, "no memory");
    strcat(strcpy(entry, head), text);
    (void)pod_env(env, entry, strlen(entry));
    sources_ask(env);
    sources_named(env, NI_SRC_NETSTATUS, text);
    if (sources_flat(text, strlen(text)))
        check_status(env, text);
    slots_fill(sources_node(), "etc/podinfo/network-status", (const char *)data, size);
    sources_ask(file);
    sources_named(file, NI_SRC_NETSTATUS, text);
    slots_reset(sources_node());
    /* The door takes off a last line end, which JSON does not see, and no file with a NUL in it. */
    bool same = !memchr(data, '\0', size);
    FUZZ_CHECK(!same || (a->source == b->source && a->n_hca == b->n_hca),
               "%u HCAs from the variable, %u from the file", a->n_hca, b->n_hca);
    for (unsigned i = 0; same && i < a->n_hca; i++)
        FUZZ_CHECK(strcmp(a->hca[i].name, b->hca[i].name) == 0, "%s, and %s", a->hca[i].name,
                   b->hca[i].name);
    pod_free_entries(env);
    free(entry);
    free(text);
    return 0;
}
