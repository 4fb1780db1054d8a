/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of the findings about trials by libibverbs. */
#ifndef NCCL_INIT_FINDINGS_VERBS_H
#define NCCL_INIT_FINDINGS_VERBS_H

#include "nccl_init/findings.h"

enum {
    NI_F_VERBS_CONNECT = NI_FINDINGS_VERBS,
    NI_F_VERBS_DMABUF,
    NI_F_VERBS_GID,
    NI_F_VERBS_MEMLOCK,
    NI_F_VERBS_NONE,
    NI_F_VERBS_OPEN,
    NI_F_VERBS_PORT,
    NI_F_VERBS_PROCESS,
    NI_F_VERBS_PROTECTION,
    NI_F_VERBS_PROVIDER,
    NI_F_VERBS_RESOURCES,
    NI_F_VERBS_TRANSFER,
    NI_FINDINGS_VERBS_END
};

extern const struct ni_finding_kind ni_verbs_findings[];

#endif
