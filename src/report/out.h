/* SPDX-License-Identifier: Apache-2.0 */
/* report, private: buffered writing on a descriptor. No stdio: nothing is flushed behind our back
   at exec or exit. */
#ifndef NCCL_INIT_REPORT_OUT_H
#define NCCL_INIT_REPORT_OUT_H

#include "nccl_init/core.h"

enum {
    NI_OUT_BUF = 4096
}; /* PIPE_BUF: a report that is no longer is one write, and not mixed with others */

enum { NI_OUT_COLUMNS = 100 };

/* The first error stays; after it nothing more is written. */
struct ni_out {
    struct ni_text text; /* first: what is put here goes to fd */
    int fd;
    int err; /* 0 or -errno */
    char buf[NI_OUT_BUF + 1];
};

/* Returns the text to put into. */
struct ni_text *ni_out_on(struct ni_out *o, int fd);
/* Writes what is left. 0 or -errno of the first write that failed. */
int ni_out_end(struct ni_out *o);

/* Untrusted text, as ni_quote, in lines of at most NI_OUT_COLUMNS where blanks allow: `at` is the
   column it begins in, `indent` what each further line begins with. */
void ni_put_wrapped(struct ni_text *out, size_t at, size_t indent, const char *s);

#endif
