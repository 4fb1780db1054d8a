/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the catalogue (nccl_init/findings.h): what only the verb run reports. */
#ifndef NCCL_INIT_RUN_FINDINGS_H
#define NCCL_INIT_RUN_FINDINGS_H

#define NI_RUN_FINDINGS(X)                                                                       \
    X(EXEC_NO_ROOM, "exec.no-room", NI_ERROR,                                                    \
      "The command starts without them, unless --require or a short form of it is given. User: " \
      "pass large values as files, or raise the stack limit (ulimit -s).")

#endif
