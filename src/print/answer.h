/* SPDX-License-Identifier: Apache-2.0 */
/* The first screen, which each verb shows without --all: the answer first, the worst findings each
   with a command to paste, and the answer again as the last line. */
#ifndef NCCL_INIT_PRINT_ANSWER_H
#define NCCL_INIT_PRINT_ANSWER_H

#include "nccl_init/text.h"
#include "print/layout.h"
#include "print/words.h"

struct ni_answer {
    const char *verdict;            /* untrusted, one line */
    enum ni_tint tint;              /* of the verdict */
    const struct ni_finding *first; /* one of the findings, which stands first; NULL: the worst */
    const char *above;              /* lines between the verdict and the findings; "" */
    const char *below;              /* lines behind the findings; "" */
    const char *node;               /* the command that checks the node: "nccl-init doctor"; NULL */
    /* the command that shows all: "nccl-init log --all"; NULL: it cannot be said. Both take the
       options of this call. */
    const char *all;
};

/* Puts the screen. No error is left out, whatever the number of rows. */
void ni_put_answer(struct ni_text *out, const struct ni_view *view, const struct ni_answer *answer);

#endif
