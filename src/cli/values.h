/* SPDX-License-Identifier: Apache-2.0 */
/* Values of options: how each kind is read, and what it may be. */
#ifndef NCCL_INIT_CLI_VALUES_H
#define NCCL_INIT_CLI_VALUES_H

#include "cli/options.h"
#include "nccl_init/text.h"

/* Readers of values, for the rows of options: each puts the value into what `at` points to, and returns 0; or
   -EINVAL, and it is as it was. */
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
    ni_take_milliseconds; /* an unsigned, from seconds with up to three digits behind a point */
ni_take_value_fn ni_take_memlock; /* an int64_t: bytes, `max` or `keep` */
ni_take_value_fn ni_take_gdr;     /* an enum ni_distance */
ni_take_value_fn ni_take_names;   /* a const char *: names that the lists of NCCL can carry */
ni_take_value_fn ni_take_targets; /* an unsigned: bits in the order of the words; the last is all */
ni_take_value_fn ni_take_require, ni_take_keep_caps, ni_take_drop_caps; /* a struct ni_policy */

/* The items of a list: `none` is an empty one, NULL. */
const char *ni_option_list(const char *text);
/* "SECONDS from 0 to 3600" */
void ni_put_values(struct ni_text *t, const struct ni_option *option);

#endif
