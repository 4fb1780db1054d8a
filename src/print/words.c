/* SPDX-License-Identifier: Apache-2.0 */
/* Words that all reports share. */
#include "print/words.h"

#include <string.h>
#include <time.h>

#include "nccl_init/allocation.h"
#include "nccl_init/known.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "print/json_write.h"

const struct ni_words ni_source_words[] = {
#define SOURCE_WORDS(name, word, text) [NI_SRC_##name] = {word, text},
    NI_SOURCES(SOURCE_WORDS)
#undef SOURCE_WORDS
};

const struct ni_words ni_link_words[] = {
    [NI_LINK_UNKNOWN] = {NULL, "unknown"},
    [NI_LINK_IB] = {"infiniband", "InfiniBand"},
    [NI_LINK_ROCE] = {"roce", "RoCE"},
};

/* ---- for people ---- */

const char *ni_plural(unsigned n)
{
    return n == 1 ? "" : "s";
}

const char *ni_is_or_are(unsigned n)
{
    return n == 1 ? "is" : "are";
}

void ni_put_now(struct ni_text *t)
{
    const time_t now = time(NULL);
    char text[24];
    struct tm utc;

    if (gmtime_r(&now, &utc) && strftime(text, sizeof(text), "%Y-%m-%d %H:%MZ", &utc) > 0)
        ni_put(t, text);
}

void ni_put_origin(struct ni_text *t, const struct ni_view *view)
{
    ni_put(t, ni_source_words[view->inv->source].text);
    if (strcmp(view->root, "/") != 0) {
        ni_put(t, "; root ");
        ni_quote(t, view->root);
    }
}

/* ---- in JSON ---- */

struct ni_json ni_json_report(struct ni_text *out)
{
    struct ni_json j = ni_json_on(out, NI_JSON_INDENTED);

    ni_json_object(&j, NULL);
    ni_json_int(&j, "schema", NI_JSON_SCHEMA);
    return j;
}

void ni_json_list(struct ni_json *j, const char *key, const struct ni_view *view, int first,
                  unsigned n, ni_json_item *put)
{
    ni_json_array(j, key);
    for (unsigned i = 0; i < n; i++) {
        ni_json_object(j, NULL);
        put(j, view, (unsigned)first + i);
        ni_json_end(j);
    }
    ni_json_end(j);
}

void ni_json_yes_no(struct ni_json *j, const char *key, enum ni_known known)
{
    if (known == NI_KNOWN || known == NI_ABSENT)
        ni_json_bool(j, key, known == NI_KNOWN);
    else
        ni_json_text(j, key, NULL);
}
