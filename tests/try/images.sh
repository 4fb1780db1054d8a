#!/bin/sh
# The helper in images made of Debian's packages, with and without libibverbs and providers, of musl, and in an empty one,
# beside a sysfs of our own that has HCAs whose drivers are older or newer than the providers.
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../cli/lib"
top=$(cd -- "$(dirname -- "$0")/../.." && pwd)
bin=$(program)
version=$(sed -n 's/^project(.*VERSION \([0-9.]*\).*/\1/p' "$top/CMakeLists.txt")
trees=$top/build/try

[ "$(id -u)" = 0 ] || skip_all "only root may chroot"
[ ! -e /sys/class/infiniband_verbs ] || skip_all "libibverbs would see the HCAs of this machine"
why=$("$top/tests/try/trees" "$trees") || skip_all "$why"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# An HCA of libibverbs' own making: hca NAME NUMBER ABI PCI-VENDOR PCI-DEVICE, in $dir/sysfs
hca() {
    at=$dir/sysfs/class/infiniband_verbs/uverbs$2
    mkdir -p "$at" "$dir/sysfs/class/infiniband/$1/device"
    echo "$1" >"$at/ibdev"
    echo "231:$2" >"$at/dev"
    echo "$3" >"$at/abi_version"
    echo "1: CA" >"$dir/sysfs/class/infiniband/$1/node_type"
    echo "pci:v0000${4}d0000${5}sv00000000sd00000000bc02sc00i00" >"$dir/sysfs/class/infiniband/$1/device/modalias"
    mkdir -p "$at/device"
    cp "$dir/sysfs/class/infiniband/$1/device/modalias" "$at/device/"
}
mkdir -p "$dir/sysfs/class/infiniband_verbs"
echo 6 >"$dir/sysfs/class/infiniband_verbs/abi_version"
hca mlx5_0 0 1 15B3 1021     # as mlx5 has it
hca bnxt_re0 1 9 14E4 1750   # a driver that is newer than any provider
hca rocep9 2 1 14E4 1750     # as bnxt_re has had it

# tried TREE HCA...: the helper's words in $dir/words, joined; those of libibverbs in $dir/errors; its status in $status
tried() {
    root=$dir/root-$1
    if [ ! -e "$root" ]; then
        cp -al "$trees/$1" "$root"
        mkdir -p "$root/dev/infiniband"
        touch "$root/dev/null" "$root/dev/infiniband/uverbs0" "$root/dev/infiniband/uverbs1" "$root/dev/infiniband/uverbs2"
        cp "$bin-try" "$root/nccl-init-try"
        cp -R "$dir/sysfs" "$root/sysfs"
    fi
    shift
    status=0
    SYSFS_PATH=/sysfs chroot "$root" /nccl-init-try "$version" image "$@" >"$dir/said" 2>"$dir/errors" || status=$?
    words=$(tr '\n' ';' <"$dir/said")
}

for tree in bookworm:44 bullseye:33 trixie:56; do
    name=${tree%:*}
    tried "$name" mlx5_0 bnxt_re0 rocep9 none0
    same "$name: status" 0 "$status"
    matches "$name: the library" "version $version;library /*/libibverbs.so.1.[0-9]*.${tree#*:}.[0-9];list 0;*;end;" "$words"
    # its node is a plain file, so it is found and does not open
    matches "$name: mlx5 is found" "*;at mlx5_0;hca mlx5_0 open *" "$words"
    matches "$name: bnxt_re that is too old" "*;hca bnxt_re0 find 19;*" "$words"
    matches "$name: libibverbs says why" "*Driver bnxt_re does not support the kernel ABI of 9 (supports 1 to 1) for device */bnxt_re0*" \
        "$(cat "$dir/errors")"
    matches "$name: bnxt_re that fits" "*;at rocep9;hca rocep9 open *" "$words"
    matches "$name: no such HCA" "*;hca none0 find 19;end;" "$words"
done
for name in bookworm-bare bullseye-bare; do
    tried "$name" mlx5_0
    matches "$name: libibverbs without providers" "*;list 0;hca mlx5_0 find 19;end;" "$words"
done
tried bookworm-glibc mlx5_0
same "no libibverbs" "0 version $version;unloaded libibverbs.so.1: cannot open shared object file: No such file or directory;end;" \
    "$status $words"
for name in musl empty; do
    tried "$name" mlx5_0
    same "$name: it cannot run" "127 " "$status $words"
done
# A library that a variable of the command's names is the one that is loaded.
root=$dir/root-bookworm-glibc
cp -a "$trees/bookworm/usr/lib/x86_64-linux-gnu" "$root/opt-lib"
words=$(LD_LIBRARY_PATH=/opt-lib SYSFS_PATH=/sysfs chroot "$root" /nccl-init-try "$version" image mlx5_0 2>/dev/null | tr '\n' ';')
matches "LD_LIBRARY_PATH" "*;library /opt-lib/libibverbs.so.1.*" "$words"
# Another program's question.
chroot "$dir/root-bookworm" /nccl-init-try 0.0.9 image mlx5_0 >"$dir/said" 2>&1
same "of another version" "2 version $version" "$? $(cat "$dir/said")"
finish
