/* SPDX-License-Identifier: Apache-2.0 */
/* Findings about what people set: variables, options, nccl.conf, demands, interfaces. In the order
   of the ids, as in setting.h. */
#include "findings/setting.h"

#include "nccl_init/base.h"
#include "nccl_init/findings.h"

const struct ni_finding_kind ni_setting_findings[] = {
    {
        .number = NI_F_CONF_CRLF,
        .id = "conf.crlf",
        .cost = NI_COST_IGNORED,
        .user = "run `sed -i 's/\\r$//' FILE`.",
    },
    {
        .number = NI_F_CONF_FILE_OLD,
        .id = "conf.file.old",
        .cost = NI_COST_NOTHING,
        .note = "NCCL 2.23.4 and later read it.",
        .user = "with an older NCCL, mount the file as /etc/nccl.conf.",
    },
    {
        .number = NI_F_CONF_HOME_DIFFERS,
        .id = "conf.home.differs",
        .cost = NI_COST_IGNORED,
        .user = "set HOME to the home in /etc/passwd, or set NCCL_CONF_FILE (NCCL 2.23.4+).",
    },
    {
        .number = NI_F_CONF_NVSHMEM,
        .id = "conf.nvshmem",
        .cost = NI_COST_IGNORED,
        .user = "remove the line; NVSHMEM prefers the file to the environment.",
    },
    {
        .number = NI_F_CONF_UNREADABLE,
        .id = "conf.unreadable",
        .cost = NI_COST_IGNORED,
        .user = "make the file readable for the pod's user, or remove it; NCCL reads it too.",
    },
    {
        .number = NI_F_OPTION_INVALID,
        .id = "option.invalid",
        .cost = NI_COST_IGNORED,
        .note = "It is ignored.",
        .user = "`nccl-init VERB --help` lists variables and values.",
    },
    {
        .number = NI_F_REQUIRE_GDR,
        .id = "require.gdr",
        .cost = NI_COST_DEMAND,
        .user = "remove --gdr=off and request GPUs and HCAs on the same PCIe switch.",
        .admin = "load nvidia-peermem, or use the open GPU kernel modules (kernel 5.12 or later).",
    },
    {
        .number = NI_F_REQUIRE_GPUS,
        .id = "require.gpus",
        .cost = NI_COST_DEMAND,
        .user = "request GPUs (nvidia.com/gpu, amd.com/gpu).",
    },
    {
        .number = NI_F_REQUIRE_MEMLOCK,
        .id = "require.memlock",
        .cost = NI_COST_DEMAND,
        .user = "request SYS_RESOURCE and IPC_LOCK (chart job: memlock=caps).",
        .admin = "set memlock=-1:-1 in CRI-O's default_ulimits, or LimitMEMLOCK=infinity for "
                 "containerd.",
    },
    {
        .number = NI_F_REQUIRE_PREFLIGHT,
        .id = "require.preflight",
        .cost = NI_COST_DEMAND,
        .user = "read the findings that begin with `job.`; `nccl-init preflight` in all pods says "
                "more.",
    },
    {
        .number = NI_F_REQUIRE_RAILS,
        .id = "require.rails",
        .cost = NI_COST_DEMAND,
        .user = "request more RDMA devices; `nccl-init plan` shows why one was left out.",
    },
    {
        .number = NI_F_REQUIRE_RDMA,
        .id = "require.rdma",
        .cost = NI_COST_DEMAND,
        .user = "request an RDMA resource in the pod spec, or remove the demand (--require, "
                "--mode=rdma).",
    },
    {
        .number = NI_F_REQUIRE_ROCE_V2,
        .id = "require.roce-v2",
        .cost = NI_COST_DEMAND,
        .user = "give each interface an address.",
        .admin = "enable RoCE v2 (cma_roce_mode).",
    },
    {
        .number = NI_F_REQUIRE_SELFTEST,
        .id = "require.selftest",
        .cost = NI_COST_DEMAND,
        .user = "read the findings that begin with `verbs.`; `nccl-init selftest` shows each port.",
    },
    {
        .number = NI_F_REQUIRE_UNCLEAR,
        .id = "require.unclear",
        .cost = NI_COST_DEMAND,
        .user = "correct the variable in the pod spec or ConfigMap; `nccl-init run --help` lists "
                "names and values.",
    },
    {
        .number = NI_F_SOCKET_LEFT_OUT,
        .id = "socket.left-out",
        .cost = NI_COST_NOTHING,
        .user = "if every pod reaches the others through each of them, add --sockets=rails.",
    },
    {
        .number = NI_F_SOCKET_NONE,
        .id = "socket.none",
        .cost = NI_COST_FAILS,
        .note = "NCCL dies, or takes an address that no other node reaches.",
        .admin = "give the pod a network with a routable address, and bring its interface up.",
    },
    {
        .number = NI_F_SOCKET_UNUSABLE,
        .id = "socket.unusable",
        .cost = NI_COST_IGNORED,
        .user = "name interfaces that are up and have an address, or use --sockets=auto.",
    },
    {
        .number = NI_F_USER_CROSS_NIC,
        .id = "user.cross-nic.open",
        .cost = NI_COST_NOTHING,
        .note = "Nothing to do while the job connects.",
        .admin = "otherwise add routes between the rails.",
    },
    {
        .number = NI_F_USER_ENV_PLUGIN,
        .id = "user.env-plugin",
        .cost = NI_COST_IGNORED,
        .user = "set it to none, or use a plugin that also reads the environment.",
    },
    {
        .number = NI_F_USER_GDR_OFF,
        .id = "user.gdr-level.off",
        .cost = NI_COST_SLOWER,
        .user = "unset NCCL_NET_GDR_LEVEL, so that nccl-init chooses.",
    },
    {
        .number = NI_F_USER_GID_WRONG,
        .id = "user.gid-index.wrong",
        .cost = NI_COST_FAILS,
        .user = "unset NCCL_IB_GID_INDEX, NCCL_IB_ADDR_* and NCCL_IB_ROCE_VERSION_NUM, even empty "
                "ones.",
    },
    {
        .number = NI_F_USER_HCA_EXTRA,
        .id = "user.ib-hca.extra",
        .cost = NI_COST_SLOWER,
        .user = "unset NCCL_IB_HCA, or name only ports that `plan` shows as chosen.",
    },
    {
        .number = NI_F_USER_HCA_FOREIGN,
        .id = "user.ib-hca.foreign",
        .cost = NI_COST_MAY_FAIL,
        .user = "unset NCCL_IB_HCA, or name devices of this pod; use '=' for exact names.",
    },
    {
        .number = NI_F_USER_HCA_LEFT_OUT,
        .id = "user.ib-hca.left-out",
        .cost = NI_COST_FAILS,
        .user = "unset NCCL_IB_HCA, or name only ports that `plan` shows as chosen.",
    },
    {
        .number = NI_F_USER_HCA_NONE,
        .id = "user.ib-hca.none",
        .cost = NI_COST_RDMA,
        .note = "NCCL uses TCP, and does not say so.",
        .user = "unset NCCL_IB_HCA, or name the pod's HCAs.",
    },
    {
        .number = NI_F_USER_HCA_PREFIX,
        .id = "user.ib-hca.prefix",
        .cost = NI_COST_MAY_FAIL,
        .user = "begin the list with '=': `=mlx5_1` is exact, `mlx5_1` is a prefix.",
    },
    {
        .number = NI_F_USER_NAME_MISSPELT,
        .id = "user.name.misspelt",
        .cost = NI_COST_IGNORED,
        .user = "correct the name in the pod spec or env file; until then it has no effect.",
    },
    {
        .number = NI_F_USER_NET_NONE,
        .id = "user.net.none",
        .cost = NI_COST_FAILS,
        .user = "unset NCCL_NET; NCCL then uses RDMA if it can, and otherwise TCP.",
    },
    {
        .number = NI_F_USER_NET_OTHER,
        .id = "user.net.other",
        .cost = NI_COST_NOTHING,
        .note = "Nothing to do: the plugin has its own settings.",
    },
    {
        .number = NI_F_USER_NICS_APART,
        .id = "user.nics.apart",
        .cost = NI_COST_FAILS,
        .user = "unset NCCL_NET_MERGE_LEVEL (or set it to PIX) and NCCL_NET_FORCE_MERGE.",
    },
    {
        .number = NI_F_USER_NICS_FUSED,
        .id = "user.nics.fused",
        .cost = NI_COST_SLOWER,
        .user = "unset NCCL_IB_MERGE_NICS, NCCL_NET_MERGE_LEVEL and NCCL_NET_FORCE_MERGE.",
    },
    {
        .number = NI_F_USER_SOCKET_FIRST,
        .id = "user.socket-ifname.first",
        .cost = NI_COST_MAY_FAIL,
        .user = "name the interface that reaches other nodes (NCCL_SOCKET_IFNAME==eth0).",
    },
    {
        .number = NI_F_USER_SOCKET_NONE,
        .id = "user.socket-ifname.none",
        .cost = NI_COST_FAILS,
        .user = "unset the variable, or name an interface of the pod that has an address.",
    },
    {
        .number = NI_F_USER_SOCKET_OTHERS,
        .id = "user.socket-ifname.others",
        .cost = NI_COST_MAY_FAIL,
        .user = "name only interfaces that reach other nodes (NCCL_SOCKET_IFNAME==eth0).",
    },
    {
        .number = NI_F_USER_TOPO_UNREADABLE,
        .id = "user.topo-file.unreadable",
        .cost = NI_COST_IGNORED,
        .user = "unset NCCL_TOPO_FILE, or mount the file into the pod.",
    },
    {
        .number = NI_F_USER_VALUE_EMPTY,
        .id = "user.value.empty",
        .cost = NI_COST_IGNORED,
        .user = "remove the variable, or give it a value; an empty one hides nccl-init's choice.",
    },
    {
        .number = NI_F_USER_VALUE_IGNORED,
        .id = "user.value.ignored",
        .cost = NI_COST_IGNORED,
        .user = "correct the value, or remove the variable.",
    },
};
_Static_assert(NI_COUNT(ni_setting_findings) == NI_FINDINGS_SETTING_END - NI_FINDINGS_SETTING,
               "one row for each");
