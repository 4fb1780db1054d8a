#!/bin/sh
# k8s/fleet: who differs, in what, named as the minority; nodes that send nonsense are told and stop nothing; exit
# statuses; what it asks a cluster, which here is a program that answers from files.
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../cli/lib"
NCCL_INIT=$(program)
export NCCL_INIT
cd "$(dirname -- "$0")/../.." || exit 1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
unset NCCL_IB_HCA

fleet() { # ARGS...: the status in $status, the output in $said and the file out
    k8s/fleet "$@" >"$tmp/out" 2>&1 && status=0 || status=$?
    said=$(cat "$tmp/out")
}
# The part of the output that begins with this line, up to the next of its depth.
part() { # LINE
    awk -v line="$1" '{ depth = match($0, /[^ ]/) } on && depth <= mark { exit } on { print } $0 == line { on = 1; mark = depth }' \
        "$tmp/out"
}
# A pod with four rails on the recorded node: which resource has which rail, as ENO5..8 on the buses 03 23 a3 c3.
pod() { # FILE BUS...
    file=$1 number=5
    shift
    {
        cat tests/nodes/h100-12dev.tree
        printf 'f proc/self/environ HOME=/root'
        for bus in "$@"; do
            printf '\\0PCIDEVICE_OPENSHIFT_IO_ENO%dNP0RDMA=0000:%s:00.2' "$number" "$bus"
            number=$((number + 1))
        done
        echo
    } >"$file"
}

# ---- alike ---------------------------------------------------------------------------------------------

mkdir "$tmp/f"
pod "$tmp/f/gpu-1.tree" 03 23 a3 c3
fleet "$tmp/f"
same "one node: status" 0 "$status"
matches "one node" "Fleet: 1 node, all alike and without an error

The node
*rate in Gb/s        400
*" "$said"
for n in 2 3 10; do cp "$tmp/f/gpu-1.tree" "$tmp/f/gpu-$n.tree"; done
echo "nothing of ours" >"$tmp/f/README"
fleet "$tmp/f"
same "alike" "0 Fleet: 4 nodes, all alike and without an error

Alike on all that answered
  ports               4 ACTIVE
  rail order          OPENSHIFT_IO_ENO5NP0RDMA OPENSHIFT_IO_ENO6NP0RDMA
                      OPENSHIFT_IO_ENO7NP0RDMA OPENSHIFT_IO_ENO8NP0RDMA
  rate in Gb/s        400
  MTU                 9000
  IOMMU               identity
  firmware            MT4126 28.37.1014
  GPUs                4
  GPU driver          570.124.06 open
  peer memory module  not loaded
  HCA driver          the kernel's
  kernel              5.14.0-570.76.1.el9_6.x86_64
  IOMMU options       amd_iommu=on iommu=pt
  RDMA netns mode     shared
  locked memory       8388608
  NCCL's network      rdma
  GPU to HCA          4 PXB
  settings            NCCL_IB_DISABLE=0 NCCL_CROSS_NIC=0

Fleet: 4 nodes, all alike and without an error" "$status $said"

# ---- one of four differs: each check ---------------------------------------------------------------------

rail='/a3:00.2\/infiniband\/mlx5_10$/,/net\/net3$/'
differs() { # NAME SED-EXPRESSION VALUE-OF-THE-MINORITY
    sed -e "$2" "$tmp/f/gpu-1.tree" >"$tmp/f/gpu-2.tree"
    if cmp -s "$tmp/f/gpu-1.tree" "$tmp/f/gpu-2.tree"; then fail "$1" "the change changes nothing"; fi
    fleet "$tmp/f"
    same "$1 differs: status" 1 "$status"
    matches "$1 differs: the majority is named, the minority listed" "*: 3 nodes, the majority
*$3: 1 node
        gpu-2" "$(part "  $1")"
}
differs "rate in Gb/s" "$rail s/^f .\/rate 400/f .\/rate 100/" "400 400 100 400"
matches "the table has the odd node, and its value" "*
NODE   ERRORS  GBIT/S
gpu-2  0       differs
*" "$said"
differs MTU '/net\/net3$/,/^d/ s/^f .\/mtu .*/f .\/mtu 1500/' "9000 9000 1500 9000"
differs ports "$rail s/^f .\/state .*/f .\/state 1: DOWN/" "3 ACTIVE, 1 DOWN"
differs firmware 's/28.37.1014/28.39.2048/' "MT4126 28.39.2048"
matches "a value that fits is in the table" "*
NODE   ERRORS  FIRMWARE
gpu-2  0       differs
*" "$said"
differs "GPU driver" 's/570.124.06/550.54.15/' "550.54.15 open"
differs kernel 's/^\(f proc.sys.kernel.osrelease \).*/\16.12.0/' 6.12.0
differs "IOMMU options" 's/ amd_iommu=on iommu=pt$//' "not known"
differs IOMMU 's/^\(f .*\/type \)identity/\1DMA-FQ/' DMA-FQ
differs "locked memory" 's/\(Max locked memory  *[0-9]*  *\)8388608/\1unlimited/' unlimited
differs "rail order" '/environ/ { s/ENO5/ENO0/; s/ENO6/ENO5/; s/ENO0/ENO6/ }' \
    "OPENSHIFT_IO_ENO6NP0RDMA OPENSHIFT_IO_ENO5NP0RDMA*OPENSHIFT_IO_ENO8NP0RDMA"
differs ports '/environ/ s/.0PCIDEVICE_OPENSHIFT_IO_ENO7[^\\]*//' "3 ACTIVE"
matches "a missing rail" "*GPU to HCA
*warning: rail.missing: 1 node*" "$said"
differs settings '/environ/ s/$/\\0NCCL_CROSS_NIC=1/' "NCCL_IB_DISABLE=0 NCCL_CROSS_NIC=1"
sed -e '/environ/ s/$/\\0NCCL_IB_GID_INDEX=3/' "$tmp/f/gpu-1.tree" >"$tmp/f/gpu-2.tree"
fleet "$tmp/f"
same "a setting that belongs to a node is no difference" 0 "$status"

cp "$tmp/f/gpu-1.tree" "$tmp/f/gpu-2.tree"
sed -e 's/28.37.1014/28.39.2048/' "$tmp/f/gpu-1.tree" >"$tmp/f/gpu-3.tree"
cp "$tmp/f/gpu-3.tree" "$tmp/f/gpu-10.tree"
fleet "$tmp/f"
same "two against two: no majority, all are named" "1     MT4126 28.37.1014: 2 nodes
        gpu-1, gpu-2
    MT4126 28.39.2048: 2 nodes
        gpu-3, gpu-10" "$status $(part "  firmware")"
fleet "$tmp/f" --nodes 'gpu-1,gpu-2'
matches "--nodes" "0 Fleet: 2 nodes, all alike*" "$status $said"
fleet "$tmp/f" --nodes 'gpu-[12]*'
matches "--nodes: a pattern" "1 Fleet: 3 nodes, 2 alike*" "$status $said"
cp "$tmp/f/gpu-1.tree" "$tmp/f/gpu-3.tree"
cp "$tmp/f/gpu-1.tree" "$tmp/f/gpu-10.tree"
mkdir -p "$tmp/f/gpu-4/sys/class/infiniband" "$tmp/f/not-a-node"
fleet "$tmp/f"
matches "a directory is a node" "*
gpu-4  0       none *" "$said"
rm -r "$tmp/f/gpu-4"

# ---- rails that are down ---------------------------------------------------------------------------------

sed -e "$rail s/^f .\/state .*/f .\/state 1: DOWN/" "$tmp/f/gpu-1.tree" >"$tmp/f/gpu-2.tree"
sed -e 's/^f .\/state 4: ACTIVE/f .\/state 2: INIT/' "$tmp/f/gpu-1.tree" >"$tmp/f/gpu-10.tree"
fleet "$tmp/f"
matches "rails that are down: how many, which, on which nodes; the worst node first" "*
5 rails not up, on 2 nodes
  gpu-10: mlx5_6/1 INIT, mlx5_7/1 INIT, mlx5_10/1 INIT, mlx5_11/1 INIT
  gpu-2: mlx5_10/1 DOWN
*" "$said"
cp "$tmp/f/gpu-1.tree" "$tmp/f/gpu-2.tree"
cp "$tmp/f/gpu-1.tree" "$tmp/f/gpu-10.tree"
fleet "$tmp/f"
matches "all rails are up" "0 Fleet: 4 nodes, all alike*" "$status $said"
same "... and nothing is said of them" "" "$(grep 'not up' "$tmp/out")"

# ---- machine types ---------------------------------------------------------------------------------------

for n in 1 2 3; do sed 's/MT4126/MT4131/; s/28.37.1014/40.1.2/' "$tmp/f/gpu-1.tree" >"$tmp/f/new-$n.tree"; done
fleet "$tmp/f"
matches "two machine types, each alike" "0 Fleet: 7 nodes, all alike and without an error
2 machine types, each compared within itself
  nvidia MT4126: 4 nodes
  nvidia MT4131: 3 nodes

Alike on all that answered, nvidia MT4126
*firmware            MT4126 28.37.1014
*
Alike on all that answered, nvidia MT4131
*firmware            MT4131 40.1.2
*" "$status $said"
sed -i 's/40.1.2/40.9.9/' "$tmp/f/new-2.tree"
fleet "$tmp/f"
matches "within one of them a node differs" "1 Fleet: 7 nodes, 6 alike*
NODE   ERRORS  FIRMWARE
new-2  0       differs

What differs, nvidia MT4131
  firmware
    MT4131 40.1.2: 2 nodes, the majority
    MT4131 40.9.9: 1 node
        new-2
*" "$status $said"
rm "$tmp"/f/new-?.tree
awk '/^[dfle] [^.]/ { off = /infiniband/ } !off' "$tmp/f/gpu-1.tree" >"$tmp/f/gpu-2.tree"
fleet "$tmp/f"
matches "a node that lost its HCAs is no machine type of its own" "1 Fleet: 4 nodes, 3 alike*
gpu-2 *" "$status $said"
same "... and is compared with the others" "" "$(grep 'machine types' "$tmp/out")"
cp "$tmp/f/gpu-1.tree" "$tmp/f/gpu-2.tree"

# ---- a recording that is not whole -----------------------------------------------------------------------

broken() { # NAME WHY
    fleet "$tmp/f"
    matches "$1" "1 Fleet: 4 nodes, 3 alike and without an error 0 differ, 0 with errors, 1 without a result NODE ERRORS \
gpu-2 no result: broken recording: $2*" "$status $(echo "$said" | tr -s ' \n' ' ')"
}
size=$(wc -c <"$tmp/f/gpu-1.tree")
head -c $((size / 2)) "$tmp/f/gpu-1.tree" >"$tmp/f/gpu-2.tree"
broken "a recording that ends within a line" "it is cut off: its last line has no end"
head -c $((size / 3)) "$tmp/f/gpu-1.tree" | sed '$d' >"$tmp/f/gpu-2.tree"
broken "a recording that ends behind a line" "it is cut off, or was changed: sys/* is not in it"
: >"$tmp/f/gpu-2.tree"
broken "an empty recording" "it is empty"
echo "what is this" >"$tmp/f/gpu-2.tree"
broken "no recording" "*this line*is not in the .tree format"
# `doctor` reads it, and `plan` does not
cat >"$tmp/half" <<EOF
#!/bin/sh
[ "\$1" = doctor ] || { echo "nccl-init: error: no plan today" >&2 && exit 1; }
exec "$NCCL_INIT" "\$@"
EOF
chmod +x "$tmp/half"
cp "$tmp/f/gpu-1.tree" "$tmp/f/gpu-2.tree"
mkdir "$tmp/one" && cp "$tmp/f/gpu-1.tree" "$tmp/one"
NCCL_INIT=$tmp/half k8s/fleet "$tmp/one" >"$tmp/out" 2>&1
matches "a recording without a plan" "*gpu-1 no result: broken recording: *plan* says: nccl-init: error: no plan today*" \
    "$(tr -s ' \n' ' ' <"$tmp/out")"

# ---- for programs ----------------------------------------------------------------------------------------

sed -e "$rail s/^f .\/state .*/f .\/state 1: DOWN/" -e 's/28.37.1014/28.39.2048/' "$tmp/f/gpu-1.tree" >"$tmp/f/gpu-2.tree"
echo '{' >"$tmp/f/odd.json"
fleet "$tmp/f" --json
same "--json: the status" 1 "$status"
asked() { # EXPRESSION on d
    /usr/bin/python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$tmp/out" "$1"
}
same "--json: members" "['good', 'machines', 'nodes', 'notes', 'rails_down', 'schema']" "$(asked 'sorted(d)')"
same "--json: numbers" "(1, 3, 1)" "$(asked '(d["schema"], d["good"], d["rails_down"])')"
same "--json: nodes, in their order" "['gpu-1', 'gpu-2', 'gpu-3', 'gpu-10', 'odd']" "$(asked '[n["name"] for n in d["nodes"]]')"
same "--json: a good node" "(True, None, 0, 4, [], [])" \
    "$(asked 'tuple(d["nodes"][0][k] for k in ("result", "problem", "errors", "rails", "rails_down", "differs"))')"
same "--json: what differs" "['mlx5_10/1 DOWN'] ['ports', 'firmware', 'GPU to HCA']" \
    "$(asked 'd["nodes"][1]["rails_down"]') $(asked '[one["check"] for one in d["nodes"][1]["differs"]]')"
same "--json: the value and that of the majority" "{'check': 'firmware', 'value': 'MT4126 28.39.2048', 'majority': 'MT4126 28.37.1014'}" \
    "$(asked 'd["nodes"][1]["differs"][1]')"
matches "--json: a node without a result" "False broken JSON*" "$(asked 'd["nodes"][4]["result"]') $(asked 'd["nodes"][4]["problem"]')"
same "--json: a machine type" "('nvidia MT4126', 5, 4)" "$(asked 'tuple(d["machines"][0][k] for k in ("machine", "nodes", "heard"))')"

fleet "$tmp/f" --prometheus "$tmp/fleet.prom"
matches "--prometheus: the text is as ever" "1 Fleet: 5 nodes, 3 alike*" "$status $said"
metric() { grep -- "^nccl_init_fleet_$1" "$tmp/fleet.prom"; }
same "--prometheus: rails that are down" 'nccl_init_fleet_node_rails_down{node="gpu-2",machine="nvidia MT4126"} 1' \
    "$(metric node_rails_down | grep -v ' 0$')"
same "--prometheus: a result each" "1 1 1 1 0" "$(metric node_result | sed 's/.* //' | paste -sd ' ')"
same "--prometheus: what differs" 3 "$(metric 'node_differs{node="gpu-2"' | grep -c ' 1$')"
same "--prometheus: nodes of a machine type" 'nccl_init_fleet_nodes{machine="nvidia MT4126"} 5' "$(metric nodes)"
matches "--prometheus: when" "nccl_init_fleet_time_seconds 1[0-9]*" "$(metric time_seconds)"
same "--prometheus: each metric is announced once, and each line has its form" "" "$(awk '
    /^# (HELP|TYPE) nccl_init_fleet_[a-z_]+ / { if (seen[$2 $3]++) print; next }
    !/^nccl_init_fleet_[a-z_]+([{][a-z]+="[^"]*"(,[a-z]+="[^"]*")*[}])? [0-9]+$/' "$tmp/fleet.prom")"
same "--prometheus: nothing else is left there" fleet.prom "$(basename "$tmp"/fleet.prom*)"
fleet "$tmp/f" --prometheus -
same "--prometheus -: nothing else is printed" "" "$(grep -v '^nccl_init_fleet_\|^# ' "$tmp/out")"
printf '%s' '{"schema": 1, "errors": 0, "findings": [{"severity": "error", "id": "a\"b\\c"}]}' >"$tmp/f/odd.json"
fleet "$tmp/f" --prometheus -
same "--prometheus: quotes and backslashes" 1 "$(grep -cF 'id="a\"b\\c"' "$tmp/out")"
rm "$tmp/f/odd.json"
fleet "$tmp/f" --json --prometheus -
matches "--json and --prometheus -: wrong usage" "2 *both write to standard output*" "$status $said"
fleet "$tmp/f" --prometheus "$tmp/none/x"
matches "--prometheus: a folder that is not there" "1 fleet: *: No such file*" "$status $said"
cp "$tmp/f/gpu-1.tree" "$tmp/f/gpu-2.tree"

# ---- errors ----------------------------------------------------------------------------------------------

# a shell is PID 1: each node has a finding
sed -i 's/Tgid:\\t1\\nPid:\\t1\\nPPid:\\t0/Tgid:\\t7\\nPid:\\t7\\nPPid:\\t1/' "$tmp"/f/gpu-*.tree
"$NCCL_INIT" doctor --json --root="$tmp/f/gpu-1.tree" >"$tmp/doctor.json"
sed 's/"errors": 0/"errors": 1/; s/"severity": "info"/"severity": "error"/' "$tmp/doctor.json" >"$tmp/f/gpu-5.json"
fleet "$tmp/f"
same "an error: status" 1 "$status"
matches "an error: who" "*
gpu-5  1       ?    ?        ?
*
  error: exec.pid1.no-init: 1 node
        gpu-5
*
Fleet: 5 nodes, 4 alike and without an error" "$said"
case $said in *cordon*) wrong=$said ;; *) wrong= ;; esac
same "a folder: its names may be no nodes" "" "$wrong"
fleet "$tmp/f" --all
matches "--all: what findings say" "*gpu-5: PID 1: sh is not an init:*info: exec.pid1.no-init: 4 nodes*" "$said"
sed 's/\("id": "gdr.driver",\)/\1/; /"id": "gdr.driver"/,/outcome/ s/"outcome": ".*"/"outcome": "idle"/' \
    "$tmp/doctor.json" >"$tmp/f/gpu-5.json"
fleet "$tmp/f" --nodes gpu-5
matches "no GPU in the pod" "*No GPU was there to check on 1 node: doctor.resources of the chart nccl-init*" "$said"
rm "$tmp/f/gpu-5.json"

# ---- nonsense is told, and the others are still judged ----------------------------------------------------

bad() { # NAME WHY
    fleet "$tmp/f"
    matches "$1" "1 Fleet: 5 nodes, 4 alike and without an error
0 differ, 0 with errors, 1 without a result
*
odd*no result: *$2*" "$status $(echo "$said" | tr -s ' \n' ' \n')"
    rm -rf "$tmp"/f/odd*
}
: >"$tmp/f/odd.json"
bad "an empty file" "nothing was said"
head -c 2000 "$tmp/doctor.json" >"$tmp/f/odd.json"
bad "JSON that is cut off" "broken JSON"
echo "nccl-init: error: no such option" >"$tmp/f/odd.json"
bad "a log without JSON" "no JSON: nccl-init: error: no such option"
head -c 300000 /dev/zero | tr '\0' '[' | sed 's/^/{"a":/' >"$tmp/f/odd.json"
bad "100,000 brackets" "broken JSON"
head -c 100000 /dev/urandom >"$tmp/f/odd.json"
bad "noise" "JSON"
echo '{"schema": 2, "errors": 0, "findings": []}' >"$tmp/f/odd.json"
bad "another schema" "not what"
echo '{}' >"$tmp/f/odd.json"
bad "an object without anything" "not what"
for errors in true -5; do
    sed "s/\"errors\": 0/\"errors\": $errors/" "$tmp/doctor.json" >"$tmp/f/odd.json"
    bad "$errors errors" "not what"
done
for member in errors findings schema; do
    sed "s/\"$member\": [^[]/\"$member\": {}, \"x\": \"/; s/\"findings\": \[\$/\"findings\": 7, \"x\": [/" "$tmp/doctor.json" |
        tr -d '\n' | sed 's/: "[0-9]*,/: 1,/g' >"$tmp/f/odd.json"
    bad "$member of another type" ""
done
mkfifo "$tmp/f/odd.json"
bad "a FIFO" "not a regular file"
ln -s odd.json "$tmp/f/odd.json"
bad "a link to itself" "not a regular file"
truncate -s 17M "$tmp/f/odd.json"
bad "a long file" "longer than 16 MiB"
echo "what is this" >"$tmp/f/odd.tree"
bad "a bad .tree" "this line*is not in the .tree format"
mkdir "$tmp/f/odd.tree"
fleet "$tmp/f"
same "a directory without sys is no node" "0 Fleet: 4 nodes" "$status $(head -n 1 "$tmp/out" | cut -d, -f 1)"
rmdir "$tmp/f/odd.tree"
# Whatever stands where: each value in turn becomes another.
/usr/bin/python3 - "$tmp/doctor.json" "$tmp/f" <<'EOF'
import json, sys
source = json.load(open(sys.argv[1]))
odd = [None, True, -1, 10 ** 30, 1e300, "\x1b[31m\u202e\n", [], [[]], [None, 1, "x"], {}, {"a": {}}]
n = 0
def walk(value, path=()):
    yield path
    for key in (value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()):
        yield from walk(value[key], path + (key,))
for path in walk(source):
    if len(path) > 4 or any(isinstance(key, int) and key > 1 for key in path):
        continue
    copy = json.loads(json.dumps(source))
    at = copy
    for key in path[:-1]:
        at = at[key]
    if path:
        at[path[-1]] = odd[n % len(odd)]
    else:
        copy = odd[n % len(odd)]
    json.dump(copy, open("%s/odd-%d.json" % (sys.argv[2], n), "w"))
    n += 1
EOF
count=$(find "$tmp/f" -name 'odd-*.json' | grep -c .)
fleet "$tmp/f" --all
matches "odd values in $count places" "1 Fleet: $((count + 4)) nodes*" "$status $said"
same "odd values: no traceback, no control character" 0 "$(LC_ALL=C grep -c -e Traceback -e '[^ -~]' "$tmp/out")"
rm -f "$tmp"/f/odd-*
printf '%s' "$(cat "$tmp/doctor.json")" >"$tmp/f/$(printf 'a\033[31m\nb').json"
fleet "$tmp/f"
same "a file's name: no control character" 0 "$(LC_ALL=C grep -c '[^ -~]' "$tmp/out")"
rm -f "$tmp"/f/a*

# ---- recorded nodes, which have nothing in common ----------------------------------------------------------

fleet tests/nodes --all
same "recorded nodes: status" 1 "$status"
for node in tests/nodes/*.tree; do
    name=$(basename "$node" .tree)
    grep -q -e "^$name " "$tmp/out" || grep -qw -e "$name" "$tmp/out" || fail "recorded nodes" "$name is not named"
done
# a longer word, such as the path of a file, stands alone in its line
same "recorded nodes: 80 columns" "" "$(awk 'length > 80 && NF > 1' "$tmp/out")"

# ---- a thousand ----------------------------------------------------------------------------------------------

mkdir "$tmp/many"
for n in $(seq 1000); do ln "$tmp/doctor.json" "$tmp/many/rack-$n.cluster.example.com.json"; done
rm "$tmp/many/rack-77.cluster.example.com.json" "$tmp/many/rack-9.cluster.example.com.json"
sed 's/28.37.1014/28.39.2048/' "$tmp/doctor.json" >"$tmp/many/rack-77.cluster.example.com.json"
echo '{' >"$tmp/many/rack-9.cluster.example.com.json"
begin=$(date +%s)
fleet "$tmp/many"
took=$(($(date +%s) - begin))
[ "$took" -le 60 ] || fail "a thousand nodes" "took $took s"
matches "a thousand nodes, in $took s" "1 Fleet: 1000 nodes, 998 alike and without an error
1 differ, 0 with errors, 1 without a result
*
rack-9   no result: broken JSON*
rack-77  0       differs
*MT4126 28.39.2048: 1 node
        rack-77
*The names of nodes end in .cluster.example.com*" "$status $said"
same "a thousand nodes fit on a screen" "" "$(awk 'length > 80 || FNR > 50' "$tmp/out")"
for n in $(seq 500); do echo '{' >"$tmp/many/broken-$n.json"; done
fleet "$tmp/many"
matches "500 broken ones: the table ends" "*and 462 more: --all*" "$said"

# ---- the sample in the guide -----------------------------------------------------------------------------------

mkdir "$tmp/snapshots"
for n in 1 2 3 4 6 7 8; do sed '/environ/ s/$/\\0NCCLINIT_REQUIRE=rails=4/' "$tmp/f/gpu-1.tree" >"$tmp/snapshots/gpu-$n.tree"; done
sed -i -e "$rail s/^f .\/state .*/f .\/state 1: DOWN/" -e '/net\/net3$/,/^d/ s/^f .\/mtu .*/f .\/mtu 1500/' \
    "$tmp/snapshots/gpu-3.tree"
sed -i 's/28.37.1014/28.39.2048/' "$tmp/snapshots/gpu-7.tree"
echo '{' >"$tmp/snapshots/gpu-5.json"
fleet "$tmp/snapshots"
sed -n '/^\$ k8s.fleet snapshots$/,/^\.\.\.$/p' docs/guides/fleet.md | sed '1d; $d' >"$tmp/sample"
same "docs/guides/fleet.md: the sample" "1 $(cat "$tmp/sample")" "$status $(head -n "$(grep -c '' "$tmp/sample")" "$tmp/out")"

# ---- a cluster -----------------------------------------------------------------------------------------------

export CLUSTER="$tmp/cluster" KUBECTL="$tmp/kubectl"
mkdir "$CLUSTER"
cat >"$KUBECTL" <<'EOF'
#!/bin/sh
case "$*" in
"get pods -n ml -l app.kubernetes.io/name=nccl-doctor -o json") file=pods ;;
"get nodes -l nvidia.com/gpu.present=true -o json") file=nodes ;;
"logs -n ml "*" --request-timeout=60s") file=log.$4 ;;
*) file=none ;;
esac
if [ -f "$CLUSTER/$file" ]; then cat "$CLUSTER/$file"; else
    echo "Error from server (Forbidden): $file" >&2
    exit 1
fi
EOF
chmod +x "$KUBECTL"
of_pod() { # NAME JOB TIME PHASE NODE [STATUS]
    node=${5:+"\"nodeName\": \"$5\""}
    echo "{\"metadata\": {\"name\": \"$1\", \"creationTimestamp\": \"$3\", \"labels\": {\"batch.kubernetes.io/job-name\": \"$2\"}}, \
\"spec\": {$node}, \"status\": {\"phase\": \"$4\"${6:+, $6}}}"
}
items() { paste -s -d, | sed 's/.*/{"items": [&]}/'; }
listed() { while read -r name spec; do echo "{\"metadata\": {\"name\": \"$name\"}, \"spec\": {$spec}}"; done | items; }

for pod in p1 p2; do { echo "nccl-init: warning: something" && cat "$tmp/doctor.json"; } >"$CLUSTER/log.$pod"; done
{
    of_pod p0 doctor-1 2026-11-01T00:00:00Z Failed gpu-1
    of_pod p1 doctor-2 2026-11-02T00:00:00Z Succeeded gpu-1
    of_pod p2 doctor-2 2026-11-02T00:00:01Z Succeeded gpu-2
} | items >"$CLUSTER/pods"
printf 'gpu-1\ngpu-2\n' | listed >"$CLUSTER/nodes"
fleet --namespace ml
matches "a cluster: the last run alone" "0 Fleet: 2 nodes, all alike and without an error*" "$status $said"
# a node is taken away for an error of its own, not for what its pod asks for or lacks
for id in iommu.translated memlock.too-low hca.node.lost; do
    sed 's/"errors": 0/"errors": 1/; s/"severity": "info"/"severity": "error"/; s/exec.pid1.no-init/'"$id/" \
        "$tmp/doctor.json" >"$CLUSTER/log.p2"
    fleet --namespace ml
    echo "$status $(grep -c "^  error: $id: 1 node" "$tmp/out") $(grep cordon "$tmp/out")"
done >"$tmp/cordons"
same "whom to cordon" "1 1 Run: kubectl cordon gpu-2
1 1 
1 1 " "$(cat "$tmp/cordons")"
cp "$CLUSTER/log.p1" "$CLUSTER/log.p2"
printf 'gpu-1\ngpu-2\ngpu-3 "unschedulable": true\ngpu-4 "unschedulable": true\n' | listed >"$CLUSTER/nodes"
fleet --namespace ml
matches "a cordoned node is told, and counts no more" "0 Fleet: 2 nodes*
Cordoned, and not looked at: gpu-3, gpu-4*" "$status $said"
printf 'gpu-1\ngpu-2\ngpu-3\n' | listed >"$CLUSTER/nodes"
fleet --namespace ml
matches "a node without a pod" "1 Fleet: 3 nodes, 2 alike*
gpu-3  no result: the last run had no pod there*" "$status $said"
rm "$CLUSTER/nodes"
fleet --namespace ml
matches "no right to list nodes" "0 *Nodes without a pod are not known: Error from server (Forbidden): nodes*" "$status $said"
labelled() { # LABEL: three nodes, of two values
    for n in 1 2 3; do
        echo "{\"metadata\": {\"name\": \"gpu-$n\", \"labels\": {\"$1\": \"type-$((n / 3))\", \"rack\": \"r$n\"}}, \"spec\": {}}"
    done | items >"$CLUSTER/nodes"
}
sed 's/28.37.1014/40.1.2/' "$CLUSTER/log.p1" >"$CLUSTER/log.p3"
for n in 1 2 3; do of_pod "p$n" doctor-2 "2026-11-02T00:00:0${n}Z" Succeeded "gpu-$n"; done | items >"$CLUSTER/pods"
for label in nvidia.com/gpu.machine node.kubernetes.io/instance-type nvidia.com/gpu.product; do
    labelled $label
    fleet --namespace ml
    matches "machine types by the label $label" "0 Fleet: 3 nodes, all alike*
2 machine types, each compared within itself
  type-0: 2 nodes
  type-1: 1 node
*" "$status $said"
done
fleet --namespace ml --machine rack
matches "--machine: another label" "0 *3 machine types*r2: 1 node*" "$status $said"
fleet --namespace ml --machine none
matches "no such label: all are compared" "1 Fleet: 3 nodes, 2 alike*gpu-3*" "$status $said"
rm "$CLUSTER/nodes" "$CLUSTER/log.p3"
{
    of_pod p1 doctor-2 2026-11-02T00:00:00Z Succeeded gpu-1
    of_pod p2 doctor-2 2026-11-02T00:00:01Z Succeeded gpu-2
    of_pod p3 doctor-2 2026-11-02T00:00:01Z Pending gpu-2
    of_pod p4 doctor-2 2026-11-02T00:00:02Z Pending "" '"conditions": [{"type": "PodScheduled", "status": "False", "message": "0/9 nodes are available"}]'
    of_pod p5 doctor-2 2026-11-02T00:00:02Z Pending gpu-5 '"containerStatuses": [{"state": {"waiting": {"reason": "ImagePullBackOff", "message": "no image"}}}]'
    of_pod p6 doctor-2 2026-11-02T00:00:02Z Failed gpu-6
} | items >"$CLUSTER/pods"
fleet --namespace ml
matches "pods that have not ended, and a log that is gone" "1 Fleet: 5 nodes, 2 alike and without an error
*
gpu-5   no result: Pending ImagePullBackOff no image
gpu-6   no result: no log: Error from server (Forbidden): log.p6
pod p4  no result: Pending 0/9 nodes are available*" "$status $said"
fleet --namespace ml --nodes gpu-1,gpu-2
matches "a cluster: --nodes" "0 Fleet: 2 nodes, all*" "$status $said"
echo '{"items": []}' >"$CLUSTER/pods"
fleet --namespace ml
same "no pods" "1 fleet: no pod of nccl-doctor in ml; the chart nccl-init starts them: doctor.schedule" "$status $said"
rm "$CLUSTER/pods"
fleet --namespace ml
same "no cluster" "1 fleet: $KUBECTL get pods: Error from server (Forbidden): pods" "$status $said"
KUBECTL=$tmp/no-kubectl fleet --namespace ml
matches "no kubectl" "1 fleet: $tmp/no-kubectl get pods: *No such file*" "$status $said"

# ---- usage ---------------------------------------------------------------------------------------------------

for arguments in "" "$tmp/f --namespace ml" "--namespace" "$tmp/f --odd"; do
    # shellcheck disable=SC2086 # words
    fleet $arguments
    same "usage: '$arguments'" 2 "$status"
done
fleet --help
matches "--help" "0 usage: fleet*Exit status: 0*" "$status $said"
fleet "$tmp/none"
matches "a folder that is not there" "1 fleet: *No such file*" "$status $said"
mkdir "$tmp/empty"
fleet "$tmp/empty"
matches "an empty folder" "1 fleet: * has no NODE.tree*" "$status $said"
fleet "$tmp/f" --nodes nobody
same "no such node" "1 fleet: no node is called nobody" "$status $said"
NCCL_INIT=$tmp/none fleet "$tmp/f"
matches "no nccl-init" "1 fleet: no nccl-init to read snapshots with*" "$status $said"

# ---- on a schedule, and as a node's condition ------------------------------------------------------------------

rule=k8s/charts/nccl-init/nccl-init-doctor.json
# What the detector refuses to start with (pkg/custompluginmonitor/types/config.go, Validate, of 1.36), and its fields.
cat >"$tmp/plugin.py" <<'EOF'
import json, re, sys
def seconds(text):
    number, unit = re.fullmatch(r"([0-9]+)([smh])", text).groups()
    return int(number) * {"s": 1, "m": 60, "h": 3600}[unit]
plugin = json.load(open(sys.argv[1]))
known = {"plugin", "pluginConfig", "source", "metricsReporting", "conditions", "rules"}
config = plugin["pluginConfig"]
assert set(plugin) <= known and plugin["plugin"] == "custom" and plugin["source"]
assert set(config) <= {"invoke_interval", "timeout", "max_output_length", "concurrency", "skip_initial_status",
                       "enable_message_change_based_condition_update"}
assert 0 < seconds(config["timeout"]) < seconds(config["invoke_interval"])
types = [condition["type"] for condition in plugin["conditions"]]
for condition in plugin["conditions"]:
    assert set(condition) == {"type", "reason", "message"}
    # Kubernetes' form of both (metav1.Condition)
    assert re.fullmatch("[A-Z][A-Za-z]*", condition["type"]) and re.fullmatch("[A-Z][A-Za-z]*", condition["reason"])
for rule in plugin["rules"]:
    assert set(rule) == {"type", "condition", "reason", "path", "args", "timeout"}
    assert rule["type"] == "permanent" and rule["condition"] in types
    assert seconds(rule["timeout"]) <= seconds(config["timeout"])
    assert all(isinstance(word, str) for word in rule["args"])
print(plugin["rules"][0]["path"], config["max_output_length"], *plugin["rules"][0]["args"])
EOF
plugin=$(/usr/bin/python3 "$tmp/plugin.py" $rule) || fail "$rule" "the detector would not start with it"
for change in 's/"permanent"/"temporal"/' 's/"condition": "R/"condition": "X/' '0,/60s/ s/60s/30s/' 's/"custom"/"x"/' \
    's/"timeout"/"time_out"/' 's/"reason": "R/"reason": "an r/'; do
    sed "$change" $rule >"$tmp/rule.json"
    /usr/bin/python3 "$tmp/plugin.py" "$tmp/rule.json" 2>/dev/null >&2 && fail "$rule: $change" "is not seen"
done
read -r path longest arguments <<EOF
$plugin
EOF
# As the detector does: status 0 good, 1 a problem; of what is printed it keeps the first bytes.
monitor() { # NODE
    # shellcheck disable=SC2086 # words
    "$NCCL_INIT" $arguments --root="tests/nodes/$1.tree" >"$tmp/out" 2>"$tmp/err" && status=0 || status=$?
    said=$(cat "$tmp/out" "$tmp/err")
}
nl='
'
monitor hgx-ib
same "a healthy host" "0 READY: 3 infos" "$status ${said%%"$nl"*}"
monitor bond
same "a host with an error" "1 NOT READY: 1 error, 2 infos${nl}error: iommu.translated: mlx5_bond_0:" "$status $(printf %s "$said" | sed -n '1,2s/: the IOMMU.*/:/;1,2p')"
monitor gb200
matches "what is the detector's own container is left out" "0 READY: 1 warning*imex.channel.missing*" "$status $said"
monitor none
same "neither good nor bad" 125 "$status"
for node in tests/nodes/*.tree; do
    monitor "$(basename "$node" .tree)"
    case $status-$said in 0-READY*:* | 1-"NOT READY:"*) ;; *) fail "the message of $node" "$status $said" ;; esac
    # the verdict and the first error are in what is kept
    first=$(printf %s "$said" | head -n 2)
    [ "${#first}" -le "$longest" ] || fail "the message of $node" "its first lines are longer than $longest"
done
condition=$(sed -n 's/.*"condition": "\(.*\)",/\1/p' $rule)
same "docs/guides/fleet.md: the condition is the rule's" "$condition" \
    "$(grep -oE '(type: |type=="|condition="|type=")[A-Z][A-Za-z]+' docs/guides/fleet.md | grep -oE '[A-Z][A-Za-z]+$' | sort -u)"

if why=$(.dev/k8s tools 2>&1); then
    .dev/k8s helm template some k8s/charts/nccl-init --namespace ml --set doctor.schedule=@daily,nodeProblemDetector.enabled=true \
        >"$tmp/release.yaml"
    # a Job of helm test and one of the CronJob: the same pods, and those that this program looks for
    awk '/^kind: CronJob/ { on = 1 } /^---/ { on = 0 } on && /^  jobTemplate:/ { job = 1 } on && job { print }' "$tmp/release.yaml" |
        sed -n '/^      template:/,$s/^    //p' >"$tmp/cron"
    awk '/^kind: Job/ { on = 1 } /^---/ { on = 0 } on { print }' "$tmp/release.yaml" | sed -n '/^  template:/,$p' >"$tmp/job"
    [ -s "$tmp/job" ] || fail "helm test" "it has no Job"
    same "on a schedule: the same pods as in helm test" "$(cat "$tmp/job")" "$(cat "$tmp/cron")"
    matches "their label is the one that is looked for" "*app.kubernetes.io/name: nccl-doctor*" "$(cat "$tmp/job")"
    awk '/^kind: DaemonSet/ { on = 1 } /^---/ { on = 0 } on { print }' "$tmp/release.yaml" >"$tmp/npd.yaml"
    matches "the detector: it reads the rule" "*--config.custom-plugin-monitor=/etc/nccl-init/$(basename $rule)
*mountPath: /etc/nccl-init
*" "$(cat "$tmp/npd.yaml")"
    rule_of() { # RELEASE: in the form of json.tool
        sed -n "/^  $(basename $rule): |/,/^---/p" "$1" | sed -n 's/^    //p' | /usr/bin/python3 -m json.tool --sort-keys
    }
    same "the detector: the rule is this one" "$(/usr/bin/python3 -m json.tool --sort-keys $rule)" "$(rule_of "$tmp/release.yaml")"
    .dev/k8s helm template some k8s/charts/nccl-init --namespace ml \
        --set nodeProblemDetector.enabled=true,nodeProblemDetector.interval=1h,nodeProblemDetector.require=rails=8 >"$tmp/other.yaml"
    same "the detector: its interval and what a node must have" "$(/usr/bin/python3 -m json.tool --sort-keys $rule | sed 's/"10m"/"1h"/
        s/^\( *\)\("--ignore.*"\)$/\1\2,\n\1"--require=rails=8"/')" "$(rule_of "$tmp/other.yaml")"
    same "the detector: the program is where the rule says" "${path%/nccl-init} 2" \
        "$(sed -n 's/.*\[\/nccl-init, install, \(.*\)\].*/\1/p' "$tmp/npd.yaml") $(grep -c "mountPath: ${path%/nccl-init}\$" "$tmp/npd.yaml")"
else
    skip "the manifests" "$(printf '%s\n' "$why" | tail -n 1)"
fi

finish
