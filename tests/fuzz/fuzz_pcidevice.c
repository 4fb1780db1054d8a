/* SPDX-License-Identifier: Apache-2.0 */
/* PCIDEVICE_* and SRIOVNETWORK_*: lists and JSON. Each line is a variable of that kind, or the value
   of one. What they name is found, and nothing else, in whatever order they stand. */
#include "lib/sources.h"

#include "nccl_init/allocation.h"
#include "nccl_init/env.h"
#include "nccl_init/text.h"
#include <stdlib.h>
#include <string.h>

static void add_line(struct pod *pod, struct ni_span line)
{
    char head[48] = "";
    bool whole = (line.n > 10 && memcmp(line.p, "PCIDEVICE_", 10) == 0) ||
                 (line.n > 13 && memcmp(line.p, "SRIOVNETWORK_", 13) == 0);

    if (!whole)
        (void)ni_format(head, sizeof(head), "PCIDEVICE_R%u%s=", pod->n_entry,
                        line.n > 0 && line.p[0] == '{' ? "_INFO" : "");
    size_t n = strlen(head);
    char *entry = malloc(n + line.n + 1);
    FUZZ_CHECK(entry, "no memory");
    memcpy(entry, head, n);
    memcpy(entry + n, line.p, line.n);
    (void)pod_env(pod, entry, n + line.n);
    free(entry);
}

/* A list that names a device by its plain address gives its HCA. */
static void check_lists(const struct pod *pod)
{
    for (unsigned i = 0; i < pod->n_entry; i++) {
        char *copy = strdup(pod->entry[i]), *cursor = copy;
        FUZZ_CHECK(copy, "no memory");
        const char *name = strsep(&cursor, "=");
        const char *value = cursor ? cursor + strspn(cursor, " \t\r\n") : "{";
        bool list = ni_has_prefix(name, "PCIDEVICE_R") && *value != '{' &&
                    ni_env_get(&pod->ctx.env, name) == strchr(pod->entry[i], '=') + 1;
        for (char *e; list && (e = strsep(&cursor, ",; ")) != NULL;)
            sources_found(pod, e);
        free(copy);
    }
}

static void check_given(const struct pod *pod, const uint8_t *data, size_t size)
{
    char *text = fuzz_text((const char *)data, size);

    sources_named(pod, NI_SRC_PCIDEVICE, text);
    sources_named(pod, NI_SRC_SRIOVNET, text);
    if (pod->n_entry < 250) /* of more variables than are read, which ones is for regressions */
        check_lists(pod);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {(const char *)data, size};
    struct pod *one = sources_pod(POD_ONE), *other = sources_pod(POD_OTHER);
    struct ni_span line;

    while (size <= FUZZ_MAX && one->n_entry < POD_ENTRIES && fuzz_piece(&in, '\n', &line))
        add_line(one, line);
    sources_ask(one);
    check_given(one, data, size);
    pod_share(other, one);
    pod_reverse_env(other);
    sources_ask(other);
    check_same(&one->ctx, &other->ctx, "in the opposite order");
    pod_free_entries(one);
    return 0;
}
