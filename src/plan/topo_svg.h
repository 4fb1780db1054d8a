/* SPDX-License-Identifier: Apache-2.0 */
/* The report of topo, as a picture. */
#ifndef NCCL_INIT_PLAN_TOPO_SVG_H
#define NCCL_INIT_PLAN_TOPO_SVG_H

#include "print/words.h"

ni_report_fn ni_put_topo_svg;

#endif
