/* SPDX-License-Identifier: Apache-2.0 */
/* Files in a masked recording: */
#ifndef NCCL_INIT_PLAN_KEEP_H
#define NCCL_INIT_PLAN_KEEP_H

#include <stdint.h>

#include "cli/program.h"
#include "nccl_init/base.h"
#include "nccl_init/text.h"
#include "sysroot/record.h"

struct ni_mask;

/* Facts of the whole recording that forms depend on. */
struct ni_keep_facts {
    const struct ni_program *program; /* whose options variables may name */
    const char *network_status; /* a variable of the user's that is set; NULL: the usual one */
    char exe[NI_PATH];          /* path of this program: its mount counts; "": not known */
    char host[NI_DEV_NAME + 1]; /* name of this machine; "": not known */
};

/* Puts what may be recorded of a text of that form. What has another form is put as something that readers
   refuse as they refuse the text itself. */
typedef void ni_form_fn(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                        struct ni_text *ret);

ni_keep_fn ni_keep_file;

#endif
