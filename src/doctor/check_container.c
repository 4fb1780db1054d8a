/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the container: locked memory, shared memory, host name, first process. */
#include <string.h>

#include "doctor/check.h"
#include "findings/device.h"
#include "findings/pod.h"
#include "nccl_init/findings.h"
#include "nccl_init/gpu.h"
#include "nccl_init/inventory.h"
#include "nccl_init/ip.h"
#include "nccl_init/known.h"
#include "nccl_init/number.h"
#include "nccl_init/pci.h"
#include "nccl_init/plan.h"
#include "nccl_init/process.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "print/words.h"
#include "rules/decide.h"
#include "rules/init_process.h"

/* ---- memlock.limit ---- */

/* Checks that the limit is known. The rule memlock.raise reports one that is too low, and why. */
static void check_memlock(struct ni_judging *c)
{
    const struct ni_self *s = &c->inv->self;

    if (c->plan->n_chosen > 0)
        (void)ni_saw(c, s->memlock_soft.known == NI_KNOWN && s->memlock_hard.known == NI_KNOWN);
}

static void put_memlock(struct ni_text *t, const struct ni_view *view)
{
    const struct ni_num soft = view->inv->self.memlock_soft;
    const struct ni_limit *to = &view->plan->memlock;

    if (soft.known != NI_KNOWN)
        return;
    ni_put_bytes(t, soft.v);
    if (to->soft > soft.v) {
        ni_put(t, ", would be raised to ");
        ni_put_bytes(t, to->soft);
    }
}

const struct ni_check ni_check_memlock = {
    .id = "memlock.limit",
    .title = "memlock",
    .whole = check_memlock,
    .put = put_memlock,
    .findings = {NI_F_MEMLOCK_LOW, NI_F_MEMLOCK_TOO_LOW},
};

/* ---- shm.size ---- */

/* Returns true if CUDA allocates host memory at the GPU's NUMA node: it needs processors and memory
   there. */
static bool has_host_memory(const struct ni_gpu *g)
{
    return g->numa_memory == NI_KNOWN && g->numa_cpus == NI_KNOWN;
}

/* Checks that the ranks of the pod's GPUs share host memory in one way. Since 2.26.3 NCCL tries in
   each process if CUDA allocates host memory at the NUMA node of its GPU, not that of the thread, and
   takes a file in /dev/shm if not (2.26.3 to 2.30.7 misc/cudawrap.cc ncclCuMemHostEnable;
   NVIDIA/nccl#2190). It tries with drivers of CUDA 12.6 and later, 560. */
static void check_host_memory(struct ni_judging *c)
{
    enum { CUDA_12_6 = 560 };
    const struct ni_inventory *inv = c->inv;
    const char *driver = inv->drivers.nvidia_version;
    const struct ni_gpu *lacking = NULL;
    unsigned whole = 0;
    uint64_t major;
    char bdf[NI_BDF_TEXT];

    if (!ni_has_nvidia(c) || ni_user_int(c->w, "NCCL_CUMEM_HOST_ENABLE", -1) == 0 ||
        ni_user_int(c->w, "NCCL_CUMEM_ENABLE", -1) == 0)
        return;
    if (ni_parse_u64((struct ni_span){driver, strcspn(driver, ".")}, INT32_MAX, &major) == 0 &&
        major < CUDA_12_6)
        return;
    for (unsigned i = 0; i < inv->n_gpu; i++) {
        const struct ni_gpu *g = &inv->gpu[i];

        whole += has_host_memory(g);
        if (!lacking && (g->numa_memory == NI_ABSENT || g->numa_cpus == NI_ABSENT))
            lacking = g;
    }
    if (lacking && whole > 0)
        ni_report(
            c->f, NI_F_GPU_NUMA_EMPTY, ni_bdf_text(lacking->bdf, bdf),
            "its NUMA node, %lld, has no %s, and that of another GPU has: with NCCL 2.26.3 and "
            "later ranks disagree about how they share host memory, and the job ends with "
            "`Error while attaching to shared memory segment`",
            (long long)lacking->pci.numa.v,
            lacking->numa_memory == NI_ABSENT ? "memory" : "processors");
    else if (inv->numa_bare[0] && (lacking || whole > 0))
        ni_report(
            c->f, NI_F_GPU_NUMA_OTHERS, inv->numa_bare,
            "these NUMA nodes have processors and no memory; %s, so that its ranks share host "
            "memory in one way; those of a pod with GPUs of both kinds do not",
            lacking ? "all GPUs of this pod are there" : "no GPU of this pod is there");
}

static void check_shm(struct ni_judging *c)
{
    static const int64_t by_default = INT64_C(64) << 20, advised = INT64_C(1) << 30;
    const struct ni_num shm = c->inv->self.shm;

    if (c->inv->n_gpu > 0 && ni_saw(c, shm.known == NI_KNOWN) && shm.v < advised)
        ni_report(
            c->f, shm.v <= by_default && c->inv->n_gpu > 1 ? NI_F_SHM_DEFAULT : NI_F_SHM_SMALL,
            "/dev/shm",
            "%lld MiB: NCCL says `Error while creating shared memory segment ... No space left on "
            "device`, then `unhandled system error`; data loaders die of bus errors",
            (long long)(shm.v >> 20));
    check_host_memory(c);
}

static void put_shm(struct ni_text *t, const struct ni_view *view)
{
    if (view->inv->self.shm.known == NI_KNOWN)
        ni_put_bytes(t, view->inv->self.shm.v);
}

const struct ni_check ni_check_shm = {
    .id = "shm.size",
    .title = "/dev/shm",
    .whole = check_shm,
    .put = put_shm,
    .findings = {NI_F_GPU_NUMA_EMPTY, NI_F_GPU_NUMA_OTHERS, NI_F_SHM_DEFAULT, NI_F_SHM_SMALL},
};

/* ---- host.name ---- */

static void check_host_name(struct ni_judging *c)
{
    const struct ni_self *s = &c->inv->self;
    const struct ni_setting *gloo = ni_plan_get(c->plan, "GLOO_SOCKET_IFNAME");
    uint8_t ip[NI_GID_BYTES];

    if (ni_user_value(c->w, "GLOO_SOCKET_IFNAME") || (gloo && gloo->value[0]))
        return;
    if (ni_saw(c, ni_is_decided(s->host_known)) && s->host_known == NI_KNOWN &&
        (strcmp(s->host_ip, "::1") == 0 ||
         (ni_parse_ipv4(ni_span_of(s->host_ip), ip) == 0 && ni_ip_is_loopback(ip))))
        ni_report(c->f, NI_F_HOST_NAME_LOOPBACK, "/etc/hosts",
                  "the host's own name resolves to %s: Gloo (PyTorch) listens on that address, and "
                  "other pods cannot reach it",
                  s->host_ip);
}

static void put_host_name(struct ni_text *t, const struct ni_view *view)
{
    const struct ni_self *s = &view->inv->self;

    if (s->host_known == NI_KNOWN)
        ni_quote(t, s->host_ip);
    else
        ni_put(t, s->host_known == NI_ABSENT ? "not in /etc/hosts" : "");
}

const struct ni_check ni_check_host = {
    .id = "host.name",
    .title = "host name",
    .whole = check_host_name,
    .put = put_host_name,
    .findings = {NI_F_HOST_NAME_LOOPBACK},
};

/* ---- pid1.init ---- */

static void check_init(struct ni_judging *c)
{
    const struct ni_self *s = &c->inv->self;

    if (ni_saw(c, s->pid.known == NI_KNOWN && (s->pid.v == 1 || s->init_known == NI_KNOWN)))
        ni_note_shell(c->w);
}

static void put_pid1(struct ni_text *t, const struct ni_view *view)
{
    const struct ni_self *s = &view->inv->self;

    if (s->pid.known == NI_KNOWN && s->pid.v == 1)
        ni_put(t, "the command itself");
    else
        ni_quote(t, s->init);
}

const struct ni_check ni_check_init = {
    .id = "pid1.init",
    .title = "PID 1",
    .whole = check_init,
    .put = put_pid1,
    .findings = {NI_F_EXEC_PID1_NO_INIT},
};
