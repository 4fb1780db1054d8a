/* SPDX-License-Identifier: Apache-2.0 */
/* The rule ib.disable: NCCL_IB_DISABLE, and TCP if no port is left. */
#ifndef NCCL_INIT_RULES_IB_DISABLE_H
#define NCCL_INIT_RULES_IB_DISABLE_H

#include "rules/decide.h"

ni_rule_fn ni_rule_ib_disable;

#endif
