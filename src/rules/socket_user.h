/* SPDX-License-Identifier: Apache-2.0 */
/* The user's own NCCL_SOCKET_IFNAME: for the rule socket.ifname. */
#ifndef NCCL_INIT_RULES_SOCKET_USER_H
#define NCCL_INIT_RULES_SOCKET_USER_H

#include <stdbool.h>

#include "rules/decide.h"
#include "rules/socket_address.h"

/* Finds the interfaces of the user's own list: those that it matches and that have an address, and
   reports what of it cannot serve. false: no list. */
bool ni_take_users_sockets(const struct ni_work *w, struct ni_if_list *l);

#endif
