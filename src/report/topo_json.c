/* SPDX-License-Identifier: Apache-2.0 */
/* The topology for programs: all GPUs and all HCAs, in the order of the inventory. Members are
   named as in the plan's JSON where they are the same. */
#include "out.h"
#include "topo.h"
#include "words.h"

/* From the host bridge down to the function. */
static void path_json(struct ni_json *j, const struct ni_pci *pci)
{
    char bridge[32];
    struct ni_text t = ni_text_on(bridge, sizeof(bridge));
    if (!ni_topo_placed(pci)) {
        ni_json_null(j, "path");
        return;
    }
    ni_topo_put_host_bridge(&t, pci);
    ni_json_array(j, "path");
    ni_json_text(j, NULL, bridge);
    for (unsigned i = 0; i < pci->depth; i++)
        ni_json_bdf(j, NULL, &pci->at[i]);
    ni_json_end(j);
}

static void distance_json(struct ni_json *j, const char *key, const char *word)
{
    ni_json_text(j, key, word[0] == '-' ? NULL : word);
}

static void gpus_json(struct ni_json *j, const struct ni_view *view)
{
    const struct ni_inventory *inv = view->inv;
    ni_json_array(j, "gpus");
    for (unsigned g = 0; g < inv->n_gpu; g++) {
        ni_json_object(j, NULL);
        ni_json_gpu(j, g, &inv->gpu[g]);
        path_json(j, &inv->gpu[g].pci);
        ni_json_array(j, "distances");
        for (unsigned h = 0; h < inv->n_hca; h++) {
            ni_json_object(j, NULL);
            ni_json_text(j, "hca", inv->hca[h].name);
            distance_json(j, "distance", ni_distance_text(view->plan->distance[g][h]));
            distance_json(j, "nvidia_smi", ni_topo_word(view, g, (int)h));
            ni_json_bool(j, "nearest", ni_topo_nearest(view, g, (int)h));
            ni_json_end(j);
        }
        ni_json_end(j);
        ni_json_end(j);
    }
    ni_json_end(j);
}

/* All GPUs that are equally near. */
static void nearest_gpus_json(struct ni_json *j, const struct ni_view *view, unsigned hca)
{
    const struct ni_near *near = &view->plan->nearest_gpu[hca];
    if (!ni_json_object_or_null(j, "nearest_gpus", ni_has_near(near)))
        return;
    ni_json_array(j, "gpus");
    for (unsigned i = 0; i < view->inv->n_gpu; i++)
        if (view->plan->distance[i][hca] == near->distance)
            ni_json_int(j, NULL, i);
    ni_json_end(j);
    ni_json_text(j, "distance", ni_distance_text(near->distance));
    ni_json_end(j);
}

static void hcas_json(struct ni_json *j, const struct ni_view *view)
{
    const struct ni_inventory *inv = view->inv;
    ni_json_array(j, "hcas");
    for (unsigned i = 0; i < inv->n_hca; i++) {
        const char *rail[NI_MAX_PORT];
        unsigned n_rail = ni_topo_rails(view, (int)i, rail);
        ni_json_object(j, NULL);
        ni_json_hca(j, &inv->hca[i]);
        path_json(j, &inv->hca[i].pci);
        ni_json_bool(j, "claimed", inv->hca[i].claim >= 0);
        ni_json_bool(j, "kept", ni_chosen_ports(view->plan, &inv->hca[i]) > 0);
        ni_json_array(j, "netdevs");
        for (unsigned k = 0; k < n_rail; k++)
            ni_json_text(j, NULL, rail[k]);
        ni_json_end(j);
        nearest_gpus_json(j, view, i);
        ni_json_end(j);
    }
    ni_json_end(j);
}

int ni_write_topo_json(int fd, const struct ni_view *view)
{
    struct ni_out o;
    struct ni_json json = ni_json_on(ni_out_on(&o, fd), true), *j = &json;
    ni_json_object(j, NULL);
    ni_json_int(j, "schema", NI_JSON_SCHEMA);
    ni_json_text(j, "root", view->root);
    ni_json_text(j, "transport", ni_word_transport[view->plan->transport]);
    ni_json_text(j, "source", ni_word_source[view->inv->source]);
    ni_json_bool(j, "c2c", view->inv->gdr.c2c);
    gpus_json(j, view);
    hcas_json(j, view);
    ni_json_end(j);
    return ni_out_end(&o);
}
