/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of a port that stand still while all is well. */
#include "nccl_init/traffic.h"

#include <stdbool.h>

#include "nccl_init/known.h"

/* The names are those of the drivers of Linux 6.12 to 6.18: the link's are InfiniBand's port counters
   (Documentation/ABI/stable/sysfs-class-infiniband); mlx5 counters.c, bnxt_re hw_counters.c, efa
   efa_verbs.c, irdma verbs.c, ionic's own, rxe rxe_hw_counters.c. The link's have 4, 8 or 16 bits, and stop at their most (IBTA
   16.1.3.5; drivers/infiniband/core/sysfs.c pma_table). */
const struct ni_traffic_counter ni_traffic_counters[NI_N_TRAFFIC_COUNTER] = {
    {"hw_counters/local_ack_timeout_err", NI_TROUBLE_RESENT, 0}, /* mlx5 */
    {"hw_counters/packet_seq_err", NI_TROUBLE_RESENT, 0},
    {"hw_counters/roce_adp_retrans", NI_TROUBLE_RESENT, 0},
    {"hw_counters/to_retransmits", NI_TROUBLE_RESENT, 0}, /* bnxt_re */
    {"hw_counters/seq_err_naks_rcvd", NI_TROUBLE_RESENT, 0},
    {"hw_counters/retrans_pkts", NI_TROUBLE_RESENT, 0},        /* efa */
    {"hw_counters/tcpRetransSegs", NI_TROUBLE_RESENT, 0},      /* irdma with iWARP */
    {"hw_counters/req_rx_pkt_seq_err", NI_TROUBLE_RESENT, 0},  /* ionic */
    {"hw_counters/completer_retry_err", NI_TROUBLE_RESENT, 0}, /* rxe */
    {"counters/symbol_error", NI_TROUBLE_ERROR, 65535},
    {"counters/link_error_recovery", NI_TROUBLE_ERROR, 255},
    {"counters/link_downed", NI_TROUBLE_ERROR, 255},
    {"counters/port_rcv_errors", NI_TROUBLE_ERROR, 65535},
    {"counters/local_link_integrity_errors", NI_TROUBLE_ERROR, 15},
    {"counters/excessive_buffer_overrun_errors", NI_TROUBLE_ERROR, 15},
    {"hw_counters/out_of_sequence", NI_TROUBLE_ERROR, 0}, /* mlx5 */
    {"hw_counters/rnr_nak_retry_err", NI_TROUBLE_ERROR, 0},
    {"hw_counters/rx_icrc_encapsulated", NI_TROUBLE_ERROR, 0},
    {"hw_counters/oos_drop_count", NI_TROUBLE_ERROR, 0}, /* bnxt_re */
    {"hw_counters/max_retry_exceeded", NI_TROUBLE_ERROR, 0},
    {"hw_counters/unrecoverable_err", NI_TROUBLE_ERROR, 0},
    {"hw_counters/rx_roce_discards", NI_TROUBLE_ERROR, 0},
    {"hw_counters/rx_drops", NI_TROUBLE_ERROR, 0}, /* efa */
    {"hw_counters/rdma_read_wr_err", NI_TROUBLE_ERROR, 0},
    {"hw_counters/rdma_write_wr_err", NI_TROUBLE_ERROR, 0},
    {"hw_counters/req_tx_retry_excd_err", NI_TROUBLE_ERROR, 0}, /* ionic */
    {"hw_counters/retry_exceeded_err", NI_TROUBLE_ERROR, 0},    /* rxe */
};

bool ni_is_full_counter(unsigned i, struct ni_num value)
{
    const int64_t most = ni_traffic_counters[i].most;

    return most > 0 && value.known == NI_KNOWN && value.v >= most;
}
