/* SPDX-License-Identifier: Apache-2.0 */
/* A log of NCCL: any bytes. However they are cut into reads, the same is told, in lines that print
   and in JSON that jansson reads. */
#include "lib/check.h"
#include "lib/fuzz.h"

#include "log/judge.h"
#include "log/read.h"
#include "log/report.h"
#include "log/state.h"
#include "nccl_init/findings.h"
#include "nccl_init/text.h"
#include "print/words.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* Read in pieces of `step` bytes. */
static struct ni_log *judged(const uint8_t *data, size_t size, size_t step, struct ni_findings *f)
{
    struct ni_log *log = calloc(1, sizeof(*log));
    size_t room, n;

    memset(f, 0, sizeof(*f));
    for (size_t at = 0; at < size; at += n) {
        char *to = ni_log_room(log, &room);

        FUZZ_CHECK(room > 0, "no room at %zu", at);
        n = size - at < step ? size - at : step;
        n = n < room ? n : room;
        memcpy(to, data + at, n);
        ni_log_got(log, "log", n);
    }
    ni_log_got(log, "log", 0);
    ni_log_judge(log, true, false, f);
    check_findings(f);
    return log;
}

static void check_text(const char *s)
{
    for (; *s; s++)
        FUZZ_CHECK(*s == '\n' || ((unsigned char)*s >= ' ' && (unsigned char)*s < 0x7f), "byte %d",
                   *s);
}

static void check_reports(const struct ni_log *log, const struct ni_findings *f)
{
    static char buf[1 << 22];
    const struct ni_view view = {.findings = f};
    struct ni_text t = ni_text_on(buf, sizeof(buf));
    json_t *top;

    ni_put_log(&t, &view, log);
    check_text(buf);
    t = ni_text_on(buf, sizeof(buf));
    ni_put_log_json(&t, &view, log);
    FUZZ_CHECK(!t.cut, "too long");
    check_text(buf);
    top = json_loads(buf, JSON_REJECT_DUPLICATES, NULL);
    FUZZ_CHECK(top && json_array_size(json_object_get(top, "ranks")) == log->n, "no JSON: %s", buf);
    json_decref(top);
}

static bool are_same(const struct ni_findings *f, const struct ni_findings *g)
{
    for (unsigned i = 0; i < f->n && i < g->n; i++) {
        const struct ni_finding *a = &f->at[i], *b = &g->at[i];

        if (a->id != b->id || strcmp(a->subject, b->subject) != 0 ||
            strcmp(a->message, b->message) != 0)
            return false;
    }
    return f->n == g->n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct ni_findings f, g;
    struct ni_log *log = judged(data, size, NI_LOG_BUF, &f);
    struct ni_log *again = judged(data, size, size > 0 ? 1 + data[0] : 1, &g);

    FUZZ_CHECK(strcmp(log->sentence, again->sentence) == 0, "%s, and %s", log->sentence,
               again->sentence);
    FUZZ_CHECK(are_same(&f, &g), "other findings");
    FUZZ_CHECK(log->failed == again->failed, "another status");
    check_reports(log, &f);
    free(log);
    free(again);
    return 0;
}
