/* SPDX-License-Identifier: Apache-2.0 */
/* doctor: what was looked at, what is wrong, worst first, and what was checked at all; for programs
   also the facts that the checks were made on, null where they are not known. */
#include "parts.h"

#include <inttypes.h>

/* ---- what was looked at ---- */

static void put_looked_at(struct ni_text *out, const struct ni_view *view)
{
    const struct ni_inventory *inv = view->inv;
    unsigned ours = ni_given_hcas(inv), others = inv->n_hca - ours;
    ni_put(out, "Doctor: looked at ");
    ni_put_count(out, ours, "HCA");
    if (others > 0)
        ni_putf(out, " of the pod (%u more on the node)", others);
    ni_put(out, ", ");
    ni_put_count(out, inv->n_gpu, "GPU");
    ni_put(out, "; ");
    ni_put_origin(out, view);
}

static void add(struct ni_text *t, const char *what, const char *word)
{
    ni_putf(t, "%s%s%s", t->len > 0 ? ", " : "", what, word);
}

/* The node in one line; what is not known is left out. */
static void put_node(struct ni_text *out, const struct ni_inventory *inv)
{
    const struct ni_drivers *d = &inv->drivers;
    const enum ni_known open_driver = inv->gdr.open_driver;
    char buf[512];
    struct ni_text t = ni_text_on(buf, sizeof(buf));
    if (inv->self.kernel[0])
        add(&t, "kernel ", inv->self.kernel);
    if (d->nvidia_version[0])
        add(&t, "NVIDIA driver ", d->nvidia_version);
    if (d->nvidia_version[0] && (open_driver == NI_KNOWN || open_driver == NI_ABSENT))
        ni_put(&t, open_driver == NI_KNOWN ? " (open)" : " (closed)");
    if (d->peermem == NI_KNOWN)
        add(&t, "nvidia-peermem", "");
    if (d->ofed == NI_KNOWN)
        add(&t, d->mlx5_version[0] ? "MLNX_OFED or DOCA " : "MLNX_OFED or DOCA", d->mlx5_version);
    if (inv->netns_mode != NI_NETNS_UNKNOWN)
        add(&t, "RDMA netns ", inv->netns_mode == NI_NETNS_SHARED ? "shared" : "exclusive");
    ni_put_item(out, "node", buf);
}

/* ---- what was checked ---- */

static void put_checked(struct ni_text *out, const struct ni_diagnosis *d)
{
    static const struct {
        enum ni_outcome outcome;
        const char *title;
    } group[] = {
        {NI_CHECK_FOUND, "with findings"},
        {NI_CHECK_OK, "ok"},
        {NI_CHECK_UNKNOWN, "could not be checked from inside the pod"},
        {NI_CHECK_IDLE, "nothing to check"},
    };
    char buf[4096];
    ni_put(out, "\nChecked\n");
    for (size_t k = 0; k < NI_COUNT(group); k++) {
        struct ni_text t = ni_text_on(buf, sizeof(buf));
        for (unsigned i = 0; i < d->n; i++)
            if (d->at[i].outcome == group[k].outcome)
                add(&t, d->at[i].id, "");
        ni_put_item(out, group[k].title, buf);
    }
    struct ni_text t = ni_text_on(buf, sizeof(buf));
    for (unsigned i = 0; i < NI_F_COUNT; i++) {
        if (!d->ignored[i].asked)
            continue;
        add(&t, ni_finding_kind(i)->id, "");
        ni_putf(&t, " (%u)", d->ignored[i].n);
    }
    ni_put_item(out, "ignored", buf);
}

static void put_verdict(struct ni_text *out, const struct ni_view *view, bool colour)
{
    unsigned errors = ni_findings_count(view->findings, NI_ERROR);
    unsigned warnings = ni_findings_count(view->findings, NI_WARNING);
    enum ni_tint tint = errors > 0 ? NI_RED : warnings > 0 ? NI_YELLOW : NI_GREEN;
    char line[128];
    ni_format(line, sizeof(line), "%s%u error%s, %u warning%s, %u worth knowing",
              errors + warnings == 0 ? "Healthy: " : "", errors, ni_plural(errors), warnings,
              ni_plural(warnings), ni_findings_count(view->findings, NI_INFO));
    ni_put_tinted(out, colour, tint, line);
}

void ni_put_doctor(struct ni_text *out, const struct ni_view *view)
{
    put_looked_at(out, view);
    put_node(out, view->inv);
    ni_put_probes(out, view);
    ni_put_findings(out, view, NI_INFO);
    put_checked(out, view->diagnosis);
    ni_put(out, "\n");
    put_verdict(out, view, view->colour);
    ni_put(out, "\n");
}

/* "1 error, 2 warnings, 0 worth knowing: iommu.translated mlx5_0, mlx5_1; shm.small /dev/shm": the
   subjects behind the id that they share. */
void ni_put_doctor_brief(struct ni_text *out, const struct ni_view *view)
{
    const struct ni_findings *all = view->findings;
    const struct ni_finding *last = NULL;
    put_verdict(out, view, false);
    for (int severity = NI_ERROR; severity >= NI_WARNING; severity--) {
        for (unsigned i = 0; i < all->n; i++) {
            const struct ni_finding *f = &all->at[i];
            if ((int)ni_finding_kind(f->id)->severity != severity)
                continue;
            if (last && last->id == f->id)
                ni_put(out, ",");
            else
                ni_putf(out, "%s %s", last ? ";" : ":", ni_finding_kind(f->id)->id);
            ni_put(out, " ");
            ni_quote(out, f->subject);
            last = f;
        }
    }
    ni_put(out, "\n");
}

/* ---- JSON ---- */

static void check_json(struct ni_json *j, const struct ni_view *view, unsigned i)
{
    static const char *const word[] = {
        [NI_CHECK_IDLE] = "idle",
        [NI_CHECK_UNKNOWN] = "unknown",
        [NI_CHECK_OK] = "ok",
        [NI_CHECK_FOUND] = "findings",
    };
    ni_json_text(j, "id", view->diagnosis->at[i].id);
    ni_json_text(j, "outcome", word[view->diagnosis->at[i].outcome]);
}

static void iommu_json(struct ni_json *j, const struct ni_iommu *iommu)
{
    ni_json_object(j, "iommu");
    ni_json_num(j, "group", iommu->group);
    ni_json_text_or_null(j, "type", iommu->type);
    ni_json_end(j);
}

static void port_json(struct ni_json *j, const struct ni_view *view, unsigned i)
{
    const struct ni_port *port = &view->inv->port[i];
    ni_json_int(j, "port", port->num);
    ni_json_text(j, "state", ni_state_word(port->state));
    ni_json_num(j, "phys_state", port->phys_state);
    ni_json_num(j, "mbps", port->mbps);
}

static void hca_json(struct ni_json *j, const struct ni_view *view, unsigned i)
{
    const struct ni_hca *h = &view->inv->hca[i];
    const struct ni_netdev *own = h->netdev < 0 ? NULL : &view->inv->netdev[h->netdev];
    ni_json_hca(j, h);
    ni_json_text(j, "claimed_by", h->claim < 0 ? NULL : view->inv->claim[h->claim].from);
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
    ni_json_list(j, "ports", view, h->first_port, h->n_port, port_json);
}

static void gpu_json(struct ni_json *j, const struct ni_view *view, unsigned i)
{
    ni_json_bdf(j, "pci", &view->inv->gpu[i].bdf);
    iommu_json(j, &view->inv->gpu[i].iommu);
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
    if (!ni_json_object_or_null(j, "capabilities", s->caps_known == NI_KNOWN))
        return;
    for (size_t i = 0; i < NI_COUNT(sets); i++) {
        char hex[24]; /* more digits than a JSON number holds */
        ni_format(hex, sizeof(hex), "%016" PRIx64, sets[i].set);
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

void ni_put_doctor_json(struct ni_text *out, const struct ni_view *view)
{
    const struct ni_findings *all = view->findings;
    const struct ni_diagnosis *d = view->diagnosis;
    struct ni_json json = ni_json_report(out), *j = &json;
    ni_json_text(j, "root", view->root);
    ni_json_text(j, "source", ni_source_words[view->inv->source].json);
    ni_json_int(j, "errors", ni_findings_count(all, NI_ERROR));
    ni_json_int(j, "warnings", ni_findings_count(all, NI_WARNING));
    ni_json_int(j, "infos", ni_findings_count(all, NI_INFO));
    ni_json_findings(j, all);
    ni_json_int(j, "findings_dropped", all->dropped);
    ni_json_object(j, "ignored");
    for (unsigned i = 0; i < NI_F_COUNT; i++)
        if (d->ignored[i].asked)
            ni_json_int(j, ni_finding_kind(i)->id, d->ignored[i].n);
    ni_json_end(j);
    ni_json_list(j, "checks", view, 0, d->n, check_json);
    ni_json_list(j, "hcas", view, 0, ni_given_hcas(view->inv), hca_json); /* they come first */
    ni_json_list(j, "gpus", view, 0, view->inv->n_gpu, gpu_json);
    node_json(j, view->inv);
    process_json(j, &view->inv->self);
    if (view->trials)
        ni_json_trials(j, "probes", view);
    ni_json_end(j);
}
