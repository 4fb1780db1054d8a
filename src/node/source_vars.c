/* SPDX-License-Identifier: Apache-2.0 */
/* The sources that are variables: PCIDEVICE_* of the sriov-network-device-plugin, SRIOVNETWORK_* of
   the SR-IOV DRA driver. */
#include "node/source_vars.h"

#include <jansson.h>
#include <string.h>

#include "findings/device.h"
#include "nccl_init/allocation.h"
#include "nccl_init/base.h"
#include "nccl_init/env.h"
#include "nccl_init/findings.h"
#include "nccl_init/text.h"
#include "node/allocations.h"
#include "node/read.h"
#include "print/json_read.h"

/* A walk over the variables whose names begin alike, in the order of their names: the kubelet makes
   the environment from a Go map, whose order means nothing. */
struct variables {
    unsigned n;
    const char *entry, *value; /* of the last one; NULL before the first */
    char name[NI_PATH];
};

/* Compares the names of two entries NAME=VALUE. */
static int name_cmp(const char *a, const char *b)
{
    while (*a == *b && *a && *a != '=') {
        a++;
        b++;
    }
    const char x = *a == '=' ? '\0' : *a;
    const char y = *b == '=' ? '\0' : *b;
    return x - y;
}

/* Returns the entry with the next name behind `after`; NULL: there is none. after NULL: the first. */
static const char *find_next(const struct ni_probe *p, const char *prefix, const char *after)
{
    const char *next = NULL, *value;
    struct ni_span name;

    for (char *const *e = p->env->entry; *e; e++) {
        if (!ni_has_prefix(*e, prefix))
            continue;
        if (after && name_cmp(*e, after) <= 0)
            continue;
        if (next && name_cmp(*e, next) >= 0)
            continue;
        if (ni_env_split(*e, &name, &value) && name.n < NI_PATH)
            next = *e;
    }
    return next;
}

/* Finds the next variable. If a name stands twice its first entry counts, as everywhere; if there
   are too many names, the first in order count. */
static bool next_variable(struct ni_probe *p, const char *prefix, struct variables *v)
{
    enum { MAX_VARS = 256 };
    const char *next = find_next(p, prefix, v->entry);
    struct ni_span name;

    v->n += next != NULL;
    if (v->n > MAX_VARS) {
        ni_report(p->f, NI_F_ALLOC_TOO_MANY, prefix, "more than %d variables; the rest is ignored",
                  MAX_VARS);
        return false;
    }
    v->entry = next;
    return next && ni_env_split(next, &name, &v->value) &&
           ni_copyn(v->name, sizeof(v->name), name.p, name.n);
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

/* Returns true if `NAME_INFO` stands beside a list `NAME` that is not empty. */
static bool has_list(const struct ni_env *env, const char *name)
{
    static const char tail[] = "_INFO";
    const size_t n = strlen(name), t = strlen(tail);
    char list[NI_PATH];

    if (n <= t || strcmp(name + n - t, tail) != 0 || !ni_copyn(list, sizeof(list), name, n - t))
        return false;
    const char *value = ni_env_get(env, list);
    return value && ni_trim(ni_span_of(value)).n > 0 && !looks_like_json(value);
}

/* Reads NAME_INFO. listed: the list NAME also has the ids, and counts. */
static void read_device_info(struct ni_probe *p, const char *var, const char *text, bool listed)
{
    json_t *top = ni_parse_json(p->f, var, text), *providers;
    const char *key;

    json_object_foreach(top, key, providers)
    {
        if (!json_is_object(providers)) {
            ni_report(p->f, NI_F_ALLOC_INFO_INVALID, var, "the value of `%.40s` is not an object",
                      key);
            continue;
        }
        const struct ni_device_id id = ni_parse_device_id(ni_span_of(key));
        struct ni_allocation *c =
            listed ? ni_find_allocation(p, &id) : ni_add_allocation(p, var, &id);
        json_t *dev = json_object_get(json_object_get(providers, "rdma"), "rdma_dev");
        if (c && dev)
            ni_note_rdma_dev(p, c, var, json_string_value(dev));
    }
    json_decref(top);
}

/* Reads the lists first, then the JSON about their ids: their names sort so. The content decides
   which of the two it is, since a resource may be named `..._INFO` itself. */
void ni_source_pcidevice(struct ni_probe *p)
{
    struct variables v = {0};

    while (next_variable(p, "PCIDEVICE_", &v)) {
        const bool json = looks_like_json(v.value), listed = json && has_list(p->env, v.name);

        if (!json)
            ni_add_allocations(p, v.name, v.value);
        else if (!listed || p->ask->all)
            read_device_info(p, v.name, v.value, listed);
    }
}

/* ---- SRIOVNETWORK_* (k8snetworkplumbingwg/dra-driver-sriov): SRIOVNETWORK_PCI_ADDRESSES is the list for
        the pod; SRIOVNETWORK_VF_DEVICE_<dev>=<address> and SRIOVNETWORK_<dev>_RDMA_DEVICE=<name> say
        more per device ---- */

void ni_source_sriovnet(struct ni_probe *p)
{
    static const char list[] = "SRIOVNETWORK_PCI_ADDRESSES", device[] = "SRIOVNETWORK_VF_DEVICE_";
    const char *addresses = ni_env_get(p->env, list);
    struct variables v = {0};

    if (addresses)
        ni_add_allocations(p, list, addresses);
    while (next_variable(p, device, &v)) {
        char rdma[NI_PATH + 32];
        const struct ni_span address = ni_trim(ni_span_of(v.value));
        const struct ni_device_id id = ni_parse_device_id(address);
        struct ni_allocation *c = address.n > 0 ? ni_add_allocation(p, v.name, &id) : NULL;

        (void)ni_format(rdma, sizeof(rdma), "SRIOVNETWORK_%s_RDMA_DEVICE", v.name + strlen(device));
        const char *name = ni_env_get(p->env, rdma);
        if (c && name)
            ni_note_rdma_dev(p, c, rdma, name);
    }
}
