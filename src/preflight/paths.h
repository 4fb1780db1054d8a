/* SPDX-License-Identifier: Apache-2.0 */
/* Paths: each queue pair of a pair of pods is judged by itself. */
#ifndef NCCL_INIT_PREFLIGHT_PATHS_H
#define NCCL_INIT_PREFLIGHT_PATHS_H

#include <stdbool.h>

#include "preflight/job.h"
#include "rail/step.h"

enum {
    NI_PATH_NAMES = 2,  /* leaves that are named, at most */
    NI_MANY_RESENT = 10 /* packets sent again; fewer may come from a link that has just come up */
};

/* What bad pairs of a rail have in common. */
struct ni_path_names {
    unsigned bad;     /* pairs of pods */
    unsigned touched; /* of these, how many have an end at the leaf that most of them touch */
    unsigned n;       /* such leaves; more than NI_PATH_NAMES: too many to name. 0: none is known */
    const char *leaf[NI_PATH_NAMES];
};

/* Marks suspects among the results from job->since on, which are those of the last round with new
   queue pairs: what failed, was late, or was slow beside the median of its round. */
void ni_find_suspects(struct ni_job *job);
/* Two kinds of suspects: those that were slow, and those that failed or were late. */
enum ni_suspects { NI_SUSPECTS_SLOW, NI_SUSPECTS_FAILED };
/* Returns that rail's pair with the worst suspect of that kind. Its pods are there, and free in the
   next round. NULL: there is none. */
const struct ni_pair_result *ni_worst_suspect(const struct ni_job *job, unsigned rail,
                                              enum ni_suspects kind);
/* Returns true if none of its queue pairs is suspected or bad, and all came to the end. */
bool ni_is_good_pair(const struct ni_pair_result *x);
/* Returns the queue pairs with which a suspected pair is tried again, as bits: its suspects of that
   kind, and one queue pair that was good. */
unsigned ni_queues_again(const struct ni_pair_result *x, enum ni_suspects kind,
                         uint8_t *ret_control);
/* Judges what the last round tried again. */
void ni_settle_paths(struct ni_job *job);

/* Returns true if one of the paths of the pair is bad, and neither port is. */
bool ni_is_bad_path(const struct ni_job *job, const struct ni_pair_result *x);
/* Gives NI_RAIL_PATH to the rails at both ends of each bad path, where their verdict is good. */
void ni_mark_path_ends(struct ni_job *job);
/* Returns the number of such pairs of the rail among the results from `since` on. */
unsigned ni_count_bad_paths(const struct ni_job *job, unsigned rail, unsigned since);
/* Returns true if the pair failed for good, and neither end is to blame alone. */
bool ni_is_failed_path(const struct ni_job *job, const struct ni_pair_result *x);
typedef bool ni_pair_is(const struct ni_job *job, const struct ni_pair_result *x);
/* Finds what the pairs of a rail have in common of which `is` holds. */
struct ni_path_names ni_name_paths(const struct ni_job *job, unsigned rail, ni_pair_is *is);

#endif
