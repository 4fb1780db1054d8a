/* SPDX-License-Identifier: Apache-2.0 */
/* Judges a trial of GPU memory that was recorded, or made up: usage: trial NODE.tree WORDS text|json|svg.
   WORDS has what the helper said of each GPU with each chosen port (--pairs=all), and comments. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/context.h"
#include "cli/look.h"
#include "main.h"
#include "nccl_init/text.h"
#include "node/gather.h"
#include "print/findings.h"
#include "print/json_write.h"
#include "print/layout.h"
#include "print/words.h"
#include "selftest/gpu.h"
#include "selftest/gpu_svg.h"
#include "sysroot/root.h"
#include "system/helper.h"

static struct ni_context ctx;
static struct ni_gpu_trial all = {.memlock = -1, .took_ms = 2310};
static struct ni_helper_result run = {.state = NI_HELPER_ENDED};

static void die(const char *what, const char *of)
{
    fprintf(stderr, "trial: %s: %s\n", what, of);
    exit(2);
}

static void read_words(const char *path)
{
    struct ni_text words = ni_text_on(run.words, sizeof(run.words));
    FILE *from = fopen(path, "r");
    char line[512];

    if (!from)
        die("no such file", path);
    while (fgets(line, sizeof(line), from)) {
        if (line[0] != '#')
            ni_put(&words, line);
    }
    fclose(from);
    if (words.cut)
        die("too long", path);
}

int main(int argc, char **argv)
{
    static char *none[] = {NULL};
    const struct ni_ask ask = {.all = true};
    struct ni_text out = ni_long_text();
    unsigned line;

    if (argc != 4)
        die("usage", "trial NODE.tree WORDS text|json|svg");
    ni_context_init(&ctx, &ni_main_program, none);
    ctx.opened = true;
    if (ni_root_open(argv[1], &ctx.root, &line) < 0)
        die("no node", argv[1]);
    ni_look(&ctx, &ask);
    ni_root_close(&ctx.root);
    read_words(argv[2]);
    ni_plan_gpus(&ctx.work, NI_PAIRS_ALL, &all);
    ctx.findings.n = 0; /* those of the plan are not what is shown */
    ni_judge_gpus(&ctx.work, &run, &all);
    const struct ni_view view = {
        .inv = &ctx.inventory, .plan = &ctx.plan, .findings = &ctx.findings, .root = "/"};
    if (strcmp(argv[3], "svg") == 0) {
        ni_put_gpu_svg(&out, &view, &all);
    } else if (strcmp(argv[3], "json") == 0) {
        struct ni_json json = ni_json_report(&out);

        ni_json_gpu_trial(&json, &view, &all);
        ni_json_findings(&json, &ctx.findings);
        ni_json_end(&json);
    } else {
        ni_put_gpu_trial(&out, &view, &all);
        ni_put_findings(&out, &view, NI_WARNING);
    }
    fputs(out.buf, stdout);
    ni_free_text(&out);
    return 0;
}
