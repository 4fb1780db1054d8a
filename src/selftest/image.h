/* SPDX-License-Identifier: Apache-2.0 */
/* The trial `image`: do the image's libibverbs and its providers drive the chosen HCAs? */
#ifndef NCCL_INIT_SELFTEST_IMAGE_H
#define NCCL_INIT_SELFTEST_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/context.h"
#include "nccl_init/plan.h"
#include "nccl_init/text.h"
#include "nccl_init/tried.h"
#include "print/json_write.h"
#include "print/words.h"
#include "rules/decide.h"
#include "selftest/trials.h"
#include "system/helper.h"

enum ni_image_verdict { NI_IMAGE_UNTRIED, NI_IMAGE_FAILED, NI_IMAGE_PASSED };

struct ni_image_trial {
    unsigned n, passed;     /* HCAs */
    int hca[NI_MAX_CHOSEN]; /* in the inventory */
    enum ni_image_verdict verdict[NI_MAX_CHOSEN];
    char step[NI_MAX_CHOSEN][16]; /* the step that failed, "open"; "" */
    /* why an HCA was not tried, the first of them; "": all were */
    char untried[NI_REASON];
    char library[NI_TRIED_TEXT]; /* the image's libibverbs; "": unknown */
    int64_t took_ms;
    int64_t memlock; /* soft RLIMIT_MEMLOCK of the helper; -1: unknown */
};

/* Lists the HCAs of the chosen ports. ret must be zeroed. */
void ni_plan_image(const struct ni_work *w, struct ni_image_trial *ret);
/* Judges how the helper ended and what it said: a finding for each HCA that the image cannot drive,
   one for those that were not tried. ports: the trials of the same ports by this program's own
   libibverbs; NULL: none. */
void ni_judge_image(const struct ni_work *w, const struct ni_helper_result *run,
                    const struct ni_trials *ports, struct ni_image_trial *all);
/* Runs the helper on the HCAs for limit_ms at most, and judges. The trial lasts as long as the process. */
const struct ni_image_trial *ni_try_image(struct ni_context *ctx, const struct ni_trials *ports,
                                          int64_t limit_ms);

/* Returns whether the image drives all HCAs, for a verdict; *how: how many. */
bool ni_image_passes(const struct ni_image_trial *all, struct ni_text *how);
/* Puts the library, and a row for each HCA. */
void ni_put_image_trial(struct ni_text *out, const struct ni_view *view,
                        const struct ni_image_trial *all);
/* Writes the object "image". */
void ni_json_image_trial(struct ni_json *j, const struct ni_view *view,
                         const struct ni_image_trial *all);

#endif
