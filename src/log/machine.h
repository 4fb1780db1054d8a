/* SPDX-License-Identifier: Apache-2.0 */
/* log, private: where a line has the words by which patterns are found; what is done with them. */
#ifndef NCCL_INIT_LOG_MACHINE_H
#define NCCL_INIT_LOG_MACHINE_H

#include "nccl_init/log.h"

/* One step for each byte, however many patterns there are (Aho and Corasick, 1975). */
struct ni_log_machine *ni_machine_new(void);

struct ni_found {
    unsigned row;
    const char *at;
};

/* Up to max of them, in the order of their ends. */
unsigned ni_machine_find(const struct ni_log_machine *m, const char *p, const char *end,
                         struct ni_found found[], unsigned max);

/* One line, without its end and without escape sequences. */
void ni_log_line(struct ni_log *log, const char *p, const char *end);

/* The number of the text; 0 when there is no room. */
ni_kept ni_log_keep(struct ni_log *log, struct ni_span s);

#endif
