/* SPDX-License-Identifier: Apache-2.0 */
/* PCIDEVICE_* of the sriov-network-device-plugin: per resource a list of ids, and since v3.6.0 a
   second variable `..._INFO` with JSON: id -> provider -> flat map of strings
   (k8snetworkplumbingwg/sriov-network-device-plugin pkg/resources/server.go). `rdma.rdma_dev`
   (v3.10.0 and later) is only cross-checked: sysfs decides. */
#include <jansson.h>

#include "nccl_init/json.h"
#include "probe.h"

static bool looks_like_json(const char *value)
{
    struct ni_span s = ni_trim(ni_span_of(value));
    return s.n > 0 && s.p[0] == '{';
}

struct info {
    struct ni_probe *p;
    const char *var;
};

static struct ni_claim *claim_of(const struct info *info, struct ni_span id)
{
    struct ni_claim *c = ni_find_claim(info->p->inv, NI_SRC_PCIDEVICE, id);
    return c ? c : ni_add_claim(info->p, NI_SRC_PCIDEVICE, info->var, id);
}

static bool take_device(void *ctx, struct ni_span id, struct ni_span rdma_dev)
{
    struct info *info = ctx;
    struct ni_claim *c = claim_of(info, id);
    char name[2 * NI_DEV_NAME];
    if (!c)
        return false;
    if (rdma_dev.p) { /* one that is cut is too long to be a name, and is not shown to its end */
        ni_copyn(name, sizeof(name), rdma_dev.p,
                 rdma_dev.n < sizeof(name) ? rdma_dev.n : sizeof(name) - 1);
        ni_note_rdma_dev(info->p, c, info->var, name);
    }
    return true;
}

static void read_info(struct info *info, const char *text)
{
    if (ni_read_plugin_json(text, take_device, info))
        return;
    json_t *top = ni_parse_json(info->p->f, info->var, text), *providers;
    const char *key;
    json_object_foreach(top, key, providers)
    {
        if (!json_is_object(providers)) {
            ni_report(info->p->f, NI_F_ALLOC_INFO_INVALID, info->var,
                      "value of `%.40s` is no object", key);
            continue;
        }
        struct ni_claim *c = claim_of(info, ni_span_of(key));
        if (!c)
            break;
        json_t *dev = json_object_get(json_object_get(providers, "rdma"), "rdma_dev");
        if (dev)
            ni_note_rdma_dev(info->p, c, info->var, json_string_value(dev));
    }
    json_decref(top);
}

/* Lists first, then the JSON that says more about the same ids. Which is which is told by the
   content: a resource may be named `..._INFO` itself. */
void ni_source_pcidevice(struct ni_probe *p)
{
    const char *vars[NI_MAX_VARS];
    unsigned n = ni_sorted_vars(p, "PCIDEVICE_", vars);
    for (int json = 0; json <= 1; json++) {
        for (unsigned i = 0; i < n; i++) {
            struct ni_span name;
            const char *value;
            char var[NI_DEV_NAME + 32];
            if (!ni_env_split(vars[i], &name, &value) || looks_like_json(value) != json)
                continue;
            struct ni_text t = ni_text_on(var, sizeof(var));
            ni_put_quoted(&t, name.p, name.n, sizeof(var) - 8);
            if (json)
                read_info(&(struct info){p, var}, value);
            else
                ni_add_claims(p, NI_SRC_PCIDEVICE, var, value);
        }
    }
}
