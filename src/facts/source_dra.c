/* SPDX-License-Identifier: Apache-2.0 */
/* DRA device metadata (KEP-5304):
   /var/run/dra-device-attributes/<claim>/<request>/<driver>-metadata.json, kind DeviceMetadata,
   requests[].devices[].attributes: name -> {string|int|bool|version}. The address is
   resource.kubernetes.io/pciBusID, or the SR-IOV driver's own pciAddress. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "nccl_init/json.h"
#include "probe.h"

enum { MAX_FILES = 64, MAX_DIRS = 128 };

static void read_device(struct ni_probe *p, const char *path, json_t *device)
{
    static const char *const keys[] = {
        "resource.kubernetes.io/pciBusID",
        "sriovnetwork.k8snetworkplumbingwg.io/pciAddress",
    };
    json_t *attributes = json_object_get(device, "attributes");
    for (unsigned i = 0; i < NI_COUNT(keys); i++) {
        const char *id =
            json_string_value(json_object_get(json_object_get(attributes, keys[i]), "string"));
        if (!id)
            continue;
        (void)ni_add_claim(p, path, ni_span_of(id));
        return;
    }
}

static void read_metadata(struct ni_probe *p, const char *path)
{
    if (ni_read_file(p, p->root, NI_REQUIRED, p->text, sizeof(p->text), "%s", path) != NI_KNOWN)
        return;
    json_t *top = ni_parse_json(p->f, path, p->text), *requests = json_object_get(top, "requests");
    size_t i, k;
    json_t *request, *device;
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

/* What was listed is there; a file among the directories is none of ours. */
static void list(struct ni_probe *p, struct ni_names *ret, const char *dir)
{
    const int err = ni_list(p->root, ret, "%s", dir);
    ni_copy(p->path, sizeof(p->path), dir);
    if (err != -ENOTDIR)
        ni_note(p, NI_REQUIRED, err);
}

void ni_source_dra(struct ni_probe *p)
{
    static const char top[] = "var/run/dra-device-attributes";
    struct ni_names *claims = &p->names, *requests = &p->inner, *files = &p->files;
    unsigned n_file = 0, n_dir = 0;
    ni_read_names(p, p->root, NI_OPTIONAL, claims, top);
    for (unsigned c = 0; c < claims->n && n_dir++ < MAX_DIRS; c++) {
        char claim[NI_PATH], request[NI_PATH], path[NI_PATH];
        if (!ni_format(claim, sizeof(claim), "%s/%s", top, claims->name[c]))
            continue;
        list(p, requests, claim);
        for (unsigned r = 0; r < requests->n && n_dir++ < MAX_DIRS; r++) {
            if (!ni_format(request, sizeof(request), "%s/%s", claim, requests->name[r]))
                continue;
            list(p, files, request);
            for (unsigned f = 0; f < files->n; f++) {
                if (is_metadata(files->name[f]) &&
                    ni_format(path, sizeof(path), "%s/%s", request, files->name[f]) &&
                    n_file++ < MAX_FILES)
                    read_metadata(p, path);
            }
        }
    }
    if (n_dir > MAX_DIRS || n_file > MAX_FILES)
        ni_report(p->f, NI_F_FACT_TRUNCATED, top, "more than %d directories or %d files", MAX_DIRS,
                  MAX_FILES);
}
