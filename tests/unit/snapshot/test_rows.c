/* SPDX-License-Identifier: Apache-2.0 */
/* Each file that the probers read on a recorded node has a row in keep.c, which says what a masked
   recording may have of it. A file that a prober begins to read has none, and fails here; until it
   has one nothing of it is recorded (test_keep.c). */
#include <glob.h>

#include "lib/node_tree.h"
#include "snapshot/keep.h"
#include "sysroot/record.h"
#include "sysroot/tree.h"

/* Gathers all facts of the node, and fails for each file with content that has no row. Returns the
   number of files. */
static unsigned check_node(const char *path)
{
    const struct ni_env env = {pod.entry};
    struct ni_root root;
    unsigned bad, files = 0;
    size_t n;

    memset(&pod.inv, 0, sizeof(pod.inv));
    memset(&pod.f, 0, sizeof(pod.f));
    assert_int_equal(ni_root_open(path, &root, &bad), 0);
    assert_int_equal(ni_root_record(&root), 0);
    gather_rounds(&root, &env);
    struct ni_entry *entries = ni_record_entries(root.record, &n);
    assert_non_null(entries);
    for (size_t i = 0; i < n; i++) {
        const struct ni_entry *e = &entries[i];
        const char *asked = e->asked ? e->asked : e->path;

        if (e->kind != NI_ENTRY_FILE || e->len == 0)
            continue;
        files++;
        if (!ni_keeps_file(asked))
            fail_msg("%s: no row of src/snapshot/keep.c is for %s", path, asked);
    }
    free(entries);
    ni_root_close(&root);
    return files;
}

static void test_all_nodes(void **state)
{
    enum { MANY = 100 };
    unsigned files = 0;
    glob_t nodes;

    pod_reset(state);
    set_env("HOME=/root");
    pod.ask = (struct ni_ask){
        .nvshmem = true, .gpus = true, .gpu_facts = true, .all = true, .health = true};
    pod.needs = ~0U;
    assert_int_equal(glob("tests/nodes/*.tree", 0, NULL, &nodes), 0);
    assert_true(nodes.gl_pathc >= MANY);
    for (size_t i = 0; i < nodes.gl_pathc; i++)
        files += check_node(nodes.gl_pathv[i]);
    assert_true(files > MANY * nodes.gl_pathc / 10);
    globfree(&nodes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_nodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
