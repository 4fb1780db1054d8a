/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that several findings have: those to paste, and the trial. */
#ifndef NCCL_INIT_FINDINGS_COMMANDS_H
#define NCCL_INIT_FINDINGS_COMMANDS_H

#define NI_GET_PODS \
    "Run: kubectl get pods --namespace={namespace} -o wide\nRun: kubectl get pods -o wide"
#define NI_GDR_TRIAL "`nccl-init selftest --try=gpu` tries GPUDirect RDMA in the pod."

#endif
