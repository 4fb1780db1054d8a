/* SPDX-License-Identifier: Apache-2.0 */
/* The topology for programs: all GPUs and all HCAs, in the order of the inventory. Members are
   named as in the plan's JSON where they are the same. */
#include "json.h"
#include "out.h"
#include "topo.h"
#include "words.h"

struct build {
    const struct ni_topo *topo;
    bool bad; /* out of memory somewhere */
};

/* From the host bridge down to the function. */
static json_t *path_json(struct build *b, const struct ni_pci *pci)
{
    if (!ni_topo_placed(pci))
        return json_null();
    char buf[32];
    struct ni_text t = ni_text_on(buf, sizeof(buf));
    json_t *path = json_array();
    ni_topo_say_host_bridge(&t, pci);
    ni_json_add(&b->bad, path, json_string(buf));
    for (unsigned i = 0; i < pci->depth; i++)
        ni_json_add(&b->bad, path, ni_json_bdf(pci->at[i]));
    return path;
}

static json_t *word_json(const char *word)
{
    return word[0] == '-' ? json_null() : json_string(word);
}

/* ---- GPUs ---- */

static json_t *distances_json(struct build *b, unsigned gpu)
{
    const struct ni_inventory *inv = b->topo->view->inv;
    json_t *all = json_array();
    for (unsigned i = 0; i < inv->n_hca; i++) {
        int hca = (int)i;
        json_t *j = json_object();
        ni_json_put(&b->bad, j, "hca", ni_json_text(inv->hca[i].name));
        ni_json_put(&b->bad, j, "distance",
                    word_json(ni_distance_text(b->topo->view->plan->distance[gpu][i])));
        ni_json_put(&b->bad, j, "nvidia_smi", word_json(ni_topo_word(b->topo->view, gpu, hca)));
        ni_json_put(&b->bad, j, "nearest", json_boolean(ni_topo_nearest(b->topo, gpu, hca)));
        ni_json_add(&b->bad, all, j);
    }
    return all;
}

static json_t *gpus_json(struct build *b)
{
    const struct ni_inventory *inv = b->topo->view->inv;
    json_t *all = json_array();
    for (unsigned i = 0; i < inv->n_gpu; i++) {
        const struct ni_gpu *gpu = &inv->gpu[i];
        json_t *j = json_object();
        ni_json_gpu(&b->bad, j, i, gpu);
        ni_json_put(&b->bad, j, "path", path_json(b, &gpu->pci));
        ni_json_put(&b->bad, j, "distances", distances_json(b, i));
        ni_json_add(&b->bad, all, j);
    }
    return all;
}

/* ---- HCAs ---- */

/* All GPUs that are equally near. */
static json_t *near_json(struct build *b, unsigned hca)
{
    const struct ni_plan *plan = b->topo->view->plan;
    const struct ni_near *near = &plan->nearest_gpu[hca];
    if (near->index < 0 || near->distance == NI_DIST_UNKNOWN)
        return json_null();
    json_t *gpus = json_array();
    for (unsigned i = 0; i < b->topo->view->inv->n_gpu; i++) {
        if (plan->distance[i][hca] == near->distance)
            ni_json_add(&b->bad, gpus, json_integer(i));
    }
    json_t *j = json_object();
    ni_json_put(&b->bad, j, "gpus", gpus);
    ni_json_put(&b->bad, j, "distance", json_string(ni_distance_text(near->distance)));
    return j;
}

static json_t *rails_json(struct build *b, unsigned hca)
{
    const char *name[NI_MAX_PORT];
    unsigned n = ni_topo_rails(b->topo, (int)hca, name);
    json_t *all = json_array();
    for (unsigned i = 0; i < n; i++)
        ni_json_add(&b->bad, all, ni_json_text(name[i]));
    return all;
}

static json_t *hcas_json(struct build *b)
{
    const struct ni_inventory *inv = b->topo->view->inv;
    json_t *all = json_array();
    for (unsigned i = 0; i < inv->n_hca; i++) {
        const struct ni_hca *hca = &inv->hca[i];
        /* a sub-function has no PCI address; the one it was read with is its parent's */
        bool own = hca->has_bdf && !hca->aux[0];
        bool child = hca->is_vf || (hca->has_bdf && hca->aux[0]);
        json_t *j = json_object();
        ni_json_put(&b->bad, j, "name", ni_json_text(hca->name));
        ni_json_put(&b->bad, j, "pci", own ? ni_json_bdf(hca->bdf) : json_null());
        ni_json_put(&b->bad, j, "auxiliary", ni_json_text_or_null(hca->aux));
        ni_json_put(&b->bad, j, "parent",
                    child ? ni_json_bdf(hca->is_vf ? hca->pf : hca->bdf) : json_null());
        ni_json_put(&b->bad, j, "numa", ni_json_numa(&hca->pci));
        ni_json_put(&b->bad, j, "path", path_json(b, &hca->pci));
        ni_json_put(&b->bad, j, "claimed", json_boolean(hca->claim >= 0));
        ni_json_put(&b->bad, j, "kept", json_boolean(b->topo->kept[i]));
        ni_json_put(&b->bad, j, "netdevs", rails_json(b, i));
        ni_json_put(&b->bad, j, "nearest_gpus", near_json(b, i));
        ni_json_add(&b->bad, all, j);
    }
    return all;
}

int ni_write_topo_json(int fd, const struct ni_view *view)
{
    struct ni_out o;
    struct ni_topo topo;
    struct build b = {.topo = &topo};
    ni_topo_on(&topo, view);
    json_t *j = json_object();
    ni_json_put(&b.bad, j, "schema", json_integer(NI_JSON_SCHEMA));
    ni_json_put(&b.bad, j, "root", ni_json_text(view->root));
    ni_json_put(&b.bad, j, "transport", json_string(ni_word_transport(view->plan->transport)));
    ni_json_put(&b.bad, j, "source", json_string(ni_word_source(view->inv->source)));
    ni_json_put(&b.bad, j, "c2c", json_boolean(view->inv->gdr.c2c));
    ni_json_put(&b.bad, j, "gpus", gpus_json(&b));
    ni_json_put(&b.bad, j, "hcas", hcas_json(&b));
    ni_out_on(&o, fd);
    ni_json_write(&o, j, b.bad, 2);
    return ni_out_end(&o);
}
