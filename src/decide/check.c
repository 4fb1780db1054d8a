/* SPDX-License-Identifier: Apache-2.0 */
/* The table of doctor's checks. Each is one function in the file of its subject, and none depends
   on another. */
#include "check.h"

static const struct ni_check checks[] = {
    {"rdma.netns", "netns_mode of ib_core, sys/class/infiniband, claims", ni_check_visible},
    {"hca.node", "dev/infiniband/uverbsN of the pod's HCAs", ni_check_nodes},
    {"hca.port", "state and phys_state of the pod's ports", ni_check_ports},
    {"hca.netdev", "the pod's VFs, their interfaces and GIDs", ni_check_netdevs},
    {"rdma.cm", "dev/infiniband/rdma_cm", ni_check_cm},
    {"rdma.cgroup", "rdma.max of the cgroup", ni_check_cgroup},
    {"rail.rate", "rates of the ports kept, and of those left out as slow", ni_check_rate},
    {"rail.given", "HCAs of the node near the pod's GPUs", ni_check_given},
    {"rail.mtu", "MTU of the interfaces of the ports kept", ni_check_mtu},
    {"rail.firmware", "fw_ver and hca_type of the HCAs kept", ni_check_firmware},
    {"hca.counters", "counters and hw_counters of the pod's ports and of their PFs",
     ni_check_counters},
    {"hca.qos", "tc/PORT/traffic_class of the pod's HCAs", ni_check_traffic_class},
    {"pci.link", "current and max link width and speed of HCAs, GPUs and the ports above them",
     ni_check_pcie},
    {"iommu.type", "IOMMU group type of the pod's HCAs and GPUs, kernel command line",
     ni_check_iommu},
    {"pci.acs", "nothing: extended PCI config space is closed to pods", ni_check_acs},
    {"gpu.node", "dev/nvidiactl, dev/nvidia-uvm", ni_check_gpu_nodes},
    {"gpu.place", "distance of each GPU to its nearest HCA", ni_check_gpu_place},
    {"gdr.driver", "nvidia-peermem, memory_peers, GPU driver, MLNX_OFED", ni_check_peermem},
    {"gpu.imex", "GPU model, dev/nvidia-caps-imex-channels", ni_check_imex},
    {"nvshmem.ibgda", "with --for=nvshmem: dev/gdrdrv, parameters of the NVIDIA driver",
     ni_check_nvshmem},
    {"memlock.limit", "RLIMIT_MEMLOCK as raised, capabilities, user namespace", ni_check_memlock},
    {"shm.size", "size of the file system at /dev/shm", ni_check_shm},
    {"host.name", "proc/sys/kernel/hostname, etc/hosts", ni_check_host_name},
    {"pid1.init", "PID, command name of PID 1", ni_check_init},
};
_Static_assert(NI_COUNT(checks) <= NI_MAX_CHECK, "struct ni_diagnosis has room for each");

const struct ni_check *ni_checks(unsigned *ret_n)
{
    *ret_n = NI_COUNT(checks);
    return checks;
}

void ni_diagnose(const struct ni_facts *facts, const struct ni_plan *plan, struct ni_findings *f,
                 struct ni_diagnosis *ret)
{
    ret->n = NI_COUNT(checks);
    for (unsigned i = 0; i < NI_COUNT(checks); i++) {
        unsigned before = f->n + f->dropped;
        enum ni_outcome outcome = checks[i].eval(facts, plan, f);
        ret->at[i].id = checks[i].id;
        ret->at[i].outcome = f->n + f->dropped > before ? NI_CHECK_FOUND : outcome;
    }
}

static enum ni_outcome outcome_of(bool found, unsigned judged, unsigned unknown)
{
    const struct ni_seen seen = {judged, unknown};
    return found ? NI_CHECK_FOUND : ni_seen_outcome(&seen);
}

void ni_diagnose_probes(const struct ni_trials *trials, const struct ni_findings *f,
                        struct ni_diagnosis *ret)
{
    const unsigned n = trials->n;
    const bool dmabuf = ni_findings_has(f, NI_F_VERBS_DMABUF);
    const bool gid = ni_findings_has(f, NI_F_VERBS_GID_DIFFERS);
    unsigned answers = 0, tables = 0;
    for (unsigned i = 0; i < n; i++) {
        const bool answered = trials->at[i].device.dmabuf != NI_UNSET;
        answers += answered;
        tables += answered && trials->at[i].gid_err == 0;
    }
    const struct ni_checked probes[] = {
        {"probe.device", outcome_of(ni_trials_passed(trials) < n, n, 0)},
        {"probe.dmabuf", outcome_of(dmabuf, answers, n - answers)},
        {"probe.gid", outcome_of(gid, tables, n - tables)},
    };
    _Static_assert(NI_COUNT(checks) + NI_COUNT(probes) <= NI_MAX_CHECK, "and for these");
    for (size_t i = 0; i < NI_COUNT(probes); i++)
        ret->at[ret->n++] = probes[i];
}

enum ni_outcome ni_seen_outcome(const struct ni_seen *seen)
{
    return seen->judged > 0 ? NI_CHECK_OK : seen->unknown > 0 ? NI_CHECK_UNKNOWN : NI_CHECK_IDLE;
}

void ni_list_begin(struct ni_list *list)
{
    list->text = ni_text_on(list->buf, sizeof(list->buf));
    list->n = list->left_out = 0;
}

void ni_list_add(struct ni_list *list, const char *name)
{
    enum { TAIL = 16 }; /* " and 4294967 more" is not to be expected */
    struct ni_span s = ni_span_of(name);
    if (list->text.len + 2 + s.n + TAIL >= list->text.cap) {
        list->left_out++;
        return;
    }
    ni_putf(&list->text, "%s%s", list->n > 0 ? ", " : "", name);
    list->n++;
}

const char *ni_list_end(struct ni_list *list)
{
    if (list->left_out > 0)
        ni_putf(&list->text, " and %u more", list->left_out);
    return list->buf;
}

bool ni_is_kept(const struct ni_inventory *inv, const struct ni_plan *plan, unsigned hca)
{
    for (unsigned i = 0; i < plan->n_chosen; i++) {
        if (inv->port[plan->chosen[i]].hca == (int)hca)
            return true;
    }
    return false;
}
