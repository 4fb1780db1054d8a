/* SPDX-License-Identifier: Apache-2.0 */
/* The tally: the results of each rail, and the verdict on it. */
#ifndef NCCL_INIT_PREFLIGHT_TALLY_H
#define NCCL_INIT_PREFLIGHT_TALLY_H

#include <stdbool.h>
#include <stdint.h>

#include "preflight/job.h"
#include "rail/step.h"

enum { NI_JOB_PARTS = 10000000 /* parts of a rate */ };

/* The roles that a rail has in the next round, as bits. */
enum ni_busy { NI_SENDS = 1, NI_RECEIVES = 2 };

typedef bool ni_rail_is(const struct ni_job *job, unsigned rank, unsigned rail);

/* Fills job->tally and median. */
void ni_tally(struct ni_job *job);
/* The two ways of data between the ends of a pair. */
enum ni_way { NI_WRITES, NI_READS };
/* Returns a speed as a share of what the pair can reach: the rate of the slower end; or less, where
   what its queue pairs have in flight at once is less than that in a round trip. queues: how many
   of them moved. 0 if the rate is not known. */
int64_t ni_share_of_rate(const struct ni_pair_result *x, int64_t mbps, enum ni_way way,
                         unsigned queues);
/* Returns how many queue pairs of the pair moved at once. */
unsigned ni_moved_at_once(const struct ni_pair_result *x);

/* How many measurements are above a value, and how many others there are. */
struct ni_around {
    unsigned below, above;
};
typedef void ni_count_around(const void *of, int64_t middle, struct ni_around *ret);
/* Returns the median of what `count` counts, INT32_MAX if it counts nothing: of an even number the
   upper one, for if one of two ends is slow, the other is the measure. It is found by bisection,
   because there is no room to sort in. */
int64_t ni_median(ni_count_around *count, const void *of);
/* Returns the percentage of the median in the slower direction. */
int64_t ni_least_percent(const struct ni_rail_tally *t);
ni_rail_is ni_takes_part;
/* Returns true if the rail failed or was slow with all its partners. */
ni_rail_is ni_is_bad_port;
/* Returns the number of pods whose rail of that number satisfies `is`. */
unsigned ni_count_rails(const struct ni_job *job, unsigned rail, ni_rail_is *is);

/* Returns the rate of the slower end in Mb/s; 0 if one is not known. */
int64_t ni_pair_rate(const struct ni_job *job, const struct ni_pair *pair);
/* Returns true if both pods are there, and the rails have not these roles in the next round yet. */
bool ni_is_free(const struct ni_job *job, const struct ni_pair *pair);
/* Returns true if the pair passed when it was tried again with new queue pairs. */
bool ni_passed_again(const struct ni_job *job, const struct ni_pair *pair);
/* Returns true if the failure certainly belongs to one end. */
bool ni_is_own(const struct ni_pair_result *x);

#endif
