/* SPDX-License-Identifier: Apache-2.0 */
/* Untrusted JSON, read through jansson. */
#ifndef NCCL_INIT_PRINT_JSON_READ_H
#define NCCL_INIT_PRINT_JSON_READ_H

#include <stdbool.h>

#include "nccl_init/findings.h"
#include "nccl_init/text.h"

/* Reads a text that is one value. NULL: `why` says what is wrong. */
struct json_t *ni_read_json(const char *text, struct ni_text *why);
/* Reads it with each number as a double: OCI runtimes write limits up to 2^64 - 1, and jansson's
   integers end at 2^63 - 1. */
struct json_t *ni_read_json_as_reals(const char *text, struct ni_text *why);
/* Reads the first value of a text that may have more: *text is then the rest. *ret_cut: there is
   none, because the text ends inside it. */
struct json_t *ni_read_json_first(const char **text, bool *ret_cut, struct ni_text *why);
/* Parses JSON as ni_read_json does, and reports a fault by a finding about `subject`. */
struct json_t *ni_parse_json(struct ni_findings *f, const char *subject, const char *text);
/* Returns the string that the object has by that key, owned by the object; NULL if it has none. */
const char *ni_json_string(const struct json_t *object, const char *key);

#endif
