/* SPDX-License-Identifier: Apache-2.0 */
/* JSON, written piece by piece: no tree is kept. */
#include "print/json_write.h"

#include "nccl_init/base.h"
#include "nccl_init/known.h"
#include "nccl_init/number.h"
#include "nccl_init/pci.h"
#include "nccl_init/text.h"

struct ni_json ni_json_on(struct ni_text *to, enum ni_json_form form)
{
    return (struct ni_json){.to = to, .indented = form == NI_JSON_INDENTED};
}

static void put_json_character(struct ni_text *t, uint32_t c)
{
    if (c > 0xffff) { /* two surrogates (RFC 8259, 7) */
        c -= 0x10000;
        ni_putf(t, "\\u%04x", 0xd800 + (unsigned)(c >> 10));
        c = 0xdc00 + (c & 0x3ff);
    }
    ni_putf(t, "\\u%04x", (unsigned)c);
}

static void put_json_string(struct ni_text *t, const char *s)
{
    ni_put(t, "\"");
    while (*s) {
        uint32_t c;
        size_t n = ni_utf8(s, &c);

        if (n == 0) {
            ni_putf(t, "\\\\x%02x", (unsigned char)*s++);
            continue;
        }
        if (c == '"' || c == '\\')
            ni_put(t, "\\");
        if (c >= ' ' && c <= '~')
            ni_putn(t, s, 1);
        else
            put_json_character(t, c);
        s += n;
    }
    ni_put(t, "\"");
}

static void new_line(struct ni_json *j)
{
    ni_put(j->to, "\n");
    for (unsigned i = 0; i < j->depth; i++)
        ni_put(j->to, "  ");
}

/* Puts everything that stands before a value: comma, line end, key. */
static void begin_member(struct ni_json *j, const char *key)
{
    if (!j->empty && j->depth > 0)
        ni_put(j->to, j->indented ? "," : ", ");
    if (j->indented && j->depth > 0)
        new_line(j);
    if (key) {
        put_json_string(j->to, key);
        ni_put(j->to, ": ");
    }
    j->empty = false;
}

static void nest(struct ni_json *j, const char *key, char start, char end)
{
    begin_member(j, key);
    ni_putn(j->to, &start, 1);
    j->end[j->depth++] = end;
    j->empty = true;
}

void ni_json_object(struct ni_json *j, const char *key)
{
    nest(j, key, '{', '}');
}

void ni_json_array(struct ni_json *j, const char *key)
{
    nest(j, key, '[', ']');
}

void ni_json_end(struct ni_json *j)
{
    j->depth--;
    if (j->indented && !j->empty)
        new_line(j);
    ni_putn(j->to, &j->end[j->depth], 1);
    j->empty = false;
    if (j->depth == 0)
        ni_put(j->to, "\n");
}

void ni_json_bool(struct ni_json *j, const char *key, bool v)
{
    begin_member(j, key);
    ni_put(j->to, v ? "true" : "false");
}

void ni_json_int(struct ni_json *j, const char *key, int64_t v)
{
    begin_member(j, key);
    ni_put(j->to, v < 0 ? "-" : "");
    ni_put_u64(j->to, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

void ni_json_int_or_null(struct ni_json *j, const char *key, bool known, int64_t v)
{
    if (known)
        ni_json_int(j, key, v);
    else
        ni_json_text(j, key, NULL);
}

void ni_json_num(struct ni_json *j, const char *key, struct ni_num n)
{
    ni_json_int_or_null(j, key, n.known == NI_KNOWN, n.v);
}

void ni_json_bytes(struct ni_json *j, const char *key, struct ni_num n)
{
    if (n.known == NI_KNOWN && n.v == NI_UNLIMITED)
        n.v = -1;
    ni_json_num(j, key, n);
}

void ni_json_text(struct ni_json *j, const char *key, const char *s)
{
    begin_member(j, key);
    if (s)
        put_json_string(j->to, s);
    else
        ni_put(j->to, "null");
}

void ni_json_text_or_null(struct ni_json *j, const char *key, const char *s)
{
    ni_json_text(j, key, s && s[0] ? s : NULL);
}

void ni_json_bdf(struct ni_json *j, const char *key, const struct ni_bdf *bdf)
{
    char buf[NI_BDF_TEXT];

    ni_json_text(j, key, bdf ? ni_bdf_text(*bdf, buf) : NULL);
}
