#!/bin/sh
# The image: what is in it, for both architectures, with file capabilities and without.
# SPDX-License-Identifier: Apache-2.0
set -u
PATH=$PATH:/usr/sbin:/sbin
here=$(cd -- "$(dirname -- "$0")" && pwd)
# shellcheck source=/dev/null
. "$here/../cli/lib"
# shellcheck source=/dev/null
. "$here/lib"
dir=${dir:?}
top=$(cd -- "$here/../.." && pwd)
bin=$(program)
arm64=$top/build/static-arm64/nccl-init

of() { # FORMAT IMAGE
    buildah inspect --type image --format "$1" "$2"
}
files() { # IMAGE: names, owners, modes and sizes
    mnt=$(podman image mount "$1")
    (cd "$mnt" && find . -mindepth 1 -printf '%P %U:%G %m %s\n' | sort)
    podman image unmount "$1" >/dev/null
}
caps() { # IMAGE
    mnt=$(podman image mount "$1")
    getcap "$mnt/nccl-init" | sed 's/^[^ ]* //'
    podman image unmount "$1" >/dev/null
}

"$top/container/build" caps localhost/with amd64 >"$dir/log" 2>&1 || fail "build" "$(cat "$dir/log")"
stands() { # BINARY: it, the hook and the helper, as `files` says
    printf 'nccl-init 0:0 755 %s\nnccl-init-hook 0:0 755 %s\nnccl-init-try 0:0 755 %s\n' \
        "$(stat -c %s "$1")" "$(stat -c %s "$1-hook")" "$(stat -c %s "$1-try")"
}
same "the programs and nothing else" "$(stands "$bin")" "$(files localhost/with)"
same "the program's bytes" "" "$(cmp "$bin" "$(podman image mount localhost/with)/nccl-init" 2>&1)"
podman image unmount localhost/with >/dev/null
same "one layer" 1 "$(of '{{len .OCIv1.RootFS.DiffIDs}}' localhost/with)"
same "file capabilities" "cap_ipc_lock,cap_sys_resource=p" "$(caps localhost/with)"
same "architecture" "linux/amd64" "$(of '{{.OCIv1.OS}}/{{.OCIv1.Architecture}}' localhost/with)"
same "entry point, command, user" "[/nccl-init] [--help] " \
    "$(of '{{.OCIv1.Config.Entrypoint}} {{.OCIv1.Config.Cmd}} {{.OCIv1.Config.User}}' localhost/with)"
same "version" "$("$bin" --version | sed -n 's/^nccl-init //p')" \
    "$(of '{{index .OCIv1.Config.Labels "org.opencontainers.image.version"}}' localhost/with)"
matches "source" "https://*/nccl-init" "$(of '{{index .OCIv1.Config.Labels "org.opencontainers.image.source"}}' localhost/with)"
matches "licences" "Apache-2.0 AND *" "$(of '{{index .OCIv1.Config.Labels "org.opencontainers.image.licenses"}}' localhost/with)"
matches "it runs" "nccl-init *" "$(start localhost/with --version)"
matches "without arguments it helps" "*Usage: nccl-init*" "$(start localhost/with)"

# A registry gets the layer as a tar file; there the capabilities are a header of their own.
mkdir "$dir/oci"
podman save --quiet --format oci-archive -o "$dir/oci.tar" localhost/with && tar -xf "$dir/oci.tar" -C "$dir/oci"
found=0
for blob in "$dir"/oci/blobs/sha256/*; do
    zcat -f "$blob" | grep -qa 'SCHILY.xattr.security.capability=' && found=$((found + 1))
done
same "capabilities in the layer as it is pushed" 1 "$found"
podman load --quiet -i "$dir/oci.tar" >/dev/null
same "and as it is pulled" "cap_ipc_lock,cap_sys_resource=p" "$(caps localhost/with)"

"$top/container/build" plain localhost/without amd64 >"$dir/log" 2>&1 || fail "build plain" "$(cat "$dir/log")"
same "plain: no file capabilities" "" "$(caps localhost/without)"
same "plain: the same file" "$(files localhost/with)" "$(files localhost/without)"

"$top/container/build" caps localhost/again amd64 >"$dir/log" 2>&1
same "the same sources, the same layers" "$(of '{{.OCIv1.RootFS.DiffIDs}}' localhost/with)" \
    "$(of '{{.OCIv1.RootFS.DiffIDs}}' localhost/again)"

if [ -x "$arm64" ]; then
    for time in 1 2; do # the second time other images, which take the place of the first
        SOURCE_DATE_EPOCH=$time "$top/container/build" caps localhost/both amd64 arm64 >"$dir/log" 2>&1 ||
            fail "build both" "$(cat "$dir/log")"
    done
    same "manifest list" "amd64 arm64" "$(buildah manifest inspect localhost/both |
        sed -n 's/^ *"architecture": "\([a-z0-9]*\)".*/\1/p' | sort | xargs)"
    "$top/container/build" caps localhost/arm arm64 >"$dir/log" 2>&1 || fail "build arm64" "$(cat "$dir/log")"
    same "arm64: the programs and nothing else" "$(stands "$arm64")" "$(files localhost/arm)"
    same "arm64: file capabilities" "cap_ipc_lock,cap_sys_resource=p" "$(caps localhost/arm)"
    same "arm64: architecture" "linux/arm64" "$(of '{{.OCIv1.OS}}/{{.OCIv1.Architecture}}' localhost/arm)"
else
    skip "arm64" "there is no $arm64: ./dev build arm64"
fi

finish
