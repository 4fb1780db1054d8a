/* SPDX-License-Identifier: Apache-2.0 */
/* The network-status annotation of Multus (k8s.v1.cni.cncf.io/network-status), from a downward-API
   volume or variable: an array of networks, each with `interface` and, when a device plugin gave
   the device, `device-info` {type, pci {pci-address, rdma-device}}. In a variable it can be empty
   in a pod's first container (multus-cni#1113). */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "nccl_init/json.h"
#include "probe.h"

static void read_network(struct ni_probe *p, const char *from, json_t *network)
{
    json_t *pci = json_object_get(json_object_get(network, "device-info"), "pci");
    const char *id = json_string_value(json_object_get(pci, "pci-address"));
    const char *rdma = json_string_value(json_object_get(pci, "rdma-device"));
    if (!id)
        return;
    struct ni_claim *c = ni_add_claim(p, from, ni_span_of(id));
    if (c && rdma && *rdma && !strchr(rdma, ',')) /* a list where the function has several */
        ni_note_rdma_dev(p, c, from, rdma);
}

static void read_status(struct ni_probe *p, const char *from, const char *text)
{
    json_t *top = ni_parse_json(p->f, from, text), *network;
    size_t i;
    if (top && !json_is_array(top))
        ni_report(p->f, NI_F_ALLOC_INFO_INVALID, from, "network-status is no array");
    json_array_foreach(top, i, network) read_network(p, from, network);
    json_decref(top);
}

/* true when the file is there. */
static bool read_file(struct ni_probe *p, const char *path)
{
    const struct ni_dir root = ni_named_dir(p, "/");
    const enum ni_known known = ni_read_file(p, &root, NI_OPTIONAL, p->text, sizeof(p->text), "%s",
                                             path + strspn(path, "/"));
    if (known != NI_KNOWN)
        return known != NI_ABSENT;
    if (ni_trim(ni_span_of(p->text)).n > 0)
        read_status(p, path, p->text);
    return true;
}

static bool read_variable(struct ni_probe *p, const char *name)
{
    const char *text = ni_env_get(p->env, name);
    if (text && ni_trim(ni_span_of(text)).n > 0)
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
