#!/bin/sh
# The arm64 build under qemu-user: it starts, decides as the other builds do, installs itself.
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../cli/lib"
emulator=$(command -v qemu-aarch64-static) || skip_all "qemu-aarch64-static is not installed"
real=$(program)
golden=$(absolute "$(dirname -- "$0")/../golden")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# Started by the emulator, without the kernel's help (binfmt_misc).
emulated() { # PROGRAM: a script of that name in $dir
    printf '#!/bin/sh\nexec %s %s "$@"\n' "$emulator" "$1" >"$dir/$(basename "$1")"
    chmod 755 "$dir/$(basename "$1")"
}
emulated "$real"
emulated "$(tool withenv)"
bin=$dir/nccl-init

matches "machine" "*AArch64*" "$(readelf -h "$real")"
matches "--version" "nccl-init *, providers mlx5,rxe,siw*libnl*jansson*" "$("$bin" --version)"
same "run" "hi 0" "$("$bin" --mode=tcp --log-level=error -- echo hi) $?"
for case in gb200 dgx-spark h100-12dev hgx-ib gid-differs-range nonsense-addresses; do
    if NCCL_INIT=$bin NCCL_INIT_TOOLS=$dir "$golden/run" "$case" >"$dir/out" 2>&1; then
        pass "golden case $case"
    else
        fail "golden case $case" "$(cat "$dir/out")"
    fi
done
mkdir "$dir/shared"
"$bin" install --log-level=warn "$dir/shared"
same "install" "" "$(cmp "$real" "$dir/shared/nccl-init" 2>&1)"

finish
