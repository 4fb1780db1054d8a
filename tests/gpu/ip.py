#!/usr/bin/env python3
"""The few commands of iproute2's ip that tests/gpu/run needs, for machines that have no ip.

ip.py link add NAME type KIND [peer name PEER]
ip.py link set NAME [netns PID] [name NAME] [master NAME] [up]
ip.py address add ADDRESS/PREFIX dev NAME
ip.py route add default via ADDRESS
"""
# SPDX-License-Identifier: Apache-2.0
import os
import socket
import struct
import sys

# linux/rtnetlink.h, linux/netlink.h, linux/if_link.h, linux/if_addr.h, linux/veth.h
RTM_NEWLINK, RTM_NEWADDR, RTM_NEWROUTE = 16, 20, 24
REQUEST_ACK, CREATE_EXCL = 0x5, 0x600
IFLA_IFNAME, IFLA_MASTER, IFLA_LINKINFO, IFLA_NET_NS_PID = 3, 10, 18, 19
IFLA_INFO_KIND, IFLA_INFO_DATA, VETH_INFO_PEER = 1, 2, 1
IFA_ADDRESS, IFA_LOCAL, RTA_GATEWAY = 1, 2, 5
IFF_UP, RT_TABLE_MAIN, RTPROT_BOOT, RTN_UNICAST = 1, 254, 3, 1


def attribute(kind, data):
    return struct.pack("HH", 4 + len(data), kind) + data + bytes(-len(data) % 4)


def name_attribute(name):
    return attribute(IFLA_IFNAME, name.encode() + b"\0")


def link_header(index=0, flags=0, change=0):
    return struct.pack("BxHiII", socket.AF_UNSPEC, 0, index, flags, change)


def send(kind, flags, body):
    """One request; what the kernel refuses ends the program."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as rtnetlink:
        rtnetlink.send(struct.pack("IHHII", 16 + len(body), kind, REQUEST_ACK | flags, 1, 0) + body)
        error = -struct.unpack_from("i", rtnetlink.recv(4096), 16)[0]
    if error:
        sys.exit(f"ip.py {' '.join(sys.argv[1:])}: {os.strerror(error)}")


def link_add(name, kind, peer=None):
    info = attribute(IFLA_INFO_KIND, kind.encode())
    if peer:
        info += attribute(IFLA_INFO_DATA, attribute(VETH_INFO_PEER, link_header() + name_attribute(peer)))
    send(RTM_NEWLINK, CREATE_EXCL, link_header() + name_attribute(name) + attribute(IFLA_LINKINFO, info))


def link_set(name, words):
    flags = 0
    attributes = b""
    while words:
        word = words.pop(0)
        if word == "up":
            flags = IFF_UP
        elif word == "netns":
            attributes += attribute(IFLA_NET_NS_PID, struct.pack("I", int(words.pop(0))))
        elif word == "name":
            attributes += name_attribute(words.pop(0))
        elif word == "master":
            attributes += attribute(IFLA_MASTER, struct.pack("I", socket.if_nametoindex(words.pop(0))))
        else:
            sys.exit(__doc__)
    send(RTM_NEWLINK, 0, link_header(socket.if_nametoindex(name), flags, flags) + attributes)


def address_add(address, name):
    host, prefix = address.split("/")
    packed = socket.inet_aton(host)
    header = struct.pack("BBBBi", socket.AF_INET, int(prefix), 0, 0, socket.if_nametoindex(name))
    send(RTM_NEWADDR, CREATE_EXCL, header + attribute(IFA_LOCAL, packed) + attribute(IFA_ADDRESS, packed))


def route_add(gateway):
    header = struct.pack("BBBBBBBBI", socket.AF_INET, 0, 0, 0, RT_TABLE_MAIN, RTPROT_BOOT, 0, RTN_UNICAST, 0)
    send(RTM_NEWROUTE, CREATE_EXCL, header + attribute(RTA_GATEWAY, socket.inet_aton(gateway)))


def main(words):
    match words:
        case ["link", "add", name, "type", kind]:
            link_add(name, kind)
        case ["link", "add", name, "type", kind, "peer", "name", peer]:
            link_add(name, kind, peer)
        case ["link", "set", name, *rest]:
            link_set(name, rest)
        case ["address", "add", address, "dev", name]:
            address_add(address, name)
        case ["route", "add", "default", "via", gateway]:
            route_add(gateway)
        case _:
            sys.exit(__doc__)


main(sys.argv[1:])
