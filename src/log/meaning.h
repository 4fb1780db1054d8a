/* SPDX-License-Identifier: Apache-2.0 */
/* Meanings: what an exception or an error of a program says whose own words do not. */
#ifndef NCCL_INIT_LOG_MEANING_H
#define NCCL_INIT_LOG_MEANING_H

#include <stdbool.h>

#include "nccl_init/findings.h"

struct ni_log_meaning {
    const char *words;       /* of the text */
    const char *cause;       /* a sentence without a full stop */
    const char *user;        /* what the user does; NULL: what the finding says */
    const char *admin;       /* what the cluster admin does; NULL: nothing */
    ni_finding_number about; /* a finding that says it better than log.error; NI_F_NONE: none */
    bool is_own;             /* of any error of the program's own: two such need not be the same */
};

/* Returns the meaning of an exception or an error, by its text. Its cause is NULL if its words tell
   all that is known. */
struct ni_log_meaning ni_log_meaning(const char *text);

/* Returns the finding about such an exception: that the GPU has failed, or the program. */
ni_finding_number ni_log_exception_id(const char *exception);

/* Gives the finding this advice in place of the catalogue's, and no command of it; nothing if there is
   none. f: may be NULL. */
void ni_log_advise(struct ni_finding *f, const char *user, const char *admin);

#endif
