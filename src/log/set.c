/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of ranks. */
#include "log/set.h"

#include "nccl_init/text.h"

void ni_log_set_add(struct ni_log_set *set, int number)
{
    if (number < 0 || number >= NI_LOG_RANKS || ni_log_set_has(set, number))
        return;
    set->bits[number / 64] |= UINT64_C(1) << (number % 64);
    set->n++;
    set->end = number >= set->end ? number + 1 : set->end;
}

bool ni_log_set_has(const struct ni_log_set *set, int number)
{
    if (number < 0 || number >= set->end)
        return false;
    return (set->bits[number / 64] & UINT64_C(1) << (number % 64)) != 0;
}

void ni_log_set_invert(struct ni_log_set *set, int end)
{
    int above = 0;

    for (int number = 0; number < end; number++) {
        set->bits[number / 64] ^= UINT64_C(1) << (number % 64);
        if ((set->bits[number / 64] & UINT64_C(1) << (number % 64)) != 0)
            above = number + 1;
    }
    set->n = (unsigned)end - set->n;
    set->end = above;
}

void ni_log_put_range(struct ni_text *t, int from, int last)
{
    if (from >= 0)
        ni_putf(t, "%s%d", t->len > 0 ? ", " : "", from);
    if (last > from)
        ni_putf(t, "%s%d", last > from + 1 ? "-" : ", ", last);
}

/* Puts the numbers below `end` that are in the set, or those that are not. Returns how many. */
static unsigned put_numbers(struct ni_text *t, const struct ni_log_set *set, int end, bool in)
{
    unsigned n = 0;
    int from = -1;

    for (int number = 0; number <= end; number++) {
        const bool wanted = number < end && ni_log_set_has(set, number) == in;

        n += wanted;
        if (wanted && from < 0)
            from = number;
        if (!wanted && from >= 0) {
            ni_log_put_range(t, from, number - 1);
            from = -1;
        }
    }
    return n;
}

void ni_log_set_put(struct ni_text *t, const struct ni_log_set *set)
{
    (void)put_numbers(t, set, set->end, true);
}

unsigned ni_log_set_put_rest(struct ni_text *t, const struct ni_log_set *set, int end)
{
    return put_numbers(t, set, end, false);
}
