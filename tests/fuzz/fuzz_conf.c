/* SPDX-License-Identifier: Apache-2.0 */
/* nccl.conf: the two files that NCCL would read, a form feed between. What is taken for set is what
   NCCL's own reader would set. The same text is nvshmem.conf and the user database. */
#include "lib/readers.h"
#include "lib/sources.h"

#include "nccl_init/base.h"
#include "nccl_init/inventory.h"
#include "nccl_init/known.h"
#include "nccl_init/plan.h"
#include "nccl_init/text.h"
#include "node/conf.h"
#include "node/read.h"
#include "sysroot/root.h"
#include <stdlib.h>
#include <string.h>

/* As NCCL reads them: of each name the first definition counts. */
static bool nccl_sets(char *const file[2], const char *name, char value[NI_VALUE])
{
    return reader_conf(file[0], name, value) || reader_conf(file[1], name, value);
}

static void check_entries(const struct ni_inventory *inv, char *const file[2])
{
    char value[NI_VALUE];

    for (unsigned i = 0; i < inv->n_conf; i++) {
        const struct ni_conf_entry *e = &inv->conf[i];
        if (e->overrides)
            continue;
        FUZZ_CHECK(nccl_sets(file, e->name, value), "NCCL does not see %s", e->name);
        FUZZ_CHECK(strcmp(value, e->value) == 0, "NCCL reads `%s` of %s, not `%s`", value, e->name,
                   e->value);
    }
}

/* Each NCCL_ line is there. */
static void check_lines(const struct ni_inventory *inv, const char *file)
{
    struct fuzz_input in = {file, strlen(file)};
    struct ni_span line;

    while (fuzz_piece(&in, '\n', &line)) {
        const char *eq = memchr(line.p, '=', line.n);
        struct ni_span name = {line.p, eq ? (size_t)(eq - line.p) : 0};
        bool found =
            line.n < 5 || memcmp(line.p, "NCCL_", 5) != 0 || !ni_is_name(name, NI_DEV_NAME);
        for (unsigned i = 0; i < inv->n_conf && !found; i++)
            found = ni_span_is(name, inv->conf[i].name);
        FUZZ_CHECK(found || inv->n_conf == NI_MAX_CONF, "NCCL sees `%.*s`", (int)name.n, name.p);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct ni_probe p;
    struct fuzz_input in = {(const char *)data, size};
    struct pod *pod = sources_pod(POD_ONE);
    struct ni_span part[2] = {{"", 0}, {"", 0}};
    char *file[2];

    if (size > READER_MAX)
        return 0;
    (void)fuzz_piece(&in, '\f', &part[0]);
    if (in.n > 0)
        part[1] = (struct ni_span){in.p, in.n};
    for (unsigned i = 0; i < 2; i++) {
        file[i] = fuzz_text(part[i].p, part[i].n);
        slots_fill(sources_node(), i == 0 ? "root/.nccl.conf" : "etc/nccl.conf", file[i],
                   strlen(file[i]));
    }
    slots_fill(sources_node(), "etc/nvshmem.conf", file[0], strlen(file[0]));
    slots_fill(sources_node(), "etc/passwd", file[1], strlen(file[1]));
    (void)pod_env(pod, "HOME=/root", strlen("HOME=/root"));
    const struct ni_dir top = ni_dir_top(&pod->ctx.root);
    p.root = &top;
    p.env = &pod->ctx.env;
    p.inv = &pod->ctx.inventory;
    p.f = &pod->ctx.findings;
    p.ask = &(struct ni_ask){.nvshmem = true};
    p.inv->self.real_uid = (struct ni_num){0, NI_KNOWN};
    ni_probe_conf(&p);
    check_findings(p.f);
    check_lines(p.inv, file[0]);
    check_lines(p.inv, file[1]);
    check_entries(p.inv, file);
    slots_reset(sources_node());
    pod_free_entries(pod);
    free(file[0]);
    free(file[1]);
    return 0;
}
