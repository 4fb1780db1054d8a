/* SPDX-License-Identifier: Apache-2.0 */
/* Findings about the container: capabilities, limits, shared memory, host name, first process,
   image. In the order of the ids, as in pod.h. */
#include "findings/pod.h"

#include "nccl_init/base.h"
#include "nccl_init/findings.h"

const struct ni_finding_kind ni_pod_findings[] = {
    {
        .number = NI_F_CAPS_DROP_BOUNDING,
        .id = "caps.drop.bounding",
        .cost = NI_COST_IGNORED,
        .user = "remove it from securityContext.capabilities, or add SETPCAP there.",
    },
    {
        .number = NI_F_CAPS_KEEP_MISSING,
        .id = "caps.keep.missing",
        .cost = NI_COST_MAY_FAIL,
        .user = "add it to securityContext.capabilities and remove it from --drop-caps. For "
                "CAP_IPC_LOCK without root, also run `setcap cap_ipc_lock=p nccl-init` in the "
                "image, and do not set no_new_privs.",
    },
    {
        .number = NI_F_EXEC_NO_ROOM,
        .id = "exec.no-room",
        .cost = NI_COST_DEMAND,
        .note = "The command starts without them, unless --require or a short form of it is given.",
        .user = "pass large values as files, or raise the stack limit (ulimit -s).",
    },
    {
        .number = NI_F_EXEC_PID1_NO_INIT,
        .id = "exec.pid1.no-init",
        .cost = NI_COST_NOTHING,
        .user = "start `tini -g -- nccl-init -- COMMAND` (docker: --init), or share the PID "
                "namespace.",
    },
    {
        .number = NI_F_HOST_NAME_LOOPBACK,
        .id = "host.name.loopback",
        .cost = NI_COST_MAY_FAIL,
        .user = "start the job with --for=nccl,gloo, which sets GLOO_SOCKET_IFNAME, or correct "
                "/etc/hosts (hostAliases).",
        .command = "In the pod: cat /etc/hosts",
    },
    {
        .number = NI_F_IMAGE_ABI,
        .id = "image.abi",
        .cost = NI_COST_RDMA,
        .user = "install an rdma-core in the image that fits the node's driver (`modinfo` and the "
                "NIC's release notes name it), or mount the node's libibverbs and providers.",
        .admin = "install the driver for which the image was made, if the image cannot change.",
        .command = "Run: nccl-init plan --all{root}",
    },
    {
        .number = NI_F_IMAGE_LOAD,
        .id = "image.load",
        .cost = NI_COST_RDMA,
        .user =
            "install libibverbs and its providers in the image (Debian, Ubuntu: libibverbs1 and "
            "ibverbs-providers; Fedora, RHEL: libibverbs), or mount the node's.",
        .command = "Run: nccl-init plan --all{root}",
    },
    {
        .number = NI_F_IMAGE_NCCL_FAILED,
        .id = "image.nccl.failed",
        .cost = NI_COST_FAILS,
        .user = "the message may name a finding as the cause: do what that one says. Otherwise run "
                "the command with NCCL_DEBUG=INFO, and `nccl-init log` on its output.",
    },
    {
        .number = NI_F_IMAGE_NCCL_PLUGIN,
        .id = "image.nccl.plugin",
        .cost = NI_COST_IGNORED,
        .user = "install the plugin in the image, correct NCCL_NET_PLUGIN, or unset it.",
    },
    {
        .number = NI_F_IMAGE_NCCL_SUMS,
        .id = "image.nccl.sums",
        .cost = NI_COST_FAILS,
        .note = "Start no job on this node: its results would be wrong.",
        .user = "try again with NCCL_NET_GDR_LEVEL=LOC. If the sums are right then, GPUDirect RDMA "
                "is at fault.",
        .admin = "check the GPU (`dcgmi diag`), ACS and IOMMU, and drain the node meanwhile.",
    },
    {
        .number = NI_F_IMAGE_NCCL_UNTRIED,
        .id = "image.nccl.untried",
        .cost = NI_COST_IGNORED,
        .user = "start the trial where the GPU is free, or with --busy; name a library by "
                "--nccl; put nccl-init-try of the same release beside nccl-init.",
    },
    {
        .number = NI_F_IMAGE_OPEN,
        .id = "image.open",
        .cost = NI_COST_RDMA,
        .user = "run `ibv_devinfo` of the image; if `nccl-init selftest` passes, install a newer "
                "rdma-core in the image, or mount the node's libibverbs and providers.",
        .command = "Run: nccl-init plan --all{root}",
    },
    {
        .number = NI_F_IMAGE_PROVIDER_MISSING,
        .id = "image.provider.missing",
        .cost = NI_COST_RDMA,
        .user =
            "install the package with the providers (Debian, Ubuntu: ibverbs-providers; Fedora, "
            "RHEL: libibverbs) in the image, from an rdma-core that knows this NIC, or mount the "
            "node's libibverbs and providers.",
        .command = "Run: nccl-init plan --all{root}",
    },
    {
        .number = NI_F_IMAGE_UNTRIED,
        .id = "image.untried",
        .cost = NI_COST_IGNORED,
        .user =
            "`ibv_devinfo` of the image tells whether its libibverbs opens the HCAs; if the image "
            "has none, install it (image.verbs.missing), or set LD_LIBRARY_PATH to where it is; "
            "put nccl-init-try of the same release beside nccl-init, as `nccl-init install` does.",
        .command = "Run: nccl-init plan --all{root}",
    },
    {
        .number = NI_F_IMAGE_VERBS_MISSING,
        .id = "image.verbs.missing",
        .cost = NI_COST_MAY_FAIL,
        .user =
            "install libibverbs and its providers in the image (Debian, Ubuntu: libibverbs1 and "
            "ibverbs-providers; Fedora, RHEL: libibverbs).",
        .command = "Run: nccl-init plan --all{root}",
    },
    {
        .number = NI_F_MEMLOCK_ELSEWHERE,
        .id = "memlock.elsewhere",
        .cost = NI_COST_MAY_FAIL,
        .note = "Nothing to do if the limit is high where the command runs, or the command has "
                "CAP_IPC_LOCK.",
        .admin = "otherwise raise the limit for all pods (memlock.low).",
        /* of the command: what the hook or nccl-init raised is not the limit of a shell beside it */
        .command = "In the pod: grep 'locked memory' /proc/1/limits",
    },
    {
        .number = NI_F_MEMLOCK_LOW,
        .id = "memlock.low",
        .cost = NI_COST_MAY_FAIL,
        .user = "give a container that runs as root SYS_RESOURCE or IPC_LOCK "
                "(securityContext.capabilities).",
        .admin = "set memlock=-1:-1 in CRI-O's default_ulimits, or LimitMEMLOCK=infinity for "
                 "containerd.",
        .command = "In the pod: ulimit -l",
    },
    {
        .number = NI_F_MEMLOCK_TOO_LOW,
        .id = "memlock.too-low",
        .cost = NI_COST_FAILS,
        .user = "give a container that runs as root SYS_RESOURCE or IPC_LOCK "
                "(securityContext.capabilities).",
        .admin = "set memlock=-1:-1 in CRI-O's default_ulimits, or LimitMEMLOCK=infinity for "
                 "containerd.",
        .command = "In the pod: ulimit -l",
    },
    {
        .number = NI_F_SHM_DEFAULT,
        .id = "shm.default",
        .cost = NI_COST_FAILS,
        .user = "mount an emptyDir with `medium: Memory` at /dev/shm (docker: --shm-size=1g).",
        .command = "In the pod: df -h /dev/shm",
    },
    {
        .number = NI_F_SHM_SMALL,
        .id = "shm.small",
        .cost = NI_COST_MAY_FAIL,
        .user = "give the emptyDir at /dev/shm 1 GiB or more (sizeLimit, or docker --shm-size).",
        .command = "In the pod: df -h /dev/shm",
    },
    {
        .number = NI_F_WAIT_OVER,
        .id = "wait.over",
        .cost = NI_COST_SLOWER,
        .user = "wait longer (--wait), or check the network attachment, IPAM and the link.",
        .command = "Run: nccl-init plan --wait=60{root}",
    },
};
_Static_assert(NI_COUNT(ni_pod_findings) == NI_FINDINGS_POD_END - NI_FINDINGS_POD,
               "one row for each");
