/* SPDX-License-Identifier: Apache-2.0 */
/* net.transport: */
#ifndef NCCL_INIT_RULES_TRANSPORT_H
#define NCCL_INIT_RULES_TRANSPORT_H

#include "rules/decide.h"

ni_rule_fn ni_rule_transport, ni_rule_ib_disable;

/* By what the user chose sockets; NULL: by nothing. */
const char *ni_tcp_cause(const struct ni_work *w);

#endif
