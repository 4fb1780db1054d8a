/* SPDX-License-Identifier: Apache-2.0 */
/* Claims: the device ids and names that somebody gave the pod, as each source adds them. */
#include <stdio.h>
#include <string.h>

#include "probe.h"

/* The id in the kernel's spelling: lower case, four digits of domain. What is neither a PCI address nor
   an auxiliary name is shown quoted. */
static enum ni_claim_by parse_id(struct ni_span id, char text[NI_DEV_NAME], struct ni_bdf *bdf)
{
    struct ni_text t = ni_text_on(text, NI_DEV_NAME);
    if (ni_parse_bdf(id, bdf) == 0) {
        ni_bdf_text(*bdf, text);
        return NI_BY_BDF;
    }
    ni_put_quoted(&t, id.p, id.n, NI_DEV_NAME - 8);
    return ni_is_aux_id(id) ? NI_BY_AUX : NI_BY_NOTHING;
}

static struct ni_claim *find(struct ni_inventory *inv, enum ni_source source, const char *id)
{
    for (unsigned i = 0; i < inv->n_claim; i++) {
        if (inv->claim[i].source == source && strcmp(id, inv->claim[i].id) == 0)
            return &inv->claim[i];
    }
    return NULL;
}

struct ni_claim *ni_find_claim(struct ni_inventory *inv, enum ni_source source, struct ni_span id)
{
    char text[NI_DEV_NAME];
    struct ni_bdf bdf;
    (void)parse_id(id, text, &bdf);
    return find(inv, source, text);
}

static struct ni_claim *new_claim(struct ni_probe *p, enum ni_source source, const char *from)
{
    struct ni_inventory *inv = p->inv;
    if (inv->n_claim == NI_MAX_CLAIM) {
        ni_report(p->f, NI_F_ALLOC_TOO_MANY, from,
                  "more than %d device ids; the rest is not looked at", NI_MAX_CLAIM);
        return NULL;
    }
    struct ni_claim *c = &inv->claim[inv->n_claim++];
    *c = (struct ni_claim){.source = source, .state = NI_CLAIM_OK, .hca = -1};
    struct ni_text t = ni_text_on(c->from, sizeof(c->from));
    ni_put_quoted(&t, from, strlen(from), sizeof(c->from) - 8);
    return c;
}

struct ni_claim *ni_add_claim(struct ni_probe *p, enum ni_source source, const char *from,
                              struct ni_span id)
{
    struct ni_claim *c = new_claim(p, source, from);
    if (!c)
        return NULL;
    c->by = parse_id(id, c->id, &c->bdf);
    if (c->by == NI_BY_NOTHING) {
        c->state = NI_CLAIM_BAD_ID;
        ni_report(p->f, NI_F_ALLOC_ID_INVALID, c->from,
                  "`%s` is no PCI address and no auxiliary name", c->id);
    }
    return c;
}

void ni_add_claim_name(struct ni_probe *p, enum ni_source source, const char *from,
                       const char *name)
{
    if (!ni_is_name(ni_span_of(name), NI_DEV_NAME) || find(p->inv, source, name))
        return;
    struct ni_claim *c = new_claim(p, source, from);
    if (!c)
        return;
    c->by = NI_BY_NAME;
    ni_copy(c->id, sizeof(c->id), name);
}

/* "0000:03:00.2,0000:23:00.2". The separator was a blank, then ';', in the first versions of the
   plugin. */
void ni_add_claims(struct ni_probe *p, enum ni_source source, const char *from, const char *list)
{
    static const char separators[] = ",; ";
    while (*list) {
        size_t n = strcspn(list, separators);
        struct ni_span id = ni_trim((struct ni_span){list, n});
        list += n + (list[n] != '\0');
        if (id.n == 0)
            continue;
        struct ni_claim *old = ni_find_claim(p->inv, source, id);
        if (!old) {
            if (!ni_add_claim(p, source, from, id))
                return; /* no room: the rest would only cost time */
            continue;
        }
        if (old->state != NI_CLAIM_BAD_ID)
            ni_report(p->f, NI_F_ALLOC_DUPLICATE, old->id, "named by %s and again by %s", old->from,
                      from);
    }
}

void ni_note_rdma_dev(struct ni_probe *p, struct ni_claim *c, const char *from, const char *name)
{
    if (name && ni_is_name(ni_span_of(name), NI_DEV_NAME)) {
        ni_copy(c->rdma_dev, sizeof(c->rdma_dev), name);
        return;
    }
    char shown[NI_DEV_NAME];
    struct ni_text t = ni_text_on(shown, sizeof(shown));
    if (name)
        ni_put_quoted(&t, name, strlen(name), 40);
    ni_report(p->f, NI_F_ALLOC_INFO_INVALID, from, "RDMA device of %s is %s%s%s", c->id,
              name ? "no device name: `" : "no text", shown, name ? "`" : "");
}

/* How many of the sorted entries come before this one. */
static unsigned place_of(const char *const vars[], unsigned n, const char *entry)
{
    unsigned from = 0;
    while (from < n) {
        unsigned mid = (from + n) / 2;
        if (strcmp(vars[mid], entry) < 0)
            from = mid + 1;
        else
            n = mid;
    }
    return from;
}

static bool same_name(const char *a, const char *b)
{
    return strncmp(a, b, strcspn(b, "=") + 1) == 0;
}

/* The variables by name, so that the answer does not depend on their order: the kubelet merges them
   through a Go map. Of one name the first entry counts; of too many names the first in order. */
unsigned ni_sorted_vars(struct ni_probe *p, const char *prefix, const char *vars[NI_MAX_VARS])
{
    unsigned n = 0;
    bool more = false;
    for (char *const *e = p->env->entry; *e; e++) {
        if (!ni_has_prefix(*e, prefix) || !strchr(*e, '='))
            continue;
        /* entries of one name stand together */
        unsigned at = place_of(vars, n, *e);
        if ((at > 0 && same_name(vars[at - 1], *e)) || (at < n && same_name(vars[at], *e)))
            continue;
        if (n == NI_MAX_VARS) {
            more = true;
            if (at == n)
                continue;
            n--;
        }
        memmove(&vars[at + 1], &vars[at], (n - at) * sizeof(vars[0]));
        vars[at] = *e;
        n++;
    }
    if (more)
        ni_report(p->f, NI_F_ALLOC_TOO_MANY, prefix, "more than %d variables; the rest is not read",
                  NI_MAX_VARS);
    return n;
}
