/* SPDX-License-Identifier: Apache-2.0 */
/* Options that several verbs take: their values, and their rows. */
#ifndef NCCL_INIT_CLI_OPTIONS_H
#define NCCL_INIT_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/option.h"
#include "nccl_init/plan.h"

/* The values of these enums are in the order of the words of their options. */
enum ni_log_level { NI_LOG_ERROR, NI_LOG_WARN, NI_LOG_INFO, NI_LOG_DEBUG };
enum ni_log_format { NI_LOG_TEXT, NI_LOG_JSON };
enum ni_color { NI_COLOR_AUTO, NI_COLOR_ALWAYS, NI_COLOR_NEVER };

/* --try: what the self-test tries; bits, in the order of the words. */
enum {
    NI_TRY_PORTS = 1, /* each port, by this program's libibverbs */
    NI_TRY_IMAGE = 2, /* each HCA, by the image's libibverbs */
    NI_TRY_GPU = 4,   /* each GPU with its HCAs, by the image's libraries */
    NI_TRY_NCCL = 8,  /* each GPU, by the image's NCCL */
    NI_TRY_ALL = 16   /* the word `all`, which sets all bits below it */
};

/* Values of the options that several verbs take. */
struct ni_options {
    struct ni_policy policy;
    const char *root;
    const char *output;          /* file; NULL: standard output */
    const char *termination_log; /* file */
    const char *svg;             /* file for a picture; NULL: none */
    const char *network_status;  /* variable, or path below the root; NULL: the usual places */
    enum ni_log_level log_level;
    enum ni_log_format log_format;
    enum ni_color color;
    unsigned wait;  /* seconds */
    unsigned tries; /* NI_TRY_*; 0: not given, the ports */
    bool json, strict;
    bool busy;       /* GPUs that others use are tried, too */
    bool all;        /* reports show the host's other HCAs, too */
    bool secure;     /* the program has file capabilities or is set-user-ID (AT_SECURE, ld.so(8)) */
    bool own_rights; /* files are opened with the caller's rights: its user and group alone */
};

/* Rows of the options on which the plan depends, and of the others. */
extern const struct ni_option_rows ni_policy_rows, ni_common_rows;

/* Settles options that depend on each other, once all are read: --mode=rdma, --selftest=require and
   --preflight=require are short forms of words of --require; and if the command is to be started,
   these words ask for the test, too. So does --try, unless --selftest is given. */
void ni_options_settle(struct ni_options *o, bool runs, bool selftest_given);
/* Returns true if the self-test is to try that; NI_TRY_*. */
bool ni_tries(const struct ni_options *o, unsigned what);

#endif
