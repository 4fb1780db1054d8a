/* SPDX-License-Identifier: Apache-2.0 */
/* What each check of doctor saw: its title and the value, for people. */
#ifndef NCCL_INIT_DOCTOR_SEEN_H
#define NCCL_INIT_DOCTOR_SEEN_H

#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/text.h"
#include "print/words.h"

/* Returns how the node shares RDMA devices between network namespaces: "shared"; NULL: not known. */
const char *ni_netns_word(const struct ni_inventory *inv);
/* Returns the title of the check, "device nodes"; its id if there is none. */
const char *ni_check_title(const char *id);
/* Puts the value that the check saw, "4 of 4 open"; nothing if there is none. */
void ni_put_seen(struct ni_text *t, const char *id, const struct ni_view *view);
/* Returns the id of the check whose fact the finding is about; NULL: a rule or a prober found it. */
const char *ni_check_of_finding(ni_finding_number id);
/* Returns the title of a finding that is no check's: of its subject, by the first word of its id.
   Of a setting that an nccl.conf makes, and not the user's environment: "nccl.conf". */
const char *ni_finding_title(const struct ni_view *view, const struct ni_finding *f);

#endif
