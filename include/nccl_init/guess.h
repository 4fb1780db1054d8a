/* SPDX-License-Identifier: Apache-2.0 */
/* The word that somebody meant who wrote another one. */
#ifndef NCCL_INIT_GUESS_H
#define NCCL_INIT_GUESS_H

#include "nccl_init/text.h"

/* A word that is none of the known ones, and the nearest of these so far. */
struct ni_guess {
    struct ni_span word;
    struct ni_span best; /* what ni_guess_try was given; n is 0: none is near */
    unsigned edits;      /* best has fewer slips than so many */
};

struct ni_guess ni_guess_of(struct ni_span word);
/* Compares a known word, whose bytes are kept. Case does not count. A swap of two neighbours is one
   slip; so is an end that is missing, of three letters or more. One slip in four letters is near,
   two in eight, three in more. Of two that are as near the first one counts. */
void ni_guess_try(struct ni_guess *guess, struct ni_span known);
/* Puts "; did you mean `--mode`?", or nothing. before: what stands before the word, "--". */
void ni_put_guess(struct ni_text *t, const struct ni_guess *guess, const char *before);

#endif
