/* SPDX-License-Identifier: Apache-2.0 */
/* Neighbours: the kernel is made to look for them, and which MAC address it has for an address, asked
   by rtnetlink (since Linux 5.0 for one entry, net/core/neighbour.c neigh_get; before that it is not
   known). */
#include "rail/neighbour.h"

#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "nccl_init/ip.h"
#include "nccl_init/text.h"

enum { MAC_BYTES = 6, IP4_BYTES = 4, ANSWER = 4096, DISCARD_PORT = 9 };

static uint64_t number_of(const uint8_t mac[MAC_BYTES])
{
    uint64_t n = 0;

    for (unsigned i = 0; i < MAC_BYTES; i++)
        n = n << 8 | mac[i];
    return n;
}

uint64_t ni_own_mac(const char *netdev)
{
    struct ifreq ask = {.ifr_ifindex = 0};
    uint8_t mac[MAC_BYTES];
    uint64_t ret = 0;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return 0;
    (void)ni_copy(ask.ifr_name, sizeof(ask.ifr_name), netdev);
    if (ioctl(fd, SIOCGIFHWADDR, &ask) == 0 && ask.ifr_hwaddr.sa_family == ARPHRD_ETHER) {
        memcpy(mac, ask.ifr_hwaddr.sa_data, sizeof(mac));
        ret = number_of(mac);
    }
    (void)close(fd);
    return ret;
}

/* Returns the MAC address in the kernel's answer of n bytes; 0: there is none. */
static uint64_t mac_in(const uint8_t *answer, size_t n)
{
    struct nlmsghdr head;
    struct rtattr attr;
    uint8_t mac[MAC_BYTES];
    size_t at = NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(struct ndmsg));

    if (n < at)
        return 0;
    memcpy(&head, answer, sizeof(head));
    if (head.nlmsg_type != RTM_NEWNEIGH)
        return 0;
    while (at + sizeof(attr) <= n) {
        memcpy(&attr, answer + at, sizeof(attr));
        if (attr.rta_len < sizeof(attr) || attr.rta_len > n - at)
            return 0;
        if (attr.rta_type == NDA_LLADDR && attr.rta_len == RTA_LENGTH(MAC_BYTES)) {
            memcpy(mac, answer + at + RTA_LENGTH(0), sizeof(mac));
            return number_of(mac);
        }
        at += RTA_ALIGN(attr.rta_len);
    }
    return 0;
}

uint64_t ni_neighbour_mac(const char *netdev, const uint8_t gid[NI_GID_BYTES])
{
    const bool v4 = ni_ip_is_v4(gid);
    const size_t bytes = v4 ? IP4_BYTES : NI_GID_BYTES;
    struct {
        struct nlmsghdr head;
        struct ndmsg neighbour;
        struct rtattr attr;
        uint8_t ip[NI_GID_BYTES];
    } ask = {
        .head = {.nlmsg_type = RTM_GETNEIGH, .nlmsg_flags = NLM_F_REQUEST},
        .neighbour = {.ndm_family = v4 ? AF_INET : AF_INET6,
                      .ndm_ifindex = (int)if_nametoindex(netdev)},
        .attr = {.rta_type = NDA_DST, .rta_len = (unsigned short)RTA_LENGTH(bytes)},
    };
    const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    uint8_t answer[ANSWER];
    ssize_t n = -1;
    const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

    if (fd < 0)
        return 0;
    memcpy(ask.ip, gid + NI_GID_BYTES - bytes, bytes);
    ask.head.nlmsg_len =
        (uint32_t)(NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(ask.neighbour)) + RTA_LENGTH(bytes));
    if (sendto(fd, &ask, ask.head.nlmsg_len, 0, (const void *)&kernel, sizeof(kernel)) > 0)
        n = recv(fd, answer, sizeof(answer), MSG_DONTWAIT); /* it has answered within sendto */
    (void)close(fd);
    return n > 0 ? mac_in(answer, (size_t)n) : 0;
}

void ni_warm_neighbour(const char *netdev, const uint8_t gid[NI_GID_BYTES])
{
    const bool v4 = ni_ip_is_v4(gid); /* as a mapped address it needs IPv6, and bindv6only=0 */
    struct sockaddr_in to4 = {.sin_family = AF_INET, .sin_port = htons(DISCARD_PORT)};
    struct sockaddr_in6 to6 = {.sin6_family = AF_INET6, .sin6_port = htons(DISCARD_PORT)};
    const void *to = v4 ? (const void *)&to4 : &to6;
    int fd = socket(v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return;
    memcpy(&to4.sin_addr, gid + NI_GID_BYTES - sizeof(to4.sin_addr), sizeof(to4.sin_addr));
    memcpy(&to6.sin6_addr, gid, NI_GID_BYTES);
    /* without CAP_NET_RAW since Linux 5.7 */
    if (setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, netdev, (socklen_t)strlen(netdev)) == 0)
        (void)sendto(fd, "", 1, 0, to, v4 ? sizeof(to4) : sizeof(to6));
    (void)close(fd);
}
