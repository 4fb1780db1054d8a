/* SPDX-License-Identifier: Apache-2.0 */
/* DRA device metadata (KEP-5304; Kubernetes 1.36 alpha, 1.37 beta): files that say which devices
   the drivers of Dynamic Resource Allocation prepared for this container. Paths, types and forms
   are those of kubernetes v1.36 and v1.37, staging/src/k8s.io/dynamic-resource-allocation. */
#include "node/source_dra.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "findings/device.h"
#include "nccl_init/allocation.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/ip.h"
#include "nccl_init/known.h"
#include "nccl_init/net.h"
#include "nccl_init/text.h"
#include "node/allocations.h"
#include "node/net.h"
#include "node/read.h"
#include "print/json_read.h"
#include "sysroot/files.h"

enum {
    MAX_PATHS = 256, /* directories and files */
    MAX_OBJECTS = 16,
    MAX_NETDEVS = 64,
    MAX_GIDS = 256 /* rows of an mlx5 table */
};

/* An interface that a device of the metadata has. */
struct netdev {
    char name[NI_IF_NAME];
    char from[96];
    /* the allocation by the device's own address; -1: it has none, and is looked for by the
       interface */
    int allocation;
};

struct walk {
    struct ni_probe *p;
    unsigned left;           /* how many more directories and files may be read */
    size_t base;             /* the length of the part that all paths share, which is not shown */
    const char *path;        /* the path of the present file */
    unsigned old_allocation; /* allocations from this one on come from this file */
    bool odd;                /* a part of the file does not have the form */
    unsigned n_netdev;
    struct netdev netdev[MAX_NETDEVS];
};

/* Returns true if the member has that type or is absent; null counts as absent, as in Go. */
static bool may_be(json_t *object, const char *key, json_type type)
{
    const json_t *value = json_object_get(object, key);

    return !value || json_is_null(value) || json_typeof(value) == type;
}

/* ---- the file ---- */

/* Notes a file that is not yet written; nobody waits for it if another source decided. */
static void note_pending(const struct walk *w, const char *why)
{
    struct ni_inventory *inv = w->p->inv;

    if (inv->source != NI_SRC_NONE)
        return;
    ni_report(w->p->f, NI_F_ALLOC_METADATA_PENDING, w->path, "%s", why);
    if (!inv->pending[0]) {
        struct ni_text t = ni_text_on(inv->pending, sizeof(inv->pending));

        ni_put_quoted(&t, w->path, strlen(w->path), sizeof(inv->pending) - 8);
    }
}

static bool is_known(const char *version)
{
    static const char *const known[] = {
        "metadata.resource.k8s.io/v1beta1",
        "metadata.resource.k8s.io/v1alpha1",
    };

    return ni_is_any(version, known, NI_COUNT(known));
}

/* Returns the first object of a known version. The driver writes the same metadata once for each of
   its versions, in its own order; other versions are skipped, and nothing after the first known one
   is read (devicemetadata/decode.go DecodeMetadataFromStream). */
static json_t *first_known(const struct walk *w, const char *text)
{
    struct ni_findings *f = w->p->f;
    char skipped[64] = "";
    unsigned n = 0;

    for (; n < MAX_OBJECTS; n++) {
        struct ni_text why = NI_TEXT(256);
        bool cut;

        text += strspn(text, " \t\r\n");
        if (!*text)
            break;
        json_t *object = ni_read_json_first(&text, &cut, &why);
        if (!object && cut) /* kubeletplugin/metadata.go of v1.36 writes over the file in place */
            note_pending(w, "it ends too early: the driver is still writing it");
        else if (!object)
            ni_report(f, NI_F_ALLOC_INFO_INVALID, w->path, "%s", why.buf);
        if (!object)
            return NULL;
        const char *version = ni_json_string(object, "apiVersion"),
                   *kind = ni_json_string(object, "kind");
        const bool known = version && is_known(version);
        if (known && kind && strcmp(kind, "DeviceMetadata") == 0)
            return object;
        if (!version)
            ni_report(f, NI_F_ALLOC_INFO_INVALID, w->path, "an object without apiVersion");
        else if (known)
            ni_report(f, NI_F_ALLOC_INFO_INVALID, w->path, "`%.40s` is not DeviceMetadata",
                      kind ? kind : "");
        else
            (void)ni_copyn(skipped, sizeof(skipped), version,
                           strnlen(version, sizeof(skipped) - 1));
        json_decref(object);
        if (!version || known)
            return NULL;
    }
    if (n > 0)
        ni_report(f, NI_F_ALLOC_INFO_INVALID, w->path,
                  "this nccl-init does not know its apiVersion: `%s`", skipped);
    else
        note_pending(w, "it is empty: the driver has not written it yet");
    return NULL;
}

/* ---- devices ---- */

static struct ni_allocation *add_id(struct walk *w, const struct ni_device_id *id)
{
    struct ni_probe *p = w->p;
    struct ni_allocation *c = ni_find_allocation(p, id);

    if (c && c >= &p->inv->allocation[w->old_allocation])
        ni_report(p->f, NI_F_ALLOC_INFO_INVALID, w->path, "it has %s twice", c->id);
    return c ? c : ni_add_allocation(p, w->path, id);
}

/* Allocates the ids of an attribute's value: {"string": ID} or, since Kubernetes 1.36, {"strings":
   [ID...]} (KEP-5491). Returns the first allocation, or NULL. */
static struct ni_allocation *add_value(struct walk *w, json_t *value, bool any)
{
    json_t *list = json_object_get(value, "strings"), *item;
    const char *single = ni_json_string(value, "string");
    struct ni_allocation *first = NULL;
    size_t i;

    if (single) {
        const struct ni_device_id id = ni_parse_device_id(ni_span_of(single));

        if (any || id.by != NI_BY_NOTHING)
            first = add_id(w, &id);
    }
    json_array_foreach(list, i, item)
    {
        const char *text = json_string_value(item);
        struct ni_allocation *c = NULL;

        if (!text)
            w->odd = true;
        if (text && any) {
            const struct ni_device_id id = ni_parse_device_id(ni_span_of(text));

            c = add_id(w, &id);
        }
        if (!first)
            first = c;
    }
    if (!single && json_array_size(list) == 0)
        w->odd = true;
    return first;
}

/* Allocates the device by its address. */
static struct ni_allocation *allocate_address(struct walk *w, json_t *attributes)
{
    static const struct {
        const char *name;
        bool any; /* true: the value is always an address; false: it may be another kind of id */
    } keys[] = {
        /* deviceattribute/attribute.go StandardDeviceAttributePCIBusID */
        {"resource.kubernetes.io/pciBusID", true},
        /* k8snetworkplumbingwg/dra-driver-sriov pkg/consts/consts.go AttributePciAddress */
        {"sriovnetwork.k8snetworkplumbingwg.io/pciAddress", true},
        /* AttributeMultusDeviceID, in the same file: Multus gives it to the CNI plugin */
        {"k8s.cni.cncf.io/deviceID", false},
    };
    struct ni_allocation *c = NULL;

    for (unsigned i = 0; i < NI_COUNT(keys) && !c; i++) {
        json_t *value = json_object_get(attributes, keys[i].name);

        if (value)
            c = add_value(w, value, keys[i].any);
    }
    return c;
}

static void note_netdev(struct walk *w, const char *name, const struct ni_allocation *c)
{
    struct ni_probe *p = w->p;

    if (!ni_is_name(ni_span_of(name), NI_IF_NAME)) {
        ni_report(p->f, NI_F_ALLOC_INFO_INVALID, w->path, "interfaceName `%.40s`", name);
        return;
    }
    if (w->n_netdev == MAX_NETDEVS) {
        ni_report(p->f, NI_F_FACT_TRUNCATED, w->path, "more than %d interfaces", MAX_NETDEVS);
        return;
    }
    struct netdev *n = &w->netdev[w->n_netdev++];
    *n = (struct netdev){.allocation = c ? (int)(c - p->inv->allocation) : -1};
    (void)ni_copy(n->name, sizeof(n->name), name);
    (void)ni_copy(n->from, sizeof(n->from), w->path);
}

/* Reads a device: allocates it, and notes its interface. Returns false if the driver has written
   nothing of it but its name. What has an invalid form was written, so it is true then. */
static bool read_device(struct walk *w, json_t *device)
{
    json_t *attributes = json_object_get(device, "attributes");
    json_t *net = json_object_get(device, "networkData");
    const char *name = ni_json_string(net, "interfaceName");
    const bool good = json_is_object(device) && may_be(device, "attributes", JSON_OBJECT) &&
                      may_be(device, "networkData", JSON_OBJECT) &&
                      may_be(net, "interfaceName", JSON_STRING);
    const struct ni_allocation *c = allocate_address(w, attributes);

    /* where an earlier source has decided, the interface is only compared */
    if (name && w->p->inv->source == NI_SRC_NONE)
        ni_note_allocated_netdev(w->p, name);
    /* by its address the device is known already: then only a report compares the interface */
    if (name && (!c || w->p->ask->all))
        note_netdev(w, name, c);
    if (!good) {
        w->odd = true;
        return true;
    }
    return json_object_size(attributes) > 0 || json_object_size(net) > 0;
}

/* Reads the devices of a file. A driver that does not yet know more writes only the identity of the
   devices, as generation 1 (kubeletplugin/metadata_updater.go MetadataUpdater). */
static void read_devices(struct walk *w, json_t *top)
{
    json_t *requests = json_object_get(top, "requests"), *request, *device;
    json_t *generation = json_object_get(json_object_get(top, "metadata"), "generation");
    bool told = true;
    size_t i, k;

    w->odd = !may_be(top, "requests", JSON_ARRAY);
    json_array_foreach(requests, i, request)
    {
        json_t *devices = json_object_get(request, "devices");

        w->odd = w->odd || !json_is_object(request) || !may_be(request, "devices", JSON_ARRAY);
        json_array_foreach(devices, k, device)
        {
            const bool tells = read_device(w, device);

            told = told && tells;
        }
    }
    if (w->odd)
        ni_report(w->p->f, NI_F_ALLOC_INFO_INVALID, w->path,
                  "a request, device, attribute or address in it has an invalid form");
    if (!told && json_integer_value(generation) <= 1)
        note_pending(w, "it only names a device: the driver has not written the rest yet");
}

static void read_metadata(struct walk *w, const char *path)
{
    struct ni_probe *p = w->p;
    const ssize_t n = ni_read(p->root, p->room, sizeof(p->room), "%s", path);

    w->path = path + w->base;
    w->old_allocation = p->inv->n_allocation;
    (void)ni_copy(p->path, sizeof(p->path), path);
    if (n == -EOVERFLOW) {
        ni_report(p->f, NI_F_ALLOC_INFO_INVALID, w->path, "it is longer than %zu bytes",
                  sizeof(p->room));
        return;
    }
    if (ni_note(p, NI_REQUIRED, n) != NI_KNOWN) {
        p->lost = true;
        return;
    }
    json_t *top = first_known(w, p->room);
    if (top)
        read_devices(w, top);
    json_decref(top);
}

/* ---- the folders: api/metadata/types.go ContainerDir and below, helpers.go ---- */

static bool is_metadata(const char *name)
{
    static const char tail[] = "-metadata.json";
    size_t n = strlen(name), t = sizeof(tail) - 1;

    return n > t && strcmp(name + n - t, tail) == 0;
}

/* Walks through the claims, their requests, and the files of these, one for each driver. A listed
   entry that is gone again is reported; a file where a directory should be belongs to somebody
   else. */
static void walk(struct walk *w, const char *dir, unsigned level)
{
    struct ni_probe *p = w->p;
    struct ni_names *const lists[] = {&p->names, &p->inner, &p->files}, *names = lists[level];
    const int err = ni_list(p->root, names, "%s", dir);

    (void)ni_copy(p->path, sizeof(p->path), dir);
    if (err != -ENOTDIR) {
        const enum ni_known known = ni_note(p, level == 0 ? NI_OPTIONAL : NI_REQUIRED, err);

        p->lost = p->lost || (known != NI_KNOWN && known != NI_ABSENT);
    }
    for (unsigned i = 0; i < names->n; i++) {
        char path[NI_PATH];

        if (!ni_format(path, sizeof(path), "%s/%s", dir, names->name[i]) ||
            (level == 2 && !is_metadata(names->name[i])))
            continue;
        if (w->left == 0) {
            ni_report(p->f, NI_F_FACT_TRUNCATED, dir, "more directories and files than are read");
            return;
        }
        w->left--;
        if (level < 2)
            walk(w, path, level + 1);
        else
            read_metadata(w, path);
        w->path = "";
    }
}

/* ---- devices that are known by their interfaces ---- */

/* Reads the name of an interface's function, as /sys/bus has it. */
static enum ni_known read_function(struct ni_probe *p, const char *name, char id[NI_DEV_NAME])
{
    char target[NI_PATH];
    const enum ni_known known =
        ni_read_link(p, NI_OPTIONAL, target, sizeof(target), "sys/class/net/%s/device", name);
    const char *slash = known == NI_KNOWN ? strrchr(target, '/') : NULL;

    id[0] = '\0';
    if (slash)
        (void)ni_copy(id, NI_DEV_NAME, slash + 1);
    return known;
}

static void compare_address(struct ni_probe *p, const struct netdev *n)
{
    const struct ni_allocation *c = &p->inv->allocation[n->allocation];
    char id[NI_DEV_NAME];

    if (read_function(p, n->name, id) == NI_KNOWN && strcmp(id, c->id) != 0)
        ni_report(p->f, NI_F_ALLOC_SOURCES_DIFFER, c->id,
                  "%s says that its interface is %s, which belongs to %s", n->from, n->name, id);
}

/* Allocates the interface's function. true: done, or there is nothing to allocate. */
static bool allocate_function(struct ni_probe *p, const struct netdev *n)
{
    char function[NI_DEV_NAME];
    const enum ni_known known = read_function(p, n->name, function);

    if (known == NI_KNOWN) {
        const struct ni_device_id id = ni_parse_device_id(ni_span_of(function));

        if (id.by != NI_BY_NOTHING) {
            (void)ni_add_allocation(p, n->from, &id);
            return true;
        }
    }
    if (known != NI_KNOWN && known != NI_ABSENT) {
        p->lost = true;
        return true;
    }
    if (known == NI_ABSENT && ni_is_there(p, "sys/class/net/%s", n->name) == NI_ABSENT) {
        ni_report(p->f, NI_F_ALLOC_NO_DEVICE, n->name, "given by %s, but is not in sysfs", n->from);
        return true;
    }
    return false;
}

/* Finds the interface from which the HCA's first port has a GID with an address of ours: other pods
   may have interfaces of the same names. NULL: none. */
static struct netdev *find_netdev(struct walk *w, const char *hca)
{
    struct ni_probe *p = w->p;

    for (unsigned row = 0; row < MAX_GIDS; row++) {
        char buf[64], ndev[NI_IF_NAME];
        uint8_t ip[NI_GID_BYTES];
        const ssize_t n =
            ni_read(p->root, buf, sizeof(buf), "sys/class/infiniband/%s/ports/1/gids/%u", hca, row);

        if (n < 0 && n != -EINVAL)
            break;
        if (n < 0 || ni_parse_gid(ni_span_of(buf), ip) < 0 ||
            !ni_is_local_address(&p->inv->net, ip) ||
            ni_read(p->root, ndev, sizeof(ndev),
                    "sys/class/infiniband/%s/ports/1/gid_attrs/ndevs/%u", hca, row) < 0)
            continue;
        for (unsigned i = 0; i < w->n_netdev; i++) {
            if (strcmp(w->netdev[i].name, ndev) == 0)
                return &w->netdev[i];
        }
    }
    return NULL;
}

/* Allocates HCAs by their GIDs, if the interface has no function: SoftRoCE, and an HCA below a
   macvlan interface. The address may be IPv6, for which no rule has asked yet. */
static void allocate_by_gids(struct walk *w)
{
    struct ni_probe *p = w->p;

    if ((p->inv->read & NI_NEED_IPV6) == 0)
        ni_probe_ipv6(p);
    p->inv->read |= NI_NEED_IPV6;
    ni_read_names(p, p->root, NI_OPTIONAL, &p->names, "sys/class/infiniband");
    for (unsigned i = 0; i < p->names.n; i++) {
        const char *hca = p->names.name[i];

        if (!ni_is_name(ni_span_of(hca), NI_DEV_NAME))
            continue;
        struct netdev *n = find_netdev(w, hca);
        if (n) {
            ni_add_allocation_name(p, n->from, hca);
            n->allocation = 0; /* an HCA was found for it */
        }
    }
    for (unsigned i = 0; i < w->n_netdev; i++) {
        if (w->netdev[i].allocation < 0)
            ni_report(p->f, NI_F_ALLOC_NOT_RDMA, w->netdev[i].name,
                      "given by %s, but has no RDMA device", w->netdev[i].from);
    }
}

static void allocate_netdevs(struct walk *w)
{
    const unsigned n = w->n_netdev;

    w->n_netdev = 0; /* keeps those without an HCA, at the front */
    for (unsigned i = 0; i < n; i++) {
        const struct netdev netdev = w->netdev[i];

        if (netdev.allocation >= 0)
            compare_address(w->p, &netdev);
        else if (!allocate_function(w->p, &netdev))
            w->netdev[w->n_netdev++] = netdev;
    }
    if (w->n_netdev > 0)
        allocate_by_gids(w);
}

/* Reads the metadata in both folders: one has claims by name, the other those made from a template,
   by the pod's name for them. A draft of the KEP had a third one, in which drivers of that time
   write. */
void ni_source_dra(struct ni_probe *p)
{
    static const char base[] = "var/run/kubernetes.io/dra-device-attributes";
    struct walk w = {.p = p, .path = "", .left = MAX_PATHS, .base = sizeof(base)};
    const enum ni_known there = ni_is_there(p, base);

    if (there == NI_KNOWN) {
        walk(&w, "var/run/kubernetes.io/dra-device-attributes/resourceclaims", 0);
        walk(&w, "var/run/kubernetes.io/dra-device-attributes/resourceclaimtemplates", 0);
    } else if (there == NI_ABSENT) {
        w.base = 0;
        walk(&w, "var/run/dra-device-attributes", 0);
    } else {
        p->lost = true;
    }
    allocate_netdevs(&w);
}
