/* SPDX-License-Identifier: Apache-2.0 */
/* The rule socket.ifname: NCCL_SOCKET_IFNAME, the interfaces for bootstrap and sockets. */
#ifndef NCCL_INIT_RULES_SOCKET_H
#define NCCL_INIT_RULES_SOCKET_H

#include <stdbool.h>

#include "nccl_init/plan.h"
#include "rules/decide.h"

ni_rule_fn ni_rule_sockets;

/* Returns true if none of the interfaces in force has an IPv4 address. */
bool ni_sockets_are_v6(const struct ni_work *w);

/* Returns the interfaces that --sockets names; NULL: it is a word, or was not given. */
const char *ni_named_sockets(const struct ni_policy *policy);

#endif
