/* SPDX-License-Identifier: Apache-2.0 */
/* --wait: how often it looks, what is left of earlier looks, and when it gives up. The looks are
   this file's own: its ni_look is linked instead of the archive's. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/context.h"
#include "cli/look.h"
#include "cli/option.h"
#include "cli/options.h"
#include "cli/program.h"
#include "cli/wait.h"
#include "findings/device.h"
#include "findings/pod.h"
#include "findings/setting.h"
#include "nccl_init/base.h"
#include "nccl_init/env.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/known.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "node/gather.h"
#include "node/read.h"
#include "sysroot/root.h"
#include <cmocka.h>

static struct ni_context context;
static const struct ni_ask question;

static struct {
    unsigned looks;
    unsigned ready_at;  /* the look that finds all there; 0: none does */
    unsigned findings;  /* of each look that does not */
    bool address_later; /* from the second look on only the address is missing */
    const char *dir;    /* a directory that is gathered instead; NULL: none */
} node;

/* ---- a DRA driver that writes its file late: look by look a directory is gathered ---- */

#define REQUEST "run/kubernetes.io/dra-device-attributes/resourceclaimtemplates/rdma/rail-a"

static void write_metadata(const char *text)
{
    FILE *f = fopen(REQUEST "/nic.example-metadata.json", "we");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void gather_directory(struct ni_context *ctx)
{
    static char *const no_env[] = {NULL};
    const struct ni_env env = {no_env};
    struct ni_root root;
    unsigned line;

    if (node.looks == node.ready_at)
        write_metadata("{\"kind\":\"DeviceMetadata\","
                       "\"apiVersion\":\"metadata.resource.k8s.io/v1beta1\","
                       "\"metadata\":{\"generation\":2},\"requests\":[]}\n");
    else if (node.looks == 2)
        write_metadata("{\"kind\":\"DeviceMeta"); /* caught in the middle of writing */
    assert_int_equal(ni_root_open(".", &root, &line), 0);
    ni_gather(&root, &env, &question, &ctx->inventory, &ctx->findings);
    ni_root_close(&root);
}

void ni_look(struct ni_context *ctx, const struct ni_ask *ask)
{
    static const struct ni_inventory zero;
    struct ni_inventory *inv = &ctx->inventory;
    struct ni_findings *f = &ctx->findings;

    assert_ptr_equal(ctx, &context);
    assert_ptr_equal(ask, &question);
    assert_memory_equal(inv, &zero, sizeof(zero));
    node.looks++;
    if (node.dir) {
        gather_directory(ctx);
        return;
    }
    inv->n_hca = inv->n_port = 1;
    inv->hca[0].netdev = -1;
    (void)ni_copy(inv->hca[0].name, sizeof(inv->hca[0].name), "mlx5_6");
    inv->port[0] = (struct ni_port){.num = 1, .link = NI_LINK_IB, .first_gid = -1};
    inv->port[0].state = (struct ni_num){NI_PORT_ACTIVE, NI_KNOWN};
    if (node.looks == node.ready_at)
        return;
    if (node.address_later && node.looks > 1)
        inv->port[0].link = NI_LINK_ROCE;
    else
        inv->port[0].state.v = NI_PORT_DOWN;
    for (unsigned i = 0; i < node.findings; i++)
        ni_report(f, NI_F_HCA_PORT_DOWN, "mlx5_6/1", "look %u, %u", node.looks, i);
}

/* Only what several verbs take. */
static const struct ni_option_rows *const rows[] = {&ni_policy_rows, &ni_common_rows};
static const struct ni_program program = {NULL, 0, rows, NI_COUNT(rows)};

/* Waits on a live node that is ready at that look. The milliseconds it took. */
static int64_t wait_for(unsigned seconds, unsigned ready_at, unsigned findings)
{
    struct timespec a, b;

    memset(&context, 0, sizeof(context));
    context.program = &program;
    ni_options_init(&context);
    context.options.wait = seconds;
    context.options.log_level = NI_LOG_ERROR;
    context.root.kind = NI_ROOT_LIVE;
    context.opened = true;
    node.looks = 0;
    node.ready_at = ready_at;
    node.findings = findings;
    ni_report(&context.findings, NI_F_OPTION_INVALID, "NCCLINIT_X", "from before");
    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &a), 0);
    ni_wait_and_look(&context, &question);
    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &b), 0);
    return (b.tv_sec - a.tv_sec) * 1000 + (b.tv_nsec - a.tv_nsec) / 1000000;
}

static int reset(void **state)
{
    (void)state;
    node.address_later = false;
    node.dir = NULL;
    return 0;
}

static bool gave_up(void)
{
    return ni_findings_has(&context.findings, NI_F_WAIT_OVER);
}

static void test_no_wait(void **state)
{
    (void)state;
    (void)wait_for(0, 0, 1); /* not asked to wait: not ready is no finding either */
    assert_int_equal(node.looks, 1);
    assert_int_equal(context.findings.n, 2);
    assert_false(gave_up());
    (void)wait_for(60, 1, 1); /* ready at once */
    assert_int_equal(node.looks, 1);
    assert_int_equal(context.findings.n, 1);
}

/* The second look of a recording sees what the first saw. */
static void test_recording(void **state)
{
    (void)state;
    for (int tree = 0; tree <= 1; tree++) {
        memset(&context, 0, sizeof(context));
        context.program = &program;
        ni_options_init(&context);
        context.options.wait = 60;
        context.root.kind = tree ? NI_ROOT_TREE : NI_ROOT_DIR;
        context.opened = true;
        node.looks = node.ready_at = 0;
        ni_wait_and_look(&context, &question);
        assert_int_equal(node.looks, 1);
        assert_false(gave_up());
    }
}

/* Only the last look counts, beside what was said before all of them. */
static void test_ready_later(void **state)
{
    int64_t took;

    (void)state;
    took = wait_for(60, 4, 3);
    assert_int_equal(node.looks, 4);
    assert_true(took >= 100 && took < 30000);
    assert_int_equal(context.findings.n, 1);
    assert_string_equal(context.findings.at[0].subject, "NCCLINIT_X");
    assert_int_equal(context.inventory.port[0].state.v, NI_PORT_ACTIVE);
}

static void test_full_table(void **state)
{
    (void)state;
    (void)wait_for(60, 3, NI_MAX_FINDINGS);
    assert_int_equal(node.looks, 3);
    assert_int_equal(context.findings.n, 1);
    assert_int_equal(context.findings.dropped, 0); /* of the last look nothing was */
}

static void test_over(void **state)
{
    const struct ni_finding *last;
    int64_t took;

    (void)state;
    node.address_later = true;
    took = wait_for(1, 0, 1);
    assert_true(took >= 1000 && took < 30000);
    assert_true(node.looks >= 2 && node.looks <= 22);
    assert_int_equal(context.findings.n, 3);
    last = &context.findings.at[2];
    assert_int_equal(last->id, NI_F_WAIT_OVER);
    assert_string_equal(last->subject, "--wait");
    /* of the last look, not of the first */
    assert_string_equal(last->message, "after 1 s still missing: mlx5_6/1: address and GID");
}

/* The folders of REQUEST, one in another. */
static void make_directory(char *name)
{
    char path[] = REQUEST;

    assert_non_null(mkdtemp(name));
    assert_int_equal(chdir(name), 0);
    for (char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        assert_int_equal(mkdir(path, 0755), 0);
        *slash = '/';
    }
    assert_int_equal(mkdir(path, 0755), 0);
    assert_int_equal(mkdir("var", 0755), 0);
    assert_int_equal(symlink("/run", "var/run"), 0);
    write_metadata("");
}

static void remove_directory(const char *name)
{
    char path[] = REQUEST;

    assert_int_equal(unlink(REQUEST "/nic.example-metadata.json"), 0);
    for (char *slash = path + strlen(path); slash; slash = strrchr(path, '/')) {
        *slash = '\0';
        assert_int_equal(rmdir(path), 0);
    }
    assert_int_equal(unlink("var/run"), 0);
    assert_int_equal(rmdir("var"), 0);
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(rmdir(name), 0);
}

/* qemu-user 7.2 lacks it, and a directory root needs it. */
static void skip_without_openat2(void)
{
    struct ni_root root;
    unsigned line;
    const int r = ni_root_open("/tmp", &root, &line);

    if (r == 0)
        ni_root_close(&root);
    if (r == -ENOSYS)
        skip();
}

static void test_metadata(void **state)
{
    static const char missing[] = "after 1 s still missing: device metadata "
                                  "resourceclaimtemplates/rdma/rail-a/nic.example-metadata.json";
    char name[] = "/tmp/nccl-init.XXXXXX";
    int64_t took;

    (void)state;
    make_directory(name);
    skip_without_openat2();
    node.dir = name;
    took = wait_for(60, 4, 0); /* empty, cut short twice, whole */
    assert_int_equal(node.looks, 4);
    assert_true(took >= 100 && took < 30000);
    assert_false(ni_findings_has(&context.findings, NI_F_ALLOC_METADATA_PENDING));
    assert_false(gave_up());
    write_metadata("");
    (void)wait_for(1, 0, 0);
    assert_true(ni_findings_has(&context.findings, NI_F_ALLOC_METADATA_PENDING));
    assert_string_equal(context.findings.at[context.findings.n - 1].message, missing);
    remove_directory(name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_no_wait, reset),
        cmocka_unit_test_setup(test_recording, reset),
        cmocka_unit_test_setup(test_ready_later, reset),
        cmocka_unit_test_setup(test_full_table, reset),
        cmocka_unit_test_setup(test_over, reset),
        cmocka_unit_test_setup(test_metadata, reset),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
