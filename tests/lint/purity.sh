#!/bin/sh
# core/, findings/ and rules/ make no system call and use no heap: their archives may need nothing but each
# other and the libc functions in pure-symbols.txt. Checked on the musl build, the one that ships.
set -eu
allowed=tests/lint/pure-symbols.txt
build=$(dirname "$NCCL_INIT")
core=$build/libni_core.a findings=$build/libni_findings.a rules=$build/libni_rules.a

if nm -u "$core" 2>/dev/null | grep -q __asan_; then
    echo "skipped: $build is a sanitizer build"
    exit 77
fi
for archive in "$core" "$findings" "$rules"; do
    if [ ! -f "$archive" ]; then
        echo "no archive $archive"
        exit 1
    fi
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
nm -P -u "$core" "$findings" "$rules" | awk 'NF > 1 { print $1 }' | sort -u >"$work/needed"
{
    nm -P --defined-only "$core" "$findings" "$rules" | awk 'NF > 1 { print $1 }'
    sed -e 's/#.*//' -e 's/[[:space:]]//g' -e '/^$/d' "$allowed"
} | sort -u >"$work/allowed"

if impure=$(comm -23 "$work/needed" "$work/allowed") && [ -z "$impure" ]; then
    echo "pure: $(comm -12 "$work/needed" "$work/allowed" | wc -l) symbols needed, all allowed"
    exit 0
fi
echo "core/, findings/ or rules/ use what $allowed does not list:"
for symbol in $impure; do
    nm -A -u "$core" "$findings" "$rules" | sed -n "s|^.*/lib\(ni_[^ ]*\):.* U $symbol\$|  $symbol    in \1|p" | tr ':' ' '
done
exit 1
