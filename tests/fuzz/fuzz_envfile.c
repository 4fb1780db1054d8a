/* SPDX-License-Identifier: Apache-2.0 */
/* Environment files of any settings: NAME=VALUE, a form feed behind each. Every form gives its reader
   back what was written, or refuses. */
#include "lib/readers.h"

#include "nccl_init/base.h"
#include "nccl_init/inventory.h"
#include "nccl_init/plan.h"
#include "nccl_init/text.h"
#include "print/words.h"
#include <string.h>

static struct ni_plan plan;
static struct ni_inventory no_gpu;
static char names[NI_MAX_SETTING][NI_DEV_NAME];

static void add(struct ni_span line)
{
    const char *eq = memchr(line.p, '=', line.n);
    struct ni_setting *s = &plan.setting[plan.n_setting];
    char *name = names[plan.n_setting];
    size_t n = eq ? (size_t)(eq - line.p) : 0;
    /* The program's own names are of these. */
    static const char letters[] = "_ABCDEFGHIJKLMNOPQRSTUVWXYZ";

    if (!eq || memchr(line.p, '\0', line.n) || !ni_copyn(name, NI_DEV_NAME, line.p, n) ||
        !ni_copyn(s->value, sizeof(s->value), eq + 1, line.n - n - 1) || ni_plan_get(&plan, name))
        return;
    if (n == 0 || strspn(name, letters) != n)
        return;
    s->name = name;
    s->origin = NI_FROM_RULE;
    plan.n_setting++;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {(const char *)data, size};
    struct ni_span line;

    plan.n_setting = 0;
    while (plan.n_setting < NI_MAX_SETTING && fuzz_piece(&in, '\f', &line))
        add(line);
    reader_check_env(&(struct ni_view){.inv = &no_gpu, .plan = &plan});
    return 0;
}
