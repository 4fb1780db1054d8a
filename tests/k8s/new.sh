#!/bin/sh
# k8s/new: what it makes of clusters of different shape, and what it says of a mistake: the line, and what is wrong.
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../cli/lib"
cd "$(dirname -- "$0")/../.." || exit 1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
# shellcheck source=/dev/null
. tests/k8s/lib

new() { # ARGS...: status, and what was said, in $said
    said=$(k8s/new "$@" 2>&1) && status=0 || status=$?
}

# ---- the clusters, and the example ----------------------------------------------------------------------------------

for file in k8s/cluster.yaml tests/k8s/clusters/*.yaml; do
    name=$(basename "$file" .yaml)
    new "$file" "$tmp/$name"
    same "$name: is written" 0 "$status"
    for part in '' /admin /openshift /queue; do
        [ -d "$tmp/$name$part" ] || continue
        .dev/k8s render "$tmp/$name$part" >"$tmp/objects.yaml" || fail "$name$part" "does not build"
        valid "$name$part" "$tmp/objects.yaml"
    done
    cp -r "$tmp/$name" "$tmp/again"
    new "$file" "$tmp/again"
    same "$name: again is the same" "0 " "$status $(diff -r "$tmp/$name" "$tmp/again")"
    rm -rf "$tmp/again"
    same "$name: names nothing outside of its folder" "" "$(grep -rnE '\.\./[^a]|k8s/(account|parts|admin)' "$tmp/$name" | grep -v docs/)"
    /usr/bin/python3 - "$file" <<'PY' || fail "$name: the schema" "refuses it"
import json, sys, jsonschema, yaml
jsonschema.validate(yaml.safe_load(open(sys.argv[1])), json.load(open("k8s/cluster.schema.json")))
PY
done
nics() { sed -n 's/^  value: \([a-z].*, .*\)/\1/p' "$1/rails/$2"; }
demand() { sed -n 's/.*"\(rails=.*\)"/\1/p' "$1"; }
same "two NICs per rail: rail by rail" \
    "ens1f0-p0-rail, ens1f1-p0-rail, ens2f0-rail, ens2f1-rail, ens3f0-rail, ens3f1-rail, ens4f0-rail, ens4f1-rail" \
    "$(nics "$tmp/two-nics-per-rail" pods-1.yaml)"
same "two NICs per rail: a subnet each" "10.1.0 10.1.1 10.2.0 10.2.1 10.2.2 10.2.3 10.2.4 10.2.5" \
    "$(sed -n 's/.*"range": "\(.*\)\.0\/24".*/\1/p' "$tmp/two-nics-per-rail/rails/networks.yaml" | xargs)"
same "the demand is for all NICs" "rails=8,gdr,memlock rails=1,gdr,memlock rails=6,gdr" \
    "$(demand "$tmp/two-nics-per-rail/statefulset.yaml") $(demand "$tmp/one-rail/job.yaml") $(demand "$tmp/dra/job.yaml")"
same "a range in each subnet" "172.20.0.100 172.20.16.100 172.20.32.100 172.20.48.100" \
    "$(sed -n 's/.*"range_start": "\([^"]*\)".*/\1/p' "$tmp/eight-rails/admin/networks.yaml" | xargs)"
same "the operator's networks are not written twice" "no such file" "$([ -e "$tmp/eight-rails/rails/networks.yaml" ] || echo no such file)"
same "words of a command arrive as they are" 'args: ["python3", "-m", "train", "--lr=1e-4", "it'"'"'s \"quoted\""]' \
    "$(sed -n 's/^ *\(args: .*\)/\1/p' "$tmp/one-rail/job.yaml")"
same "values of variables too" 'value: "a: b # c"' "$(sed -n 's/^ *\(value: "a.*\)/\1/p' "$tmp/one-rail/job.yaml")"
same "guaranteed: requests are limits" "Guaranteed" "$(.dev/k8s render "$tmp/one-rail" | /usr/bin/python3 -c '
import sys, yaml
pod = next(o for o in yaml.safe_load_all(sys.stdin) if o["kind"] == "Job")["spec"]["template"]["spec"]
each = [c["resources"] for c in pod["containers"] + pod["initContainers"]]
print("Guaranteed" if all(r["requests"][k] == r["limits"][k] for r in each for k in ("cpu", "memory")) else each)')"
sed -e '/^    subnet/d' -e '/^vfs/d' -e '/^device/d' k8s/cluster.yaml >"$tmp/there.yaml"
printf '%s\n' 'policies: existing' 'networks: existing' 'resource: openshift.io/mlx_{pf}' 'network: "default/{pf}-net"' >>"$tmp/there.yaml"
new "$tmp/there.yaml" "$tmp/there"
same "what is there already is named, not written" \
    "0 default/eno5np0-net, default/eno6np0-net, default/eno7np0-net, default/eno8np0-net openshift.io~1mlx_eno5np0 kustomization.yaml rbac.yaml scc.yaml" \
    "$status $(nics "$tmp/there" pods-1.yaml) $(grep -o 'openshift.io~1mlx_eno5np0' "$tmp/there/rails/pods-1.yaml") $(cd "$tmp/there/admin" && echo *)"
same "and there are no networks" "kustomization.yaml pods-1.yaml" "$(cd "$tmp/there/rails" && echo *)"
.dev/k8s render "$tmp/there" >"$tmp/objects.yaml"
valid "what is there already" "$tmp/objects.yaml"
new --set workload=statefulset "$tmp/there.yaml" "$tmp/there"
same "another workload takes the place of the first" "statefulset.yaml job.yaml*" "$(cd "$tmp/there" && echo statefulset.yaml* job.yaml*)"
new k8s/cluster.yaml "$tmp/cluster"
matches "it says how many pods fit, and where each NIC is" "*; 254 pods fit*net1 eno5np0 openshift.io/eno5np0rdma eno5np0-network 10.0.103.0/24
*net4 eno8np0 *10.0.106.0/24*example.com*no command*" "$said"

# ---- any cluster ----------------------------------------------------------------------------------------------------

# A description is refused for a reason, or what is written is as it should be.
mkdir "$tmp/any"
tests/k8s/describe.py 1 60 "$tmp/any"
written=0 odd=''
for file in "$tmp"/any/*.yaml; do
    folder=${file%.yaml}
    new "$file" "$folder"
    if [ "$status" != 0 ]; then
        case $status,$said in "1,$file: "* | "1,$file:"[0-9]*) ;; *) odd="$odd $(basename "$file"): $said" ;; esac
        continue
    fi
    written=$((written + 1))
    for part in '' /admin /openshift /queue; do
        [ -d "$folder$part" ] || continue
        build/k8s/kustomize build "$folder$part" >"$tmp/objects.yaml" || fail "any cluster" "$(cat "$file")"
        valid "any cluster: $(basename "$folder")$part" "$tmp/objects.yaml"
    done
done
same "any cluster: is refused for a reason" "" "$odd"
matches "any cluster: many are written" "[2-6][0-9]" "$written"

# Over sockets nothing needs rights: not the copy of nccl-init, and the workers of MPI run as the launcher's user.
printf '%s\n' 'user: 1000' | cat k8s/cluster.yaml - >"$tmp/user.yaml"
new --set fabric=none "$tmp/user.yaml" "$tmp/user"
same "without rails: no user, no capability" "0 0" "$status $(grep -c -e SETFCAP -e runAsUser "$tmp/user/job.yaml")"
new --set fabric=none --set workload=mpijob k8s/cluster.yaml "$tmp/mpi" -- x
same "without rails: launcher and workers of MPI" "0 2 2" \
    "$status $(grep -c 'runAsUser: 1000' "$tmp/mpi/mpijob.yaml") $(grep -c 'required-scc: nccl-rdma-scc' "$tmp/mpi/mpijob.yaml")"
.dev/k8s render "$tmp/mpi" >"$tmp/objects.yaml"
valid "MPI without rails" "$tmp/objects.yaml"

# ---- the command line -----------------------------------------------------------------------------------------------

# shellcheck disable=SC2016 # for the shell under test
new --set pods=3 --set pods=4 --set env.A=1 --set 'env.A=$(touch x)"' --set hosts=b,a,c,d k8s/cluster.yaml "$tmp/set" -- sh -c 'echo "$0" it'"'"'s'
same "--set: status" 0 "$status"
# shellcheck disable=SC2016
same "--set: the last counts" 'completions: 4|value: "$(touch x)\""|values: ["b"]' "$(grep -oE 'completions: .*|value: ".*touch.*|values: \["b"\]' "$tmp/set/job.yaml" | sort | tr '\n' '|' | sed 's/|$//')"
# shellcheck disable=SC2016
same "a command behind --" 'args: ["sh", "-c", "echo \"$0\" it'"'"'s"]' "$(sed -n 's/^ *\(args: .*\)/\1/p' "$tmp/set/job.yaml")"
(ulimit -f 1 && k8s/new k8s/cluster.yaml "$tmp/cut") 2>/dev/null
new k8s/cluster.yaml "$tmp/cut"
same "what was cut off is written again" "0 same" "$status $(diff -r "$tmp/cluster" "$tmp/cut" && echo same)"
mkdir "$tmp/mine" && : >"$tmp/mine/precious"
new k8s/cluster.yaml "$tmp/mine"
matches "a folder with something else is left alone" "1 *has something that k8s/new did not write" "$status $said"
same "and what is in it" precious "$(ls "$tmp/mine")"
usage() { # PATTERN ARGS...
    pattern=$1
    shift
    new "$@"
    matches "usage: $*" "$pattern" "$status $said"
}
usage "2 *FILE is missing*"
usage "2 *DIR is missing*" k8s/cluster.yaml
usage "2 *is no option*" --privileged k8s/cluster.yaml x
usage "2 *too much*" k8s/cluster.yaml "$tmp/x" y
usage "2 *COMMAND is missing*" k8s/cluster.yaml "$tmp/x" --
usage "2 *there is no file*" "$tmp/nothing" "$tmp/x"
usage "1 --set: 'colour' cannot be set*" --set colour=red k8s/cluster.yaml "$tmp/x"
usage "1 --set: pods is a number from 1 to 10000*" --set pods=none k8s/cluster.yaml "$tmp/x"
usage "1 --set: hosts: a stands twice*" --set hosts=a,a k8s/cluster.yaml "$tmp/x"
usage "1 *mpijob needs a command*" --set workload=mpijob k8s/cluster.yaml "$tmp/x"
usage "1 *needs gpus: 1 or more" --set workload=trainjob --set gpus=0 k8s/cluster.yaml "$tmp/x"
usage "1 *needs whole CPUs*" --set qos=guaranteed --set cpu=500m k8s/cluster.yaml "$tmp/x"
usage "1 *there is no file k8s/nothing.py" --set script=nothing.py k8s/cluster.yaml "$tmp/x"
usage "1 *there is no file k8s/parts" --set script=parts k8s/cluster.yaml "$tmp/x"
cp k8s/README.md "$tmp/job.yaml"
usage "1 *job.yaml has the name of a file that is written there" --set script="$tmp/job.yaml" k8s/cluster.yaml "$tmp/x"
usage "1 --set: name: YAML reads 'on' as no text; take another" --set name=on k8s/cluster.yaml "$tmp/x"

# ---- mistakes -------------------------------------------------------------------------------------------------------

# Line 1 to 8 of a description; a case changes it by sed, and says what is to be told of which line.
cat >"$tmp/good.yaml" <<'END'
namespace: ml
fabric: sriov-device-plugin
rails:
  - pf: eno[5-8]np0
    subnet: 10.0.103.0/24
nccl-init-image: reg.example.com/n:1
image: reg.example.com/t:1
gpus: 4
END
wrong() { # SED-EXPRESSION PATTERN
    sed "$1" "$tmp/good.yaml" >"$tmp/bad.yaml"
    cmp -s "$tmp/good.yaml" "$tmp/bad.yaml" && fail "mistake: $1" "changes nothing"
    new --show "$tmp/bad.yaml"
    matches "mistake: $1" "1 $tmp/bad.yaml:$2" "$status $said"
}
new --show "$tmp/good.yaml"
same "without a mistake" 0 "$status"
wrong '1s/$/s/;1s/ml/M/' "1: namespace: *does not fit*"
wrong '1s/ml/a-b-/' "1: namespace: *"
wrong '1s/ml/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/' "1: namespace has at most 63*"
wrong '1s/ml/123/' "1: namespace: YAML reads '123' as no text*"
wrong '1s/ml/no/' "1: namespace: YAML reads 'no'*"
wrong '1s/ml//' "1: namespace has no value"
wrong '1d' " namespace is missing*"
wrong '1s/:/ /' "1: 'namespace  ml' is not of the form*"
wrong '1s/:/:x/' "1: *is not of the form*"
wrong '1s/ml/"ml/' "1: a quote is not closed*"
wrong '1s/ml/"m\\nl"/' "1: of escapes only*"
wrong '1s/ml/"ml" x/' "1: something follows*"
wrong '1s/ml/\&anchor ml/' "1: *no value that is read here*"
wrong '1s/ml/|/' "1: *no value that is read here*"
wrong '1s/ml/a: b/' "1: *has a colon*"
wrong '1s/ml/mül/' "1: *ASCII*"
wrong '8a namespace: other' "9: namespace stands on line 1 too"
wrong '8a colour: red' "9: 'colour' is not a key; the keys here: namespace, fabric, *"
wrong '8a\  pods: 3' "9: wrong indentation*"
wrong '8s/^/\t/' "8: wrong indentation: a tab*"
wrong '2s/sriov-.*/sriov/' "2: fabric is one of: openshift-sriov, *; not 'sriov'"
wrong '2s/sriov-.*/dra, none/' "2: fabric is one of*"
wrong '2s/sriov-.*/none/' "3: rails are not for fabric: none"
wrong '2s/sriov-.*/openshift-sriov/' " vfs is missing: *"
wrong '2s/sriov-.*/shared-device-plugin/' " shares is missing: *"
wrong '8a vfs: 4' "9: vfs is not for fabric: sriov-device-plugin"
wrong '4,5d' "3: rails is missing or empty*"
wrong '3s/$/ eno5np0/' "3: rails is a list*"
wrong '3a rails:' "4: rails stands on line 3 too*"
wrong '4s/pf/pfs/' "4: 'pfs' is not a key; the keys here: pf, subnet, range*"
wrong '4s/pf: .*/subnet: 10.0.0.0\/24/;5d' "4: a rail without pf"
wrong '5d' "4: a rail without subnet"
wrong '5s/^  //' "5: wrong indentation*"
wrong '5a\   - pf: x' "6: wrong indentation: the entry before*"
wrong '4s/5-8/8-5/' "4: \[8-5\] is no range*"
wrong '4s/5-8/1-99/' "4: \[1-99\] is no range*"
wrong '4s/\[5-8\]/[5-8/' "4: *no name or pattern*"
wrong '4s/eno.*/eno*np0/' "4: *no name or pattern*"
wrong '4s/eno.*/mlx5_[0-3]/' "4: pf is a NIC's network interface, *"
wrong '4s/eno/averylongname/' "4: *more than the 15 characters*"
wrong '4s/eno.*/[eno[5-6]np0, x]/' "4: *"
wrong '4s/eno.*/["eno[5-6]np0", x]/' "4: eno\[5-6\]np0 is 2 names, x is 1"
wrong '5a\  - {pf: eno6np0, subnet: 10.9.0.0/24}' "6: eno6np0 is on line 4 too"
wrong '5a\  - {pf: eth0, subnet: 10.0.106.128/25}' "6: the subnet 10.0.106.128/25 of eth0 is also that of eno8np0*"
wrong '5s/103.0/103.7/' "5: the subnet 10.0.103.7/24 begins at 10.0.103.0"
wrong '5s/103/303/' "5: *is no IPv4 subnet*"
wrong '5s/10.*/255.255.254.0\/24/' "5: 4 subnets do not fit*"
wrong '5s/\/24/\/31/' "5: *is no IPv4 subnet of 8 to 30 bits"
wrong '5s/10.*/"fd00::\/64"/' "5: *"
wrong '5a\    range: 10.0.104.1-10.0.104.9' "6: 10.0.104.1-10.0.104.9 is no range of addresses in*"
wrong '5a\    range: 10.0.103.1-10.0.103.9\npods: 10' "6: too few addresses: 9 for 10 pods"
wrong '8a pods: 255' "5: too few addresses: 254 for 255 pods"
wrong '8a resource: rdma' "4: *have one resource, nvidia.com/rdma: resource: needs {pf}*"
wrong '8a resource: "{pf}-rdma"' "9: *behind the slash only*"
wrong '8a network: rails' "4: *have one network, rails*"
wrong '8a network: "{pf}_x"' "9: network: *does not fit*"
wrong '8a network: "12"' "9: network: YAML reads '12' as no text; take another"
wrong '8a networks: operator' "9: networks is not for fabric: sriov-device-plugin"
wrong '8a networks: existing' "5: networks: existing*"
wrong '8a memlock: node\nuser: 5' "10: user is for memlock: caps*"
wrong '6s/:1//' "6: nccl-init-image: *"
wrong '7s/reg/Reg/' "7: image: *"
wrong '8s/4/four/' "8: gpus is a number from 0 to 64, not 'four'"
wrong '8s/4/04/' "8: gpus is a number*"
wrong '8s/4/"4"/' "8: gpus is a number*"
wrong '8a network-policy: yes' "9: network-policy is true or false*"
wrong '8a memory: 128G' "9: memory: *"
wrong '8a command: torchrun train.py' "9: command is a list*"
wrong '8a command: []' "9: command is empty"
wrong '8a command: [a, ,b]' "9: *is no value that is read here*"
wrong '8a command: [a, b' "9: the list does not end*"
wrong '8a command:' "9: command is empty"
wrong '8a env: {A: 1}' "9: env: a line*"
wrong '8a env:\n  A: 1\n  A: 2' "11: A stands on line 10 too"
wrong '8a env:\n  1A: 1' "10: env: a line*"
wrong '8a env:\n  A: 1\n   B: 1' "11: wrong indentation*"
wrong '8a hosts: [a, b, a]' "9: hosts: a stands twice*"
wrong '8a hosts: [a, b]\npods: 3' "10: 3 pods, but hosts names 2 nodes"
sed '1s/.*/namespace: M/;8s/.*/gpus: many/' "$tmp/good.yaml" >"$tmp/bad.yaml"
new --show "$tmp/bad.yaml"
matches "two mistakes are both told" "*:1: *
*:8: *" "$said"

# Whatever the file is, it ends, says where, and runs nothing of it.
: >"$tmp/empty.yaml"
head -c 20000 /dev/zero | tr '\0' a >"$tmp/long.yaml"
head -c 3000 "$(program)" >"$tmp/binary.yaml"
awk 'BEGIN { print "rails:"; for (i = 0; i < 5000; i++) print "  - {pf: eth[0-63], subnet: 10.0.0.0/30}" }' >"$tmp/many.yaml"
printf 'namespace: ml\r\nfabric: none\r\n' | cat - "$tmp/good.yaml" | sed '5,7d' >"$tmp/twice.yaml"
for name in empty long binary many twice; do
    new --show "$tmp/$name.yaml"
    matches "hostile: $name" "1 $tmp/$name.yaml:*" "$status $said"
done
size=$(wc -c <k8s/cluster.yaml) at=1 odd=''
while [ "$at" -lt "$size" ]; do
    head -c "$at" k8s/cluster.yaml >"$tmp/cut.yaml"
    new --show "$tmp/cut.yaml"
    case $status,$said in 0,namespace=* | 1,*cut.yaml:*) ;; *) odd="$odd $at: $said" ;; esac
    at=$((at + 41))
done
same "hostile: the example, cut off anywhere" "" "$odd"
# shellcheck disable=SC2016 # for the shell under test
printf 'env:\n  A: "$(touch %s) `touch %s` '"' ; touch %s '"' $A \\\\"\n' "$tmp/ran" "$tmp/ran" "$tmp/ran" | cat "$tmp/good.yaml" - >"$tmp/run.yaml"
new "$tmp/run.yaml" "$tmp/run"
same "hostile: nothing of it is run" "0 not" "$status $([ -e "$tmp/ran" ] || echo not)"
.dev/k8s render "$tmp/run" >"$tmp/objects.yaml"
valid "hostile: a value of all signs" "$tmp/objects.yaml"

# ---- another awk ----------------------------------------------------------------------------------------------------

for awk in mawk gawk original-awk 'busybox awk'; do
    if ! command -v "${awk% *}" >/dev/null; then
        skip "with $awk" "it is not there"
        continue
    fi
    mkdir -p "$tmp/path"
    # shellcheck disable=SC2016 # the script's
    printf '#!/bin/sh\nexec %s "$@"\n' "$awk" >"$tmp/path/awk"
    chmod +x "$tmp/path/awk"
    for file in k8s/cluster.yaml tests/k8s/clusters/*.yaml "$tmp/bad.yaml"; do
        new --show "$file"
        one=$said
        said=$(PATH=$tmp/path:$PATH k8s/new --show "$file" 2>&1)
        same "with $awk: $(basename "$file")" "$one" "$said"
    done
done

judge
finish
