/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the catalogue (nccl_init/findings.h): what only preflight reports. */
#ifndef NCCL_INIT_PREFLIGHT_FINDINGS_H
#define NCCL_INIT_PREFLIGHT_FINDINGS_H

#define NI_PREFLIGHT_FINDINGS(X)                                                                  \
    X(JOB_GID_SAME, "job.gid.same", NI_ERROR,                                                     \
      "Cluster admin: check the IPAM of the rail's network, and give each pod an address of its " \
      "own.")                                                                                     \
    X(JOB_KEY_HOST, "job.key.host", NI_WARNING,                                                   \
      "User: give all pods of the job one key that no other job has (--job=KEY), or one secret "  \
      "(--job-secret=FILE).")                                                                     \
    X(JOB_KEY_NAME, "job.key.name", NI_INFO,                                                      \
      "User: to keep pods of other attempts out, give all pods one key: --job=KEY.")              \
    X(JOB_LINK_DIFFERS, "job.link.differs", NI_ERROR,                                             \
      "Cluster admin: give the rail one link layer, RoCE v2 and one kind of address. User: set "  \
      "NCCL_IB_ROCE_VERSION_NUM and NCCL_IB_ADDR_FAMILY to the same value in all pods, or leave " \
      "the rail out (--hcas).")                                                                   \
    X(JOB_MISSING, "job.missing", NI_ERROR,                                                       \
      "User: check whether these pods are pending or restarting (`kubectl get pods -o wide`). A " \
      "NetworkPolicy must let them reach pod 0 on the port of preflight.")                        \
    X(JOB_MTU_DIFFERS, "job.mtu.differs", NI_WARNING,                                             \
      "Cluster admin: set one MTU on all interfaces of the rail, and at least that on the "       \
      "switch.")                                                                                  \
    X(JOB_NEIGHBOUR_WRONG, "job.neighbour.wrong", NI_ERROR,                                       \
      "Cluster admin: find the device with that MAC address: it uses the pod's "                  \
      "address, too. Otherwise remove the wrong neighbour entry (`ip neigh`).")                   \
    X(JOB_PACKETS_RESENT, "job.packets.resent", NI_WARNING,                                       \
      "Cluster admin: check flow control (PFC, ECN) on the switches between these pods, and the " \
      "error counters of their ports.")                                                           \
    X(JOB_PATH_BROKEN, "job.path.broken", NI_ERROR,                                               \
      "Cluster admin: check the rate, lanes and error counters of the uplinks of the "            \
      "leaf that the message names, or of the leaves of both nodes; take the bad link "           \
      "out.")                                                                                     \
    X(JOB_PATH_FAILED, "job.path.failed", NI_ERROR,                                               \
      "Cluster admin: check the switches, routes and filters between them.")                      \
    X(JOB_PATH_SLOW, "job.path.slow", NI_ERROR,                                                   \
      "Cluster admin: check the rate, lanes and error counters of the uplinks of the "            \
      "leaf that the message names, or of the leaves of both nodes; take the bad link "           \
      "out.")                                                                                     \
    X(JOB_PATH_UNSTEADY, "job.path.unsteady", NI_WARNING,                                         \
      "Cluster admin: check the error counters of the uplinks; one of several links "             \
      "may lose packets.")                                                                        \
    X(JOB_PKEY_DIFFERS, "job.pkey.differs", NI_ERROR,                                             \
      "Cluster admin: make all ports of the rail full members of one partition. User: "           \
      "NCCL_IB_PKEY is an index; set it so that it leads to one P_Key in all pods.")              \
    X(JOB_POD_LOST, "job.pod.lost", NI_ERROR,                                                     \
      "User: check the pod's log, `kubectl describe pod` and the node's memory.")                 \
    X(JOB_RAIL_ALL, "job.rail.all", NI_ERROR,                                                     \
      "Cluster admin: check what all pods share on this rail: its switch, VLAN, routes and "      \
      "filters. RoCE needs UDP port 4791.")                                                       \
    X(JOB_RAIL_FAILED, "job.rail.failed", NI_ERROR,                                               \
      "Cluster admin: check the port, cable, switch port, VLAN and filters. User: keep the job "  \
      "off this node, or leave the rail out in all pods (--hcas).")                               \
    X(JOB_RAIL_SLOW, "job.rail.slow", NI_ERROR,                                                   \
      "Cluster admin: check the port's speed, PCIe link, cable and switch port. User: keep the "  \
      "job off this node; the slowest rail sets the pace.")                                       \
    X(JOB_RAIL_UNTRIED, "job.rail.untried", NI_WARNING,                                           \
      "User: run `nccl-init selftest` in the pod; it says more about the port.")                  \
    X(JOB_RAILS_CROSSED, "job.rails.crossed", NI_ERROR,                                           \
      "Cluster admin: check the cables and the networks of these ports; each rail "               \
      "number must be one network in all pods.")                                                  \
    X(JOB_RATE_DIFFERS, "job.rate.differs", NI_WARNING,                                           \
      "Cluster admin: check the port's speed and cable; all rails become as slow as this one.")   \
    X(JOB_RATE_LOW, "job.rate.low", NI_WARNING,                                                   \
      "Cluster admin: all rails are equally slow; check the PCIe slots (a 400 Gb/s port needs "   \
      "Gen5 x16), flow control and other jobs on the fabric.")                                    \
    X(JOB_RDMA_NONE, "job.rdma.none", NI_WARNING,                                                 \
      "User: request an RDMA resource in the pod spec. If TCP is meant, add --mode=tcp.")         \
    X(JOB_REFUSED, "job.refused", NI_INFO,                                                        \
      "User: give all pods of the job one image, one --ranks, one key (--job) and one secret "    \
      "or none (--job-secret).")                                                                  \
    X(JOB_SUBNET_DIFFERS, "job.subnet.differs", NI_WARNING,                                       \
      "Cluster admin: give the rail one subnet, or routes between its subnets; check whether "    \
      "two rails are swapped.")

#endif
