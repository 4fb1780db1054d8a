/* SPDX-License-Identifier: Apache-2.0 */
/* An option: its row in a table, the function that reads its value, and its values. */
#ifndef NCCL_INIT_CLI_OPTION_H
#define NCCL_INIT_CLI_OPTION_H

#include "nccl_init/guess.h"
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
    NI_VERB_LOG = 1 << 9,
    NI_VERB_HELP = 1 << 10,
    NI_VERB_VERSION = 1 << 11,
    NI_VERB_EXPLAIN = 1 << 12,
    NI_VERB_WATCH = 1 << 13,
    NI_VERB_COMPLETION = 1 << 14,
    NI_VERB_SCHEMA = 1 << 15
};

enum {
    /* verbs that read the node, or a recording of it */
    NI_VERBS_OF_NODE = NI_VERB_RUN | NI_VERB_ENV | NI_VERB_PLAN | NI_VERB_SNAPSHOT | NI_VERB_TOPO |
                       NI_VERB_DOCTOR | NI_VERB_SELFTEST | NI_VERB_PREFLIGHT | NI_VERB_WATCH,
    /* verbs that only tell of the program: no variable may keep them from that */
    NI_VERBS_OF_PROGRAM =
        NI_VERB_HELP | NI_VERB_VERSION | NI_VERB_EXPLAIN | NI_VERB_COMPLETION | NI_VERB_SCHEMA,
    NI_VERBS = NI_VERBS_OF_NODE | NI_VERBS_OF_PROGRAM | NI_VERB_INSTALL | NI_VERB_LOG
};

/* What an option is, as bits of ni_option.traits. */
enum {
    /* the plan depends on it: a recording's own value counts */
    NI_OPTION_POLICY = 1 << 0,
    /* it names a file: in secure execution its variable is ignored */
    NI_OPTION_FILE = 1 << 1,
    /* ... unless files are opened with the caller's own rights alone */
    NI_OPTION_CAREFUL = 1 << 2,
    /* a wrong value in its variable is a demand not met */
    NI_OPTION_DEMAND = 1 << 3
};

/* Groups of options in the help, in its order. */
enum ni_group {
    NI_GROUP_OWN, /* of one verb */
    NI_GROUP_DECISION,
    NI_GROUP_LIMITS,
    NI_GROUP_DEMANDS,
    NI_GROUP_SELFTEST,
    NI_GROUP_PREFLIGHT,
    NI_GROUP_FACTS,
    NI_GROUP_OUTPUT
};

/* One option: `--name`, and the variable NCCLINIT_NAME. A set of options is a uint64_t with a bit
   for each row of the table. Two options may have one name if no verb takes both. */
struct ni_option {
    const char *name;
    const char *variable; /* the name that the variable is made of; NULL: that of the option */
    enum ni_group group;
    unsigned verbs;      /* NI_VERB_* that take it */
    unsigned traits;     /* NI_OPTION_* */
    const char *arg;     /* its values, for people and for `take`; NULL: it is a switch */
    const char *initial; /* its default value; NULL: none */
    /* Reads a value into the member that begins at `at`, of the struct of its room. 0, or -EINVAL
       and nothing is changed. */
    int (*take)(const struct ni_option *option, const char *value, void *at);
    size_t at;
    int64_t least, most; /* of a number, in the unit of that member */
    const char *also;    /* "warning=warn": a word that people write for one of its values; NULL */
    /* Tries the words that `arg` has no room for; NULL: there are none. */
    void (*suggest)(struct ni_guess *guess);
    const char *help;
};

/* Rows of options that a room adds to the program. */
struct ni_option_rows {
    const struct ni_option *at;
    unsigned n;
    void *values; /* the room's struct, into which the rows write; NULL: struct ni_options */
    size_t size;  /* of that struct */
};

/* Reads the value of an option into *at. Returns 0; or -EINVAL, and *at is as it was. */
typedef int ni_take_value_fn(const struct ni_option *option, const char *text, void *at);

/* Readers, by the type of *at. */
ni_take_value_fn ni_take_word;   /* an enum whose values are in the order of the words */
ni_take_value_fn ni_take_switch; /* a bool: 1 or 0, also as true, yes, on and their opposites */
ni_take_value_fn ni_take_path;   /* a const char *; not empty */
ni_take_value_fn
    ni_take_variable_or_path; /* a const char *: the name of a variable, or the path of a file */
ni_take_value_fn
    ni_take_number; /* an unsigned within the bounds of the option; `auto` is -1 if -1 is one */
ni_take_value_fn ni_take_seconds; /* such a number; also 20s, 2m, 1h */
ni_take_value_fn ni_take_bytes;   /* an int64_t within the bounds; K, M and G count in 1024s */
ni_take_value_fn
    ni_take_milliseconds; /* an unsigned, from seconds with up to three digits after a point */
ni_take_value_fn ni_take_memlock; /* an int64_t: bytes, `max` or `keep` */
ni_take_value_fn ni_take_gdr;     /* an enum ni_distance */
ni_take_value_fn ni_take_names;   /* a const char *: names that the lists of NCCL can carry */
ni_take_value_fn
    ni_take_targets; /* an unsigned: bits in the order of the words; the last, of `most`, is all */
ni_take_value_fn ni_take_require, ni_take_keep_caps, ni_take_drop_caps; /* a struct ni_policy */

/* Returns the items of a list: NULL for `none`, else the text. */
const char *ni_items_of_list(const char *text);
/* Puts what is wrong with a value: "`rmda` is not valid; expected one of: auto, rdma, tcp, off; did
   you mean `rdma`?" */
void ni_put_wrong(struct ni_text *t, const struct ni_option *option, const char *value);

/* Puts the name of the option's variable: "NCCLINIT_KEEP_CAPS". */
void ni_put_variable(struct ni_text *t, const struct ni_option *option);

#endif
