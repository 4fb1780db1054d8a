/* SPDX-License-Identifier: Apache-2.0 */
/* core: strict parsers, bounded text, the environment view. No system call, no heap
   (tests/lint/purity.sh). */
#ifndef NCCL_INIT_CORE_H
#define NCCL_INIT_CORE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define NI_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define NI_PRINTF(fmt, args)
#endif

#define NI_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Of a large table that is zero at the start: "common", so that the linker puts it behind the few
   words that others keep zeroed, which then share a page instead of taking one each. */
#define NI_LARGE __attribute__((common))

/* Bounds. Each is the kernel's own, the size that includes the NUL. */
enum {
    NI_DEV_NAME = 64, /* IB_DEVICE_NAME_MAX, include/uapi/rdma/rdma_netlink.h */
    NI_IF_NAME = 16,  /* IFNAMSIZ, include/uapi/linux/if.h */
    NI_BDF_TEXT = 17, /* "ffffffff:ff:1f.7": a domain has up to 32 bits (VMD, Hyper-V) */
    NI_IP_TEXT = 46,  /* INET6_ADDRSTRLEN */
    NI_GID_BYTES = 16,
    NI_PATH = 512, /* longest path below the root that the program builds */
    NI_PAGE = 4096 /* a sysfs attribute is at most one page (fs/sysfs/file.c) */
};

/* ---- how a fact stands: absent, denied, malformed and zero are four different things ---- */

enum ni_known {
    NI_UNSET = 0, /* never looked at */
    NI_ABSENT,    /* looked at: there is no such file */
    NI_DENIED,    /* there, but not readable: EACCES, EPERM, EIO, ... */
    NI_BAD,       /* read, but not of the form the kernel writes */
    NI_KNOWN
};

struct ni_num {
    int64_t v; /* meaningful only if known == NI_KNOWN */
    enum ni_known known;
};

/* The state that belongs to a negative errno of the door (facts.h). */
enum ni_known ni_known_of(int err);
/* "unread", "absent", "denied", "malformed", "known". */
const char *ni_known_text(enum ni_known known);

/* ---- bounded text ---- */

/* A NUL-terminated text in a caller's buffer. What does not fit is left off and `cut` is set, for
   good. */
struct ni_text {
    char *buf;
    size_t cap; /* bytes of buf, at least 1 */
    size_t len; /* without the NUL */
    bool cut;
};

struct ni_text ni_text_on(char *buf, size_t cap);
void ni_put(struct ni_text *t, const char *s);
void ni_putn(struct ni_text *t, const char *s, size_t n);
void ni_put_u64(struct ni_text *t, uint64_t v); /* decimal */
void ni_putf(struct ni_text *t, const char *fmt, ...) NI_PRINTF(2, 3);
void ni_vputf(struct ni_text *t, const char *fmt, va_list ap) NI_PRINTF(2, 0);
/* Untrusted bytes for a message: control characters and non-ASCII as \xHH, at most `max` source
   bytes, then "...". */
void ni_put_quoted(struct ni_text *t, const char *s, size_t n, size_t max);

/* Text made anew in buf. false: cut. */
bool ni_format(char *buf, size_t cap, const char *fmt, ...) NI_PRINTF(3, 4);

/* Copies s whole into buf; false, and buf empty, when it does not fit. */
bool ni_copy(char *buf, size_t cap, const char *s);
bool ni_copyn(char *buf, size_t cap, const char *s, size_t n);
bool ni_has_prefix(const char *s, const char *prefix);

/* A piece of somebody else's text. */
struct ni_span {
    const char *p;
    size_t n;
};

/* Next piece of *cursor up to `sep` or the end; *cursor moves behind it, NULL after the last. false
   when *cursor is NULL. */
bool ni_split(const char **cursor, char sep, struct ni_span *ret);
/* s without blanks and tabs, CR and LF at both ends. */
struct ni_span ni_trim(struct ni_span s);
bool ni_span_is(struct ni_span s, const char *text);
/* Whether s is one of the n words. */
bool ni_is_any(const char *s, const char *const words[], size_t n);

/* Order of names as people count: mlx5_2 before mlx5_10. Total: equal only for equal strings. */
int ni_natural_cmp(const char *a, const char *b);

/* ---- strict numbers: the whole text, no sign, no blank. 0 or -EINVAL, -ERANGE ---- */

bool ni_is_digit(char c);
/* 0 to 15, -1: no hex digit. */
int ni_hex_digit(char c);
int ni_parse_u64(struct ni_span s, uint64_t max, uint64_t *ret);
int ni_parse_hex(struct ni_span s, uint64_t max, uint64_t *ret);
struct ni_span ni_span_of(const char *s);

/* ---- PCI addresses ---- */

/* Domain, bus, device, function, as in `0000:3b:00.2`. */
struct ni_bdf {
    uint32_t domain;
    uint8_t bus, dev, fn;
};

/* "0000:3b:00.2": 4 to 8 hex digits of domain, 2, 2, 1. 0 or -EINVAL. */
int ni_parse_bdf(struct ni_span s, struct ni_bdf *ret);
/* As the kernel writes it: %04x:%02x:%02x.%x (drivers/pci/probe.c pci_setup_device). Returns buf.
   */
const char *ni_bdf_text(struct ni_bdf bdf, char buf[NI_BDF_TEXT]);
int ni_bdf_cmp(struct ni_bdf a, struct ni_bdf b);

/* An auxiliary-bus device name, `mlx5_core.sf.4`: module.name.number (drivers/base/auxiliary.c). */
bool ni_is_aux_id(struct ni_span s);

/* ---- GIDs and addresses: 16 bytes in network order, IPv4 as ::ffff:a.b.c.d ---- */

/* Eight groups of four hex digits, as sysfs writes a GID (drivers/infiniband/core/sysfs.c). 0 or
   -EINVAL. */
int ni_parse_gid(struct ni_span s, uint8_t ret[NI_GID_BYTES]);
/* Thirty-two hex digits without colons, as /proc/net/if_inet6 writes an address. */
int ni_parse_hex_ip(struct ni_span s, uint8_t ret[NI_GID_BYTES]);
/* a.b.c.d as an IPv4-mapped address. */
int ni_parse_ipv4(struct ni_span s, uint8_t ret[NI_GID_BYTES]);
void ni_ip_from_v4(uint32_t host_order, uint8_t ret[NI_GID_BYTES]);
bool ni_ip_is_zero(const uint8_t ip[NI_GID_BYTES]);
bool ni_ip_is_v4(const uint8_t ip[NI_GID_BYTES]);
bool ni_ip_is_link_local(const uint8_t ip[NI_GID_BYTES]); /* fe80::/10, 169.254.0.0/16 */
bool ni_ip_is_loopback(const uint8_t ip[NI_GID_BYTES]);   /* 127/8 or ::1 */
/* "10.0.103.6", "fe80::1"; RFC 5952. Returns buf. */
const char *ni_ip_text(const uint8_t ip[NI_GID_BYTES], char buf[NI_IP_TEXT]);
/* The first `bits` (0..128) bits of a and b are equal. */
bool ni_ip_same_prefix(const uint8_t a[NI_GID_BYTES], const uint8_t b[NI_GID_BYTES], unsigned bits);

/* ---- names of errors: numbers differ between architectures, and people know the names ---- */

/* "EINVAL" -> 22; 0 for an unknown name. */
int ni_errno_of(struct ni_span name);
/* NULL for an unknown number. */
const char *ni_errno_name(int err);
/* The error in words, the same with every libc. Takes errno or -errno; never NULL. */
const char *ni_errno_text(int err);

/* ---- names ---- */

/* A device or interface name that NCCL's lists can carry: 1 to max-1 bytes of [A-Za-z0-9_.-], not
   "." or "..", no leading '^' or '='. The kernel's dev_valid_name (net/core/dev.c) allows more; a
   comma, colon or blank would change the meaning of the list (NCCL misc/utils.cc parseStringList).
   */
bool ni_is_name(struct ni_span s, size_t max);

enum { NI_MAX_IFS = 16 }; /* MAX_IFS, NCCL 2.30.7 include/socket.h */

/* NCCL's own match of a device against NCCL_IB_HCA: `[^][=]name[:port]{,...}`, prefix match without
   '=' (NCCL 2.30.7 misc/utils.cc parseStringList, matchIfList). port -1: names only. An empty list
   matches everything, as in NCCL. */
bool ni_nccl_match(const char *list, const char *name, int port);
/* The same of an interface against NCCL_SOCKET_IFNAME, of which NCCL reads 16 entries. */
bool ni_nccl_match_if(const char *list, const char *ifname);

/* ---- capabilities: bit N of a set is number N of include/uapi/linux/capability.h ---- */

enum { NI_CAP_SETPCAP = 8, NI_CAP_IPC_LOCK = 14, NI_CAP_SYS_RESOURCE = 24, NI_CAPS = 41 };

/* "IPC_LOCK", in any case, without "CAP_". 0 or -EINVAL. */
int ni_parse_cap(struct ni_span s, unsigned *ret);
/* The set as "CAP_IPC_LOCK, CAP_NET_RAW". */
void ni_put_caps(struct ni_text *t, uint64_t set);

/* ---- the environment ---- */

/* Somebody's environment, not owned, never changed. The first entry of a name counts, as in
   getenv(3). */
struct ni_env {
    char *const *entry; /* NULL-terminated */
};

/* The value of `name`, "" when set but empty, NULL when not set. */
const char *ni_env_get(const struct ni_env *env, const char *name);
/* Splits NAME=VALUE at the first '='. false when there is no '=' or no name. */
bool ni_env_split(const char *entry, struct ni_span *ret_name, const char **ret_value);

#endif
