/* SPDX-License-Identifier: Apache-2.0 */
/* The verb log: it reads what NCCL printed and says what NCCL did. */
#ifndef NCCL_INIT_LOG_LOG_H
#define NCCL_INIT_LOG_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/option.h"
#include "cli/program.h"

ni_verb_fn ni_cmd_log;

/* In the order of the words of --expect. */
enum ni_expect { NI_EXPECT_NOTHING, NI_EXPECT_RDMA, NI_EXPECT_GDR };
struct ni_log_options {
    enum ni_expect expect;
    const char *plan; /* file; NULL: none */
};
extern struct ni_log_options ni_log_options;
extern const struct ni_option_rows ni_log_rows;

#endif
