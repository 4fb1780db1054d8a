#!/bin/bash
# Stock SoftRoCE, real sysfs: plan and env against what the kernel and rdma-core say of the same devices.
# hardware: nics=3
# seconds: 20
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=/dev/null
. /lab/lib

# agree WHAT HCA...: these are in the plan and no others, as `rdma link` has them; each GID chosen stands at its index,
# is v2, and is an address that its interface has.
agree() {
    local what=$1 kept name index address on gid all
    shift
    all=$*
    # shellcheck disable=SC2016 # the dollar is jq's
    plan '.hcas[] | .name as $name | .ports[] | select(.kept) | "\($name) \(.gid.index) \(.gid.address) \(.gid.netdev)"' >/tmp/kept
    kept=$(cut -d ' ' -f 1 /tmp/kept | sort | xargs)
    same "$what: ports in use" "$all" "$kept"
    same "$what: rdma link has them ACTIVE" "$all" \
        "$(rdma link | sed -n 's|^link \([^/]*\)/1 state ACTIVE.*|\1|p' | grep -xE "${all// /|}" | sort | xargs)"
    while read -r name index address on; do
        case $address in
        *:*) gid=$address ;;
        *) gid=::ffff:$address ;;
        esac
        same "$what: $name's GID $index" "$index $gid v2 $on" "$(gids "$name" | grep "^$index ")"
        matches "$what: $on has $address" "* $address/*" "$(ip -o addr show dev "$on")"
    done </tmp/kept
}

stock
echo 1 >/proc/sys/net/ipv4/conf/all/promote_secondaries # else the second address goes with the first
up eth0 10.1.0.1/24
up eth1 10.2.0.1/24
ip -6 route add default via fe80::1 dev eth0
rxe rxe0 eth0
rxe rxe1 eth1

section "two NICs, an IPv4 address each"
agree "two NICs" rxe0 rxe1
same "transport" 0 "$(setting NCCL_IB_DISABLE)"
same "HCAs" "=rxe0:1,rxe1:1" "$(setting NCCL_IB_HCA)"
# two networks without a route between them: the default route reaches each pod
same "interfaces" "=eth0" "$(setting NCCL_SOCKET_IFNAME)"
index=$(gid_index rxe0 ::ffff:10.1.0.1 v2 eth0)
same "both tables have it at" "$index" "$(gid_index rxe1 ::ffff:10.2.0.1 v2 eth1)"
same "GID index" "$index" "$(setting NCCL_IB_GID_INDEX)"
record two-nics

section "a second address, a VLAN, a macvlan: more rows in the same table"
ip addr add 10.1.0.2/24 dev eth0
ip link add link eth0 name eth0.100 type vlan id 100
up eth0.100 10.3.0.1/24
ip link add link eth0 name mv0 type macvlan mode bridge
up mv0 10.4.0.1/24
listed() {
    [ -n "$(gid_index rxe0 ::ffff:10.4.0.1 v2 mv0)" ]
}
wait_for 60 listed
matches "the VLAN is in eth0's table" "[0-9]*" "$(gid_index rxe0 ::ffff:10.3.0.1 v2 eth0.100)"
matches "the macvlan is in eth0's table" "[0-9]*" "$(gid_index rxe0 ::ffff:10.4.0.1 v2 mv0)"
agree "more rows" rxe0 rxe1
same "the GID in use is eth0's own" eth0 "$(plan '.hcas[] | select(.name == "rxe0").ports[0].gid.netdev')"
same "GID index" "$index" "$(setting NCCL_IB_GID_INDEX)"
record more-rows

section "the address is removed, and another one added: order is history"
ip addr del 10.1.0.1/24 dev eth0
agree "removed" rxe0 rxe1
same "the other address is used" 10.1.0.2 "$(plan '.hcas[] | select(.name == "rxe0").ports[0].gid.address')"
differ "GID index" "$index" "$(setting NCCL_IB_GID_INDEX)"
same "nothing at the old index" "" "$(gids rxe0 | grep "^$index ")"
record hole
ip addr add 10.1.0.9/24 dev eth0
same "the new address fills the hole" "$index" "$(gid_index rxe0 ::ffff:10.1.0.9 v2 eth0)"
agree "added" rxe0 rxe1
same "GID index" "$index" "$(setting NCCL_IB_GID_INDEX)"

section "a port that is down"
ip link set eth1 down
inactive() {
    ! active "$1"
}
wait_for 60 inactive rxe1
agree "one down" rxe0
same "HCAs" "=rxe0:1" "$(setting NCCL_IB_HCA)"
rdma link delete rxe1

section "IPv6 only"
rdma link delete rxe0
for link in mv0 eth0.100; do ip link delete $link; done
ip link set eth0 down
up eth2 fd00:1::1/64
rxe rxe2 eth2
agree "IPv6" rxe2
same "address family" AF_INET6 "$(setting NCCL_IB_ADDR_FAMILY)"
same "GID index" "$(gid_index rxe2 fd00:1::1 v2 eth2)" "$(setting NCCL_IB_GID_INDEX)"
record ipv6
finish
