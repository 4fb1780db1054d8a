/* SPDX-License-Identifier: Apache-2.0 */
/* Findings about the pods of a job beside each other. In the order of the ids, as in job.h. */
#include "findings/job.h"

#include "findings/commands.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"

const struct ni_finding_kind ni_job_findings[] = {
    {
        .number = NI_F_JOB_CPU_DIFFERS,
        .id = "job.cpu.differs",
        .cost = NI_COST_MAY_FAIL,
        .user = "run the job on one kind of CPU. NCCL tunes itself by the CPU, and with two kinds "
                "it may hang.",
    },
    {
        .number = NI_F_JOB_GID_SAME,
        .id = "job.gid.same",
        .cost = NI_COST_FAILS,
        .admin = "check the IPAM of the rail's network, and give each pod an address of its own.",
    },
    {
        .number = NI_F_JOB_GPUS_DIFFER,
        .id = "job.gpus.differ",
        .cost = NI_COST_MAY_FAIL,
        .user = "request the same number of GPUs in all pods; otherwise NCCL may hang.",
    },
    {
        .number = NI_F_JOB_HOSTID_SAME,
        .id = "job.hostid.same",
        .cost = NI_COST_FAILS,
        .user = "leave NCCL_HOSTID unset, or give each node its own value.",
    },
    {
        .number = NI_F_JOB_KEY_HOST,
        .id = "job.key.host",
        .cost = NI_COST_MAY_FAIL,
        .user = "give all pods of the job one key that no other job has (--job=KEY), or one "
                "secret (--job-secret=FILE).",
    },
    {
        .number = NI_F_JOB_KEY_NAME,
        .id = "job.key.name",
        .cost = NI_COST_NOTHING,
        .user = "to keep pods of other attempts out, give all pods one key: --job=KEY.",
    },
    {
        .number = NI_F_JOB_LINK_DIFFERS,
        .id = "job.link.differs",
        .cost = NI_COST_FAILS,
        .admin_first = true,
        .admin = "give the rail one link layer, RoCE v2 and one kind of address.",
        .user = "set NCCL_IB_ROCE_VERSION_NUM and NCCL_IB_ADDR_FAMILY to the same value in all "
                "pods, or leave the rail out (--hcas).",
    },
    {
        .number = NI_F_JOB_MISSING,
        .id = "job.missing",
        .cost = NI_COST_FAILS,
        .user = "check whether these pods are pending or restarting; "
                "if they still pull their image, wait longer (--within=SECONDS). A NetworkPolicy "
                "must let them reach pod 0 on the port of preflight.",
        .command = NI_GET_PODS,
    },
    {
        .number = NI_F_JOB_MTU_DIFFERS,
        .id = "job.mtu.differs",
        .cost = NI_COST_MAY_FAIL,
        .admin =
            "set the same MTU on all interfaces of the rail, and on the switch at least as much.",
    },
    {
        .number = NI_F_JOB_NEIGHBOUR_WRONG,
        .id = "job.neighbour.wrong",
        .cost = NI_COST_FAILS,
        .admin = "find the device with that MAC address: it uses the pod's address, too. "
                 "Otherwise remove the wrong neighbour entry (`ip neigh`).",
    },
    {
        .number = NI_F_JOB_PACKETS_RESENT,
        .id = "job.packets.resent",
        .cost = NI_COST_SLOWER,
        .admin = "check flow control (PFC, ECN) on the switches between these pods, and the error "
                 "counters of their ports.",
    },
    {
        .number = NI_F_JOB_PATH_BROKEN,
        .id = "job.path.broken",
        .cost = NI_COST_FAILS,
        .admin = "check the rate, lanes and error counters of the uplinks of the leaf that the "
                 "message names, or of the leaves of both nodes; take the bad link out.",
    },
    {
        .number = NI_F_JOB_PATH_FAILED,
        .id = "job.path.failed",
        .cost = NI_COST_FAILS,
        .admin = "check the switches, routes and filters between them.",
    },
    {
        .number = NI_F_JOB_PATH_SLOW,
        .id = "job.path.slow",
        .cost = NI_COST_DEMAND,
        .admin = "check the rate, lanes and error counters of the uplinks of the leaf that the "
                 "message names, or of the leaves of both nodes; take the bad link out.",
    },
    {
        .number = NI_F_JOB_PATH_UNSTEADY,
        .id = "job.path.unsteady",
        .cost = NI_COST_MAY_FAIL,
        .admin = "check the error counters of the uplinks; one of several links may lose packets.",
    },
    {
        .number = NI_F_JOB_PKEY_DIFFERS,
        .id = "job.pkey.differs",
        .cost = NI_COST_FAILS,
        .admin_first = true,
        .admin = "make all ports of the rail full members of one partition.",
        .user = "set NCCL_IB_PKEY, an index, in each pod so that all pods use the same P_Key.",
    },
    {
        .number = NI_F_JOB_POD_LOST,
        .id = "job.pod.lost",
        .cost = NI_COST_FAILS,
        .user = "check the pod's log, `kubectl describe pod` and the node's memory.",
        .command = NI_GET_PODS,
    },
    {
        .number = NI_F_JOB_POD_SLOW,
        .id = "job.pod.slow",
        .cost = NI_COST_DEMAND,
        .user = "give the pod more processors, or remove their limit (resources.limits.cpu). Look "
                "what else runs on its node.",
    },
    {
        .number = NI_F_JOB_RAIL_ALL,
        .id = "job.rail.all",
        .cost = NI_COST_FAILS,
        .admin = "check what all pods share on this rail: its switch, VLAN, routes and filters. "
                 "RoCE needs UDP port 4791.",
    },
    {
        .number = NI_F_JOB_RAIL_FAILED,
        .id = "job.rail.failed",
        .cost = NI_COST_FAILS,
        .admin_first = true,
        .admin = "check the port, cable, switch port, VLAN and filters.",
        .user = "keep the job off this node, or leave the rail out in all pods (--hcas).",
    },
    {
        .number = NI_F_JOB_RAIL_LOSSY,
        .id = "job.rail.lossy",
        .cost = NI_COST_FAILS,
        .admin_first = true,
        .admin = "check the cable, transceiver and error counters of the port and its switch port.",
        .user = "keep the job off this node, or leave the rail out in all pods (--hcas).",
    },
    {
        .number = NI_F_JOB_RAIL_SLOW,
        .id = "job.rail.slow",
        .cost = NI_COST_DEMAND,
        .admin_first = true,
        .admin = "check the port's speed, PCIe link, cable and switch port.",
        .user = "keep the job off this node; the slowest rail sets the pace.",
    },
    {
        .number = NI_F_JOB_RAIL_UNTRIED,
        .id = "job.rail.untried",
        .cost = NI_COST_IGNORED,
        .user = "run `nccl-init selftest` in the pod; it says more about the port.",
        .command = "Run: nccl-init selftest",
    },
    {
        .number = NI_F_JOB_RAILS_CROSSED,
        .id = "job.rails.crossed",
        .cost = NI_COST_FAILS,
        .admin = "check the cables and the networks of these ports; each rail number must be one "
                 "network in all pods.",
    },
    {
        .number = NI_F_JOB_RAILS_DIFFER,
        .id = "job.rails.differ",
        .cost = NI_COST_FAILS,
        .user = "request the same RDMA devices in all pods, and run `nccl-init doctor` in them.",
        .command = "Run: nccl-init doctor",
    },
    {
        .number = NI_F_JOB_RANK_TWICE,
        .id = "job.rank.twice",
        .cost = NI_COST_FAILS,
        .user = "give each pod a rank of its own; look for a pod of an earlier attempt.",
        .command = NI_GET_PODS,
    },
    {
        .number = NI_F_JOB_RATE_DIFFERS,
        .id = "job.rate.differs",
        .cost = NI_COST_SLOWER,
        .admin = "check the port's speed and cable; all rails become as slow as this one.",
        .command = "Run: nccl-init doctor",
    },
    {
        .number = NI_F_JOB_RATE_LOW,
        .id = "job.rate.low",
        .cost = NI_COST_SLOWER,
        .admin = "all rails are equally slow; check the PCIe slots (a 400 Gb/s port needs Gen5 "
                 "x16), flow control and other jobs on the fabric.",
        .command = "Run: nccl-init doctor",
    },
    {
        .number = NI_F_JOB_RDMA_NONE,
        .id = "job.rdma.none",
        .cost = NI_COST_SLOWER,
        .user = "request an RDMA resource in the pod spec. If TCP is meant, add --mode=tcp.",
        .command = "Run: nccl-init doctor",
    },
    {
        .number = NI_F_JOB_REFUSED,
        .id = "job.refused",
        .cost = NI_COST_NOTHING,
        .user = "give all pods of the job one image, one --ranks, one key (--job) and one secret "
                "or none (--job-secret).",
        .command = NI_GET_PODS,
    },
    {
        .number = NI_F_JOB_SETTING_DIFFERS,
        .id = "job.setting.differs",
        .cost = NI_COST_FAILS,
        .user = "set it to the same value in all pods; otherwise NCCL fails or hangs.",
    },
    {
        .number = NI_F_JOB_SETTING_SLOWS,
        .id = "job.setting.slows",
        .cost = NI_COST_SLOWER,
        .user = "set it to the same value in all pods; otherwise all of them are slower.",
    },
    {
        .number = NI_F_JOB_SOFTWARE_DIFFERS,
        .id = "job.software.differs",
        .cost = NI_COST_MAY_FAIL,
        .user = "run the same image in all pods.",
        .admin = "install one GPU driver and one firmware on all nodes.",
    },
    {
        .number = NI_F_JOB_SUBNET_DIFFERS,
        .id = "job.subnet.differs",
        .cost = NI_COST_MAY_FAIL,
        .admin = "give the rail one subnet, or routes between its subnets; check whether two "
                 "rails are swapped.",
    },
    {
        .number = NI_F_JOB_TRANSPORT_DIFFERS,
        .id = "job.transport.differs",
        .cost = NI_COST_FAILS,
        .user = "give all pods the same RDMA devices, NCCL_NET, NCCL_IB_DISABLE and "
                "NCCLINIT_MODE; with IB in one pod and sockets in another NCCL fails or hangs.",
    },
};
_Static_assert(NI_COUNT(ni_job_findings) == NI_FINDINGS_JOB_END - NI_FINDINGS_JOB,
               "one row for each");
