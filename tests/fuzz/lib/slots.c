/* SPDX-License-Identifier: Apache-2.0 */
#include "pod.h"

#include "nccl_init/base.h"
#include "nccl_init/text.h"
#include "sysroot/root.h"
#include "sysroot/tree.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 64 };

/* Entries that were filled, as they are in the file. */
static struct {
    struct ni_entry *at, was;
} filled[SLOTS];
static unsigned n_filled;

struct ni_root slots_open(const char *path)
{
    static char text[FUZZ_MAX];
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(text, 1, sizeof(text), f) : 0;
    unsigned line;
    int err;

    FUZZ_CHECK(f && n > 0 && n < sizeof(text), "no %s here: run at the top of the sources", path);
    fclose(f);
    struct ni_root root = pod_tree(text, n, &err, &line);
    FUZZ_CHECK(err == 0, "%s:%u: %d", path, line, err);
    return root;
}

void slots_fill(struct ni_root *root, const char *path, const char *s, size_t n)
{
    const struct ni_entry *e = NULL;
    char whole[NI_PATH];

    FUZZ_CHECK(ni_format(whole, sizeof(whole), "/%s", path) &&
                   ni_tree_find(root->tree, whole, false, &e) == 0,
               "no %s", path);
    FUZZ_CHECK(e && e->kind != NI_ENTRY_DIR, "%s is a directory", path);
    if (n_filled == SLOTS)
        return;
    struct ni_entry *slot = &root->tree->at[e - root->tree->at];
    filled[n_filled].at = slot;
    filled[n_filled++].was = *slot;
    slot->value = pod_copy(s, n);
    slot->len = (uint32_t)n;
}

void slots_reset(struct ni_root *root)
{
    (void)root;
    while (n_filled > 0) {
        n_filled--;
        free((void *)(uintptr_t)filled[n_filled].at->value);
        *filled[n_filled].at = filled[n_filled].was;
    }
}
