/* SPDX-License-Identifier: Apache-2.0 */
/* The plan for programs. What is not known is null; indexes become names, so that an object can be
   read alone. A member is never renamed or given another meaning without a new NI_JSON_SCHEMA; new
   ones may come. */
#include "json.h"
#include "nccl_init/report.h"
#include "out.h"
#include "words.h"

struct build {
    const struct ni_view *view;
    bool bad; /* out of memory somewhere */
};

static json_t *claims_json(struct build *b)
{
    const struct ni_inventory *inv = b->view->inv;
    json_t *all = json_array();
    for (unsigned i = 0; i < inv->n_claim; i++) {
        const struct ni_claim *c = &inv->claim[i];
        json_t *j = json_object();
        ni_json_put(&b->bad, j, "id", ni_json_text(c->id));
        ni_json_put(&b->bad, j, "from", ni_json_text(c->from));
        ni_json_put(&b->bad, j, "source", json_string(ni_word_source(c->source)));
        ni_json_put(&b->bad, j, "state", json_string(ni_word_claim(c->state)));
        ni_json_put(&b->bad, j, "rdma_dev", ni_json_text_or_null(c->rdma_dev));
        ni_json_put(&b->bad, j, "hca",
                    c->hca < 0 ? json_null() : ni_json_text(inv->hca[c->hca].name));
        ni_json_add(&b->bad, all, j);
    }
    return all;
}

static json_t *gid_json(struct build *b, const struct ni_port_plan *pick)
{
    if (!pick->rule || pick->gid < 0) /* without a rule the zeroed pick means nothing */
        return json_null();
    const struct ni_gid *gid = &b->view->inv->gid[pick->gid];
    char ip[NI_IP_TEXT];
    json_t *j = json_object();
    ni_json_put(&b->bad, j, "index", json_integer(gid->index));
    ni_json_put(&b->bad, j, "address", json_string(ni_ip_text(gid->ip, ip)));
    ni_json_put(&b->bad, j, "type",
                gid->type == NI_GID_UNREAD ? json_null()
                                           : json_string(ni_word_gid_type(gid->type)));
    ni_json_put(&b->bad, j, "netdev", ni_json_text_or_null(gid->ndev));
    return j;
}

static json_t *state_json(struct ni_num state)
{
    const char *word = state.known == NI_KNOWN ? ni_port_state_text(state.v) : NULL;
    return word ? json_string(word) : ni_json_num(state);
}

static json_t *port_json(struct build *b, int index)
{
    const struct ni_port *port = &b->view->inv->port[index];
    const struct ni_port_plan *pick = &b->view->plan->port[index];
    json_t *j = json_object();
    ni_json_put(&b->bad, j, "port", json_integer(port->num));
    ni_json_put(&b->bad, j, "state", state_json(port->state));
    ni_json_put(&b->bad, j, "link",
                port->link == NI_LINK_UNKNOWN ? json_null()
                                              : json_string(ni_word_link(port->link)));
    ni_json_put(&b->bad, j, "mbps", ni_json_num(port->mbps));
    ni_json_put(&b->bad, j, "gid", gid_json(b, pick));
    ni_json_put(&b->bad, j, "kept", json_boolean(pick->rule && pick->chosen));
    ni_json_put(&b->bad, j, "rule", ni_json_text_or_null(pick->rule));
    ni_json_put(&b->bad, j, "why", ni_json_text_or_null(pick->rule ? pick->why : NULL));
    return j;
}

static json_t *netdev_json(struct build *b, int index)
{
    if (index < 0)
        return json_null();
    const struct ni_netdev *dev = &b->view->inv->netdev[index];
    json_t *j = json_object();
    ni_json_put(&b->bad, j, "name", ni_json_text(dev->name));
    ni_json_put(&b->bad, j, "running",
                dev->known == NI_KNOWN ? json_boolean(dev->running) : json_null());
    ni_json_put(&b->bad, j, "mtu", ni_json_num(dev->mtu));
    return j;
}

static json_t *near_gpu_json(struct build *b, const struct ni_near *near)
{
    if (near->index < 0 || near->distance == NI_DIST_UNKNOWN)
        return json_null();
    json_t *j = json_object();
    ni_json_put(&b->bad, j, "gpu", json_integer(near->index));
    ni_json_put(&b->bad, j, "pci", ni_json_bdf(b->view->inv->gpu[near->index].bdf));
    ni_json_put(&b->bad, j, "distance", json_string(ni_distance_text(near->distance)));
    return j;
}

static json_t *hca_json(struct build *b, unsigned index)
{
    const struct ni_hca *hca = &b->view->inv->hca[index];
    json_t *ports = json_array();
    for (unsigned i = 0; i < hca->n_port; i++)
        ni_json_add(&b->bad, ports, port_json(b, hca->first_port + (int)i));
    json_t *j = json_object();
    ni_json_put(&b->bad, j, "name", ni_json_text(hca->name));
    /* a sub-function has no PCI address; the one it was read with is its parent's */
    bool own = hca->has_bdf && !hca->aux[0];
    bool child = hca->is_vf || (hca->has_bdf && hca->aux[0]);
    ni_json_put(&b->bad, j, "pci", own ? ni_json_bdf(hca->bdf) : json_null());
    ni_json_put(&b->bad, j, "auxiliary", ni_json_text_or_null(hca->aux));
    ni_json_put(&b->bad, j, "parent",
                child ? ni_json_bdf(hca->is_vf ? hca->pf : hca->bdf) : json_null());
    ni_json_put(&b->bad, j, "numa", ni_json_numa(&hca->pci));
    ni_json_put(&b->bad, j, "claimed_by",
                hca->claim < 0 ? json_null() : ni_json_text(b->view->inv->claim[hca->claim].from));
    ni_json_put(&b->bad, j, "netdev", netdev_json(b, hca->netdev));
    ni_json_put(&b->bad, j, "nearest_gpu", near_gpu_json(b, &b->view->plan->nearest_gpu[index]));
    ni_json_put(&b->bad, j, "ports", ports);
    return j;
}

static json_t *hcas_json(struct build *b)
{
    json_t *all = json_array();
    for (unsigned i = 0; i < b->view->inv->n_hca; i++)
        ni_json_add(&b->bad, all, hca_json(b, i));
    return all;
}

static json_t *near_hca_json(struct build *b, const struct ni_near *near)
{
    if (near->index < 0 || near->distance == NI_DIST_UNKNOWN)
        return json_null();
    json_t *j = json_object();
    ni_json_put(&b->bad, j, "hca", ni_json_text(b->view->inv->hca[near->index].name));
    ni_json_put(&b->bad, j, "distance", json_string(ni_distance_text(near->distance)));
    return j;
}

static json_t *gpus_json(struct build *b)
{
    const struct ni_inventory *inv = b->view->inv;
    json_t *all = json_array();
    for (unsigned i = 0; i < inv->n_gpu; i++) {
        const struct ni_gpu *gpu = &inv->gpu[i];
        json_t *j = json_object();
        ni_json_gpu(&b->bad, j, i, gpu);
        ni_json_put(&b->bad, j, "nearest_hca", near_hca_json(b, &b->view->plan->nearest_hca[i]));
        ni_json_add(&b->bad, all, j);
    }
    return all;
}

/* true, false, or null where it could not be read. */
static json_t *yes_no(enum ni_known known)
{
    return known == NI_KNOWN || known == NI_ABSENT ? json_boolean(known == NI_KNOWN) : json_null();
}

static json_t *gdr_json(struct build *b)
{
    const struct ni_gdr *gdr = &b->view->inv->gdr;
    json_t *j = json_object();
    ni_json_put(&b->bad, j, "peermem", yes_no(gdr->peermem));
    ni_json_put(&b->bad, j, "open_driver", yes_no(gdr->open_driver));
    ni_json_put(&b->bad, j, "c2c", json_boolean(gdr->c2c));
    return j;
}

static json_t *settings_json(struct build *b)
{
    const struct ni_plan *plan = b->view->plan;
    json_t *all = json_array();
    for (unsigned i = 0; i < plan->n_setting; i++) {
        const struct ni_setting *s = &plan->setting[i];
        json_t *j = json_object();
        ni_json_put(&b->bad, j, "name", ni_json_text(s->name));
        ni_json_put(&b->bad, j, "value",
                    s->origin == NI_LEFT_UNSET ? json_null() : ni_json_text(s->value));
        ni_json_put(&b->bad, j, "origin", json_string(ni_word_origin(s->origin)));
        ni_json_put(&b->bad, j, "rule", ni_json_text_or_null(s->rule));
        ni_json_put(&b->bad, j, "file",
                    ni_json_text_or_null(s->origin == NI_FROM_CONF ? s->file : NULL));
        ni_json_put(&b->bad, j, "reason", ni_json_text_or_null(s->reason));
        ni_json_add(&b->bad, all, j);
    }
    return all;
}

static json_t *limit_json(struct ni_num now)
{
    return now.known == NI_KNOWN ? ni_json_bytes(now.v) : json_null();
}

static json_t *memlock_json(struct build *b)
{
    const struct ni_limit *limit = &b->view->plan->memlock;
    const struct ni_self *self = &b->view->inv->self;
    json_t *j = json_object();
    ni_json_put(&b->bad, j, "soft", limit_json(self->memlock_soft));
    ni_json_put(&b->bad, j, "hard", limit_json(self->memlock_hard));
    ni_json_put(&b->bad, j, "raise_soft_to",
                limit->raise_soft ? ni_json_bytes(limit->soft) : json_null());
    ni_json_put(&b->bad, j, "raise_hard_to",
                limit->raise_hard ? ni_json_bytes(limit->hard) : json_null());
    return j;
}

static json_t *findings_json(struct build *b)
{
    const struct ni_findings *all = b->view->findings;
    json_t *array = json_array();
    for (unsigned i = 0; i < all->n; i++)
        ni_json_add(&b->bad, array, ni_json_finding(&b->bad, &all->at[i]));
    return array;
}

int ni_write_plan_json(int fd, const struct ni_view *view)
{
    const struct ni_plan *plan = view->plan;
    enum ni_link link = ni_plan_link(view->inv, plan);
    struct build b = {.view = view};
    json_t *j = json_object();
    ni_json_put(&b.bad, j, "schema", json_integer(NI_JSON_SCHEMA));
    ni_json_put(&b.bad, j, "root", ni_json_text(view->root));
    ni_json_put(&b.bad, j, "transport", json_string(ni_word_transport(plan->transport)));
    ni_json_put(&b.bad, j, "link",
                link == NI_LINK_UNKNOWN ? json_null() : json_string(ni_word_link(link)));
    ni_json_put(&b.bad, j, "source", json_string(ni_word_source(view->inv->source)));
    ni_json_put(&b.bad, j, "refuse", plan->refuse ? ni_json_text(plan->refuse_why) : json_null());
    ni_json_put(&b.bad, j, "gid_index",
                plan->transport == NI_NET_RDMA && plan->gid_index >= 0
                    ? json_integer(plan->gid_index)
                    : json_null());
    ni_json_put(&b.bad, j, "claims", claims_json(&b));
    ni_json_put(&b.bad, j, "hcas", hcas_json(&b));
    ni_json_put(&b.bad, j, "gpus", gpus_json(&b));
    ni_json_put(&b.bad, j, "gdr", gdr_json(&b));
    ni_json_put(&b.bad, j, "settings", settings_json(&b));
    ni_json_put(&b.bad, j, "memlock", memlock_json(&b));
    ni_json_put(&b.bad, j, "findings", findings_json(&b));
    ni_json_put(&b.bad, j, "findings_dropped", json_integer(view->findings->dropped));
    struct ni_out o;
    ni_out_on(&o, fd);
    ni_json_write(&o, j, b.bad, 2);
    return ni_out_end(&o);
}
