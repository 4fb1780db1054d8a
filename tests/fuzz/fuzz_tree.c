/* SPDX-License-Identifier: Apache-2.0 */
/* The .tree reader. What it reads holds together, is found by its paths, and is the same tree after
   it was written and read again, masked or not. */
#include "lib/pod.h"

#include "nccl_init/errno.h"
#include "nccl_init/text.h"
#include "snapshot/masked.h"
#include "sysroot/files.h"
#include "sysroot/record.h"
#include "sysroot/root.h"
#include "sysroot/tree.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOST_NODES = 20000, LOOKED_UP = 64 };

static char text[8 << 20];

/* Each is found, and of sound form. */
static void check_tree(const struct ni_tree *t)
{
    for (size_t i = 1; i < t->n; i++) { /* behind the root */
        const struct ni_entry *e = &t->at[i], *found = NULL;
        FUZZ_CHECK(*e->path && *e->path != '/' && !strstr(e->path, "//"), "path %s", e->path);
        FUZZ_CHECK(e->up < i && t->at[e->up].kind == NI_ENTRY_DIR, "%s is below no directory",
                   e->path);
        FUZZ_CHECK(e->kind != NI_ENTRY_ERR || ni_errno_name(e->err), "errno of %s", e->path);
        FUZZ_CHECK(ni_tree_find(t, e->path, false, &found) == 0 && found == e, "%s is not found",
                   e->path);
    }
}

#define TOP(at) (&(struct ni_dir){.root = (at), .fd = -1})

/* Every way to look at a path ends, and agrees with the others. */
static void look(const struct ni_root *root, const struct ni_entry *of)
{
    static struct ni_names names;
    char buf[256], target[256];
    const char *path = of->path;
    ssize_t n = ni_read(TOP(root), buf, sizeof(buf), "%s", path);
    ssize_t link = ni_readlink(TOP(root), target, sizeof(target), "%s", path);
    int exists = ni_look_up(TOP(root), "%s", path), listed = ni_list(TOP(root), &names, "%s", path);

    FUZZ_CHECK(n < (ssize_t)sizeof(buf) && link < (ssize_t)sizeof(target), "%s", path);
    FUZZ_CHECK(n < 0 || exists == 0, "%s is read, but not there: %d", path, exists);
    FUZZ_CHECK(n < 0 || listed < 0, "%s is read and listed", path);
    FUZZ_CHECK((link >= 0) == (of->kind == NI_ENTRY_LINK) || link == -ENAMETOOLONG ||
                   link == -EOVERFLOW,
               "%s: %zd", path, link);
    for (unsigned i = 1; listed == 0 && i < names.n; i++)
        FUZZ_CHECK(ni_natural_cmp(names.name[i - 1], names.name[i]) < 0, "order in %s", path);
}

static void keep_all(void *ctx, struct ni_mask *m, const char *asked, struct ni_span content,
                     struct ni_text *ret)
{
    (void)ctx;
    (void)m;
    (void)asked;
    ni_putn(ret, content.p, content.n);
}

/* Writes the tree as a record is written. */
static size_t written(const struct ni_root *record, bool mask)
{
    struct ni_text t = ni_text_on(text, sizeof(text));
    int err = mask ? ni_masked_text(record->record, "of fuzzing", keep_all, NULL, &t)
                   : ni_record_text(record->record, "of fuzzing", &t);

    if (mask && err == -EFBIG) /* other names are longer */
        return 0;
    FUZZ_CHECK(err == 0, "cannot be written: %d", err);
    FUZZ_CHECK(!t.cut, "more than %zu bytes", t.len);
    FUZZ_CHECK(!strstr(text, " \n"), "a line ends in a blank, which editors take off");
    return t.len;
}

static void check_same_trees(const struct ni_tree *a, const struct ni_tree *b)
{
    FUZZ_CHECK(a->n == b->n, "%zu entries, and %zu", a->n, b->n);
    for (size_t i = 0; i < a->n; i++) {
        const struct ni_entry *e = &a->at[i], *other = NULL;
        if (!*e->path) /* the root */
            continue;
        FUZZ_CHECK(ni_tree_find(b, e->path, false, &other) == 0 && other, "no %s", e->path);
        FUZZ_CHECK(other->kind == e->kind && other->err == e->err && other->len == e->len &&
                       memcmp(other->value, e->value, e->len) == 0,
                   "%s is another", e->path);
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
    again = pod_tree(text, n, &err, &line);
    FUZZ_CHECK(err == 0, "line %u of what was written: %d", line, err);
    check_same_trees(record->record, again.tree);
    struct ni_root copy = {.fd = -1, .record = again.tree};
    FUZZ_CHECK(written(&copy, false) == n && memcmp(first, text, n) == 0,
               "written again it is another text");
    ni_root_close(&again);
}

/* Masking replaces names and values, and adds nothing. */
static void check_masked(const struct ni_root *record)
{
    unsigned line;
    int err;
    size_t n = written(record, true);
    struct ni_root again = pod_tree(text, n, &err, &line);

    FUZZ_CHECK(err == 0, "line %u of what was masked: %d", line, err);
    FUZZ_CHECK(again.tree->n <= record->record->n, "masked, %zu entries are %zu", record->record->n,
               again.tree->n);
    ni_root_close(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned line;
    int err;

    if (size > FUZZ_MAX || fuzz_tree_cost((const char *)data, size) > MOST_NODES)
        return 0;
    struct ni_root root = pod_tree((const char *)data, size, &err, &line);
    FUZZ_CHECK(err == 0 || (err < 0 && line > 0), "%d in line %u", err, line);
    if (err == 0)
        check_tree(root.tree);
    for (size_t i = 0; err == 0 && i < root.tree->n && i < LOOKED_UP; i++)
        look(&root, &root.tree->at[i]);
    struct ni_root record = {.fd = -1, .record = root.tree};
    if (err == 0)
        check_round(&record);
    if (err == 0 && size % 4 == 0) /* the next input will do as well */
        check_masked(&record);
    ni_root_close(&root);
    return 0;
}
