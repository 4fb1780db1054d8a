/* SPDX-License-Identifier: Apache-2.0 */
/* A pod on a node, from text through the plan to everything that is written of it, and back. A
   recording of it gives the same plan. */
#include "lib/check.h"
#include "lib/readers.h"

#include "cli/option.h"
#include "main.h"
#include "nccl_init/text.h"
#include "print/layout.h"
#include "print/words.h"
#include "snapshot/keep.h"
#include "snapshot/keep_forms.h"
#include "snapshot/masked.h"
#include "sysroot/record.h"
#include "sysroot/root.h"
#include "sysroot/tree.h"
#include <stdlib.h>
#include <string.h>

static void check_written(const struct pod *pod)
{
    const struct ni_view view = {
        .inv = &pod->ctx.inventory,
        .plan = &pod->ctx.plan,
        .findings = &pod->ctx.findings,
        .root = "pod",
    };

    reader_check_env(&view);
    reader_check_reports(&view, pod->ctx.verb == NI_VERB_DOCTOR ? &pod->diagnosis : NULL);
}

/* What is recorded on the way replays as what was recorded. */
static void check_replay(struct pod *one)
{
    struct pod *other = pod_new(POD_OTHER);
    unsigned line;
    struct ni_text text = ni_long_text();
    int err;

    pod_share(other, one);
    FUZZ_CHECK(ni_root_record(&other->ctx.root) == 0, "no memory for a record");
    pod_decide(other);
    check_same(&one->ctx, &other->ctx, "while recording");
    const struct ni_root record = other->ctx.root;
    struct ni_keep_facts kept = {
        .program = &ni_main_program, .exe = "/usr/bin/nccl-init", .host = "node"};
    err = ni_masked_text(record.record, "of fuzzing", ni_keep_file, &kept, &text);
    FUZZ_CHECK(err == 0, "masked record: %d", err);
    ni_root_close(&one->ctx.root); /* the record stays */
    struct ni_root replay = pod_tree(text.buf, text.len, &err, &line);
    FUZZ_CHECK(err == 0, "line %u of the masked record: %d", line, err);
    ni_root_close(&replay);
    text.len = 0;
    err = ni_record_text(record.record, "of fuzzing", &text);
    FUZZ_CHECK(err == 0, "record: %d", err);
    replay = pod_tree(text.buf, text.len, &err, &line);
    ni_free_text(&text);
    FUZZ_CHECK(err == 0, "line %u of the record: %d", line, err);
    ni_tree_free(record.record);
    other = pod_new(POD_OTHER);
    pod_share(other, one);
    other->ctx.root = replay;
    pod_decide(other);
    check_same(&one->ctx, &other->ctx, "replayed");
    ni_root_close(&replay);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pod *pod = pod_new(POD_ONE);

    if (pod_read(pod, data, size)) {
        pod_decide(pod);
        check_pod(pod);
        check_written(pod);
        check_replay(pod);
    }
    pod_free(pod);
    return 0;
}
