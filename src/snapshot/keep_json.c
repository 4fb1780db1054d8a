/* SPDX-License-Identifier: Apache-2.0 */
/* JSON in a masked recording: the members that name the pod's devices. */
#include "snapshot/keep_json.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "nccl_init/base.h"
#include "nccl_init/text.h"
#include "print/json_read.h"
#include "snapshot/keep_forms.h"

/* Members that the readers of PCIDEVICE_*_INFO, network-status and DRA metadata read, by the kind
   of their values. UNKNOWN_MEMBER: any other, which no reader looks at. */
enum member { ID, DEVICE, WORD, NUMBER, MORE, UNKNOWN_MEMBER };
static const char *const members[UNKNOWN_MEMBER][16] = {
    [ID] = {"pci-address", "resource.kubernetes.io/pciBusID", "string", "strings",
            "sriovnetwork.k8snetworkplumbingwg.io/pciAddress", "k8s.cni.cncf.io/deviceID"},
    [DEVICE] = {"rdma-device", "rdma_dev", "interface", "interfaceName"},
    [WORD] = {"apiVersion", "kind"},
    [NUMBER] = {"generation", "default"},
    [MORE] = {"attributes", "device-info", "devices", "metadata", "networkData", "pci", "rdma",
              "requests"},
};

static enum member member_of(const char *key)
{
    unsigned kind = 0;

    for (; kind < UNKNOWN_MEMBER; kind++)
        for (unsigned i = 0; members[kind][i]; i++)
            if (strcmp(key, members[kind][i]) == 0)
                return (enum member)kind;
    return UNKNOWN_MEMBER;
}

/* Returns true for the two words that readers compare: "metadata.resource.k8s.io/v1alpha1" and
   "DeviceMetadata". */
static bool is_compared_word(struct ni_span s)
{
    static const char group[] = "metadata.resource.k8s.io/v";
    const size_t n = sizeof(group) - 1;
    size_t i = n;

    if (ni_span_is(s, "DeviceMetadata"))
        return true;
    if (s.n <= n || s.n > n + sizeof("1alpha1") || memcmp(s.p, group, n) != 0)
        return false;
    while (i < s.n && (ni_is_digit(s.p[i]) || strchr("alphbet", s.p[i])))
        i++;
    return i == s.n;
}

static void put_masked_string(struct ni_mask *m, enum member kind, json_t *string,
                              struct ni_text *ret)
{
    const struct ni_span s = {json_string_value(string), json_string_length(string)};
    char buf[NI_PAGE];
    struct ni_text text = ni_text_on(buf, sizeof(buf));

    if (kind == ID)
        ni_keep_ids(NULL, m, s, &text);
    else if (kind == WORD)
        ni_putn(&text, s.p, is_compared_word(s) ? s.n : 0);
    else if (memchr(s.p, ',', s.n))
        ni_put(&text, ","); /* readers refuse a list, and this too */
    else if (s.n > 0)
        ni_keep_device(m, s, &text);
    json_t *kept = json_string(text.cut ? "?" : text.buf);
    char *dump = json_dumps(kept, JSON_ENCODE_ANY);
    ni_put(ret, dump ? dump : "\"?\"");
    free(dump);
    json_decref(kept);
}

/* Puts a value of that kind of member. ids: it is an object whose keys are ids of devices. */
static void put_masked_json(struct ni_mask *m, enum member kind, bool ids, json_t *value,
                            struct ni_text *ret);

/* Puts an object with the members that readers look at. With ids its other keys are put, too, each
   masked as an id. */
static void put_object(struct ni_mask *m, bool ids, json_t *object, struct ni_text *ret)
{
    const char *key;
    json_t *value;
    bool any = false;

    ni_put(ret, "{");
    json_object_foreach(object, key, value)
    {
        const enum member kind = member_of(key);

        if (kind == UNKNOWN_MEMBER && !ids)
            continue;
        ni_put(ret, any ? "," : "");
        any = true;
        if (kind == UNKNOWN_MEMBER) {
            json_t *name = json_string(key);

            put_masked_string(m, ID, name, ret);
            json_decref(name);
        } else {
            ni_putf(ret, "\"%s\"", key);
        }
        ni_put(ret, ":");
        put_masked_json(m, kind, false, value, ret);
    }
    if (!any && json_object_size(object) > 0)
        ni_put(ret, "\"masked\":0"); /* readers tell an empty object from one with members */
    ni_put(ret, "}");
}

static void put_masked_json(struct ni_mask *m, enum member kind, bool ids, json_t *value,
                            struct ni_text *ret)
{
    size_t i;
    json_t *item;

    if (json_is_object(value)) {
        put_object(m, ids, value, ret);
    } else if (json_is_array(value)) {
        ni_put(ret, "[");
        json_array_foreach(value, i, item)
        {
            ni_put(ret, i > 0 ? "," : "");
            put_masked_json(m, kind, false, item, ret);
        }
        ni_put(ret, "]");
    } else if (json_is_integer(value) && kind == NUMBER) {
        ni_put_u64(ret, (uint64_t)json_integer_value(value));
    } else if (json_is_boolean(value) && kind == NUMBER) {
        ni_put(ret, json_is_true(value) ? "true" : "false");
    } else if (json_is_string(value) && kind < NUMBER) {
        put_masked_string(m, kind, value, ret);
    } else {
        ni_put(ret, "0");
    }
}

/* Returns the number of bytes of the first value of s, up to the bracket that closes it. */
static size_t value_length(struct ni_span s)
{
    size_t depth = 0;
    bool in_string = false;

    for (size_t i = 0; i < s.n; i++) {
        const char c = s.p[i];

        if (in_string) {
            i += c == '\\';
            in_string = c != '"';
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            depth++;
        } else if (depth > 0 && (c == '}' || c == ']')) {
            depth--;
            if (depth == 0)
                return i + 1;
        } else if (depth == 0 && !strchr(" \t\r\n", c)) {
            break;
        }
    }
    return s.n;
}

void ni_keep_json(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                  struct ni_text *ret)
{
    (void)k;
    while (ni_trim(s).n > 0) {
        const size_t n = value_length(s);
        struct ni_text why = NI_TEXT(JSON_ERROR_TEXT_LENGTH + 64);
        char *text = strndup(s.p, n);
        json_t *top = text ? ni_read_json(text, &why) : NULL;
        const bool ids = json_is_object(top) && !json_object_get(top, "requests");

        if (top)
            put_masked_json(m, MORE, ids, top, ret);
        else
            ni_put(ret, "{?");
        json_decref(top);
        free(text);
        if (!top)
            return;
        s = (struct ni_span){s.p + n, s.n - n};
    }
}
