#!/bin/bash
# The charts as a release has them: packaged, pushed to a registry, and installed from there, with the image by its digest.
# seconds: 60
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # tmp comes from lib
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../lib"

foreign_kinds

# The registry itself is Debian 13's.
registry=$PWD/build/cluster/registry/usr/bin/docker-registry
get_registry() {
    local folder=$PWD/build/cluster/registry
    # shellcheck source=/dev/null
    . .dev/apt
    rm -rf "$folder"
    mkdir -p "$folder"
    apt_tree "$folder/apt" deb trixie &&
        (cd "$folder" && apt-get -c apt/apt.conf download docker-registry && dpkg -x docker-registry_*.deb .)
}
[ -x "$registry" ] || get_registry >"$tmp/said" 2>&1 || skip_all "no registry from Debian 13: $(tail -n 1 "$tmp/said")"

port=$(/usr/bin/python3 -c 'import socket; one = socket.socket(); one.bind(("127.0.0.1", 0)); print(one.getsockname()[1])')
cat >"$tmp/registry.yaml" <<EOF
version: 0.1
storage: {filesystem: {rootdirectory: $tmp/registry}}
http: {addr: "127.0.0.1:$port"}
EOF
setpriv --pdeathsig KILL "$registry" serve "$tmp/registry.yaml" >"$tmp/registry.log" 2>&1 </dev/null &
works "a registry" wait_for 20 curl --silent --fail "http://127.0.0.1:$port/v2/"

image=ghcr.io/nccl-init/nccl-init:9.9.9@sha256:$(printf image | sha256sum | cut -d ' ' -f 1)
charts=oci://127.0.0.1:$port/charts
works "the charts of a release" .dev/charts 9.9.9 "$image" "$tmp/charts"
for package in "$tmp"/charts/*.tgz; do
    works "$(basename "$package"): pushed" helm push --plain-http "$package" "$charts"
done
for chart in k8s/charts/*/; do
    name=$(basename "$chart")
    matches "$name: is there under its version" '*version: 9.9.9*' \
        "$(helm show chart --plain-http --version 9.9.9 "$charts/$name" 2>&1 | tr '\n' ' ')"
done

works "nccl-init: installed from there" helm install pulled --plain-http --version 9.9.9 "$charts/nccl-init" \
    --namespace pulled --create-namespace
matches "... its policy has the image by the digest" "*$image*" \
    "$(kubectl get mutatingadmissionpolicies --output yaml)"
works "job: installed from there" helm install once --plain-http --version 9.9.9 "$charts/job" --namespace pulled \
    --set mode=tcp,pods=1
refused "another version is not there" '*not found*' helm show chart --plain-http --version 9.9.8 "$charts/job"
for release in once pulled; do
    works "$release: uninstalled" helm uninstall "$release" --namespace pulled
done
finish
