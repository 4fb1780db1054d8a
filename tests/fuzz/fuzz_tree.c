/* SPDX-License-Identifier: Apache-2.0 */
/* The .tree reader. What it reads holds together, is found by its paths, and is the same tree after
   it was written and read again, masked or not. */
#include "lib/pod.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOST_NODES = 20000, LOOKED_UP = 64 };

static char text[8 << 20];

static void check_node(const struct ni_tree *t, uint32_t at)
{
    const struct ni_node *node = &t->node[at];
    const char *name = ni_tree_name(t, at);

    FUZZ_CHECK(node->parent < at && t->node[node->parent].kind == NI_NODE_DIR, "parent of %u", at);
    FUZZ_CHECK(node->depth == t->node[node->parent].depth + 1 && node->depth <= NI_TREE_DEPTH,
               "depth of %s", name);
    FUZZ_CHECK(node->name_len > 0 && strlen(name) == node->name_len && !strchr(name, '/') &&
                   strcmp(name, ".") != 0 && strcmp(name, "..") != 0,
               "name `%s`", name);
    FUZZ_CHECK(node->kind == NI_NODE_DIR || node->first == 0, "%s has children", name);
    FUZZ_CHECK(ni_tree_child(t, node->parent, (struct ni_span){name, node->name_len}) == at,
               "%s is not found, or twice", name);
    if (node->kind == NI_NODE_FILE || node->kind == NI_NODE_LINK)
        FUZZ_CHECK(node->value + (size_t)node->len < t->used, "value of %s", name);
    if (node->kind == NI_NODE_ERR)
        FUZZ_CHECK(ni_errno_name((int)node->value), "errno of %s", name);
}

/* Each node is the child of its parent once. */
static void check_tree(const struct ni_tree *t)
{
    uint32_t listed = 1;

    for (uint32_t at = 1; at < t->n; at++)
        check_node(t, at);
    for (uint32_t dir = 0; dir < t->n; dir++)
        for (uint32_t at = t->node[dir].first; at; at = t->node[at].next) {
            FUZZ_CHECK(t->node[at].parent == dir && listed < t->n, "children of %u", dir);
            listed++;
        }
    FUZZ_CHECK(listed == t->n, "%u of %u nodes are listed", listed, t->n);
}

static uint32_t find(const struct ni_tree *t, uint32_t of, const struct ni_tree *in)
{
    char path[NI_TREE_PATH];
    uint32_t at = 0;

    if (!ni_tree_path(t, of, (struct ni_span){"", 0}, path))
        return 0;
    FUZZ_CHECK(ni_tree_find(in, path, false, &at) == 0, "%s is not found", path);
    return at;
}

/* Every way to look at a path ends, and agrees with the others. */
static void look(const struct ni_root *root, uint32_t of)
{
    static struct ni_names names;
    char path[NI_TREE_PATH], buf[256], target[256];

    if (!ni_tree_path(root->tree, of, (struct ni_span){"", 0}, path))
        return;
    ssize_t n = ni_read(root, buf, sizeof(buf), "%s", path + 1);
    ssize_t link = ni_readlink(root, target, sizeof(target), "%s", path + 1);
    int exists = ni_exists(root, "%s", path + 1), listed = ni_list(root, &names, "%s", path + 1);

    FUZZ_CHECK(n < (ssize_t)sizeof(buf) && link < (ssize_t)sizeof(target), "%s", path);
    FUZZ_CHECK(n < 0 || exists == 0, "%s is read, but not there: %d", path, exists);
    FUZZ_CHECK(n < 0 || listed < 0, "%s is read and listed", path);
    FUZZ_CHECK((link >= 0 || link == -EOVERFLOW || link == -ENAMETOOLONG) ==
                       (root->tree->node[of].kind == NI_NODE_LINK) ||
                   link == -ENAMETOOLONG || link == -EOVERFLOW,
               "%s: %zd", path, link);
    for (unsigned i = 1; listed == 0 && i < names.n; i++)
        FUZZ_CHECK(ni_natural_cmp(names.name[i - 1], names.name[i]) < 0, "order in %s", path);
}

/* Writes the tree as a record is written. */
static size_t written(const struct ni_root *record, bool mask)
{
    static int fd = -1;

    if (fd < 0)
        fd = memfd_create("tree", MFD_CLOEXEC);
    FUZZ_CHECK(fd >= 0 && lseek(fd, 0, SEEK_SET) == 0, "memfd");
    int err = ni_record_write(record, fd, "of\n# fuzzing", mask);
    FUZZ_CHECK(err == 0, "cannot be written: %d", err);
    off_t n = lseek(fd, 0, SEEK_CUR);
    FUZZ_CHECK(n >= 0 && (size_t)n < sizeof(text) && pread(fd, text, (size_t)n, 0) == n,
               "%zd bytes", n);
    text[n] = '\0';
    FUZZ_CHECK(!strstr(text, " \n"), "a line ends in a blank, which editors take off");
    return (size_t)n;
}

static void check_same_trees(const struct ni_tree *a, const struct ni_tree *b)
{
    FUZZ_CHECK(a->n == b->n, "%u nodes, and %u", a->n, b->n);
    for (uint32_t at = 1; at < a->n; at++) {
        const struct ni_node *node = &a->node[at];
        uint32_t other = find(a, at, b);
        if (!other)
            continue;
        FUZZ_CHECK(b->node[other].kind == node->kind, "%s is of another kind", ni_tree_name(a, at));
        if (node->kind == NI_NODE_FILE || node->kind == NI_NODE_LINK) {
            struct ni_span v = ni_tree_value(a, at), w = ni_tree_value(b, other);
            FUZZ_CHECK(v.n == w.n && memcmp(v.p, w.p, v.n) == 0, "value of %s",
                       ni_tree_name(a, at));
        } else if (node->kind == NI_NODE_ERR) {
            FUZZ_CHECK(b->node[other].value == node->value, "errno of %s", ni_tree_name(a, at));
        }
    }
}

static void check_round(const struct ni_root *record)
{
    static char first[sizeof(text)];
    struct ni_root again;
    unsigned line;
    int err;
    size_t n = written(record, false);

    memcpy(first, text, n);
    again = pod_tree(NI_SLOT_ROOT, text, n, &err, &line);
    FUZZ_CHECK(err == 0, "line %u of what was written: %d", line, err);
    check_same_trees(record->record, again.tree);
    struct ni_root copy = {.fd = -1, .record = again.tree};
    FUZZ_CHECK(written(&copy, false) == n && memcmp(first, text, n) == 0,
               "written again it is another text");
    ni_root_close(&again);
}

/* Masking replaces names and values, and adds and leaves out nothing. */
static void check_masked(const struct ni_root *record)
{
    unsigned line;
    int err;
    size_t n = written(record, true);
    struct ni_root again = pod_tree(NI_SLOT_ROOT, text, n, &err, &line);

    FUZZ_CHECK(err == 0, "line %u of what was masked: %d", line, err);
    FUZZ_CHECK(again.tree->n == record->record->n, "masked, %u nodes are %u", record->record->n,
               again.tree->n);
    ni_root_close(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned line;
    int err;

    if (size > FUZZ_MAX || fuzz_tree_cost((const char *)data, size) > MOST_NODES)
        return 0;
    struct ni_root root = pod_tree(NI_SLOT_RECORD, (const char *)data, size, &err, &line);
    FUZZ_CHECK(err == 0 || (err < 0 && line > 0), "%d in line %u", err, line);
    check_tree(root.tree);
    for (uint32_t at = 1; at < root.tree->n && at < LOOKED_UP; at++) {
        FUZZ_CHECK(find(root.tree, at, root.tree) == at, "%s", ni_tree_name(root.tree, at));
        look(&root, at);
    }
    struct ni_root record = {.fd = -1, .record = root.tree};
    if (err == 0)
        check_round(&record);
    if (err == 0 && size % 4 == 0) /* the next input will do as well */
        check_masked(&record);
    ni_root_close(&root);
    return 0;
}
