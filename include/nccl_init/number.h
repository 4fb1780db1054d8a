/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers, parsed strictly from the texts that the kernel, plugins and people write. */
#ifndef NCCL_INIT_NUMBER_H
#define NCCL_INIT_NUMBER_H

#include <stdint.h>

#include "nccl_init/text.h"

#define NI_UNLIMITED INT64_MAX

/* Puts "unlimited", or "64 KiB", in the largest unit that leaves no fraction. */
void ni_put_bytes(struct ni_text *t, int64_t bytes);

/* Returns the value of a hex digit; -1: it is not one. */
int ni_hex_digit(char c);
/* Parse a decimal or a hexadecimal number of digits only. 0, -EINVAL, or -ERANGE above `max`. */
int ni_parse_u64(struct ni_span s, uint64_t max, uint64_t *ret);
int ni_parse_hex(struct ni_span s, uint64_t max, uint64_t *ret);
/* Bytes, or with K, M, G for 1024, 1024^2, 1024^3; 64K is 64k, 64Ki and 64KiB, too. min is not
   negative. */
int ni_parse_bytes(const char *text, int64_t min, int64_t max, int64_t *ret);

#endif
