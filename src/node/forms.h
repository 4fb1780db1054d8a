/* SPDX-License-Identifier: Apache-2.0 */
/* The forms of the kernel's files, each of them once: the probers read facts by them, and a masked
   recording keeps what has the form. No file is read here. */
#ifndef NCCL_INIT_NODE_FORMS_H
#define NCCL_INIT_NODE_FORMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nccl_init/base.h"
#include "nccl_init/known.h"
#include "nccl_init/text.h"

/* ---- words ---- */

/* The words that such a file can have, with '|' between them. */
extern const char ni_link_layers[], ni_gid_types[], ni_operstates[], ni_iommu_types[],
    ni_netns_modes[];
/* Returns true if s is one of such words. */
bool ni_is_one_of(struct ni_span s, const char *words);

/* ---- numbers ---- */

/* Parses a small file that holds one number. false: it does not have that form. */
typedef bool ni_parse_fn(const char *text, int64_t *ret);
/* Parse a number: of digits alone; with a sign or without; "0x15b3", with 4, 6 or 16 digits. */
bool ni_parse_int(struct ni_span s, int64_t max, int64_t *ret);
bool ni_parse_number(const char *text, int64_t *ret);
bool ni_parse_0x(const char *text, int64_t *ret);
/* Parses the number of "4: ACTIVE" (drivers/infiniband/core/sysfs.c state_show). */
bool ni_parse_state(const char *text, int64_t *ret);
/* Parses the rate of "400 Gb/sec (4X NDR)", "2.5 GT/s PCIe", in thousandths. */
bool ni_parse_rate(const char *text, int64_t *ret);
/* Parses the four groups of four hex digits at the end of a GUID or GID
   (drivers/infiniband/core/sysfs.c node_guid_show, show_port_gid). */
bool ni_parse_guid(const char *text, int64_t *ret);
/* Parses the whole seconds of "12345.67 ...". */
bool ni_parse_uptime(const char *text, int64_t *ret);
/* Parses the version of the kernel, "5.14.0-570.el9.x86_64". *ret_rest: what follows major and
   minor. */
bool ni_parse_kernel(struct ni_span text, unsigned *ret_major, unsigned *ret_minor,
                     struct ni_span *ret_rest);
/* Finds a number in a list of CPUs or NUMA nodes, "0-1,3" (lib/bitmap.c bitmap_print_to_pagebuf).
   ABSENT: the list has not got it; BAD: the text is no list. */
enum ni_known ni_find_in_list(struct ni_span list, int64_t number);
/* Parses "7", "unlimited" or "max"; anything else is NI_BAD. */
struct ni_num ni_num_of(struct ni_span word);

/* ---- lines ---- */

/* Cuts the first word off the line, between blanks and tabs. false: there is none. */
bool ni_cut_word(struct ni_span *line, struct ni_span *ret);
/* Splits a line into words, at most `most`. Returns their number. */
unsigned ni_split_line(struct ni_span line, struct ni_span word[], unsigned most);
bool ni_begins(struct ni_span s, const char *with);

/* The lines of proc/self/limits (fs/proc/base.c proc_pid_limits) and proc/self/status
   (fs/proc/array.c task_cap and others) that are read: a name, and so many numbers. "Uid:\t" has the
   real, effective, saved and file system's id; "NSpid:\t" the pids from the namespace of this /proc to
   the process's own. */
enum ni_self_line {
    NI_SELF_MEMLOCK,
    NI_SELF_UID,
    NI_SELF_PID,
    NI_SELF_NSPID,
    NI_SELF_NO_NEW_PRIVS,
    NI_SELF_SECCOMP,
    NI_SELF_CAP_INH,
    NI_SELF_CAP_PRM,
    NI_SELF_CAP_EFF,
    NI_SELF_CAP_BND,
    NI_SELF_CAP_AMB,
    NI_SELF_N
};
struct ni_self_form {
    const char *name;
    unsigned words; /* at most */
    bool hex;
};
extern const struct ni_self_form ni_self_lines[NI_SELF_N];

/* A line of proc/self/mountinfo: "25 24 0:23 / /dev/shm rw,nosuid shared:1 - tmpfs shm
   rw,size=65536k". */
struct ni_mount {
    struct ni_span point;
    bool nosuid;
    bool has_type, tmpfs; /* the hyphen is there; the type behind it is tmpfs */
    struct ni_num kib;    /* the size in the options, in KiB; ABSENT: they have none */
};
/* false: the kernel writes no such line. */
bool ni_parse_mount(struct ni_span line, struct ni_mount *ret);
/* Returns true if the mount point is the path or above it. */
bool ni_is_mount_of(struct ni_span point, const char *path);

/* The limits of the RDMA cgroup that are read, "hca_handle=" and "hca_object="
   (kernel/cgroup/rdma.c rdmacg_resource_read). */
enum ni_cgroup_limit { NI_CGROUP_HANDLES, NI_CGROUP_OBJECTS, NI_CGROUP_N };
extern const char *const ni_cgroup_limits[NI_CGROUP_N];

/* Returns true for a word of the kernel's command line that is about an IOMMU. */
bool ni_names_iommu(struct ni_span word);
/* Finds the address in a line of etc/hosts that has the name: "127.0.1.1 name alias # why". false: it
   has not. */
bool ni_parse_host(struct ni_span line, const char *name, struct ni_span *ret_ip);
/* A line of etc/passwd: "name:password:uid:gid:words:home:shell". */
struct ni_passwd_line {
    int64_t uid;
    struct ni_span home;
};
bool ni_parse_passwd(const char *line, struct ni_passwd_line *ret);
/* A line of proc/cpuinfo that is read: "vendor_id\t: GenuineIntel", "cpu family\t: 6",
   "model\t\t: 143" (arch/x86/kernel/cpu/proc.c show_cpuinfo). */
enum ni_cpu_line { NI_CPU_NO_LINE, NI_CPU_VENDOR, NI_CPU_FAMILY, NI_CPU_MODEL };
enum ni_cpu_line ni_parse_cpu_line(struct ni_span line, struct ni_span *ret_value);
/* The first words of the line of a port's traffic class that is forced for all (MLNX_OFED and DOCA
   only, mlx5_ib traffic_class_show). */
extern const char ni_global_tclass[];

/* ---- addresses and routes ---- */

/* A line of proc/net/fib_trie: "Main:", "Local:" or "Id 200:", then nodes "+-- 10.0.0.0/8 2 0 2" and
   leaves "|-- 10.0.103.6"; below a leaf its routes, "/32 host LOCAL" (net/ipv4/fib_trie.c
   fib_trie_seq_show). */
enum ni_fib_kind {
    NI_FIB_ODD, /* the kernel writes no such line */
    NI_FIB_EMPTY,
    NI_FIB_MAIN,
    NI_FIB_LOCAL,
    NI_FIB_POLICY, /* a table that only policy rules look up (`ip rule`) */
    NI_FIB_NODE,
    NI_FIB_LEAF,
    NI_FIB_ROUTE
};
struct ni_fib_line {
    struct ni_span text;      /* without the blanks before it */
    uint8_t ip[NI_GID_BYTES]; /* of a leaf */
};
/* Of a node and of a route only the first character is looked at: there are many. */
enum ni_fib_kind ni_parse_fib_line(struct ni_span line, struct ni_fib_line *ret);
/* Parses a route: length of the prefix, scope, type. One of a DSCP is followed by "tos=0x10". */
bool ni_parse_fib_route(struct ni_span text, struct ni_span word[3]);

/* Returns true for the heading of proc/net/route. */
bool ni_is_route_heading(struct ni_span line);
/* A line of proc/net/route: Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT
   (net/ipv4/fib_trie.c fib_route_seq_show). Addresses are in the CPU's order. */
struct ni_route_line {
    struct ni_span word[11];
    uint32_t dest, gateway, mask;
    uint64_t flags, metric;
};
bool ni_parse_route(struct ni_span line, struct ni_route_line *ret);
/* A line of proc/net/if_inet6: "fe80...0001 02 40 20 80 eth0" is address, ifindex, prefix length,
   scope, flags, name (net/ipv6/addrconf.c if6_seq_show). */
struct ni_address6_line {
    struct ni_span word[6];
    uint8_t ip[NI_GID_BYTES];
    uint64_t flags;
};
bool ni_parse_address6(struct ni_span line, struct ni_address6_line *ret);
/* A line of proc/net/ipv6_route: dest len src len nexthop metric refcnt use flags iface
   (net/ipv6/route.c ipv6_route_seq_show). A route may have no iface: word[9] is empty then. */
struct ni_route6_line {
    struct ni_span word[10];
    uint8_t dest[NI_GID_BYTES], gateway[NI_GID_BYTES];
    uint64_t len, metric, flags;
};
bool ni_parse_route6(struct ni_span line, struct ni_route6_line *ret);

/* ---- the driver of NVIDIA ---- */

/* A line of a GPU's `information` that is read: "Model: \t NVIDIA GB200", "GPU UUID: \t GPU-" and 36
   characters, `?` for each digit where the driver has not asked the GPU yet, "Device Minor: \t 3".
   A value of another form makes it none. */
enum ni_gpu_line { NI_GPU_NO_LINE, NI_GPU_MODEL, NI_GPU_UUID, NI_GPU_MINOR };
enum ni_gpu_line ni_parse_gpu_line(struct ni_span line, struct ni_span *ret_value);
/* Returns true if the text of proc/driver/nvidia/version is that of the open driver. */
bool ni_is_open_driver(struct ni_span text);
/* Returns true for the line of proc/driver/nvidia/params that lets GPUs write into other devices'
   registers. */
bool ni_maps_peers(struct ni_span line);

#endif
