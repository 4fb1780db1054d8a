/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of a log, each kept once. */
#include "log/state.h"

#include <string.h>

#include "nccl_init/base.h"
#include "nccl_init/index.h"
#include "nccl_init/number.h"
#include "nccl_init/text.h"

static struct ni_span name_of_entry(const void *entries, uint32_t number)
{
    return ni_span_of(ni_log_word(entries, number));
}

/* Returns the index of the texts over the places that are in use. */
static struct ni_index index_of(struct ni_log *log)
{
    return (struct ni_index){log->word_at, log->places, log->seed};
}

/* Doubles the places of the hash table and enters all texts anew. A log of few texts touches few pages
   of it. */
static void grow_index(struct ni_log *log)
{
    log->places = log->places == 0 ? NI_LOG_PLACES : 2 * log->places;
    memset(log->word_at, 0, log->places * sizeof(log->word_at[0]));
    const struct ni_index index = index_of(log);

    for (uint32_t i = 1; i <= log->n_word; i++)
        *ni_index_find(&index, ni_span_of(ni_log_word(log, i)), name_of_entry, log) = i;
}

ni_log_text ni_log_keep(struct ni_log *log, struct ni_span s)
{
    uint32_t *place;

    if (log->seed == 0)
        log->seed = ni_seed();
    if (2 * (log->n_word + 1) > log->places && log->places < NI_COUNT(log->word_at))
        grow_index(log);
    const struct ni_index index = index_of(log);
    s.n = strnlen(s.p, s.n);
    place = ni_index_find(&index, s, name_of_entry, log);
    if (*place != 0)
        return *place;
    if (s.n == 0 || log->n_word + 1 >= NI_LOG_WORDS || s.n >= NI_LOG_BYTES - log->text_len) {
        log->dropped += s.n > 0;
        return 0;
    }
    log->word[++log->n_word] = log->text_len;
    memcpy(log->text + log->text_len, s.p, s.n);
    log->text_len += (uint32_t)s.n + 1;
    *place = log->n_word;
    return log->n_word;
}

int ni_log_pid(const struct ni_log *log, const struct ni_log_rank *process)
{
    const char *colon = strrchr(ni_log_word(log, process->name), ':');
    uint64_t pid = 0;

    if (!colon || ni_parse_u64(ni_span_of(colon + 1), INT32_MAX, &pid) < 0)
        return -1;
    return (int)pid;
}

const char *ni_log_word(const struct ni_log *log, ni_log_text w)
{
    return w == 0 ? "" : log->text + log->word[w];
}
