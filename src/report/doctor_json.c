/* SPDX-License-Identifier: Apache-2.0 */
/* doctor for programs: the findings, the checks, and the facts they were made on. What is not known
   is null. A member is never renamed or given another meaning without a new NI_JSON_SCHEMA; new
   ones may come. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "json.h"
#include "nccl_init/report.h"
#include "out.h"
#include "selftest.h"
#include "words.h"

struct build {
    const struct ni_view *view;
    bool bad; /* out of memory somewhere */
};

static json_t *yes_no(enum ni_known known)
{
    return known == NI_KNOWN || known == NI_ABSENT ? json_boolean(known == NI_KNOWN) : json_null();
}

static json_t *bytes_or_null(struct ni_num n)
{
    return n.known == NI_KNOWN ? ni_json_bytes(n.v) : json_null();
}

static json_t *bool_or_null(struct ni_num n)
{
    return n.known == NI_KNOWN ? json_boolean(n.v != 0) : json_null();
}

/* ---- findings and checks ---- */

static json_t *findings_json(struct build *b)
{
    static const enum ni_severity order[] = {NI_ERROR, NI_WARNING, NI_INFO};
    const struct ni_findings *all = b->view->findings;
    json_t *array = json_array();
    for (size_t k = 0; k < NI_COUNT(order); k++) {
        for (unsigned i = 0; i < all->n; i++) {
            if (ni_finding_kind(all->at[i].id)->severity == order[k])
                ni_json_add(&b->bad, array, ni_json_finding(&b->bad, &all->at[i]));
        }
    }
    return array;
}

static json_t *checks_json(struct build *b)
{
    static const char *const word[] = {
        [NI_CHECK_IDLE] = "idle",
        [NI_CHECK_UNKNOWN] = "unknown",
        [NI_CHECK_OK] = "ok",
        [NI_CHECK_FOUND] = "findings",
    };
    const struct ni_diagnosis *d = b->view->diagnosis;
    json_t *array = json_array();
    for (unsigned i = 0; i < d->n; i++) {
        json_t *j = json_object();
        ni_json_put(&b->bad, j, "id", json_string(d->at[i].id));
        ni_json_put(&b->bad, j, "outcome", json_string(word[d->at[i].outcome]));
        ni_json_add(&b->bad, array, j);
    }
    return array;
}

static json_t *ignored_json(struct build *b)
{
    const struct ni_diagnosis *d = b->view->diagnosis;
    json_t *j = json_object();
    for (unsigned i = 0; i < NI_F_COUNT; i++) {
        if (d->ignored[i].asked)
            ni_json_put(&b->bad, j, ni_finding_kind(i)->id, json_integer(d->ignored[i].n));
    }
    return j;
}

/* ---- facts ---- */

static json_t *iommu_json(struct build *b, const struct ni_iommu *iommu)
{
    json_t *j = json_object();
    ni_json_put(&b->bad, j, "group", ni_json_num(iommu->group));
    ni_json_put(&b->bad, j, "type", ni_json_text_or_null(iommu->type));
    return j;
}

static json_t *link_json(struct build *b, const struct ni_pcie *link)
{
    json_t *j = json_object();
    ni_json_put(&b->bad, j, "width", ni_json_num(link->now[NI_PCIE_WIDTH]));
    ni_json_put(&b->bad, j, "width_most", ni_json_num(link->most[NI_PCIE_WIDTH]));
    ni_json_put(&b->bad, j, "mts", ni_json_num(link->now[NI_PCIE_SPEED]));
    ni_json_put(&b->bad, j, "mts_most", ni_json_num(link->most[NI_PCIE_SPEED]));
    return j;
}

static json_t *counters_json(struct build *b, unsigned port)
{
    json_t *j = json_object();
    for (unsigned i = 0; i < NI_N_COUNTER; i++) {
        struct ni_num n = b->view->inv->health.counter[port][i];
        if (n.known == NI_KNOWN)
            ni_json_put(&b->bad, j, strchr(ni_counters[i].file, '/') + 1, ni_json_num(n));
    }
    return j;
}

static json_t *port_json(struct build *b, unsigned at)
{
    const struct ni_port *port = &b->view->inv->port[at];
    const char *state = port->state.known == NI_KNOWN ? ni_port_state_text(port->state.v) : NULL;
    json_t *j = json_object();
    ni_json_put(&b->bad, j, "port", json_integer(port->num));
    ni_json_put(&b->bad, j, "state", ni_json_text_or_null(state));
    ni_json_put(&b->bad, j, "phys_state", ni_json_num(b->view->inv->health.phys_state[at]));
    ni_json_put(&b->bad, j, "mbps", ni_json_num(port->mbps));
    ni_json_put(&b->bad, j, "counters", counters_json(b, at));
    return j;
}

static json_t *hca_json(struct build *b, unsigned at)
{
    const struct ni_hca *hca = &b->view->inv->hca[at];
    const struct ni_health_hca *h = &b->view->inv->health.hca[at];
    json_t *ports = json_array(), *j = json_object();
    for (unsigned i = 0; i < hca->n_port; i++)
        ni_json_add(&b->bad, ports, port_json(b, (unsigned)hca->first_port + i));
    ni_json_put(&b->bad, j, "name", ni_json_text(hca->name));
    ni_json_put(&b->bad, j, "physfn", hca->is_vf ? ni_json_bdf(hca->pf) : json_null());
    ni_json_put(&b->bad, j, "type", ni_json_text_or_null(h->type));
    ni_json_put(&b->bad, j, "firmware", ni_json_text_or_null(h->fw));
    ni_json_put(&b->bad, j, "uverbs", ni_json_text_or_null(hca->uverbs.name));
    ni_json_put(&b->bad, j, "opens",
                hca->uverbs.known == NI_KNOWN ? json_boolean(hca->uverbs.err == 0) : json_null());
    ni_json_put(&b->bad, j, "netdev", ni_json_text_or_null(h->netdev));
    ni_json_put(&b->bad, j, "mtu", ni_json_num(h->mtu));
    ni_json_put(&b->bad, j, "pcie", link_json(b, &h->link));
    ni_json_put(&b->bad, j, "iommu", iommu_json(b, &h->iommu));
    ni_json_put(&b->bad, j, "cgroup_handles", bytes_or_null(h->handles));
    ni_json_put(&b->bad, j, "cgroup_objects", bytes_or_null(h->objects));
    ni_json_put(&b->bad, j, "ports", ports);
    return j;
}

static json_t *hcas_json(struct build *b)
{
    const struct ni_inventory *inv = b->view->inv;
    json_t *array = json_array();
    for (unsigned i = 0; i < inv->n_hca; i++) {
        if (inv->hca[i].claim >= 0)
            ni_json_add(&b->bad, array, hca_json(b, i));
    }
    return array;
}

static json_t *gpus_json(struct build *b)
{
    const struct ni_inventory *inv = b->view->inv;
    json_t *array = json_array();
    for (unsigned i = 0; i < inv->n_gpu; i++) {
        json_t *j = json_object();
        ni_json_put(&b->bad, j, "pci", ni_json_bdf(inv->gpu[i].bdf));
        ni_json_put(&b->bad, j, "pcie", link_json(b, &inv->health.gpu_link[i]));
        ni_json_put(&b->bad, j, "iommu", iommu_json(b, &inv->health.gpu[i]));
        ni_json_add(&b->bad, array, j);
    }
    return array;
}

static json_t *node_json(struct build *b)
{
    const struct ni_inventory *inv = b->view->inv;
    const struct ni_health *h = &inv->health;
    json_t *j = json_object();
    ni_json_put(&b->bad, j, "kernel", ni_json_text_or_null(h->kernel));
    ni_json_put(&b->bad, j, "iommu_options",
                h->cmdline_known == NI_KNOWN ? ni_json_text(h->cmdline) : json_null());
    ni_json_put(&b->bad, j, "rdma_netns",
                h->netns_mode == NI_NETNS_UNKNOWN
                    ? json_null()
                    : json_string(h->netns_mode == NI_NETNS_SHARED ? "shared" : "exclusive"));
    ni_json_put(&b->bad, j, "mlnx_ofed", yes_no(h->ofed));
    ni_json_put(&b->bad, j, "mlx5_core", ni_json_text_or_null(h->mlx5_version));
    ni_json_put(&b->bad, j, "nvidia", ni_json_text_or_null(h->nvidia_version));
    ni_json_put(&b->bad, j, "nvidia_open", yes_no(inv->gdr.open_driver));
    ni_json_put(&b->bad, j, "peermem", yes_no(h->peermem_module));
    ni_json_put(&b->bad, j, "peer_memory_client", yes_no(h->peer_client));
    ni_json_put(&b->bad, j, "rdma_cm", yes_no(h->rdma_cm));
    return j;
}

static json_t *caps_json(struct build *b)
{
    const struct ni_self *s = &b->view->inv->self;
    const struct {
        const char *key;
        uint64_t set;
    } sets[] = {
        {"effective", s->cap_eff},   {"permitted", s->cap_prm}, {"bounding", s->cap_bnd},
        {"inheritable", s->cap_inh}, {"ambient", s->cap_amb},
    };
    if (s->caps_known != NI_KNOWN)
        return json_null();
    json_t *j = json_object();
    for (size_t i = 0; i < NI_COUNT(sets); i++) {
        char hex[24]; /* more digits than a JSON number holds */
        snprintf(hex, sizeof(hex), "%016" PRIx64, sets[i].set);
        ni_json_put(&b->bad, j, sets[i].key, json_string(hex));
    }
    return j;
}

static json_t *process_json(struct build *b)
{
    const struct ni_self *s = &b->view->inv->self;
    const struct ni_health *h = &b->view->inv->health;
    json_t *j = json_object();
    ni_json_put(&b->bad, j, "pid", ni_json_num(s->pid));
    ni_json_put(&b->bad, j, "pid1", ni_json_text_or_null(h->init));
    ni_json_put(&b->bad, j, "uid", ni_json_num(s->uid));
    ni_json_put(&b->bad, j, "capabilities", caps_json(b));
    ni_json_put(&b->bad, j, "no_new_privs", bool_or_null(s->no_new_privs));
    ni_json_put(&b->bad, j, "seccomp", ni_json_num(s->seccomp));
    ni_json_put(&b->bad, j, "user_namespace",
                s->user_namespace == NI_USERNS_UNKNOWN
                    ? json_null()
                    : json_boolean(s->user_namespace == NI_USERNS_OWN));
    ni_json_put(&b->bad, j, "nosuid", yes_no(h->nosuid));
    ni_json_put(&b->bad, j, "memlock_soft", bytes_or_null(s->memlock_soft));
    ni_json_put(&b->bad, j, "memlock_hard", bytes_or_null(s->memlock_hard));
    ni_json_put(&b->bad, j, "nofile_soft", bytes_or_null(s->nofile_soft));
    ni_json_put(&b->bad, j, "nofile_hard", bytes_or_null(s->nofile_hard));
    ni_json_put(&b->bad, j, "shm", bytes_or_null(h->shm));
    return j;
}

static json_t *count_json(const struct build *b, enum ni_severity severity)
{
    return json_integer(ni_findings_count(b->view->findings, severity));
}

int ni_write_doctor_json(int fd, const struct ni_view *view)
{
    struct build b = {.view = view};
    json_t *j = json_object();
    ni_json_put(&b.bad, j, "schema", json_integer(NI_JSON_SCHEMA));
    ni_json_put(&b.bad, j, "root", ni_json_text(view->root));
    ni_json_put(&b.bad, j, "source", json_string(ni_word_source(view->inv->source)));
    ni_json_put(&b.bad, j, "errors", count_json(&b, NI_ERROR));
    ni_json_put(&b.bad, j, "warnings", count_json(&b, NI_WARNING));
    ni_json_put(&b.bad, j, "infos", count_json(&b, NI_INFO));
    ni_json_put(&b.bad, j, "findings", findings_json(&b));
    ni_json_put(&b.bad, j, "findings_dropped", json_integer(view->findings->dropped));
    ni_json_put(&b.bad, j, "ignored", ignored_json(&b));
    ni_json_put(&b.bad, j, "checks", checks_json(&b));
    ni_json_put(&b.bad, j, "hcas", hcas_json(&b));
    ni_json_put(&b.bad, j, "gpus", gpus_json(&b));
    ni_json_put(&b.bad, j, "node", node_json(&b));
    ni_json_put(&b.bad, j, "process", process_json(&b));
    if (view->trials)
        ni_json_put(&b.bad, j, "probes", ni_json_trials(&b.bad, view->trials));
    struct ni_out o;
    ni_out_on(&o, fd);
    ni_json_write(&o, j, b.bad, 2);
    return ni_out_end(&o);
}
