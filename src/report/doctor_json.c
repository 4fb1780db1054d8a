/* SPDX-License-Identifier: Apache-2.0 */
/* doctor for programs: the findings, the checks, and the facts they were made on. What is not known
   is null. A member is never renamed or given another meaning without a new NI_JSON_SCHEMA; new
   ones may come. */
#include <inttypes.h>
#include <stdio.h>

#include "findings.h"
#include "out.h"
#include "selftest.h"
#include "words.h"

/* ---- checks ---- */

static void checks_json(struct ni_json *j, const struct ni_diagnosis *d)
{
    static const char *const word[] = {
        [NI_CHECK_IDLE] = "idle",
        [NI_CHECK_UNKNOWN] = "unknown",
        [NI_CHECK_OK] = "ok",
        [NI_CHECK_FOUND] = "findings",
    };
    ni_json_object(j, "ignored");
    for (unsigned i = 0; i < NI_F_COUNT; i++)
        if (d->ignored[i].asked)
            ni_json_int(j, ni_finding_kind(i)->id, d->ignored[i].n);
    ni_json_end(j);
    ni_json_array(j, "checks");
    for (unsigned i = 0; i < d->n; i++) {
        ni_json_object(j, NULL);
        ni_json_text(j, "id", d->at[i].id);
        ni_json_text(j, "outcome", word[d->at[i].outcome]);
        ni_json_end(j);
    }
    ni_json_end(j);
}

/* ---- facts ---- */

static void iommu_json(struct ni_json *j, const struct ni_iommu *iommu)
{
    ni_json_object(j, "iommu");
    ni_json_num(j, "group", iommu->group);
    ni_json_text_or_null(j, "type", iommu->type);
    ni_json_end(j);
}

static void hca_json(struct ni_json *j, const struct ni_inventory *inv, const struct ni_hca *h)
{
    const struct ni_netdev *own = h->netdev < 0 ? NULL : &inv->netdev[h->netdev];
    ni_json_object(j, NULL);
    ni_json_text(j, "name", h->name);
    ni_json_bdf(j, "physfn", h->is_vf ? &h->pf : NULL);
    ni_json_text_or_null(j, "type", h->type);
    ni_json_text_or_null(j, "firmware", h->fw);
    ni_json_text_or_null(j, "uverbs", h->uverbs.name);
    ni_json_bool_or_null(j, "opens", h->uverbs.known == NI_KNOWN, h->uverbs.err == 0);
    ni_json_text(j, "netdev", own ? own->name : NULL);
    ni_json_num(j, "mtu", own ? own->mtu : (struct ni_num){0, NI_UNSET});
    iommu_json(j, &h->iommu);
    ni_json_bytes(j, "cgroup_handles", h->handles);
    ni_json_bytes(j, "cgroup_objects", h->objects);
    ni_json_array(j, "ports");
    for (unsigned i = 0; i < h->n_port; i++) {
        const struct ni_port *port = &inv->port[h->first_port + (int)i];
        ni_json_object(j, NULL);
        ni_json_int(j, "port", port->num);
        ni_json_text(j, "state", ni_word_state(port->state));
        ni_json_num(j, "phys_state", port->phys_state);
        ni_json_num(j, "mbps", port->mbps);
        ni_json_end(j);
    }
    ni_json_end(j);
    ni_json_end(j);
}

static void devices_json(struct ni_json *j, const struct ni_inventory *inv)
{
    ni_json_array(j, "hcas");
    for (unsigned i = 0; i < inv->n_hca; i++) {
        if (ni_is_given(&inv->hca[i]))
            hca_json(j, inv, &inv->hca[i]);
    }
    ni_json_end(j);
    ni_json_array(j, "gpus");
    for (unsigned i = 0; i < inv->n_gpu; i++) {
        ni_json_object(j, NULL);
        ni_json_bdf(j, "pci", &inv->gpu[i].bdf);
        iommu_json(j, &inv->gpu[i].iommu);
        ni_json_end(j);
    }
    ni_json_end(j);
}

static void node_json(struct ni_json *j, const struct ni_inventory *inv)
{
    static const char *const netns[] = {
        [NI_NETNS_SHARED] = "shared", [NI_NETNS_EXCLUSIVE] = "exclusive"};
    const struct ni_drivers *d = &inv->drivers;
    ni_json_object(j, "node");
    ni_json_text_or_null(j, "kernel", inv->self.kernel);
    ni_json_text(j, "iommu_options",
                 inv->self.cmdline_known == NI_KNOWN ? inv->self.cmdline : NULL);
    ni_json_text(j, "rdma_netns", netns[inv->netns_mode]);
    ni_json_yes_no(j, "mlnx_ofed", d->ofed);
    ni_json_text_or_null(j, "mlx5_core", d->mlx5_version);
    ni_json_text_or_null(j, "nvidia", d->nvidia_version);
    ni_json_yes_no(j, "nvidia_open", inv->gdr.open_driver);
    ni_json_yes_no(j, "peermem", d->peermem);
    ni_json_yes_no(j, "peer_memory_client", d->peer_client);
    ni_json_yes_no(j, "rdma_cm", inv->rdma_cm);
    ni_json_end(j);
}

static void caps_json(struct ni_json *j, const struct ni_self *s)
{
    const struct {
        const char *key;
        uint64_t set;
    } sets[] = {
        {"effective", s->cap_eff},   {"permitted", s->cap_prm}, {"bounding", s->cap_bnd},
        {"inheritable", s->cap_inh}, {"ambient", s->cap_amb},
    };
    if (s->caps_known != NI_KNOWN) {
        ni_json_null(j, "capabilities");
        return;
    }
    ni_json_object(j, "capabilities");
    for (size_t i = 0; i < NI_COUNT(sets); i++) {
        char hex[24]; /* more digits than a JSON number holds */
        snprintf(hex, sizeof(hex), "%016" PRIx64, sets[i].set);
        ni_json_text(j, sets[i].key, hex);
    }
    ni_json_end(j);
}

static void process_json(struct ni_json *j, const struct ni_self *s)
{
    ni_json_object(j, "process");
    ni_json_num(j, "pid", s->pid);
    ni_json_text_or_null(j, "pid1", s->init);
    ni_json_num(j, "uid", s->uid);
    caps_json(j, s);
    ni_json_bool_or_null(j, "no_new_privs", s->no_new_privs.known == NI_KNOWN,
                         s->no_new_privs.v != 0);
    ni_json_num(j, "seccomp", s->seccomp);
    ni_json_bool_or_null(j, "user_namespace", s->user_namespace != NI_USERNS_UNKNOWN,
                         s->user_namespace == NI_USERNS_OWN);
    ni_json_yes_no(j, "nosuid", s->nosuid);
    ni_json_bytes(j, "memlock_soft", s->memlock_soft);
    ni_json_bytes(j, "memlock_hard", s->memlock_hard);
    ni_json_bytes(j, "nofile_soft", s->nofile_soft);
    ni_json_bytes(j, "nofile_hard", s->nofile_hard);
    ni_json_bytes(j, "shm", s->shm);
    ni_json_end(j);
}

int ni_write_doctor_json(int fd, const struct ni_view *view)
{
    const struct ni_findings *all = view->findings;
    struct ni_out o;
    struct ni_json json = ni_json_on(ni_out_on(&o, fd), true), *j = &json;
    ni_json_object(j, NULL);
    ni_json_int(j, "schema", NI_JSON_SCHEMA);
    ni_json_text(j, "root", view->root);
    ni_json_text(j, "source", ni_word_source[view->inv->source]);
    ni_json_int(j, "errors", ni_findings_count(all, NI_ERROR));
    ni_json_int(j, "warnings", ni_findings_count(all, NI_WARNING));
    ni_json_int(j, "infos", ni_findings_count(all, NI_INFO));
    ni_json_findings(j, all);
    ni_json_int(j, "findings_dropped", all->dropped);
    checks_json(j, view->diagnosis);
    devices_json(j, view->inv);
    node_json(j, view->inv);
    process_json(j, &view->inv->self);
    if (view->trials)
        ni_json_trials(j, "probes", view->trials);
    ni_json_end(j);
    return ni_out_end(&o);
}
