/* SPDX-License-Identifier: Apache-2.0 */
/* The word that somebody meant who wrote another one. */
#include <ctype.h>
#include <string.h>

#include "nccl_init/guess.h"
#include "nccl_init/text.h"

enum { PREFIX = 3 }; /* letters that are enough to begin a word */

struct ni_guess ni_guess_of(struct ni_span word)
{
    unsigned slips = 3;

    if (word.n <= 4)
        slips = 1;
    else if (word.n <= 8)
        slips = 2;
    return (struct ni_guess){.word = word, .edits = word.n <= NI_EDITS_NAME ? slips + 1 : 0};
}

/* Copies the word in lower case; it has at most NI_EDITS_NAME letters. */
static struct ni_span lower(struct ni_span word, char buf[NI_EDITS_NAME])
{
    for (size_t i = 0; i < word.n; i++)
        buf[i] = (char)tolower((unsigned char)word.p[i]);
    return (struct ni_span){buf, word.n};
}

/* Returns true if two neighbours that changed places make one word of the other. */
static bool is_swapped(struct ni_span a, struct ni_span b)
{
    size_t i = 0;

    if (a.n != b.n)
        return false;
    while (i < a.n && a.p[i] == b.p[i])
        i++;
    return i + 1 < a.n && a.p[i] == b.p[i + 1] && a.p[i + 1] == b.p[i] &&
           memcmp(a.p + i + 2, b.p + i + 2, a.n - i - 2) == 0;
}

static unsigned count_slips(struct ni_span word, struct ni_span known)
{
    const bool begins =
        word.n >= PREFIX && word.n < known.n && memcmp(word.p, known.p, word.n) == 0;

    return begins || is_swapped(word, known) ? 1 : ni_edits(word, known);
}

void ni_guess_try(struct ni_guess *guess, struct ni_span known)
{
    char a[NI_EDITS_NAME], b[NI_EDITS_NAME];

    if (guess->edits == 0 || guess->word.n == 0 || known.n > NI_EDITS_NAME)
        return;
    const unsigned slips = count_slips(lower(guess->word, a), lower(known, b));
    if (slips >= guess->edits || slips >= known.n)
        return;
    guess->best = known;
    guess->edits = slips;
}

void ni_put_guess(struct ni_text *t, const struct ni_guess *guess, const char *before)
{
    if (guess->best.n > 0)
        ni_putf(t, "; did you mean `%s%.*s`?", before, (int)guess->best.n, guess->best.p);
}
