/* SPDX-License-Identifier: Apache-2.0 */
/* The rule hca.list: NCCL_IB_HCA, the chosen ports by name. */
#ifndef NCCL_INIT_RULES_HCA_LIST_H
#define NCCL_INIT_RULES_HCA_LIST_H

#include "rules/decide.h"

ni_rule_fn ni_rule_hca_list;

#endif
