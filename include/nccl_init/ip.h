/* SPDX-License-Identifier: Apache-2.0 */
/* GIDs and addresses: 16 bytes in network order, IPv4 as ::ffff:a.b.c.d. */
#ifndef NCCL_INIT_IP_H
#define NCCL_INIT_IP_H

#include <stdbool.h>
#include <stdint.h>

#include "nccl_init/base.h"
#include "nccl_init/text.h"

/* Parse an address: eight groups of four hex digits, as sysfs writes a GID; the same without
   colons, as in /proc/net/if_inet6; a.b.c.d. 0 or -EINVAL. */
int ni_parse_gid(struct ni_span s, uint8_t ret[NI_GID_BYTES]);
int ni_parse_hex_ip(struct ni_span s, uint8_t ret[NI_GID_BYTES]);
int ni_parse_ipv4(struct ni_span s, uint8_t ret[NI_GID_BYTES]);
void ni_ip_from_v4(uint32_t host_order, uint8_t ret[NI_GID_BYTES]);
bool ni_ip_is_zero(const uint8_t ip[NI_GID_BYTES]);
bool ni_ip_is_v4(const uint8_t ip[NI_GID_BYTES]);
bool ni_ip_is_link_local(const uint8_t ip[NI_GID_BYTES]); /* fe80::/10, 169.254.0.0/16 */
bool ni_ip_is_loopback(const uint8_t ip[NI_GID_BYTES]);   /* 127/8 or ::1 */
/* Writes an address as inet_ntop(3) does, "10.0.103.6", "fe80::1". Returns buf. */
const char *ni_ip_text(const uint8_t ip[NI_GID_BYTES], char buf[NI_IP_TEXT]);
/* Returns true if the first `bits` (0..128) bits of a and b are equal. */
bool ni_ip_same_prefix(const uint8_t a[NI_GID_BYTES], const uint8_t b[NI_GID_BYTES], unsigned bits);

#endif
