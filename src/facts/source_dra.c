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
        if (!ni_find_claim(p->inv, NI_SRC_DRA, ni_span_of(id)))
            ni_add_claim(p, NI_SRC_DRA, path, ni_span_of(id));
        return;
    }
}

static void read_metadata(struct ni_probe *p, const char *path)
{
    ssize_t n = ni_read(p->root, p->text, sizeof(p->text), "%s", path);
    if (n < 0) {
        ni_note_missing(p, path, (int)n);
        return;
    }
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

/* The files of one request. */
static void read_request(struct ni_probe *p, const char *dir, unsigned *files)
{
    int err = ni_list(p->root, &p->files, "%s", dir);
    if (err < 0) {
        if (err != -ENOTDIR)
            ni_note_missing(p, dir, err);
        return;
    }
    for (unsigned f = 0; f < p->files.n; f++) {
        char path[NI_PATH];
        struct ni_text t = ni_text_on(path, sizeof(path));
        ni_putf(&t, "%s/%s", dir, p->files.name[f]);
        if (is_metadata(p->files.name[f]) && !t.cut && (*files)++ < MAX_FILES)
            read_metadata(p, path);
    }
}

void ni_source_dra(struct ni_probe *p)
{
    static const char top[] = "var/run/dra-device-attributes";
    struct ni_names *claims = &p->names, *requests = &p->inner;
    unsigned files = 0, dirs = 0;
    int err = ni_list(p->root, claims, "%s", top);
    if (err < 0)
        ni_note_unreadable(p, top, err);
    for (unsigned c = 0; c < claims->n && dirs < MAX_DIRS; c++) {
        char claim[NI_PATH];
        dirs++;
        if (!ni_format(claim, sizeof(claim), "%s/%s", top, claims->name[c]))
            continue;
        err = ni_list(p->root, requests, "%s", claim);
        if (err < 0 && err != -ENOTDIR)
            ni_note_missing(p, claim, err);
        for (unsigned r = 0; r < requests->n && dirs < MAX_DIRS; r++) {
            char dir[NI_PATH];
            struct ni_text t = ni_text_on(dir, sizeof(dir));
            ni_putf(&t, "%s/%s/%s", top, claims->name[c], requests->name[r]);
            dirs++;
            if (!t.cut)
                read_request(p, dir, &files);
        }
    }
    if (dirs == MAX_DIRS || files > MAX_FILES)
        ni_report(p->f, NI_F_FACT_TRUNCATED, top, "more than %d directories or %d files", MAX_DIRS,
                  MAX_FILES);
}
