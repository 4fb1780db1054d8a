#!/bin/sh
# What a plain `run` costs, in what does not depend on the machine's load: instructions in user space and system calls,
# on the node that tests/bench/mkroot makes. docs/dev/performance.md says where they go.
# SPDX-License-Identifier: Apache-2.0
set -eu
if readelf -lW "$NCCL_INIT" | grep -q INTERP; then
    echo "skipped: $NCCL_INIT is a dynamic build"
    exit 77
fi

# The bounds stand a tenth above what `run` had when they were set, 547,000, and ten calls above its 269. Where a change
# needs more, its reason goes here with the new bound; where it needs a tenth less, the bound goes down.
most_instructions=600000
most_calls=280

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
mkdir "$tmp/node"
"$NCCL_INIT_TOOLS/mkroot" "$tmp/node" >"$tmp/env"
cp "$NCCL_INIT" "$NCCL_INIT_TOOLS/bare" "$tmp/node/"
# whether the limit can be raised depends on the machine
echo NCCLINIT_MEMLOCK=keep >>"$tmp/env"

if ! "$NCCL_INIT_TOOLS/timeit" -n 0 -c "$tmp/node" /bare 2>"$tmp/why"; then
    echo "skipped: chroot is refused: $(cat "$tmp/why")"
    exit 77
fi
"$NCCL_INIT_TOOLS/timeit" -n 0 -c "$tmp/node" -e "$tmp/env" -o "$tmp/out" /nccl-init -- /bare NCCL_IB_HCA
if [ "$(cat "$tmp/out")" != "NCCL_IB_HCA==mlx5_4:1,mlx5_5:1,mlx5_6:1,mlx5_7:1" ]; then
    echo "counts: run sets something else: $(cat "$tmp/out")"
    exit 1
fi
"$NCCL_INIT_TOOLS/count" -c "$tmp/node" -e "$tmp/env" /nccl-init -- /bare >"$tmp/counts"
read -r instructions calls _ <"$tmp/counts"
echo "run: $instructions instructions (at most $most_instructions), $calls system calls (at most $most_calls)"
[ "$instructions" -gt 100000 ] && [ "$instructions" -le "$most_instructions" ] && [ "$calls" -le "$most_calls" ]
