/* SPDX-License-Identifier: Apache-2.0 */
/* JSON, written piece by piece: no tree is kept. */
#ifndef NCCL_INIT_PRINT_JSON_WRITE_H
#define NCCL_INIT_PRINT_JSON_WRITE_H

#include <stdbool.h>
#include <stdint.h>

#include "nccl_init/known.h"
#include "nccl_init/pci.h"
#include "nccl_init/text.h"

enum { NI_JSON_DEPTH = 16 }; /* the deepest report needs 6 */

/* A JSON value that is being written, an object or an array at the outside. ASCII only: a value of
   somebody's environment must not reach a terminal's control sequences. */
struct ni_json {
    struct ni_text *to; /* its `cut` says that a part is missing */
    bool indented;
    bool empty; /* the innermost object or array is still empty */
    unsigned depth;
    char end[NI_JSON_DEPTH]; /* '}' or ']' of each open one */
};

/* NI_JSON_LINE: all is on one line. NI_JSON_INDENTED: each member has a line of its own, indented
   by two. */
enum ni_json_form { NI_JSON_LINE, NI_JSON_INDENTED };
/* Begins JSON on a text. */
struct ni_json ni_json_on(struct ni_text *to, enum ni_json_form form);

/* Begin an object, an array. `key` is NULL in an array, and for the outermost value. */
void ni_json_object(struct ni_json *j, const char *key);
void ni_json_array(struct ni_json *j, const char *key);
/* Ends the innermost one; the outermost with a newline. */
void ni_json_end(struct ni_json *j);

void ni_json_bool(struct ni_json *j, const char *key, bool v);
void ni_json_int(struct ni_json *j, const char *key, int64_t v);
void ni_json_int_or_null(struct ni_json *j, const char *key, bool known, int64_t v);
/* Writes the number; null if it is not known. */
void ni_json_num(struct ni_json *j, const char *key, struct ni_num n);
/* Writes a limit in bytes: -1 is unlimited, as in Docker's ulimits; null if it is not known. */
void ni_json_bytes(struct ni_json *j, const char *key, struct ni_num n);
/* Writes the text; NULL: null. A byte that is not UTF-8 becomes the four characters \xHH, for JSON
   cannot hold it. */
void ni_json_text(struct ni_json *j, const char *key, const char *s);
/* Writes the text; NULL and "" are null. */
void ni_json_text_or_null(struct ni_json *j, const char *key, const char *s);
/* Writes "0000:3b:00.2"; NULL: null. */
void ni_json_bdf(struct ni_json *j, const char *key, const struct ni_bdf *bdf);

#endif
