/* SPDX-License-Identifier: Apache-2.0 */
/* The table of options, and how the command line and NCCLINIT_* are read by it. */
#include <ctype.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/context.h"
#include "cli/option.h"
#include "cli/options.h"
#include "cli/program.h"
#include "findings/setting.h"
#include "main.h"
#include "nccl_init/base.h"
#include "nccl_init/env.h"
#include "nccl_init/findings.h"
#include "nccl_init/number.h"
#include "nccl_init/pci.h"
#include "nccl_init/plan.h"
#include "nccl_init/text.h"
#include "preflight/preflight.h"
#include "run/env.h"
#include "run/envfile.h"
#include "selftest/selftest.h"
#include "system/exec.h"
#include <cmocka.h>

enum { ARGS = 16 };

static struct ni_context context;
static struct ni_options *const options = &context.options;
static char *argv[ARGS + 1];
static char said[512]; /* what the last call wrote on standard error */

static int reset(void **state)
{
    (void)state;
    memset(&context, 0, sizeof(context));
    context.program = &ni_main_program;
    ni_options_init(&context);
    return 0;
}

/* Standard error is a file while they are read. */
static int saved_stderr;

static void listen(void)
{
    int fd = memfd_create("stderr", MFD_CLOEXEC);

    assert_true(fd >= 0);
    saved_stderr = dup(STDERR_FILENO);
    (void)dup2(fd, STDERR_FILENO);
    (void)close(fd);
}

static void heard(void)
{
    ssize_t n = pread(STDERR_FILENO, said, sizeof(said) - 1, 0);

    said[n < 0 ? 0 : n] = '\0';
    (void)dup2(saved_stderr, STDERR_FILENO);
    (void)close(saved_stderr);
}

/* Parses words, separated by blanks, behind argv[0]; `_` is an empty word. */
static int parse(unsigned verb, const char *line)
{
    static char text[1024];
    int argc = 1, r;

    assert_true(ni_copy(text, sizeof(text), line));
    argv[0] = text + sizeof(text) - 1;
    for (char *p = strtok(text, " "); p && argc < ARGS; p = strtok(NULL, " ")) {
        if (strcmp(p, "_") == 0)
            *p = '\0';
        argv[argc++] = p;
    }
    argv[argc] = NULL;
    context.verb = verb;
    context.taken = 0;
    context.separator = false;
    listen();
    r = ni_args_parse(&context, argv + 1);
    heard();
    return r;
}

static int parse_env(unsigned verb, char *const entry[], enum ni_env_of of, uint64_t taken)
{
    const struct ni_env env = {entry};
    int r;

    context.verb = verb;
    context.taken = taken;
    listen();
    r = ni_args_env(&context, &env, of);
    heard();
    return r;
}

static unsigned number(const char *name)
{
    for (unsigned i = 0; i < ni_options_count(&ni_main_program); i++)
        if (strcmp(ni_option_at(&ni_main_program, i)->name, name) == 0)
            return i;
    fail_msg("no option %s", name);
    return 0;
}

static const struct ni_option *option(const char *name)
{
    return ni_option_at(&ni_main_program, number(name));
}

static int take(const char *name, const char *value)
{
    return ni_option_take(&context, number(name), value);
}

static uint64_t bit(const char *name)
{
    return UINT64_C(1) << number(name);
}

/* The values of all options, one behind the other. */
static size_t all_values(char *to, size_t room)
{
    size_t n = sizeof(*options);

    memcpy(to, options, n);
    for (unsigned i = 0; i < ni_main_program.n_rows; i++) {
        const struct ni_option_rows *rows = ni_main_program.rows[i];

        if (!rows->values)
            continue;
        assert_true(n + rows->size <= room);
        memcpy(to + n, rows->values, rows->size);
        n += rows->size;
    }
    return n;
}

/* ---- the table --------------------------------------------------------------------------------
   */

/* No variable is there twice, and no verb takes two options of one name. */
static void assert_no_twin(unsigned i)
{
    const struct ni_option *o = ni_option_at(&ni_main_program, i);
    struct ni_text variable = NI_TEXT(64);

    ni_put_variable(&variable, o);
    for (unsigned k = 0; k < i; k++) {
        const struct ni_option *before = ni_option_at(&ni_main_program, k);
        struct ni_text its = NI_TEXT(64);

        ni_put_variable(&its, before);
        assert_string_not_equal(its.buf, variable.buf);
        if (strcmp(before->name, o->name) == 0)
            assert_int_equal(before->verbs & o->verbs & NI_VERBS, 0);
    }
}

static void test_names(void **state)
{
    char buf[64];
    struct ni_text variable = ni_text_on(buf, sizeof(buf));

    (void)state;
    ni_put_variable(&variable, option("snapshot-on-refusal"));
    assert_string_equal(buf, "NCCLINIT_SNAPSHOT_ON_REFUSAL");
    for (unsigned i = 0; i < ni_options_count(&ni_main_program); i++) {
        const struct ni_option *o = ni_option_at(&ni_main_program, i);

        assert_no_twin(i);
        assert_true(o->verbs != 0);
        assert_true(strlen(o->help) > 0);
    }
}

/* Each value that the help names is taken, and what it calls the default changes nothing. */
static void test_values(void **state)
{
    static const struct {
        const char *placeholder, *value;
    } examples[] = {
        {"BYTES", "1234K"},
        {"SECONDS", "1234"},
        {"rails=N", "rails=4"},
        {"CAPABILITY", "ipc_lock"},
        {"FINDING", "shm.default"},
        {"HCA[:PORT]", "mlx5_0:1,mlx5_1"},
        {"N", "3"},
        {"PORT", "18555"},
        {"S", "1.25"},
    };

    (void)state;
    for (unsigned i = 0; i < ni_options_count(&ni_main_program); i++) {
        const struct ni_option *o = ni_option_at(&ni_main_program, i);
        const char *cursor = o->arg;
        static char initial[8192], got[8192];
        size_t n;
        struct ni_span s;

        while (cursor && ni_split(&cursor, '|', &s)) {
            char value[64];

            ni_options_init(&context);
            assert_true(ni_copyn(value, sizeof(value), s.p, s.n));
            if (!cursor && strstr(value, ",..."))
                *strstr(value, ",...") = '\0';
            for (unsigned k = 0; k < NI_COUNT(examples); k++)
                if (strcmp(value, examples[k].placeholder) == 0)
                    assert_true(ni_copy(value, sizeof(value), examples[k].value));
            assert_int_equal(ni_option_take(&context, i, value), 0);
        }
        ni_options_init(&context);
        n = all_values(initial, sizeof(initial));
        if (o->initial)
            assert_int_equal(ni_option_take(&context, i, o->initial), 0);
        if (o->arg)
            assert_int_equal(ni_option_take(&context, i, ""), -EINVAL);
        assert_int_equal(all_values(got, sizeof(got)), n);
        assert_memory_equal(got, initial, n);
    }
}

/* Words are values by their order. */
static void test_words(void **state)
{
    static const struct {
        const char *line;
        int mode, format, level, log_format;
    } cases[] = {
        {"--mode=auto --format=sh --log-level=error --log-format=text", NI_MODE_AUTO, NI_FMT_SH,
         NI_LOG_ERROR, NI_LOG_TEXT},
        {"--mode=rdma --format=k8s --log-level=warn --log-format=json", NI_MODE_RDMA, NI_FMT_K8S,
         NI_LOG_WARN, NI_LOG_JSON},
        {"--mode=tcp --format=docker --log-level=info", NI_MODE_TCP, NI_FMT_DOCKER, NI_LOG_INFO,
         NI_LOG_TEXT},
        {"--mode=off --format=nccl.conf --log-level=debug", NI_MODE_OFF, NI_FMT_CONF, NI_LOG_DEBUG,
         NI_LOG_TEXT},
        {"--format=json", NI_MODE_AUTO, NI_FMT_JSON, NI_LOG_INFO, NI_LOG_TEXT},
    };
    static const char *const yes_no[] = {"0", "1", "false", "TRUE", "no", "yes", "off", "on"};
    static const struct {
        const char *word;
        enum ni_distance level;
    } levels[] = {
        {"PIX", NI_DIST_PIX}, {"PXB", NI_DIST_PXB}, {"PHB", NI_DIST_PHB}, {"SYS", NI_DIST_SYS}};

    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        ni_options_init(&context);
        assert_int_equal(parse(NI_VERB_ENV, cases[i].line), 0);
        assert_int_equal(options->policy.mode, cases[i].mode);
        assert_int_equal(ni_env_options.format, cases[i].format);
        assert_int_equal(options->log_level, cases[i].level);
        assert_int_equal(options->log_format, cases[i].log_format);
    }
    for (size_t i = 0; i < NI_COUNT(levels); i++) {
        assert_int_equal(take("gdr", levels[i].word), 0);
        assert_int_equal(options->policy.gdr, levels[i].level);
    }
    /* as people write them */
    assert_int_equal(
        parse(NI_VERB_ENV, "--mode=TCP --log-level=warning --gdr=phb --memlock=unlimited"), 0);
    assert_int_equal(options->policy.mode, NI_MODE_TCP);
    assert_int_equal(options->log_level, NI_LOG_WARN);
    assert_int_equal(options->policy.gdr, NI_DIST_PHB);
    assert_true(options->policy.memlock == NI_UNLIMITED);
    assert_int_equal(take("memlock", "8Gi"), 0);
    assert_true(options->policy.memlock == INT64_C(8) << 30);
    for (unsigned i = 0; i < NI_COUNT(yes_no); i++) {
        assert_int_equal(take("strict", yes_no[i]), 0);
        assert_int_equal(options->strict, i % 2);
    }
    assert_int_equal(take("strict", "maybe"), -EINVAL);
    assert_int_equal(take("log-level", "warnings"), -EINVAL);
    assert_int_equal(take("memlock", "warning"), -EINVAL);
    assert_int_equal(take("memlock", "BYTES"), -EINVAL);
    assert_int_equal(take("require", "rails=N"), -EINVAL);
}

/* ---- the command line ---------------------------------------------------------------------------
   */

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

/* ---- variables
   ----------------------------------------------------------------------------------- */

static void test_variables(void **state)
{
    char *entry[] = {(char[]){"NCCLINIT_MODE=tcp"}, (char[]){"NCCLINIT_MODE=off"},
                     (char[]){"NCCLINIT_HCAS=x"},   (char[]){"NCCLINIT_FORMAT=nonsense"},
                     (char[]){"NCCLINIT_STRICT=1"}, (char[]){"NCCLINIT_BARE"},
                     (char[]){"NCCLINIT=1"},        NULL};

    (void)state;
    assert_int_equal(parse_env(NI_VERB_RUN, entry, NI_ENV_OWN, bit("hcas")), 0);
    assert_int_equal(options->policy.mode, NI_MODE_TCP); /* the first, as getenv */
    assert_null(options->policy.hcas);                   /* the command line had it */
    assert_true(options->strict);
    assert_int_equal(context.taken, bit("hcas") | bit("mode") | bit("strict"));
    /* A wrong value counts where the option belongs to the verb. */
    assert_int_equal(parse_env(NI_VERB_ENV, entry, NI_ENV_OWN, 0), NI_EXIT_REFUSED);
    assert_string_equal(said,
                        "nccl-init: error: NCCLINIT_FORMAT: `nonsense` is not valid; expected "
                        "one of: sh, k8s, docker, nccl.conf, json\n");
}

static void test_wrong_variables(void **state)
{
    char *entry[] = {(char[]){"NCCLINIT_FROB=1"},
                     (char[]){"NCCLINIT_=1"},
                     (char[]){"NCCLINIT_GDR=yes"},
                     (char[]){"NCCLINIT_gdr=off"},
                     (char[]){"NCCLINIT_MODE=tcp"},
                     (char[]){"NCCLINIT_SIZES=1M"},
                     NULL};
    char *unknown[] = {entry[0], NULL};
    const struct ni_findings *findings = &context.findings;

    (void)state;
    assert_int_equal(parse_env(NI_VERB_RUN, entry, NI_ENV_OWN, 0), 0);
    assert_int_equal(findings->n, 5);
    for (unsigned i = 0; i < findings->n; i++)
        assert_int_equal(findings->at[i].id, NI_F_OPTION_INVALID);
    assert_string_equal(findings->at[0].subject, "NCCLINIT_"); /* by name */
    assert_string_equal(findings->at[1].subject, "NCCLINIT_FROB");
    assert_string_equal(findings->at[2].message,
                        "`yes` is not valid; expected one of: auto, off, PIX, PXB, PHB, SYS");
    assert_int_equal(options->policy.mode, NI_MODE_TCP); /* the rest is still read */
    assert_int_equal(options->policy.gdr, NI_DIST_UNKNOWN);
    assert_int_equal(parse_env(NI_VERB_PLAN, unknown, NI_ENV_OWN, 0), NI_EXIT_REFUSED);
    assert_string_equal(said, "nccl-init: error: NCCLINIT_FROB: no option has this variable\n");
}

/* One entry, for `run`: the command is not started, and one line says why. */
static void unclear(const char *entry, const char *reason)
{
    char text[128], line[320];
    char *const env[] = {text, (char[]){"NCCLINIT_FROB=1"}, NULL};

    (void)reset(NULL);
    assert_true(ni_copy(text, sizeof(text), entry));
    assert_int_equal(parse_env(NI_VERB_RUN, env, NI_ENV_OWN, 0), NI_EXIT_REFUSED);
    assert_true(
        ni_format(line, sizeof(line), "nccl-init: error: command not started: %s\n", reason));
    assert_string_equal(said, line);
}

static void test_unclear_demands(void **state)
{
    (void)state;
    unclear("NCCLINIT_REQUIRE=rails=4,fast",
            "NCCLINIT_REQUIRE: `rails=4,fast` is not valid; expected a list of: none, rdma, gdr, "
            "memlock, roce-v2, rails=N, gpus, selftest, preflight");
    unclear("NCCLINIT_MODE=rmda", "NCCLINIT_MODE: `rmda` is not valid; expected one of: auto, "
                                  "rdma, tcp, off; did you mean `rdma`?");
    unclear("NCCLINIT_MODE=", "NCCLINIT_MODE: the empty value is not valid; expected one of: auto, "
                              "rdma, tcp, off");
    unclear("NCCLINIT_PREFLIGHT=requier",
            "NCCLINIT_PREFLIGHT: `requier` is not valid; expected one of: off, warn, require; did "
            "you mean `require`?");
    unclear("NCCLINIT_SELFTEST=requre",
            "NCCLINIT_SELFTEST: `requre` is not valid; expected one of: off, warn, require; did "
            "you mean `require`?");
    unclear("NCCLINIT_STRICT=maybe",
            "NCCLINIT_STRICT: `maybe` is not valid; expected one of: 1, 0");
    unclear("NCCLINIT_REQIRE=rdma", "NCCLINIT_REQIRE: no option has this variable; did you mean "
                                    "NCCLINIT_REQUIRE=rdma?");
    unclear("NCCL_INIT_REQUIRE=rdma", "NCCL_INIT_REQUIRE: no option has this variable; did you "
                                      "mean NCCLINIT_REQUIRE=rdma?");
}

/* The slip is in the prefix. What is farther off is another program's, and nothing is said of it. */
static void test_near_prefixes(void **state)
{
    static const char *const near[] = {"NCCL_INIT_REQUIRE", "NCCLINITREQUIRE", "NCCLINT_STRICT",
                                       "NCLINIT_MODE",      "ncclinit_mode",   "NCCLINIT-SELFTEST",
                                       "NCCL_INIT_PREFLIHT"};
    static const char *const far[] = {"NCCL_INIT_RANK", "NCCL_INIT_REQS", "NCCL_NET", "NCCLINIT",
                                      "NCCL_IB_HCA",    "NODE_NAME",      "N",        "NCCL_MODE"};
    char text[64];
    char *const env[] = {text, NULL};

    (void)state;
    for (unsigned i = 0; i < NI_COUNT(near); i++) {
        (void)reset(NULL);
        assert_true(ni_format(text, sizeof(text), "%s=1", near[i]));
        if (parse_env(NI_VERB_RUN, env, NI_ENV_OWN, 0) != NI_EXIT_REFUSED)
            fail_msg("%s is no demand", text);
    }
    for (unsigned i = 0; i < NI_COUNT(far); i++) {
        (void)reset(NULL);
        assert_true(ni_format(text, sizeof(text), "%s=1", far[i]));
        if (parse_env(NI_VERB_RUN, env, NI_ENV_OWN, 0) != 0 || context.findings.n > 0)
            fail_msg("%s counts", text);
    }
    (void)reset(NULL); /* the command line wins */
    assert_true(ni_copy(text, sizeof(text), "NCCL_INIT_REQUIRE=1"));
    assert_int_equal(parse_env(NI_VERB_RUN, env, NI_ENV_OWN, bit("require")), 0);
    assert_int_equal(context.findings.n, 0);
}

/* Two letters to insert, remove or replace, and whatever their case. */
static void test_near_names(void **state)
{
    static const char *const near[] = {"REQUIRED",  "REQURIE",  "REQUIRES",   "MODES",   "MOED",
                                       "MO",        "mode",     "Strict",     "STRCT",   "STRICTLY",
                                       "SELF_TEST", "SELFTETS", "PRE_FLIGHT", "PREFLIGT"};
    static const char *const far[] = {"REQUIREMENT", "FROB",      "M",    "STRICTNESS", "SELF",
                                      "FLIGHT",      "REQUISITE", "",     "PREFIX",     "TEST",
                                      "MODE_OF_IT",  "HCA",       "JOBS", "RANKED",     "SOCKET"};
    char text[64];
    char *const env[] = {text, NULL};

    (void)state;
    for (unsigned i = 0; i < NI_COUNT(near); i++) {
        (void)reset(NULL);
        assert_true(ni_format(text, sizeof(text), "NCCLINIT_%s=1", near[i]));
        if (parse_env(NI_VERB_RUN, env, NI_ENV_OWN, 0) != NI_EXIT_REFUSED)
            fail_msg("%s is no demand", text);
    }
    for (unsigned i = 0; i < NI_COUNT(far); i++) {
        (void)reset(NULL);
        assert_true(ni_format(text, sizeof(text), "NCCLINIT_%s=1", far[i]));
        if (parse_env(NI_VERB_RUN, env, NI_ENV_OWN, 0) != 0)
            fail_msg("%s is a demand", text);
        assert_int_equal(context.findings.n, 1);
    }
    for (unsigned i = 0; i < ni_options_count(&ni_main_program);
         i++) { /* an option's own is never unknown */
        struct ni_text t = ni_text_on(text, sizeof(text));

        (void)reset(NULL);
        if (ni_option_at(&ni_main_program, i)->traits & NI_OPTION_DEMAND)
            continue;
        ni_put_variable(&t, ni_option_at(&ni_main_program, i));
        ni_put(&t, "=\x01");
        assert_int_equal(parse_env(NI_VERB_RUN, env, NI_ENV_OWN, 0), 0);
    }
}

/* The command line wins over all spellings of the variable; a right variable does not over a wrong
   one, whatever their order. */
static void test_unclear_and_clear(void **state)
{
    char *wrong_first[] = {(char[]){"NCCLINIT_REQIRE=rdma"}, (char[]){"NCCLINIT_REQUIRE=gdr"},
                           NULL};
    char *right_first[] = {wrong_first[1], wrong_first[0], NULL};
    char *twice[] = {(char[]){"NCCLINIT_MODE=tcp"}, (char[]){"NCCLINIT_MODE=rmda"}, NULL};

    (void)state;
    assert_int_equal(parse_env(NI_VERB_RUN, wrong_first, NI_ENV_OWN, 0), NI_EXIT_REFUSED);
    (void)reset(NULL);
    assert_int_equal(parse_env(NI_VERB_RUN, right_first, NI_ENV_OWN, 0), NI_EXIT_REFUSED);
    (void)reset(NULL);
    assert_int_equal(parse_env(NI_VERB_RUN, right_first, NI_ENV_OWN, bit("require")), 0);
    assert_int_equal(context.findings.n, 1);
    assert_int_equal(context.findings.at[0].id, NI_F_OPTION_INVALID);
    (void)reset(NULL);
    assert_int_equal(parse_env(NI_VERB_RUN, twice, NI_ENV_OWN, 0), 0); /* the first, as getenv */
    assert_int_equal(context.findings.n, 0);
}

/* Verbs that run nothing: their own options are errors; what stops `run` alone is a finding of those
   that say what `run` would do, and of a recording. */
static void test_unclear_elsewhere(void **state)
{
    char *entry[] = {(char[]){"NCCLINIT_PREFLIGHT=requier"}, NULL};
    char *own[] = {(char[]){"NCCLINIT_REQUIRE=fast"}, NULL};
    char *near[] = {(char[]){"NCCLINIT_REQIRE=rdma"}, NULL};
    const struct ni_policy *policy = &options->policy;

    (void)state;
    assert_int_equal(parse_env(NI_VERB_PLAN, own, NI_ENV_OWN, 0), NI_EXIT_REFUSED);
    assert_int_equal(parse_env(NI_VERB_PLAN, near, NI_ENV_OWN, 0), NI_EXIT_REFUSED);
    assert_int_equal(parse_env(NI_VERB_ENV, entry, NI_ENV_OWN, 0), 0);
    assert_int_equal(context.findings.n, 0);
    assert_string_equal(policy->unclear, "");
    assert_int_equal(parse_env(NI_VERB_DOCTOR, entry, NI_ENV_OWN, 0), 0);
    assert_int_equal(context.findings.at[0].id, NI_F_REQUIRE_UNCLEAR);
    (void)reset(NULL);
    assert_int_equal(parse_env(NI_VERB_PLAN, entry, NI_ENV_OWN, 0), 0);
    assert_int_equal(context.findings.n, 1);
    assert_int_equal(context.findings.at[0].id, NI_F_REQUIRE_UNCLEAR);
    assert_string_equal(context.findings.at[0].subject, "NCCLINIT_PREFLIGHT");
    assert_string_equal(policy->unclear,
                        "NCCLINIT_PREFLIGHT: `requier` is not valid; expected one of: off, warn, "
                        "require; did you mean `require`?");
    (void)reset(NULL);
    assert_int_equal(parse_env(NI_VERB_ENV, own, NI_ENV_RECORDED, 0), 0);
    assert_int_equal(parse_env(NI_VERB_ENV, near, NI_ENV_RECORDED, 0), 0);
    assert_int_equal(parse_env(NI_VERB_PLAN, entry, NI_ENV_RECORDED, 0), 0);
    assert_int_equal(context.findings.n, 3);
    assert_true(ni_has_prefix(policy->unclear,
                              "NCCLINIT_REQUIRE: `fast` is not valid; expected a list of: none, "));
    assert_non_null(strstr(policy->unclear, "; NCCLINIT_REQIRE: no option has this variable"));
    (void)reset(NULL);
    assert_int_equal(parse_env(NI_VERB_ENV, own, NI_ENV_RECORDED, bit("require")), 0);
    assert_string_equal(policy->unclear, "");
}

/* --mode=rdma, --selftest=require and --preflight=require are short forms of --require. */
static void test_short_forms(void **state)
{
    const struct ni_policy *policy = &options->policy;
    char *none[] = {NULL};

    (void)state;
    assert_int_equal(
        parse(NI_VERB_RUN, "--require=gpus --mode=rdma --selftest=require --preflight=require"), 0);
    assert_int_equal(parse_env(NI_VERB_RUN, none, NI_ENV_OWN, context.taken), 0);
    assert_int_equal(policy->require, NI_REQUIRE_GPUS | NI_REQUIRE_RDMA | NI_REQUIRE_SELFTEST |
                                          NI_REQUIRE_PREFLIGHT);
    assert_int_equal(policy->short_forms,
                     NI_REQUIRE_RDMA | NI_REQUIRE_SELFTEST | NI_REQUIRE_PREFLIGHT);
    (void)reset(NULL);
    assert_int_equal(parse(NI_VERB_RUN, "--require=selftest,preflight,rdma --selftest=warn"), 0);
    assert_int_equal(parse_env(NI_VERB_RUN, none, NI_ENV_OWN, context.taken), 0);
    assert_int_equal(options->policy.selftest, NI_DEMAND_REQUIRE);
    assert_int_equal(options->policy.preflight, NI_DEMAND_REQUIRE);
    assert_int_equal(policy->mode, NI_MODE_AUTO);
    assert_int_equal(policy->short_forms, 0);
    (void)reset(NULL);
    assert_int_equal(parse(NI_VERB_RUN, "--mode=rdma --mode=tcp --selftest=require "
                                        "--selftest=off --require=gdr --require=none"),
                     0);
    assert_int_equal(parse_env(NI_VERB_RUN, none, NI_ENV_OWN, context.taken), 0);
    assert_int_equal(policy->require, 0);
    assert_int_equal(options->policy.selftest, NI_DEMAND_OFF);
    (void)reset(NULL); /* only `run` tries and meets before a command */
    /* a second one takes nothing back */
    assert_int_equal(parse(NI_VERB_RUN, "--require=rdma,rails=4 --require=memlock,rails=2"), 0);
    assert_int_equal(policy->require, NI_REQUIRE_RDMA | NI_REQUIRE_RAILS | NI_REQUIRE_MEMLOCK);
    assert_int_equal(policy->rails, 4);
    assert_int_equal(parse(NI_VERB_RUN, "--require=rdma,rails=4 --require=none --require=gpus"), 0);
    assert_int_equal(policy->require, NI_REQUIRE_GPUS);
    assert_int_equal(policy->rails, 0);
    assert_int_equal(parse(NI_VERB_PLAN, "--require=selftest,preflight"), 0);
    assert_int_equal(parse_env(NI_VERB_PLAN, none, NI_ENV_OWN, context.taken), 0);
    assert_int_equal(options->policy.selftest, NI_DEMAND_OFF);
    assert_int_equal(options->policy.preflight, NI_DEMAND_OFF);
}

/* Of a recording only what belongs to the plan: not where to write, for one. */
static void test_recorded(void **state)
{
    char *entry[] = {(char[]){"NCCLINIT_OUTPUT=x"},        (char[]){"NCCLINIT_ROOT=/x"},
                     (char[]){"NCCLINIT_FORMAT=nonsense"}, (char[]){"NCCLINIT_MODE=tcp"},
                     (char[]){"NCCLINIT_GDR=off"},         NULL};

    (void)state;
    assert_int_equal(parse_env(NI_VERB_ENV, entry, NI_ENV_RECORDED, bit("gdr")), 0);
    assert_int_equal(context.findings.n, 0);
    assert_null(options->output);
    assert_string_equal(options->root, "/");
    assert_int_equal(options->policy.mode, NI_MODE_TCP);
    assert_int_equal(options->policy.gdr, NI_DIST_UNKNOWN);
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
        cmocka_unit_test_setup(test_names, reset),
        cmocka_unit_test_setup(test_values, reset),
        cmocka_unit_test_setup(test_preflight, reset),
        cmocka_unit_test_setup(test_words, reset),
        cmocka_unit_test_setup(test_stops, reset),
        cmocka_unit_test_setup(test_forms, reset),
        cmocka_unit_test_setup(test_wrong, reset),
        cmocka_unit_test_setup(test_policy, reset),
        cmocka_unit_test_setup(test_for, reset),
        cmocka_unit_test_setup(test_wait, reset),
        cmocka_unit_test_setup(test_selftest, reset),
        cmocka_unit_test_setup(test_network_status, reset),
        cmocka_unit_test_setup(test_variables, reset),
        cmocka_unit_test_setup(test_wrong_variables, reset),
        cmocka_unit_test_setup(test_unclear_demands, reset),
        cmocka_unit_test_setup(test_near_names, reset),
        cmocka_unit_test_setup(test_near_prefixes, reset),
        cmocka_unit_test_setup(test_unclear_and_clear, reset),
        cmocka_unit_test_setup(test_unclear_elsewhere, reset),
        cmocka_unit_test_setup(test_short_forms, reset),
        cmocka_unit_test_setup(test_recorded, reset),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
