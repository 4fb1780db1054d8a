/* SPDX-License-Identifier: Apache-2.0 */
/* The rule ib.pkey: the P_Key that NCCL's queue pairs will have. */
#ifndef NCCL_INIT_RULES_IB_PKEY_H
#define NCCL_INIT_RULES_IB_PKEY_H

#include "rules/decide.h"

ni_rule_fn ni_rule_ib_pkey;

#endif
