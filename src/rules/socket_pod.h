/* SPDX-License-Identifier: Apache-2.0 */
/* The pod's own interface, which reaches all pods: for the rule socket.ifname. */
#ifndef NCCL_INIT_RULES_SOCKET_POD_H
#define NCCL_INIT_RULES_SOCKET_POD_H

#include "rules/decide.h"

/* Returns the pod's own interface, which reaches all pods, if it can serve: that of the default
   route; if there is none, or it is a rail of which NCCL may take a link-local address, the only one
   beside the rails that has a routable address. NULL. */
const char *ni_pod_interface(const struct ni_work *w);
/* Returns what it is, in words. */
const char *ni_pod_interface_text(const struct ni_work *w);

#endif
