/* SPDX-License-Identifier: Apache-2.0 */
/* The circle of a rail: in which order the pods are neighbours. */
#ifndef NCCL_INIT_PREFLIGHT_CIRCLE_H
#define NCCL_INIT_PREFLIGHT_CIRCLE_H

#include <stdbool.h>

#include "preflight/job.h"
#include "rail/step.h"

/* Fills job->circle with the ranks whose rail of that number takes part: pods of one leaf stand
   beside each other, in the order of their ranks. Where nothing tells the leaf, all stand in that
   order. Returns how many there are. */
unsigned ni_draw_circle(struct ni_job *job, unsigned rail);
/* Returns true if what is known of the two pods puts them at one leaf. */
bool ni_is_near(const struct ni_job *job, const struct ni_pair *pair);

#endif
