/* SPDX-License-Identifier: Apache-2.0 */
/* Untrusted JSON, read through jansson: duplicate keys are refused, depth is bounded, no file is
   opened for its hash seed. */
#include "print/json_read.h"

#include <jansson.h>
#include <string.h>

#include "findings/device.h"
#include "nccl_init/findings.h"
#include "nccl_init/index.h"
#include "nccl_init/text.h"

enum {
    MAX_DEPTH = 16,      /* device plugins write 3, DRA metadata and OCI runtimes 6 */
    MAX_VALUES = 1 << 18 /* config.json of a container: some thousands */
};

/* Returns true if jansson may parse the text. It parses by recursion, and needs some 300 bytes for
   an empty object, so a text that nests deeper or has more values than any plugin or runtime writes
   is refused. */
static bool is_bounded(const char *s, struct ni_text *why)
{
    int depth = 0, values = 1;
    bool in_string = false;

    for (; *s; s++) {
        if (in_string) {
            if (*s == '\\' && s[1])
                s++;
            else if (*s == '"')
                in_string = false;
            continue;
        }
        if (*s == '"')
            in_string = true;
        else if (*s == '{' || *s == '[')
            depth++;
        else if (*s == '}' || *s == ']')
            depth--;
        values += *s == ',' || *s == '{' || *s == '[';
        if (depth > MAX_DEPTH) {
            ni_putf(why, "JSON nested deeper than %d", MAX_DEPTH);
            return false;
        }
        if (values > MAX_VALUES) {
            ni_putf(why, "JSON with more than %d values", MAX_VALUES);
            return false;
        }
    }
    return true;
}

static json_t *load(const char *text, size_t flags, json_error_t *err, struct ni_text *why)
{
    if (!is_bounded(text, why))
        return NULL;
    /* jansson would read /dev/urandom for its hash seed; the kernel gave us 16 random bytes
       already. */
    json_object_seed((size_t)ni_seed());
    json_t *top = json_loads(text, JSON_REJECT_DUPLICATES | flags, err);
    if (!top) { /* its message may repeat bytes of the text */
        ni_put(why, "no JSON: ");
        ni_quote(why, err->text);
        ni_putf(why, " at byte %d", err->position);
    }
    return top;
}

struct json_t *ni_read_json(const char *text, struct ni_text *why)
{
    json_error_t err = {0};

    return load(text, 0, &err, why);
}

struct json_t *ni_read_json_as_reals(const char *text, struct ni_text *why)
{
    json_error_t err = {0};

    return load(text, JSON_DECODE_INT_AS_REAL, &err, why);
}

struct json_t *ni_read_json_first(const char **text, bool *ret_cut, struct ni_text *why)
{
    json_error_t err = {0};
    json_t *top = load(*text, JSON_DISABLE_EOF_CHECK, &err, why);

    *ret_cut = !top && json_error_code(&err) == json_error_premature_end_of_input;
    if (top)
        *text += err.position;
    return top;
}

struct json_t *ni_parse_json(struct ni_findings *f, const char *subject, const char *text)
{
    struct ni_text why = NI_TEXT(JSON_ERROR_TEXT_LENGTH + 64);
    json_t *top = ni_read_json(text, &why);

    if (!top)
        ni_report(f, NI_F_ALLOC_INFO_INVALID, subject, "%s", why.buf);
    return top;
}

const char *ni_json_string(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}
