/* SPDX-License-Identifier: Apache-2.0 */
/* Which source decided what the pod's HCAs are, and what the others say of them. */
#include <string.h>

#include "plan_text.h"
#include "words.h"

enum { INDENT = 6, SHOWN = 8 };

/* "names the same 4", "names 3 of 4, and mlx5_2" */
static void say_other(struct ni_text *t, const struct ni_inventory *inv, enum ni_source source,
                      unsigned decided)
{
    unsigned same = 0, more = 0;
    for (unsigned i = 0; i < inv->n_claim; i++)
        same += inv->claim[i].source == source && inv->claim[i].hca >= 0;
    if (same == decided)
        ni_putf(t, "names the same %u", same);
    else
        ni_putf(t, "names %u of the %u", same, decided);
    for (unsigned i = 0; i < inv->n_claim; i++) {
        const struct ni_claim *c = &inv->claim[i];
        if (c->source != source || c->hca >= 0)
            continue;
        if (more++ < SHOWN)
            ni_putf(t, "%s%s", more == 1 ? "; not used: " : ", ", c->id);
    }
    if (more > SHOWN)
        ni_putf(t, " and %u more", more - SHOWN);
}

void ni_plan_sources(struct ni_text *out, const struct ni_view *view)
{
    const struct ni_inventory *inv = view->inv;
    unsigned decided = 0, n[NI_SRC_HOST + 1] = {0};
    bool others = false;
    for (unsigned i = 0; i < inv->n_claim; i++) {
        const struct ni_claim *c = &inv->claim[i];
        n[c->source]++;
        decided += c->source == inv->source && c->hca >= 0;
        others = others || (inv->source != NI_SRC_NONE && c->source > inv->source);
    }
    if (!others)
        return;
    ni_put(out, "\nSources\n");
    for (unsigned s = inv->source; s <= NI_SRC_HOST; s++) {
        char buf[1024];
        struct ni_text t = ni_text_on(buf, sizeof(buf));
        const char *name = ni_say_source_short((enum ni_source)s);
        if (n[s] == 0)
            continue;
        if (s == inv->source)
            ni_putf(&t, "decided: %u HCA%s", decided, decided == 1 ? "" : "s");
        else
            say_other(&t, inv, (enum ni_source)s, decided);
        ni_putf(out, "  %s: ", name);
        ni_put_wrapped(out, strlen(name) + 4, INDENT, buf);
        ni_put(out, "\n");
    }
}
