/* SPDX-License-Identifier: Apache-2.0 */
/* `..._INFO` in the form in which the device plugin writes it: Go's encoding/json of a map of maps
   of maps of strings, so without blanks, and with the keys of each object in ascending order
   (encode.go mapEncoder). Read where it stands, because it is most of what a pod's variables hold:
   the library takes ten times as long and memory of its own. Whatever is not of this form to the
   letter is left to it. */
#include <string.h>

#include "probe.h"

/* id -> provider -> key -> text */
enum level { DEVICES, PROVIDERS, VALUES };

struct reader {
    const char *p;
    ni_device_fn *device; /* NULL: only looks whether it is of this form */
    void *ctx;
    bool in_rdma;
    struct ni_span rdma_dev;
};

/* Printable ASCII without escapes. */
static bool read_text(struct reader *r, struct ni_span *ret)
{
    const char *from = r->p + 1, *to = from;

    if (*r->p != '"')
        return false;
    while (*to >= ' ' && *to <= '~' && *to != '"' && *to != '\\')
        to++;
    *ret = (struct ni_span){from, (size_t)(to - from)};
    r->p = to + 1;
    return *to == '"';
}

/* Equal keys do not ascend: no key is there twice. */
static bool ascends(struct ni_span a, struct ni_span b)
{
    int order = memcmp(a.p, b.p, a.n < b.n ? a.n : b.n);

    return order < 0 || (order == 0 && a.n < b.n);
}

static bool read_object(struct reader *r, enum level level);

static bool read_value(struct reader *r, enum level level, struct ni_span key)
{
    struct ni_span text;

    switch (level) {
    case DEVICES:
        r->rdma_dev = (struct ni_span){NULL, 0};
        return read_object(r, PROVIDERS) && (!r->device || r->device(r->ctx, key, r->rdma_dev));
    case PROVIDERS:
        r->in_rdma = ni_span_is(key, "rdma");
        return read_object(r, VALUES);
    case VALUES:
        if (!read_text(r, &text))
            return false;
        if (r->in_rdma && ni_span_is(key, "rdma_dev"))
            r->rdma_dev = text;
        return true;
    }
    return false;
}

static bool read_object(struct reader *r, enum level level)
{
    struct ni_span key, last = {"", 0};

    if (*r->p++ != '{')
        return false;
    if (*r->p == '}') {
        r->p++;
        return true;
    }
    do {
        if (!read_text(r, &key) || !ascends(last, key) || *r->p++ != ':' ||
            !read_value(r, level, key))
            return false;
        last = key;
    } while (*r->p++ == ',');
    return r->p[-1] == '}';
}

bool ni_read_plugin_json(const char *text, ni_device_fn *device, void *ctx)
{
    struct reader r = {.p = text};

    if (!read_object(&r, DEVICES) || *r.p != '\0')
        return false;
    r = (struct reader){.p = text, .device = device, .ctx = ctx};
    (void)read_object(&r, DEVICES); /* false: the taker has enough */
    return true;
}
