/* SPDX-License-Identifier: Apache-2.0 */
/* The source that is JSON in a file or a variable: the network-status annotation of Multus. */
#include "node/source_json.h"

#include <jansson.h>
#include <string.h>

#include "findings/device.h"
#include "findings/setting.h"
#include "nccl_init/allocation.h"
#include "nccl_init/env.h"
#include "nccl_init/findings.h"
#include "nccl_init/known.h"
#include "nccl_init/text.h"
#include "node/allocations.h"
#include "node/net.h"
#include "node/read.h"
#include "print/json_read.h"
#include "sysroot/root.h"

/* ---- The network-status annotation of Multus (k8s.v1.cni.cncf.io/network-status), from a downward-API
        volume or variable: an array of networks, each with `interface` and, when a device plugin gave
        the device, `device-info` {type, pci {pci-address, rdma-device}}. In a variable it can be empty
        in a pod's first container (multus-cni#1113) ---- */

/* Reads a network-status annotation. with_netdevs: also notes the pod's interfaces. */
static void read_status(struct ni_probe *p, const char *from, const char *text, bool with_netdevs)
{
    size_t i;
    json_t *network;

    if (ni_trim(ni_span_of(text)).n == 0)
        return;
    json_t *top = ni_parse_json(p->f, from, text);
    if (top && !json_is_array(top))
        ni_report(p->f, NI_F_ALLOC_INFO_INVALID, from, "network-status is not an array");
    json_array_foreach(top, i, network)
    {
        json_t *pci = json_object_get(json_object_get(network, "device-info"), "pci");
        const char *id = ni_json_string(pci, "pci-address"),
                   *rdma = ni_json_string(pci, "rdma-device");
        const char *ifname = ni_json_string(network, "interface");
        struct ni_allocation *c = NULL;

        if (id) {
            const struct ni_device_id parsed = ni_parse_device_id(ni_span_of(id));

            c = ni_add_allocation(p, from, &parsed);
        }

        if (with_netdevs && ifname && !json_is_true(json_object_get(network, "default")))
            ni_note_allocated_netdev(p, ifname);
        if (c && rdma && *rdma && !strchr(rdma, ',')) /* it is a list if the function has several */
            ni_note_rdma_dev(p, c, from, rdma);
    }
    json_decref(top);
}

/* Reads the file. true: it exists. */
static bool read_file(struct ni_probe *p, const char *path, bool with_netdevs)
{
    struct ni_dir root = *p->root;

    root.named = true;
    root.as = "etc/podinfo/network-status";
    const ssize_t n = ni_read_whole(p, &root, path + strspn(path, "/"));
    const enum ni_known known = ni_note(p, NI_OPTIONAL, n);
    if (known == NI_KNOWN)
        read_status(p, path, p->text, with_netdevs);
    return known != NI_ABSENT;
}

static bool read_variable(struct ni_probe *p, const char *name)
{
    const char *text = ni_env_get(p->env, name);

    if (text)
        read_status(p, name, text, true);
    return text != NULL;
}

void ni_source_netstatus(struct ni_probe *p)
{
    const char *given = p->ask->network_status;

    if (given && *given == '/') {
        if (!read_file(p, given, true))
            ni_report(p->f, NI_F_OPTION_INVALID, "--network-status", "there is no %s", given);
    } else if (given) {
        if (!read_variable(p, given))
            ni_report(p->f, NI_F_OPTION_INVALID, "--network-status", "the variable %s is not set",
                      given);
    } else if (!read_variable(p, "NETWORK_STATUS")) {
        const bool decides = p->inv->source == NI_SRC_NONE;

        /* `run` reads the file only where it decides; `plan` must not decide by more */
        if (decides || p->ask->all)
            (void)read_file(p, "etc/podinfo/network-status", decides);
    }
}
