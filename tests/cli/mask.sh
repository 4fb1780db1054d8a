#!/bin/sh
# snapshot --mask: secrets that are planted wherever a recording can hold something do not come out, and what comes out
# gives the same plan. NCCL_INIT_QUICK=1: fewer cases, fewer values. A secret in place of each thing that is read, one by one:
# strange-secrets.sh.
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/lib"
bin=$(program)
nodes=$(nodes)
withenv=$(tool withenv)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
export NCCLINIT_LOG_LEVEL=error

every=1
grep -q -e __asan_init -e __gcov_exit "$bin" && every=12 # such a program is slow
[ -z "${NCCL_INIT_QUICK:-}" ] || every=40

# A word, a user, a host, an id of a container, a token.
secrets='hunter2|alice|acme-corp|0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef|tok3n'

# none NAME TREE: none of the secrets is in its masked recording.
none() {
    env -i "$bin" snapshot --mask --root "$2" -o masked.tree 2>err
    same "$1" "" "$(cat err; grep -aioE ".{0,70}($secrets).{0,20}" masked.tree | head -n 3)"
}

# plant FILTER: the tree with the filter of awk on each file's content, `value`; `name` are the last two names of its
# path, numbers as N.
plant() {
    awk -v secret='hunter2 alice@gpu07.acme-corp.example Bearer=tok3n /home/alice/x' \
        -v id=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef "
        function plain(path, n, part) {
            n = split(path, part, \"/\")
            path = part[n - 1] \"/\" part[n]
            gsub(/[0-9a-f]+:[0-9a-f]+:[0-9a-f]+\\.[0-9]/, \"BDF\", path)
            gsub(/[0-9]+(\\.\\.[0-9]+)?/, \"N\", path)
            return path
        }
        /^d / { base = plain(\$2); sub(/^.*\\//, \"\", base) }
        /^f / {
            path = \$2
            value = substr(\$0, length(path) + 4)
            full = path
            sub(/^\\./, base, full)
            name = plain(full)
            $1
            \$0 = \"f \" path \" \" value
        }
        { print }"
}

# ---- one golden case after the other: the same plan, and secrets beside all that is there ------------

# What differs between two plans beside what is masked.
differs() { # BEFORE AFTER
    [ "$(wc -l <"$1")" = "$(wc -l <"$2")" ] || echo "another number of lines"
    paste "$1" "$2" |
        awk -F '\t' '$1 != $2 && $2 !~ /name-[0-9]|[?]|masked|no JSON|::|"(type|firmware|from)"/' | head -n 4
}

number=0
if [ -x "$withenv" ] && [ -d "$nodes/../golden" ]; then
    for case in "$nodes"/../golden/*/case; do
        golden=$(dirname "$case")
        case=$(basename "$golden")
        number=$((number + 1))
        [ $((number % every)) -eq 0 ] || [ "$case" = h100-12dev ] || continue
        tree=$nodes/$(sed -n 's/^node //p' "$golden/case").tree
        args=$(sed -n 's/^args //p' "$golden/case")
        environment=$golden/env
        [ -r "$environment" ] || environment=/dev/null
        # shellcheck disable=SC2086 # words
        "$withenv" "$environment" "$bin" snapshot --root "$tree" $args -o whole.tree 2>/dev/null || continue
        # shellcheck disable=SC2086
        "$withenv" "$environment" "$bin" snapshot --root "$tree" $args --mask -o masked.tree 2>err
        for verb in plan doctor; do
            # shellcheck disable=SC2086
            env -i "$bin" "$verb" --json --root whole.tree $args 2>&1 | grep -v '^ *"root":' >before
            # shellcheck disable=SC2086
            env -i "$bin" "$verb" --json --root masked.tree $args 2>&1 | grep -v '^ *"root":' >after
            same "$case, masked, $verb" "" "$(differs before after)"
        done
        plant 'if (value !~ /\\\\/) gsub(/\\n/, " " secret "\\n# " secret "\\n", value); value = value " " secret " " id' \
            <whole.tree >planted.tree
        none "$case, a secret beside each thing" planted.tree
    done
else
    skip "golden cases" "there is no $withenv"
fi

# ---- in paths: a home, files of the user's own choosing, a claim ------------------------------------------

{
    grep -v -e '/environ' -e 'proc/self/mountinfo' "$nodes/h100-12dev.tree"
    printf '%s\n' 'f home/alice/hunter2/.nccl.conf NCCL_IB_TC=7\nNCCL_TOKEN=tok3n' 'l proc/self/cwd /home/alice/tok3n' \
        'f home/alice/tok3n/acme-corp.xml <system hunter2/>' 'f home/alice/hunter2/status [{"hunter2":1}]' \
        'l etc/nvshmem.conf ../home/alice/tok3n/shmem' 'f home/alice/tok3n/shmem NVSHMEM_HCA_LIST=hunter2 # alice' \
        'l proc/self/exe /home/alice/bin/nccl-init' 'f dev/tok3n' 'f dev/infiniband/hunter2' \
        'f proc/self/mountinfo 1 0 0:1 /tok3n / rw - nfs acme-corp:/hunter2 rw,addr=1\n1 0 0:1 / /home/alice nosuid - nfs acme-corp:/ rw' \
        'f var/run/dra-device-attributes/hunter2/alice/tok3n-metadata.json {"metadata":{"name":"acme-corp"},"requests":[{"name":"alice","devices":[{"name":"tok3n","attributes":{"resource.kubernetes.io/pciBusID":{"string":"0000:03:00.2"},"acme-corp":{"string":"x"}}}]}]}' \
        'f proc/self/environ NCCLINIT_FOR=nvshmem\0HOME=/home/alice/hunter2\0NCCL_TOPO_FILE=acme-corp.xml\0NCCLINIT_NETWORK_STATUS=/home/alice/hunter2/status\0'
} >planted.tree
none "paths" planted.tree
# They lead to the same things all the same.
matches "paths: the mount of this program" "*/name-*nosuid*" "$(grep mountinfo masked.tree)"
for what in '"NCCL_IB_TC"' '"conf.nvshmem"'; do
    same "paths: $what" "$(env -i "$bin" plan --json --root planted.tree | grep -c "$what")" \
        "$(env -i "$bin" plan --json --root masked.tree | grep -c "$what")"
done

# ---- in variables: all names that the program has, and some that it has not ---------------------------

tr -c 'A-Z0-9_' '\n' <"$bin" | grep -E '^[A-Z][A-Z0-9_]{2,60}$' | sort -u >words
{
    sed 'p; s/^/NCCL_/p; s/^NCCL_/NCCLINIT_/p; s/^NCCLINIT_/UCX_/p; s/^UCX_/NVSHMEM_/p; s/^NVSHMEM_/GLOO_/' words
    printf '%s\n' PCIDEVICE_A_B PCIDEVICE_A_B_INFO SRIOVNETWORK_VF_DEVICE_a SRIOVNETWORK_a_RDMA_DEVICE \
        NCCL_hunter2 NCCLINIT_HUNTER2 UCX_HUNTER2 HUNTER2 NVSHMEM_HUNTER2 GLOO_HUNTER2 MC_TE_HUNTER2
} | grep -v '^NCCLINIT_\(MASK\|OUTPUT\|ROOT\)$' | sort -u >names
split -l 2000 names some. # one recording cannot hold them all
[ -z "${NCCL_INIT_QUICK:-}" ] || rm -f some.a[b-z]
for value in hunter2 'mlx5_0:1,hunter2:1' '12hunter2' '/home/alice/tok3n' 'gpu07.acme-corp.example:29500' \
    '=eth0,alice' '[{"name":"hunter2","device-info":{"pci":{"pci-address":"alice","rdma-device":"tok3n"}}}]' \
    '{"hunter2":{"rdma":{"rdma_dev":"alice","alice":"tok3n"}},"0000:03:00.0":"tok3n"}' '{"tok3n"' \
    "GPU-hunter2,MIG-alice" 'http://alice:tok3n@acme-corp:80/'; do
    for some in some.*; do
        {
            grep -v -e '/environ' -e '{' "$nodes/h100-12dev.tree" # without its empty GIDs
            printf 'f proc/self/environ '
            while read -r name; do
                printf '%s=%s\\x00' "$name" "$value"
            done <"$some"
            echo
        } >planted.tree
        none "variables of $some: $value" planted.tree
    done
done

# ---- keys: numbers and words that other variables keep ---------------------------------------------------

for key in 738291045566 Ring; do
    {
        grep -v -e '/environ' "$nodes/h100-12dev.tree"
        printf 'f proc/self/environ NCCLINIT_JOB=%s\\0NCCL_HOSTID=%s\\0\n' "$key" "$key"
    } >planted.tree
    env -i "$bin" snapshot --mask --root planted.tree -o masked.tree 2>err
    matches "a key: $key" '*NCCLINIT_JOB=name-*NCCL_HOSTID=name-*' "$(cat err; grep environ masked.tree)"
done

# ---- networks and plugins: the replay has the same transport ----------------------------------------------

for variable in NCCL_NET NCCL_NET_PLUGIN; do
    for value in IB-CAST IBext IBext_v8 nccl-rdma-sharp-plugins /opt/hpcx/nccl_rdma_sharp_plugin/lib/libnccl-net.so \
        zeus-sharp /opt/hpcx-zeus/lib/zeus.so zeusnetx ofi ''; do
        for place in environment nccl.conf; do
            {
                grep -v -e '/environ' "$nodes/h100-12dev.tree"
                [ $place = environment ] && printf 'f proc/self/environ %s=%s\\0\n' "$variable" "$value"
                [ $place = nccl.conf ] && printf 'f etc/nccl.conf %s=%s\\n\n' "$variable" "$value"
            } >planted.tree
            env -i "$bin" snapshot --mask --root planted.tree -o masked.tree 2>err
            for tree in planted masked; do
                env -i "$bin" plan --json --root $tree.tree 2>&1 | grep -v '^ *"root":' >$tree.plan
            done
            same "$variable=$value in $place" "" "$(cat err; differs planted.plan masked.plan)"
        done
    done
done

finish
