/* SPDX-License-Identifier: Apache-2.0 */
/* Looking things up in what was read, decided and tried. */
#include <string.h>

#include "nccl_init/inventory.h"
#include "nccl_init/plan.h"

/* Link: InfiniBand's port counters (Documentation/ABI/stable/sysfs-class-infiniband), from as many
   on as rdma-core's infiniband-diags tells (etc/error_thresholds). The others as NVIDIA and Broadcom
   describe them; a flap or a job that was killed leaves some hundreds, and a notification of
   congestion (CNP) is no fault. */
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

bool ni_is_given_netdev(const struct ni_net *net, const char *name)
{
    for (unsigned i = 0; i < net->n_given; i++) {
        if (strcmp(net->given[i], name) == 0)
            return true;
    }
    return false;
}

const struct ni_netdev *ni_find_netdev(const struct ni_inventory *inv, const char *name)
{
    for (unsigned i = 0; i < inv->n_netdev; i++) {
        if (strcmp(inv->netdev[i].name, name) == 0)
            return &inv->netdev[i];
    }
    return NULL;
}

bool ni_gid_is_right(const struct ni_inventory *inv, const struct ni_gid *g)
{
    return g->type == NI_GID_V2 && g->own == NI_OWN_OURS && ni_ip_is_v4(g->ip) &&
           !ni_ip_is_link_local(g->ip) && g->ndev[0] && inv->net.v4_known == NI_KNOWN;
}

unsigned ni_given_hcas(const struct ni_inventory *inv)
{
    unsigned n = 0;
    for (unsigned i = 0; i < inv->n_hca; i++)
        n += ni_is_given(&inv->hca[i]);
    return n;
}

bool ni_has_dmabuf(const struct ni_inventory *inv)
{
    const struct ni_self *self = &inv->self;
    return inv->gdr.open_driver == NI_KNOWN &&
           (self->kernel_major > 5 || (self->kernel_major == 5 && self->kernel_minor >= 12));
}

const struct ni_conf_entry *ni_find_conf(const struct ni_inventory *inv, const char *name,
                                         bool overrides)
{
    for (unsigned i = 0; i < inv->n_conf; i++) {
        if (inv->conf[i].overrides == overrides && strcmp(inv->conf[i].name, name) == 0)
            return &inv->conf[i];
    }
    return NULL;
}

const char *ni_find_user_value(const struct ni_env *env, const struct ni_inventory *inv,
                               const char *name, const char **ret_file)
{
    const char *value = ni_env_get(env, name);
    const struct ni_conf_entry *entry = value ? NULL : ni_find_conf(inv, name, false);
    if (ret_file)
        *ret_file = entry ? entry->file : NULL;
    return entry ? entry->value : value;
}

void ni_put_bytes(struct ni_text *t, int64_t bytes)
{
    static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    size_t u = 0;
    if (bytes == NI_UNLIMITED) {
        ni_put(t, "unlimited");
        return;
    }
    while (bytes != 0 && bytes % 1024 == 0 && u + 1 < NI_COUNT(unit)) {
        bytes /= 1024;
        u++;
    }
    ni_putf(t, "%lld %s", (long long)bytes, unit[u]);
}

const char *ni_port_state_text(struct ni_num state)
{
    static const char *const word[] = {"NOP", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER"};
    return state.known == NI_KNOWN && (uint64_t)state.v < NI_COUNT(word) ? word[state.v] : NULL;
}

const struct ni_setting *ni_plan_get(const struct ni_plan *plan, const char *name)
{
    for (unsigned i = 0; i < plan->n_setting; i++) {
        if (strcmp(plan->setting[i].name, name) == 0)
            return &plan->setting[i];
    }
    return NULL;
}
