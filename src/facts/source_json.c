/* SPDX-License-Identifier: Apache-2.0 */
/* The sources that are JSON in files: DRA device metadata, and the network-status annotation of
   Multus. */
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "nccl_init/json.h"
#include "probe.h"

static const char *string_of(json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* ---- DRA device metadata (KEP-5304):
        /var/run/dra-device-attributes/<claim>/<request>/<driver>-metadata.json, kind DeviceMetadata,
        requests[].devices[].attributes: name -> {string|int|bool|version}. The address is
        resource.kubernetes.io/pciBusID, or the SR-IOV driver's own pciAddress ---- */

static void read_device(struct ni_probe *p, const char *path, json_t *device)
{
    static const char *const keys[] = {
        "resource.kubernetes.io/pciBusID",
        "sriovnetwork.k8snetworkplumbingwg.io/pciAddress",
    };
    json_t *attributes = json_object_get(device, "attributes");
    const char *id = NULL;
    for (unsigned i = 0; i < NI_COUNT(keys) && !id; i++)
        id = string_of(json_object_get(attributes, keys[i]), "string");
    if (id)
        (void)ni_add_claim(p, path, ni_span_of(id));
}

static void read_metadata(struct ni_probe *p, const char *path)
{
    size_t i, k;
    json_t *request, *device;
    if (ni_read_text(p, NI_REQUIRED, path) != NI_KNOWN)
        return;
    json_t *top = ni_parse_json(p->f, path, p->text), *requests = json_object_get(top, "requests");
    json_array_foreach(requests, i, request)
    {
        json_t *devices = json_object_get(request, "devices");
        json_array_foreach(devices, k, device) read_device(p, path, device);
    }
    json_decref(top);
}

static bool is_metadata(const char *name)
{
    static const char tail[] = "-metadata.json";
    size_t n = strlen(name), t = sizeof(tail) - 1;
    return n > t && strcmp(name + n - t, tail) == 0;
}

/* The claims, their requests, the files of those. What was listed is there; a file among the directories
   is none of ours. *left: directories and files that are still read. */
static void walk(struct ni_probe *p, const char *dir, unsigned level, unsigned *left)
{
    struct ni_names *const lists[] = {&p->names, &p->inner, &p->files}, *names = lists[level];
    const int err = ni_list(p->root, names, "%s", dir);
    ni_copy(p->path, sizeof(p->path), dir);
    if (err != -ENOTDIR)
        ni_note(p, level == 0 ? NI_OPTIONAL : NI_REQUIRED, err);
    for (unsigned i = 0; i < names->n; i++) {
        char path[NI_PATH];
        if (!ni_format(path, sizeof(path), "%s/%s", dir, names->name[i]) ||
            (level == 2 && !is_metadata(names->name[i])))
            continue;
        if (*left == 0) {
            ni_report(p->f, NI_F_FACT_TRUNCATED, dir, "more directories and files than are read");
            return;
        }
        --*left;
        if (level < 2)
            walk(p, path, level + 1, left);
        else
            read_metadata(p, path);
    }
}

void ni_source_dra(struct ni_probe *p)
{
    unsigned left = 256;
    walk(p, "var/run/dra-device-attributes", 0, &left);
}

/* ---- The network-status annotation of Multus (k8s.v1.cni.cncf.io/network-status), from a downward-API
        volume or variable: an array of networks, each with `interface` and, when a device plugin gave
        the device, `device-info` {type, pci {pci-address, rdma-device}}. In a variable it can be empty
        in a pod's first container (multus-cni#1113) ---- */

static void read_status(struct ni_probe *p, const char *from, const char *text)
{
    size_t i;
    json_t *network;
    if (ni_trim(ni_span_of(text)).n == 0)
        return;
    json_t *top = ni_parse_json(p->f, from, text);
    if (top && !json_is_array(top))
        ni_report(p->f, NI_F_ALLOC_INFO_INVALID, from, "network-status is no array");
    json_array_foreach(top, i, network)
    {
        json_t *pci = json_object_get(json_object_get(network, "device-info"), "pci");
        const char *id = string_of(pci, "pci-address"), *rdma = string_of(pci, "rdma-device");
        struct ni_claim *c = id ? ni_add_claim(p, from, ni_span_of(id)) : NULL;
        if (c && rdma && *rdma && !strchr(rdma, ',')) /* a list where the function has several */
            ni_note_rdma_dev(p, c, from, rdma);
    }
    json_decref(top);
}

/* true when the file is there. */
static bool read_file(struct ni_probe *p, const char *path)
{
    struct ni_dir root = *p->root;
    root.named = true;
    root.as = "etc/podinfo/network-status";
    const ssize_t n = ni_read_whole(p, &root, path + strspn(path, "/"));
    const enum ni_known known = ni_note(p, NI_OPTIONAL, n);
    if (known == NI_KNOWN)
        read_status(p, path, p->text);
    return known != NI_ABSENT;
}

static bool read_variable(struct ni_probe *p, const char *name)
{
    const char *text = ni_env_get(p->env, name);
    if (text)
        read_status(p, name, text);
    return text != NULL;
}

void ni_source_netstatus(struct ni_probe *p)
{
    const char *given = p->ask->network_status;
    if (given && *given == '/') {
        if (!read_file(p, given))
            ni_report(p->f, NI_F_OPTION_INVALID, "--network-status", "there is no %s", given);
    } else if (given) {
        if (!read_variable(p, given))
            ni_report(p->f, NI_F_OPTION_INVALID, "--network-status", "the variable %s is not set",
                      given);
    } else if (!read_variable(p, "NETWORK_STATUS") &&
               (p->inv->source == NI_SRC_NONE || p->ask->all)) {
        (void)read_file(p, "etc/podinfo/network-status"); /* a file only where it decides */
    }
}
