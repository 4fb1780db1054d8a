/* SPDX-License-Identifier: Apache-2.0 */
/* What settings*.c share. */
#ifndef NCCL_INIT_TEST_SETTINGS_H
#define NCCL_INIT_TEST_SETTINGS_H

#include "cli/context.h"
#include "inject.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"

struct at {
    const struct truth *truth;
    const struct ni_plan *clean;
    const struct ni_context *ctx;
    bool without;
    struct ni_text *why;
};

/* ---- settings.c ---- */

/* The true port of the i-th that was chosen; -1. */
int chosen_port(const struct at *a, unsigned i);
/* A port of a device that only another allocation names. The truth holds no table of its. */
bool is_others(const struct at *a, int port);

/* ---- settings_gids.c ---- */

/* The entry of the port's true table; NULL: none in use. */
const struct ni_gid *gid_at(const struct truth *t, int port, unsigned index);
bool index_is_true(const struct at *a, const char *value);
/* The family and the range. With an index NCCL looks at neither; the family then only has to be that
   of the index. */
bool hint_is_true(const struct at *a);

#endif
