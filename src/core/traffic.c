/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of a port that stand still while all is well. */
#include "nccl_init/traffic.h"

/* The names are those of the drivers of Linux 6.12 to 6.18: the link's are InfiniBand's port counters
   (Documentation/ABI/stable/sysfs-class-infiniband); mlx5 counters.c, bnxt_re hw_counters.c, efa
   efa_verbs.c, irdma verbs.c, ionic's own, rxe rxe_hw_counters.c. */
const struct ni_traffic_counter ni_traffic_counters[NI_N_TRAFFIC_COUNTER] = {
    {"hw_counters/local_ack_timeout_err", NI_TROUBLE_RESENT}, /* mlx5 */
    {"hw_counters/packet_seq_err", NI_TROUBLE_RESENT},
    {"hw_counters/roce_adp_retrans", NI_TROUBLE_RESENT},
    {"hw_counters/to_retransmits", NI_TROUBLE_RESENT}, /* bnxt_re */
    {"hw_counters/seq_err_naks_rcvd", NI_TROUBLE_RESENT},
    {"hw_counters/retrans_pkts", NI_TROUBLE_RESENT},        /* efa */
    {"hw_counters/tcpRetransSegs", NI_TROUBLE_RESENT},      /* irdma with iWARP */
    {"hw_counters/req_rx_pkt_seq_err", NI_TROUBLE_RESENT},  /* ionic */
    {"hw_counters/completer_retry_err", NI_TROUBLE_RESENT}, /* rxe */
    {"counters/symbol_error", NI_TROUBLE_ERROR},
    {"counters/link_error_recovery", NI_TROUBLE_ERROR},
    {"counters/link_downed", NI_TROUBLE_ERROR},
    {"counters/port_rcv_errors", NI_TROUBLE_ERROR},
    {"counters/local_link_integrity_errors", NI_TROUBLE_ERROR},
    {"counters/excessive_buffer_overrun_errors", NI_TROUBLE_ERROR},
    {"hw_counters/out_of_sequence", NI_TROUBLE_ERROR}, /* mlx5 */
    {"hw_counters/rnr_nak_retry_err", NI_TROUBLE_ERROR},
    {"hw_counters/rx_icrc_encapsulated", NI_TROUBLE_ERROR},
    {"hw_counters/oos_drop_count", NI_TROUBLE_ERROR}, /* bnxt_re */
    {"hw_counters/max_retry_exceeded", NI_TROUBLE_ERROR},
    {"hw_counters/unrecoverable_err", NI_TROUBLE_ERROR},
    {"hw_counters/rx_roce_discards", NI_TROUBLE_ERROR},
    {"hw_counters/rx_drops", NI_TROUBLE_ERROR}, /* efa */
    {"hw_counters/rdma_read_wr_err", NI_TROUBLE_ERROR},
    {"hw_counters/rdma_write_wr_err", NI_TROUBLE_ERROR},
    {"hw_counters/req_tx_retry_excd_err", NI_TROUBLE_ERROR}, /* ionic */
    {"hw_counters/retry_exceeded_err", NI_TROUBLE_ERROR},    /* rxe */
};
