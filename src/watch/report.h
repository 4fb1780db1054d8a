/* SPDX-License-Identifier: Apache-2.0 */
/* What was watched: for people, as JSON, and in Prometheus' text format. */
#ifndef NCCL_INIT_WATCH_REPORT_H
#define NCCL_INIT_WATCH_REPORT_H

#include "nccl_init/inventory.h"
#include "nccl_init/text.h"
#include "print/words.h"
#include "watch/judge.h"

/* Puts tables of rails and interfaces, what grew and changed, and the sentence. */
void ni_put_watch(struct ni_text *out, const struct ni_view *view, const struct ni_watch *w);
/* Puts one JSON object. */
void ni_put_watch_json(struct ni_text *out, const struct ni_view *view, const struct ni_watch *w);
/* Puts metrics; time: Unix time. Counters are as the drivers have them, so that rate() works over
   several runs. */
void ni_put_watch_metrics(struct ni_text *out, const struct ni_inventory *inv,
                          const struct ni_watch *w, int64_t time);
/* Puts one line about the last two looks, `w` has only these: a rate of each rail, and of the
   interface that carries most. */
void ni_put_watch_line(struct ni_text *out, const struct ni_inventory *inv,
                       const struct ni_watch *w);

#endif
