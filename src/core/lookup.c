/* SPDX-License-Identifier: Apache-2.0 */
/* Looking things up in what was read, decided and tried. */
#include <string.h>

#include "nccl_init/inventory.h"
#include "nccl_init/plan.h"
#include "nccl_init/trial.h"

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

const char *ni_find_user_value(const struct ni_env *env, const struct ni_inventory *inv,
                               const char *name, const char **ret_file)
{
    const char *value = ni_env_get(env, name), *file = NULL;
    for (unsigned i = 0; !value && i < inv->n_conf; i++) {
        if (!inv->conf[i].overrides && strcmp(inv->conf[i].name, name) == 0) {
            value = inv->conf[i].value;
            file = inv->conf[i].file;
        }
    }
    if (ret_file)
        *ret_file = file;
    return value;
}

const struct ni_conf_entry *ni_find_override(const struct ni_inventory *inv, const char *name)
{
    for (unsigned i = 0; i < inv->n_conf; i++) {
        if (inv->conf[i].overrides && strcmp(inv->conf[i].name, name) == 0)
            return &inv->conf[i];
    }
    return NULL;
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

const char *ni_port_state_text(int64_t state)
{
    static const char *const word[] = {
        [NI_PORT_NOP] = "NOP",       [NI_PORT_DOWN] = "DOWN",
        [NI_PORT_INIT] = "INIT",     [NI_PORT_ARMED] = "ARMED",
        [NI_PORT_ACTIVE] = "ACTIVE", [NI_PORT_ACTIVE_DEFER] = "ACTIVE_DEFER",
    };
    return state >= 0 && (size_t)state < NI_COUNT(word) ? word[state] : NULL;
}

const struct ni_setting *ni_plan_get(const struct ni_plan *plan, const char *name)
{
    for (unsigned i = 0; i < plan->n_setting; i++) {
        if (strcmp(plan->setting[i].name, name) == 0)
            return &plan->setting[i];
    }
    return NULL;
}

bool ni_trial_passed(const struct ni_trial *trial)
{
    return trial->step == NI_STEP_DONE && trial->end == NI_TRIAL_ENDED;
}

unsigned ni_trials_tried(const struct ni_trials *trials)
{
    unsigned n = 0;
    for (unsigned i = 0; i < trials->n; i++)
        n += !trials->at[i].untried;
    return n;
}

unsigned ni_trials_passed(const struct ni_trials *trials)
{
    unsigned n = 0;
    for (unsigned i = 0; i < trials->n; i++)
        n += ni_trial_passed(&trials->at[i]);
    return n;
}

const char *ni_step_text(enum ni_step step)
{
    static const char *const text[NI_STEP_N] = {
        [NI_STEP_START] = "start",       [NI_STEP_FIND] = "find",
        [NI_STEP_OPEN] = "open",         [NI_STEP_DEVICE] = "device",
        [NI_STEP_PORT] = "port",         [NI_STEP_GID] = "gid",
        [NI_STEP_ALLOCATE] = "allocate", [NI_STEP_REGISTER] = "register",
        [NI_STEP_QUEUES] = "queues",     [NI_STEP_CONNECT] = "connect",
        [NI_STEP_WRITE] = "write",       [NI_STEP_READ] = "read",
        [NI_STEP_COMPARE] = "compare",   [NI_STEP_DONE] = "done",
    };
    return text[step];
}
