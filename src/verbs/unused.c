/* SPDX-License-Identifier: Apache-2.0 */
/* What rdma-core 56.1 links in and nobody here comes to. These stand in the static libraries' place of
   their own, under the names of their symbols (CMakeLists.txt). */
#include <errno.h>
#include <stdbool.h>

/* libibverbs/neigh.c looks up neighbours for address handles of unreliable datagrams (verbs.c
   ibv_resolve_eth_l2_from_gid), with 55 KiB of libnl-route. Reliable queue pairs leave that to the
   kernel. */
#define NOT_HERE(name)             \
    int rdmacore56_1_##name(void); \
    int rdmacore56_1_##name(void)  \
    {                              \
        return -ENOSYS;            \
    }

NOT_HERE(neigh_init_resources) /* where that fails, no other is called but _free_ */
NOT_HERE(neigh_free_resources)
NOT_HERE(neigh_get_ll)
NOT_HERE(neigh_get_oif_from_src)
NOT_HERE(neigh_get_vlan_id_from_dev)
NOT_HERE(neigh_set_dst)
NOT_HERE(neigh_set_oif)
NOT_HERE(neigh_set_src)
NOT_HERE(neigh_set_vlan_id)
NOT_HERE(process_get_neigh)

/* providers/mlx5/mlx5_vfio.c drives a device without the kernel's driver, which takes another list of
   devices (mlx5dv_get_vfio_device_list): 28 KiB. */
bool rdmacore56_1_is_mlx5_vfio_dev(const void *device);
bool rdmacore56_1_is_mlx5_vfio_dev(const void *device)
{
    (void)device;
    return false;
}
