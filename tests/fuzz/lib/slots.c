/* SPDX-License-Identifier: Apache-2.0 */
#include "pod.h"

#include <stdio.h>
#include <string.h>

enum { SLOTS = 64 };

/* Nodes that were filled, as they are in the file. */
static struct {
    uint32_t at;
    struct ni_node was;
} filled[SLOTS];
static unsigned n_filled;
static size_t base; /* where the text of the node ends and that of the slots begins */

struct ni_root slots_open(const char *path)
{
    static char text[FUZZ_MAX];
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(text, 1, sizeof(text), f) : 0;
    unsigned line;
    int err;

    FUZZ_CHECK(f && n > 0 && n < sizeof(text), "no %s here: run at the top of the sources", path);
    fclose(f);
    struct ni_root root = pod_tree(NI_SLOT_ROOT, text, n, &err, &line);
    FUZZ_CHECK(err == 0, "%s:%u: %d", path, line, err);
    base = root.tree->used;
    return root;
}

void slots_fill(struct ni_root *root, const char *path, const char *s, size_t n)
{
    struct ni_tree *t = root->tree;
    uint32_t at, value;
    char whole[NI_PATH];

    FUZZ_CHECK(ni_format(whole, sizeof(whole), "/%s", path) &&
                   ni_tree_find(t, whole, false, &at) == 0,
               "no %s", path);
    FUZZ_CHECK(t->node[at].kind != NI_NODE_DIR, "%s is a directory", path);
    if (n_filled == SLOTS || ni_tree_keep(t, s, n, &value) < 0)
        return;
    filled[n_filled].at = at;
    filled[n_filled++].was = t->node[at];
    t->node[at].value = value;
    t->node[at].len = (uint32_t)n;
}

void slots_reset(struct ni_root *root)
{
    while (n_filled > 0) {
        n_filled--;
        root->tree->node[filled[n_filled].at] = filled[n_filled].was;
    }
    root->tree->used = base;
}
