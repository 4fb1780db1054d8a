/* SPDX-License-Identifier: Apache-2.0 */
/* The rule net.transport: RDMA, sockets, or another network plugin. */
#ifndef NCCL_INIT_RULES_TRANSPORT_H
#define NCCL_INIT_RULES_TRANSPORT_H

#include <stdbool.h>

#include "rules/decide.h"

ni_rule_fn ni_rule_transport;

/* Returns true for the name or the path of a plugin with a copy of NCCL's InfiniBand code, which
   reads the same variables. */
bool ni_is_ib_plugin(const char *plugin);
/* Returns true if the user's NCCL_NET lets NCCL use InfiniBand and RoCE alone. */
bool ni_allows_only_ib(const struct ni_work *w);
/* Returns the variable or option by which the user chose sockets, or NULL. */
const char *ni_tcp_cause(const struct ni_work *w);

#endif
