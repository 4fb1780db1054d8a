#!/bin/sh
# The binary that ships: fully static (no interpreter, no dynamic section), stripped, small.
set -eu
limit=708079 # one byte less than Debian 12's tini-static
# an instruction of A64 takes four bytes, whatever it does: 8 % more
if readelf -hW "$NCCL_INIT" | grep -q 'Machine:.*AArch64'; then limit=764725; fi
bad=0
complain() {
    echo "$NCCL_INIT: $1"
    bad=1
}

if readelf -lW "$NCCL_INIT" | grep -q INTERP; then
    echo "skipped: $NCCL_INIT is a dynamic build"
    exit 77
fi
if readelf -lW "$NCCL_INIT" | grep -q DYNAMIC; then complain "has a PT_DYNAMIC segment"; fi
if readelf -SW "$NCCL_INIT" | grep -q '[[:space:]]\.dynamic[[:space:]]'; then complain "has a .dynamic section"; fi
if readelf -SW "$NCCL_INIT" | grep -q '[[:space:]]\.symtab[[:space:]]'; then complain "is not stripped"; fi
if readelf -hW "$NCCL_INIT" | grep -q 'Type:.*DYN'; then complain "is position-independent"; fi
if readelf -lW "$NCCL_INIT" | grep -q 'GNU_STACK.*E '; then complain "has an executable stack"; fi
if strings "$NCCL_INIT" | grep -F "$PWD/"; then complain "contains paths of the build machine"; fi

size=$(wc -c <"$NCCL_INIT")
[ "$size" -le "$limit" ] || complain "is $size bytes, more than $limit"
[ "$bad" = 0 ] && echo "static, stripped, $size of $limit bytes"
exit "$bad"
