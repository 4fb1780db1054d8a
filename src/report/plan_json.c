/* SPDX-License-Identifier: Apache-2.0 */
/* The plan for programs. What is not known is null; indexes become names, so that an object can be
   read alone. A member is never renamed or given another meaning without a new NI_JSON_SCHEMA; new
   ones may come. */
#include "findings.h"
#include "nccl_init/report.h"
#include "out.h"
#include "words.h"

static void claims_json(struct ni_json *j, const struct ni_inventory *inv)
{
    ni_json_array(j, "claims");
    for (unsigned i = 0; i < inv->n_claim; i++) {
        const struct ni_claim *c = &inv->claim[i];
        ni_json_object(j, NULL);
        ni_json_text(j, "id", c->id);
        ni_json_text(j, "from", c->from);
        ni_json_text(j, "source", ni_word_source[c->source]);
        ni_json_text(j, "state", ni_word_claim[c->state]);
        ni_json_text_or_null(j, "rdma_dev", c->rdma_dev);
        ni_json_text(j, "hca", c->hca < 0 ? NULL : inv->hca[c->hca].name);
        ni_json_end(j);
    }
    ni_json_end(j);
}

static void gid_json(struct ni_json *j, const struct ni_inventory *inv, int index)
{
    char ip[NI_IP_TEXT];
    if (!ni_json_object_or_null(j, "gid", index >= 0))
        return;
    const struct ni_gid *gid = &inv->gid[index];
    ni_json_int(j, "index", gid->index);
    ni_json_text(j, "address", ni_ip_text(gid->ip, ip));
    ni_json_text(j, "type", gid->type == NI_GID_UNREAD ? NULL : ni_word_gid_type[gid->type]);
    ni_json_text_or_null(j, "netdev", gid->ndev);
    ni_json_end(j);
}

static void port_json(struct ni_json *j, const struct ni_view *view, const struct ni_hca *hca,
                      unsigned i)
{
    const struct ni_port *port = &view->inv->port[hca->first_port + (int)i];
    const struct ni_port_plan *plan = ni_decision(view->plan, hca, i);
    const char *state = ni_word_state(port->state);
    ni_json_object(j, NULL);
    ni_json_int(j, "port", port->num);
    if (state)
        ni_json_text(j, "state", state);
    else
        ni_json_num(j, "state", port->state);
    ni_json_text(j, "link", ni_word_link[port->link]);
    ni_json_num(j, "mbps", port->mbps);
    gid_json(j, view->inv, plan ? plan->gid : -1);
    ni_json_bool(j, "kept", plan && plan->chosen);
    ni_json_text(j, "rule", plan ? plan->rule : NULL);
    ni_json_text_or_null(j, "why", plan ? plan->why : NULL);
    ni_json_end(j);
}

static void netdev_json(struct ni_json *j, const struct ni_inventory *inv, int index)
{
    if (!ni_json_object_or_null(j, "netdev", index >= 0))
        return;
    const struct ni_netdev *dev = &inv->netdev[index];
    ni_json_text(j, "name", dev->name);
    ni_json_bool_or_null(j, "running", dev->known == NI_KNOWN, dev->running);
    ni_json_num(j, "mtu", dev->mtu);
    ni_json_end(j);
}

static void nearest_gpu_json(struct ni_json *j, const struct ni_inventory *inv,
                             const struct ni_near *near)
{
    if (!ni_json_object_or_null(j, "nearest_gpu", ni_has_near(near)))
        return;
    ni_json_int(j, "gpu", near->index);
    ni_json_bdf(j, "pci", &inv->gpu[near->index].bdf);
    ni_json_text(j, "distance", ni_distance_text(near->distance));
    ni_json_end(j);
}

static void hcas_json(struct ni_json *j, const struct ni_view *view)
{
    const struct ni_inventory *inv = view->inv;
    ni_json_array(j, "hcas");
    for (unsigned i = 0; i < inv->n_hca; i++) {
        const struct ni_hca *hca = &inv->hca[i];
        ni_json_object(j, NULL);
        ni_json_hca(j, hca);
        ni_json_text(j, "claimed_by", hca->claim < 0 ? NULL : inv->claim[hca->claim].from);
        netdev_json(j, inv, hca->netdev);
        nearest_gpu_json(j, inv, &view->plan->nearest_gpu[i]);
        ni_json_array(j, "ports");
        for (unsigned k = 0; k < hca->n_port; k++)
            port_json(j, view, hca, k);
        ni_json_end(j);
        ni_json_end(j);
    }
    ni_json_end(j);
}

static void nearest_hca_json(struct ni_json *j, const struct ni_inventory *inv,
                             const struct ni_near *near)
{
    if (!ni_json_object_or_null(j, "nearest_hca", ni_has_near(near)))
        return;
    ni_json_text(j, "hca", inv->hca[near->index].name);
    ni_json_text(j, "distance", ni_distance_text(near->distance));
    ni_json_end(j);
}

static void gpus_json(struct ni_json *j, const struct ni_view *view)
{
    ni_json_array(j, "gpus");
    for (unsigned i = 0; i < view->inv->n_gpu; i++) {
        ni_json_object(j, NULL);
        ni_json_gpu(j, i, &view->inv->gpu[i]);
        nearest_hca_json(j, view->inv, &view->plan->nearest_hca[i]);
        ni_json_end(j);
    }
    ni_json_end(j);
}

static void gdr_json(struct ni_json *j, const struct ni_gdr *gdr)
{
    ni_json_object(j, "gdr");
    ni_json_yes_no(j, "peermem", gdr->peermem);
    ni_json_yes_no(j, "open_driver", gdr->open_driver);
    ni_json_bool(j, "c2c", gdr->c2c);
    ni_json_end(j);
}

static void settings_json(struct ni_json *j, const struct ni_plan *plan)
{
    ni_json_array(j, "settings");
    for (unsigned i = 0; i < plan->n_setting; i++) {
        const struct ni_setting *s = &plan->setting[i];
        ni_json_object(j, NULL);
        ni_json_text(j, "name", s->name);
        ni_json_text(j, "value", s->origin == NI_LEFT_UNSET ? NULL : s->value);
        ni_json_text(j, "origin", ni_word_origin[s->origin]);
        ni_json_text_or_null(j, "rule", s->rule);
        ni_json_text_or_null(j, "file", s->origin == NI_FROM_CONF ? s->file : NULL);
        ni_json_text_or_null(j, "reason", s->reason);
        ni_json_end(j);
    }
    ni_json_end(j);
}

static void memlock_json(struct ni_json *j, const struct ni_view *view)
{
    const struct ni_limit *limit = &view->plan->memlock;
    const struct ni_self *self = &view->inv->self;
    ni_json_object(j, "memlock");
    ni_json_bytes(j, "soft", self->memlock_soft);
    ni_json_bytes(j, "hard", self->memlock_hard);
    ni_json_bytes(j, "raise_soft_to",
                  (struct ni_num){limit->soft, limit->raise_soft ? NI_KNOWN : NI_UNSET});
    ni_json_bytes(j, "raise_hard_to",
                  (struct ni_num){limit->hard, limit->raise_hard ? NI_KNOWN : NI_UNSET});
    ni_json_end(j);
}

int ni_write_plan_json(int fd, const struct ni_view *view)
{
    const struct ni_plan *plan = view->plan;
    struct ni_out o;
    struct ni_json json = ni_json_on(ni_out_on(&o, fd), true), *j = &json;
    ni_json_object(j, NULL);
    ni_json_int(j, "schema", NI_JSON_SCHEMA);
    ni_json_text(j, "root", view->root);
    ni_json_text(j, "transport", ni_word_transport[plan->transport]);
    ni_json_text(j, "link", ni_word_link[ni_plan_link(view->inv, plan)]);
    ni_json_text(j, "source", ni_word_source[view->inv->source]);
    ni_json_text(j, "refuse", plan->refuse ? plan->refuse_why : NULL);
    ni_json_int_or_null(j, "gid_index", plan->transport == NI_NET_RDMA && plan->gid_index >= 0,
                        plan->gid_index);
    claims_json(j, view->inv);
    hcas_json(j, view);
    gpus_json(j, view);
    gdr_json(j, &view->inv->gdr);
    settings_json(j, plan);
    memlock_json(j, view);
    ni_json_findings(j, view->findings);
    ni_json_int(j, "findings_dropped", view->findings->dropped);
    ni_json_end(j);
    return ni_out_end(&o);
}
