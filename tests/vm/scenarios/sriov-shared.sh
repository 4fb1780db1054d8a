#!/bin/bash
# Two pods whose RDMA devices are not separated: each sees both HCAs, and in both tables the interface is called net1.
# As OCI containers with the node of their own HCA, told by PCIDEVICE_*, then by less. Their indexes differ.
# hardware: igb wire
# seconds: 55
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=/dev/null
. /lab/lib
vfs=()

like_mlx5
make_vfs 0000:01:00.0 2
declare -A function=([podA]=${vfs[0]} [podB]=${vfs[1]}) index
declare -A hca=([podA]=mlx5_2 [podB]=mlx5_3) node=([podA]=uverbs0 [podB]=uverbs1)
for pod in podA podB; do pod $pod "$(netdev_of "${function[$pod]}")=net1"; done
in_pod podA up net1
in_pod podB up net1 10.5.0.9/32
for pod in podA podB; do in_pod $pod rxe "${hca[$pod]}" net1; done
in_pod podA up net1 10.5.0.1/24
in_pod podB up net1 10.5.0.2/24
in_pod podB ip addr del 10.5.0.9/32 dev net1 # leaves a hole

section "the tables"
index[podA]=$(in_pod podA gid_index mlx5_2 ::ffff:10.5.0.1 v2 net1)
index[podB]=$(in_pod podB gid_index mlx5_3 ::ffff:10.5.0.2 v2 net1)
differ "podB's index" "${index[podA]}" "${index[podB]}"
same "podA sees" "mlx5_2 mlx5_3" "$(in_pod podA ls /sys/class/infiniband | xargs)"
same "the interface of podB's entry, in podA" net1 \
    "$(in_pod podA value "/sys/class/infiniband/mlx5_3/ports/1/gid_attrs/ndevs/${index[podB]}")"

# What the device plugin tells of a VF
info() { # BDF RDMA-DEVICE NODE
    jq -cn --arg bdf "$1" --arg dev "$2" --arg node "/dev/infiniband/$3" '{($bdf): {generic: {deviceID: $bdf},
        rdma: {rdma_cm: "/dev/infiniband/rdma_cm", rdma_dev: $dev, uverbs: $node}}}'
}

# In the container; starting one for each plan would take longer.
mkdir /lab/plans
cat >/lab/look <<'EOF'
pod=$1 stale=$2 foreign=$3
cd /lab/plans
P=/lab/nccl-init
$P env --format=docker >/lab/env.$pod
$P plan --json >$pod.list
case $pod in
podA) # more ways to tell it
    env -u PCIDEVICE_LAB_RAIL $P plan --json >$pod.info
    PCIDEVICE_LAB_RAIL_INFO=$stale $P plan --json >$pod.stale
    $P plan --json --hcas=$foreign >$pod.foreign
    ;;
podB)
    $P snapshot --mask -o /lab/out/pod.tree
    for verb in plan doctor topo; do $P $verb --all >/lab/out/pod.$verb; done
    ;;
esac
unset PCIDEVICE_LAB_RAIL PCIDEVICE_LAB_RAIL_INFO
$P plan --json >$pod.uverbs
rm /dev/infiniband/uverbs*
$P plan --json >$pod.netdev
EOF

# The plans of /lab/plans whose names begin so, in lines: "NAME: SOURCE HCA INDEX INTERFACE" for each HCA in use,
# "NAME finding ID SUBJECT".
read_plans() { # NAME
    jq -r '(input_filename | sub(".*/"; "")) as $plan |
        (.source as $source | .hcas[] | .name as $name | .ports[] | select(.kept) |
            "\($plan): \($source) \($name) \(.gid.index) \(.gid.netdev)"),
        (.findings[] | select(.id | test("^alloc|^gid")) | "\($plan) finding \(.id) \(.subject)")' /lab/plans/"$1"* >/tmp/plans
}
findings() { # NAME
    sed -n "s/^$1 finding //p" /tmp/plans | xargs
}

for pod in podA podB; do
    section "$pod as a container"
    other=$([ $pod = podA ] && echo podB || echo podA)
    bdf=${function[$pod]}
    mine="${hca[$pod]} ${index[$pod]} net1"
    container $pod --device="${node[$pod]}" --device=rdma_cm --memlock=unlimited --env=PCIDEVICE_LAB_RAIL="$bdf" \
        --env=PCIDEVICE_LAB_RAIL_INFO="$(info "$bdf" "${hca[$pod]}" "${node[$pod]}")" -- \
        bash /lab/look $pod "$(info "$bdf" "${hca[$other]}" "${node[$other]}")" "${hca[$other]}"
    read_plans $pod
    same "settings" "NCCL_IB_GID_INDEX=${index[$pod]} NCCL_IB_HCA==${hca[$pod]}:1 NCCL_SOCKET_IFNAME==net1" \
        "$(grep -E 'HCA|INDEX|IFNAME' /lab/env.$pod | sort | xargs)"
    for way in "list pcidevice" "uverbs uverbs" "netdev netdev"; do
        same "plan by ${way% *}" "${way#* } $mine" "$(sed -n "s/^$pod.${way% *}: //p" /tmp/plans)"
    done
    same "nothing is wrong with what gave the HCA" "" "$(findings "$pod.\(list\|uverbs\)")"
    same "the VFs are of" "$(basename "$(readlink "/sys/bus/pci/devices/$bdf/physfn")")" \
        "$(jq -r '[.hcas[].parent] | unique[]' /lab/plans/$pod.list)"
done

section "more of podA's plans"
read_plans podA
mine="pcidevice mlx5_2 ${index[podA]} net1"
same "by the JSON alone" "$mine" "$(sed -n 's/^podA.info: //p' /tmp/plans)$(findings podA.info)"
same "the JSON names another's rdma_dev" "$mine alloc.rdma-dev.differs ${function[podA]}" \
    "$(sed -n 's/^podA.stale: //p' /tmp/plans) $(findings podA.stale)"
same "podB's HCA, asked for, has no GID for podA" "gid.none mlx5_3/1" "$(findings podA.foreign)"

section "a container with the nodes of both"
container podA --device=uverbs0 --device=uverbs1 -- /lab/nccl-init plan --json >/lab/plans/both
read_plans both
same "HCAs" "mlx5_2 mlx5_3" "$(jq -r '.hcas[] | select(.claimed_by).name' /lab/plans/both | xargs)"
same "used" "uverbs mlx5_2 ${index[podA]} net1" "$(sed -n 's/^both: //p' /tmp/plans)"
same "the other's is no fault" "" "$(findings both)"

section "traffic, by what nccl-init set for the command"
cat >/lab/talk <<'EOF'
program=$1 index=$2 peer=$3
hca=${NCCL_IB_HCA#=}
if [ "$index" = chosen ]; then index=$NCCL_IB_GID_INDEX; fi
case $program in
pingpong) exec timeout 60 ibv_rc_pingpong -e -n 50 -d ${hca%:*} -g $index $peer ;;
write_bw) exec timeout 60 ib_write_bw -F -s 4096 -n 20 -d ${hca%:*} -x $index $peer ;;
esac
EOF
between() { # pingpong|write_bw INDEX-IN-podA INDEX-IN-podB
    local server status=0
    container podA --device=uverbs0 --env=PCIDEVICE_LAB_RAIL="${function[podA]}" -- \
        /lab/nccl-init -- bash /lab/talk "$1" "$2" >/tmp/server 2>&1 &
    server=$!
    wait_for 60 listening podA 18515 || status=1
    container podB --device=uverbs1 --env=PCIDEVICE_LAB_RAIL="${function[podB]}" -- \
        /lab/nccl-init -- bash /lab/talk "$1" "$3" 10.5.0.1 || status=1
    # a server whose client gave up may wait for ever
    [ "$status" -eq 0 ] || kill "$server" 2>/dev/null || true
    wait "$server" || status=1
    sed 's/^/server: /' /tmp/server
    return "$status"
}
works "ibv_rc_pingpong" between pingpong chosen chosen
works "ib_write_bw" between write_bw chosen chosen
fails "podB with podA's index" "*Couldn't connect to remote QP*" between pingpong chosen "${index[podA]}"
fails "podA with podB's index" "*Couldn't connect to remote QP*" between pingpong "${index[podB]}" chosen
finish
