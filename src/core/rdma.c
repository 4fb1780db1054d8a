/* SPDX-License-Identifier: Apache-2.0 */
/* Words and bounds of RDMA ports. */
#include "nccl_init/rdma.h"
#include "nccl_init/base.h"
#include "nccl_init/known.h"
#include "nccl_init/text.h"

/* Counters of errors. Those of the link are InfiniBand's port counters
   (Documentation/ABI/stable/sysfs-class-infiniband), reported from the numbers of rdma-core's
   infiniband-diags on (etc/error_thresholds). The others are as NVIDIA and Broadcom describe
   them; a flap or a killed job leaves some hundreds, and a notification of congestion (CNP) is
   no fault. */
const struct ni_counter ni_counters[NI_N_COUNTER] = {
    {"counters/symbol_error", true, 10},
    {"counters/link_error_recovery", true, 10},
    {"counters/link_downed", true, 10},
    {"counters/port_rcv_errors", true, 10},
    {"counters/local_link_integrity_errors", true, 10},
    {"counters/excessive_buffer_overrun_errors", true, 10},
    {"hw_counters/rx_icrc_encapsulated", false, 10},
    {"hw_counters/out_of_sequence", false, 1000},
    {"hw_counters/packet_seq_err", false, 1000},
    {"hw_counters/local_ack_timeout_err", false, 1000},
    {"hw_counters/rnr_nak_retry_err", false, 1000},
    {"hw_counters/roce_adp_retrans", false, 1000},
    {"hw_counters/seq_err_naks_rcvd", false, 1000},
    {"hw_counters/to_retransmits", false, 1000},
    {"hw_counters/oos_drop_count", false, 1000},
    {"hw_counters/np_cnp_sent", false, 1000000},
};

bool ni_is_translated(const struct ni_hca *h)
{
    return h->has_bdf && ni_has_prefix(h->iommu.type, "DMA");
}

const char *ni_port_state_text(struct ni_num state)
{
    static const char *const word[] = {"NOP", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER"};

    return state.known == NI_KNOWN && (uint64_t)state.v < NI_COUNT(word) ? word[state.v] : NULL;
}
