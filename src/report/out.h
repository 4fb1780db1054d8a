/* SPDX-License-Identifier: Apache-2.0 */
/* report, private: buffered writing on a descriptor. No stdio: nothing is flushed behind our back
   at exec or exit. */
#ifndef NCCL_INIT_REPORT_OUT_H
#define NCCL_INIT_REPORT_OUT_H

#include "nccl_init/core.h"

enum {
    NI_OUT_BUF = 4096
}; /* PIPE_BUF: a report shorter than this is one write, and not mixed with others */

enum { NI_OUT_COLUMNS = 100 };

/* The first error stays; after it nothing more is written. */
struct ni_out {
    int fd;
    int err; /* 0 or -errno */
    size_t len;
    char buf[NI_OUT_BUF];
};

void ni_out_on(struct ni_out *o, int fd);
void ni_out_put(struct ni_out *o, const char *s);
void ni_out_putn(struct ni_out *o, const char *s, size_t n);
/* One call puts out less than NI_OUT_BUF bytes, else the error is -EOVERFLOW: nothing is ever cut
   short. */
void ni_out_putf(struct ni_out *o, const char *fmt, ...) NI_PRINTF(2, 3);
/* Untrusted text of any length, for a terminal: see ni_put_quoted. */
void ni_out_quoted(struct ni_out *o, const char *s);
/* The same in lines of at most NI_OUT_COLUMNS where blanks allow: `at` is the column it begins in,
   `indent` what each further line begins with. */
void ni_out_wrapped(struct ni_out *o, size_t at, size_t indent, const char *s);
/* Writes what is left. 0 or -errno of the first write that failed. */
int ni_out_end(struct ni_out *o);

#endif
