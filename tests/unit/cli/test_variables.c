/* SPDX-License-Identifier: Apache-2.0 */
/* How the variables NCCLINIT_* are read by the table of options. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "cli/args.h"
#include "cli/context.h"
#include "cli/option.h"
#include "cli/options.h"
#include "cli/program.h"
#include "findings/setting.h"
#include "lib/args.h"
#include "main.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/pci.h"
#include "nccl_init/plan.h"
#include "nccl_init/text.h"
#include "system/exec.h"
#include <cmocka.h>

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
            "memlock, roce-v2, rails=N, gpus, selftest, preflight, gdr-tried");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
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
