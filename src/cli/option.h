/* SPDX-License-Identifier: Apache-2.0 */
/* An option: its row in a table, the function that reads its value, and its values. */
#ifndef NCCL_INIT_CLI_OPTION_H
#define NCCL_INIT_CLI_OPTION_H

#include "nccl_init/text.h"

enum {
    NI_VERB_RUN = 1 << 0,
    NI_VERB_ENV = 1 << 1,
    NI_VERB_PLAN = 1 << 2,
    NI_VERB_SNAPSHOT = 1 << 3,
    NI_VERB_TOPO = 1 << 4,
    NI_VERB_DOCTOR = 1 << 5,
    NI_VERB_SELFTEST = 1 << 6,
    NI_VERB_INSTALL = 1 << 7,
    NI_VERB_PREFLIGHT = 1 << 8,
    NI_VERB_LOG = 1 << 9
};

/* Verbs that read the node, or a recording of it. */
enum {
    NI_VERBS_OF_NODE = NI_VERB_RUN | NI_VERB_ENV | NI_VERB_PLAN | NI_VERB_SNAPSHOT | NI_VERB_TOPO |
                       NI_VERB_DOCTOR | NI_VERB_SELFTEST | NI_VERB_PREFLIGHT
};

enum {                             /* beside NI_VERB_* */
       NI_OPTION_POLICY = 1 << 30, /* part of the plan: of a recording the recorded value counts */
       NI_OPTION_FILE = 1 << 29,   /* names a file: not from the environment in secure execution */
       NI_OPTION_CAREFUL =
           1 << 27,               /* ... but from there, too, with the caller's own rights alone */
       NI_OPTION_DEMAND = 1 << 28 /* a wrong value in its variable is a demand not met */
};

/* One option: `--name`, and the variable NCCLINIT_NAME. A set of options is a uint64_t with a bit
   for each row of the table. */
struct ni_option {
    const char *name;
    unsigned verbs;      /* NI_VERB_* that take it, NI_OPTION_* */
    const char *arg;     /* its values, for people and for `take`; NULL: a switch */
    const char *initial; /* the value that it has if nobody gives one; NULL: none */
    /* Reads a value into the member of struct ni_options that begins at `at`. 0, or -EINVAL and
       nothing is changed. */
    int (*take)(const struct ni_option *option, const char *value, void *at);
    size_t at;
    int64_t least, most; /* of a number, in the unit of that member */
    const char *help;
};

/* Rows of options that a room adds to the program. */
struct ni_option_rows {
    const struct ni_option *at;
    unsigned n;
    void *values; /* of the room: what `at` of its rows points into; NULL: struct ni_options */
    size_t size;  /* of the values */
};

/* Readers of values, for the rows of options: each puts the value into what `at` points to, and
   returns 0; or -EINVAL, and it is as it was. */
typedef int ni_take_value_fn(const struct ni_option *option, const char *text, void *at);

ni_take_value_fn ni_take_word;   /* an enum whose values are in the order of the words */
ni_take_value_fn ni_take_switch; /* a bool; "0" or "1" */
ni_take_value_fn ni_take_path;   /* a const char *; not empty */
ni_take_value_fn
    ni_take_variable_or_path; /* a const char *: the name of a variable, or the path of a file */
ni_take_value_fn
    ni_take_number; /* an unsigned within the bounds of the option; `auto` is -1 if -1 is one */
ni_take_value_fn ni_take_bytes; /* an int64_t within the bounds; K, M and G count in 1024s */
ni_take_value_fn
    ni_take_milliseconds; /* an unsigned, from seconds with up to three digits after a point */
ni_take_value_fn ni_take_memlock; /* an int64_t: bytes, `max` or `keep` */
ni_take_value_fn ni_take_gdr;     /* an enum ni_distance */
ni_take_value_fn ni_take_names;   /* a const char *: names that the lists of NCCL can carry */
ni_take_value_fn ni_take_targets; /* an unsigned: bits in the order of the words; the last is all */
ni_take_value_fn ni_take_require, ni_take_keep_caps, ni_take_drop_caps; /* a struct ni_policy */

/* The items of a list: `none` is an empty one, NULL. */
const char *ni_option_list(const char *text);
/* "SECONDS from 0 to 3600" */
void ni_put_values(struct ni_text *t, const struct ni_option *option);

/* NCCLINIT_KEEP_CAPS */
void ni_put_variable(struct ni_text *t, const struct ni_option *option);

#endif
