/* SPDX-License-Identifier: Apache-2.0 */
/* json: untrusted JSON is read by jansson; what the program writes is written as it is made. */
#ifndef NCCL_INIT_JSON_H
#define NCCL_INIT_JSON_H

#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/pci.h"
#include "nccl_init/text.h"

/* The parsed text, to be given to json_decref; or NULL after saying why, for a text that is no JSON,
   is nested deeper or has more values than any known writer's, or has a key twice. reals: each number is one; integers
   may be larger than an int64_t holds, as unlimited is in an OCI config.json. */
struct json_t;
struct json_t *ni_read_json(const char *text, bool reals, struct ni_text *why);
/* The first value of a text that may have more: *text is then what follows it. *ret_cut: there is none,
   because the text ends inside it. */
struct json_t *ni_read_json_first(const char **text, bool *ret_cut, struct ni_text *why);
/* The same as ni_read_json, which says it by a finding about `subject`. */
struct json_t *ni_parse_json(struct ni_findings *f, const char *subject, const char *text);
enum { NI_JSON_DEPTH = 16 }; /* the report that nests most needs 6 */

/* A value that is being written, outermost an object or an array. ASCII only: a value of somebody's
   environment must not reach a terminal's control sequences. */
struct ni_json {
    struct ni_text *to; /* its `cut` tells whether all of it is there */
    bool pretty;
    bool empty; /* nothing is in the innermost object or array yet */
    unsigned depth;
    char end[NI_JSON_DEPTH]; /* '}' or ']' of each that is open */
};

/* pretty: each member on a line of its own, indented by two; else all on one line. */
struct ni_json ni_json_on(struct ni_text *to, bool pretty);

/* `key` is NULL in an array, and for the outermost value. */
void ni_json_object(struct ni_json *j, const char *key);
void ni_json_array(struct ni_json *j, const char *key);
/* Ends the innermost; the outermost with a newline. */
void ni_json_end(struct ni_json *j);

void ni_json_bool(struct ni_json *j, const char *key, bool v);
void ni_json_int(struct ni_json *j, const char *key, int64_t v);
void ni_json_int_or_null(struct ni_json *j, const char *key, bool known, int64_t v);
/* The number; null when it is not known. */
void ni_json_num(struct ni_json *j, const char *key, struct ni_num n);
/* A limit in bytes: -1 is unlimited, as in Docker's ulimits; null when it is not known. */
void ni_json_bytes(struct ni_json *j, const char *key, struct ni_num n);
/* NULL: null. A byte that is no UTF-8 becomes the four characters \xHH, for JSON cannot hold it. */
void ni_json_text(struct ni_json *j, const char *key, const char *s);
/* "" too is null. */
void ni_json_text_or_null(struct ni_json *j, const char *key, const char *s);
/* "0000:3b:00.2"; NULL: null. */
void ni_json_bdf(struct ni_json *j, const char *key, const struct ni_bdf *bdf);

#endif
