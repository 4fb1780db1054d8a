/* SPDX-License-Identifier: Apache-2.0 */
/* The sources that are variables: PCIDEVICE_* of the sriov-network-device-plugin, SRIOVNETWORK_* of the
   SR-IOV DRA driver. */
#include <jansson.h>
#include <string.h>

#include "nccl_init/json.h"
#include "probe.h"

enum { MAX_VARS = 256 };

static bool same_name(const char *a, const char *b)
{
    return strncmp(a, b, strcspn(b, "=") + 1) == 0;
}

/* The variables by name, so that the answer does not depend on their order: the kubelet merges them
   through a Go map. Of one name the first entry counts; of too many names the first in order. */
static unsigned sorted_vars(struct ni_probe *p, const char *prefix, const char *vars[MAX_VARS])
{
    unsigned n = 0;
    bool more = false;
    for (char *const *e = p->env->entry; *e; e++) {
        if (!ni_has_prefix(*e, prefix) || !strchr(*e, '='))
            continue;
        unsigned at = n; /* entries of one name stand together */
        while (at > 0 && strcmp(vars[at - 1], *e) >= 0)
            at--;
        if ((at > 0 && same_name(vars[at - 1], *e)) || (at < n && same_name(vars[at], *e)))
            continue;
        if (n == MAX_VARS) {
            more = true;
            if (at == n)
                continue;
            n--;
        }
        memmove(&vars[at + 1], &vars[at], (n - at) * sizeof(vars[0]));
        vars[at] = *e;
        n++;
    }
    if (more)
        ni_report(p->f, NI_F_ALLOC_TOO_MANY, prefix, "more than %d variables; the rest is not read",
                  MAX_VARS);
    return n;
}

/* ---- PCIDEVICE_*: per resource a list of ids, and since v3.6.0 a second variable `..._INFO` with JSON:
        id -> provider -> flat map of strings (k8snetworkplumbingwg/sriov-network-device-plugin
        pkg/resources/server.go). The list tells all that counts. `rdma.rdma_dev` (v3.10.0 and later)
        is only cross-checked, for people: sysfs decides ---- */

static bool looks_like_json(const char *value)
{
    struct ni_span s = ni_trim(ni_span_of(value));
    return s.n > 0 && s.p[0] == '{';
}

/* Whether `NAME_INFO` stands beside a list `NAME` that is not empty. */
static bool has_list(const struct ni_env *env, struct ni_span name)
{
    static const char tail[] = "_INFO";
    const size_t n = sizeof(tail) - 1;
    char list[NI_DEV_NAME * 4];
    if (name.n <= n || memcmp(name.p + name.n - n, tail, n) != 0 ||
        !ni_copyn(list, sizeof(list), name.p, name.n - n))
        return false;
    const char *value = ni_env_get(env, list);
    return value && ni_trim(ni_span_of(value)).n > 0 && !looks_like_json(value);
}

/* listed: the ids are a list's too, which is what counts. */
static void read_info(struct ni_probe *p, const char *var, const char *text, bool listed)
{
    json_t *top = ni_parse_json(p->f, var, text), *providers;
    const char *key;
    json_object_foreach(top, key, providers)
    {
        struct ni_claim *c = ni_find_claim(p, ni_span_of(key));
        json_t *dev = json_object_get(json_object_get(providers, "rdma"), "rdma_dev");
        if (!json_is_object(providers)) {
            ni_report(p->f, NI_F_ALLOC_INFO_INVALID, var, "value of `%.40s` is no object", key);
            continue;
        }
        if (!c && listed)
            ni_report(p->f, NI_F_ALLOC_SOURCES_DIFFER, key,
                      "named by %s, but not by the list beside it, which counts", var);
        else if (!c)
            c = ni_add_claim(p, var, ni_span_of(key)); /* NULL: no room */
        if (c && dev)
            ni_note_rdma_dev(p, c, var, json_string_value(dev));
    }
    json_decref(top);
}

/* Lists first, then the JSON that says more about the same ids. Which is which is told by the
   content: a resource may be named `..._INFO` itself. */
void ni_source_pcidevice(struct ni_probe *p)
{
    const char *vars[MAX_VARS];
    unsigned n = sorted_vars(p, "PCIDEVICE_", vars);
    for (int json = 0; json <= 1; json++) {
        for (unsigned i = 0; i < n; i++) {
            struct ni_span name;
            const char *value;
            char var[NI_DEV_NAME + 32];
            if (!ni_env_split(vars[i], &name, &value) || looks_like_json(value) != json)
                continue;
            struct ni_text t = ni_text_on(var, sizeof(var));
            ni_put_quoted(&t, name.p, name.n, sizeof(var) - 8);
            const bool listed = json && has_list(p->env, name);
            if (!json)
                ni_add_claims(p, var, value);
            else if (!listed || p->ask->all)
                read_info(p, var, value, listed);
        }
    }
}

/* ---- SRIOVNETWORK_* (k8snetworkplumbingwg/dra-driver-sriov): SRIOVNETWORK_PCI_ADDRESSES is the list for
        the pod; SRIOVNETWORK_VF_DEVICE_<dev>=<address> and SRIOVNETWORK_<dev>_RDMA_DEVICE=<name> say
        more per device ---- */

void ni_source_sriovnet(struct ni_probe *p)
{
    static const char list[] = "SRIOVNETWORK_PCI_ADDRESSES", device[] = "SRIOVNETWORK_VF_DEVICE_";
    const char *vars[MAX_VARS], *address, *addresses = ni_env_get(p->env, list);
    struct ni_span name;
    if (addresses)
        ni_add_claims(p, list, addresses);
    const unsigned n = sorted_vars(p, device, vars);
    for (unsigned i = 0; i < n; i++) {
        char from[NI_DEV_NAME + 32], rdma[NI_DEV_NAME + 32];
        if (!ni_env_split(vars[i], &name, &address) || ni_trim(ni_span_of(address)).n == 0)
            continue;
        struct ni_text t = ni_text_on(from, sizeof(from)), r = ni_text_on(rdma, sizeof(rdma));
        ni_putn(&t, name.p, name.n);
        ni_putf(&r, "SRIOVNETWORK_%s_RDMA_DEVICE", from + strlen(device));
        struct ni_claim *c = ni_add_claim(p, from, ni_trim(ni_span_of(address)));
        const char *value = t.cut || r.cut ? NULL : ni_env_get(p->env, rdma);
        if (c && value)
            ni_note_rdma_dev(p, c, "SRIOVNETWORK_*_RDMA_DEVICE", value);
    }
}
