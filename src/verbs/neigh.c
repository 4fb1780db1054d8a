/* SPDX-License-Identifier: Apache-2.0 */
/* What libibverbs looks up neighbours with, for address handles of unreliable datagrams (rdma-core
   56.1 libibverbs/verbs.c ibv_resolve_eth_l2_from_gid). There are none here: reliable queue pairs
   leave it to the kernel. These stand in the static libibverbs' place of its own (neigh.c), which
   needs 55 KiB of libnl-route. The names are those of its symbols. */
#include <errno.h>

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
