/* SPDX-License-Identifier: Apache-2.0 */
/* The report of a self-test: for people a line for each port, its fault, and the count; for
   programs JSON. */
#ifndef NCCL_INIT_SELFTEST_REPORT_H
#define NCCL_INIT_SELFTEST_REPORT_H

#include <stdbool.h>

#include "nccl_init/text.h"
#include "print/json_write.h"
#include "print/words.h"
#include "selftest/trials.h"

struct ni_gpu_trial;
struct ni_image_trial;
struct ni_nccl_trial;

/* The trials of a self-test; NULL: not tried. */
struct ni_selftest {
    const struct ni_trials *ports;
    const struct ni_image_trial *image;
    struct ni_gpu_trial *gpu;   /* on the heap */
    struct ni_nccl_trial *nccl; /* on the heap */
    bool bad;                   /* the exit status says so */
};

/* The first screen, and all. */
void ni_put_selftest_answer(struct ni_text *out, const struct ni_view *view,
                            const struct ni_selftest *all);
void ni_put_selftest(struct ni_text *out, const struct ni_view *view,
                     const struct ni_selftest *all);
void ni_put_selftest_json(struct ni_text *out, const struct ni_view *view,
                          const struct ni_selftest *all);
/* Puts how many ports were not tried, and why, after how many passed; nothing if all were tried. */
void ni_put_untried(struct ni_text *out, const struct ni_trials *all);
/* Members of an object: how long they took, how many passed, and an object for each trial. */
void ni_json_trials(struct ni_json *j, const struct ni_trials *all);

#endif
