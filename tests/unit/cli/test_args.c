/* SPDX-License-Identifier: Apache-2.0 */
/* How the command line is read by the table of options. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "cli/context.h"
#include "cli/option.h"
#include "cli/options.h"
#include "lib/args.h"
#include "nccl_init/base.h"
#include "nccl_init/pci.h"
#include "nccl_init/plan.h"
#include "nccl_init/text.h"
#include "preflight/preflight.h"
#include "selftest/selftest.h"
#include "system/exec.h"
#include <cmocka.h>

static void test_stops(void **state)
{
    (void)state;
    assert_int_equal(parse(NI_VERB_RUN, "--mode=tcp -- cmd --mode=off"), 0);
    assert_ptr_equal(context.operands, argv + 3);
    assert_true(context.separator);
    assert_int_equal(options->policy.mode, NI_MODE_TCP);
    assert_int_equal(parse(NI_VERB_RUN, "cmd --mode=off -- x"), 0);
    assert_ptr_equal(context.operands, argv + 1);
    assert_false(context.separator);
    assert_int_equal(context.taken, 0);
    assert_int_equal(parse(NI_VERB_RUN, "--mode off -"), 0);
    assert_ptr_equal(context.operands, argv + 3); /* a lone dash is an operand */
    assert_int_equal(context.taken, bit("mode"));
    assert_int_equal(parse(NI_VERB_RUN, "--"), 0);
    assert_ptr_equal(context.operands, argv + 2);
    assert_int_equal(parse(NI_VERB_RUN, "-- -- x"), 0);
    assert_ptr_equal(context.operands, argv + 2);
    assert_int_equal(parse(NI_VERB_RUN, "--help --nonsense"), 0);
    assert_true(context.help);
}

/* Options of verbs that take files may stand behind a file; the command of `run` and a text keep
   theirs. */
static void test_mixed(void **state)
{
    (void)state;
    assert_int_equal(parse(NI_VERB_LOG, "a --json b --color never c"), 0);
    assert_true(options->json);
    assert_string_equal(context.operands[0], "a");
    assert_string_equal(context.operands[1], "b");
    assert_string_equal(context.operands[2], "c");
    assert_null(context.operands[3]);
    assert_int_equal(parse(NI_VERB_LOG, "a -- --json b"), 0);
    assert_string_equal(context.operands[1], "--json");
    assert_string_equal(context.operands[2], "b");
    assert_null(context.operands[3]);
    assert_int_equal(parse(NI_VERB_LOG, "- --json"), 0);
    assert_string_equal(context.operands[0], "-");
    assert_null(context.operands[1]);
    assert_int_equal(parse(NI_VERB_LOG, "a --jsn"), 125);
    assert_int_equal(parse(NI_VERB_INSTALL, "dir --file"), 0);
    assert_string_equal(context.operands[0], "dir");
    assert_null(context.operands[1]);
    assert_int_equal(parse(NI_VERB_EXPLAIN, "bad --json here"), 0);
    assert_string_equal(context.operands[1], "--json");
}

static void test_forms(void **state)
{
    (void)state;
    assert_int_equal(parse(NI_VERB_ENV, "-o a"), 0);
    assert_string_equal(options->output, "a");
    assert_int_equal(parse(NI_VERB_ENV, "-ob"), 0);
    assert_string_equal(options->output, "b");
    assert_int_equal(parse(NI_VERB_ENV, "--output=c"), 0);
    assert_string_equal(options->output, "c");
    assert_int_equal(parse(NI_VERB_ENV, "--output d=e"), 0);
    assert_string_equal(options->output, "d=e");
    assert_int_equal(parse(NI_VERB_ENV, "--output=--"), 0);
    assert_string_equal(options->output, "--");
    assert_int_equal(parse(NI_VERB_ENV, "--mode=tcp --mode=rdma"), 0);
    assert_int_equal(options->policy.mode, NI_MODE_RDMA);
    assert_int_equal(parse(NI_VERB_PLAN, "--json"), 0);
    assert_true(options->json);
}

static void test_wrong(void **state)
{
    static const struct {
        unsigned verb;
        const char *line, *message;
    } cases[] = {
        {NI_VERB_RUN, "--frob", "`--frob` is not an option of `run`; see `nccl-init run --help`"},
        {NI_VERB_PLAN, "--frob=1",
         "`--frob` is not an option of `plan`; see `nccl-init plan --help`"},
        {NI_VERB_RUN, "--mod=tcp", "`--mod` is not an option of `run`; did you mean `--mode`?"},
        {NI_VERB_RUN, "-x", "`-x` is not an option of `run`; see `nccl-init run --help`"},
        {NI_VERB_RUN, "--=x", "`--` is not an option of `run`; see `nccl-init run --help`"},
        {NI_VERB_RUN, "---mode=tcp", "`---mode` is not an option of `run`; did you mean `--mode`?"},
        {NI_VERB_RUN, "-o f", "`-o` is not an option of `run`, but of `env` and `snapshot`"},
        {NI_VERB_ENV, "--strict",
         "`--strict` is not an option of `env`, but of `run`, `doctor`, `selftest`, "
         "`preflight` and `watch`"},
        {NI_VERB_PLAN, "--json=1", "`--json` takes no value"},
        {NI_VERB_RUN, "--mode", "`--mode` needs a value: auto|rdma|tcp|off"},
        {NI_VERB_RUN, "--mode=x",
         "--mode: `x` is not valid; expected one of: auto, rdma, tcp, off"},
        {NI_VERB_RUN, "--mode TPC",
         "--mode: `TPC` is not valid; expected one of: auto, rdma, tcp, off; did you mean `tcp`?"},
        {NI_VERB_RUN, "--mode --",
         "--mode: `--` is not valid; expected one of: auto, rdma, tcp, off"},
        {NI_VERB_RUN, "--mode= x",
         "--mode: the empty value is not valid; expected one of: auto, rdma, tcp, off"},
        {NI_VERB_RUN, "--memlock _",
         "--memlock: the empty value is not valid; expected one of: max, keep, BYTES"},
    };

    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        char want[192];

        assert_int_equal(parse(cases[i].verb, cases[i].line), NI_EXIT_REFUSED);
        assert_true(ni_format(want, sizeof(want), "nccl-init: error: %s\n", cases[i].message));
        assert_string_equal(said, want);
    }
    assert_int_equal(options->policy.mode, NI_MODE_AUTO);
}

static void test_policy(void **state)
{
    (void)state;
    assert_int_equal(parse(NI_VERB_RUN, "--memlock=2G --gdr=PHB --hcas=a:1,b --sockets=pod"), 0);
    assert_true(options->policy.memlock == INT64_C(2) << 30);
    assert_int_equal(options->policy.gdr, NI_DIST_PHB);
    assert_string_equal(options->policy.hcas, "a:1,b");
    assert_string_equal(options->policy.sockets, "pod");
    assert_int_equal(parse(NI_VERB_RUN, "--memlock=keep --gdr=off --hcas=auto --sockets=auto"), 0);
    assert_int_equal(options->policy.memlock, -1);
    assert_int_equal(options->policy.gdr, NI_DIST_LOC);
    assert_null(options->policy.hcas);
    assert_null(options->policy.sockets);
}

static void test_for(void **state)
{
    static const struct {
        const char *value;
        unsigned want; /* 0: refused */
    } cases[] = {
        {"nccl", NI_FOR_NCCL},
        {"nvshmem", NI_FOR_NVSHMEM},
        {"ucx,gloo", NI_FOR_UCX | NI_FOR_GLOO},
        {"gloo,nccl,nccl", NI_FOR_NCCL | NI_FOR_GLOO},
        {"torchcomms", NI_FOR_TORCHCOMMS},
        {"nixl,vllm,mooncake", NI_FOR_NIXL | NI_FOR_VLLM | NI_FOR_MOONCAKE},
        {"all", NI_FOR_ALL - 1},
        {"ucx,all", NI_FOR_ALL - 1},
        {"nccl,", 0},
        {",nccl", 0},
        {"NCCL,UCX", NI_FOR_NCCL | NI_FOR_UCX},
        {"nccl ucx", 0},
        {"nccl, ucx", 0},
        {"ncc", 0},
        {"nccl|ucx", 0},
    };

    (void)state;
    assert_int_equal(options->policy.targets, NI_FOR_NCCL);
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        ni_options_init(&context);
        assert_int_equal(take("for", cases[i].value), cases[i].want ? 0 : -EINVAL);
        assert_int_equal(options->policy.targets, cases[i].want ? cases[i].want : NI_FOR_NCCL);
    }
}

static void test_wait(void **state)
{
    static const struct {
        const char *value;
        int want; /* -1: refused */
    } cases[] = {
        {"0", 0},
        {"10", 10},
        {"3600", 3600},
        {"3601", -1},
        {"-1", -1},
        {"20s", 20},
        {"1m", 60},
        {"1H", 3600},
        {"2h", -1},
        {"61m", -1},
        {"s", -1},
        {"1 s", -1},
        {"1d", -1},
        {"", -1},
        {" 1", -1},
        {"0x1", -1},
        {"99999999999999999999", -1},
    };

    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        options->wait = 7;
        assert_int_equal(take("wait", cases[i].value), cases[i].want < 0 ? -EINVAL : 0);
        assert_int_equal(options->wait, cases[i].want < 0 ? 7 : cases[i].want);
    }
    assert_int_equal(parse(NI_VERB_SNAPSHOT, "--wait=1"), 0);
    assert_int_equal(options->wait, 1);
    assert_int_equal(parse(NI_VERB_DOCTOR, "--probe --deadline=2 --wait 2"), 0);
    assert_int_equal(options->wait, 2);
}

/* A variable's name or an absolute path, whole or not at all. */
static void test_network_status(void **state)
{
    static const char *const good[] = {"STATUS", "/etc/podinfo/x", "/", "A.b-C"};
    static const char *const bad[] = {"", "etc/podinfo", "A=b", "./x"};
    static char longest[NI_PATH + 1];

    (void)state;
    for (size_t i = 0; i < NI_COUNT(good); i++) {
        assert_int_equal(take("network-status", good[i]), 0);
        assert_string_equal(options->network_status, good[i]);
    }
    for (size_t i = 0; i < NI_COUNT(bad); i++)
        assert_int_equal(take("network-status", bad[i]), -EINVAL);
    memset(longest, 'A', NI_PATH);
    assert_int_equal(take("network-status", longest), -EINVAL);
    assert_string_equal(options->network_status, "A.b-C");
    assert_int_equal(take("network-status", longest + 1), 0);
    assert_string_equal(options->network_status, longest + 1);
}

static void test_selftest(void **state)
{
    static const char *const wrong[] = {"--size=0",
                                        "--size=12287",
                                        "--size=65G",
                                        "--size=64",
                                        "--size=-1M",
                                        "--size=64MB",
                                        "--bytes=0",
                                        "--bytes=-1",
                                        "--bytes=1025G",
                                        "--bytes=1T",
                                        "--deadline=0",
                                        "--deadline=3601",
                                        "--deadline=",
                                        "--deadline=1.5",
                                        "--deadline=2h",
                                        "--selftest=on",
                                        "--selftest=require,warn"};

    (void)state;
    assert_int_equal(options->policy.selftest, NI_DEMAND_OFF);
    assert_int_equal(ni_selftest_options.size, 64 << 20);
    assert_int_equal(ni_selftest_options.bytes, 0);
    assert_int_equal(ni_selftest_options.deadline, 10);
    assert_int_equal(parse(NI_VERB_RUN, "--selftest=require --size=16K --bytes=1 --deadline=1"), 0);
    assert_int_equal(options->policy.selftest, NI_DEMAND_REQUIRE);
    assert_int_equal(ni_selftest_options.size, 16384);
    assert_int_equal(ni_selftest_options.bytes, 1);
    assert_int_equal(ni_selftest_options.deadline, 1);
    assert_int_equal(parse(NI_VERB_RUN, "--size=64MiB --bytes=2ki --deadline=10s"), 0);
    assert_int_equal(ni_selftest_options.size, 64 << 20);
    assert_int_equal(ni_selftest_options.bytes, 2048);
    assert_int_equal(ni_selftest_options.deadline, 10);
    assert_int_equal(parse(NI_VERB_SELFTEST, "--size=64G --bytes=1024G --deadline=3600"), 0);
    assert_true(ni_selftest_options.size == INT64_C(64) << 30);
    assert_true(ni_selftest_options.bytes == INT64_C(1) << 40);
    assert_int_equal(ni_selftest_options.deadline, 3600);
    for (unsigned i = 0; i < NI_COUNT(wrong); i++)
        assert_int_equal(parse(NI_VERB_RUN, wrong[i]), NI_EXIT_REFUSED);
    assert_int_equal(parse(NI_VERB_RUN, "--selftest=warn"), 0);
    assert_int_equal(options->policy.selftest, NI_DEMAND_WARN);
    assert_int_equal(parse(NI_VERB_SELFTEST, "--selftest=warn"), NI_EXIT_REFUSED);
    assert_int_equal(parse(NI_VERB_PLAN, "--size=64M"), NI_EXIT_REFUSED);
}

static void test_preflight(void **state)
{
    static const char *const wrong[] = {
        "--preflight=on",   "--rank=-1",        "--rank=16385", "--rank=",        "--ranks=3:4",
        "--port=0",         "--port=65536",     "--within=0",   "--within=86401", "--seconds=61",
        "--seconds=60.001", "--seconds=0.1234", "--seconds=1.", "--seconds=.5",   "--seconds=-1",
        "--seconds=1e3",    "--seconds=1.s",    "--seconds=s",  "--seconds=1ms",  "--peers=",
        "--job=",           "--report=",        "--once=",      "--svg=",         "--job-secret="};

    (void)state;
    assert_int_equal(options->policy.preflight, NI_DEMAND_OFF);
    assert_null(ni_preflight_options.party.peers);
    assert_int_equal(ni_preflight_options.party.rank, -1);
    assert_int_equal(ni_preflight_options.party.ranks, -1);
    assert_int_equal(ni_preflight_options.party.port, 18555);
    assert_int_equal(ni_preflight_options.within, 300);
    assert_int_equal(ni_preflight_options.move_ms, 200);
    assert_int_equal(
        parse(NI_VERB_PREFLIGHT, "--peers=[fd00::1]:99 --rank=0 --ranks=16384 --port=65535"), 0);
    assert_string_equal(ni_preflight_options.party.peers, "[fd00::1]:99");
    assert_int_equal(ni_preflight_options.party.rank, 0);
    assert_int_equal(ni_preflight_options.party.ranks, 16384);
    assert_int_equal(ni_preflight_options.party.port, 65535);
    assert_int_equal(parse(NI_VERB_RUN, "--preflight=require --seconds=0.05 --within=1"), 0);
    assert_int_equal(options->policy.preflight, NI_DEMAND_REQUIRE);
    assert_int_equal(ni_preflight_options.move_ms, 50);
    assert_int_equal(parse(NI_VERB_RUN, "--seconds=0.5s"), 0);
    assert_int_equal(ni_preflight_options.move_ms, 500);
    assert_int_equal(parse(NI_VERB_RUN, "--seconds=2s"), 0);
    assert_int_equal(ni_preflight_options.move_ms, 2000);
    assert_int_equal(parse(NI_VERB_RUN, "--seconds=60"), 0);
    assert_int_equal(ni_preflight_options.move_ms, 60000);
    assert_int_equal(parse(NI_VERB_RUN, "--seconds=0 --rank=auto"), 0);
    assert_int_equal(ni_preflight_options.move_ms, 0);
    assert_int_equal(ni_preflight_options.party.rank, -1);
    for (unsigned i = 0; i < NI_COUNT(wrong); i++)
        assert_int_equal(parse(NI_VERB_RUN, wrong[i]), NI_EXIT_REFUSED);
    assert_int_equal(parse(NI_VERB_PREFLIGHT, "--preflight=warn"), NI_EXIT_REFUSED);
    assert_int_equal(parse(NI_VERB_SELFTEST, "--rank=1"), NI_EXIT_REFUSED);
    assert_int_equal(parse(NI_VERB_PREFLIGHT, "--size=64M"), NI_EXIT_REFUSED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_preflight, reset),
        cmocka_unit_test_setup(test_stops, reset),
        cmocka_unit_test_setup(test_mixed, reset),
        cmocka_unit_test_setup(test_forms, reset),
        cmocka_unit_test_setup(test_wrong, reset),
        cmocka_unit_test_setup(test_policy, reset),
        cmocka_unit_test_setup(test_for, reset),
        cmocka_unit_test_setup(test_wait, reset),
        cmocka_unit_test_setup(test_selftest, reset),
        cmocka_unit_test_setup(test_network_status, reset),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
