/* SPDX-License-Identifier: Apache-2.0 */
/* A pod on a node, from text through the plan to everything that is written of it, and back. A
   recording of it gives the same plan. */
#include "lib/check.h"
#include "lib/readers.h"
#include "nccl_init/act.h"

#include <stdlib.h>
#include <string.h>

static int write_text(const struct ni_root *root, int fd, bool mask)
{
    char *text;
    size_t n;
    int r = ni_record_text(root, "of fuzzing", mask, &text, &n);

    if (r == 0)
        r = ni_write_all(fd, text, n);
    free(text);
    return r;
}

static int write_record(int fd, const void *arg)
{
    return write_text(arg, fd, false);
}

static int write_masked(int fd, const void *arg)
{
    return write_text(arg, fd, true);
}

static void check_written(const struct pod *pod)
{
    const struct ni_view view = {
        .inv = &pod->ctx.inventory,
        .plan = &pod->ctx.plan,
        .findings = &pod->ctx.findings,
        .root = "pod",
        .diagnosis = pod->ctx.verb == NI_VERB_DOCTOR ? &pod->ctx.diagnosis : NULL,
    };

    reader_check_env(&pod->ctx.plan);
    reader_check_reports(&view);
}

/* What is recorded on the way replays as what was recorded. */
static void check_replay(struct pod *one)
{
    struct pod *other = pod_new(POD_OTHER);
    unsigned line;
    size_t n;
    int err;

    pod_share(other, one);
    FUZZ_CHECK(ni_root_record(&other->ctx.root) == 0, "no memory for a record");
    pod_decide(other);
    check_same(&one->ctx, &other->ctx, "while recording");
    const struct ni_root record = other->ctx.root;
    const char *text = reader_output(write_masked, &record, &n, &err);
    FUZZ_CHECK(err == 0, "masked record: %d", err);
    ni_root_close(&one->ctx.root); /* the record stays */
    struct ni_root replay = pod_tree(text, n, &err, &line);
    FUZZ_CHECK(err == 0, "line %u of the masked record: %d", line, err);
    ni_root_close(&replay);
    text = reader_output(write_record, &record, &n, &err);
    FUZZ_CHECK(err == 0, "record: %d", err);
    replay = pod_tree(text, n, &err, &line);
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
