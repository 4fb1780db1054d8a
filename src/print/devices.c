/* SPDX-License-Identifier: Apache-2.0 */
/* HCAs with their ports, and GPUs with the ports that each is to use, in JSON. A member is never
   renamed or given another meaning without a new NI_JSON_SCHEMA; new ones may come. */
#include "print/devices.h"

#include "nccl_init/base.h"
#include "nccl_init/gpu.h"
#include "nccl_init/inventory.h"
#include "nccl_init/ip.h"
#include "nccl_init/known.h"
#include "nccl_init/net.h"
#include "nccl_init/pci.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "print/json_write.h"
#include "print/words.h"

/* Returns the PCI address of the HCA's function; NULL for a sub-function, which has none. */
const struct ni_bdf *ni_function_bdf(const struct ni_hca *hca)
{
    return hca->has_bdf && !hca->aux[0] ? &hca->bdf : NULL;
}

/* Returns the PF of a VF, or the PCI device of a sub-function; NULL. */
const struct ni_bdf *ni_parent_bdf(const struct ni_hca *hca)
{
    if (hca->is_vf)
        return &hca->pf;
    return hca->has_bdf && hca->aux[0] ? &hca->bdf : NULL;
}

/* Returns the GID of that port of the inventory; NULL. */
const struct ni_gid *ni_port_gid_used(const struct ni_view *view, int port)
{
    const struct ni_port_plan *plan = &view->plan->port[port];
    const int gid = plan->gid < 0 ? plan->best : plan->gid;

    return plan->rule && gid >= 0 ? &view->inv->gid[gid] : NULL;
}

const char *const ni_gid_type_words[] = {
    [NI_GID_UNREAD] = "unread", [NI_GID_V1] = "v1", [NI_GID_V2] = "v2"};

/* Returns the number of HCAs shown to people: the pod's, which come first; all with --all, or if
   none is the pod's. */
unsigned ni_count_shown_hcas(const struct ni_view *view)
{
    const unsigned given = ni_allocated_hcas(view->inv);

    return given > 0 && !view->all ? given : view->inv->n_hca;
}

/* Writes a port: its facts, its GID, and what the plan decided about it. */
static void port_json(struct ni_json *j, const struct ni_view *view, unsigned i)
{
    const struct ni_port *port = &view->inv->port[i];
    const struct ni_port_plan *plan = &view->plan->port[i];
    const struct ni_gid *gid = ni_port_gid_used(view, (int)i);
    char ip[NI_IP_TEXT];

    ni_json_int(j, "port", port->num);
    ni_json_text(j, "state", ni_port_state_text(port->state));
    ni_json_text(j, "link", ni_link_words[port->link].json);
    ni_json_num(j, "mbps", port->mbps);
    if (gid) {
        ni_json_object(j, "gid");
        ni_json_int(j, "index", gid->index);
        ni_json_text(j, "address", ni_ip_text(gid->ip, ip));
        ni_json_text(j, "type", gid->type == NI_GID_UNREAD ? NULL : ni_gid_type_words[gid->type]);
        ni_json_text_or_null(j, "netdev", gid->ndev);
        ni_json_end(j);
    } else {
        ni_json_text(j, "gid", NULL);
    }
    ni_json_int_or_null(j, "nccl_index", plan->nccl_index >= 0, plan->nccl_index);
    ni_json_bool(j, "kept", plan->chosen);
    ni_json_text(j, "rule", plan->rule);
    ni_json_text_or_null(j, "why", plan->why);
}

/* Writes an HCA with its ports; more of it for doctor. */
static void hca_json(struct ni_json *j, const struct ni_view *view, unsigned i)
{
    const struct ni_hca *hca = &view->inv->hca[i];
    const struct ni_netdev *own = hca->netdev < 0 ? NULL : &view->inv->netdev[hca->netdev];

    ni_json_text(j, "name", hca->name);
    ni_json_bdf(j, "pci", ni_function_bdf(hca));
    ni_json_text_or_null(j, "auxiliary", hca->aux);
    ni_json_bdf(j, "parent", ni_parent_bdf(hca));
    ni_json_num(j, "numa", hca->pci.numa);
    ni_json_text(j, "claimed_by",
                 hca->allocation < 0 ? NULL : view->inv->allocation[hca->allocation].from);
    ni_json_text(j, "netdev", own ? own->name : NULL);
    if (view->inv->for_doctor) {
        ni_json_text_or_null(j, "type", hca->type);
        ni_json_text_or_null(j, "firmware", hca->fw);
        ni_json_num(j, "mtu", own ? own->mtu : (struct ni_num){0, NI_UNSET});
        ni_json_text_or_null(j, "iommu", hca->iommu.type);
    }
    ni_json_list(j, "ports", view, hca->first_port, hca->n_port, port_json);
}

void ni_json_gpu(struct ni_json *j, const struct ni_view *view, unsigned at)
{
    const struct ni_gpu *gpu = &view->inv->gpu[at];

    ni_json_int(j, "gpu", at);
    ni_json_bdf(j, "pci", &gpu->bdf);
    ni_json_int_or_null(j, "minor", gpu->minor >= 0, gpu->minor);
    ni_json_text(j, "vendor", gpu->amd ? "amd" : "nvidia");
    ni_json_num(j, "numa", gpu->pci.numa);
    ni_json_text_or_null(j, "cpus", gpu->cpus);
    ni_json_array(j, "use");
    for (unsigned i = 0; i < view->plan->n_chosen; i++) {
        const struct ni_port *port = &view->inv->port[view->plan->chosen[i]];
        const struct ni_hca *hca = &view->inv->hca[port->hca];

        if (!(view->plan->gpu_ports[at] >> i & 1))
            continue;
        ni_json_object(j, NULL);
        ni_json_text(j, "hca", hca->name);
        ni_json_int(j, "port", port->num);
        ni_json_bdf(j, "pci", ni_function_bdf(hca));
        ni_json_end(j);
    }
    ni_json_end(j);
}

static void gpu_json(struct ni_json *j, const struct ni_view *view, unsigned i)
{
    const struct ni_near *near = &view->plan->nearest_hca[i];

    ni_json_gpu(j, view, i);
    ni_json_array(j, "distances");
    for (unsigned h = 0; h < view->inv->n_hca; h++) {
        const enum ni_distance d = view->plan->distance[i][h];

        ni_json_object(j, NULL);
        ni_json_text(j, "hca", view->inv->hca[h].name);
        ni_json_text(j, "distance", d == NI_DIST_UNKNOWN ? NULL : ni_distance_text(d));
        ni_json_end(j);
    }
    ni_json_end(j);
    if (near->index < 0) {
        ni_json_text(j, "nearest_hca", NULL);
        return;
    }
    ni_json_object(j, "nearest_hca");
    ni_json_text(j, "hca", view->inv->hca[near->index].name);
    ni_json_text(j, "distance", ni_distance_text(near->distance));
    ni_json_end(j);
}

void ni_json_devices(struct ni_json *j, const struct ni_view *view, unsigned n_hca)
{
    ni_json_list(j, "hcas", view, 0, n_hca, hca_json);
    ni_json_list(j, "gpus", view, 0, view->inv->n_gpu, gpu_json);
}
