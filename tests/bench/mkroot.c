/* SPDX-License-Identifier: Apache-2.0 */
/* mkroot [-n HCAS] [-g GIDS] [-a ALLOCATED] DIR: a GPU node as plain files and links below DIR (which must be there),
   and on stdout the environment, one K=V a line, of a pod on it.

   The node is tests/nodes/h100-12dev.tree made to measure: four rails, each with a switch that a ConnectX-7 PF, its VFs and,
   below a second switch, a GPU share. HCA h is on rail h % 4; 0 to 3 are the PFs, 4 to 3 + ALLOCATED are the pod's VFs
   net1, net2, ..., and the rest belongs to other pods. The pod network is eth0, with the default route. Every table has GIDS entries: link-local v1 and v2, IPv4 v1 and
   v2, then empty ones. gid_attrs has no file for an empty entry, where the kernel's fails with EINVAL. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RAILS = 4, FIRST_VF_FN = 2, MAX_HCAS = RAILS * 255, TEXT = 512 };

static const unsigned rail_bus[RAILS] = {0x00, 0x20, 0xa0, 0xc0};

struct node {
    unsigned hcas, gids, allocated;
};

struct hca {
    unsigned rail, slot; /* slot 0: the PF */
    char bdf[16], dir[TEXT], ndev[16];
    unsigned ip[4];
    int pod; /* which of the pod's, -1 */
};

static void die(const char *what)
{
    fprintf(stderr, "mkroot: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* Makes the directories in front of the last component. */
static void make_parents(const char *path)
{
    char part[2 * TEXT];

    snprintf(part, sizeof(part), "%s", path);
    for (char *p = strchr(part, '/'); p; p = strchr(p + 1, '/')) {
        *p = '\0';
        if (mkdir(part, 0755) < 0 && errno != EEXIST)
            die(part);
        *p = '/';
    }
}

static void put_text(const char *path, const char *text)
{
    size_t n = strlen(text);

    make_parents(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, text, n) != (ssize_t)n || close(fd) < 0)
        die(path);
}

__attribute__((format(printf, 3, 4))) static void put(const char *dir, const char *name,
                                                      const char *fmt, ...)
{
    char path[2 * TEXT], text[TEXT];
    va_list ap;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    put_text(path, text);
}

__attribute__((format(printf, 3, 4))) static void put_link(const char *dir, const char *name,
                                                           const char *fmt, ...)
{
    char path[2 * TEXT], target[TEXT];
    va_list ap;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    va_start(ap, fmt);
    vsnprintf(target, sizeof(target), fmt, ap);
    va_end(ap);
    make_parents(path);
    if (symlink(target, path) < 0)
        die(path);
}

/* ---- PCI ---- */

/* dir: below sys/devices */
static void put_function(const char *dir, const char *bdf, unsigned rail, unsigned vendor,
                         unsigned device, unsigned class)
{
    char path[TEXT + 16];

    snprintf(path, sizeof(path), "sys/devices/%s", dir);
    put(path, "vendor", "0x%04x\n", vendor);
    put(path, "device", "0x%04x\n", device);
    put(path, "class", "0x%06x\n", class);
    put(path, "numa_node", "%u\n", rail / 2);
    put_link("sys/bus/pci/devices", bdf, "../../../devices/%s", dir);
}

/* Adds one function below dir, and to it. */
static void put_bridge(char dir[TEXT], unsigned rail, unsigned bus, unsigned dev, unsigned fn)
{
    char bdf[16];
    size_t n = strlen(dir);

    snprintf(bdf, sizeof(bdf), "0000:%02x:%02x.%x", bus & 0xff, dev & 0x1f, fn & 7);
    snprintf(dir + n, TEXT - n, "/%s", bdf);
    put_function(dir, bdf, rail, 0x11f8, 0x5100, 0x060400);
}

/* The bridges of a rail and its GPU; nic: the downstream port above the PF and its VFs. */
static void put_rail(unsigned rail, char nic[TEXT])
{
    unsigned bus = rail_bus[rail];
    char gpu[TEXT], bdf[16], name[64];

    snprintf(nic, TEXT, "pci0000:%02x", bus);
    put_bridge(nic, rail, bus, 1, 1);     /* root port */
    put_bridge(nic, rail, bus + 1, 0, 0); /* switch, upstream */
    memcpy(gpu, nic, TEXT);
    put_bridge(nic, rail, bus + 2, 0, 0);
    put_bridge(gpu, rail, bus + 2, 1, 0);
    put_bridge(gpu, rail, bus + 4, 0, 0);
    put_bridge(gpu, rail, bus + 5, 0, 0);
    snprintf(bdf, sizeof(bdf), "0000:%02x:00.0", (bus + 6) & 0xff);
    size_t n = strlen(gpu);
    snprintf(gpu + n, TEXT - n, "/%s", bdf);
    put_function(gpu, bdf, rail, 0x10de, 0x2330, 0x030200);
    snprintf(name, sizeof(name), "proc/driver/nvidia/gpus/%s", bdf);
    put(name, "information", "Model: \t\t NVIDIA H100 80GB HBM3\nDevice Minor: \t %u\n", rail);
    snprintf(name, sizeof(name), "nvidia%u", rail);
    put("dev", name, "%s", "");
}

/* ---- HCAs ---- */

static void describe(const struct node *node, unsigned at, const char *nic_dir, struct hca *h)
{
    h->rail = at % RAILS;
    h->slot = at / RAILS;
    h->pod = at >= RAILS && at < RAILS + node->allocated ? (int)(at - RAILS) : -1;
    unsigned devfn = h->slot == 0 ? 0 : h->slot - 1 + FIRST_VF_FN;
    snprintf(h->bdf, sizeof(h->bdf), "0000:%02x:%02x.%x", (rail_bus[h->rail] + 3) & 0xff,
             devfn / 8 & 0x1f, devfn % 8);
    snprintf(h->dir, sizeof(h->dir), "%.400s/%s", nic_dir, h->bdf);
    const unsigned pod_ip[4] = {10, 0, 100 + (unsigned)h->pod, 6};
    const unsigned other_ip[4] = {10, 1 + at / 256, at % 256, 9};
    memcpy(h->ip, h->pod >= 0 ? pod_ip : other_ip, sizeof(h->ip));
    if (h->pod >= 0)
        snprintf(h->ndev, sizeof(h->ndev), "net%d", h->pod + 1);
    else
        snprintf(h->ndev, sizeof(h->ndev), "eno%uv%u", 5 + h->rail, h->slot % 1000);
}

/* The empty entries are one file with many names, so that a thousand tables fit into memory. */
static void put_gids(const struct node *node, const struct hca *h, const char *port, unsigned at)
{
    char gids[3 * TEXT], path[4 * TEXT], first[4 * TEXT], name[32];

    snprintf(gids, sizeof(gids), "%s/gids", port);
    for (unsigned i = 0; i < 4; i++) {
        snprintf(name, sizeof(name), "%u", i);
        if (i < 2)
            put(gids, name, "fe80:0000:0000:0000:f08e:cbff:fe95:%04x\n", at);
        else
            put(gids, name, "0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x\n", h->ip[0], h->ip[1],
                h->ip[2], h->ip[3]);
        snprintf(name, sizeof(name), "gid_attrs/types/%u", i);
        put(port, name, i % 2 ? "RoCE v2\n" : "IB/RoCE v1\n");
        snprintf(name, sizeof(name), "gid_attrs/ndevs/%u", i);
        put(port, name, "%s\n", h->ndev);
    }
    put(gids, "4", "0000:0000:0000:0000:0000:0000:0000:0000\n");
    snprintf(first, sizeof(first), "%s/4", gids);
    for (unsigned i = 5; i < node->gids; i++) {
        snprintf(path, sizeof(path), "%s/%u", gids, i);
        if (link(first, path) < 0)
            die(path);
    }
}

static void put_rdma(const struct node *node, const struct hca *h, unsigned at)
{
    char name[32], path[2 * TEXT], port[2 * TEXT + 16];

    snprintf(name, sizeof(name), "mlx5_%u", at);
    snprintf(path, sizeof(path), "sys/devices/%s/infiniband/%s", h->dir, name);
    put_link(path, "device", "../../../%s", h->bdf);
    put(path, "node_type", "1: CA\n");
    put(path, "node_guid", "a088:c203:0027:%04x\n", at);
    put(path, "node_desc", "MT4126 ConnectX Family\n");
    put(path, "fw_ver", "28.37.1014\n");
    put(path, "hca_type", "MT4126\n");
    put_link("sys/class/infiniband", name, "../../devices/%s/infiniband/%s", h->dir, name);
    snprintf(port, sizeof(port), "%s/ports/1", path);
    put(port, "state", "4: ACTIVE\n");
    put(port, "phys_state", "5: LinkUp\n");
    put(port, "link_layer", "Ethernet\n");
    put(port, "rate", "400 Gb/sec (4X NDR)\n");
    put(port, "lid", "0x0\n");
    put_gids(node, h, port, at);

    snprintf(name, sizeof(name), "uverbs%u", at);
    snprintf(path, sizeof(path), "sys/devices/%s/infiniband_verbs/%s", h->dir, name);
    put(path, "ibdev", "mlx5_%u\n", at);
    put_link("sys/class/infiniband_verbs", name, "../../devices/%s/infiniband_verbs/%s", h->dir,
             name);
    if (h->pod >= 0)
        put("dev/infiniband", name, "%s", "");
}

/* Netdevs of other namespaces are not to be seen. */
static void put_netdev(const struct hca *h)
{
    char path[2 * TEXT];

    if (h->pod < 0)
        return;
    snprintf(path, sizeof(path), "sys/devices/%s/net/%s", h->dir, h->ndev);
    put(path, "operstate", "up\n");
    put(path, "carrier", "1\n");
    put(path, "mtu", "9000\n");
    put(path, "ifindex", "%d\n", 38 + h->pod);
    put_link(path, "device", "../../../%s", h->bdf);
    put_link("sys/class/net", h->ndev, "../../devices/%s/net/%s", h->dir, h->ndev);
}

static void put_hca(const struct node *node, const struct hca *h, unsigned at)
{
    char path[2 * TEXT];

    put_function(h->dir, h->bdf, h->rail, 0x15b3, h->slot ? 0x101e : 0x1021, 0x020000);
    snprintf(path, sizeof(path), "sys/devices/%s", h->dir);
    if (h->slot > 0)
        put_link(path, "physfn", "../0000:%02x:00.0", rail_bus[h->rail] + 3);
    put_rdma(node, h, at);
    put_netdev(h);
}

/* ---- the rest of the node ---- */

/* The pod network's, one end of a veth pair. */
static void put_eth0(void)
{
    const char *path = "sys/devices/virtual/net/eth0";

    put(path, "operstate", "up\n");
    put(path, "carrier", "1\n");
    put(path, "mtu", "1450\n");
    put(path, "ifindex", "2\n");
    put_link("sys/class/net", "eth0", "../../devices/virtual/net/eth0");
}

static void put_net(const struct node *node, const struct hca *pod)
{
    FILE *fib = fopen("proc/net/fib_trie", "we"), *route = fopen("proc/net/route", "we"),
         *inet6 = fopen("proc/net/if_inet6", "we");
    static const char *const tables[] = {"Main", "Local"};

    if (!fib || !route || !inet6)
        die("proc/net");
    for (unsigned t = 0; t < 2; t++) {
        fprintf(fib, "%s:\n  +-- 0.0.0.0/0 3 0 5\n", tables[t]);
        fprintf(fib, "     +-- 127.0.0.0/8 2 0 2\n        |-- 127.0.0.1\n"
                     "           /32 host LOCAL\n");
        fprintf(fib, "     +-- 10.128.2.0/23 2 0 2\n        +-- 10.128.2.0/29 2 0 2\n"
                     "           |-- 10.128.2.0\n              /23 link UNICAST\n"
                     "           |-- 10.128.2.7\n              /32 host LOCAL\n");
        for (unsigned i = 0; i < node->allocated; i++) {
            const unsigned *ip = pod[i].ip;
            fprintf(fib,
                    "     +-- %u.%u.%u.0/24 2 0 2\n        +-- %u.%u.%u.0/29 2 0 2\n"
                    "           |-- %u.%u.%u.0\n              /24 link UNICAST\n"
                    "           |-- %u.%u.%u.%u\n              /32 host LOCAL\n"
                    "        |-- %u.%u.%u.255\n           /32 link BROADCAST\n",
                    ip[0], ip[1], ip[2], ip[0], ip[1], ip[2], ip[0], ip[1], ip[2], ip[0], ip[1],
                    ip[2], ip[3], ip[0], ip[1], ip[2]);
        }
    }
    fprintf(route, "%-127s\n",
            "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT");
    fprintf(route, "eth0\t00000000\t0102800A\t0003\t0\t0\t0\t00000000\t0\t0\t0\n");
    fprintf(route, "eth0\t0002800A\t00000000\t0001\t0\t0\t0\t00FEFFFF\t0\t0\t0\n");
    fprintf(inet6, "00000000000000000000000000000001 01 80 10 80       lo\n");
    fprintf(inet6, "fe80000000000000085800fffe800207 02 40 20 80     eth0\n");
    for (unsigned i = 0; i < node->allocated; i++) {
        fprintf(route, "%s\t00%02X%02X%02X\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n",
                pod[i].ndev, pod[i].ip[2], pod[i].ip[1], pod[i].ip[0]);
        fprintf(inet6, "fe80000000000000f08ecbfffe95%04x %02x 40 20 80 %8s\n", RAILS + i, 38 + i,
                pod[i].ndev);
    }
    if (fclose(fib) != 0 || fclose(route) != 0 || fclose(inet6) != 0)
        die("proc/net");
}

static void put_container(void)
{
    put("proc/self", "limits", "%-26s%-21s%-21s%-10s\n%-26s%-21s%-21s%-10s\n%-26s%-21s%-21s%-10s\n",
        "Limit", "Soft Limit", "Hard Limit", "Units", "Max open files", "1048576", "1048576",
        "files", "Max locked memory", "unlimited", "unlimited", "bytes");
    put("proc/self", "status",
        "Name:\tnccl-init\nUmask:\t0022\nState:\tR (running)\nTgid:\t1\nPid:\t1\nPPid:\t0\n"
        "CapInh:\t0000000000000000\nCapPrm:\t00000000010045fb\nCapEff:\t00000000010045fb\n"
        "CapBnd:\t00000000010045fb\nCapAmb:\t0000000000000000\nNoNewPrivs:\t0\nSeccomp:\t2\n");
    put("proc/sys/kernel", "osrelease", "5.14.0-570.76.1.el9_6.x86_64\n");
    put("proc/driver/nvidia", "version",
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.124.06  Release Build\n"
        "GCC version:  gcc version 11.5.0\n");
    put("dev", "nvidiactl", "%s", "");
    put("dev", "nvidia-uvm", "%s", "");
    put("proc/net", "dev", "%s", "");
    put("sys/module/ib_core/parameters", "netns_mode", "Y\n");
}

/* One resource per rail, as sriov-network-device-plugin 3.10 and later describes it. */
static void print_env(const struct node *node, const struct hca *pod)
{
    puts("PATH=/usr/local/bin:/usr/bin:/bin\nHOSTNAME=trainer-0\nHOME=/root\n"
         "NVIDIA_VISIBLE_DEVICES=all");
    for (unsigned rail = 0; rail < RAILS && rail < node->allocated; rail++) {
        printf("PCIDEVICE_OPENSHIFT_IO_RAIL%u=", rail);
        for (unsigned i = rail; i < node->allocated; i += RAILS)
            printf("%s%s", i == rail ? "" : ",", pod[i].bdf);
        printf("\nPCIDEVICE_OPENSHIFT_IO_RAIL%u_INFO={", rail);
        for (unsigned i = rail; i < node->allocated; i += RAILS)
            printf("%s\"%s\":{\"generic\":{\"deviceID\":\"%s\"},\"rdma\":{"
                   "\"issm\":\"/dev/infiniband/issm%u\",\"rdma_cm\":\"/dev/infiniband/rdma_cm\","
                   "\"rdma_dev\":\"mlx5_%u\",\"umad\":\"/dev/infiniband/umad%u\","
                   "\"uverbs\":\"/dev/infiniband/uverbs%u\"}}",
                   i == rail ? "" : ",", pod[i].bdf, pod[i].bdf, RAILS + i, RAILS + i, RAILS + i,
                   RAILS + i);
        puts("}");
    }
}

static unsigned number(const char *text, unsigned low, unsigned high)
{
    char *end;
    unsigned long n = strtoul(text, &end, 10);

    if (*end || n < low || n > high) {
        fprintf(stderr, "mkroot: %s: not a number from %u to %u\n", text, low, high);
        exit(1);
    }
    return (unsigned)n;
}

int main(int argc, char *argv[])
{
    struct node node = {.hcas = 20, .gids = 256, .allocated = 4};
    static struct hca pod[128];
    char nic[RAILS][TEXT];
    int c;

    while ((c = getopt(argc, argv, "n:g:a:")) != -1) {
        if (c == 'n')
            node.hcas = number(optarg, RAILS, MAX_HCAS);
        else if (c == 'g')
            node.gids = number(optarg, 5, 4096);
        else if (c == 'a')
            node.allocated = number(optarg, 1, 128);
        else
            return 1;
    }
    if (optind + 1 != argc || node.hcas < RAILS + node.allocated) {
        fprintf(stderr, "usage: mkroot [-n HCAS] [-g GIDS] [-a ALLOCATED] DIR\n");
        return 1;
    }
    if (chdir(argv[optind]) < 0)
        die(argv[optind]);
    put_container();
    for (unsigned rail = 0; rail < RAILS; rail++)
        put_rail(rail, nic[rail]);
    for (unsigned at = 0; at < node.hcas; at++) {
        struct hca h;
        describe(&node, at, nic[at % RAILS], &h);
        put_hca(&node, &h, at);
        if (h.pod >= 0)
            pod[h.pod] = h;
    }
    put_eth0();
    put_net(&node, pod);
    print_env(&node, pod);
    return fflush(stdout) != 0;
}
