#!/bin/bash
# Verdicts of vm and cluster that are kept (tests/verdict): one byte in what a scenario depends on runs it again, a sentence in the
# documents does not; a failure is not kept. In a copy of the tree whose lab has a script in place of QEMU.
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. tests/cli/lib
root=$PWD
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# ---- the lab ---------------------------------------------------------------------------------------------------------------

mkdir -p "$dir/build/vm/lab/qemu" "$dir/build/static/tests" "$dir/tests/cli"
cp -r k8s docs container .dev dev CMakeLists.txt "$dir"
cp -r tests/vm tests/cluster tests/k8s tests/verdict "$dir/tests"
cp tests/cli/lib tests/cli/commands.* "$dir/tests/cli"
cd "$dir" || exit 1
unset NCCL_INIT NCCL_INIT_TOOLS NCCL_INIT_AGAIN
export NCCL_INIT_VM_ACCEL=tcg
for file in key labrxe.ko vmlinux initrd; do echo 1 >build/vm/lab/$file; done
for file in nccl-init nccl-init-hook tests/mr tests/count tests/timeit tests/bare; do echo 1 >build/static/$file; done
echo 8 >build/vm/lab/qemu-version
cat >build/vm/lab/tool <<'END'
#!/bin/sh
for word; do case $word in file:*) : >"${word#file:}" ;; esac; done
echo "boots" >>build/vm/boots
[ ! -e build/vm/fails ] || { echo "FAILED: it is to"; echo "LAB-FAILED"; exit; }
echo "ok: all"
echo "LAB-OK 1"
END
chmod +x build/vm/lab/tool

# boots NAME TIMES [OPTION]: a run of the scenario selftest starts the machine so often
boots() {
    : >build/vm/boots
    # shellcheck disable=SC2086 # one word or none
    tests/vm/run ${3-} selftest >said 2>&1
    same "$1" "$2" "$(wc -l <build/vm/boots)"
}

boots "the first run" 1
boots "the same again" 0
matches "it says so" "*passed: vm/selftest, as on 20*" "$(cat said)"
boots "--again" 1 --again
NCCL_INIT_AGAIN=1 boots "./dev test all" 1
for file in docs/guides/softroce.md docs/reference/findings.md tests/vm/scenarios/boot.sh tests/cluster/lib; do
    echo >>"$file"
    boots "a line in $file" 0
done
for file in build/static/nccl-init build/static/nccl-init-hook tests/vm/scenarios/selftest.sh tests/vm/guest/lib tests/vm/run \
    build/vm/lab/vmlinux build/vm/lab/initrd build/vm/lab/labrxe.ko; do
    echo '#' >>"$file"
    boots "a byte in $file" 1
    boots "a byte in $file, the same again" 0
done
touch build/vm/fails
echo >>build/static/nccl-init
boots "what fails" 2 # TCG: once more
boots "a failure is not kept" 2
rm build/vm/fails
boots "nor is what passed before it" 1

# ---- the cluster: the hashes ------------------------------------------------------------------------------------------------

key() { tests/cluster/run --key "$1"; }
declare -A last=()
# changed SCENARIO FILE: $is is the word for the scenario's hash when the file has one byte more
changed() {
    local now
    : "${last[$1]:=$(key "$1")}"
    echo >>"$2"
    now=$(key "$1")
    if [ "$now" = "${last[$1]}" ]; then is=same; else is=other; fi
    last[$1]=$now
}
same "the hash is a hash" 64 "$(key charts | tr -d '\n' | wc -c)"
for file in build/static/nccl-init k8s/charts/nccl-init/values.yaml k8s/charts/rails/Chart.yaml tests/cluster/scenarios/charts.sh \
    tests/cluster/lib tests/cluster/charts.py tests/cluster/programs .dev/charts k8s/fleet; do
    changed charts "$file"
    same "charts: a byte in $file" other "$is"
done
for file in docs/guides/fleet.md docs/start/workload.md k8s/README.md tests/cluster/scenarios/boot.sh; do
    changed charts "$file"
    same "charts: a line in $file" same "$is"
done
changed pages docs/start/workload.md
same "pages: a sentence of a page that it runs" other "$is"
changed pages docs/dev/lab.md
same "pages: one of another" same "$is"
changed nodes build/vm/lab/vmlinux
same "nodes: the lab's kernel" other "$is"
changed charts build/vm/lab/vmlinux
same "charts: the lab's kernel" same "$is"

# ---- what scenarios of the cluster name is what their hash has ------------------------------------------------------------------

cd "$root" || exit 1
reads=$(sed -n 's/^reads=(\(.*\))$/\1/p' tests/cluster/run)
matches "the list" "*k8s*tests/cluster*" "$reads"
for file in tests/cluster/scenarios/*.sh tests/cluster/lib tests/cluster/*.py tests/cluster/node/*; do
    # shellcheck disable=SC2013 # words
    for path in $(sed 's/^ *#.*//' "$file" | grep -ohE '(docs|tests|src|include|k8s|container|\.dev|\.ci)/[A-Za-z0-9_./-]*[A-Za-z0-9_]' | sort -u); do
        [ -e "$path" ] || continue
        case $file:$path in
        tests/cluster/scenarios/*.md | tests/cluster/scenarios/*.8) continue ;; # key_of takes these from the scenario itself
        esac
        for known in $reads; do
            case $path/ in "$known"/*) continue 2 ;; esac
        done
        fail "$file" "its verdict does not depend on $path, which it names: \`reads\` of tests/cluster/run"
    done
done
finish
