/* SPDX-License-Identifier: Apache-2.0 */
/* What files of sysfs and proc hold: GIDs, states, rates, links into the PCI tree, routes,
   addresses, limits. Each line replaces one file, which its first character names; escapes are
   those of a .tree. */
#include "lib/sources.h"

#include "nccl_init/base.h"
#include "nccl_init/text.h"
#include "sysroot/tree.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define HCA  "sys/devices/pci0000:00/0000:00:01.1/0000:03:00.2/"
#define PORT HCA "infiniband/mlx5_1/ports/1/"

static const char *const slots[] = {
    PORT "gids/0",
    PORT "gids/1",
    PORT "gid_attrs/types/0",
    PORT "gid_attrs/types/1",
    PORT "gid_attrs/ndevs/0",
    PORT "gid_attrs/ndevs/1",
    PORT "state",
    PORT "link_layer",
    PORT "rate",
    PORT "phys_state",
    HCA "infiniband/mlx5_1/fw_ver",
    HCA "numa_node",
    HCA "physfn",
    HCA "iommu_group",
    HCA "net/net1/operstate",
    HCA "net/net1/mtu",
    "sys/bus/pci/devices/0000:03:00.2",
    "sys/bus/pci/devices/0000:04:00.0",
    "sys/class/infiniband/mlx5_1",
    "sys/class/net/net1",
    "sys/class/infiniband_verbs/uverbs0/ibdev",
    "sys/kernel/iommu_groups/31/type",
    "sys/fs/cgroup/rdma.max",
    "sys/module/nvidia/version",
    "sys/module/ib_core/parameters/netns_mode",
    "proc/net/fib_trie",
    "proc/net/route",
    "proc/net/if_inet6",
    "proc/net/ipv6_route",
    "proc/self/limits",
    "proc/self/status",
    "proc/self/ns/user",
    "proc/self/mountinfo",
    "proc/sys/kernel/osrelease",
    "proc/cmdline",
    "proc/1/comm",
    "proc/driver/nvidia/gpus/0000:04:00.0/information",
};
_Static_assert(NI_COUNT(slots) <= 10 + 2 * 26, "a digit or a letter for each");

/* 0-9, a-z, A-Z. */
static const char *slot_of(char c)
{
    size_t at = isdigit((unsigned char)c)   ? (size_t)(c - '0')
                : islower((unsigned char)c) ? (size_t)(c - 'a') + 10
                : isupper((unsigned char)c) ? (size_t)(c - 'A') + 36
                                            : SIZE_MAX;
    return at < NI_COUNT(slots) ? slots[at] : NULL;
}

static void fill(struct ni_span line)
{
    const char *path = line.n > 0 ? slot_of(line.p[0]) : NULL;
    size_t n = line.n > 0 ? line.n - 1 : 0;
    char *value = malloc(n + 1);

    FUZZ_CHECK(value, "no memory");
    memcpy(value, line.p + (line.n > 0), n);
    if (path && ni_tree_unescape(value, &n))
        slots_fill(sources_node(), path, value, n);
    free(value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char given[] = "PCIDEVICE_X=0000:03:00.2,0000:23:00.2";
    struct fuzz_input in = {(const char *)data, size};
    struct pod *one = sources_pod(POD_ONE);
    struct ni_span line;

    while (fuzz_piece(&in, '\n', &line))
        fill(line);
    if (size % 2) /* else the HCAs are found through their device nodes */
        (void)pod_env(one, given, sizeof(given) - 1);
    pod_decide(one);
    check_pod(one);
    slots_reset(sources_node());
    pod_free_entries(one);
    return 0;
}
