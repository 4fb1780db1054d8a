/* SPDX-License-Identifier: Apache-2.0 */
#include "json.h"

#include <errno.h>
#include <string.h>

#include "nccl_init/inventory.h"

void ni_json_put(bool *bad, json_t *obj, const char *key, json_t *v)
{
    if (json_object_set_new(obj, key, v) != 0)
        *bad = true;
}

void ni_json_add(bool *bad, json_t *array, json_t *v)
{
    if (json_array_append_new(array, v) != 0)
        *bad = true;
}

json_t *ni_json_text(const char *s)
{
    enum { MOST = 2304, GROWS = 4 }; /* NI_VALUE, the longest text of a plan, is 2176 */
    char buf[MOST * GROWS + 1];
    struct ni_text t = ni_text_on(buf, sizeof(buf));
    json_t *v = json_string(s);
    if (v)
        return v;
    ni_put_quoted(&t, s, strlen(s), MOST);
    return json_string(t.buf);
}

json_t *ni_json_text_or_null(const char *s)
{
    return s && s[0] ? ni_json_text(s) : json_null();
}

json_t *ni_json_num(struct ni_num n)
{
    return n.known == NI_KNOWN ? json_integer((json_int_t)n.v) : json_null();
}

json_t *ni_json_bytes(int64_t v)
{
    return v == NI_UNLIMITED ? json_string("unlimited") : json_integer((json_int_t)v);
}

json_t *ni_json_numa(const struct ni_pci *pci)
{
    return pci->known == NI_KNOWN ? ni_json_num(pci->numa) : json_null();
}

void ni_json_gpu(bool *bad, json_t *j, unsigned index, const struct ni_gpu *gpu)
{
    ni_json_put(bad, j, "gpu", json_integer(index));
    ni_json_put(bad, j, "pci", ni_json_bdf(gpu->bdf));
    ni_json_put(bad, j, "minor", gpu->minor < 0 ? json_null() : json_integer(gpu->minor));
    ni_json_put(bad, j, "vendor", json_string(gpu->amd ? "amd" : "nvidia"));
    ni_json_put(bad, j, "numa", ni_json_numa(&gpu->pci));
}

json_t *ni_json_bdf(struct ni_bdf bdf)
{
    char buf[NI_BDF_TEXT];
    return json_string(ni_bdf_text(bdf, buf));
}

static int dump_piece(const char *piece, size_t n, void *ctx)
{
    struct ni_out *o = ctx;
    ni_out_putn(o, piece, n);
    return o->err ? -1 : 0;
}

void ni_json_write(struct ni_out *o, json_t *v, bool bad, size_t indent)
{
    /* ASCII only: a value of somebody's environment must not reach a terminal's control sequences
       (U+0080 to U+009F are some, and jansson leaves them as they are). The text that a reader of
       JSON gets is the same. */
    size_t flags = JSON_ENSURE_ASCII | (indent ? JSON_INDENT(indent) : 0);
    if (!v)
        bad = true;
    if (bad && o->err == 0)
        o->err = -ENOMEM;
    if (o->err == 0 && json_dump_callback(v, dump_piece, o, flags) != 0 && o->err == 0)
        o->err = -ENOMEM;
    if (o->err == 0)
        ni_out_put(o, "\n");
    json_decref(v);
}
