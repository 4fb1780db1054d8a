/* SPDX-License-Identifier: Apache-2.0 */
/* doctor for people: what was looked at, what is wrong, worst first, and what was checked at all.
   */
#include <string.h>

#include "findings.h"
#include "nccl_init/report.h"
#include "out.h"
#include "selftest.h"
#include "table.h"
#include "words.h"

enum { INDENT = 6 };

/* ---- what was looked at ---- */

static void write_looked_at(struct ni_text *out, const struct ni_view *view)
{
    const struct ni_inventory *inv = view->inv;
    unsigned ours = ni_given_hcas(inv), others = inv->n_hca - ours;
    ni_putf(out, "Doctor: looked at %u HCA%s", ours, ni_plural(ours));
    if (others > 0)
        ni_putf(out, " of the pod (%u more on the node)", others);
    ni_putf(out, ", %u GPU%s; ", inv->n_gpu, ni_plural(inv->n_gpu));
    ni_put_origin(out, view);
}

static void put_word(struct ni_text *out, bool *first, const char *what, const char *word)
{
    ni_putf(out, "%s%s", *first ? "  " : ", ", what);
    ni_quote(out, word);
    *first = false;
}

/* The node in one line; what is not known is left out. */
static void write_node(struct ni_text *out, const struct ni_view *view)
{
    const struct ni_self *self = &view->inv->self;
    const struct ni_drivers *d = &view->inv->drivers;
    const enum ni_netns_mode netns_mode = view->inv->netns_mode;
    const enum ni_known open_driver = view->inv->gdr.open_driver;
    bool first = true;
    if (self->kernel[0])
        put_word(out, &first, "kernel ", self->kernel);
    if (d->nvidia_version[0])
        put_word(out, &first, "NVIDIA driver ", d->nvidia_version);
    if (d->nvidia_version[0] && (open_driver == NI_KNOWN || open_driver == NI_ABSENT))
        ni_put(out, open_driver == NI_KNOWN ? " (open)" : " (closed)");
    if (d->peermem == NI_KNOWN)
        put_word(out, &first, "", "nvidia-peermem");
    if (d->ofed == NI_KNOWN)
        put_word(out, &first, d->mlx5_version[0] ? "MLNX_OFED or DOCA " : "MLNX_OFED or DOCA",
                 d->mlx5_version);
    if (netns_mode != NI_NETNS_UNKNOWN)
        put_word(out, &first, "RDMA devices ",
                 netns_mode == NI_NETNS_SHARED ? "shared by network namespaces"
                                               : "separated by network namespaces");
    if (!first)
        ni_put(out, "\n");
}

/* ---- what was checked ---- */

static void write_checked(struct ni_text *out, const struct ni_view *view)
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
    const struct ni_diagnosis *d = view->diagnosis;
    ni_put(out, "\nChecked\n");
    for (size_t k = 0; k < NI_COUNT(group); k++) {
        char buf[2048];
        struct ni_text t = ni_text_on(buf, sizeof(buf));
        for (unsigned i = 0; i < d->n; i++) {
            if (d->at[i].outcome == group[k].outcome)
                ni_putf(&t, "%s%s", t.len > 0 ? ", " : "", d->at[i].id);
        }
        if (t.len == 0)
            continue;
        ni_putf(out, "  %s: ", group[k].title);
        ni_put_wrapped(out, strlen(group[k].title) + 4, INDENT, buf);
        ni_put(out, "\n");
    }
}

static void write_ignored(struct ni_text *out, const struct ni_diagnosis *d)
{
    static const char title[] = "Ignored: ";
    char buf[4096];
    struct ni_text t = ni_text_on(buf, sizeof(buf));
    for (unsigned i = 0; i < NI_F_COUNT; i++) {
        if (d->ignored[i].asked)
            ni_putf(&t, "%s%s (%u)", t.len > 0 ? ", " : "", ni_finding_kind(i)->id,
                    d->ignored[i].n);
    }
    if (t.len == 0)
        return;
    ni_putf(out, "\n%s", title);
    ni_put_wrapped(out, strlen(title), INDENT, buf);
    ni_put(out, "\n");
}

static void write_verdict(struct ni_text *out, const struct ni_view *view)
{
    const struct ni_findings *all = view->findings;
    unsigned errors = ni_findings_count(all, NI_ERROR);
    unsigned warnings = ni_findings_count(all, NI_WARNING);
    unsigned infos = ni_findings_count(all, NI_INFO);
    enum ni_tint tint = errors > 0 ? NI_RED : warnings > 0 ? NI_YELLOW : NI_GREEN;
    char line[128];
    ni_format(line, sizeof(line), "%s%u error%s, %u warning%s, %u worth knowing",
              errors + warnings == 0 ? "Healthy: " : "", errors, ni_plural(errors), warnings,
              ni_plural(warnings), infos);
    ni_put(out, "\n");
    ni_put_tinted(out, view->colour, tint, line);
    if (all->dropped > 0)
        ni_putf(out, "; %u more findings than there is room for", all->dropped);
    ni_put(out, "\n");
}

int ni_write_doctor(int fd, const struct ni_view *view)
{
    struct ni_out o;
    struct ni_text *out = ni_out_on(&o, fd);
    write_looked_at(out, view);
    write_node(out, view);
    ni_say_probes(out, view);
    ni_put_findings(out, view->findings, NI_INFO, true, view->colour);
    write_checked(out, view);
    write_ignored(out, view->diagnosis);
    write_verdict(out, view);
    return ni_out_end(&o);
}
