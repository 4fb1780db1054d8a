#!/bin/sh
# The bill of materials: right for the build at hand, and each way in which it could be wrong is noticed.
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../cli/lib"
here=$(cd -- "$(dirname -- "$0")" && pwd)
top=$(cd -- "$here/../.." && pwd)
bin=$(program)
build=$(dirname "$bin")
deps=$top/build/deps/x86_64-linux-musl
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export SOURCE_DATE_EPOCH=1700000000 NCCL_INIT_COMMIT=0123456789012345678901234567890123456789

judge() { # [SPDX-FILE]: sets said
    said=$("$here/sbom.py" "${1:-$dir/sbom}" "$build/nccl-init.map" "$bin" 2>&1) && said=right
}
edited() { # NAME PATTERN PYTHON: after this, which changes doc, it must be wrong in these words
    /usr/bin/python3 - "$dir/sbom" "$dir/edited" "$3" <<'EOT'
import json, sys
doc = json.load(open(sys.argv[1]))
exec(sys.argv[3], {"doc": doc, "of": lambda name: next(p for p in doc["packages"] if p["name"] == name)})
json.dump(doc, open(sys.argv[2], "w"))
EOT
    judge "$dir/edited"
    matches "$1" "$2" "$said"
}

if ! "$top/.dev/sbom" nccl-init amd64 "$build" "$deps" >"$dir/sbom" 2>"$dir/err"; then
    fail "made" "$(cat "$dir/err")"
    exit 1
fi
judge
same "right" right "$said"
"$top/.dev/sbom" nccl-init amd64 "$build" "$deps" >"$dir/again"
same "the same twice" "" "$(cmp "$dir/sbom" "$dir/again" 2>&1)"

edited "nothing changed" right pass
edited "a library is missing" "*libnl-3.a is linked in and not listed*" 'doc["packages"].remove(of("libnl"))
doc["relationships"] = [r for r in doc["relationships"] if r["relatedSpdxElement"] != "SPDXRef-libnl"]'
edited "a library too many" "*libcmocka.a is listed and not linked in*" \
    'of("jansson")["sourceInfo"] += " libcmocka.a"'
edited "another version" "jansson: */nccl-init has another version*" 'of("jansson")["versionInfo"] = "2.15"'
edited "another tarball" "jansson: not what .dev/sources pins" 'of("jansson")["checksums"][0]["checksumValue"] = 64 * "0"'
edited "another program" "it is of another program" 'of("nccl-init")["checksums"][0]["checksumValue"] = 64 * "0"'
edited "no such licence" "musl: licenseConcluded: *" 'of("musl")["licenseConcluded"] = "BSD"'
edited "no time" "created is no time in UTC" 'doc["creationInfo"]["created"] = "yesterday"'
edited "a relation of nothing" "a relation of what is not there: *" 'of("gcc")["SPDXID"] = "SPDXRef-cc"'
edited "an id twice" "*an SPDXID twice*" 'of("gcc")["SPDXID"] = "SPDXRef-linux"'

# the hook's: less is in it
"$top/.dev/sbom" nccl-init-hook amd64 "$build" "$deps" >"$dir/hook"
said=$("$here/sbom.py" "$dir/hook" "$build/nccl-init-hook.map" "$build/nccl-init-hook" 2>&1) && said=right
same "the hook's" right "$said"
said=$("$here/sbom.py" "$dir/sbom" "$build/nccl-init-hook.map" "$bin" 2>&1) && said=right
matches "another program's" "*libnl-3.a is listed and not linked in*" "$said"

# a library that nobody entered stops the release
mkdir "$dir/build"
cp "$bin" "$dir/build/nccl-init"
sed 's|/libjansson\.a|/libother.a|' "$build/nccl-init.map" >"$dir/build/nccl-init.map"
said=$("$top/.dev/sbom" nccl-init amd64 "$dir/build" "$deps" 2>&1 >/dev/null) && said="made: $said"
matches "an unknown library" "sbom: */libother.a is linked in, and .dev/sbom does not know whose it is" "$said"
: >"$dir/build/nccl-init.map"
said=$("$top/.dev/sbom" nccl-init amd64 "$dir/build" "$deps" 2>&1 >/dev/null) && said="made: $said"
matches "no map" "sbom: * is no map of a static program of ours" "$said"

# the licences of what is linked in lie where the release takes them
sed -n 's/.*"relatedSpdxElement": "SPDXRef-\(.*\)".*/\1/p' "$dir/sbom" | grep -v -e nccl-init -e libgcc >"$dir/linked"
while read -r name; do
    same "licence of $name" yes "$([ -z "$(find "$deps/licenses/$name" -type f -size +0)" ] || echo yes)"
done <"$dir/linked"
same "libnl's licence" "GNU LESSER GENERAL PUBLIC LICENSE" "$(sed -n '1s/^ *//p' "$deps/licenses/libnl/COPYING")"
matches "holders of libnl" "*Thomas Graf*" "$(cat "$deps/licenses/libnl/COPYRIGHTS")"
matches "holders of rdma-core" "*Mellanox Technologies*" "$(cat "$deps/licenses/rdma-core/COPYRIGHTS")"
finish
