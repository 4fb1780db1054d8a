#!/bin/sh
# The binaries that ship: fully static (no interpreter, no dynamic section), stripped.
set -eu
if readelf -lW "$NCCL_INIT" | grep -q INTERP; then
    echo "skipped: $NCCL_INIT is a dynamic build"
    exit 77
fi
bad=0

check() { # BINARY
    binary=$1
    complain() {
        echo "$binary: $1"
        bad=1
    }
    if readelf -lW "$binary" | grep -q INTERP; then complain "has an interpreter"; fi
    if readelf -lW "$binary" | grep -q DYNAMIC; then complain "has a PT_DYNAMIC segment"; fi
    if readelf -SW "$binary" | grep -q '[[:space:]]\.dynamic[[:space:]]'; then complain "has a .dynamic section"; fi
    if readelf -SW "$binary" | grep -q '[[:space:]]\.symtab[[:space:]]'; then complain "is not stripped"; fi
    if readelf -hW "$binary" | grep -q 'Type:.*DYN'; then complain "is position-independent"; fi
    if readelf -lW "$binary" | grep -q 'GNU_STACK.*E '; then complain "has an executable stack"; fi
    if strings "$binary" | grep -F "$PWD/"; then complain "contains paths of the build machine"; fi
    # where transparent_hugepage/enabled is `always`, the first touch of such a page clears 2 MiB
    huge=$(readelf -lW "$binary" | awk '$1 == "LOAD" && $7 ~ /W/ { print $3, $6 }' | while read -r from size; do
        first=$(((from + 0x1fffff) / 0x200000)) past=$(((from + size) / 0x200000))
        [ "$first" -ge "$past" ] || echo "$from to $((from + size))"
    done)
    [ -z "$huge" ] || complain "has a whole aligned 2 MiB page in its writable segment: $huge"
}

check "$NCCL_INIT"
check "${NCCL_INIT%/*}/nccl-init-hook"
[ "$bad" = 0 ] && echo "static, stripped"
exit "$bad"
