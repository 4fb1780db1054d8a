/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of the findings about the container: capabilities, limits, shared memory, host name,
   first process, image. */
#ifndef NCCL_INIT_FINDINGS_POD_H
#define NCCL_INIT_FINDINGS_POD_H

#include "nccl_init/findings.h"

enum {
    NI_F_CAPS_DROP_BOUNDING = NI_FINDINGS_POD,
    NI_F_CAPS_KEEP_MISSING,
    NI_F_EXEC_NO_ROOM,
    NI_F_EXEC_PID1_NO_INIT,
    NI_F_HOST_NAME_LOOPBACK,
    NI_F_IMAGE_ABI,
    NI_F_IMAGE_LOAD,
    NI_F_IMAGE_NCCL_FAILED,
    NI_F_IMAGE_NCCL_PLUGIN,
    NI_F_IMAGE_NCCL_SUMS,
    NI_F_IMAGE_NCCL_UNTRIED,
    NI_F_IMAGE_OPEN,
    NI_F_IMAGE_PROVIDER_MISSING,
    NI_F_IMAGE_UNTRIED,
    NI_F_IMAGE_VERBS_MISSING,
    NI_F_MEMLOCK_ELSEWHERE,
    NI_F_MEMLOCK_LOW,
    NI_F_MEMLOCK_TOO_LOW,
    NI_F_SHM_DEFAULT,
    NI_F_SHM_SMALL,
    NI_F_WAIT_OVER,
    NI_FINDINGS_POD_END
};

extern const struct ni_finding_kind ni_pod_findings[];

#endif
