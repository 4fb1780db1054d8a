/* SPDX-License-Identifier: Apache-2.0 */
/* The verb watch: do rails or sockets carry the job's data? */
#ifndef NCCL_INIT_WATCH_WATCH_H
#define NCCL_INIT_WATCH_WATCH_H

#include "cli/option.h"
#include "cli/program.h"

ni_verb_fn ni_cmd_watch;

struct ni_watch_options {
    unsigned seconds;       /* how long; 0: until a signal ends it */
    unsigned every_ms;      /* between two looks */
    const char *prometheus; /* file for metrics; "-": standard output; NULL: none */
};
extern struct ni_watch_options ni_watch_options;
extern const struct ni_option_rows ni_watch_rows;

#endif
