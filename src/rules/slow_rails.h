/* SPDX-License-Identifier: Apache-2.0 */
/* Rails that are slower than the others. */
#ifndef NCCL_INIT_RULES_SLOW_RAILS_H
#define NCCL_INIT_RULES_SLOW_RAILS_H

#include "rules/decide.h"

/* For `plan`, which doctor's check of rates includes: rails that are slower than others. */
void ni_note_slow_rails(const struct ni_work *w);

#endif
