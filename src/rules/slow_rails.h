/* SPDX-License-Identifier: Apache-2.0 */
/* Rails that are slower than the others. */
#ifndef NCCL_INIT_RULES_SLOW_RAILS_H
#define NCCL_INIT_RULES_SLOW_RAILS_H

#include "rules/decide.h"

/* Reports rails that are slower than others; for `plan`, and a part of doctor's check of rates. */
void ni_note_slow_rails(const struct ni_work *w);

#endif
